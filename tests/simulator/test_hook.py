"""The plug, each case in a process of its own: import order, SMEMNB_DEVICE, Numba's simulator."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KERNEL = """
import numpy as np
@cuda.jit
def fill(out):
    out[cuda.grid(1)] = 3
out = np.zeros(4, np.float32)
"""
RUN = KERNEL + "fill[1, 4](out)\nprint(out.tolist(), smemnb.simulator.device())\n"
HAS_GPU = """
import sys
from numba import cuda
sys.exit(0 if cuda.is_available() else 7)
"""


def python(code, folder, **environment):
    """(stdout, stderr, exit code) of a program in a file, in a fresh process."""
    program = folder / "program.py"
    program.write_text(code)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SMEMNB", "NUMBA"))}
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), kept.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, env=kept | environment
    )
    return done.stdout, done.stderr, done.returncode


@pytest.fixture(scope="module")
def no_gpu(tmp_path_factory):
    if sys.platform == "linux":
        try:
            ctypes.CDLL("libcuda.so.1")
        except OSError:  # no driver: nobody need start a process to ask
            return
    if python(HAS_GPU, tmp_path_factory.mktemp("gpu"))[2] != 7:
        pytest.skip("a GPU is here")


@pytest.mark.first(1)
@pytest.mark.parametrize(
    "imports",
    [
        "import smemnb\nfrom numba import cuda",
        "from numba import cuda\nimport smemnb",
        *(
            pytest.param(imports, marks=pytest.mark.exhaustive)
            for imports in (
                "import numba\nimport smemnb\nimport numba.cuda\nfrom numba import cuda",
                "import smemnb\nimport numba.cuda as cuda",
                "import smemnb.simulator.inference\nimport smemnb\nfrom numba import cuda",
                "from smemnb.simulator import host\nimport smemnb\nfrom numba import cuda",
                "from smemnb import trace\nfrom numba import cuda\nimport smemnb",
            )
        ),
    ],
    ids=lambda imports: imports.replace("\n", "; "),
)
def test_import_order(imports, tmp_path, no_gpu):
    """Before or after numba.cuda, smemnb makes the launch run, and says nothing on stderr."""
    assert python(imports + RUN, tmp_path) == ("[3.0, 3.0, 3.0, 3.0] lockstep\n", "", 0)


@pytest.mark.slow
def test_host_names_after(tmp_path, no_gpu):
    """A module object that was imported before has the replaced names."""
    code = "from numba import cuda\nkept = cuda\nimport smemnb\nprint(kept.to_device([1.0])[0])"
    assert python(code, tmp_path) == ("1.0\n", "", 0)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_kernel_made_before(tmp_path, no_gpu):
    """A kernel that was decorated before smemnb came runs, too."""
    code = "from numba import cuda\n" + KERNEL + "import smemnb\nfill[1, 4](out)\nprint(out.sum())"
    assert python(code, tmp_path) == ("12.0\n", "", 0)


@pytest.mark.slow
def test_off(tmp_path, no_gpu):
    """`off` touches nothing: launches fail in Numba's own words; a trace still runs."""
    code = "import smemnb\nfrom numba import cuda\nprint(cuda.is_available())\n" + KERNEL
    code += "from smemnb.simulator.launch import run\nrun(fill, 1, 4, 0, 0, (out,))\n"
    code += "print(out.tolist(), smemnb.simulator.device())\nfill[1, 4](out)\n"
    out, error, exit_code = python(code, tmp_path, SMEMNB_DEVICE="off")
    assert (out, exit_code) == ("False\n[3.0, 3.0, 3.0, 3.0] off\n", 1)
    assert "CudaSupportError" in error or "CUDA driver" in error


@pytest.mark.slow
def test_off_environment(tmp_path):
    """`off` leaves Numba's warning about small grids as it is."""
    code = "import smemnb\nfrom numba import cuda\nfrom numba.core import config\n"
    code += "print(config.CUDA_LOW_OCCUPANCY_WARNINGS)"
    assert python(code, tmp_path, SMEMNB_DEVICE="off") == ("1\n", "", 0)
    assert python(code, tmp_path) == ("0\n", "", 0)
    wanted = {"NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "1"}
    assert python(code, tmp_path, **wanted) == ("1\n", "", 0)


@pytest.mark.slow
def test_forced_lockstep(tmp_path):
    """`lockstep` runs the engine, with or without a GPU."""
    code = "import smemnb\nfrom numba import cuda" + RUN
    wanted = "[3.0, 3.0, 3.0, 3.0] lockstep\n", "", 0
    assert python(code, tmp_path, SMEMNB_DEVICE="lockstep") == wanted


@pytest.mark.exhaustive
@pytest.mark.slow
def test_forced_gpu(tmp_path, no_gpu):
    """`gpu` without a GPU: the import works, a launch and `device()` say what is missing."""
    code = "import smemnb\nfrom numba import cuda\n" + KERNEL + "print('so far')\nfill[1, 4](out)"
    out, error, _ = python(code, tmp_path, SMEMNB_DEVICE="gpu")
    assert out == "so far\n"
    last = error.splitlines()[-1]
    assert "SMEMNB_DEVICE=gpu, but Numba finds no usable GPU" in last
    assert "Unset SMEMNB_DEVICE" in last
    code = "import smemnb\nsmemnb.simulator.device()"
    assert "no usable GPU" in python(code, tmp_path, SMEMNB_DEVICE="gpu")[1]


def test_unknown_device(tmp_path):
    """Any other value is refused when smemnb is imported."""
    _, error, exit_code = python("import smemnb", tmp_path, SMEMNB_DEVICE="cpu")
    assert exit_code == 1
    assert "SMEMNB_DEVICE='cpu' is not known. It may be gpu, lockstep or off" in error


def test_cc(tmp_path):
    """SMEMNB_CC chooses the limits; an unknown one is refused with the known ones."""
    code = "import smemnb\nprint(smemnb.simulator.cc())"
    assert python(code, tmp_path, SMEMNB_CC="8.6") == ("(8, 6)\n", "", 0)
    error = python(code, tmp_path, SMEMNB_CC="3.5")[1]
    assert "SMEMNB_CC='3.5'" in error
    assert "known: 7.0, 7.5" in error


@pytest.mark.slow
def test_numba_simulator(tmp_path):
    """With NUMBA_ENABLE_CUDASIM=1 Numba's simulator stays; `run` still goes to the engine."""
    code = "import smemnb\nfrom numba import cuda" + RUN
    code += "from smemnb.simulator.launch import run\nout[:] = 0\nrun(fill, 1, 4, 0, 0, (out,))\n"
    code += "print(out.tolist(), type(fill).__name__)"
    out, error, _ = python(code, tmp_path, NUMBA_ENABLE_CUDASIM="1")
    assert error == ""
    assert out.splitlines() == [
        "[3.0, 3.0, 3.0, 3.0] numba simulator",
        "[3.0, 3.0, 3.0, 3.0] FakeCUDAKernel",
    ]


SIMULATED = """
import numpy as np, smemnb
from numba import cuda
from smemnb import check, trace
from smemnb.compiled import sass
@cuda.jit
def scale(out, inp):
    i = cuda.grid(1)
    if i < inp.shape[0]:
        out[i] = 2 * inp[i]
out, inp = np.zeros(40, np.float32), np.arange(40, dtype=np.float32)
seen = trace(scale)[2, 32](out, inp)
print(out[39], [(row.line, row.requests) for row in seen.lines])
print(["NUMBA_ENABLE_CUDASIM" in said for said in seen.limits])
def infer():
    from smemnb.simulator.inference import infer
def graded():
    check("ex00_scale", scale)
def machine_code():
    sass(scale, (out, inp))
for act in (graded, seen.as_compiled, machine_code, infer):
    try:
        print(act())
    except smemnb.errors.SmemnbError as error:
        print("Unset NUMBA_ENABLE_CUDASIM" in str(error))
"""


@pytest.mark.exhaustive
def test_what_works_while_numba_simulates(tmp_path):
    """A trace runs and says what it did not examine; what needs types is refused with its cure."""
    out, error, _ = python(SIMULATED, tmp_path, NUMBA_ENABLE_CUDASIM="1")
    assert (error, out.splitlines()) == (
        "",
        ["78.0 [(10, 2), (10, 2)]", "[True]", "True", "True", "True", "True"],
    )


@pytest.mark.exhaustive
def test_the_corpus_while_numba_simulates(tmp_path):
    """Traces find and count there what they do elsewhere, but for what needs Numba's types."""
    code = """
import smemnb
from smemnb import trace
from tests.corpus import local_arrays, memory, order, prices, races_global, races_shared
from tests.corpus.pairs import PAIRS
for pair in PAIRS:
    for kernel in (pair.buggy, pair.clean):
        seen = trace(kernel)[pair.launch](*pair.args())
        found = [(f.kind, f.line, f.count) for f in seen.findings if f.kind[:7] != "float64"]
        rows = [(r.line, r.requests, r.wavefronts, r.sectors) for r in seen.lines]
        print(pair.name, found, rows)
"""
    typed, untyped = python(code, tmp_path), python(code, tmp_path, NUMBA_ENABLE_CUDASIM="1")
    assert len(typed[0].splitlines()) > 100
    assert untyped == typed


@pytest.mark.slow
def test_finder_goes_away(tmp_path):
    """Once numba.cuda is there, nothing of smemnb stays in the import system."""
    code = "import sys, smemnb\nbefore = len(sys.meta_path)\nfrom numba import cuda\n"
    code += "print(before - len(sys.meta_path), 'smemnb' in repr(cuda.__spec__.loader))\n"
    code += "print('exec_module' in vars(cuda.__spec__.loader))"
    assert python(code, tmp_path) == ("1 False\nFalse\n", "", 0)


@pytest.mark.toolchain
def test_the_compiler_works_while_numba_cuda_is_plugged(tmp_path):
    """The plug tries the compiler before `numba` knows its `cuda`; it must not fail for that."""
    code = (
        "import smemnb\nfrom smemnb.simulator import hook\nfrom smemnb.compiled import available\n"
    )
    code += "hook._plug = lambda cuda: print(available())\nfrom numba import cuda\n"
    assert python(code, tmp_path) == ("True\n", "", 0)
