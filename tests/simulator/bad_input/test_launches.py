"""Launch configurations that no device takes."""

import numpy as np
import pytest
from numba import cuda, float32

from smemnb import simulator
from smemnb.errors import LaunchRefused
from smemnb.simulator.launch import DeviceFunctionRefused
from smemnb.simulator.signatures import KeywordRefused
from tests.simulator.bad_input.rows import Table, add_one, refused

# ruff: noqa: E501
# kernels wrong on purpose are launched here: in the engine, never on a GPU
pytestmark = pytest.mark.skipif(simulator.device() != "lockstep", reason="launches go to a GPU")

SIZES, ENTRIES, SHARED, CALLS = Table(), Table(), Table(), Table()
SLASH = " is a whole number. `/` gives a float: write `//`, rounded up as (n + 31) // 32"
GRID, BLOCK = (
    f"add_one: wrong {which}: {which}dim must be a sequence of " for which in ("grid", "block")
)
WHOLE = ": write whole numbers: add_one[grid, block](...)"
LEAST = " in one direction; the least is 1. For empty data, leave the launch out"
FEWER = ". Use a smaller block and more blocks."
X = " (compute capability 9.0). Put the longest direction on x"


@cuda.jit(launch_bounds=128)
def bounded(out):
    out[0] = 99


@cuda.jit
def big_tile(out):
    out[0] = 99
    tile = cuda.shared.array(16384, float32)
    tile[0] = 1


@cuda.jit
def two_tiles(out):
    out[0] = 99
    tile = cuda.shared.array(12000, float32)
    more = cuda.shared.array(0, float32)
    tile[0] = more[0]


@cuda.jit(device=True)
def twice(x):
    return 2 * x


def size(name, launch, text, kind="SizeRefused"):
    """A row for a grid and block."""
    from smemnb.simulator.launch import SizeRefused

    kinds = {"SizeRefused": SizeRefused, "LaunchRefused": LaunchRefused}
    SIZES.add(name, lambda w: add_one[launch](w.dev, w.inp), kinds[kind], text)


def number(name, launch, text):
    """A row for a grid and block of whole numbers that are out of range."""
    size(name, launch, text, "LaunchRefused")


# fmt: off
size("float grid", (1.5, 32), GRID + "integers, got [1.5]: it holds the float 1.5; a number of blocks" + SLASH)
size("float block", (1, 64 / 2), BLOCK + "integers, got [32.0]: it holds the float 32.0; a number of threads" + SLASH)
size("float in a tuple", ((2, 0.5), 32), GRID + "integers, got [2, 0.5]: it holds the float 0.5; a number of blocks" + SLASH)
size("nan", (float("nan"), 32), GRID + "integers, got [nan]: it holds the float nan; a number of blocks" + SLASH)
size("bool grid", (True, 32), GRID + "integers, got [True]" + WHOLE)
size("bool block", (1, (32, True)), BLOCK + "integers, got [32, True]" + WHOLE)
size("None as grid", (None, 32), GRID + "integers, got [None]" + WHOLE)
size("text as block", (1, "32"), BLOCK + "integers, got ['32']" + WHOLE)
size("array as grid", (np.array([1, 2]), 32), GRID + "integers, got [array([1, 2])]" + WHOLE)
size("tuple in a tuple", (((1, 2), 3), 32), GRID + "integers, got [(1, 2), 3]" + WHOLE)
number("no direction", ((), 32), GRID + "1, 2 or 3 integers, got [] (0 numbers); the directions are x, y and z")
number("four directions", (1, (2, 2, 2, 2)), BLOCK + "1, 2 or 3 integers, got [2, 2, 2, 2] (4 numbers); the directions are x, y and z")
number("empty grid", (0, 32), "add_one: grid 0 has 0 blocks" + LEAST)
number("empty block", (1, (32, 0)), "add_one: block (32, 0) has 0 threads" + LEAST)
number("negative grid", ((4, -3), 32), "add_one: grid (4, -3) has -3 blocks" + LEAST)
number("negative block", (1, np.int64(-32)), "add_one: block np.int64(-32) has -32 threads" + LEAST)
number("2048 threads", (4, (64, 32)), "add_one: block (64, 32, 1) has 2048 threads; a block has at most 1024 (compute capability 9.0)" + FEWER)
number("swapped", (256, 4096), "add_one: block (4096, 1, 1) has 4096 threads; a block has at most 1024 (compute capability 9.0)" + FEWER + " Grid and block may be swapped: add_one[grid, block].")
number("huge block", (1, 2**70), f"add_one: block ({2**70}, 1, 1) has {2**70} threads; a block has at most 1024 (compute capability 9.0)" + FEWER)
number("block along z", (1, (1, 1, 65)), "add_one: block (1, 1, 65) has 65 threads along z; at most 64" + X)
number("grid along y", ((1, 65536), 32), "add_one: grid (1, 65536, 1) has 65536 blocks along y; at most 65535" + X)
number("grid along z", ((1, 1, 65536), 32), "add_one: grid (1, 1, 65536) has 65536 blocks along z; at most 65535" + X)
number("grid along x", (2**31, 32), "add_one: grid (2147483648, 1, 1) has 2147483648 blocks along x; at most 2147483647 (compute capability 9.0). Use fewer blocks: let each thread do more")

LACKS = "] lacks a launch. Write add_one[grid, block](...); stream and bytes of dynamic shared memory may follow"
ENTRIES.add("one entry", lambda w: add_one[4](w.dev, w.inp), LaunchRefused, "add_one[4" + LACKS)
ENTRIES.add("one entry, a tuple", lambda w: add_one[(4,)](w.dev, w.inp), LaunchRefused, "add_one[(4,)" + LACKS)
ENTRIES.add("five entries", lambda w: add_one[1, 2, 0, 0, 0](w.dev, w.inp), LaunchRefused, "add_one[(1, 2, 0, 0, 0)" + LACKS)
ENTRIES.add("a slice", lambda w: add_one[1:32](w.dev, w.inp), LaunchRefused, "add_one[slice(1, 32, None)" + LACKS)
ENTRIES.add("bytes as stream", lambda w: add_one[1, 32, 1024](w.dev, w.inp), LaunchRefused, "add_one: the third entry of [grid, block, ...] is the stream, and 1024 is none. Bytes of shared memory are the fourth: add_one[grid, block, 0, 1024]")
STREAM = "add_one: the third entry of [grid, block, ...] is the stream, and {} is none. Write 0 for the default stream, or pass what cuda.stream() gives"
ENTRIES.add("negative stream", lambda w: add_one[1, 32, -1](w.dev, w.inp), LaunchRefused, STREAM.format("-1"))
ENTRIES.add("text as stream", lambda w: add_one[1, 32, "s"](w.dev, w.inp), LaunchRefused, STREAM.format("'s'"))
ENTRIES.add("float as stream", lambda w: add_one[1, 32, 0.0](w.dev, w.inp), LaunchRefused, STREAM.format("0.0"))
ENTRIES.add("bool as stream", lambda w: add_one[1, 32, True](w.dev, w.inp), LaunchRefused, STREAM.format("True"))
ENTRIES.add("tuple as stream", lambda w: add_one[1, 32, (1, 1)](w.dev, w.inp), LaunchRefused, STREAM.format("(1, 1)"))
ENTRIES.add("array as stream", lambda w: add_one[1, 32, np.arange(2)](w.dev, w.inp), LaunchRefused, STREAM.format("array([0, 1])"))
ENTRIES.add("function as stream", lambda w: add_one[1, 32, cuda.stream](w.dev, w.inp), LaunchRefused, STREAM.format(repr(cuda.stream)))

BYTES = " is no number of bytes of dynamic shared memory; write a whole number, elements times itemsize"
for _name, _bytes in {"float": 1e3, "negative": -4, "bool": True, "text": "64", "None": None, "tuple": (8, 8)}.items():
    SHARED.add(_name, lambda w, given=_bytes: add_one[1, 32, 0, given](w.dev, w.inp), LaunchRefused, f"add_one: {_bytes!r}" + BYTES)
SHARED.add("huge", lambda w: add_one[1, 32, 0, 2**40](w.dev, w.inp), LaunchRefused, "add_one: 1099511627776 bytes of dynamic shared memory; a block has at most 232448 (compute capability 9.0). Use a smaller tile")
SHARED.add("static too large", lambda w: big_tile[1, 32](w.dev), LaunchRefused, "big_tile: a block needs 65,536 bytes of shared memory and may have 49,152 (compute capability 9.0). Make the tile smaller, or ask for it at the launch: cuda.shared.array(0, dtype) and big_tile[grid, block, 0, nbytes]")
SHARED.add("static and dynamic too large", lambda w: two_tiles[1, 32, 0, 200_000](w.dev), LaunchRefused, "two_tiles: a block needs 248,000 bytes of shared memory (48,000 of its arrays, 200,000 from the launch) and may have 232,448 (compute capability 9.0). Make the tile smaller")

CALLS.add("launch_bounds", lambda w: bounded[1, 129](w.dev), LaunchRefused, "bounded: block (129, 1, 1) has 129 threads; its launch_bounds promise at most 128. Use a smaller block, or raise launch_bounds")
CALLS.add("no brackets", lambda w: add_one(w.dev, w.inp), LaunchRefused, "Kernel launch configuration was not specified: add_one is a kernel. Use the syntax: add_one[blockspergrid, threadsperblock](out, inp)")
CALLS.add("device function called", lambda w: twice(3), LaunchRefused, "twice is a device function: kernels call it, and the host cannot. Its Python function is twice.py_func")
CALLS.add("device function launched", lambda w: twice[1, 32](w.dev), DeviceFunctionRefused, "Cannot compile a device function as a kernel: twice is a device function: it is called from kernels. A kernel has @cuda.jit without device=True")
CALLS.add("one argument missing", lambda w: add_one[1, 32](w.dev), LaunchRefused, "add_one(out, inp) takes 2 arguments and got 1; missing: inp")
CALLS.add("no argument", lambda w: add_one[1, 32](), LaunchRefused, "add_one(out, inp) takes 2 arguments and got 0; missing: out, inp")
CALLS.add("one argument too many", lambda w: add_one[1, 32](w.dev, w.inp, 3), LaunchRefused, "add_one(out, inp) takes 2 arguments and got 3; 1 too many")
CALLS.add("keyword", lambda w: add_one[1, 32](w.dev, inp=w.inp), KeywordRefused, "add_one takes its arguments by position, and got inp=. Write add_one[grid, block](out, inp)")
CALLS.add("forall of less than nothing", lambda w: add_one.forall(-1)(w.dev, w.inp), LaunchRefused, "Can't create ForAll with negative task count: -1")
TASKS = " is no number of tasks; write a whole number, 0 or more, as in add_one.forall(out.size)"
CALLS.add("forall of a float", lambda w: add_one.forall(40 / 2)(w.dev, w.inp), LaunchRefused, "add_one.forall: 20.0" + TASKS)
CALLS.add("forall of an array", lambda w: add_one.forall(np.arange(2))(w.dev, w.inp), LaunchRefused, "add_one.forall: array([0, 1])" + TASKS)
CALLS.add("forall of None", lambda w: add_one.forall(None)(w.dev, w.inp), LaunchRefused, "add_one.forall: None" + TASKS)
TPB = "add_one.forall: tpb={} is no number of threads per block; write 1 to 1024, or leave it out"
for _tpb in (-32, 1025, 32.0, "32", True):
    CALLS.add(f"tpb {_tpb!r}", lambda w, given=_tpb: add_one.forall(40, tpb=given)(w.dev, w.inp), LaunchRefused, TPB.format(repr(_tpb)))
# fmt: on


@SIZES.each()
def test_grid_and_block(row, monkeypatch):
    """Sizes that no device takes."""
    refused(row, monkeypatch)


@ENTRIES.each()
def test_entries(row, monkeypatch):
    """Too few and too many entries between the brackets, and things that are no stream."""
    refused(row, monkeypatch)


@SHARED.each()
def test_shared_memory(row, monkeypatch):
    """Bytes that are no bytes, and more of them than a block has."""
    refused(row, monkeypatch)


@CALLS.each()
def test_calls(row, monkeypatch):
    """Calls that are no launch of this kernel."""
    refused(row, monkeypatch)


def test_what_is_taken():
    """The other side: what a stream may be, NumPy integers as sizes, a list as a size."""
    out, inp = np.zeros(3, np.float32), np.arange(3, dtype=np.float32)
    for stream in (0, None, 1, 2, cuda.stream(), cuda.default_stream()):
        out[:] = 0
        add_one[np.int32(1), [4, 8], stream, np.uint8(16)](out, inp)
        assert out.tolist() == [1, 2, 3]
