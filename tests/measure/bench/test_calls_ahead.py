"""Calls made ahead by other processes: which kernels they were, and what comes back of them."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numba import cuda, float32

from smemnb.measure.bench import calls_ahead
from smemnb.measure.bench.calls_ahead import CallsAhead, processes_for
from smemnb.measure.bench.identity import identity
from smemnb.measure.bench.sweep.problems import problems
from smemnb.operations import prepared
from smemnb.operations.choice import Layout
from smemnb.operations.matmul_choice import Lying, product_plan
from tests.measure.bench.test_ahead import MADE_FOR_90


def lying(rows, cols, by_columns):
    stored = (cols, rows) if by_columns else (rows, cols)
    return Lying(Layout(*stored, 4 * stored[1], 0), by_columns)


def kernels_of(seed, count):
    """The kernels of a sweep's products on a GPU of 132 multiprocessors."""
    for one in problems("matmul", count, seed):
        rows, cols, depth = one.shape
        a, b = (letter == "T" for letter in one.layout)
        sides = lying(rows, cols, False), lying(rows, depth, a), lying(depth, cols, b)
        yield product_plan(None, *sides, 1, 132, plain=True).kernel


# --- which kernel it is --------------------------------------------------------------------------


def scaled(factor, kind=float32):
    """A kernel out of a factory."""

    @cuda.jit(device=True)
    def turned(value):
        return value * kind(factor)

    @cuda.jit
    def kernel(out):
        out[0] = turned(out[0])

    return kernel


def test_identity_is_of_all_that_is_enclosed():
    """The same enclosed values, the same identity; also those of enclosed functions count."""
    assert identity(scaled(2)) == identity(scaled(2))
    found = {identity(one) for one in (scaled(2), scaled(3), scaled(2.0), scaled(2, np.float64))}
    assert len(found) == 4
    assert None not in found


def test_identity_of_what_has_no_words():
    """An object of which only its address is known encloses no identity."""
    assert identity(scaled(object())) is None


def test_identities_of_a_sweep_hold_in_another_process():
    """All its kernels have one, different kernels different ones, in each process the same."""
    found = {id(one): identity(one) for one in kernels_of(7, 16)}
    assert None not in found.values()
    assert len(set(found.values())) == len(found) > 8
    program = (
        "from tests.measure.bench.test_calls_ahead import identity, kernels_of\n"
        "print(*map(identity, kernels_of(7, 16)))"
    )
    said = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONHASHSEED": "5"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == [identity(one) for one in kernels_of(7, 16)]


# --- what comes back -----------------------------------------------------------------------------


class Kernel:
    """In place of a dispatcher: it is told what to be, and cannot be loaded."""

    def __init__(self, factor):
        self.py_func = scaled(factor).py_func
        self.overloads = {}

    def compile(self, signature):
        if signature in self.overloads:
            return self.overloads[signature]
        if signature == ("refused",):
            raise ValueError(signature)
        return f"code for {signature[0]}"

    def add_overload(self, code, signature):
        self.overloads[signature] = code


def calls(*factors):
    """Calls that load a kernel each, for two signatures."""

    def call(at):
        kernel = Kernel(factors[at])

        def load():
            for signature in (("f4",), ("f8",)):
                for supply in prepared._supplies:
                    supply(kernel, signature)
            if at == 1:
                raise ValueError("no such shape")

        return load

    return call


@pytest.mark.exhaustive
def test_made_in_other_processes():
    """What was compiled there is taken here: by the kernels that are meant, and by no others."""
    with CallsAhead(calls, (2, 3, 2), range(3), 1) as ahead:
        for at, factor in enumerate((2, 3, 2)):
            kernel = Kernel(factor)
            with ahead.ready(at):
                for signature in (("f4",), ("f8",), ("i4",)):
                    for supply in prepared._supplies:
                        supply(kernel, signature)
            assert kernel.overloads == {("f4",): "code for f4", ("f8",): "code for f8"}
        assert (ahead.taken, len(ahead.kernels), ahead.here) == (6, 4, ["kernel"] * 3)
        with ahead.ready(2), ahead.alone():
            supply = prepared._supplies[-1]
            supply(other := Kernel(4), ("f4",))
        assert not other.overloads
    assert not prepared._supplies


def test_nothing_is_made_by_no_process():
    """Everything is compiled where it is called; nobody has to be kept from the GPU."""
    with CallsAhead(calls, (2,), range(1), 0) as ahead:
        with ahead.ready(0), ahead.alone():
            prepared._supplies[-1](kernel := Kernel(2), ("f4",))
        assert (kernel.overloads, ahead.taken) == ({}, 0)
    assert processes_for(None) >= 0


def test_each_kernel_is_compiled_once(monkeypatch):
    """One process compiles it, another takes it; what is refused or unnamed does not come."""
    monkeypatch.setattr(calls_ahead, "_kernels", kernels := {})
    with pytest.raises(ValueError, match="refused"):
        calls_ahead._shared(Kernel(2), ("refused",))
    calls_ahead._shared(Kernel(object()), ("f4",))
    assert list(kernels.values()) == [b""]
    calls_ahead._shared(Kernel(2), ("u1",))
    calls_ahead._shared(other := Kernel(2), ("u1",))
    assert other.overloads == {("u1",): "code for u1"}
    assert len(kernels) == 2


def test_kernels_are_told_before_they_are_compiled():
    """An operation asks for the code of a kernel that is not loaded, just before it compiles."""
    told = []

    class Refusing(Kernel):
        def compile(self, signature):
            raise ValueError(list(told))

    kernel = Refusing(2)
    with (
        prepared.supplied(lambda *words: told.append(words)),
        pytest.raises(ValueError, match="f4"),
    ):
        prepared._load(kernel, ("f4",), 0, 0)
    assert told == [(kernel, ("f4",))]


MADE_AHEAD = (
    MADE_FOR_90.partition("if sys.argv")[0]
    + """
import pickle
from smemnb.measure.bench import calls_ahead

if sys.argv[1] == "compile":
    calls_ahead._shared(launch.kernel, launch.types)
    sys.stdout.write(pickle.dumps(calls_ahead._kernels).hex())
else:
    with calls_ahead.CallsAhead(None, (), (), 0) as found:
        found.kernels = pickle.loads(bytes.fromhex(sys.stdin.read()))
        found._supply(launch.kernel, launch.types)
    dispatcher._Kernel.__init__ = None  # nothing is compiled again
    print(found.taken, launch.kernel.compile(launch.types).entry_name[:7])
"""
)


@pytest.mark.toolchain
def test_compiled_elsewhere(tmp_path):
    """Machine code made by one process is taken by the same kernel in another."""
    script = tmp_path / "made_ahead.py"
    script.write_text(MADE_AHEAD)

    def run(what, said):
        done = subprocess.run(
            [sys.executable, script, what],
            input=said,
            env=os.environ | {"SMEMNB_DEVICE": "off"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("take", run("compile", "")) == "1 _ZN6sme\n"
