"""Races in global memory, and of cells seen through several arrays: each with its clean twin."""

import numpy as np
import pytest
from numba import cuda, float32, float64, int32

from smemnb.lockstep.memory.host_arrays import global_arrays
from smemnb.tracing import trace
from smemnb.tracing.watchers.races.written import span

N, BLOCKS = 64, 3


def races(kernel, *args, grid=BLOCKS, block=N, shared=0):
    """(kind, count) of the races of a launch, in order of kind."""
    found = trace(kernel)[grid, block, 0, shared](*args).races
    return sorted((one.kind, one.count) for one in found)


def floats(size=BLOCKS * N):
    return np.arange(1, size + 1, dtype=np.float32)


def zeros(size=BLOCKS * N, dtype=np.float32):
    return np.zeros(size, dtype)


def exchanged(barrier):
    @cuda.jit
    def kernel(out, scratch, inp):
        i = cuda.grid(1)
        scratch[i] = inp[i]
        if barrier:
            cuda.syncthreads()
        out[i] = scratch[i ^ 32]

    return kernel


def test_within_a_block():
    """Two warps of a block meet in global memory; a barrier orders them."""
    assert races(exchanged(False), zeros(), zeros(), floats()) == [("race", BLOCKS * N)]
    assert races(exchanged(True), zeros(), zeros(), floats()) == []


def swapped(sync):
    @cuda.jit
    def kernel(out, scratch, inp):
        i = cuda.grid(1)
        scratch[i] = inp[i]
        if sync:
            cuda.syncwarp()
        out[i] = scratch[i ^ 1]

    return kernel


def test_within_a_warp():
    """Lanes of a warp meet in global memory; syncwarp orders them."""
    assert races(swapped(False), zeros(), zeros(), floats()) == [("race_in_warp", BLOCKS * N)]
    assert races(swapped(True), zeros(), zeros(), floats()) == []


@cuda.jit
def neighbour_block(out, scratch, inp):
    i = cuda.grid(1)
    scratch[i] = inp[i]
    cuda.syncthreads()
    out[i] = scratch[(i + 64) % scratch.shape[0]]


@cuda.jit
def only_stores(out, scratch, inp):
    i = cuda.grid(1)
    scratch[i] = inp[i]


@cuda.jit
def only_loads(out, scratch, inp):
    i = cuda.grid(1)
    out[i] = scratch[(i + 64) % scratch.shape[0]]


def test_between_blocks():
    """A barrier orders no blocks; two launches do."""
    args = zeros(), zeros(), floats()
    assert races(neighbour_block, *args) == [("race_between_blocks", BLOCKS * N)]
    assert races(only_stores, *args) == []
    assert races(only_loads, *args) == []


def test_between_blocks_in_words():
    """Severity, lines, cell, threads, warps and blocks are those of the first cell."""
    (found,) = trace(neighbour_block)[BLOCKS, N](zeros(), zeros(), floats()).races
    assert (found.severity, found.array, found.index, found.block) == (
        "error",
        "scratch",
        (0,),
        (0, 0, 0),
    )
    assert (found.threads, found.warps) == (((0, 0, 0), (0, 0, 0)), (0, 0))
    assert "warp 0, block 0" in found.cause and "warp 0, block 2" in found.cause
    assert found.other_line == found.line + 2


@cuda.jit
def one_cell(total, inp):
    total[0] += inp[cuda.grid(1)]


@cuda.jit
def one_cell_by_atomics(total, inp):
    cuda.atomic.add(total, 0, inp[cuda.grid(1)])


@cuda.jit
def one_value(flag, inp):
    if inp[cuda.grid(1)] > 3:
        flag[0] = 1


@cuda.jit
def one_thread(total, inp):
    if cuda.grid(1) == 70:
        total[0] += inp[70]


def test_one_cell_for_all():
    """All threads on one cell: an error, a note if all store the same, nothing by atomics."""
    assert races(one_cell, zeros(1), floats()) == [("race_between_blocks", 1)] * 2
    assert races(one_cell_by_atomics, zeros(1), floats()) == []
    assert races(one_value, zeros(1, np.int32), floats()) == [("race_same_value", 1)]
    assert races(one_thread, zeros(1), floats()) == []


@cuda.jit
def shift_left(out, inp):
    i = cuda.grid(1)
    if i + 1 < inp.shape[0]:
        out[i] = inp[i + 1]


def test_one_array_given_twice():
    """In place, a shift races with itself; the arrays count as one by their addresses."""
    assert races(shift_left, zeros(), floats()) == []
    same = cuda.to_device(floats())
    found = races(shift_left, same, same)
    assert found == [("race_between_blocks", BLOCKS - 1)]
    assert races(shift_left, floats()[1:], floats()[:-1]) == []


def test_views_of_one_array():
    """Halves of one array are apart; halves that overlap are not."""
    whole = cuda.to_device(floats(3 * BLOCKS * N))
    assert races(shift_left, whole[: BLOCKS * N], whole[BLOCKS * N : 2 * BLOCKS * N]) == []
    shifted = races(shift_left, whole[64 : 64 + BLOCKS * N], whole[: BLOCKS * N])
    assert shifted == [("race_between_blocks", 126)]


@cuda.jit
def bytes_and_words(out, octets):
    i = cuda.grid(1)
    out[i] = 1
    octets[4 * ((i + 64) % out.shape[0]) + 1] = 7


@cuda.jit
def bytes_of_own_word(out, octets):
    i = cuda.grid(1)
    out[i] = 1
    octets[4 * i + 1] = 7


def test_elements_of_two_widths():
    """A byte of another thread's word is the same memory."""
    words = cuda.to_device(zeros(dtype=np.int32))
    assert races(bytes_and_words, words, words.view(np.uint8)) == [
        ("race_between_blocks", BLOCKS * N)
    ]
    assert races(bytes_of_own_word, words, words.view(np.uint8)) == []


def dynamic_as(first, second, barrier):
    @cuda.jit
    def kernel(out):
        one, other = cuda.shared.array(0, first), cuda.shared.array(0, second)
        tx = cuda.threadIdx.x
        one[tx] = 1
        if barrier:
            cuda.syncthreads()
        out[tx] = other[63 - tx]

    return kernel


@pytest.mark.parametrize(
    "first, second, cells", [(float32, int32, 64), (float64, int32, 32), (int32, float64, 64)]
)
def test_dynamic_shared_memory_as_two_types(first, second, cells):
    """All views of dynamic shared memory are one memory, byte by byte."""
    kernel, clean = (dynamic_as(first, second, barrier) for barrier in (False, True))
    found = trace(kernel)[1, N, 0, 512](zeros(N)).races
    assert {one.kind for one in found} <= {"race", "race_in_warp"} and found
    assert races(clean, zeros(N), grid=1, shared=512) == []


def halves(mask_low, mask_high, partner):
    """Each half of a warp meets by itself, then a lane reads its partner's cell."""

    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(32, float32)
        tx = cuda.threadIdx.x
        tile[tx] = tx
        if tx < 16:
            cuda.syncwarp(mask_low)
        else:
            cuda.syncwarp(mask_high)
        out[tx] = tile[tx ^ partner]

    return kernel


@pytest.mark.parametrize("partner, expected", [(1, []), (8, []), (16, [("race_in_warp", 32)])])
def test_halves_of_a_warp(partner, expected):
    """A syncwarp of half a warp orders that half, and not the halves."""
    kernel = halves(0xFFFF, 0xFFFF0000, partner)
    assert races(kernel, zeros(32), grid=1, block=32) == expected


def halves_by_a_mask_per_lane(partner):
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(32, float32)
        tx = cuda.threadIdx.x
        tile[tx] = tx
        cuda.syncwarp(0xFFFF << (tx & 16))
        out[tx] = tile[tx ^ partner]

    return kernel


@pytest.mark.parametrize("partner, expected", [(8, []), (16, [("race_in_warp", 32)])])
def test_halves_by_a_mask_per_lane(partner, expected):
    """Lanes that name different masks in one call do not meet each other."""
    assert races(halves_by_a_mask_per_lane(partner), zeros(32), grid=1, block=32) == expected


@cuda.jit
def first_half_only(out):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    tile[tx] = tx
    if tx < 16:
        cuda.syncwarp(0xFFFF)
    out[tx] = tile[31 - tx]


def test_lanes_with_unequal_counts():
    """Lanes that met more often than others are not ordered with them by that."""
    assert races(first_half_only, zeros(32), grid=1, block=32) == [("race_in_warp", 32)]


@cuda.jit
def stored_in_rows(out, inp):
    row = out[cuda.threadIdx.x // 32]
    row[cuda.threadIdx.x % 32] = inp[cuda.grid(1)]


@cuda.jit
def transposed_stores(out, inp):
    if cuda.threadIdx.x % 4 == 2:
        out[cuda.threadIdx.x % 4, cuda.blockIdx.x] = inp[cuda.grid(1)]


def test_index_of_strided_arrays():
    """The cell is named by the indices of the array that was passed, whatever its strides."""
    out = np.zeros((2, 32), np.float32)
    (found,) = trace(stored_in_rows)[2, N](out, floats()).races
    assert (found.kind, found.index, found.count) == ("race_between_blocks", (0, 0), 64)
    turned = np.zeros((2, 4), np.float32).T
    (found,) = trace(transposed_stores)[2, 8](turned, floats()).races
    assert (found.kind, found.index, found.count) == ("race_in_warp", (2, 0), 2)


@cuda.jit
def gathered(out, inp):
    local = cuda.local.array(4, float32)
    i = cuda.grid(1)
    for k in range(4):
        local[k] = inp[(i + k) % inp.shape[0]]
    out[i] = local[0] + local[3]


@cuda.jit
def two_rounds(out, scratch, inp):
    i = cuda.grid(1)
    for k in range(2):
        scratch[k, i] = inp[i]
        cuda.syncthreads()
        out[i] += scratch[k, i ^ 33]


def test_what_never_races():
    """Local arrays, loads of one cell, own cells again and again, two buffers with one barrier."""
    assert races(gathered, zeros(), floats()) == []
    assert races(two_rounds, zeros(), np.zeros((2, BLOCKS * N), np.float32), floats()) == []


@cuda.jit
def many_rounds(out, inp, shift):
    i = cuda.grid(1)
    for k in range(50):
        out[(i + k // 49 * shift) % out.shape[0]] += inp[i]


@pytest.mark.parametrize(
    "shift, expected", [(0, []), (64, [("race_between_blocks", BLOCKS * N)] * 2)]
)
def test_repeats_are_dropped(monkeypatch, shift, expected):
    """Of many equal accesses of a loop one is kept, and the odd one is not lost."""
    from smemnb.tracing.watchers.races import in_global

    monkeypatch.setattr(in_global, "MOST_IN_BATCH", 512)
    assert races(many_rounds, zeros(), floats(), shift) == expected


RECORDS = np.dtype([("x", np.float32), ("n", np.int32), ("flag", np.uint8)], align=True)


@cuda.jit
def stores_in_pairs(records):
    one = records[cuda.grid(1) // 2 + 3]
    one.n = cuda.grid(1)


@cuda.jit
def stores_fields_in_pairs(records):
    records[cuda.grid(1) // 2 + 3].n = cuda.grid(1)


@cuda.jit
def reads_fields(out, records):
    out[cuda.grid(1)] = records[cuda.grid(1) // 2].n


@pytest.mark.parametrize("kernel", [stores_in_pairs, stores_fields_in_pairs])
def test_records(kernel):
    """A field of a record that two threads store races, though no element is assigned to."""
    (found,) = trace(kernel)[1, 32](np.zeros(40, RECORDS)).races
    assert (found.kind, found.index, found.count) == ("race_in_warp", (3,), 16)


def test_records_that_are_read():
    """Nothing races."""
    records = np.zeros(40, RECORDS)
    assert trace(reads_fields)[1, 32](np.zeros(32, np.int32), records).races == ()


@pytest.mark.parametrize(
    ("array", "size"),
    [
        (np.zeros(40, RECORDS), 480),
        (np.zeros((3, 5), np.float32), 60),
        (np.zeros(40, RECORDS)["n"], 39 * 12 + 4),
        (np.zeros(40, np.int32)[::-3], 39 * 4 + 4),
    ],
)
def test_span(array, size):
    """The bytes from the first to the last, whatever unit the strides count."""
    (seen,) = global_arrays(["array"], [array])
    first, last = span(seen)
    assert last - first == size
