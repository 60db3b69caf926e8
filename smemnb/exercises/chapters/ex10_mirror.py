"""Every row from right to left: a kernel over a matrix from its signature."""

# mypy: disable-error-code="attr-defined"

from functools import partial

from numba import cuda

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes


@cuda.jit
def mirror(out, inp):
    """Every row from right to left: out = inp[:, ::-1], one thread per element."""
    # FILL (about 3 lines)
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = inp[row, inp.shape[1] - 1 - col]


def _matrix(rows, cols, seed=0):
    return (scattered((rows, cols), seed=rows + cols + seed),)


def _cases():
    """A full size with its budget, and ragged ones; a grid covers the matrix either way round."""
    once = Budget(sectors_per_request=4, requests={"out": 128, "inp": 128}, shared_bytes=0)
    yield Case(partial(_matrix, 64, 64), grid=(2, 8), block=(32, 8), budget=once)
    shapes = [(40, 35), (1, 70), (70, 1), (3, 97), (97, 33), sizes(2, seed=10, low=2, high=90)]
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
    name="ex10_mirror",
    chapter="10_threads",
    title="Every row from right to left",
    specification=lambda inp: inp[:, ::-1],
    solution=mirror,
    wrong=(
        Wrong(
            "Right, but the lanes of a warp walk down a column: x became the row.",
            {"col, row": "row, col = cuda.grid(2)"},
            ("sectors", "per request; budget 4"),
        ),
        Wrong(
            "Begins one element beyond the end of the row.",
            {"out[row": "out[row, col] = inp[row, inp.shape[1] - col]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Mirrors the rows, not the elements of each.",
            {"out[row": "out[row, col] = inp[inp.shape[0] - 1 - row, col]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Turns the matrix by half: it mirrors the rows, too.",
            {"out[row": "out[row, col] = inp[inp.shape[0] - 1 - row, inp.shape[1] - 1 - col]"},
            ("output", "wrong"),
        ),
        Wrong(
            "The guard looks at columns only.",
            {"if row": "if col < out.shape[1]:"},
            ("findings", "out of range"),
        ),
        Wrong(
            "Every block stores the first elements: blockIdx is left out.",
            {"col, row": "col, row = cuda.threadIdx.x, cuda.threadIdx.y"},
            ("output", "was not written"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "One thread, one element of `out`. Which row and which column it is, you know from the "
        "last exercise; only where it reads is new.",
        "The last element of a row has the index `inp.shape[1] - 1`. Column 0 of `out` wants that "
        "one, column 1 the one before it.",
        "Line 1: col and row from `cuda.grid(2)`. Line 2: the guard for both. Line 3: store "
        "`inp[row, inp.shape[1] - 1 - col]`.",
    ),
    budget=Budget(shared_bytes=0),  # ragged rows begin inside a sector: no bound on them
)
