"""Differences of neighbours, summed over rows: three stages that come by asynchronous copies."""

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

STAGES, MOST = 3, 128


@cuda.jit(device=True)
def send(stages, inp, row, i):
    """This thread's element of a row is on its way to the row's stage; 0 beyond the edges."""
    rows, cols = inp.shape
    there = row < rows and i < cols
    copy4(stages, row % STAGES * MOST + cuda.threadIdx.x, inp, row * cols + i, there)


@cuda.jit
def differences(out, inp):
    """out[i] = the sum over all rows of |inp[row, i + 1] - inp[row, i]|.

    Blocks of n threads, at most 128, whose columns overlap by one.
    """
    stages = cuda.shared.array((STAGES, MOST), float32)
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    i = cuda.blockIdx.x * (n - 1) + tx
    acc = float32(0)
    for row in range(STAGES - 1):
        send(stages, inp, row, i)
        close_group()
    for row in range(inp.shape[0]):
        # FILL (about 4 lines)
        all_but_one()
        cuda.syncthreads()
        send(stages, inp, row + STAGES - 1, i)
        close_group()  # in every round
        if tx + 1 < n:
            acc += abs(stages[row % STAGES, tx + 1] - stages[row % STAGES, tx])
    if tx + 1 < n and i < out.shape[0]:
        out[i] = acc


def _rows(rows, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower types hold."""
    inp = scattered(rows * cols, seed=rows + cols + seed, low=-99, high=99) * np.float32(unit)
    return (inp.reshape(rows, cols),)


def _summed(inp):
    return np.abs(np.diff(inp, axis=1)).sum(axis=0)


def _case(rows, cols, threads, budget=None, unit=1):
    return Case(
        partial(_rows, rows, cols, unit),
        cover((cols - 1,), (threads - 1,)),
        (threads,),
        budget or Budget(shared_bytes=1536, barriers=rows),
    )


def _cases():
    """Whole blocks with their budget; fewer rows than stages, ragged columns, other blocks."""
    once = Budget(
        requests={"out": 4, "inp": 24},
        shared_bytes=1536,
        shared_requests=80,  # 4 warps: a copy for each of 6 rows and 2 past the end, and 12 reads
        barriers=6,
    )
    yield _case(6, 127, 64, once)
    yield _case(1, 40, 32)
    yield _case(2, 33, 64)
    yield _case(9, 100, 33)
    yield _case(5, 130, 128, unit=2.0**40)


def _fresh(draw):
    """Whole blocks, held to the budget of the first case; a ragged case of large numbers."""
    threads, blocks, rows = draw.one_of(32, 64), draw.size(1, 3), draw.size(4, 9)
    cols = (threads - 1) * blocks + 1
    data = partial(_rows, rows, cols, seed=draw.numbers())
    yield Case(data, (blocks,), (threads,), like=0)
    rows, cols, threads = draw.size(1, 8), draw.size(2, 150), draw.one_of(32, 64, 96)
    data = partial(_rows, rows, cols, 2.0**40, draw.numbers())
    yield Case(data, cover((cols - 1,), (threads - 1,)), (threads,), like=1)


EXERCISE = Exercise(
    name="ex60_tail",
    chapter="60_asynchronous_copies",
    title="A pipeline and its tail",
    specification=_summed,
    solution=differences,
    wrong=(
        Wrong(
            "No copies in the last rounds, and no group: the wait leaves the last row under way.",
            {
                "send(stages, inp, row + STAGES - 1, i)": "if row + STAGES - 1 < inp.shape[0]:\n"
                "    send(stages, inp, row + STAGES - 1, i)\n"
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
            "No wait at all.",
            {"all_but_one()": ""},
            ("findings", "read before arrival"),
        ),
        Wrong(
            "No barrier: each thread has waited for its own copy only.",
            {"cuda.syncthreads()": ""},
            ("findings", "read before arrival"),
        ),
        Wrong(
            "The barrier comes before the wait.",
            {"all_but_one()": "cuda.syncthreads()", "cuda.syncthreads()": "all_but_one()"},
            ("findings", "read before arrival"),
        ),
        Wrong(
            "Sends before the barrier: a slow warp still reads that stage.",
            {
                "all_but_one()": "send(stages, inp, row + STAGES - 1, i)\n"
                "close_group()\n"
                "all_but_two()",
                "send(stages, inp, row + STAGES - 1, i)": "",
                "close_group()  # in": "",
            },
            ("findings", "overwritten stage"),
        ),
        Wrong(
            "Sends the row that comes next, whose copy is under way already.",
            {"send(stages, inp, row + STAGES - 1, i)": "send(stages, inp, row + 1, i)"},
            ("findings", "wrong group"),
        ),
        Wrong(
            "Right, but with two barriers in a round.",
            {"cuda.syncthreads()": "cuda.syncthreads()\ncuda.syncthreads()"},
            ("barriers", "passes 12 barriers; budget 6"),
        ),
        Wrong(
            "Right, but every stage is sent twice.",
            {
                "close_group()  # in": "close_group()\nall_arrived()\n"
                "send(stages, inp, row + STAGES - 1, i)\nclose_group()"
            },
            ("requests", "budget 24"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Two groups are closed before the loop. In round 0 the row in stage 0 is read: how many "
        "groups may be under way when its group has to be there?",
        "A round waits, tells the others, sends the row two further on, and closes a group. "
        "Where must the barrier stand, so that it says both: this row is there for all, and all "
        "have read the stage that is filled next?",
        "Wait for all groups but one, then the barrier, then `send` the row `STAGES - 1` further "
        "on, then close the group. `send` puts zeros where there is no such row, so it may be "
        "called in every round.",
    ),
    budget=Budget(shared_bytes=1536),
)
