"""Exercises of the first chapter: one thread per cell, a guard, cells side by side."""

# mypy: disable-error-code="attr-defined"
# ruff: noqa: F841 (a stub has names that wait for the learner)

from functools import partial

from numba import cuda

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes


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


def _inputs(count):
    return (scattered(count, seed=count),)


def _cases():
    """A full size with its budget; none, one, ragged and drawn sizes; two launches of 300 cells."""
    once = Budget(sectors_per_request=4, requests={"out": 32, "inp": 32}, shared_bytes=0)
    yield Case(partial(_inputs, 1024), grid=(8,), block=(128,), budget=once)
    launches = [(n, (128,), 0) for n in (0, 1, 32, 127, 129, *sizes(2, seed=5, low=2, high=2000))]
    launches += [(300, (64,), 0), (300, (96,), 3)]
    for n, block, spare in launches:
        yield Case(partial(_inputs, n), grid=(cover((n,), block)[0] + spare,), block=block)


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
)
