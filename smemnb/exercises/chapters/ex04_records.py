"""A transpose of records of 16 bytes, each moved whole."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ...kernels.ptx import load16, store16
from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

SIZE = 32 * 32 * 4  # elements of a tile of 32 x 32 records


@cuda.jit
def transpose_records(out, inp):
    """out[c, r] = inp[r, c], records of 4 elements.  Tiles of 32 x 32, blocks of 32 x 8 or so."""
    tile = cuda.shared.array(SIZE, float32, alignment=16)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape[0], inp.shape[1]
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32  # the tile's corner in inp
    for y in range(ty, 32, cuda.blockDim.y):  # row y of the tile: record tx
        if top + y < rows and left + tx < cols:
            record = load16(inp, ((top + y) * cols + left + tx) * 4)
            # FILL (about 2 lines)
            chunk = y * 32 + (tx ^ (y % 8))
            store16(tile, chunk * 4, record)
    cuda.syncthreads()  # the tile is full before anyone reads it
    for x in range(ty, 32, cuda.blockDim.y):  # column x of the tile: record tx
        if left + x < cols and top + tx < rows:
            # FILL (about 2 lines)
            chunk = tx * 32 + (x ^ (tx % 8))
            store16(out, ((left + x) * rows + top + tx) * 4, load16(tile, chunk * 4))


@cuda.jit
def _transpose_records_by_word(out, inp):
    tile = cuda.shared.array(SIZE, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for y in range(ty, 32, cuda.blockDim.y):
        if top + y < inp.shape[0] and left + tx < inp.shape[1]:
            for w in range(4):
                tile[w * 1024 + y * 32 + (tx ^ y)] = inp[top + y, left + tx, w]
    cuda.syncthreads()
    for x in range(ty, 32, cuda.blockDim.y):
        if left + x < inp.shape[1] and top + tx < inp.shape[0]:
            for w in range(4):
                out[left + x, top + tx, w] = tile[w * 1024 + tx * 32 + (x ^ tx)]


def _matrix(rows, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    return (scattered((rows, cols, 4), seed=rows + 3 * cols + seed) * np.float32(unit),)


def _cases():
    """Two full tiles with their budget; one row, one column, ragged sizes, other blocks."""
    whole = Budget(sectors_per_request=16, requests={"inp": 64, "out": 64}, shared_bytes=16384)
    yield Case(partial(_matrix, 32, 64), (2, 1), (32, 8), budget=whole)
    for rows, cols, high in [(40, 35, 8), (1, 70, 8), (37, 1, 4), (33, 34, 16)]:
        data = partial(_matrix, rows, cols, 2.0**64 if high == 16 else 1)
        yield Case(data, cover((cols, rows), (32, 32)), (32, high))


def _fresh(draw):
    """Full tiles, held to the budget of the first case; a ragged matrix of large elements."""
    for like, edge, unit in ((0, 32, 1), (None, 1, 2.0**64)):
        rows, cols = (edge * draw.size(1, 64 // edge) for _ in range(2))
        grid, block = cover((cols, rows), (32, 32)), (32, draw.one_of(4, 8, 16))
        yield Case(partial(_matrix, rows, cols, unit, draw.numbers()), grid, block, like=like)


EXERCISE = Exercise(
    name="ex04_records",
    chapter="23_layouts",
    title="A transpose of records of 16 bytes",
    specification=lambda inp: np.ascontiguousarray(inp.transpose(1, 0, 2)),
    solution=transpose_records,
    wrong=(
        Wrong(
            "Records where they would be anyway: 8 lanes of a phase want one group of four banks.",
            {"chunk = y": "chunk = y * 32 + tx", "chunk = tx": "chunk = tx * 32 + x"},
            ("wavefronts", "8-way"),
        ),
        Wrong(
            "The shift goes round after 4 rows, a phase has 8 lanes.",
            {
                "chunk = y": "chunk = y * 32 + (tx ^ (y % 4))",
                "chunk = tx": "chunk = tx * 32 + (x ^ (tx % 4))",
            },
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "Stored with the xor, but read without it.",
            {"chunk = tx": "chunk = tx * 32 + x"},
            ("output", "wrong"),
        ),
        Wrong(
            "Nobody waits until the tile is full.", {"cuda.syncthreads()": ""}, ("findings", "race")
        ),
        Wrong(
            "No conflict, but a pad record per row takes 512 bytes more.",
            {
                "tile =": "tile = cuda.shared.array(4224, float32, alignment=16)",
                "chunk = y": "chunk = y * 33 + tx",
                "chunk = tx": "chunk = tx * 33 + x",
            },
            ("shared", "16896 bytes of shared memory per block"),
        ),
        Wrong(
            "Right, but each record goes word by word: four times the requests.",
            _transpose_records_by_word,
            ("requests", "256 requests touch inp; budget 64"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "A request of 16 bytes per lane has four phases of 8 lanes. In the second loop the 8 lanes "
        "of a phase stand in 8 rows of the tile: which chunk should each row give?",
        "Chunk x of row y is kept at x xor (y % 8), in the same row. A row has 32 chunks, a chunk "
        "has 4 elements; store16 and load16 take offsets in elements.",
        "First: chunk = 32 chunks per row, times y, plus tx xor the shift of y; store16 to the "
        "tile at 4 times that. Second: row tx, chunk x; out's record is (left + x) * rows + "
        "top + tx.",
    ),
    budget=Budget(shared_bytes=16384),
)
