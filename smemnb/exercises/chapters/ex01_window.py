"""The sum of the last eight elements: a tile with a halo."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes

TILE = 128
HALO = 7
SPAN = TILE + HALO
ONES = np.ones(HALO + 1, np.float32)
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
def window(out, inp):
    """Sum of the last 8 elements: out[i] = inp[i - 7] + ... + inp[i], with 0 before the start."""
    tile = cuda.shared.array(SPAN, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < inp.shape[0]:
        tile[tx + HALO] = inp[i]
    # FILL (about 6 lines)
    if tx < HALO:
        if i >= HALO:
            tile[tx] = inp[i - HALO]
        else:
            tile[tx] = 0
    cuda.syncthreads()  # the elements and the halo are staged before anyone adds
    if i < out.shape[0]:
        acc = float32(0)
        for k in range(HALO + 1):
            acc += tile[tx + k]
        out[i] = acc


def _fresh(draw):
    """Whole blocks, held to the budget of the first case; a ragged line of large elements."""
    blocks, threads = draw.size(2, 9), draw.one_of(32, 64, 128)
    data = partial(_inputs, blocks * threads, seed=draw.numbers())
    yield Case(data, (blocks,), (threads,), like=0)
    count, threads = draw.size(2, 900), draw.one_of(32, 64, 96, 128)
    data = partial(_inputs, count, unit=2.0**64, seed=draw.numbers())
    yield Case(data, cover((count,), (threads,)), (threads,))


EXERCISE = Exercise(
    name="ex01_window",
    chapter="12_shared_memory",
    title="Sum of the last eight elements",
    specification=lambda inp: np.convolve(inp, ONES)[: inp.size],
    solution=window,
    wrong=(
        Wrong(
            "Nobody waits until elements and halo are staged.",
            {"cuda.syncthreads()": ""},
            ("findings", "race"),
        ),
        Wrong(
            "The elements before the block are left out: only the first block has zeros there.",
            {"tile[tx] = inp": "tile[tx] = 0"},
            ("output", "out[128] is"),
        ),
        Wrong(
            "Nobody stores the zeros before the start.",
            {"else:": "", "tile[tx] = 0": ""},
            ("output", "out[0] is nan"),
        ),
        Wrong(
            "Right, but every element is loaded from global memory eight times.",
            {"acc += tile": "if i + k >= HALO:\n    acc += inp[i + k - HALO]"},
            ("requests", "295 requests touch inp; budget 39"),
        ),
    ),
    cases=_cases(
        Budget(requests={"inp": 39, "out": 32}, shared_bytes=540),
        *_lines((1024, 128), (129, 128), (127, 128), (7, 128), (1, 128)),
        *_lines((300, 64), (300, 96), *((n, 128) for n in DRAWN)),
    ),
    fresh=_fresh,
    hints=(
        "The tile has 7 elements more than the block has threads. Elements 7 and up are staged "
        "already. Which elements of inp belong into elements 0 to 6?",
        "The first 7 threads have a second job: element `tx` of the tile is the element of inp "
        "7 before the thread's own. In the first block there is none (-7 wraps): store 0.",
        "An if on `tx`; inside it an if on `i` with one store for the case that the element "
        "exists and an else that stores 0. The barrier comes after both, outside.",
    ),
    budget=Budget(shared_bytes=540),
)
