"""Exercises on shared memory: stage, barrier, reuse; a halo; two barriers in a loop."""

# mypy: disable-error-code="attr-defined"
# ruff: noqa: F841 (a stub has names that wait for the learner)

from functools import partial

import numpy as np
from numba import cuda, float32

from ...exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes

TILE = 128
HALO = 7
SPAN = TILE + HALO
ONES = np.ones(HALO + 1, np.float32)
DRAWN = sizes(2, seed=3, low=130, high=600)


def _inputs(*shape, unit=1):
    return (scattered(shape, seed=shape[-1]) * np.float32(unit),)


def _cases(once, *launches):
    """Cases of (shape, grid, block); the first is the full one, with its budget."""
    units = (1, 1, 2.0**64, *[1] * len(launches))  # the third: beyond what narrower tiles hold
    return tuple(
        Case(partial(_inputs, *shape, unit=unit), (grid,), (block,), None if number else once)
        for number, (unit, (shape, grid, block)) in enumerate(zip(units, launches, strict=False))
    )


def _lines(*launches):
    """Launches on a line of cells, given as (cells, threads per block)."""
    return [((n,), *cover((n,), (threads,)), threads) for n, threads in launches]


@cuda.jit(device=True)
def _below(tile, count, mine):
    """How many of the first cells of a tile are smaller; for the wrong kernels."""
    smaller = 0
    for k in range(count):
        if tile[k] < mine:
            smaller += 1
    return smaller


@cuda.jit(device=True)
def _window_sum(tile, tx):
    """Sum of a thread's cell and of those before it; for the wrong kernels."""
    acc = float32(0)
    for k in range(HALO + 1):
        acc += tile[tx + k]
    return acc


@cuda.jit
def place_stub(out, inp):
    """Place of each cell in its row: how many cells of the row are smaller.  One block per row."""
    tile = cuda.shared.array(TILE, float32)
    tx = cuda.threadIdx.x
    row = cuda.blockIdx.x
    # FILL (about 3 lines)
    if tx < out.shape[1]:
        smaller = 0
        # FILL (about 3 lines)
        out[row, tx] = smaller


@cuda.jit
def place(out, inp):
    """Place of each cell in its row: how many cells of the row are smaller.  One block per row."""
    tile = cuda.shared.array(TILE, float32)
    tx = cuda.threadIdx.x
    row = cuda.blockIdx.x
    if tx < inp.shape[1]:
        tile[tx] = inp[row, tx]
    cuda.syncthreads()  # the row is staged before anyone looks at it
    if tx < out.shape[1]:
        smaller = 0
        for k in range(inp.shape[1]):
            if tile[k] < tile[tx]:
                smaller += 1
        out[row, tx] = smaller


@cuda.jit
def place_no_barrier(out, inp):
    """Nobody waits until the row is staged."""
    tile = cuda.shared.array(TILE, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    if tx < inp.shape[1]:
        tile[tx] = inp[row, tx]
    if tx < out.shape[1]:
        out[row, tx] = _below(tile, inp.shape[1], tile[tx])


@cuda.jit
def place_barrier_inside(out, inp):
    """The barrier stands inside the guard: threads past the end of the row never come."""
    tile = cuda.shared.array(TILE, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    if tx < inp.shape[1]:
        tile[tx] = inp[row, tx]
        cuda.syncthreads()
        out[row, tx] = _below(tile, inp.shape[1], tile[tx])


@cuda.jit
def place_direct(out, inp):
    """Right, but every comparison goes to global memory."""
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    if tx < out.shape[1]:
        smaller = 0
        for k in range(inp.shape[1]):
            if inp[row, k] < inp[row, tx]:
                smaller += 1
        out[row, tx] = smaller


@cuda.jit
def place_whole_tile(out, inp):
    """Compares with all cells of the tile, of which a short row fills only a part."""
    tile = cuda.shared.array(TILE, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    if tx < inp.shape[1]:
        tile[tx] = inp[row, tx]
    cuda.syncthreads()
    if tx < out.shape[1]:
        out[row, tx] = _below(tile, TILE, tile[tx])


@cuda.jit
def window_stub(out, inp):
    """Sum of the last 8 cells: out[i] = inp[i - 7] + ... + inp[i], with 0 before the start."""
    tile = cuda.shared.array(SPAN, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < inp.shape[0]:
        tile[tx + HALO] = inp[i]
    # FILL (about 6 lines)
    if i < out.shape[0]:
        acc = float32(0)
        for k in range(HALO + 1):
            acc += tile[tx + k]
        out[i] = acc


@cuda.jit
def window(out, inp):
    """Sum of the last 8 cells: out[i] = inp[i - 7] + ... + inp[i], with 0 before the start."""
    tile = cuda.shared.array(SPAN, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < inp.shape[0]:
        tile[tx + HALO] = inp[i]
    if tx < HALO:
        if i >= HALO:
            tile[tx] = inp[i - HALO]
        else:
            tile[tx] = 0
    cuda.syncthreads()  # the cells and the halo are staged before anyone adds
    if i < out.shape[0]:
        acc = float32(0)
        for k in range(HALO + 1):
            acc += tile[tx + k]
        out[i] = acc


@cuda.jit
def window_no_barrier(out, inp):
    """Nobody waits until cells and halo are staged."""
    tile = cuda.shared.array(SPAN, float32)
    tx, i = cuda.threadIdx.x, cuda.grid(1)
    if i < inp.shape[0]:
        tile[tx + HALO] = inp[i]
    if tx < HALO:
        tile[tx] = inp[i - HALO] if i >= HALO else float32(0)
    if i < out.shape[0]:
        out[i] = _window_sum(tile, tx)


@cuda.jit
def window_no_halo(out, inp):
    """The cells before the block are left out: only the first block has zeros there."""
    tile = cuda.shared.array(SPAN, float32)
    tx, i = cuda.threadIdx.x, cuda.grid(1)
    if i < inp.shape[0]:
        tile[tx + HALO] = inp[i]
    if tx < HALO:
        tile[tx] = 0
    cuda.syncthreads()
    if i < out.shape[0]:
        out[i] = _window_sum(tile, tx)


@cuda.jit
def window_no_zeros(out, inp):
    """Nobody stores the zeros before the start."""
    tile = cuda.shared.array(SPAN, float32)
    tx, i = cuda.threadIdx.x, cuda.grid(1)
    if i < inp.shape[0]:
        tile[tx + HALO] = inp[i]
    if tx < HALO and i >= HALO:
        tile[tx] = inp[i - HALO]
    cuda.syncthreads()
    if i < out.shape[0]:
        out[i] = _window_sum(tile, tx)


@cuda.jit
def window_direct(out, inp):
    """Right, but every cell is loaded from global memory eight times."""
    i = cuda.grid(1)
    if i < out.shape[0]:
        acc = float32(0)
        for k in range(max(0, i - HALO), i + 1):
            acc += inp[k]
        out[i] = acc


@cuda.jit
def rank_stub(out, inp):
    """Rank of each cell: how many cells of the whole of inp are smaller."""
    tile = cuda.shared.array(TILE, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    n = inp.shape[0]
    mine = inp[i] if i < n else float32(0)
    smaller = 0
    for start in range(0, n, cuda.blockDim.x):
        count = min(cuda.blockDim.x, n - start)  # cells of this piece
        # FILL (about 7 lines)
    if i < n:
        out[i] = smaller


@cuda.jit
def rank(out, inp):
    """Rank of each cell: how many cells of the whole of inp are smaller."""
    tile = cuda.shared.array(TILE, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    n = inp.shape[0]
    mine = inp[i] if i < n else float32(0)
    smaller = 0
    for start in range(0, n, cuda.blockDim.x):
        count = min(cuda.blockDim.x, n - start)  # cells of this piece
        if tx < count:
            tile[tx] = inp[start + tx]
        cuda.syncthreads()  # the piece is staged before anyone compares
        for k in range(count):
            if tile[k] < mine:
                smaller += 1
        cuda.syncthreads()  # everyone is done before the next piece overwrites it
    if i < n:
        out[i] = smaller


@cuda.jit
def rank_no_second(out, inp):
    """No barrier at the end of the loop: fast warps overwrite the tile."""
    tile = cuda.shared.array(TILE, float32)
    tx, i, n = cuda.threadIdx.x, cuda.grid(1), inp.shape[0]
    mine = inp[i] if i < n else float32(0)
    smaller = 0
    for start in range(0, n, cuda.blockDim.x):
        if start + tx < n:
            tile[tx] = inp[start + tx]
        cuda.syncthreads()
        smaller += _below(tile, min(cuda.blockDim.x, n - start), mine)
    if i < n:
        out[i] = smaller


@cuda.jit
def rank_own_piece(out, inp):
    """Compares with the cells of the own block only."""
    tile = cuda.shared.array(TILE, float32)
    tx, i = cuda.threadIdx.x, cuda.grid(1)
    if i < inp.shape[0]:
        tile[tx] = inp[i]
    cuda.syncthreads()
    if i < out.shape[0]:
        out[i] = _below(tile, min(cuda.blockDim.x, inp.shape[0] - i + tx), tile[tx])


@cuda.jit
def rank_early_return(out, inp):
    """Threads without a cell leave; the last block stages with holes."""
    tile = cuda.shared.array(TILE, float32)
    tx, i = cuda.threadIdx.x, cuda.grid(1)
    n = inp.shape[0]
    if i >= n:
        return
    smaller = 0
    for start in range(0, n, cuda.blockDim.x):
        if start + tx < n:
            tile[tx] = inp[start + tx]
        cuda.syncthreads()
        smaller += _below(tile, min(cuda.blockDim.x, n - start), inp[i])
        cuda.syncthreads()
    out[i] = smaller


@cuda.jit
def rank_direct(out, inp):
    """Right, but every comparison goes to global memory."""
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = _below(inp, inp.shape[0], inp[i])


EXERCISES = (
    Exercise(
        name="ex01_place",
        chapter="01_shared_memory",
        title="Place of each cell in its row",
        specification=lambda inp: (inp[:, None] < inp[:, :, None]).sum(2).astype(np.int32),
        stub=place_stub,
        solution=place,
        wrong=(
            Wrong(place_no_barrier, "findings", "race"),
            Wrong(place_barrier_inside, "findings", "barrier"),
            Wrong(place_direct, "requests", "touch inp; budget 16"),
            Wrong(place_whole_tile, "findings", "no thread"),
        ),
        cases=_cases(
            Budget(sectors_per_request=4, requests={"inp": 16, "out": 16}, shared_bytes=512),
            ((4, 128), 4, 128),
            *(((3, 97), 3, 128), ((5, 40), 5, 64), ((5, 40), 5, 96), ((1, 128), 1, 128)),
            ((7, 1), 7, 32),
        ),
        hints=(
            "Three steps: stage, barrier, reuse. In the first hole each thread that has a cell "
            "of the row stages it, one cell per thread, and then the whole block waits.",
            "A row may be shorter than the block. The guard belongs to the staging alone; the "
            "barrier is for every thread of the block.",
            "In the second hole a loop goes over the cells of the row, 0 to the length of the "
            "row, in the tile; where the tile's cell k is below the thread's own, add 1.",
        ),
        budget=Budget(sectors_per_request=4, shared_bytes=512),
    ),
    Exercise(
        name="ex01_window",
        chapter="01_shared_memory",
        title="Sum of the last eight cells",
        specification=lambda inp: np.convolve(inp, ONES)[: inp.size],
        stub=window_stub,
        solution=window,
        wrong=(
            Wrong(window_no_barrier, "findings", "race"),
            Wrong(window_no_halo, "output", "out[128] is"),
            Wrong(window_no_zeros, "output", "out[0] is nan"),
            Wrong(window_direct, "requests", "touch inp; budget 39"),
        ),
        cases=_cases(
            Budget(requests={"inp": 39, "out": 32}, shared_bytes=540),
            *_lines((1024, 128), (129, 128), (127, 128), (7, 128), (1, 128)),
            *_lines((300, 64), (300, 96), *((n, 128) for n in DRAWN)),
        ),
        hints=(
            "The tile has 7 cells more than the block has threads. Cells 7 and up are staged "
            "already. Which cells of inp belong into cells 0 to 6?",
            "The first 7 threads have a second job: cell `tx` of the tile is the cell of inp "
            "7 before the thread's own. In the first block there is none (-7 wraps): store 0.",
            "An if on `tx`; inside it an if on `i` with one store for the case that the cell "
            "exists and an else that stores 0. The barrier comes after both, outside.",
        ),
        budget=Budget(shared_bytes=540),
    ),
    Exercise(
        name="ex01_rank",
        chapter="01_shared_memory",
        title="Rank of each cell",
        specification=lambda inp: (inp < inp[:, None]).sum(1).astype(np.int32),
        stub=rank_stub,
        solution=rank,
        wrong=(
            Wrong(rank_no_second, "findings", "race"),
            Wrong(rank_early_return, "output", "wrong"),
            Wrong(rank_own_piece, "output", "wrong"),
            Wrong(rank_direct, "requests", "touch inp; budget 80"),
        ),
        cases=_cases(
            Budget(sectors_per_request=4, requests={"inp": 80, "out": 16}, shared_bytes=512),
            *_lines((512, 128), (129, 128), (127, 128), (1, 128), (DRAWN[0], 128)),
            *_lines((200, 64), (200, 96)),
        ),
        hints=(
            "One pass of the loop is the first exercise again, for the piece of inp that begins "
            "at `start`: stage, barrier, compare.",
            "Only threads below `count` have a cell to stage. All threads compare, and all come "
            "to both barriers. Why is there a second one?",
            "Stage the cell `tx` of the piece; barrier; a loop over the `count` cells of the "
            "tile that compares each with `mine`; barrier, at the end of the pass.",
        ),
        budget=Budget(shared_bytes=512),
    ),
)
