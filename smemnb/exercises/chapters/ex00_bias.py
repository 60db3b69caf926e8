"""A matrix plus one value per column: threads in two dimensions."""

# mypy: disable-error-code="attr-defined"

from functools import partial

from numba import cuda

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes


@cuda.jit
def add_bias(out, matrix, bias):
    """A matrix plus one value per column: out = matrix + bias, one thread per element."""
    # FILL (about 3 lines)
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = matrix[row, col] + bias[col]


def _matrix(rows, cols, seed=0):
    return scattered((rows, cols), seed=cols + seed), scattered(cols, seed=rows + seed)


def _matrix_cases():
    """A full size with its budget, and ragged ones; each grid covers the matrix either way round.

    A kernel that takes x for the row is then right and slow, and its sectors say so.
    """
    once = Budget(sectors_per_request=4, requests={"out": 128, "matrix": 128}, shared_bytes=0)
    yield Case(partial(_matrix, 64, 64), grid=(2, 8), block=(32, 8), budget=once)
    shapes = [(40, 35), (1, 70), (70, 1), (3, 97), (97, 33), sizes(2, seed=6, low=2, high=90)]
    for shape, block in [*((shape, (32, 8)) for shape in shapes), ((40, 35), (32, 4))]:
        grid = cover((max(shape), max(shape)), block)
        yield Case(partial(_matrix, *shape), grid=grid, block=block)


def _fresh(draw):
    """Whole blocks, held to the budget of the full size; a ragged size."""
    for like, unit, high in ((0, 32, draw.one_of(4, 8, 16)), (None, 1, draw.one_of(2, 4, 8))):
        rows, cols = (unit * draw.size(1, 96 // unit) for _ in range(2))
        grid = cover((max(rows, cols), max(rows, cols)), (32, high))
        yield Case(partial(_matrix, rows, cols, draw.numbers()), grid, (32, high), like=like)


EXERCISE = Exercise(
    name="ex00_bias",
    chapter="10_threads",
    title="A matrix plus one value per column",
    specification=lambda matrix, bias: matrix + bias,
    solution=add_bias,
    wrong=(
        Wrong(
            "Right, but the lanes of a warp walk down a column: x became the row.",
            {"col, row": "row, col = cuda.grid(2)"},
            ("sectors", "21.67 per request; budget 4"),
        ),
        Wrong(
            "Takes one value per row.",
            {"out[row": "out[row, col] = matrix[row, col] + bias[row]"},
            ("output", "wrong"),
        ),
        Wrong(
            "The guard looks at columns only.",
            {"if row": "if col < out.shape[1]:"},
            ("findings", "out of range"),
        ),
        Wrong(
            "The guard compares the row with the number of columns, and the column with "
            "that of rows.",
            {"if row": "if row < out.shape[1] and col < out.shape[0]:"},
            ("output", "not written"),
        ),
        Wrong(
            "Every block stores the first elements: blockIdx is left out.",
            {"col, row": "col, row = cuda.threadIdx.x, cuda.threadIdx.y"},
            ("output", "out[0, 32] was not written"),
        ),
        Wrong(
            "Adds to its input on the way.",
            {"out[row": "matrix[row, col] += bias[col]\nout[row, col] = matrix[row, col]"},
            ("inputs", "matrix[0, 0] was"),
        ),
    ),
    cases=tuple(_matrix_cases()),
    fresh=_fresh,
    hints=(
        "One thread, one element of `out`: which row and which column are its own? "
        "`cuda.grid(2)` gives both, x first.",
        "x runs along a row, so it is the column. The grid may reach past the last column "
        "and past the last row: the guard has to ask about both.",
        "Line 1: col and row from `cuda.grid(2)`. Line 2: an if with `row` against "
        "`out.shape[0]` and `col` against `out.shape[1]`. Line 3: store the sum of an element of "
        "`matrix` and the `bias` of its column.",
    ),
    budget=Budget(shared_bytes=0),  # ragged rows begin inside a sector: no bound on them
)
