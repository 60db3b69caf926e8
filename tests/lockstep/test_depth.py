"""Expressions, branches and calls that lie deep run, as they do where Numba compiles them."""

import linecache
import sys
import threading

import numpy as np
import pytest
from numba import cuda

from smemnb import lockstep, trace
from smemnb.compiled import ptx
from smemnb.errors import KernelStopped, SmemnbError, TypingRefused, UnsupportedSyntax
from smemnb.lockstep.depth import DEEPEST, deep_enough


def nested(before, inner, after, count):
    return before * count + inner + after * count


DEEP = {
    "operators": ("out[0] = 1" + " + out[1]" * 250, 251),
    "more operators": ("out[0] = 1" + " + out[1]" * 900, 901),
    "nested operators": (f"out[0] = {nested('(1 + ', 'out[1]', ')', 90)}", 91),
    "calls": (f"out[0] = {nested('abs(', '-out[1]', ')', 90)}", 1),
    "minima": (f"out[0] = {nested('min(2.5, ', 'out[1]', ')', 80)}", 1),
    "signs": ("out[0] = " + "-" * 90 + "out[1]", 1),
    "alternatives": ("if out[0] or " + " or ".join(f"out[1] == {i}" for i in range(250))
                     + ": out[0] = 3", 3),
    "comparisons": ("out[0] = " + " <= ".join(["out[1]"] * 200), 1),
    "conditions": ("out[0] = " + "".join(f"{i} if out[1] == {i} else " for i in range(90))
                   + "7", 1),
    "branches": ("if out[1] == 1000: out[0] = 5\n"
                 + "".join(f"    elif out[1] == {i + 2}: out[0] = 6\n" for i in range(250))
                 + "    else: out[0] = 8", 8),
}  # fmt: skip


def kernel_of(body, before="", name="kernel"):
    text = f"{before}def kernel(out):\n    {body}\n"
    file = f"<deep {abs(hash(text))}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"cuda": cuda}
    exec(compile(text, file, "exec"), names)
    return names[name]


LONG = ("more operators", "branches")
CASES = [pytest.param(one, marks=pytest.mark.exhaustive) if one in LONG else one for one in DEEP]


@pytest.mark.first(3)
@pytest.mark.parametrize("case", CASES)
def test_deep(case):
    """A launch and a trace; Python's own limit is what it was before."""
    body, value = DEEP[case]
    before = sys.getrecursionlimit()
    kernel, out = kernel_of(body), np.array([0.0, 1.0])
    lockstep.launch(kernel, (1, 1, 1), (1, 1, 1), (out,))
    assert out[0] == value
    out[:] = 0, 1
    trace(kernel)[1, 1](out)
    assert (out[0], sys.getrecursionlimit()) == (value, before)


@pytest.mark.exhaustive
@pytest.mark.toolchain
@pytest.mark.parametrize("case", DEEP)
def test_numba_compiles_it(case):
    """Each of them is a kernel to Numba."""
    assert ".entry" in ptx(kernel_of(DEEP[case][0]), (np.zeros(2),))


def test_in_a_thread():
    """Several threads that need the room at once have it, and give it back."""
    body, value = DEEP["operators"]
    kernel, found, before = kernel_of(body), [], sys.getrecursionlimit()

    def run():
        out = np.array([0.0, 1.0])
        lockstep.launch(kernel, (1, 1, 1), (1, 1, 1), (out,))
        found.append(out[0])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for one in threads:
        one.start()
    with deep_enough():
        assert sys.getrecursionlimit() >= DEEPEST
    for one in threads:
        one.join()
    assert (found, sys.getrecursionlimit()) == ([value] * 4, before)


def test_calls_without_end():
    """A function that calls itself for ever stops with a reason."""
    before = "@cuda.jit('float64(float64)', device=True)\ndef down(x):\n"
    before += "    if x < -1e300:\n        return 0.0\n    return down(x + 1.0) + 1\n"
    out = np.zeros(2)
    with pytest.raises(KernelStopped, match="calls itself"):
        trace(kernel_of("out[0] = down(out[1])", before))[1, 1](out)
    kernel_of("out[0] = 5")
    trace(kernel_of("out[0] = 5"))[1, 1](out)
    assert out[0] == 5


LOCAL = "a = cuda.local.array((), np.float32)\n    out[()] = len(a)"
SIZE = "@cuda.jit(device=True)\ndef size(a):\n    return len(a)\n"
LENGTHS = [
    ("out[()] = len(out)", "", (TypingRefused, 2)),
    (LOCAL, "import numpy as np\n", (TypingRefused, 4)),
    ("out[()] = size(out)", SIZE, (UnsupportedSyntax, 3)),
    ("out[()] = out.shape[cuda.threadIdx.x]", "", (UnsupportedSyntax, 2)),
]


@pytest.mark.parametrize(("body", "before", "refusal"), LENGTHS)
def test_arrays_without_axes(body, before, refusal):
    """What asks for an axis of an array that has none is refused with its line."""
    with pytest.raises(SmemnbError) as refused:
        trace(kernel_of(body, before))[1, 1](np.zeros((), np.float32))
    assert isinstance(refused.value, refusal[0])
    assert f"line {refusal[1]}" in str(refused.value)
