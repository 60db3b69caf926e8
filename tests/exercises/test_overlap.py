"""Which kernels wait for their loads with nothing to do, and which lines the verdict names."""

import pytest
from numba import cuda, float32

from smemnb.exercises.chapters import ex07_ahead
from smemnb.exercises.chapters.ex07_ahead import TILE, ahead_early, fetch, one_buffer
from smemnb.exercises.check import graded
from smemnb.exercises.grading.overlap import overlap_part
from smemnb.exercises.registry import find
from tests.facts import facts


@cuda.jit
def far_ahead(out, a, b):
    """Loads that are under way for the whole next pass: asked for behind the stores."""
    a_tile = cuda.shared.array((2, TILE, TILE), float32)
    b_tile = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    now, acc = 0, float32(0)
    a_tile[now, ty, tx], b_tile[now, ty, tx] = fetch(a, b, 0)
    a_next, b_next = fetch(a, b, n)
    cuda.syncthreads()
    for k0 in range(0, a.shape[1], n):
        for k in range(n):
            acc += a_tile[now, ty, k] * b_tile[now, k, tx]
        now = 1 - now
        a_tile[now, ty, tx], b_tile[now, ty, tx] = a_next, b_next
        a_next, b_next = fetch(a, b, k0 + 2 * n)
        cuda.syncthreads()
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit
def half_ahead(out, a, b):
    """The elements of b are loaded ahead, those of a are not."""
    a_tile = cuda.shared.array((2, TILE, TILE), float32)
    b_tile = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    now, acc = 0, float32(0)
    a_tile[now, ty, tx], b_tile[now, ty, tx] = fetch(a, b, 0)
    cuda.syncthreads()
    for k0 in range(0, a.shape[1], n):
        b_next = float32(0)
        if k0 + n + ty < b.shape[0] and col < b.shape[1]:
            b_next = b[k0 + n + ty, col]
        for k in range(n):
            acc += a_tile[now, ty, k] * b_tile[now, k, tx]
        now = 1 - now
        b_tile[now, ty, tx] = b_next
        a_tile[now, ty, tx] = 0
        if row < a.shape[0] and k0 + n + tx < a.shape[1]:
            a_tile[now, ty, tx] = a[row, k0 + n + tx]
        cuda.syncthreads()
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


def test_loads_that_are_under_way():
    """The solution, and a kernel whose loads have a barrier more of time, are accepted."""
    exercise = find("ex07_ahead")
    assert graded(exercise, exercise.solution)
    assert graded(exercise, far_ahead, seed=1)


@pytest.mark.parametrize(
    ("kernel", "verbs"),
    [
        (ahead_early, ["loads", "stores", "reads"]),
        (half_ahead, ["reads", "loads", "stores"]),
    ],
)
def test_the_order_is_named(kernel, verbs):
    """The verdict has the lines in the order in which they came; all else of it is right."""
    verdict = graded(find("ex07_ahead"), kernel)
    assert verdict.reason == "order"
    said = verdict.part("order").text
    assert [said.index(verb) for verb in verbs] == sorted(said.index(verb) for verb in verbs)
    assert verdict.hint


def test_lines_are_those_of_the_kernel():
    """An early store: its own line, the load's in its device function, the read's."""
    first = ahead_early.py_func.__code__.co_firstlineno
    fetched = ex07_ahead.fetch.py_func.__code__.co_firstlineno
    said = overlap_part(find("ex07_ahead"), ahead_early).text.split(":")[0]
    assert [int(one) for one in facts(said) if one.isdigit()] == [
        fetched + 7,
        first + 11,
        first + 13,
    ]


def test_one_buffer_waits():
    """Tiles that are filled and read in turns are never loaded meanwhile."""
    assert not overlap_part(find("ex07_ahead"), one_buffer).ok


def test_not_asked_for():
    """Exercises that say nothing of it are not run once more."""
    exercise = find("ex05_product")
    assert overlap_part(exercise, exercise.solution) is None
