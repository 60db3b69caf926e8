"""Kernels compiled in another process come back as Numba's own cache would hand them on."""

import os
import subprocess
import sys

import pytest

from smemnb.hardware import chip
from smemnb.measure.bench import ahead
from smemnb.measure.bench.ahead import Ahead, bound
from smemnb.measure.bench.case import CHOICE, Case

MADE_FOR_90 = """
import sys
from types import SimpleNamespace

from numba import cuda
from numba.cuda import codegen, dispatcher

# no GPU: the compiler is given what it would ask of one
device = SimpleNamespace(compute_capability=(9, 0), id=0)
dispatcher.get_current_device = lambda: device
codegen.devices.get_context = lambda *number: SimpleNamespace(device=device)
dispatcher._Kernel.bind = lambda kernel: kernel._codelibrary.get_cubin()

from smemnb.measure.bench import ahead, contenders
from smemnb.measure.bench.case import Case

case = Case("transpose", (40, 35))
launch = contenders.launch(case, "transpose_tiled", contenders.stand_ins(case))
if sys.argv[1] == "compile":
    sys.stdout.write(ahead.compiled(case, "transpose_tiled").hex())
else:
    assert launch.types not in launch.kernel.overloads
    ahead.take_over(launch, bytes.fromhex(sys.stdin.read()))
    taken = launch.kernel.overloads[launch.types]
    dispatcher._Kernel.__init__ = None  # nothing is compiled again
    assert launch.kernel.compile(launch.types) is taken
    (cubin,) = taken._codelibrary._cubin_cache.values()
    print(len(bytes(getattr(cubin, "code", cubin))) > 1000, taken.entry_name[:7])
"""


CASE = Case("transpose", (64, 96), rungs=("transpose_tiled", "transpose_wide", CHOICE))


@pytest.mark.exhaustive
@pytest.mark.slow
def test_worked_out_by_processes():
    """Bounds come back by name; where nothing can be compiled, nothing is taken over."""
    odd = Case("transpose", (63, 97), rungs=("transpose_wide",))
    with Ahead([CASE, odd], 2, chip("H200")) as found:
        found.wait(CASE)
        assert found.bounds(odd).keys() == {"copy_wide"}
        flat = Case("transpose", (2, 4096))  # 64 x 96 elements are 1.5 rows of 16 KiB
        assert found.bounds(CASE) == {
            **{name: bound(CASE, name, chip("H200")) for name in CASE.rungs},
            "copy_wide": bound(flat, "copy_wide", chip("H200")),
        }


def test_errors_are_not_sent_back():
    """Some errors cannot be sent from process to process; nothing comes in their place."""
    assert ahead._answered(bound, CASE, "transpose_none", chip("H200")) is None
    assert ahead._answered(bound, CASE, "transpose_tiled", chip("H200"))[1] == "shared"


def test_environment_is_left_as_it_was(monkeypatch):
    """Processes begin in the engine; this one keeps its choice, or that it has none."""
    for kept in ("gpu", None):
        if kept is None:
            monkeypatch.delenv("SMEMNB_DEVICE")
        else:
            monkeypatch.setenv("SMEMNB_DEVICE", kept)
        with ahead._launches_in_the_engine():
            assert os.environ["SMEMNB_DEVICE"] == "lockstep"
        assert os.environ.get("SMEMNB_DEVICE") == kept


@pytest.mark.toolchain
def test_compiled_elsewhere(tmp_path):
    """Machine code made by one process is a kernel's overload in another."""
    script = tmp_path / "made_for_90.py"
    script.write_text(MADE_FOR_90)

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

    assert run("take", run("compile", "")) == "True _ZN6sme\n"
