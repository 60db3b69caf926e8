"""Which kernels have copies under way while they read: pipelines of every style, and none."""

import pytest
from numba import cuda, float32, uint32, uint64

from smemnb.exercises.chapters.ex60_nearest import FAR, MOST
from smemnb.exercises.check import graded
from smemnb.exercises.grading.pipeline import pipeline_part
from smemnb.exercises.registry import find
from smemnb.kernels.ptx.asynchronous import (
    all_arrived,
    all_but_one,
    await_copies,
    close_group,
    copy4,
)
from smemnb.kernels.ptx.mbarriers import (
    mbarrier_arrive_after_copies,
    mbarrier_init,
    mbarrier_passed,
)


@cuda.jit(device=True)
def send(pieces, stage, b, piece):
    """This thread's element of a piece is on its way; 0 beyond the end."""
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    copy4(pieces, stage * MOST + tx, b, piece * n + tx, piece * n + tx < b.shape[0])


@cuda.jit(device=True)
def nearer(best, mine, pieces, stage, b, start):
    """The distance to the nearest element of a piece, or of those before it."""
    for k in range(min(cuda.blockDim.x, b.shape[0] - start)):
        best = min(best, abs(mine - pieces[stage, k]))
    return best


@cuda.jit
def two_stages(out, a, b):
    """Waits for everything, passes the barrier, sends the next piece, reads."""
    pieces = cuda.shared.array((2, MOST), float32)
    i, n = cuda.grid(1), cuda.blockDim.x
    mine = a[min(i, a.shape[0] - 1)]
    best = FAR
    send(pieces, 0, b, 0)
    close_group()
    for start in range(0, b.shape[0], n):
        all_arrived()
        cuda.syncthreads()
        send(pieces, (start // n + 1) % 2, b, start // n + 1)
        close_group()
        best = nearer(best, mine, pieces, start // n % 2, b, start)
    if i < out.shape[0]:
        out[i] = best


@cuda.jit
def sent_before_the_wait(out, a, b):
    """Three stages, one piece ahead: the issue stands before the wait."""
    pieces = cuda.shared.array((3, MOST), float32)
    i, n = cuda.grid(1), cuda.blockDim.x
    mine = a[min(i, a.shape[0] - 1)]
    best = FAR
    send(pieces, 0, b, 0)
    close_group()
    for start in range(0, b.shape[0], n):
        send(pieces, (start // n + 1) % 3, b, start // n + 1)
        close_group()
        all_but_one()
        cuda.syncthreads()
        best = nearer(best, mine, pieces, start // n % 3, b, start)
    if i < out.shape[0]:
        out[i] = best


@cuda.jit
def drained(out, a, b):
    """Three stages; the last two rounds wait for everything."""
    pieces = cuda.shared.array((3, MOST), float32)
    i, n = cuda.grid(1), cuda.blockDim.x
    mine = a[min(i, a.shape[0] - 1)]
    best = FAR
    for s in range(2):
        send(pieces, s, b, s)
        close_group()
    last = max(b.shape[0] - 2 * n, 0)
    for start in range(0, last, n):
        all_but_one()
        cuda.syncthreads()
        send(pieces, (start // n + 2) % 3, b, start // n + 2)
        close_group()
        best = nearer(best, mine, pieces, start // n % 3, b, start)
    await_copies()
    cuda.syncthreads()
    for start in range((last + n - 1) // n * n, b.shape[0], n):
        best = nearer(best, mine, pieces, start // n % 3, b, start)
    if i < out.shape[0]:
        out[i] = best


@cuda.jit
def by_hand(out, a, b):
    """Two rounds in the loop's body, each with a stage of its own."""
    pieces = cuda.shared.array((2, MOST), float32)
    i, n = cuda.grid(1), cuda.blockDim.x
    mine = a[min(i, a.shape[0] - 1)]
    best = FAR
    send(pieces, 0, b, 0)
    for start in range(0, b.shape[0], 2 * n):
        await_copies()
        cuda.syncthreads()
        send(pieces, 1, b, start // n + 1)
        best = nearer(best, mine, pieces, 0, b, start)
        await_copies()
        if start + n < b.shape[0]:
            cuda.syncthreads()
            send(pieces, 0, b, start // n + 2)
            best = nearer(best, mine, pieces, 1, b, start + n)
    await_copies()
    if i < out.shape[0]:
        out[i] = best


@cuda.jit
def by_mbarriers(out, a, b):
    """An mbarrier per stage says that its piece is there."""
    pieces = cuda.shared.array((2, MOST), float32)
    full = cuda.shared.array(2, uint64)
    i, tx, n = cuda.grid(1), cuda.threadIdx.x, cuda.blockDim.x
    mine = a[min(i, a.shape[0] - 1)]
    best = FAR
    if tx < 2:
        mbarrier_init(full, tx, uint32(n))
    cuda.syncthreads()
    send(pieces, 0, b, 0)
    mbarrier_arrive_after_copies(full, 0)
    for start in range(0, b.shape[0], n):
        piece = start // n
        while not mbarrier_passed(full, piece % 2, uint32(piece // 2 % 2)):
            pass
        if piece > 0:
            cuda.syncthreads()
        send(pieces, (piece + 1) % 2, b, piece + 1)
        mbarrier_arrive_after_copies(full, (piece + 1) % 2)
        best = nearer(best, mine, pieces, piece % 2, b, start)
    if i < out.shape[0]:
        out[i] = best


@cuda.jit
def by_one_warp(out, a, b):
    """The first warp copies for all of them."""
    pieces = cuda.shared.array((2, MOST), float32)
    i, tx, n = cuda.grid(1), cuda.threadIdx.x, cuda.blockDim.x
    mine = a[min(i, a.shape[0] - 1)]
    best = FAR
    if tx < 32:
        for k in range(tx, n, 32):
            copy4(pieces, k, b, k, k < b.shape[0])
    for start in range(0, b.shape[0], n):
        await_copies()
        cuda.syncthreads()
        if tx < 32:
            for k in range(tx, n, 32):
                at = start + n + k
                copy4(pieces, (start // n + 1) % 2 * MOST + k, b, at, at < b.shape[0])
        best = nearer(best, mine, pieces, start // n % 2, b, start)
    await_copies()
    if i < out.shape[0]:
        out[i] = best


@cuda.jit
def one_after_the_other(out, a, b):
    """Two stages, for one barrier a round; each piece is waited for at once."""
    pieces = cuda.shared.array((2, MOST), float32)
    i, n = cuda.grid(1), cuda.blockDim.x
    mine = a[min(i, a.shape[0] - 1)]
    best = FAR
    for start in range(0, b.shape[0], n):
        send(pieces, start // n % 2, b, start // n)
        await_copies()
        cuda.syncthreads()
        best = nearer(best, mine, pieces, start // n % 2, b, start)
    if i < out.shape[0]:
        out[i] = best


@cuda.jit
def by_mbarriers_one_after_the_other(out, a, b):
    """An mbarrier says at once that the piece is there."""
    pieces = cuda.shared.array((2, MOST), float32)
    full = cuda.shared.array(2, uint64)
    i, tx, n = cuda.grid(1), cuda.threadIdx.x, cuda.blockDim.x
    mine = a[min(i, a.shape[0] - 1)]
    best = FAR
    if tx < 2:
        mbarrier_init(full, tx, uint32(n))
    cuda.syncthreads()
    for start in range(0, b.shape[0], n):
        piece = start // n
        if piece > 0:
            cuda.syncthreads()
        send(pieces, piece % 2, b, piece)
        mbarrier_arrive_after_copies(full, piece % 2)
        while not mbarrier_passed(full, piece % 2, uint32(piece // 2 % 2)):
            pass
        best = nearer(best, mine, pieces, piece % 2, b, start)
    if i < out.shape[0]:
        out[i] = best


@cuda.jit
def without_copies(out, a, b):
    """Loads and stores, as in older chapters."""
    pieces = cuda.shared.array((2, MOST), float32)
    i, tx, n = cuda.grid(1), cuda.threadIdx.x, cuda.blockDim.x
    mine = a[min(i, a.shape[0] - 1)]
    best = FAR
    for start in range(0, b.shape[0], n):
        if start + tx < b.shape[0]:
            pieces[start // n % 2, tx] = b[start + tx]
        cuda.syncthreads()
        best = nearer(best, mine, pieces, start // n % 2, b, start)
    if i < out.shape[0]:
        out[i] = best


@cuda.jit
def two_at_a_time(out, a, b):
    """Two pieces are sent together and waited for together; nothing is under way meanwhile."""
    pieces = cuda.shared.array((2, MOST), float32)
    i, n = cuda.grid(1), cuda.blockDim.x
    mine = a[min(i, a.shape[0] - 1)]
    best = FAR
    for start in range(0, b.shape[0], 2 * n):
        if start > 0:
            cuda.syncthreads()
        send(pieces, 0, b, start // n)
        send(pieces, 1, b, start // n + 1)
        await_copies()
        cuda.syncthreads()
        best = nearer(best, mine, pieces, 0, b, start)
        best = nearer(best, mine, pieces, 1, b, start + n)
    if i < out.shape[0]:
        out[i] = best


EXERCISE = find("ex60_nearest")
PIPELINES = (
    two_stages, sent_before_the_wait, drained, by_hand, by_mbarriers, by_one_warp,
)  # fmt: skip
NONE = (one_after_the_other, by_mbarriers_one_after_the_other, without_copies, two_at_a_time)


@pytest.mark.first(2)
@pytest.mark.parametrize(
    "kernel, hiding", list(zip(PIPELINES, (768, 768, 512, 768, 768, 768), strict=True))
)
def test_pipelines(kernel, hiding):
    """Of 4 pieces all but the last, or the last two, are read while others are under way."""
    part = pipeline_part(EXERCISE, kernel)
    assert part.ok
    assert f"{hiding} of 1024" in part.text


@pytest.mark.first(2)
@pytest.mark.parametrize("kernel", NONE)
def test_no_pipeline(kernel):
    """Nothing is under way while a piece is read."""
    part = pipeline_part(EXERCISE, kernel)
    assert not part.ok
    assert ("0 of 1024" in part.text) == (kernel is not without_copies)


@pytest.mark.first(1)
@pytest.mark.parametrize("kernel", [*PIPELINES, *NONE])
def test_graded(kernel):
    """Right pipelines are accepted, and right kernels without one are refused for that alone."""
    verdict = graded(EXERCISE, kernel, seed=1)
    if kernel in NONE:
        assert verdict.reason == "order"
        assert verdict.part("output").ok
    else:
        assert verdict, verdict.reason


def test_not_asked_for():
    """Exercises that say nothing of it are not run once more."""
    exercise = find("ex60_tail")
    assert pipeline_part(exercise, exercise.solution) is None
