import numpy as np
import pytest
from numba import cuda, int32

from smemnb import trace
from smemnb.figures import staging_map
from smemnb.figures.sheet import SMALLEST, width_of
from smemnb.figures.staging import ALONG, PLACES, ROOM, Move, label, measure
from smemnb.kernels.transpose import transpose_tiled
from tests.facts import facts


def tiled(rows, cols):
    grid = (-(-cols // 32), -(-rows // 32))
    out, inp = np.zeros((cols, rows), np.float32), np.zeros((rows, cols), np.float32)
    return trace(transpose_tiled)[grid, (32, 32)](out, inp)


@pytest.fixture(scope="module")
def whole():
    return tiled(64, 96)


def test_moves(whole):
    """One tile of 4,096 bytes goes through shared memory, per block."""
    found = measure(whole)
    assert [(m.source, m.target, m.bytes, m.requests) for m in found.moves] == [
        ("global", "registers", 4096, 32),
        ("registers", "shared", 4096, 32),
        ("shared", "registers", 4096, 32),
        ("registers", "global", 4096, 32),
    ]
    assert (found.per_block, found.blocks, found.threads, found.shared_bytes) == (
        True,
        6,
        1024,
        4096,
    )


def test_barrier_stands_between(whole):
    """The kernel has one barrier: after the store to the tile, before the load from it."""
    found = measure(whole)
    (barrier,) = found.barriers
    stored, loaded = (m.line for m in found.moves if "shared" in (m.source, m.target))
    assert stored < barrier < loaded


@cuda.jit
def one_store(out):
    out[0] = 1


def test_one_is_no_plural():
    """A thread that stores one byte by one request."""
    said = staging_map(trace(one_store)[1, 1](np.zeros(1, np.uint8))).text
    for one in ("1 block", "1 thread", "1 byte", "1 request"):
        assert one in said and f"{one}s" not in said


def test_ragged_launch_is_summed_up():
    """Blocks at an edge move less: then the numbers are those of the launch."""
    found = measure(tiled(40, 35))
    assert not found.per_block
    assert {m.bytes for m in found.moves} == {4 * 40 * 35}


@cuda.jit
def sum_of_all(out, inp):
    """Each thread adds up what the block has staged."""
    tile = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    tile[t] = inp[t]
    cuda.syncthreads()
    acc = np.float32(0)
    for k in range(32):
        acc += tile[k]
    out[t] = acc


def test_reuse():
    """What is staged once is read 32 times."""
    found = measure(trace(sum_of_all)[1, 32](np.zeros(32, np.float32), np.zeros(32, np.float32)))
    assert found.bytes("global", "registers") == 128
    assert found.bytes("shared", "registers") == 32 * 128


@cuda.jit
def nothing(out):
    if cuda.grid(1) < 0:
        out[0] = 1


def test_refused():
    with pytest.raises(TypeError, match="no trace"):
        staging_map(np.zeros(3))
    with pytest.raises(ValueError, match="neither global nor shared"):
        staging_map(trace(nothing)[1, 32](np.zeros(1)))


def test_text_and_alt(whole):
    drawn = staging_map(whole)
    head, per_block, load, store, barrier, *_ = drawn.text.splitlines()
    assert "transpose_tiled" in head and facts(per_block) == facts("6 1,024 4,096")
    assert "inp[row, col]" in load and "tile[ty, tx]" in store and "barrier" in barrier
    assert set(facts("4,096 32")) <= set(facts(load))
    assert facts(drawn.alt).count("4096") == 5


@cuda.jit
def tickets_kept(out, tickets):
    kept = cuda.shared.array(1, int32)
    kept[0] = cuda.atomic.add(tickets, 0, 1)
    cuda.syncthreads()
    out[cuda.grid(1)] = kept[0]


def test_an_atomic_stands_before_the_store_of_what_it_brings():
    """One line: the atomic on global memory, then the store to shared memory."""
    found = measure(trace(tickets_kept)[2, 1](np.zeros(2, np.int32), np.zeros(1, np.int32)))
    assert [move.target for move in found.moves] == ["global", "shared", "registers", "global"]


def move_of(access, source, target):
    return Move(1, access, source, target, 1, 49_152)


def test_labels():
    """A long label runs along an arrow that passes shared memory; only the access is shortened."""
    beside = PLACES["shared"] - 117.0
    assert label(move_of("inp[at]", "global", "registers")) == (beside, "inp[at]: 49,152 bytes")
    long = "load16(inp, uint32(uint32(QUAD) * at))"
    middle, said = label(move_of(long, "global", "registers"))
    assert (middle, said) == (PLACES["shared"], f"{long}: 49,152 bytes")
    for source, room in (("global", ALONG), ("shared", ROOM)):
        middle, said = label(move_of(2 * long, source, "registers"))
        assert said.startswith("load16(inp, ") and said.endswith("...: 49,152 bytes")
        assert room - 20 < width_of(said, SMALLEST) <= room
    assert label(move_of(f"{2 * long} and 3 more", "shared", "registers"))[1].endswith(
        "... and 3 more: 49,152 bytes"
    )


@cuda.jit
def many_reads(out, inp):
    line = cuda.shared.array(32, np.float32)
    i = cuda.threadIdx.x
    for start in range(0, 64, 32):
        line[i] = inp[start + i]
        cuda.syncthreads()
        a = line[i] + line[i ^ 1] + line[i ^ 2] + line[i ^ 3] + line[i ^ 4] + line[i ^ 5]
        b = line[i ^ 6] + line[i ^ 7] + line[i ^ 8] + line[i ^ 9] + line[i ^ 10]
        out[start + i] = a + b
        cuda.syncthreads()


def test_many_accesses_of_a_line_share_an_arrow():
    """11 reads and 3 others are more than are drawn: 6 and 5 reads become an arrow each."""
    found = measure(trace(many_reads)[1, 32](np.zeros(64, np.float32), np.zeros(64, np.float32)))
    reads = [m for m in found.moves if m.source == "shared"]
    assert [(m.requests, m.bytes) for m in reads] == [(12, 1536), (10, 1280)]
    assert reads[0].access.endswith("and 5 more") and (len(found.moves), found.left_out) == (5, 0)
    assert found.barriers[-1] > found.moves[-1].line, "the barrier at the end of the loop, too"


@cuda.jit
def behind_the_others(out):
    cuda.syncthreads()
    out[0] = 1


def test_barriers_of_other_kernels_are_not_drawn():
    """The file has barriers in functions behind this one: they are none of its own."""
    found = measure(trace(one_store)[1, 1](np.zeros(1, np.uint8)))
    assert found.barriers == ()
