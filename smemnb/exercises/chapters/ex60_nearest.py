"""The distance to the nearest of many numbers: pieces that come by asynchronous copies."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ...kernels.ptx.asynchronous import (
    all_arrived,  # noqa: F401  a wrong answer's
    all_but_one,
    all_but_two,  # noqa: F401  a wrong answer's
    close_group,
    copy4,
)
from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

MOST = 128
FAR = np.float32(np.inf)


@cuda.jit
def nearest(out, a, b):
    """out[i] = the distance from a[i] to the element of b that is nearest.

    Blocks of n threads, at most 128; a thread has one element of a.  b comes in pieces of n.
    """
    # FILL (about 22 lines)
    pieces = cuda.shared.array((3, MOST), float32)
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    i, size = cuda.grid(1), b.shape[0]
    mine, best = float32(0), FAR
    if i < a.shape[0]:
        mine = a[i]
    for s in range(2):
        copy4(pieces, s * MOST + tx, b, s * n + tx, s * n + tx < size)
        close_group()
    stage, free = 0, 2
    for start in range(0, size, n):
        all_but_one()
        cuda.syncthreads()  # this piece is there, and everyone has read the one before
        ahead = start + 2 * n + tx
        copy4(pieces, free * MOST + tx, b, ahead, ahead < size)
        close_group()  # in every round
        for k in range(min(n, size - start)):
            best = min(best, abs(mine - pieces[stage, k]))
        stage = (stage + 1) % 3
        free = (free + 1) % 3
    if i < out.shape[0]:
        out[i] = best


def _points(count, others, unit=1, seed=0):
    """Whole numbers away from 0; larger by `unit`, beyond what narrower types hold."""
    unit = np.float32(unit)
    a = scattered(count, seed=count + seed, low=-999, high=999) * unit
    b = scattered(others, seed=others + seed + 1, low=1500, high=9999)
    return a, b * np.where(np.arange(others) % 2, -1, 1).astype(np.float32) * unit


def _distances(a, b):
    return np.abs(a[:, None] - b[None, :]).min(axis=1)


def _cases():
    """Whole pieces with their budget; ragged ones, one element on either side, other blocks."""
    once = Budget(
        sectors_per_request=4,
        requests={"out": 4, "a": 4, "b": 16},
        shared_bytes=1536,
        shared_requests=1048,  # 4 warps: 256 reads, and a copy for each piece and two past the end
        barriers=4,
    )
    yield Case(partial(_points, 128, 256), grid=(2,), block=(64,), budget=once)
    for count, others, threads in ((100, 75, 32), (1, 70, 64), (70, 1, 64), (97, 130, 128)):
        budget = Budget(shared_bytes=1536, barriers=-(-others // threads))
        data = partial(_points, count, others, 2.0**40 if others == 130 else 1)
        yield Case(data, cover((count,), (threads,)), (threads,), budget)


def _fresh(draw):
    """Whole pieces, held to the budget of the first case; a ragged case of large numbers."""
    threads = draw.one_of(32, 64)
    count, others = threads * draw.size(1, 3), threads * draw.size(3, 5)
    data = partial(_points, count, others, seed=draw.numbers())
    yield Case(data, (count // threads,), (threads,), like=0)
    count, others = draw.size(2, 150), draw.size(2, 150)
    threads = draw.one_of(32, 64, 96)
    data = partial(_points, count, others, 2.0**40, draw.numbers())
    yield Case(data, cover((count,), (threads,)), (threads,), like=1)


EXERCISE = Exercise(
    name="ex60_nearest",
    chapter="60_asynchronous_copies",
    title="How far is the nearest",
    specification=_distances,
    solution=nearest,
    wrong=(
        Wrong(
            "Reads the zeros that copies put beyond the end of b: 0 is nearer than all of b.",
            {"for k in": "for k in range(n):"},
            ("output", "wrong"),
        ),
        Wrong(
            "Closes a group only where a piece is sent: the last waits leave theirs under way.",
            {
                "copy4(pieces, free": "if start + 2 * n < size:\n"
                "    copy4(pieces, free * MOST + tx, b, ahead, ahead < size)\n"
                "    close_group()",
                "close_group()  # in": "",
            },
            ("findings", "wrong group"),
        ),
        Wrong(
            "Waits as if two groups came after the one that is read.",
            {"all_but_one()": "all_but_two()"},
            ("findings", "wrong group"),
        ),
        Wrong(
            "No barrier: each thread has waited for its own copy only.",
            {"cuda.syncthreads()": ""},
            ("findings", "read before arrival"),
        ),
        Wrong(
            "No wait.",
            {"all_but_one()": ""},
            ("findings", "read before arrival"),
        ),
        Wrong(
            "Copies of the loop are in no group.",
            {"close_group()  # in": ""},
            ("findings", "missing commit"),
        ),
        Wrong(
            "Two stages: a piece is sent to where a slow warp still reads.",
            {
                "pieces =": "pieces = cuda.shared.array((2, MOST), float32)",
                "stage, free": "stage, free = 0, 0",
                "stage = (stage": "stage = (stage + 1) % 2",
                "free = (free": "free = (free + 1) % 2",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Does not ask whether the thread has an element of a.",
            {"if i < a": "if True:"},
            ("findings", "out of range"),
        ),
        Wrong(
            "The difference with its sign, not the distance.",
            {"best = min": "best = min(best, mine - pieces[stage, k])"},
            ("output", "wrong"),
        ),
        Wrong(
            "Ends one piece early.",
            {"for start": "for start in range(0, size - n, n):"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but with a fourth stage, which nobody fills.",
            {"pieces =": "pieces = cuda.shared.array((4, MOST), float32)"},
            ("shared", "2048 bytes of shared memory per block; budget 1536"),
        ),
        Wrong(
            "Right, but with a second barrier in each round.",
            {"stage = (stage": "stage = (stage + 1) % 3\ncuda.syncthreads()"},
            ("barriers", "passes 8 barriers; budget 4"),
        ),
        Wrong(
            "Right, but waits for each piece as soon as it has sent it.",
            {"close_group()  # in": "close_group()\nall_arrived()"},
            ("order", "under way in 0 of 1024 reads"),
        ),
        Wrong(
            "Right, but every thread loads every element of b.",
            {"best = min": "best = min(best, abs(mine - b[start + k]))"},
            ("requests", "1040 requests touch b; budget 16"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Every thread needs every element of b: let it come in pieces, as rows came. What does a "
        "copy put beyond the end of b, and may anyone read it?",
        "Three stages, two groups ahead of the loop. A round waits, passes the barrier, sends the "
        "piece two further on, closes a group, and reads its piece: `min(n, size - start)` of it.",
        "Begin with the smallest distance at `FAR`. The stage that is read and the one that is "
        "filled go around: 0, 1, 2, 0 and 2, 0, 1, 2. An element of stage s lies at s * MOST + tx, "
        "counted from the first one of `pieces`.",
    ),
    budget=Budget(shared_bytes=1536),
    pipeline_case=0,
)
