"""Sums along a ring: a row of any length in shared memory that the launch sizes."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, scattered

REACH = 8


@cuda.jit
def ring_sums(out, inp):
    """Each element plus the 7 behind it, around the end of its row.  A block per row."""
    # FILL (about 11 lines)
    row, tx, threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    n = inp.shape[1]
    ring = cuda.shared.array(0, float32)
    for k in range(tx, n, threads):
        ring[k] = inp[row, k]
    cuda.syncthreads()  # the whole row is staged before anyone adds
    for i in range(tx, n, threads):
        acc = float32(0)
        for d in range(8):
            acc += ring[(i + d) % n]
        out[row, i] = acc


def _sums(inp):
    return sum((np.roll(inp, -d, axis=1) for d in range(1, REACH)), inp)


def _rows(rows, n, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower arrays hold."""
    return (scattered((rows, n), seed=rows + n + seed) * np.float32(unit),)


def _case(rows, n, threads, budget=None, unit=1, seed=0, like=None):
    """A block per row, with the bytes of a row."""
    asked = budget or Budget(extra=None, shared_bytes=4 * n)
    return Case(partial(_rows, rows, n, unit, seed), (rows,), (threads,), asked, 4 * n, like)


def _cases():
    """Whole warps with their budget; ragged rows, rows below 8, rows shorter than a block."""
    once = Budget(sectors_per_request=4, requests={"inp": 30, "out": 30}, shared_bytes=1280)
    yield _case(3, 320, 128, once)
    for rows, n, threads in ((2, 97, 64), (4, 20, 64), (3, 5, 32), (1, 1, 32), (1, 700, 256)):
        yield _case(rows, n, threads, unit=2.0**40 if n == 97 else 1)


def _fresh(draw):
    """Whole warps, held to the budget of the first case; ragged rows of large numbers."""
    rows, n, threads = draw.size(1, 4), 32 * draw.size(1, 12), draw.one_of(32, 64, 128)
    yield _case(rows, n, threads, seed=draw.numbers(), like=0)
    rows, n, threads = draw.size(1, 5), draw.size(2, 400), draw.one_of(32, 64, 256)
    yield _case(rows, n, threads, unit=2.0**40, seed=draw.numbers(), like=1)


EXERCISE = Exercise(
    name="ex40_ring",
    chapter="40_budgets",
    title="Sums along a ring",
    specification=_sums,
    solution=ring_sums,
    wrong=(
        Wrong(
            "Nobody waits until the row is staged.",
            {"cuda.syncthreads()": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Right, but with a static array for the longest row there may be.",
            {"ring =": "ring = cuda.shared.array(1024, float32)"},
            ("shared", "5376 bytes of shared memory per block; budget 1280"),
        ),
        Wrong(
            "Right, but straight from global memory: each element eight times.",
            {"acc +=": "acc += inp[row, (i + d) % n]"},
            ("sectors", "in 240 requests"),
        ),
        Wrong(
            "Goes on behind the row in place of its begin.",
            {"acc +=": "acc += ring[i + d]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Stages an element per thread, where the row may be longer.",
            {"for k": "for k in range(tx, min(n, threads), threads):"},
            ("output", "no thread has stored"),
        ),
        Wrong(
            "Stages without a question whether the row is that long.",
            {"for k": "for k in range(tx, n + threads, threads):"},
            ("findings", "out of range"),
        ),
        Wrong(
            "Adds the 8 behind an element, without the element.",
            {"for d": "for d in range(1, 9):"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but a thread stages neighbours, so that lanes lie apart.",
            {"for k": "for k in range(tx * n // threads, (tx + 1) * n // threads):"},
            ("wavefronts", "way"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Eight threads need each element of a row, so the row belongs into shared memory. Only "
        "the launch knows how long it is, and a block may have fewer threads than the row has "
        "elements.",
        "The shared array has 0 elements in the kernel: the launch brings the bytes of a row. "
        "Write two loops with a barrier between them, each by steps of all threads of the block: "
        "one stages, the other adds and stores.",
        "The element d behind element i of a ring of n is number i + d, and what is left of that "
        "after a division by n. Add 8 of them into a `float32(0)`, and store once.",
    ),
    budget=Budget(),
)
