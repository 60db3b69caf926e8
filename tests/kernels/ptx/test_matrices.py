"""Matrices between shared memory and a warp's registers: values, counts, refusals."""

import numpy as np
import pytest
from numba import cuda, float32, float64, uint16, uint32
from numba.core.errors import TypingError

from smemnb.compiled import cubin
from smemnb.compiled.machine import instructions
from smemnb.errors import KernelStopped, LaunchRefused, MisalignedAddress, TypingRefused
from smemnb.figures.replay import replay
from smemnb.kernels.ptx import load16, matrices, store16
from smemnb.kernels.ptx.asynchronous import close_group, copy16, groups_awaited
from smemnb.kernels.ptx.matrices import ldmatrix_x2, ldmatrix_x4, ldmatrix_x4_trans, stmatrix_x4
from smemnb.simulator import devices
from smemnb.simulator.seam import OUT_OF_TREE
from smemnb.tracing import trace

COUNTS = (1, 2, 4)


def loading(count, *, turned=False, pitch=8, dtype=uint16, start=0):
    """A kernel: `count` matrices, row after row at this pitch, to each lane's words in `out`."""
    load = getattr(matrices, f"ldmatrix_x{count}{'_trans' if turned else ''}")
    size = 32 * pitch + start

    @cuda.jit
    def loaded(out, inp):
        tile = cuda.shared.array(size, dtype, alignment=16)
        tx = cuda.threadIdx.x
        for at in range(tx, size, 32):
            tile[at] = inp[at]
        cuda.syncthreads()
        words = load(tile, uint32(start + tx * pitch))
        for at in range(count):
            out[tx, at] = words[at]

    return loaded


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("turned", [False, True])
def test_each_lane_gets_its_word(count, turned):
    """Lane i: of row i // 4 (turned: column) the two elements from 2 * (i % 4) on."""
    inp = np.arange(256, dtype=np.uint16)
    out = np.zeros((32, count), np.uint32)
    loading(count, turned=turned)[1, 32](out, inp)
    halves = out.view(np.uint16).reshape(32, count, 2)
    for lane in range(32):
        for matrix in range(count):
            rows = inp[64 * matrix : 64 * matrix + 64].reshape(8, 8)
            rows = rows.T if turned else rows
            pair = rows[lane // 4, 2 * (lane % 4) : 2 * (lane % 4) + 2]
            assert halves[lane, matrix].tolist() == pair.tolist()


@pytest.mark.parametrize(
    ("count", "pitch", "wavefronts", "ways"),
    [(4, 8, 4, 1), (2, 8, 2, 1), (1, 8, 1, 1), (4, 16, 8, 2), (4, 32, 16, 4), (4, 64, 32, 8),
     (4, 40, 4, 1), (2, 64, 16, 8), (1, 64, 8, 8), (4, 24, 4, 1)],
)  # fmt: skip
def test_counts(count, pitch, wavefronts, ways):
    """A wavefront per matrix, times the rows of it that meet in one group of four banks."""
    inp = np.zeros(32 * pitch, np.uint16)
    found = trace(loading(count, pitch=pitch))[1, 32](np.zeros((32, count), np.uint32), inp)
    (line,) = (line for line in found.lines if "load(" in line.text)
    assert (line.requests, line.wavefronts, line.ways) == (1, wavefronts, ways)
    assert (line.width, line.ideal) == (16, count)


def storing(count, *, turned=False):
    """A kernel: each lane's words of `inp` to matrices, and these element by element to `out`."""
    load = getattr(matrices, f"ldmatrix_x{count}")
    store = getattr(matrices, f"stmatrix_x{count}{'_trans' if turned else ''}")

    @cuda.jit
    def stored(out, inp):
        tile = cuda.shared.array(512, uint16, alignment=16)
        tx = cuda.threadIdx.x
        for at in range(tx, 64 * count, 32):
            tile[at] = inp[at]
        cuda.syncthreads()
        store(tile, uint32(256 + tx * 8), load(tile, uint32(tx * 8)))
        cuda.syncthreads()
        for at in range(tx, 64 * count, 32):
            out[at] = tile[256 + at]

    return stored


@pytest.mark.first(3)
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("turned", [False, True])
def test_the_way_back(count, turned):
    """What ldmatrix gives, stmatrix puts back; turned, it is the transpose of each matrix."""
    inp = np.random.default_rng(3).integers(0, 1 << 16, 64 * count).astype(np.uint16)
    out = np.zeros_like(inp)
    found = trace(storing(count, turned=turned))[1, 32](out, inp)
    wanted = inp.reshape(count, 8, 8)
    wanted = wanted.transpose(0, 2, 1) if turned else wanted
    np.testing.assert_array_equal(out.reshape(count, 8, 8), wanted)
    (line,) = (line for line in found.lines if line.kind == "store" and "store(" in line.text)
    assert (line.requests, line.wavefronts, line.width) == (1, count, 16)
    assert [one for one in found.findings if one.severity == "error"] == []


@cuda.jit
def of_doubles(out):
    tile = cuda.shared.array(512, float64, alignment=16)
    out[0] = ldmatrix_x4(tile, uint32(cuda.threadIdx.x * 2))[0]


@cuda.jit
def turned_words(out):
    tile = cuda.shared.array(512, float32, alignment=16)
    out[0] = ldmatrix_x4_trans(tile, uint32(cuda.threadIdx.x * 4))[0]


@cuda.jit
def at_a_float(out):
    tile = cuda.shared.array(512, uint16, alignment=16)
    out[0] = ldmatrix_x4(tile, cuda.threadIdx.x * 8.0)[0]


@cuda.jit
def three_words(out):
    tile = cuda.shared.array(512, uint16, alignment=16)
    stmatrix_x4(tile, uint32(cuda.threadIdx.x * 8), (uint32(0), uint32(0), uint32(0)))


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (of_doubles, "elements of 1, 2 or 4 bytes; this is array(float64"),
        (turned_words, "elements of 2 bytes; this is array(float32"),
        (at_a_float, "the offset of a row as an integer; this is float64"),
        (three_words, "stmatrix_x4 takes words as a tuple of 4 uint32; this is UniTuple(uint32 x"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_types_are_refused_before_anything_runs(kernel, said):
    """Numba's inference says what is wanted and what came."""
    with pytest.raises(TypingRefused) as refused:
        kernel[1, 32](np.zeros(1, np.uint32))
    assert said in str(refused.value)


@cuda.jit
def half_a_warp(out, inp):
    tile = cuda.shared.array(256, uint16, alignment=16)
    tx = cuda.threadIdx.x
    for at in range(tx, 256, 32):
        tile[at] = inp[at]
    cuda.syncthreads()
    if tx < 16:
        out[tx] = ldmatrix_x2(tile, uint32(tx * 8))[0]


@pytest.mark.parametrize(("threads", "come"), [(32, 16), (48, 16), (64, 16)])
def test_all_lanes_take_part(threads, come):
    """A branch that divides the warp is refused with its line, and how many came."""
    out = np.zeros(64, np.uint32)
    with pytest.raises(KernelStopped, match=f"warp 0 of block .* only {come} of them"):
        half_a_warp[1, threads](out, np.zeros(256, np.uint16))
    assert not out.any()


def test_blocks_are_of_whole_warps():
    """The last warp of a block of 48 threads has 16 lanes."""
    with pytest.raises(KernelStopped, match=r"warp 1 of block \(0, 0, 0\) only 16 of them"):
        loading(4)[1, 48](np.zeros((64, 4), np.uint32), np.zeros(256, np.uint16))


def test_rows_begin_at_multiples_of_16_bytes():
    """A pitch of 20 halves: the second row is off."""
    with pytest.raises(MisalignedAddress, match="8 to a move; here it is 20"):
        loading(4, pitch=20)[1, 32](np.zeros((32, 4), np.uint32), np.zeros(640, np.uint16))


@cuda.jit
def from_global(out, inp):
    out[0] = ldmatrix_x4(inp, uint32(cuda.threadIdx.x * 8))[0]


def test_shared_arrays_alone():
    """An argument lies in global memory, from which no matrix is loaded."""
    with pytest.raises(KernelStopped, match="inp is an array in global memory"):
        from_global[1, 32](np.zeros(1, np.uint32), np.zeros(256, np.uint16))


@pytest.fixture
def device():
    """`devices.use`, and back again."""
    before = devices.cc()
    yield devices.use
    devices.use(before)


def test_older_gpus(device):
    """stmatrix came with cc 9.0, ldmatrix with 7.5: a launch on an older one is refused."""
    inp, out = np.zeros(64, np.uint16), np.zeros(64, np.uint16)
    device("8.0")
    loading(1)[1, 32](np.zeros((32, 1), np.uint32), np.zeros(256, np.uint16))
    with pytest.raises(LaunchRefused, match="compute capability 9.0 or higher; this one has 8.0"):
        storing(1)[1, 32](out, inp)
    device("7.0")
    with pytest.raises(LaunchRefused, match="compute capability 7.5 or higher; this one has 7.0"):
        storing(1)[1, 32](out, inp)


@cuda.jit
def in_one_warp(out, inp):
    """Lane i stores row i, and no barrier lets the others see it."""
    tile = cuda.shared.array(256, uint16, alignment=16)
    tx = cuda.threadIdx.x
    store16(tile, uint32(tx * 8), load16(inp, uint32(tx * 8)))
    words = ldmatrix_x4(tile, uint32(tx * 8))
    for at in range(4):
        out[tx, at] = words[at]


@cuda.jit
def in_one_warp_in_turn(out, inp):
    tile = cuda.shared.array(256, uint16, alignment=16)
    tx = cuda.threadIdx.x
    store16(tile, uint32(tx * 8), load16(inp, uint32(tx * 8)))
    cuda.syncwarp()
    words = ldmatrix_x4(tile, uint32(tx * 8))
    for at in range(4):
        out[tx, at] = words[at]


def errors(kernel, threads=32):
    """(kind, count) of what is wrong in a launch of 32 rows."""
    inp = np.arange(256, dtype=np.uint16)
    found = trace(kernel)[1, threads](np.zeros((threads, 4), np.uint32), inp).findings
    return [(one.kind, one.count) for one in found if not one.price]


def test_lanes_get_what_others_stored():
    """The lane that names a row is not the one that gets it: 31 of 32 lanes read others' rows.

    Of the 256 elements, each lane's own are those of row i // 4 of each matrix that it stored
    itself: lanes 0, 9, 10, 19, 20, 29, 30 ... hold two of them where i // 4 == i % 8.
    """
    own = sum(2 for lane in range(32) for matrix in range(4) if lane == 8 * matrix + lane // 4)
    assert errors(in_one_warp) == [("race_in_warp", 256 - own)]
    assert errors(in_one_warp_in_turn) == []


@cuda.jit
def half_of_it(out, inp):
    """Rows 0 to 15 are stored; four matrices are loaded."""
    tile = cuda.shared.array(256, uint16, alignment=16)
    tx = cuda.threadIdx.x
    if tx < 16:
        store16(tile, uint32(tx * 8), load16(inp, uint32(tx * 8)))
    cuda.syncwarp()
    words = ldmatrix_x4(tile, uint32(tx * 8))
    for at in range(4):
        out[tx, at] = words[at]


def test_what_nobody_stored():
    """Two matrices of 64 elements each: every element is read by one lane."""
    assert errors(half_of_it) == [("uninitialised", 128)]


def waiting(count):
    """A kernel whose warps wait for each other, so that each runs for itself."""
    load = getattr(matrices, f"ldmatrix_x{count}")

    @cuda.jit
    def waited(out, inp, flag):
        tile = cuda.shared.array(512, uint16, alignment=16)
        tx = cuda.threadIdx.x
        warp, lane = tx // 32, tx % 32
        store16(tile, uint32(tx * 8), load16(inp, uint32(tx * 8)))
        cuda.syncwarp()
        words = load(tile, uint32(warp * 256 + lane * 8))
        if warp == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
        else:
            cuda.atomic.add(flag, 0, 1)
        for at in range(count):
            out[tx, at] = words[at]

    return waited


@pytest.mark.parametrize("count", COUNTS)
def test_warps_that_wait_for_each_other(count):
    """Also where each warp runs for itself, its rows are its own."""
    inp, out = np.arange(512, dtype=np.uint16), np.zeros((64, count), np.uint32)
    found = trace(waiting(count))[1, 64](out, inp, np.zeros(1, np.int32))
    assert [one for one in found.findings if not one.price] == []
    (line,) = (line for line in found.lines if line.text.startswith("load(tile"))
    assert (line.requests, line.wavefronts) == (2, 2 * count)
    assert out[37].view(np.uint16)[:2].tolist() == [256 + 8 + 2, 256 + 8 + 3]


@cuda.jit
def lanes_that_wait(out, inp, flag):
    """Lanes of one warp wait for each other, so that each runs for itself."""
    tile = cuda.shared.array(256, uint16, alignment=16)
    tx = cuda.threadIdx.x
    store16(tile, uint32(tx * 8), load16(inp, uint32(tx * 8)))
    if tx == 0:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
    else:
        cuda.atomic.add(flag, 0, 1)
    cuda.syncwarp()
    words = ldmatrix_x4(tile, uint32(tx * 8))
    stmatrix_x4(tile, uint32(tx * 8), words)
    cuda.syncwarp()
    store16(out, uint32(tx * 8), load16(tile, uint32(tx * 8)))


def test_lanes_that_run_for_themselves():
    """The lanes come together for the instruction, and its words are theirs."""
    inp, out = np.arange(256, dtype=np.uint16), np.zeros(256, np.uint16)
    lanes_that_wait[1, 32](out, inp, np.zeros(1, np.int32))
    np.testing.assert_array_equal(out, inp)


@cuda.jit
def words_of_tf32(out, inp):
    tile = cuda.shared.array(128, float32, alignment=16)
    tx = cuda.threadIdx.x
    store16(tile, uint32(tx * 4), load16(inp, uint32(tx * 4)))
    cuda.syncwarp()
    words = ldmatrix_x4(tile, uint32(tx * 4))
    for at in range(4):
        out[tx, at] = words[at]


def test_a_row_of_four_words():
    """Of 4-byte elements a row has four: lane i gets element i % 4 of row i // 4."""
    inp, out = np.arange(128, dtype=np.float32), np.zeros((32, 4), np.uint32)
    words_of_tf32[1, 32](out, inp)
    np.testing.assert_array_equal(out.T.reshape(-1).view(np.float32), inp)


@pytest.mark.toolchain
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
@pytest.mark.first(3)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("count", COUNTS)
def test_instructions(count, turned):
    """Each is one instruction of the GPU."""
    elf = cubin(storing(count, turned=turned), "void(uint16[::1], uint16[::1])", (9, 0))
    size, turn = "" if count == 1 else f".{count}", "MT88" if turned else "M88"
    names = [one.name for one in instructions(elf) if one.name[:4] in ("LDSM", "STSM")]
    assert names == [f"LDSM.16.M88{size}", f"STSM.16.{turn}{size}"]


@pytest.mark.toolchain
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
def test_older_gpus_are_refused_by_the_compiler():
    """With words, not with an error of ptxas."""
    with pytest.raises(TypingError, match="stmatrix_x1 needs a GPU of compute capability 9.0"):
        cubin(storing(1), "void(uint16[::1], uint16[::1])", (8, 0))


def copying(wait, meet):
    """A kernel: rows on their way to a tile, with or without a wait and a barrier of the warp."""
    await_all = groups_awaited(0)

    @cuda.jit
    def copied(out, inp):
        tile = cuda.shared.array(256, uint16, alignment=16)
        tx = cuda.threadIdx.x
        copy16(tile, uint32(tx * 8), inp, uint32(tx * 8), True)
        close_group()
        if wait:
            await_all()
        if meet:
            cuda.syncwarp()
        words = ldmatrix_x4(tile, uint32(tx * 8))
        for at in range(4):
            out[tx, at] = words[at]

    return copied


@pytest.mark.parametrize(
    ("wait", "meet", "found"),
    [(True, True, False), (False, True, True), (True, False, True)],
    ids=["right", "no wait", "no barrier"],
)
def test_rows_under_way(wait, meet, found):
    """A row that has not arrived, or that others have not waited for, is an error or a warning."""
    assert bool(errors(copying(wait, meet))) == found


@pytest.mark.parametrize("count", COUNTS)
def test_replay(count):
    """Every lane reads its two elements of each matrix, also where few lanes name the rows."""
    out, inp = np.zeros((32, count), np.uint32), np.arange(256, dtype=np.uint16)
    run = replay(loading(count))[1, 32](out, inp).run
    (read,) = (one for one in run.events if one.kind == "load" and "load(" in one.text)
    assert sorted(read.elements.tolist()) == list(range(64 * count))
    assert sorted(read.lanes.tolist()) == sorted(list(range(32)) * 2 * count)
    np.testing.assert_array_equal(read.values, inp[read.elements])


@cuda.jit
def of_any_tile(out, inp):
    """Rows of a tile of two axes, and of dynamic memory past them, in blocks of two warps."""
    tile = cuda.shared.array((16, 24), uint16, alignment=16)
    more = cuda.shared.array(0, uint16, alignment=16)
    tx = cuda.threadIdx.x
    lane, warp = tx % 32, tx // 32
    for at in range(tx, 256, 64):
        tile[at // 16, at % 16] = inp[at]
        more[at] = inp[256 + at]
    cuda.syncthreads()
    two = ldmatrix_x2(tile, uint32(lane % 16 * 24 + warp * 8))
    four = ldmatrix_x4(more[64:], uint32(64 * warp + lane * 8 % 64))
    out[0, tx], out[1, tx] = two[0], two[1]
    out[2, tx] = four[0]


def test_tiles_of_any_shape():
    """Offsets count over rows of two axes, and from where a view of dynamic memory begins."""
    inp, out = np.arange(512, dtype=np.uint16), np.zeros((3, 64), np.uint32)
    found = trace(of_any_tile)[1, 64, 0, 512](out, inp)
    assert [one.kind for one in found.findings if not one.price] == []
    pairs = out.view(np.uint16).reshape(3, 64, 2)
    for tx in range(64):
        lane, warp = tx % 32, tx // 32
        row, col = lane // 4, 2 * (lane % 4)
        for matrix in range(2):
            first = (8 * matrix + row) * 16 + 8 * warp + col
            assert pairs[matrix, tx].tolist() == [first, first + 1]
        first = 256 + 64 + 64 * warp + row * 8 + col
        assert pairs[2, tx].tolist() == [first, first + 1]
