"""What a replay refuses, before anything is launched; what it leaves as it was."""

import numpy as np
import pytest
from numba import cuda

import smemnb
from smemnb.errors import LaunchRefused, SmemnbError
from smemnb.figures.replay.barriers import barrier_lines
from smemnb.figures.replay.recording import MOST_BARRIERS
from smemnb.kernels.transpose import transpose_tiled
from tests.facts import facts
from tests.figures.replay.kernels import asserts, line_of, no_tile, product

FULL, READ = line_of(product, "# both tiles are full"), line_of(product, "# everyone has read")


def refused(call):
    with pytest.raises(ValueError) as seen:
        call()
    assert isinstance(seen.value, SmemnbError)
    return str(seen.value)


def test_without_shared_memory():
    """Refused before there is a launch."""
    said = refused(lambda: smemnb.replay(no_tile))
    assert "no_tile" in said and "cuda.shared.array" in said


def test_block_that_touches_none():
    """The block has no data; the refusal names it, and nothing is written."""
    out, inp = np.full((32, 70), -1, np.float32), np.zeros((70, 32), np.float32)
    said = refused(lambda: smemnb.replay(transpose_tiled, block=(1, 0))[(2, 3), (32, 32)](out, inp))
    assert "block=(1, 0)" in said
    assert (out == -1).all()


@pytest.mark.parametrize("line", [1, -3, READ + 1, True, 2.0, "barrier"])
def test_unknown_line(line):
    """The argument, what came, and the lines that have a barrier."""
    said = refused(lambda: smemnb.replay(product, without=line))
    assert f"without={line!r}" in said
    assert f"{FULL}, {READ}" in said


@pytest.mark.parametrize("block", [-1, (0, 0, 0, 0), (), 1.5, True, "first", (0, -2)])
def test_no_block(block):
    assert f"block={block!r}" in refused(lambda: smemnb.replay(product, block=block))


@pytest.mark.parametrize("block", [2, (0, 3), (0, 0, 1)])
def test_block_outside_the_grid(block):
    """Nothing is launched: the arguments would be refused."""
    said = refused(lambda: smemnb.replay(product, block=block)[(2, 3), (8, 8)]("no", "arrays"))
    assert f"block={block!r}" in said
    assert facts(said) == facts(f"{block} 6 (1, 2)")


def test_launches():
    """A launch is asked for as Numba asks for it."""
    with pytest.raises(LaunchRefused, match=r"replay\(product\)\[grid, block\]"):
        smemnb.replay(product)(1)
    with pytest.raises(LaunchRefused, match="lacks a launch"):
        smemnb.replay(product)[4]
    with pytest.raises(LaunchRefused, match="no kernel"):
        smemnb.replay("product")
    with pytest.raises(LaunchRefused, match="missing: b"):
        smemnb.replay(product)[1, (8, 8)](np.zeros((8, 8)), np.zeros((8, 8)))


def test_something_else_than_a_kernel():
    """A trace, with or without its launch, and a launch are answered with the whole call."""
    out, inp = np.zeros((2, 32, 32), np.float32)
    waiting = smemnb.trace(transpose_tiled)
    launch = 1, (32, 32)
    for given in (waiting, waiting[launch], waiting[launch](out, inp), transpose_tiled[launch]):
        said = refused(lambda given=given: smemnb.replay(given))
        assert said.endswith("replay(transpose_tiled)[grid, block](...)")
    said = refused(lambda: smemnb.replay(transpose_tiled[launch](out, inp)))
    assert said.endswith("replay(kernel)[grid, block](...)") and "None" in said


def test_arguments_stay_as_they_are():
    """Neither the run with all barriers nor one without writes to the arguments."""
    a, b, out = np.ones((8, 16), np.float32), np.ones((16, 8), np.float32), np.full((8, 8), -7.0)
    device = cuda.to_device(out)
    for target in (out, device):
        found = smemnb.replay(product, without=READ)[1, (8, 8)](target, a, b)
        assert len(found.runs) == 3
    assert (out == -7).all() and (device.copy_to_host() == -7).all()
    assert (a == 1).all() and (b == 1).all()


def test_nobody_waits_at_one_line():
    """The barrier of the other line is heeded; the kernel that was given stays as it is."""
    assert barrier_lines(product.py_func) == (FULL, READ)
    a, b, out = np.ones((8, 16), np.float32), np.ones((16, 8), np.float32), np.zeros((8, 8))
    found = smemnb.replay(product)[1, (8, 8)](out, a, b)
    every, *less = found.runs
    assert [run.without for run in less] == [FULL, READ]
    assert every.stale_count == 0 and all(run.phases < every.phases for run in less)
    assert barrier_lines(product.py_func) == (FULL, READ)


def test_barriers_of_device_functions_stay():
    """They are no barriers of the kernel's own text."""

    @cuda.jit(device=True)
    def wait():
        cuda.syncthreads()

    @cuda.jit
    def waits(out):
        tile = cuda.shared.array(64, "int32")
        t = cuda.threadIdx.x
        tile[t] = t
        wait()
        out[t] = tile[63 - t]

    found = smemnb.replay(waits)[1, 64](np.zeros(64, np.int32))
    assert (len(found.runs), found.run.stale_count, found.run.phases) == (1, 0, 2)
    with pytest.raises(ValueError, match="none"):
        smemnb.replay(waits, without=1)


def test_many_barriers():
    """So many are left out in turn, the named one among them; the others are named."""
    names = {"cuda": cuda}
    lines = ["def many(out):", "    tile = cuda.shared.array(64, 'int32')"]
    lines += ["    tile[cuda.threadIdx.x] = 1", "    cuda.syncthreads()"] * (MOST_BARRIERS + 2)
    text = "\n".join([*lines, "    out[0] = tile[0]", ""])
    exec(text, names)
    many = cuda.jit(names["many"])
    last = 2 + 2 * (MOST_BARRIERS + 2)
    found = smemnb.replay(many, without=last)[1, 32](np.zeros(1, np.int32))
    expected = [None, *range(4, 4 + 2 * (MOST_BARRIERS - 1), 2), last]
    assert [run.without for run in found.runs] == expected
    assert found.run.without == last
    (note,) = found.notes
    assert facts(note) == facts(" ".join(map(str, range(expected[-2] + 2, last, 2))))
    with pytest.raises(ValueError, match="line=5"):
        found.without(5)


def test_a_run_that_stops():
    """Where the kernel stops without a barrier, the other runs are shown, and it is said."""
    found = smemnb.replay(asserts)[1, 64](np.zeros(64, np.int32))
    assert [run.without for run in found.runs] == [None]
    (note,) = found.notes
    assert f"line {line_of(asserts, 'syncthreads')} " in note
    assert note in repr(found)
