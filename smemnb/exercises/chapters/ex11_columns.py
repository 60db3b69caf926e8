"""The sum of each column: lanes side by side, and a loop that leaves them so."""

# mypy: disable-error-code="attr-defined"

from functools import partial

from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes


@cuda.jit
def column_sums(out, inp):
    """The sum of each column: out = inp.sum(axis=0), one thread per column."""
    # FILL (about 6 lines)
    col = cuda.grid(1)
    if col < out.shape[0]:
        acc = float32(0)
        for row in range(inp.shape[0]):
            acc += inp[row, col]
        out[col] = acc


def _matrix(rows, cols, seed=0):
    return (scattered((rows, cols), seed=rows + cols + seed),)


def _cases():
    """A full size with its budget, and ragged ones; a grid with blocks to spare."""
    once = Budget(sectors_per_request=4, requests={"out": 4, "inp": 160}, shared_bytes=0)
    yield Case(partial(_matrix, 40, 128), grid=(2,), block=(64,), budget=once)
    shapes = [(40, 35), (1, 70), (70, 1), (3, 97), (97, 33), sizes(2, seed=11, low=2, high=90)]
    for shape, threads in [*((shape, 32) for shape in shapes), ((40, 35), 128), ((35, 40), 8)]:
        yield Case(
            partial(_matrix, *shape), grid=cover((max(shape),), (threads,)), block=(threads,)
        )


def _fresh(draw):
    """Whole warps, held to the budget of the full size; a ragged size."""
    for like, unit, threads in ((0, 32, draw.one_of(32, 64)), (None, 1, draw.one_of(16, 32, 96))):
        rows, cols = draw.size(1, 60), unit * draw.size(1, 96 // unit)
        grid = cover((max(rows, cols),), (threads,))
        yield Case(partial(_matrix, rows, cols, draw.numbers()), grid, (threads,), like=like)


EXERCISE = Exercise(
    name="ex11_columns",
    chapter="11_sectors",
    title="The sum of each column",
    specification=lambda inp: inp.sum(axis=0),
    solution=column_sums,
    wrong=(
        Wrong(
            "The sum of each row.",
            {
                "if col": "if col < inp.shape[0] and col < out.shape[0]:",
                "for row": "for row in range(inp.shape[1]):",
                "acc +=": "acc += inp[col, row]",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Leaves out the first row.",
            {"for row": "for row in range(1, inp.shape[0]):"},
            ("output", "wrong"),
        ),
        Wrong(
            "Goes over as many rows as there are columns.",
            {"for row": "for row in range(inp.shape[1]):"},
            ("output", "wrong"),
        ),
        Wrong(
            "Nobody asks whether the thread has a column.",
            {"if col": "if True:"},
            ("findings", "out of range"),
        ),
        Wrong(
            "Keeps the sum in memory: a load and a store more per row.",
            {
                "acc = float32(0)": "out[col] = float32(0)",
                "acc +=": "out[col] += inp[row, col]",
                "out[col] = acc": "pass",
            },
            ("requests", "out"),
        ),
        Wrong(
            "Stores the last element, not the sum.",
            {"acc +=": "acc = inp[row, col]"},
            ("output", "wrong"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "One thread, one column: it goes down its column in a loop and adds up.",
        "In one round of the loop, all threads should be in the same row: lanes side by side then "
        "read elements side by side. A sum in a variable costs no request.",
        "The column is the number of the thread, and the guard asks for it. In front of the loop set "
        "a variable to `float32(0)`; in it add `inp[row, col]`; behind it store the variable once.",
    ),
    budget=Budget(shared_bytes=0),  # ragged rows begin inside a sector: no bound on them
)
