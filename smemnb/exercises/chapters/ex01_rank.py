"""The rank of each element: two barriers in a loop over tiles."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes

TILE = 128
DRAWN = sizes(2, seed=3, low=130, high=600)


def _inputs(*shape, unit=1, seed=0):
    return (scattered(shape, seed=shape[-1] + seed) * np.float32(unit),)


def _cases(once, *launches):
    """Cases of (shape, grid, block); the first is the full one, with its budget."""
    units = (1, 1, 2.0**64, *[1] * len(launches))  # the third: beyond what narrower tiles hold
    return tuple(
        Case(partial(_inputs, *shape, unit=unit), (grid,), (block,), None if number else once)
        for number, (unit, (shape, grid, block)) in enumerate(zip(units, launches, strict=False))
    )


def _lines(*launches):
    """Launches on a line of elements, given as (elements, threads per block)."""
    return [((n,), *cover((n,), (threads,)), threads) for n, threads in launches]


@cuda.jit
def rank(out, inp):
    """Rank of each element: how many elements of the whole of inp are smaller."""
    tile = cuda.shared.array(TILE, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    n = inp.shape[0]
    mine = inp[i] if i < n else float32(0)
    smaller = 0
    for start in range(0, n, cuda.blockDim.x):
        count = min(cuda.blockDim.x, n - start)  # elements of this piece
        # FILL (about 7 lines)
        if tx < count:
            tile[tx] = inp[start + tx]
        cuda.syncthreads()  # the piece is staged before anyone compares
        for k in range(count):
            if tile[k] < mine:
                smaller += 1
        cuda.syncthreads()  # everyone is done before the next piece overwrites it
    if i < n:
        out[i] = smaller


def _fresh(draw):
    """Whole blocks, held to the budget of the first case; a ragged line of large elements."""
    blocks, threads = draw.size(2, 4), draw.one_of(64, 128)
    data = partial(_inputs, blocks * threads, seed=draw.numbers())
    yield Case(data, (blocks,), (threads,), like=0)
    count, threads = draw.size(2, 400), draw.one_of(32, 64, 96, 128)
    data = partial(_inputs, count, unit=2.0**64, seed=draw.numbers())
    yield Case(data, cover((count,), (threads,)), (threads,))


EXERCISE = Exercise(
    name="ex01_rank",
    chapter="13_races",
    title="Rank of each element",
    specification=lambda inp: (inp < inp[:, None]).sum(1).astype(np.int32),
    solution=rank,
    wrong=(
        Wrong(
            "No barrier at the end of the loop: fast warps overwrite the tile.",
            {"cuda.syncthreads()  # everyone": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Threads without an element leave; the last block stages with holes.",
            {"n = inp": "n = inp.shape[0]\nif i >= n:\n    return"},
            ("output", "wrong"),
        ),
        Wrong(
            "Compares with the elements of the own block only.",
            {"for start": "start = cuda.blockIdx.x * cuda.blockDim.x\nif start < n:"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but every comparison goes to global memory.",
            {"if tile[k]": "if inp[start + k] < mine:"},
            ("requests", "8272 requests touch inp; budget 80"),
        ),
    ),
    cases=_cases(
        Budget(sectors_per_request=4, requests={"inp": 80, "out": 16}, shared_bytes=512),
        *_lines((512, 128), (129, 128), (127, 128), (1, 128), (DRAWN[0], 128)),
        *_lines((200, 64), (200, 96)),
    ),
    fresh=_fresh,
    hints=(
        "One pass of the loop is the exercise `ex01_place` again, for the piece of inp that "
        "begins at `start`: stage, barrier, compare.",
        "Only threads below `count` have an element to stage. All threads compare, and all come "
        "to both barriers. Why is there a second one?",
        "Stage the element `tx` of the piece; barrier; a loop over the `count` elements of the "
        "tile that compares each with `mine`; barrier, at the end of the pass.",
    ),
    budget=Budget(shared_bytes=512),
)
