"""The place of each element among the marks: one staged list for all threads of a block."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes

TILE = 128


def _inputs(count, marks, unit=1, seed=0):
    """Elements, and marks in no order; `unit` takes them beyond what narrower tiles hold."""
    both = scattered(count, seed=count + seed), scattered(marks, seed=marks + seed + 1)
    return tuple(numbers * np.float32(unit) for numbers in both)


@cuda.jit
def place_among(out, inp, marks):
    """Place of each element among the marks: how many marks are smaller.  At most 128 marks."""
    # FILL (about 13 lines)
    tile = cuda.shared.array(TILE, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    if tx < marks.shape[0]:
        tile[tx] = marks[tx]
    cuda.syncthreads()  # all marks are staged before anyone compares
    if i < out.shape[0]:
        mine = inp[i]
        smaller = 0
        for k in range(marks.shape[0]):
            if tile[k] < mine:
                smaller += 1
        out[i] = smaller


def _cases():
    """A full size with its budget, and ragged ones; a block has a thread for every mark."""
    once = Budget(
        sectors_per_request=4, requests={"inp": 32, "marks": 16, "out": 32}, shared_bytes=512
    )
    yield Case(partial(_inputs, 1024, 40), grid=(8,), block=(128,), budget=once)
    drawn = [(count, 33, 128) for count in sizes(2, seed=12, low=2, high=500)]
    ragged = [(129, 128, 128), (70, 64, 64), (200, 96, 96), (1, 20, 32), (300, 1, 64)]
    for count, marks, threads in [*ragged, *drawn]:
        grid = cover((count,), (threads,))
        unit = 2.0**64 if threads == 96 else 1
        yield Case(partial(_inputs, count, marks, unit), grid=grid, block=(threads,))


def _fresh(draw):
    """Whole blocks, held to the budget of the full size; a ragged size of large numbers."""
    blocks, threads = draw.size(2, 6), draw.one_of(64, 128)
    data = partial(_inputs, blocks * threads, draw.size(2, threads), seed=draw.numbers())
    yield Case(data, (blocks,), (threads,), like=0)
    count, threads = draw.size(2, 500), draw.one_of(32, 64, 96, 128)
    data = partial(_inputs, count, draw.size(1, threads), 2.0**64, draw.numbers())
    yield Case(data, cover((count,), (threads,)), (threads,))


EXERCISE = Exercise(
    name="ex12_marks",
    chapter="12_shared_memory",
    title="Place of each element among the marks",
    specification=lambda inp, marks: (marks < inp[:, None]).sum(1).astype(np.int32),
    solution=place_among,
    wrong=(
        Wrong(
            "Nobody waits until the marks are staged.",
            {"cuda.syncthreads()": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Right, but every comparison loads its mark from global memory.",
            {"if tile[k]": "if marks[k] < mine:"},
            ("requests", "marks"),
        ),
        Wrong(
            "Right, but every comparison loads its element again.",
            {"if tile[k]": "if tile[k] < inp[i]:"},
            ("requests", "inp"),
        ),
        Wrong(
            "Threads without an element stage nothing: the last block lacks marks.",
            {"if tx": "if tx < marks.shape[0] and i < out.shape[0]:"},
            ("output", "wrong"),
        ),
        Wrong(
            "Each block stages other marks: those at the places of its own elements.",
            {"if tx": "if i < marks.shape[0]:", "tile[tx]": "tile[tx] = marks[i]"},
            ("output", "wrong"),
        ),
        Wrong(
            "The barrier stands inside the guard: threads without an element never come.",
            {
                "cuda.syncthreads()": "",
                "mine = inp": "mine = inp[i]\ncuda.syncthreads()",
            },
            ("findings", "barrier"),
        ),
        Wrong(
            "Goes over the whole tile, of which the marks fill only a part.",
            {"for k": "for k in range(TILE):"},
            ("findings", "uninitialised"),
        ),
        Wrong(
            "Leaves out the first mark.",
            {"for k": "for k in range(1, marks.shape[0]):"},
            ("output", "wrong"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "What do all threads of a block need? Not the elements: each thread needs one of these, "
        "and nobody else does. The marks are needed by all, so they belong into the tile.",
        "Two guards, with the barrier between them: a thread may have a mark to stage and no "
        "element of its own, or the other way round.",
        "First the tile, `tx` and `i`. Below the number of marks, thread `tx` stages mark `tx`; "
        "then the barrier, outside of every if. Below the number of elements: keep the own "
        "element in a variable, count in a loop over the marks of the tile, store the count.",
    ),
    budget=Budget(shared_bytes=512),
)
