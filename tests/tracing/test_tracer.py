"""Launches under `trace`: their reports, and what is refused before anything runs."""

import subprocess
import sys

import numpy as np
import pytest
from numba import cuda, njit

import smemnb  # noqa: F401  (plugs numba.cuda)
from smemnb.errors import LaunchRefused
from smemnb.tracing import Trace, trace
from tests.tracing import traced


def scale(out, inp):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * inp[i]


def wait_in_turn(out):
    for _ in range(cuda.blockIdx.x):
        cuda.syncthreads()
    cuda.syncwarp()
    if cuda.blockIdx.x == 0:
        cuda.syncthreads()
    else:
        cuda.syncthreads()
    out[cuda.grid(1)] = 1


GOLDEN = """\
turn_tiled[2, (32, 32)]: 2 blocks of 1,024 threads, 4,096 shared bytes each (model)
line  source, access         requests   wavefronts  n-way  extra   sectors  each  extra
      shared memory                80           80      1      0
      global memory                80                                  900  11.2    700
  12  tile[ty, tx] = inp[row, col]
        store tile[ty, tx]         40           40      1      0
        load inp[row, col]         40                                  100   2.5      0
  15  out[col, row] = tile[ty, tx]
        store out[col, row]        40                                  800  20.0    700
        load tile[ty, tx]          40           40      1      0
findings: 1 warning, 1 note
  warning: Line 15 stores out[col, row] and moves 800 sectors where 100 would hold the bytes: from
    lane to lane it goes on by 80 bytes, along axis 0 of out. 700 extra sectors in all. Let
    threadIdx.x walk along axis 1: exchange the roles of x and y, or stage the elements in a shared
    tile and exchange them there.
  note: The barrier of line 13 orders nothing in this launch: no thread comes to what another one
    touched before it. 2 times in all. Take it out, if that holds for every launch; it costs time
    only."""


def test_trace():
    """The golden text of a kernel of ten lines, run by the engine on 20 rows of 40 numbers.

    By hand: 20 warps of 32 lanes and 20 of 8. Loads take 4 and 1 sectors; stores 80 bytes apart
    take one for each lane, 32 and 8.
    """
    inp = np.arange(800, dtype=np.float32).reshape(20, 40)
    out = np.zeros((40, 20), np.float32)
    report = trace(traced.turn_tiled)[2, (32, 32)](out, inp)
    assert repr(report) == GOLDEN
    assert (out == inp.T).all()


def test_trace_of_a_race():
    """A launch without its barrier is right by luck, and the report says so."""
    inp = np.arange(1024, dtype=np.float32).reshape(32, 32)
    report = trace(traced.turn_unsynced)[1, (32, 32)](np.zeros_like(inp), inp)
    (found,) = report.findings
    assert (found.kind, found.line, found.other_line, found.count) == ("race", 22, 23, 992)
    assert (report.ok, report.races) == (False, (found,))
    assert report.bank_map(23).ways == 32
    assert Trace.from_json(report.to_json()) == report


def test_barriers():
    """Those of the block that passes the most: block 4 of 5 passes 4 and 1; no syncwarp counts."""
    report = trace(wait_in_turn)[5, 64](np.zeros(320, np.float32))
    assert report.barriers == 5
    assert Trace.from_json(report.to_json()).barriers == 5
    assert trace(scale)[1, 32](np.zeros(3), np.ones(3)).barriers == 0


def test_trace_twice():
    """Two equal launches give equal traces, of the dispatcher and of the plain function."""
    inp = np.arange(1024, dtype=np.float32).reshape(32, 32)
    kernels = (traced.turn_unsynced, traced.turn_unsynced, traced.turn_unsynced.py_func)
    reports = [trace(kernel)[1, (32, 32)](np.zeros_like(inp), inp) for kernel in kernels]
    assert reports[0] == reports[1] == reports[2]
    assert reports[0].to_json() == reports[1].to_json()


def test_trace_of_a_device_function():
    """Lines of a device function carry its name and the array they meet; bytes are dynamic."""
    inp = np.arange(64, dtype=np.int32)
    out = np.zeros_like(inp)
    report = trace(traced.double)[2, 32, 0, 128](out, inp)
    assert [(row.function, row.line, row.access) for row in report.lines] == [
        ("double", 35, "store staged[cuda.threadIdx.x]"),
        ("double", 35, "load inp[i]"),
        ("double", 36, "store out[i]"),
        ("doubled", 28, "load cells[i] (staged)"),
    ]
    assert str(report.launch) == "double[2, 32, 0, 128]"
    assert (report.launch.static_shared_bytes, report.launch.dynamic_shared_bytes) == (0, 128)
    assert (out == 2 * inp).all()


def test_trace_of_nothing():
    """An access that no lane makes leaves no row."""
    report = trace(traced.idle)[1, 32](np.zeros(4, np.int32))
    assert repr(report) == (
        "idle[1, 32]: 1 block of 32 threads (model)\n"
        "no shared or global memory was touched\nfindings: none"
    )


@pytest.mark.parametrize(("counts", "checks"), [(True, False), (False, True)])
def test_switches(counts, checks):
    """What is not asked for is neither made nor called absent."""
    inp = np.ones((32, 32), np.float32)
    tracer = trace(traced.turn_unsynced, counts=counts, checks=checks)
    report = tracer[1, (32, 32)](np.zeros_like(inp), inp)
    assert (len(report.lines), len(report.findings)) == (4 * counts, 1 * checks)
    assert ("findings: not checked" in repr(report)) is not checks
    assert (report.launch.counted, report.launch.checked) == (counts, checks)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: 3, "int is no kernel"),
        (lambda: "scale", "str is no kernel"),
        (lambda: int, "type is no kernel"),
        (lambda: len, "builtin_function_or_method is no kernel"),
        (lambda: None, r"None is no kernel.* write trace\(kernel\)\[grid, block\]\(\.\.\.\)"),
        (lambda: njit(scale), "scale is compiled for the CPU"),
        (lambda: cuda.jit(device=True)(scale), "scale is a device function"),
        (lambda: traced.idle[1, 32], r"trace wants the kernel alone: trace\(kernel\)\[grid, "),
    ],
)
def test_what_is_no_kernel(make, said):
    """Each wrong thing is named, and what is wanted with it."""
    with pytest.raises(LaunchRefused, match=said):
        trace(make())


def test_without_brackets():
    """A kernel cannot be called without grid and block."""
    with pytest.raises(LaunchRefused, match=r"scale needs a launch: trace\(scale\)\[grid, block\]"):
        trace(scale)(1, 2)


@pytest.mark.parametrize(
    "options, expected", [({}, ((2, 1, 1), (256, 1, 1))), ({"tpb": 32}, ((10, 1, 1), (32, 1, 1)))]
)
def test_forall(options, expected):
    """As many blocks as the tasks need, of the size that a plain launch has."""

    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    x = np.ones(300, np.float32)
    launch = trace(double).forall(x.size, **options)(x).launch
    assert ((launch.grid, launch.block), x.sum()) == (expected, 600)


@pytest.mark.parametrize("tasks, said", [(0, "launches nothing"), (-1, "negative"), (1.5, "1.5")])
def test_forall_of_nothing(tasks, said):
    """There is no trace without a launch."""
    with pytest.raises(LaunchRefused, match=said):
        trace(scale).forall(tasks)


@pytest.mark.parametrize("brackets", [4, (4,), (1, 2, 3, 4, 5)])
def test_wrong_brackets(brackets):
    """Two to four entries, as Numba has it."""
    with pytest.raises(LaunchRefused, match=r"write trace\(scale\)\[grid, block\]"):
        trace(scale)[brackets]


def test_import_is_cheap():
    """The package imports neither Numba nor Matplotlib; the first launch does."""
    code = "import sys, smemnb.tracing; print({'numba', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("set()\n", "")


def test_configured_says_what_it_waits_for():
    """Without arguments: the launch and the parameters, no address."""
    assert repr(trace(traced.turn_tiled)[(2, 2), (32, 32)]) == (
        "turn_tiled[(2, 2), (32, 32)], waiting for its arguments: (out, inp)"
    )
