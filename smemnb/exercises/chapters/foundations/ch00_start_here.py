"""Exercises of the first chapter: a cell per thread, two dimensions, several cells per thread."""

# mypy: disable-error-code="attr-defined"
# ruff: noqa: F841 (a stub has names that wait for the learner)

from functools import partial

from numba import cuda

from ...exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes


@cuda.jit
def scale_stub(out, inp):
    """Twice the input: out = 2 * inp, one thread per cell."""
    i = cuda.grid(1)
    # FILL (about 2 lines)


@cuda.jit
def scale(out, inp):
    """Twice the input: out = 2 * inp, one thread per cell."""
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = 2 * inp[i]


@cuda.jit
def scale_no_guard(out, inp):
    """No guard: threads past the end store, too."""
    i = cuda.grid(1)
    out[i] = 2 * inp[i]


@cuda.jit
def scale_one_block(out, inp):
    """Every block stores the first cells: blockIdx is left out."""
    i = cuda.threadIdx.x
    if i < out.shape[0]:
        out[i] = 2 * inp[i]


@cuda.jit
def scale_copy(out, inp):
    """The factor is left out."""
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = inp[i]


@cuda.jit
def scale_short(out, inp):
    """The guard leaves out the last cell."""
    i = cuda.grid(1)
    if i < out.shape[0] - 1:
        out[i] = 2 * inp[i]


@cuda.jit
def scale_in_place(out, inp):
    """Doubles its input on the way."""
    i = cuda.grid(1)
    if i < out.shape[0]:
        inp[i] = 2 * inp[i]
        out[i] = inp[i]


@cuda.jit
def scale_strided(out, inp):
    """Right, but the lanes of a warp lie gridDim.x cells apart."""
    i = cuda.threadIdx.x * cuda.gridDim.x + cuda.blockIdx.x
    if i < out.shape[0]:
        out[i] = 2 * inp[i]


@cuda.jit
def scale_twice(out, inp):
    """Right, but it goes through out twice more than needed."""
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = inp[i]
        out[i] = out[i] + inp[i]


@cuda.jit
def add_bias_stub(out, matrix, bias):
    """A matrix plus one value per column: out = matrix + bias, one thread per cell."""
    # FILL (about 3 lines)


@cuda.jit
def add_bias(out, matrix, bias):
    """A matrix plus one value per column: out = matrix + bias, one thread per cell."""
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = matrix[row, col] + bias[col]


@cuda.jit
def add_bias_swapped(out, matrix, bias):
    """Right, but the lanes of a warp walk down a column: x became the row."""
    row, col = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = matrix[row, col] + bias[col]


@cuda.jit
def add_bias_per_row(out, matrix, bias):
    """Takes one value per row."""
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = matrix[row, col] + bias[row]


@cuda.jit
def add_bias_one_guard(out, matrix, bias):
    """The guard looks at columns only."""
    col, row = cuda.grid(2)
    if col < out.shape[1]:
        out[row, col] = matrix[row, col] + bias[col]


@cuda.jit
def add_bias_crossed_guard(out, matrix, bias):
    """The guard compares the row with the number of columns, and the column with that of rows."""
    col, row = cuda.grid(2)
    if row < out.shape[1] and col < out.shape[0]:
        out[row, col] = matrix[row, col] + bias[col]


@cuda.jit
def add_bias_one_block(out, matrix, bias):
    """Every block stores the first cells: blockIdx is left out."""
    col, row = cuda.threadIdx.x, cuda.threadIdx.y
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = matrix[row, col] + bias[col]


@cuda.jit
def add_bias_in_place(out, matrix, bias):
    """Adds to its input on the way."""
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        matrix[row, col] += bias[col]
        out[row, col] = matrix[row, col]


@cuda.jit
def rounds_stub(out, inp):
    """One more than the input: out = inp + 1, also with fewer threads than cells."""
    i = cuda.grid(1)
    threads = cuda.gridsize(1)
    # FILL (about 2 lines)


@cuda.jit
def rounds(out, inp):
    """One more than the input: out = inp + 1, also with fewer threads than cells."""
    i = cuda.grid(1)
    threads = cuda.gridsize(1)
    for cell in range(i, out.shape[0], threads):
        out[cell] = inp[cell] + 1


@cuda.jit
def rounds_neighbours(out, inp):
    """Right, but each thread takes cells side by side, so that lanes lie far apart."""
    each = (out.shape[0] + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    first = cuda.grid(1) * each
    for cell in range(first, min(first + each, out.shape[0])):
        out[cell] = inp[cell] + 1


@cuda.jit
def rounds_only_one(out, inp):
    """One cell for each thread: the cells past the last thread stay as they were."""
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = inp[i] + 1


@cuda.jit
def rounds_all(out, inp):
    """Right, but every thread stores every cell."""
    for cell in range(out.shape[0]):
        out[cell] = inp[cell] + 1


@cuda.jit
def rounds_block_step(out, inp):
    """Right, but it steps by one block, so that blocks do each other's work again."""
    for cell in range(cuda.grid(1), out.shape[0], cuda.blockDim.x):
        out[cell] = inp[cell] + 1


@cuda.jit
def rounds_no_guard(out, inp):
    """Whole rounds: in the last one, some threads have no cell."""
    threads = cuda.gridsize(1)
    for first in range(0, out.shape[0], threads):
        cell = first + cuda.grid(1)
        out[cell] = inp[cell] + 1


@cuda.jit
def rounds_short(out, inp):
    """The loop ends one cell early."""
    for cell in range(cuda.grid(1), out.shape[0] - 1, cuda.gridsize(1)):
        out[cell] = inp[cell] + 1


def _inputs(count):
    return (scattered(count, seed=count),)


def _cases():
    """A full size with its budget; ragged, drawn and no cells; two launches of 300 cells.

    1000 cells come first: what fails there is easier to see than what fails with none.
    """
    once = Budget(sectors_per_request=4, requests={"out": 32, "inp": 32}, shared_bytes=0)
    yield Case(partial(_inputs, 1024), grid=(8,), block=(128,), budget=once)
    launches = [(n, (128,), 0) for n in (1000, 129, 32, 1, *sizes(2, seed=5, low=2, high=2000), 0)]
    launches += [(300, (64,), 0), (300, (96,), 3)]
    for n, block, spare in launches:
        yield Case(partial(_inputs, n), grid=(cover((n,), block)[0] + spare,), block=block)


def _matrix(rows, cols):
    return scattered((rows, cols), seed=cols), scattered(cols, seed=rows)


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


def _few_threads():
    """A full size with its budget; fewer threads than cells, as many, and more."""
    once = Budget(sectors_per_request=4, requests={"out": 32, "inp": 32}, shared_bytes=0)
    yield Case(partial(_inputs, 1024), grid=(2,), block=(128,), budget=once)
    launches = [(1000, 2, 64), (1000, 1, 96), (128, 2, 64), (1, 1, 32), (100, 2, 64)]
    for count, grid, block in [*launches, (*sizes(1, seed=7, low=300, high=900), 3, 64)]:
        yield Case(partial(_inputs, count), grid=(grid,), block=(block,))


EXERCISES = (
    Exercise(
        name="ex00_scale",
        chapter="00_start_here",
        title="Twice the input",
        specification=lambda inp: 2 * inp,
        stub=scale_stub,
        solution=scale,
        wrong=(
            Wrong(scale_no_guard, "findings", "out of range"),
            Wrong(scale_one_block, "output", "out[128] was not written"),
            Wrong(scale_copy, "output", "1024 wrong"),
            Wrong(scale_short, "output", "out[1023] was not written"),
            Wrong(scale_in_place, "inputs", "after the launch"),
            Wrong(scale_strided, "sectors", "32 per request; budget 4"),
            Wrong(scale_twice, "requests", "96 requests touch out; budget 32"),
        ),
        cases=tuple(_cases()),
        hints=(
            "Each thread has one cell. Which one is already in `i`; the rest is one assignment.",
            "The grid has whole blocks, so it may have more threads than `out` has cells. What "
            "must a thread ask before it touches memory?",
            "An if on `i` and the length of `out`; inside it, one store with the doubled value.",
        ),
        budget=Budget(sectors_per_request=4, shared_bytes=0),
    ),
    Exercise(
        name="ex00_bias",
        chapter="00_start_here",
        title="A matrix plus one value per column",
        specification=lambda matrix, bias: matrix + bias,
        stub=add_bias_stub,
        solution=add_bias,
        wrong=(
            Wrong(add_bias_swapped, "sectors", "per request; budget 4"),
            Wrong(add_bias_per_row, "output", "wrong"),
            Wrong(add_bias_one_guard, "findings", "on axis 0, but matrix has size"),
            Wrong(add_bias_crossed_guard, "output", "not written"),
            Wrong(add_bias_one_block, "output", "out[0, 32] was not written"),
            Wrong(add_bias_in_place, "inputs", "matrix[0, 0] was"),
        ),
        cases=tuple(_matrix_cases()),
        hints=(
            "One thread, one cell of `out`: which row and which column are its own? "
            "`cuda.grid(2)` gives both, x first.",
            "x runs along a row, so it is the column. The grid may reach past the last column "
            "and past the last row: the guard has to ask about both.",
            "Line 1: col and row from `cuda.grid(2)`. Line 2: an if with `row` against "
            "`out.shape[0]` and `col` against `out.shape[1]`. Line 3: store the sum of a cell of "
            "`matrix` and the `bias` of its column.",
        ),
        budget=Budget(shared_bytes=0),  # ragged rows begin inside a sector: no bound on them
    ),
    Exercise(
        name="ex00_rounds",
        chapter="00_start_here",
        title="More cells than threads",
        specification=lambda inp: inp + 1,
        stub=rounds_stub,
        solution=rounds,
        wrong=(
            Wrong(rounds_neighbours, "sectors", "per request; budget 4"),
            Wrong(rounds_only_one, "output", "out[256] was not written"),
            Wrong(rounds_all, "requests", "requests touch out; budget 32"),
            Wrong(rounds_block_step, "requests", "requests touch out; budget 32"),
            Wrong(rounds_no_guard, "findings", "out of range"),
            Wrong(rounds_short, "output", "out[1023] was not written"),
        ),
        cases=tuple(_few_threads()),
        hints=(
            "All threads together take the first `threads` cells, then the next `threads` cells, "
            "and so on. Which cell does a thread take after cell `i`?",
            "A thread's cells are i, i + threads, i + 2 * threads, ... as long as they are in "
            "`out`. `range` with three arguments gives just these.",
            "A for loop over a `range` from `i` to the length of `out` in steps of `threads`; "
            "inside it, one store as in add_one. The end of the range is the guard.",
        ),
        budget=Budget(sectors_per_request=4, shared_bytes=0),
    ),
)
