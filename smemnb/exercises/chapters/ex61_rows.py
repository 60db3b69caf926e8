"""A product on tensor cores whose tile is loaded by ldmatrix without a conflict."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32, uint32

from ...kernels.ptx import load4, load16, store16
from ...kernels.ptx.matrices import ldmatrix_x4
from ...kernels.ptx.tensor import mma_m16n8k8_f32_tf32
from ..exercise import Budget, Case, Exercise, Wrong, scattered


@cuda.jit
def multiply_strips(out, a, b):
    """out = a b in tf32, strips of 16 rows.  Blocks of 32; b has 8 columns, a 32, 64, 96 ..."""
    tile = cuda.shared.array(512, float32, alignment=16)  # 16 rows of 8 chunks of 4 numbers
    tx, depth = uint32(cuda.threadIdx.x), a.shape[1]
    for top in range(16 * cuda.blockIdx.x, a.shape[0], 16 * cuda.gridDim.x):
        acc = (float32(0), float32(0), float32(0), float32(0))
        for k in range(0, depth, 32):
            for high in range(0, 16, 4):
                row, chunk = high + tx // 8, tx % 8
                to = chunk
                # FILL (about 1 line)
                to = chunk ^ (row % 8)
                quad = load16(a, uint32((top + row) * depth + k + chunk * 4))
                store16(tile, uint32(row * 32 + to * 4), quad)
            cuda.syncwarp()  # the tile is full before anyone loads of it
            for step in range(4):
                row, chunk = tx % 16, 2 * step + tx // 16
                at = chunk
                # FILL (about 1 line)
                at = chunk ^ (row % 8)
                left = ldmatrix_x4(tile, uint32(row * 32 + at * 4))
                place = uint32((k + 8 * step + tx % 4) * 8 + tx // 4)
                right = (load4(b, place), load4(b, uint32(place + 32)))
                acc = mma_m16n8k8_f32_tf32(left, right, acc)
            cuda.syncwarp()  # everyone has loaded before the tile is filled anew
        row, col = top + tx // 4, tx % 4 * 2
        out[row, col] = acc[0]
        out[row, col + 1] = acc[1]
        out[row + 8, col] = acc[2]
        out[row + 8, col + 1] = acc[3]


def _matrices(rows, depth, unit=1, seed=0):
    """Whole numbers that tf32 holds; those of a larger by `unit`."""
    a = scattered((rows, depth), seed=rows + 3 * depth + seed) * np.float32(unit)
    return a, scattered((depth, 8), seed=depth + seed + 1)


def _cases():
    """Two strips of two steps with their budget; one strip, and more strips or more blocks."""
    clean = Budget(sectors_per_request=16, requests={"a": 16, "b": 32, "out": 8}, shared_bytes=2048)
    yield Case(partial(_matrices, 32, 64), (2,), (32,), budget=clean)
    for strips, steps, blocks in [(1, 1, 1), (3, 1, 2), (3, 3, 2), (3, 3, 5)]:
        unit = 2.0**64 if steps == 3 else 1
        yield Case(partial(_matrices, 16 * strips, 32 * steps, unit), (blocks,), (32,))


def _fresh(draw):
    """Strips held to the budget of the first case; others with large numbers."""
    for like, unit in ((0, 1), (None, 2.0**64)):
        strips, steps = draw.size(1, 4), draw.size(1, 3)
        blocks = strips if like == 0 else draw.one_of(1, 2, 3)
        data = partial(_matrices, 16 * strips, 32 * steps, unit, draw.numbers())
        yield Case(data, (blocks,), (32,), like=like)


EXERCISE = Exercise(
    name="ex61_rows",
    chapter="61_tensor_cores",
    title="A tile for ldmatrix, without a conflict",
    specification=lambda a, b: a @ b,
    solution=multiply_strips,
    wrong=(
        Wrong(
            "Chunks where they would be anyway: rows of 128 bytes, the 8 rows of a matrix meet.",
            {"to = chunk ^": "to = chunk", "at = chunk ^": "at = chunk"},
            ("wavefronts", "8-way"),
        ),
        Wrong(
            "Stored at chunk ^ (row % 8), but loaded at chunk.",
            {"at = chunk ^": "at = chunk"},
            ("output", "wrong"),
        ),
        Wrong(
            "chunk ^ (row % 4): rows 0 and 4 keep their chunks alike, so two of them meet.",
            {"to = chunk ^": "to = chunk ^ (row % 4)", "at = chunk ^": "at = chunk ^ (row % 4)"},
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "chunk ^ row: from row 8 on the chunk leaves its row, onto one of the next.",
            {"to = chunk ^": "to = chunk ^ row", "at = chunk ^": "at = chunk ^ row"},
            ("output", "wrong"),
        ),
        Wrong(
            "No conflict, but a pad of 16 bytes in each row.",
            {
                "tile =": "tile = cuda.shared.array(576, float32, alignment=16)",
                "to = chunk ^": "to = chunk",
                "at = chunk ^": "at = chunk",
                "store16(": "store16(tile, uint32(row * 36 + to * 4), quad)",
                "left =": "left = ldmatrix_x4(tile, uint32(row * 36 + at * 4))",
            },
            ("shared", "2304 bytes of shared memory per block; budget 2048"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "A row of the tile has 8 chunks of 16 bytes: once through all banks. The 8 rows of a "
        "matrix want the same chunk. Where may a row keep it, so that no two rows agree? And do "
        "the store and `ldmatrix` agree about it?",
        "Both lines say where a chunk of a row is kept, so both have the same formula of chunk and "
        "row. An xor with a number below 8 exchanges the chunks of a row among each other.",
        "The rows of a matrix are 8 neighbours, so their numbers differ in the lowest three bits: "
        "row % 8. The place is chunk ^ (row % 8).",
    ),
    budget=Budget(shared_bytes=2048),
)
