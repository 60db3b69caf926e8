"""Exercises on banks: a pitch without conflict, a tile of bytes, a bank for each thread."""

# mypy: disable-error-code="attr-defined"
# ruff: noqa: F841 (a stub has names that wait for the learner)

from functools import partial

import numpy as np
from numba import cuda, float32, int32, uint8

from ...exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes

COLS = 24
PITCH = 25  # cells from row to row: an odd number, so that a column visits 32 banks
BYTES_PITCH = 36  # 9 words from row to row: an odd number
GROUPS, THREADS = 8, 64
SHAPE = (GROUPS, THREADS)  # column tx lies in bank tx % 32, whatever the key


@cuda.jit
def row_sums_stub(out, inp):
    """Sum of each row of 24 cells: out[i] = inp[i, 0] + ... + inp[i, 23].  32 rows per block."""
    tile = cuda.shared.array((32, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    first = cuda.blockIdx.x * 32  # the block's first row
    for r in range(ty, 32, cuda.blockDim.y):
        if first + r < inp.shape[0] and tx < COLS:
            tile[r, tx] = inp[first + r, tx]
    cuda.syncthreads()  # all rows are staged before anyone adds
    if ty == 0 and first + tx < out.shape[0]:
        acc = float32(0)
        # FILL (about 2 lines)
        out[first + tx] = acc


@cuda.jit
def row_sums(out, inp):
    """Sum of each row of 24 cells: out[i] = inp[i, 0] + ... + inp[i, 23].  32 rows per block."""
    tile = cuda.shared.array((32, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    first = cuda.blockIdx.x * 32  # the block's first row
    for r in range(ty, 32, cuda.blockDim.y):
        if first + r < inp.shape[0] and tx < COLS:
            tile[r, tx] = inp[first + r, tx]
    cuda.syncthreads()  # all rows are staged before anyone adds
    if ty == 0 and first + tx < out.shape[0]:
        acc = float32(0)
        for k in range(COLS):
            acc += tile[tx, k]
        out[first + tx] = acc


@cuda.jit(device=True)
def _row_sums(out, inp, tile):
    """`row_sums` with any tile, for the wrong kernels."""
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    first = cuda.blockIdx.x * 32
    for r in range(ty, 32, cuda.blockDim.y):
        if first + r < inp.shape[0] and tx < COLS:
            tile[r, tx] = inp[first + r, tx]
    cuda.syncthreads()
    if ty == 0 and first + tx < out.shape[0]:
        acc = float32(0)
        for k in range(COLS):
            acc += tile[tx, k]
        out[first + tx] = acc


@cuda.jit
def row_sums_no_pad(out, inp):
    """No pad: 24 words from row to row, 8 rows of a column in each bank."""
    _row_sums(out, inp, cuda.shared.array((32, COLS), float32))


@cuda.jit
def row_sums_even(out, inp):
    """A pad of two words: the pitch stays even, half of the banks stay idle."""
    _row_sums(out, inp, cuda.shared.array((32, 26), float32))


@cuda.jit
def row_sums_wide(out, inp):
    """No conflict, but nine words of pad per row where one is enough."""
    _row_sums(out, inp, cuda.shared.array((32, 33), float32))


@cuda.jit
def row_sums_direct(out, inp):
    """Adds from global memory, where the lanes of a warp lie a row apart."""
    i = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    if cuda.threadIdx.y == 0 and i < out.shape[0]:
        acc = float32(0)
        for k in range(COLS):
            acc += inp[i, k]
        out[i] = acc


def _rows_of_24(rows, unit):
    return (scattered((rows, COLS), seed=rows) * np.float32(unit),)


def _row_sum_cases():
    """Four full blocks with their budget; one row, ragged, drawn and other blocks, large cells."""
    staged = Budget(sectors_per_request=4, requests={"inp": 128, "out": 4}, shared_bytes=3200)
    yield Case(partial(_rows_of_24, 128, 1), grid=(4,), block=(32, 8), budget=staged)
    launches = [(n, 8, 1) for n in (1, 31, 33, *sizes(2, seed=2, low=34, high=300))]
    for rows, high, unit in [*launches, (70, 1, 2.0**64), (70, 4, 1)]:
        yield Case(partial(_rows_of_24, rows, unit), cover((rows,), (32,)), block=(32, high))


@cuda.jit
def quarter_turn_stub(out, inp):
    """A quarter turn of an image of bytes: out = np.rot90(inp).  32 x 32 bytes per block."""
    tile = cuda.shared.array((32, BYTES_PITCH), uint8)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32  # the block's corner in inp
    for r in range(ty, 32, cuda.blockDim.y):
        if top + r < rows and left + tx < cols:
            tile[r, tx] = inp[top + r, left + tx]
    cuda.syncthreads()  # the tile is full before anyone reads it
    for c in range(ty, 32, cuda.blockDim.y):  # column c of the tile, from top to bottom
        if top + tx < rows and left + c < cols:
            # FILL (about 1 line)
            pass


@cuda.jit
def quarter_turn(out, inp):
    """A quarter turn of an image of bytes: out = np.rot90(inp).  32 x 32 bytes per block."""
    tile = cuda.shared.array((32, BYTES_PITCH), uint8)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32  # the block's corner in inp
    for r in range(ty, 32, cuda.blockDim.y):
        if top + r < rows and left + tx < cols:
            tile[r, tx] = inp[top + r, left + tx]
    cuda.syncthreads()  # the tile is full before anyone reads it
    for c in range(ty, 32, cuda.blockDim.y):  # column c of the tile, from top to bottom
        if top + tx < rows and left + c < cols:
            out[cols - 1 - left - c, top + tx] = tile[tx, c]


@cuda.jit(device=True)
def _quarter_turn(out, inp, tile, to_row, step):
    """`quarter_turn` with any tile, for the wrong kernels: column c goes to row to_row + step*c."""
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for r in range(ty, 32, cuda.blockDim.y):
        if top + r < inp.shape[0] and left + tx < inp.shape[1]:
            tile[r, tx] = inp[top + r, left + tx]
    cuda.syncthreads()
    for c in range(ty, 32, cuda.blockDim.y):
        if top + tx < inp.shape[0] and left + c < inp.shape[1]:
            out[to_row + step * (left + c), top + tx] = tile[tx, c]


@cuda.jit
def quarter_turn_no_pad(out, inp):
    """No pad: 8 words from row to row."""
    _quarter_turn(out, inp, cuda.shared.array((32, 32), uint8), inp.shape[1] - 1, -1)


@cuda.jit
def quarter_turn_one_byte(out, inp):
    """A pad of one cell, as for float32: one byte, a quarter of a word."""
    _quarter_turn(out, inp, cuda.shared.array((32, 33), uint8), inp.shape[1] - 1, -1)


@cuda.jit
def quarter_turn_in_words(out, inp):
    """No conflict, but each byte takes a word of the tile."""
    _quarter_turn(out, inp, cuda.shared.array((32, 33), int32), inp.shape[1] - 1, -1)


@cuda.jit
def quarter_turn_transpose(out, inp):
    """Rows and columns exchanged without turning: the picture is mirrored."""
    _quarter_turn(out, inp, cuda.shared.array((32, BYTES_PITCH), uint8), 0, 1)


@cuda.jit
def quarter_turn_one_off(out, inp):
    """The last column is cols - 1, not cols: all rows come one too low, the first is empty."""
    _quarter_turn(out, inp, cuda.shared.array((32, BYTES_PITCH), uint8), inp.shape[1], -1)


@cuda.jit
def quarter_turn_direct(out, inp):
    """Right, but without a tile: the stores go down the columns of out."""
    col, top = cuda.blockIdx.x * 32 + cuda.threadIdx.x, cuda.blockIdx.y * 32
    for r in range(cuda.threadIdx.y, 32, cuda.blockDim.y):
        if top + r < inp.shape[0] and col < inp.shape[1]:
            out[inp.shape[1] - 1 - col, top + r] = inp[top + r, col]


def _image(rows, cols):
    return (scattered((rows, cols), seed=rows + cols, low=0, high=254, dtype=np.uint8),)


def _turn_cases():
    """Six full tiles with their budget; one row, one column, ragged sizes, other blocks."""
    clean = Budget(sectors_per_request=1, requests={"inp": 192, "out": 192}, shared_bytes=1152)
    yield Case(partial(_image, 64, 96), grid=(3, 2), block=(32, 8), budget=clean)
    for rows, cols, high in [(40, 35, 8), (1, 70, 8), (70, 1, 8), (45, 83, 4), (45, 83, 32)]:
        yield Case(partial(_image, rows, cols), cover((cols, rows), (32, 32)), block=(32, high))


@cuda.jit
def group_sums_stub(out, key, value):
    """Sums by key, 0 to 7, of each row: out[r, g] = sum of value[r, i] where key[r, i] is g."""
    own = cuda.shared.array(SHAPE, int32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    n = cuda.blockDim.x  # threads of this block: THREADS, or fewer
    # 1. each thread sets its own 8 sums to 0
    # FILL (about 2 lines)
    # 2. each thread adds up its own cells of the row
    for i in range(tx, key.shape[1], n):
        g = key[row, i]
        # FILL (about 1 line)
    cuda.syncthreads()  # every thread has its 8 sums
    # 3. thread tx adds up group tx over the n threads
    if tx < GROUPS:
        total = 0
        # FILL (about 2 lines)
        out[row, tx] = total


@cuda.jit
def group_sums(out, key, value):
    """Sums by key, 0 to 7, of each row: out[r, g] = sum of value[r, i] where key[r, i] is g."""
    own = cuda.shared.array(SHAPE, int32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    n = cuda.blockDim.x  # threads of this block: THREADS, or fewer
    # 1. each thread sets its own 8 sums to 0
    for g in range(GROUPS):
        own[g, tx] = 0
    # 2. each thread adds up its own cells of the row
    for i in range(tx, key.shape[1], n):
        g = key[row, i]
        own[g, tx] += value[row, i]
    cuda.syncthreads()  # every thread has its 8 sums
    # 3. thread tx adds up group tx over the n threads
    if tx < GROUPS:
        total = 0
        for t in range(n):
            total += own[tx, (t + tx) % n]  # each lane starts at another bank
        out[row, tx] = total


@cuda.jit(device=True)
def _group_sums_in_step(out, key, value, own, per_key, per_thread, threads):
    """`group_sums` with any layout, in which every lane ends with cell t; for the wrong kernels."""
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    for g in range(GROUPS):
        own[g * per_key + tx * per_thread] = 0
    for i in range(tx, key.shape[1], cuda.blockDim.x):
        own[key[row, i] * per_key + tx * per_thread] += value[row, i]
    cuda.syncthreads()
    if tx < GROUPS:
        total = 0
        for t in range(threads):
            total += own[tx * per_key + t * per_thread]
        out[row, tx] = total


@cuda.jit
def group_sums_in_step(out, key, value):
    """The last loop goes through the threads in step: 8 lanes, 8 words of one bank."""
    _group_sums_in_step(out, key, value, cuda.shared.array(512, int32), 64, 1, cuda.blockDim.x)


@cuda.jit
def group_sums_padded(out, key, value):
    """A pad word per group cleans the last loop; in the second, lanes with other keys collide."""
    _group_sums_in_step(out, key, value, cuda.shared.array(520, int32), 65, 1, cuda.blockDim.x)


@cuda.jit
def group_sums_by_thread(out, key, value):
    """The 8 sums of a thread side by side: which bank depends on the key."""
    _group_sums_in_step(out, key, value, cuda.shared.array(512, int32), 1, 8, cuda.blockDim.x)


@cuda.jit
def group_sums_of_64(out, key, value):
    """The last loop takes THREADS threads for granted; a block may have fewer."""
    _group_sums_in_step(out, key, value, cuda.shared.array(512, int32), 64, 1, THREADS)


@cuda.jit
def group_sums_atomic(out, key, value):
    """Right, but lanes with one key queue at one address."""
    sums = cuda.shared.array(GROUPS, int32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    if tx < GROUPS:
        sums[tx] = 0
    cuda.syncthreads()
    for i in range(tx, key.shape[1], cuda.blockDim.x):
        cuda.atomic.add(sums, key[row, i], value[row, i])
    cuda.syncthreads()
    if tx < GROUPS:
        out[row, tx] = sums[tx]


def _group_sums(key, value):
    return np.stack([np.where(key == g, value, 0).sum(axis=1) for g in range(GROUPS)], axis=1)


def _keyed(rows, cols, most=99):
    key = scattered((rows, cols), seed=cols, low=0, high=GROUPS - 1, dtype=np.int32)
    return key, scattered((rows, cols), seed=rows, low=-most, high=most, dtype=np.int32)


def _group_cases():
    """Four full rows with their budget; short rows, one row, one column, other blocks."""
    once = Budget(sectors_per_request=4, requests={"key": 32, "value": 32}, shared_bytes=2048)
    yield Case(partial(_keyed, 4, 256), grid=(4,), block=(64,), budget=once)
    for rows, cols, threads in [(3, 97, 64), (1, 200, 64), (7, 1, 64), (5, 70, 32), (5, 20, 32)]:
        data = partial(_keyed, rows, cols, 10**8 if cols == 20 else 99)  # sums fill an int32
        yield Case(data, grid=(rows,), block=(threads,))


EXERCISES = (
    Exercise(
        name="ex02_pitch",
        chapter="02_banks",
        title="Sum of each row of 24 cells",
        specification=lambda inp: inp.sum(axis=1),
        stub=row_sums_stub,
        solution=row_sums,
        wrong=(
            Wrong(row_sums_no_pad, "wavefronts", "8-way"),
            Wrong(row_sums_even, "wavefronts", "2-way"),
            Wrong(row_sums_wide, "shared", "4224 bytes of shared memory per block; budget 3200"),
            Wrong(row_sums_direct, "sectors", "per request; budget 4"),
        ),
        cases=tuple(_row_sum_cases()),
        hints=(
            "Write the loop first: each of 32 lanes walks along its own row of the tile, so in "
            "every step the warp reads a column. How many words lie between two lanes?",
            "The words between two lanes are the pitch. Which pitch of 24 or more shares no "
            "factor with 32? Take the smallest, shared memory is scarce.",
            "PITCH is the smallest odd number above 24. The loop goes over COLS values of k and "
            "adds the tile's cell in row tx and column k to acc.",
        ),
        budget=Budget(shared_bytes=3200),
    ),
    Exercise(
        name="ex02_quarter",
        chapter="02_banks",
        title="A quarter turn of an image of bytes",
        specification=lambda inp: np.rot90(inp).copy(),
        stub=quarter_turn_stub,
        solution=quarter_turn,
        wrong=(
            Wrong(quarter_turn_no_pad, "wavefronts", "8-way"),
            Wrong(quarter_turn_one_byte, "wavefronts", "2-way"),
            Wrong(quarter_turn_in_words, "shared", "4224 bytes of shared memory per block"),
            Wrong(quarter_turn_transpose, "output", "wrong"),
            Wrong(quarter_turn_one_off, "output", "out[0, 0] was not written"),
            Wrong(quarter_turn_direct, "sectors", "16.5 per request; budget 1"),
        ),
        cases=tuple(_turn_cases()),
        hints=(
            "In np.rot90, the last column of inp, cols - 1, becomes row 0 of out. The lanes of a "
            "warp now stand one below the other in the tile and side by side in out.",
            "The store: row `cols - 1 - ` (the column in inp), column `top + tx`; the value is "
            "the tile's cell in row tx. For the pitch count in words: 32 bytes are 8 of them.",
            "The tile's rows need an odd number of words, 9: how many bytes is that? The column "
            "in inp is left + c.",
        ),
        budget=Budget(shared_bytes=1152),
    ),
    Exercise(
        name="ex02_groups",
        chapter="02_banks",
        title="Sums by key",
        specification=_group_sums,
        stub=group_sums_stub,
        solution=group_sums,
        wrong=(
            Wrong(group_sums_by_thread, "wavefronts", "-way"),
            Wrong(group_sums_padded, "wavefronts", "-way"),
            Wrong(group_sums_in_step, "wavefronts", "8-way"),
            Wrong(group_sums_atomic, "wavefronts", "-way"),
            Wrong(group_sums_of_64, "output", "block 32"),
        ),
        cases=tuple(_group_cases()),
        hints=(
            "Each thread has its own 8 sums, which nobody else writes. SHAPE has 8 x 64 cells: "
            "which of the two must be the row, so that all sums of a thread lie in one bank?",
            "With rows of 64 cells, cell (g, tx) lies in bank tx % 32 for every g. In the last "
            "loop 8 lanes at cell t meet in one bank: let lane tx start at cell tx. n can be 32.",
            "In the last loop t counts up to n, and lane tx does not read cell t, but cell "
            "t + tx, modulo n. Over the whole loop it still visits each of the n cells once.",
        ),
        budget=Budget(shared_bytes=2048),
    ),
)
