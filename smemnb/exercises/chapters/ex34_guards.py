"""A product without guards: whole tiles only, so that no load asks whether it may."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, MachineCode, Wrong, scattered

DEPTH, EDGE = 8, 128  # of a block's tiles: columns of a and rows of b; rows of a and columns of b
PITCH = EDGE + 4  # elements from row to row of the turned tile of a


@cuda.jit(launch_bounds=(256, 2))
def guarded(out, a, b):
    """out = a @ b.  A block of 256 threads makes 128 x 128 of out, a thread 8 x 8 of them."""
    a_tile = cuda.shared.array((DEPTH, PITCH), float32)  # turned: element (m, k) at [k, m]
    b_tile = cuda.shared.array((DEPTH, EDGE), float32)
    acc = cuda.local.array((8, 8), float32)
    a_part, b_part = cuda.local.array(8, float32), cuda.local.array(8, float32)
    tid = cuda.threadIdx.x
    top, left = cuda.blockIdx.y * EDGE, cuda.blockIdx.x * EDGE
    m0, n0 = tid // 16 * 8, tid % 16
    for i in range(8):
        for j in range(8):
            acc[i, j] = 0
    for k0 in range(0, a.shape[1], DEPTH):
        for line in range(4):
            m, k = tid // 8 + line * 32, tid % 8
            value = float32(0)
            if top + m < a.shape[0] and k0 + k < a.shape[1]:
                value = a[top + m, k0 + k]
            a_tile[k, m] = value
        for line in range(4):
            k, n = tid // 128 + line * 2, tid % 128
            value = float32(0)
            if k0 + k < b.shape[0] and left + n < b.shape[1]:
                value = b[k0 + k, left + n]
            b_tile[k, n] = value
        cuda.syncthreads()  # both tiles are full before anyone reads them
        for k in range(DEPTH):
            for i in range(8):
                a_part[i] = a_tile[k, m0 + i]
            for j in range(8):
                b_part[j] = b_tile[k, n0 + j * 16]
            for i in range(8):
                for j in range(8):
                    acc[i, j] += a_part[i] * b_part[j]
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
    for i in range(8):
        for j in range(8):
            if top + m0 + i < out.shape[0] and left + n0 + j * 16 < out.shape[1]:
                out[top + m0 + i, left + n0 + j * 16] = acc[i, j]


@cuda.jit(launch_bounds=(256, 2))
def unguarded(out, a, b):
    """out = a @ b, of whole tiles: 128 rows, 128 columns, a depth of 8, or multiples of them."""
    a_tile = cuda.shared.array((DEPTH, PITCH), float32)  # turned: element (m, k) at [k, m]
    b_tile = cuda.shared.array((DEPTH, EDGE), float32)
    acc = cuda.local.array((8, 8), float32)
    a_part, b_part = cuda.local.array(8, float32), cuda.local.array(8, float32)
    tid = cuda.threadIdx.x
    top, left = cuda.blockIdx.y * EDGE, cuda.blockIdx.x * EDGE
    m0, n0 = tid // 16 * 8, tid % 16
    for i in range(8):
        for j in range(8):
            acc[i, j] = 0
    for k0 in range(0, a.shape[1], DEPTH):
        # FILL (about 6 lines)
        for line in range(4):
            m, k = tid // 8 + line * 32, tid % 8
            a_tile[k, m] = a[top + m, k0 + k]
        for line in range(4):
            k, n = tid // 128 + line * 2, tid % 128
            b_tile[k, n] = b[k0 + k, left + n]
        cuda.syncthreads()  # both tiles are full before anyone reads them
        for k in range(DEPTH):
            for i in range(8):
                a_part[i] = a_tile[k, m0 + i]
            for j in range(8):
                b_part[j] = b_tile[k, n0 + j * 16]
            for i in range(8):
                for j in range(8):
                    acc[i, j] += a_part[i] * b_part[j]
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
    # FILL (about 3 lines)
    for i in range(8):
        for j in range(8):
            out[top + m0 + i, left + n0 + j * 16] = acc[i, j]


def factors(rows, depth, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    a = scattered((rows, depth), seed=rows + depth + seed, low=-9, high=9) * np.float32(unit)
    return a, scattered((depth, cols), seed=cols + seed, low=-9, high=9) * np.float32(unit)


def whole_cases(budget):
    """A block of two turns with the budget; more blocks and turns, one of them of large numbers."""
    yield Case(partial(factors, EDGE, 16, EDGE), grid=(1, 1), block=(256,), budget=budget)
    for rows, depth, cols in ((128, 8, 256), (256, 24, 128), (128, 40, 384)):
        data = partial(factors, rows, depth, cols, 2.0**40 if depth == 40 else 1)
        yield Case(data, (cols // EDGE, rows // EDGE), (256,))


def fresh_cases(draw):
    """One size held to the budget of the first case, one of large numbers."""
    for unit, like in ((1, 0), (2.0**40, None)):
        rows, cols = EDGE * draw.size(1, 3), EDGE * draw.size(1, 3)
        data = partial(factors, rows, 8 * draw.size(1, 4), cols, unit, draw.numbers())
        yield Case(data, (cols // EDGE, rows // EDGE), (256,), like=like)


EXERCISE = Exercise(
    name="ex34_guards",
    chapter="34_fast_code",
    title="A product without guards",
    specification=lambda a, b: a @ b,
    solution=unguarded,
    wrong=(
        Wrong(
            "Stages the tile of a as it lies in memory, not turned.",
            {"a_tile[k, m]": "a_tile[m // 16, m % 16 * 8 + k] = a[top + m, k0 + k]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Forgets where the tile of the depth begins: each turn loads the first one.",
            {"a_tile[k, m]": "a_tile[k, m] = a[top + m, k]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Takes the guard of the first tile for one of all: a block beyond it does nothing.",
            {"b_tile[k, n]": "if left == 0:\n    b_tile[k, n] = b[k0 + k, left + n]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Stores columns that are neighbours, though the sums are of columns 16 apart.",
            {"out[top": "out[top + m0 + i, left + tid % 16 * 8 + j] = acc[i, j]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Neighbouring lanes load neighbouring rows of a: 32 sectors in place of 4.",
            {"m, k =": "m, k = tid % 32 + line * 32, tid // 32"},
            ("sectors", "32 per request; budget 4"),
        ),
        Wrong(
            "Right, but stages one tile after the other with a barrier between them.",
            {"k, n = tid": "cuda.syncthreads()\nk, n = tid // 128 + line * 2, tid % 128"},
            ("barriers", "budget 4"),
        ),
    ),
    wrong_code=(
        Wrong(
            "The guards are kept: they ask in every turn what is always so.",
            guarded,
            ("machine", "1101 instructions for 512 multiply-adds"),
        ),
    ),
    cases=tuple(
        whole_cases(
            Budget(
                sectors_per_request=4,
                requests={"out": 512, "a": 64, "b": 64},
                shared_bytes=8320,
                shared_requests=2176,
                barriers=4,
            )
        )
    ),
    fresh=fresh_cases,
    hints=(
        "All tiles are whole, so every thread may load and store every time. Which lines of the "
        "kernel with guards are only there for elements beyond the edge?",
        "The zero, the `if` and the variable between load and store: without them a loaded element "
        "goes straight into its tile. The indices stay as they are.",
        "Staging: per tile a loop over `line` with two lines, the indices and one assignment from "
        "the matrix to the tile. The end: two loops over i and j around one assignment.",
    ),
    budget=Budget(shared_bytes=8320),
    machine_code=MachineCode(multiply_adds=512, turn=1065),
)
