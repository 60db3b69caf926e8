"""A sum of turned matrices: one tile that all of them go through, one after the other."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

TILE = 32
PITCH = 33
PLANES_AT_ONCE, EVEN, WIDE = 4, 34, 64


@cuda.jit
def planes(out, inp):
    """out = the sum of inp[p].T over all planes p.  Blocks of n x n threads, 4,224 bytes."""
    # FILL (about 1 line)
    tile = cuda.shared.array((TILE, PITCH), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    out_row, out_col = cuda.blockIdx.x * n + ty, cuda.blockIdx.y * n + tx
    acc = float32(0)
    for p in range(inp.shape[0]):
        # FILL (about 6 lines)
        if row < inp.shape[1] and col < inp.shape[2]:
            tile[ty, tx] = inp[p, row, col]
        cuda.syncthreads()  # this plane's tile is full before anyone reads it
        if out_row < out.shape[0] and out_col < out.shape[1]:
            acc += tile[tx, ty]
        cuda.syncthreads()  # everyone has read before the next plane overwrites it
    if out_row < out.shape[0] and out_col < out.shape[1]:
        out[out_row, out_col] = acc


@cuda.jit
def _planes_a_tile_each(out, inp):
    tile = cuda.shared.array((PLANES_AT_ONCE, TILE, PITCH), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    out_row, out_col = cuda.blockIdx.x * n + ty, cuda.blockIdx.y * n + tx
    if row < inp.shape[1] and col < inp.shape[2]:
        for p in range(inp.shape[0]):
            tile[p, ty, tx] = inp[p, row, col]
    cuda.syncthreads()
    if out_row < out.shape[0] and out_col < out.shape[1]:
        acc = float32(0)
        for p in range(inp.shape[0]):
            acc += tile[p, tx, ty]
        out[out_row, out_col] = acc


def _turned(inp):
    return np.ascontiguousarray(inp.sum(axis=0).T)


def _inputs(*shape, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    return (scattered(shape, seed=sum(shape) + seed) * np.float32(unit),)


def _cases():
    """Three whole planes with their budget; ragged and flat ones, one plane; blocks of 16 x 16."""
    clean = Budget(sectors_per_request=4, requests={"inp": 576, "out": 192}, shared_bytes=4224)
    yield Case(partial(_inputs, 3, 64, 96), grid=(3, 2), block=(32, 32), budget=clean)
    for count, rows, cols in ((4, 40, 35), (2, 97, 3), (1, 1, 70), (3, 33, 1)):
        data = partial(_inputs, count, rows, cols, unit=2.0**64 if rows == 97 else 1)
        yield Case(data, cover((cols, rows), (32, 32)), (32, 32))
    ragged = Budget(extra=None, shared_bytes=4224)
    yield Case(partial(_inputs, 2, 37, 20), grid=(2, 3), block=(16, 16), budget=ragged)


def _fresh(draw):
    """Whole tiles, held to the budget of the first case; ragged planes of large numbers."""
    count, rows, cols = draw.size(2, 6), 32 * draw.size(1, 3), 32 * draw.size(1, 3)
    data = partial(_inputs, count, rows, cols, seed=draw.numbers())
    yield Case(data, (cols // 32, rows // 32), (32, 32), like=0)
    count, rows, cols = draw.size(1, 6), draw.size(1, 70), draw.size(1, 70)
    n = draw.one_of(16, 32)
    data = partial(_inputs, count, rows, cols, unit=2.0**64, seed=draw.numbers())
    yield Case(data, cover((cols, rows), (n, n)), (n, n), like=None if n == 32 else 5)


EXERCISE = Exercise(
    name="ex08_planes",
    chapter="40_budgets",
    title="One tile for all planes",
    specification=_turned,
    solution=planes,
    wrong=(
        Wrong(
            "No barrier between store and read.",
            {"cuda.syncthreads()  # this plane": ""},
            ("findings", "race"),
        ),
        Wrong(
            "No barrier behind the read: the next plane overwrites what others still read.",
            {"cuda.syncthreads()  # everyone": ""},
            ("findings", "race"),
        ),
        Wrong(
            "No pad: the column lies in one bank.",
            {"tile =": "tile = cuda.shared.array((TILE, TILE), float32)"},
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "A pad of two elements: even, so that two lanes meet in a bank.",
            {"tile =": "tile = cuda.shared.array((TILE, 34), float32)"},
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "Rows twice as long: as many bytes more as a tile has, and still one bank.",
            {"tile =": "tile = cuda.shared.array((TILE, 64), float32)"},
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "Rows are not guarded.",
            {"if row <": "if col < inp.shape[2]:"},
            ("findings", "out of range"),
        ),
        Wrong(
            "Right for up to four planes, with a tile for each: four times the bytes, one barrier.",
            _planes_a_tile_each,
            ("shared", "16896 bytes of shared memory per block; budget 4224"),
        ),
        Wrong(
            "Only the last plane: all are staged, one after the other, and then one is read.",
            {"acc +=": "acc = tile[tx, ty]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but straight from global memory: 32 sectors per load.",
            {"acc +=": "acc += inp[p, out_col, out_row]"},
            ("sectors", "32 per request; budget 4"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "A plane's tile is of no use once its column has been added to acc. So the next plane can "
        "go through the same tile, if everyone is done with it.",
        "Per plane: a guarded load into the tile as in every transpose; wait; add the column to "
        "acc, if the thread has an element of out; wait. 4,224 bytes are 32 rows of how many "
        "elements?",
        "The tile is static: its shape, TILE rows of PITCH elements, stands in the kernel. Six "
        "lines: an if on row and col, the store at [ty, tx]; a barrier; an if on out_row and "
        "out_col, the addition of the element at [tx, ty]; a barrier.",
    ),
    budget=Budget(shared_bytes=4224),
)
