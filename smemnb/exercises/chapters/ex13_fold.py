"""Each piece minus itself backwards: a tile that other threads filled, and a shorter last piece."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes


def _inputs(count, size, unit=1, seed=0):
    """Elements, and how many make a piece; `unit` takes them beyond what narrower tiles hold."""
    return scattered(count, seed=count + seed) * np.float32(unit), size


def _specification(inp, size):
    """Each piece of `size` elements minus the same piece backwards."""
    pieces = (inp[first : first + size] for first in range(0, inp.size, size))
    return np.concatenate([piece - piece[::-1] for piece in pieces])


@cuda.jit
def minus_backwards(out, inp, size):
    """Each piece of size elements minus the same piece backwards; the last may be shorter.

    One block of size threads for each piece, at most 256.
    """
    # FILL (about 10 lines)
    tile = cuda.shared.array(256, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    count = min(size, inp.shape[0] - cuda.blockIdx.x * size)
    if tx < count:
        mine = inp[i]
        tile[tx] = mine
    cuda.syncthreads()  # the piece is staged before anyone reads the other end of it
    if tx < count:
        out[i] = mine - tile[count - 1 - tx]


def _case(count, size, unit=1, seed=0, **how):
    """A block for each piece."""
    data = partial(_inputs, count, size, unit, seed)
    return Case(data, grid=cover((count,), (size,)), block=(size,), **how)


def _cases():
    """Whole pieces with their budget, a shorter last piece, which is forecast, and others."""
    whole = Budget(sectors_per_request=4, requests={"inp": 32, "out": 32}, shared_bytes=1024)
    short = Budget(sectors_per_request=4, requests={"inp": 19, "out": 19}, shared_bytes=1024)
    yield _case(1024, 256, budget=whole)
    yield _case(600, 256, budget=short)
    drawn = [(count, 96) for count in sizes(2, seed=13, low=100, high=500)]
    for count, size in [(257, 128), (129, 64), (70, 96), (1, 32), (97, 32), *drawn]:
        yield _case(count, size, 2.0**64 if count == 257 else 1)


def _fresh(draw):
    """Whole pieces, held to the budget of the full size; a shorter last one of large numbers."""
    pieces, size = draw.size(2, 7), draw.one_of(64, 128, 256)
    yield _case(pieces * size, size, seed=draw.numbers(), like=0)
    size = draw.one_of(32, 64, 96, 160, 256)
    count = draw.size(0, 3) * size + draw.size(2, size - 1)
    yield _case(count, size, 2.0**64, draw.numbers())


EXERCISE = Exercise(
    name="ex13_fold",
    chapter="13_races",
    title="Each piece minus itself backwards",
    specification=_specification,
    solution=minus_backwards,
    wrong=(
        Wrong(
            "Nobody waits until the piece is staged.",
            {"cuda.syncthreads()": ""},
            ("findings", "race"),
        ),
        Wrong(
            "The barrier stands inside the guard: threads without an element never come.",
            {"cuda.syncthreads()": "    cuda.syncthreads()"},
            ("findings", "barrier"),
        ),
        Wrong(
            "Mirrors the last piece as if it were a whole one.",
            {"out[i] =": "out[i] = mine - tile[size - 1 - tx]"},
            ("output", "nan"),
        ),
        Wrong(
            "Right, but each element is loaded from global memory twice.",
            {"out[i] =": "out[i] = mine - inp[i + count - 1 - 2 * tx]"},
            ("requests", "inp"),
        ),
        Wrong(
            "Begins one element behind the end of the piece.",
            {"out[i] =": "out[i] = mine - tile[min(count - tx, count - 1)]"},
            ("output", "wrong"),
        ),
        Wrong(
            "The piece backwards minus the piece.",
            {"out[i] =": "out[i] = tile[count - 1 - tx] - mine"},
            ("output", "wrong"),
        ),
        Wrong(
            "Every block takes the first piece.",
            {
                "i = ": "i = tx",
                "count = ": "count = min(size, inp.shape[0])",
            },
            ("output", "was not written"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Each element is needed twice: by its own thread, and by the thread at the other end of "
        "the piece. Loaded once and staged, it is there for both.",
        "How many elements has the piece of this block? `size`, but in the last block only what is "
        "left from its first element on. Thread `tx` needs element `count - 1 - tx` of the tile.",
        "Work out the count of this block with `min`. Below it, keep the own element in a variable "
        "and stage it. Then the barrier, outside. Below the count again: "
        "subtract the staged element of the other end, and store.",
    ),
    budget=Budget(shared_bytes=1024),
    forecast_case=1,
)
