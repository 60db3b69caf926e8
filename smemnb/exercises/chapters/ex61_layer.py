"""A layer of a network on tensor cores: a product, a bias for each column, nothing below 0."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32, uint32

from ...kernels.ptx import load4, load16, store16
from ...kernels.ptx.matrices import ldmatrix_x4
from ...kernels.ptx.tensor import mma_m16n8k8_f32_tf32
from ..exercise import Budget, Case, Exercise, Wrong, scattered


@cuda.jit
def layer(out, a, b, bias):
    """out[i, j] = the sum of a[i, k] * b[k, j] over k, plus bias[j], in tf32; 0 if that is less.

    Blocks of 32 with 16 rows of a each; b has 8 columns, a 32, 64, 96 ...
    """
    # FILL (about 23 lines)
    tile = cuda.shared.array(512, float32, alignment=16)
    tx, depth = uint32(cuda.threadIdx.x), a.shape[1]
    top, col = 16 * cuda.blockIdx.x, tx % 4 * 2
    first, second = bias[col], bias[col + 1]
    acc = (first, second, first, second)
    for k in range(0, depth, 32):
        for high in range(0, 16, 4):
            row, chunk = high + tx // 8, tx % 8
            quad = load16(a, uint32((top + row) * depth + k + chunk * 4))
            store16(tile, uint32(row * 32 + (chunk ^ (row % 8)) * 4), quad)
        cuda.syncwarp()  # the tile is full before anyone loads of it
        for step in range(4):
            row, chunk = tx % 16, 2 * step + tx // 16
            left = ldmatrix_x4(tile, uint32(row * 32 + (chunk ^ (row % 8)) * 4))
            place = uint32((k + 8 * step + tx % 4) * 8 + tx // 4)
            right = (load4(b, place), load4(b, uint32(place + 32)))
            acc = mma_m16n8k8_f32_tf32(left, right, acc)
        cuda.syncwarp()  # everyone has loaded before the tile is filled anew
    row = top + tx // 4
    out[row, col] = max(acc[0], float32(0))
    out[row, col + 1] = max(acc[1], float32(0))
    out[row + 8, col] = max(acc[2], float32(0))
    out[row + 8, col + 1] = max(acc[3], float32(0))


def _operands(rows, depth, unit=1, seed=0):
    """Whole numbers that tf32 holds; those of a and of the bias larger by `unit`."""
    unit = np.float32(unit)
    a = scattered((rows, depth), seed=rows + 3 * depth + seed) * unit
    b = scattered((depth, 8), seed=depth + seed + 1)
    return a, b, scattered(8, seed=rows + seed + 2, low=-9999, high=9999) * unit


def _cases():
    """Two strips of two steps with their budget; one of one, more strips, larger numbers."""
    clean = Budget(
        sectors_per_request=16,
        requests={"a": 16, "b": 32, "bias": 4, "out": 8},
        shared_bytes=2048,
        shared_requests=32,
    )
    yield Case(partial(_operands, 32, 64), (2,), (32,), budget=clean)
    for strips, steps, unit in ((1, 1, 1), (3, 1, 1), (2, 3, 2.0**64)):
        yield Case(partial(_operands, 16 * strips, 32 * steps, unit), (strips,), (32,))


def _fresh(draw):
    """Strips held to the budget of the first case; others with large numbers."""
    for like, unit in ((0, 1), (None, 2.0**64)):
        strips, steps = draw.size(1, 4), draw.size(1, 3)
        data = partial(_operands, 16 * strips, 32 * steps, unit, draw.numbers())
        yield Case(data, (strips,), (32,), like=like)


EXERCISE = Exercise(
    name="ex61_layer",
    chapter="61_tensor_cores",
    title="A layer: a product, a bias, nothing below 0",
    specification=lambda a, b, bias: np.maximum(a @ b + bias, np.float32(0)),
    solution=layer,
    wrong=(
        Wrong(
            "Each chunk at its own place: the 8 rows of a matrix meet in the same banks.",
            {
                "store16(": "store16(tile, uint32(row * 32 + chunk * 4), quad)",
                "left =": "left = ldmatrix_x4(tile, uint32(row * 32 + chunk * 4))",
            },
            ("wavefronts", "8-way"),
        ),
        Wrong(
            "Loads chunks from where they were not put.",
            {"left =": "left = ldmatrix_x4(tile, uint32(row * 32 + chunk * 4))"},
            ("output", "wrong"),
        ),
        Wrong(
            "The bias of the row of the fragment, not of its columns.",
            {"first, second": "first, second = bias[tx // 4], bias[tx // 4]"},
            ("output", "wrong"),
        ),
        Wrong(
            "The bias of one column for both.",
            {"acc = (": "acc = (first, first, second, second)"},
            ("output", "wrong"),
        ),
        Wrong(
            "Begins with the bias at every 32 columns of a: only the last ones count.",
            {"for high": "acc = (first, second, first, second)\nfor high in range(0, 16, 4):"},
            ("output", "wrong"),
        ),
        Wrong(
            "Leaves numbers below 0 as they are in the lower rows.",
            {
                "out[row + 8, col] =": "out[row + 8, col] = acc[2]",
                "out[row + 8, col + 1]": "out[row + 8, col + 1] = acc[3]",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Takes the second half of b's rows from where the first one is.",
            {"right =": "right = (load4(b, place), load4(b, place))"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but reads the bias once for each element.",
            {
                "acc = (": "acc = (float32(0), float32(0), float32(0), float32(0))",
                "out[row, col] =": "out[row, col] = max(acc[0] + bias[col], float32(0))",
                "out[row, col + 1]": "out[row, col + 1] = max(acc[1] + bias[col + 1], float32(0))",
                "out[row + 8, col] =": "out[row + 8, col] = max(acc[2] + bias[col], float32(0))",
                "out[row + 8, col + 1]": "out[row + 8, col + 1] = max(acc[3] + bias[col + 1], "
                "float32(0))",
            },
            ("requests", "requests touch bias; budget 4"),
        ),
        Wrong(
            "Right, but with a pad of 16 bytes in each row.",
            {
                "tile =": "tile = cuda.shared.array(576, float32, alignment=16)",
                "store16(": "store16(tile, uint32(row * 36 + chunk * 4), quad)",
                "left =": "left = ldmatrix_x4(tile, uint32(row * 36 + chunk * 4))",
            },
            ("shared", "2304 bytes of shared memory per block; budget 2048"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "The way of a is that of `multiply_strips`: 16 rows of 32 numbers into a tile, then four "
        "steps of 8. What may the sums begin with, so that the bias costs no addition?",
        "A lane has two columns of its strip: bias of these two is what its four sums begin with. "
        "Which of the four lie in the first column, and which rows do they belong to?",
        "Sums 0 and 1 are those of row tx // 4, columns tx % 4 * 2 and the next one; sums 2 and 3 "
        "lie 8 rows lower. Begin with (first, second, first, second), go on with the loops of "
        "`multiply_strips`, chunk c of row r at c ^ (r % 8), and store max(sum, float32(0)).",
    ),
    budget=Budget(shared_bytes=2048),
)
