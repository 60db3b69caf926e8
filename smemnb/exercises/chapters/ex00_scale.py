"""Twice the input: one thread per element."""

# mypy: disable-error-code="attr-defined"

from functools import partial

from numba import cuda

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes


@cuda.jit
def scale(out, inp):
    """Twice the input: out = 2 * inp, one thread per element."""
    i = cuda.grid(1)
    # FILL (about 2 lines)
    if i < out.shape[0]:
        out[i] = 2 * inp[i]


def _inputs(count, seed=0):
    return (scattered(count, seed=count + seed),)


def _cases():
    """A full size with its budget; ragged, drawn and no elements; two launches of 300 elements.

    1000 elements come first: what fails there is easier to see than what fails with none.
    """
    once = Budget(sectors_per_request=4, requests={"out": 32, "inp": 32}, shared_bytes=0)
    yield Case(partial(_inputs, 1024), grid=(8,), block=(128,), budget=once)
    launches = [(n, (128,), 0) for n in (1000, 129, 32, 1, *sizes(2, seed=5, low=2, high=2000), 0)]
    launches += [(300, (64,), 0), (300, (96,), 3)]
    for n, block, spare in launches:
        yield Case(partial(_inputs, n), grid=(cover((n,), block)[0] + spare,), block=block)


def _fresh(draw):
    """Whole blocks, held to the budget of the full size; a ragged count, with spare blocks."""
    blocks, threads = draw.size(2, 9), draw.one_of(32, 64, 128, 256)
    data = partial(_inputs, blocks * threads, draw.numbers())
    yield Case(data, (blocks,), (threads,), like=0)
    count, threads = draw.size(2, 2000), draw.one_of(32, 96, 160, 256)
    grid = cover((count,), (threads,))[0] + draw.size(0, 3)
    yield Case(partial(_inputs, count, draw.numbers()), (grid,), (threads,))


EXERCISE = Exercise(
    name="ex00_scale",
    chapter="10_threads",
    title="Twice the input",
    specification=lambda inp: 2 * inp,
    solution=scale,
    wrong=(
        Wrong(
            "No guard: threads past the end store, too.",
            {"if i <": "if True:"},
            ("findings", "out of range"),
        ),
        Wrong(
            "Every block stores the first elements: blockIdx is left out.",
            {"i =": "i = cuda.threadIdx.x"},
            ("output", "out[128] was not written"),
        ),
        Wrong(
            "The factor is left out.",
            {"out[i]": "out[i] = inp[i]"},
            ("output", "of 1024 elements"),
        ),
        Wrong(
            "The guard leaves out the last element.",
            {"if i <": "if i < out.shape[0] - 1:"},
            ("output", "out[1023] was not written"),
        ),
        Wrong(
            "Doubles its input on the way.",
            {"out[i]": "inp[i] = 2 * inp[i]\nout[i] = inp[i]"},
            ("inputs", "after the launch"),
        ),
        Wrong(
            "Right, but the lanes of a warp lie gridDim.x elements apart.",
            {"i =": "i = cuda.threadIdx.x * cuda.gridDim.x + cuda.blockIdx.x"},
            ("sectors", "32 per request; budget 4"),
        ),
        Wrong(
            "Right, but it goes through out twice more than needed.",
            {"out[i]": "out[i] = inp[i]\nout[i] = out[i] + inp[i]"},
            ("requests", "96 requests touch out; budget 32"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Each thread has one element. Which one is already in `i`; the rest is one assignment.",
        "The grid has whole blocks, so it may have more threads than `out` has elements. What "
        "must a thread ask before it touches memory?",
        "An if on `i` and the length of `out`; inside it, one store with the doubled value.",
    ),
    budget=Budget(sectors_per_request=4, shared_bytes=0),
)
