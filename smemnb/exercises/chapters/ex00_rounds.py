"""More elements than threads: each thread takes several elements."""

# mypy: disable-error-code="attr-defined"

from functools import partial

from numba import cuda

from ..exercise import Budget, Case, Exercise, Wrong, scattered, sizes


@cuda.jit
def rounds(out, inp):
    """One more than the input: out = inp + 1, also with fewer threads than elements."""
    i = cuda.grid(1)
    threads = cuda.gridsize(1)
    # FILL (about 2 lines)
    for cell in range(i, out.shape[0], threads):
        out[cell] = inp[cell] + 1


def _inputs(count, seed=0):
    return (scattered(count, seed=count + seed),)


def _few_threads():
    """A full size with its budget; fewer threads than elements, as many, and more."""
    once = Budget(sectors_per_request=4, requests={"out": 32, "inp": 32}, shared_bytes=0)
    yield Case(partial(_inputs, 1024), grid=(2,), block=(128,), budget=once)
    launches = [(1000, 2, 64), (1000, 1, 96), (128, 2, 64), (1, 1, 32), (100, 2, 64)]
    for count, grid, block in [*launches, (*sizes(1, seed=7, low=300, high=900), 3, 64)]:
        yield Case(partial(_inputs, count), grid=(grid,), block=(block,))


def _fresh(draw):
    """Whole rounds, held to the budget of the full size; a ragged count."""
    blocks, threads, rounds = draw.size(2, 4), draw.one_of(32, 64, 128), draw.size(2, 6)
    data = partial(_inputs, blocks * threads * rounds, draw.numbers())
    yield Case(data, (blocks,), (threads,), like=0)
    data = partial(_inputs, draw.size(150, 1500), draw.numbers())
    yield Case(data, (draw.size(1, 4),), (draw.one_of(32, 64, 96),))


EXERCISE = Exercise(
    name="ex00_rounds",
    chapter="11_sectors",
    title="More elements than threads",
    specification=lambda inp: inp + 1,
    solution=rounds,
    wrong=(
        Wrong(
            "Right, but each thread takes elements side by side, so that lanes lie far apart.",
            {
                "for cell": "each = (out.shape[0] + threads - 1) // threads\n"
                "for cell in range(i * each, min(i * each + each, out.shape[0])):"
            },
            ("sectors", "31.25 per request; budget 4"),
        ),
        Wrong(
            "One element for each thread: the elements past the last thread stay as they were.",
            {"for cell": "cell = i\nif cell < out.shape[0]:"},
            ("output", "out[256] was not written"),
        ),
        Wrong(
            "Right, but every thread stores every element.",
            {"for cell": "for cell in range(out.shape[0]):"},
            ("requests", "8192 requests touch out; budget 32"),
        ),
        Wrong(
            "Right, but it steps by one block, so that blocks do each other's work again.",
            {"for cell": "for cell in range(i, out.shape[0], cuda.blockDim.x):"},
            ("requests", "60 requests touch out; budget 32"),
        ),
        Wrong(
            "Whole rounds: in the last one, some threads have no element.",
            {"for cell": "for first in range(0, out.shape[0], threads):\n    cell = first + i"},
            ("findings", "out of range"),
        ),
        Wrong(
            "The loop ends one element early.",
            {"for cell": "for cell in range(i, out.shape[0] - 1, threads):"},
            ("output", "out[1023] was not written"),
        ),
    ),
    cases=tuple(_few_threads()),
    fresh=_fresh,
    hints=(
        "All threads together take the first `threads` elements, then the next `threads` elements, "
        "and so on. Which element does a thread take after element `i`?",
        "A thread's elements are i, i + threads, i + 2 * threads, ... as long as they are in "
        "`out`. `range` with three arguments gives just these.",
        "A for loop over a `range` from `i` to the length of `out` in steps of `threads`; "
        "inside it, one store as in add_one. The end of the range is the guard.",
    ),
    budget=Budget(sectors_per_request=4, shared_bytes=0),
)
