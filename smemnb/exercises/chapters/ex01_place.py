"""The place of each element in its row: stage, wait, reuse."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, scattered

TILE = 128


def _inputs(*shape, unit=1, seed=0):
    return (scattered(shape, seed=shape[-1] + seed) * np.float32(unit),)


def _cases(once, *launches):
    """Cases of (shape, grid, block); the first is the full one, with its budget."""
    units = (1, 1, 2.0**64, *[1] * len(launches))  # the third: beyond what narrower tiles hold
    return tuple(
        Case(partial(_inputs, *shape, unit=unit), (grid,), (block,), None if number else once)
        for number, (unit, (shape, grid, block)) in enumerate(zip(units, launches, strict=False))
    )


@cuda.jit
def place(out, inp):
    """Place of each element in its row: how many of the row are smaller.  One block per row."""
    tile = cuda.shared.array(TILE, float32)
    tx = cuda.threadIdx.x
    row = cuda.blockIdx.x
    # FILL (about 3 lines)
    if tx < inp.shape[1]:
        tile[tx] = inp[row, tx]
    cuda.syncthreads()  # the row is staged before anyone looks at it
    if tx < out.shape[1]:
        smaller = 0
        # FILL (about 3 lines)
        for k in range(inp.shape[1]):
            if tile[k] < tile[tx]:
                smaller += 1
        out[row, tx] = smaller


def _fresh(draw):
    """Full rows, held to the budget of the first case; short ones of large elements."""
    rows, threads = draw.size(2, 6), draw.one_of(64, 96, 128)
    data = partial(_inputs, rows, threads, seed=draw.numbers())
    yield Case(data, (rows,), (threads,), like=0)
    rows, threads = draw.size(1, 7), draw.one_of(64, 96, 128)
    data = partial(_inputs, rows, draw.size(2, threads), unit=2.0**64, seed=draw.numbers())
    yield Case(data, (rows,), (threads,))


EXERCISE = Exercise(
    name="ex01_place",
    chapter="12_shared_memory",
    title="Place of each element in its row",
    specification=lambda inp: (inp[:, None] < inp[:, :, None]).sum(2).astype(np.int32),
    solution=place,
    wrong=(
        Wrong(
            "Nobody waits until the row is staged.",
            {"cuda.syncthreads()": ""},
            ("findings", "race"),
        ),
        Wrong(
            "The barrier stands inside the guard: threads past the end of the row never come.",
            {"cuda.syncthreads()": "    cuda.syncthreads()"},
            ("findings", "barrier"),
        ),
        Wrong(
            "Right, but every comparison goes to global memory.",
            {"if tile[k]": "if inp[row, k] < inp[row, tx]:"},
            ("requests", "4112 requests touch inp; budget 16"),
        ),
        Wrong(
            "Compares with all elements of the tile, of which a short row fills only a part.",
            {"for k": "for k in range(TILE):"},
            ("findings", "uninitialised"),
        ),
    ),
    cases=_cases(
        Budget(sectors_per_request=4, requests={"inp": 16, "out": 16}, shared_bytes=512),
        ((4, 128), 4, 128),
        *(((3, 97), 3, 128), ((5, 40), 5, 64), ((5, 40), 5, 96), ((1, 128), 1, 128)),
        ((7, 1), 7, 32),
    ),
    fresh=_fresh,
    hints=(
        "Three steps: stage, barrier, reuse. In the first hole each thread that has an element "
        "of the row stages it, one element per thread, and then the whole block waits.",
        "A row may be shorter than the block. The guard belongs to the staging alone; the "
        "barrier is for every thread of the block.",
        "In the second hole a loop goes over the elements of the row, 0 to the length of the "
        "row, in the tile; where the tile's element k is below the thread's own, add 1.",
    ),
    budget=Budget(sectors_per_request=4, shared_bytes=512),
)
