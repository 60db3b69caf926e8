"""A transpose whose blocks walk: the next tile is loaded while this one is stored."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

TILE = 32
PITCH = 33
MOST = 8  # elements of a thread, in blocks of 32 x 4; blocks of 32 x 8 use half of them


@cuda.jit(device=True)
def load(inp, held, row0, col0):
    """This thread's elements of the tile at (row0, col0), into registers; 0 beyond the edge."""
    tx, ty, high = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.y
    for i in range(MOST):  # a number in the text: so the places of held are registers
        row, col = row0 + ty + i * high, col0 + tx
        held[i] = 0
        if i * high < TILE and row < inp.shape[0] and col < inp.shape[1]:
            held[i] = inp[row, col]


@cuda.jit(device=True)
def put(tile, buffer, held):
    """From registers into a buffer, a row of the tile per warp."""
    tx, ty, high = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.y
    for i in range(MOST):
        if i * high < TILE:
            tile[buffer, ty + i * high, tx] = held[i]


@cuda.jit
def walk(out, inp):
    """out = inp.T.  A block of 32 x h threads walks along 32 rows of inp, tile by tile."""
    tile = cuda.shared.array((2, TILE, PITCH), float32)
    held = cuda.local.array(MOST, float32)
    tx, ty, high = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.y
    row0, now = cuda.blockIdx.x * TILE, 0
    load(inp, held, row0, 0)
    # FILL (about 2 lines)
    put(tile, now, held)
    cuda.syncthreads()  # the first tile is full before anyone reads it
    for col0 in range(0, inp.shape[1], TILE):
        # FILL (about 1 line)
        load(inp, held, row0, col0 + TILE)  # on its way while this tile is stored
        for i in range(ty, TILE, high):
            if col0 + i < out.shape[0] and row0 + tx < out.shape[1]:
                # FILL (about 1 line)
                out[col0 + i, row0 + tx] = tile[now, tx, i]
        # FILL (about 3 lines)
        now = 1 - now
        put(tile, now, held)
        cuda.syncthreads()  # the next tile is full, and everyone has read this one


def _matrix(rows, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    return (scattered((rows, cols), seed=rows + cols + seed) * np.float32(unit),)


def _cases():
    """Whole tiles with their budget; ragged, flat and tall ones; blocks of 32 x 4."""
    clean = Budget(
        ways=1,
        sectors_per_request=4,
        requests={"inp": 192, "out": 192},
        shared_bytes=8448,
        barriers=4,
    )
    yield Case(partial(_matrix, 64, 96), grid=(2,), block=(32, 8), budget=clean)
    for rows, cols in ((40, 35), (97, 3), (1, 70), (70, 1)):
        grid, budget = cover((rows,), (TILE,)), _waits(-(-cols // TILE))
        data = partial(_matrix, rows, cols, 2.0**64 if cols == 3 else 1)
        yield Case(data, grid, (32, 8), budget)
    yield Case(partial(_matrix, 33, 65), grid=(2,), block=(32, 4), budget=_waits(3))


def _waits(tiles):
    """One barrier per tile, and one for the first."""
    return Budget(shared_bytes=8448, barriers=tiles + 1)


def _fresh(draw):
    """Whole tiles, held to the budget of the first case; a ragged matrix of large elements."""
    for like, edge, unit in ((0, TILE, 1), (1, 1, 2.0**64)):
        rows, cols = (edge * draw.size(2, 96 // edge) for _ in range(2))
        grid, block = cover((rows,), (TILE,)), (32, draw.one_of(4, 8, 16))
        yield Case(partial(_matrix, rows, cols, unit, draw.numbers()), grid, block, like=like)


EXERCISE = Exercise(
    name="ex07_walk",
    chapter="35_two_buffers",
    title="A transpose that walks",
    specification=lambda inp: inp.T.copy(),
    solution=walk,
    wrong=(
        Wrong(
            "No barrier after the first tile: its columns are read before all rows are there.",
            {"cuda.syncthreads()  # the first": ""},
            ("findings", "race"),
        ),
        Wrong(
            "No barrier in the loop.", {"cuda.syncthreads()  # the next": ""}, ("findings", "race")
        ),
        Wrong(
            "One buffer and one barrier: a fast warp overwrites what others still read.",
            {"tile =": "tile = cuda.shared.array((1, TILE, PITCH), float32)", "now = 1 - now": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Loads the tile that is there already, in place of the next.",
            {"load(inp, held, row0, col0": "load(inp, held, row0, col0)"},
            ("output", "wrong"),
        ),
        Wrong(
            "No pad: a column of the tile lies in one bank.",
            {"tile =": "tile = cuda.shared.array((2, TILE, TILE), float32)"},
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "Right, but with a barrier before the put, too: the second buffer is there to save it.",
            {"now = 1 - now": "cuda.syncthreads()\nnow = 1 - now"},
            ("barriers", "passes 7 barriers; budget 4"),
        ),
        Wrong(
            "Right, but with a third buffer, which nobody needs.",
            {
                "tile =": "tile = cuda.shared.array((3, TILE, PITCH), float32)",
                "now = 1 - now": "now = (now + 1) % 3",
            },
            ("shared", "12672 bytes of shared memory per block; budget 8448"),
        ),
        Wrong(
            "The tile's indices not exchanged: each tile comes out as it was, at the turned place.",
            {"out[col0": "out[col0 + i, row0 + tx] = tile[now, i, tx]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but the elements to store are loaded again, down a column of inp.",
            {"out[col0": "out[col0 + i, row0 + tx] = inp[row0 + tx, col0 + i]"},
            ("sectors", "18 per request; budget 4"),
        ),
        Wrong(
            "Right, but loaded after this tile was stored: the put waits for the whole load.",
            {
                "load(inp, held, row0, col0": "",
                "now = 1 - now": "load(inp, held, row0, col0 + TILE)\nnow = 1 - now",
            },
            ("order", "reads, then line 25 of load loads, then line 34 of put stores"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "The shape is that of the product before: something is put and waited for ahead of the "
        "loop; in the loop, ask for the next, use this one, put the next, wait once.",
        "`load` brings a tile's elements into `held`, `put` from there into a buffer; both take "
        "care of rows and edges. The next tile of the walk begins TILE columns further. The store "
        "wants a column of the buffer `now`, as in every transpose.",
        "Ahead of the loop: put into buffer `now`, and a barrier. First line of the loop: load "
        "from column col0 plus TILE. The element to store is the one in row tx, column i of buffer "
        "`now`. At the end: the other buffer becomes `now`, put, barrier.",
    ),
    budget=Budget(shared_bytes=8448),
    overlap_case=0,
)
