"""`trace`, `check` and the settings of the environment, asked for what they cannot do."""

import os
import subprocess
import sys

import pytest
from numba import cuda

from smemnb import simulator
from smemnb.errors import LaunchRefused
from smemnb.exercises.check import check
from smemnb.simulator.launch import DeviceFunctionRefused
from smemnb.simulator.signatures import KeywordRefused
from smemnb.tracing import trace
from tests.simulator.bad_input.rows import Table, add_one, refused

# ruff: noqa: E501
# kernels wrong on purpose are launched here: in the engine, never on a GPU
pytestmark = pytest.mark.skipif(simulator.device() != "lockstep", reason="launches go to a GPU")

KERNELS, LAUNCHES, OPTIONS = Table(), Table(), Table()


@cuda.jit(device=True)
def twice(x):
    return 2 * x


# fmt: off
for _name, _thing, _type in (("a number", 3, "int"), ("a text", "add_one", "str"), ("a builtin", len, "builtin_function_or_method"), ("a class", Table, "type")):
    KERNELS.add(_name, lambda w, it=_thing: trace(it)[1, 32](w.dev, w.inp), LaunchRefused, f"an object of type {_type} is no kernel: decorate a function")
KERNELS.add("None", lambda w: trace(None), LaunchRefused, "None is no kernel. A launch returns None: if this one has run already, write trace(kernel)[grid, block](...) in its place")
KERNELS.add("a device function", lambda w: trace(twice)[1, 32](w.dev), DeviceFunctionRefused, "Cannot compile a device function as a kernel: twice is a device function: it is called from kernels. A kernel has @cuda.jit without device=True")
KERNELS.add("a launched kernel", lambda w: trace(add_one[1, 32])(w.dev, w.inp), LaunchRefused, "this is a kernel with its launch; trace wants the kernel alone: trace(kernel)[grid, block](...)")
KERNELS.add("what a launch gave", lambda w: trace(trace(add_one))[1, 32](w.dev, w.inp), LaunchRefused, "an object of type Tracer is no kernel: decorate a function")

LAUNCHES.add("no brackets", lambda w: trace(add_one)(w.dev, w.inp), LaunchRefused, "add_one needs a launch: trace(add_one)[grid, block](...)")
LAUNCHES.add("one entry", lambda w: trace(add_one)[4](w.dev, w.inp), LaunchRefused, "trace(add_one)[4] lacks a launch: write trace(add_one)[grid, block](...), and stream and bytes of shared memory after them if needed")
LAUNCHES.add("keyword", lambda w: trace(add_one)[1, 32](w.dev, inp=w.inp), KeywordRefused, "add_one takes its arguments by position, and got inp=. Write add_one[grid, block](out, inp)")
LAUNCHES.add("bytes as stream", lambda w: trace(add_one)[1, 32, 1024](w.dev, w.inp), LaunchRefused, "add_one: the third entry of [grid, block, ...] is the stream, and 1024 is none. Bytes of shared memory are the fourth: add_one[grid, block, 0, 1024]")
LAUNCHES.add("a list", lambda w: trace(add_one)[1, 32](w.dev, [1, 2]), LaunchRefused, "`inp` is a list. Kernels take NumPy arrays, device arrays, numbers and tuples of them: pass np.array(inp, dtype=np.int32)")

WRITE = ": write 'all', 'first', 'last', 'edges', how many blocks to watch (1 or more), or a list of blocks such as [(0, 0), (3, 1)]"
for _blocks in ("middle", 0, -3, True, 2.5, None, [], {1}):
    OPTIONS.add(f"blocks={_blocks!r}", lambda w, it=_blocks: trace(add_one, blocks=it)[2, 32](w.dev, w.inp), LaunchRefused, f"blocks={_blocks!r}" + WRITE)
for _block in (9, (0, 1), (0, 0, 0, 0), "a", -1, True):
    OPTIONS.add(f"block {_block!r}", lambda w, it=_block: trace(add_one, blocks=[it])[2, 32](w.dev, w.inp), LaunchRefused, f"blocks: {_block!r} is no block of the grid (2, 1, 1)")
for _others in ("leave", None, True):
    OPTIONS.add(f"others={_others!r}", lambda w, it=_others: trace(add_one, others=it)[2, 32](w.dev, w.inp), LaunchRefused, f"others={_others!r}: blocks that are not watched may 'run' (results are whole) or be left out with 'skip'")
for _order in ("backwards", 3, True):
    OPTIONS.add(f"order={_order!r}", lambda w, it=_order: trace(add_one, order=it)[2, 32](w.dev, w.inp), LaunchRefused, f"order={_order!r}: warps run in lockstep (None), the last one first ('reversed'), likewise with copies that land as late as they may ('late'), or in an order drawn from `seed` ('random')")
for _seed in (-1, 1.5, None, "a", True):
    OPTIONS.add(f"seed={_seed!r}", lambda w, it=_seed: trace(add_one, seed=it)[2, 32](w.dev, w.inp), LaunchRefused, f"seed={_seed!r}: write a whole number, 0 or more")
for _patience in (-1, 0, "5", True, float("nan")):
    OPTIONS.add(f"patience_s={_patience!r}", lambda w, it=_patience: trace(add_one, patience_s=it)[2, 32](w.dev, w.inp), LaunchRefused, f"patience_s={_patience!r}: write seconds, more than 0, or None to wait for ever")
for _flag in ("counts", "checks"):
    OPTIONS.add(f"{_flag}='no'", lambda w, it=_flag: trace(add_one, **{it: "no"})[2, 32](w.dev, w.inp), LaunchRefused, f"{_flag}='no': write True or False")
# fmt: on


@KERNELS.each()
def test_kernels(row, monkeypatch):
    """What is no kernel."""
    refused(row, monkeypatch)


@LAUNCHES.each()
def test_launches(row, monkeypatch):
    """Launches under trace are refused as launches are."""
    refused(row, monkeypatch)


@OPTIONS.each()
def test_options(row, monkeypatch):
    """Options of trace."""
    refused(row, monkeypatch)


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("setting", "value", "text"),
    [
        (
            "SMEMNB_DEVICE",
            "tpu",
            "SMEMNB_DEVICE='tpu' is not known. It may be gpu, lockstep or off; unset, the GPU is"
            " used if there is one, and the lockstep engine if not",
        ),
        ("SMEMNB_CC", "1.0", "SMEMNB_CC='1.0': "),
        ("SMEMNB_CC", "nine", "SMEMNB_CC='nine': "),
    ],
)
def test_environment(setting, value, text):
    """An unknown value of a setting is reported by its name; no kernel runs."""
    code = (
        "import smemnb.simulator, numpy as np; from numba import cuda\n"
        "out = np.zeros(3)\n"
        "@cuda.jit\n"
        "def k(out): out[0] = 99\n"
        "k[1, 1](out)\n"
    )
    where = {**os.environ, setting: value}
    done = subprocess.run([sys.executable, "-c", code], env=where, capture_output=True, text=True)
    assert done.returncode == 1
    assert text in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        (
            "ex99_nothing",
            add_one,
            'there is no exercise "ex99_nothing"; progress() lists them all.',
        ),
        ("ex00_scale", None, "this is None, not a kernel: give check the function under @cuda.jit"),
        (
            "ex00_scale",
            3,
            "this is a value of type int, not a kernel: give check the function under @cuda.jit",
        ),
        ("ex00_scale", add_one[1, 32], "this is a kernel with its launch: leave out [grid, block]"),
        (
            3,
            add_one,
            'the first argument is the name of an exercise in quotes, such as "ex00_scale"',
        ),
    ],
)
def test_check(name, given, text):
    """`check` never raises: its verdict says what is wrong, and nothing is remembered."""
    verdict = check(name, given)
    assert not verdict
    assert text in " ".join(repr(verdict).split())  # its lines are as long as a page is wide
