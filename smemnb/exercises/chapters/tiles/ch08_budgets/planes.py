"""A sum of turned matrices: one tile that all of them go through, one after the other."""

# mypy: disable-error-code="attr-defined"
# ruff: noqa: B007, RUF059 (a stub has names that wait for the learner)

from functools import partial

import numpy as np
from numba import cuda, float32

from ....exercise import Budget, Case, Exercise, Wrong, cover, scattered

TILE = 32
PITCH = 33
PLANES_AT_ONCE, EVEN, WIDE = 4, 34, 64


@cuda.jit
def planes_stub(out, inp):
    """out = the sum of inp[p].T over all planes p.  Blocks of n x n threads, 4,224 bytes."""
    # FILL (about 1 line)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    out_row, out_col = cuda.blockIdx.x * n + ty, cuda.blockIdx.y * n + tx
    acc = float32(0)
    for p in range(inp.shape[0]):
        # FILL (about 6 lines)
        pass
    if out_row < out.shape[0] and out_col < out.shape[1]:
        out[out_row, out_col] = acc


@cuda.jit
def planes(out, inp):
    """out = the sum of inp[p].T over all planes p.  Blocks of n x n threads, 4,224 bytes."""
    tile = cuda.shared.array((TILE, PITCH), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    out_row, out_col = cuda.blockIdx.x * n + ty, cuda.blockIdx.y * n + tx
    acc = float32(0)
    for p in range(inp.shape[0]):
        if row < inp.shape[1] and col < inp.shape[2]:
            tile[ty, tx] = inp[p, row, col]
        cuda.syncthreads()  # this plane's tile is full before anyone reads it
        if out_row < out.shape[0] and out_col < out.shape[1]:
            acc += tile[tx, ty]
        cuda.syncthreads()  # everyone has read before the next plane overwrites it
    if out_row < out.shape[0] and out_col < out.shape[1]:
        out[out_row, out_col] = acc


@cuda.jit(device=True)
def _planes(out, inp, tile, guarded, first, second):
    """`planes` through any tile, with its barriers or without."""
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    out_row, out_col = cuda.blockIdx.x * n + ty, cuda.blockIdx.y * n + tx
    acc = float32(0)
    for p in range(inp.shape[0]):
        if (row < inp.shape[1] or not guarded) and col < inp.shape[2]:
            tile[ty, tx] = inp[p, row, col]
        if first:
            cuda.syncthreads()
        if out_row < out.shape[0] and out_col < out.shape[1]:
            acc += tile[tx, ty]
        if second:
            cuda.syncthreads()
    if out_row < out.shape[0] and out_col < out.shape[1]:
        out[out_row, out_col] = acc


@cuda.jit
def planes_no_first(out, inp):
    """No barrier between store and read."""
    _planes(out, inp, cuda.shared.array((TILE, PITCH), float32), True, False, True)


@cuda.jit
def planes_no_second(out, inp):
    """No barrier behind the read: the next plane overwrites what others still read."""
    _planes(out, inp, cuda.shared.array((TILE, PITCH), float32), True, True, False)


@cuda.jit
def planes_no_pad(out, inp):
    """No pad: the column lies in one bank."""
    _planes(out, inp, cuda.shared.array((TILE, TILE), float32), True, True, True)


@cuda.jit
def planes_even(out, inp):
    """A pad of two cells: even, so that two lanes meet in a bank."""
    _planes(out, inp, cuda.shared.array((TILE, EVEN), float32), True, True, True)


@cuda.jit
def planes_wide(out, inp):
    """Rows twice as long: as many bytes more as a tile has, and still one bank."""
    _planes(out, inp, cuda.shared.array((TILE, WIDE), float32), True, True, True)


@cuda.jit
def planes_no_guard(out, inp):
    """Rows are not guarded."""
    _planes(out, inp, cuda.shared.array((TILE, PITCH), float32), False, True, True)


@cuda.jit
def planes_a_tile_each(out, inp):
    """Right for up to four planes, with a tile for each: four times the bytes, one barrier."""
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


@cuda.jit
def planes_last_only(out, inp):
    """Only the last plane: all are staged, one after the other, and then one is read."""
    tile = cuda.shared.array((TILE, PITCH), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    out_row, out_col = cuda.blockIdx.x * n + ty, cuda.blockIdx.y * n + tx
    for p in range(inp.shape[0]):
        if row < inp.shape[1] and col < inp.shape[2]:
            tile[ty, tx] = inp[p, row, col]
    cuda.syncthreads()
    if out_row < out.shape[0] and out_col < out.shape[1]:
        out[out_row, out_col] = tile[tx, ty]


@cuda.jit
def planes_direct(out, inp):
    """Right, but straight from global memory: 32 sectors per load."""
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    out_row, out_col = cuda.blockIdx.x * n + ty, cuda.blockIdx.y * n + tx
    if out_row < out.shape[0] and out_col < out.shape[1]:
        acc = float32(0)
        for p in range(inp.shape[0]):
            acc += inp[p, out_col, out_row]
        out[out_row, out_col] = acc


def _turned(inp):
    return np.ascontiguousarray(inp.sum(axis=0).T)


def _inputs(*shape, unit=1):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    return (scattered(shape, seed=sum(shape)) * np.float32(unit),)


def _cases():
    """Three whole planes with their budget; ragged and flat ones, one plane; blocks of 16 x 16."""
    clean = Budget(sectors_per_request=4, requests={"inp": 576, "out": 192}, shared_bytes=4224)
    yield Case(partial(_inputs, 3, 64, 96), grid=(3, 2), block=(32, 32), budget=clean)
    for count, rows, cols in ((4, 40, 35), (2, 97, 3), (1, 1, 70), (3, 33, 1)):
        data = partial(_inputs, count, rows, cols, unit=2.0**64 if rows == 97 else 1)
        yield Case(data, cover((cols, rows), (32, 32)), (32, 32))
    ragged = Budget(extra=None, shared_bytes=4224)
    yield Case(partial(_inputs, 2, 37, 20), grid=(2, 3), block=(16, 16), budget=ragged)


PLANES = Exercise(
    name="ex08_planes",
    chapter="08_budgets",
    title="One tile for all planes",
    specification=_turned,
    stub=planes_stub,
    solution=planes,
    wrong=(
        Wrong(planes_no_first, "findings", "race"),
        Wrong(planes_no_second, "findings", "race"),
        Wrong(planes_no_pad, "wavefronts", "32-way"),
        Wrong(planes_even, "wavefronts", "2-way"),
        Wrong(planes_wide, "wavefronts", "32-way"),
        Wrong(planes_no_guard, "findings", "out of range"),
        Wrong(planes_a_tile_each, "shared", "16896 bytes of shared memory per block; budget 4224"),
        Wrong(planes_last_only, "output", "wrong"),
        Wrong(planes_direct, "sectors", "budget 4"),
    ),
    cases=tuple(_cases()),
    hints=(
        "A plane's tile is of no use once its column has been added to acc. So the next plane can "
        "go through the same tile, if everyone is done with it.",
        "Per plane: a guarded load into the tile as in every transpose; wait; add the column to "
        "acc, if the thread has a cell of out; wait. 4,224 bytes are 32 rows of how many cells?",
        "The tile is static: its shape, TILE rows of PITCH cells, stands in the kernel. Six lines: "
        "an if on row and col, the store at [ty, tx]; a barrier; an if on out_row and out_col, the "
        "addition of the cell at [tx, ty]; a barrier.",
    ),
    budget=Budget(shared_bytes=4224),
)
