"""A matrix times a vector through a turned tile: rows of it begin where 16-byte reads may."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ...kernels.ptx import load16, store16
from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

DEPTH = 8  # columns of a that are staged at a time
PITCH = 260  # elements from one k to the next: 8 lanes store one below the other, 4 per row
SIZE = DEPTH * PITCH


@cuda.jit
def times_vector(out, a, v):
    """out = a @ v; a has 4 m rows.  Blocks of n threads, n at most 64; 4 neighbouring rows each."""
    # FILL (about 21 lines)
    a_tile = cuda.shared.array(SIZE, float32, alignment=16)  # turned: (m, k) at k * PITCH + m
    acc = cuda.local.array(4, float32)
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    top = cuda.blockIdx.x * 4 * n
    for i in range(4):
        acc[i] = 0
    for k0 in range(0, a.shape[1], DEPTH):
        for at in range(tx, 4 * n * DEPTH, n):
            m, k = at // DEPTH, at % DEPTH  # neighbouring lanes load neighbouring k
            if top + m < a.shape[0] and k0 + k < a.shape[1]:
                a_tile[k * PITCH + m] = a[top + m, k0 + k]
        cuda.syncthreads()  # the tile is full before anyone reads it
        if top + 4 * tx < a.shape[0]:
            for k in range(min(DEPTH, a.shape[1] - k0)):
                quad = load16(a_tile, k * PITCH + 4 * tx)
                factor = v[k0 + k]
                for i in range(4):
                    acc[i] += quad[i] * factor
        cuda.syncthreads()  # everyone has read before the next tile overwrites this one
    if top + 4 * tx < out.shape[0]:
        store16(out, top + 4 * tx, (acc[0], acc[1], acc[2], acc[3]))


@cuda.jit
def _rows_apart(out, a, v):
    a_tile = cuda.shared.array(SIZE, float32)
    acc = cuda.local.array(4, float32)
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    top = cuda.blockIdx.x * 4 * n
    for i in range(4):
        acc[i] = 0
    for k0 in range(0, a.shape[1], DEPTH):
        for at in range(tx, 4 * n * DEPTH, n):
            m, k = at // DEPTH, at % DEPTH
            a_tile[k * PITCH + m] = 0
            if top + m < a.shape[0] and k0 + k < a.shape[1]:
                a_tile[k * PITCH + m] = a[top + m, k0 + k]
        cuda.syncthreads()
        for k in range(min(DEPTH, a.shape[1] - k0)):
            factor = v[k0 + k]
            for i in range(4):
                acc[i] += a_tile[k * PITCH + tx + n * i] * factor
        cuda.syncthreads()
    for i in range(4):
        if top + tx + n * i < out.shape[0]:
            out[top + tx + n * i] = acc[i]


def _factors(rows, depth, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    a = scattered((rows, depth), seed=rows + depth + seed, low=-9, high=9) * np.float32(unit)
    return a, scattered(depth, seed=depth + seed + 1, low=-9, high=9) * np.float32(unit)


def _cases():
    """Two full blocks with their budget; ragged, four rows, one column, other blocks, large."""
    wide = Budget(
        sectors_per_request=16,
        requests={"a": 512, "v": 128, "out": 4},
        shared_bytes=8320,
        barriers=8,
    )
    yield Case(partial(_factors, 512, 32), grid=(2,), block=(64,), budget=wide)
    for rows, depth, n in ((300, 13, 64), (4, 20, 32), (132, 1, 32), (260, 9, 64)):
        yield Case(partial(_factors, rows, depth), cover((rows,), (4 * n,)), (n,))
    yield Case(partial(_factors, 212, 19, 2.0**40), grid=(3,), block=(32,))


def _fresh(draw):
    """Full blocks, held to the budget of the first case; a ragged matrix of large numbers."""
    n, blocks = draw.one_of(32, 64), draw.size(1, 2)
    data = partial(_factors, 4 * n * blocks, 8 * draw.size(2, 4), seed=draw.numbers())
    yield Case(data, (blocks,), (n,), like=0)
    rows, depth, n = 4 * draw.size(1, 80), draw.size(2, 30), draw.one_of(32, 64)
    data = partial(_factors, rows, depth, 2.0**40, draw.numbers())
    yield Case(data, cover((rows,), (4 * n,)), (n,))


_ONE_BY_ONE = {
    "quad =": "",
    "acc[i] +=": "acc[i] += a_tile[k * PITCH + 4 * tx + i] * factor",
}

EXERCISE = Exercise(
    name="ex33_vector",
    chapter="33_turned_tile",
    title="A matrix times a vector, by 16 bytes",
    specification=lambda a, v: a @ v,
    solution=times_vector,
    wrong=(
        Wrong(
            "No pad: 8 lanes store one below the other, all in one bank.",
            {
                "a_tile =": "a_tile = cuda.shared.array(2048, float32, alignment=16)",
                "a_tile[": "a_tile[k * 256 + m] = a[top + m, k0 + k]",
                "quad =": "quad = load16(a_tile, k * 256 + 4 * tx)",
            },
            ("wavefronts", "8-way"),
        ),
        Wrong(
            "Eight pad elements: the rows begin 8 banks apart, two of them in each bank.",
            {
                "a_tile =": "a_tile = cuda.shared.array(2112, float32, alignment=16)",
                "a_tile[": "a_tile[k * 264 + m] = a[top + m, k0 + k]",
                "quad =": "quad = load16(a_tile, k * 264 + 4 * tx)",
            },
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "Reads one element at a time: the lanes of a request lie four apart.",
            _ONE_BY_ONE,
            ("wavefronts", "4-way"),
        ),
        Wrong(
            "Neighbouring lanes take neighbouring rows of a: 32 sectors per request.",
            {"m, k =": "m, k = at % (4 * n), at // (4 * n)"},
            ("sectors", "32 per request; budget 16"),
        ),
        Wrong(
            "Right, but a thread's rows lie apart, and it reads and stores them one by one.",
            _rows_apart,
            ("requests", "16 requests touch out; budget 4"),
        ),
        Wrong(
            "Right, but the element of the vector is loaded anew for each row.",
            {"factor =": "", "acc[i] +=": "acc[i] += quad[i] * v[k0 + k]"},
            ("requests", "512 requests touch v; budget 128"),
        ),
        Wrong(
            "No barrier after staging.",
            {"cuda.syncthreads()  # the": ""},
            ("findings", "race"),
        ),
        Wrong(
            "No barrier at the end of the loop.",
            {"cuda.syncthreads()  # everyone": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Goes over the whole tile, also where the depth ends inside of it.",
            {"for k in": "for k in range(DEPTH):"},
            ("output", "wrong"),
        ),
        Wrong(
            "Only the first tile of the depth.",
            {"for k0": "for k0 in range(0, DEPTH, DEPTH):"},
            ("output", "wrong"),
        ),
        Wrong(
            "Threads without rows leave before the barriers, and stage nothing for the others.",
            {
                "top =": "top = cuda.blockIdx.x * 4 * n\n"
                "if top + 4 * tx >= out.shape[0]:\n"
                "    return"
            },
            ("output", "no thread has stored"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "It is the tile loop with one tile, turned: element (m, k) of a lies in row k of the tile. "
        "Thread tx makes rows 4 tx to 4 tx + 3 of the block, so that at each k its four elements "
        "are one quad.",
        "Number the block's part of a along its rows, 8 elements to a row, so that a warp loads 8 "
        "neighbours of 4 rows. It then stores 8 rows of the tile, 4 neighbours in each. Which "
        "pitches begin these 8 rows 4 banks apart, and which of them are multiples of 4?",
        "Declare the tile with `alignment=16`, by its number of elements. In each round: stage, "
        "each load with its guard; wait; for those k that a still has, one load16 of the tile "
        "and one element of v; wait. No thread may leave before the barriers. Behind the loop put "
        "the four sums into a tuple for store16.",
    ),
    budget=Budget(shared_bytes=8320),
)
