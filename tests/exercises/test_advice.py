"""Hints that name what is wrong: told from the counts of the failing run."""

import pytest
from numba import cuda, float32

from smemnb.exercises.chapters.ex33_vector import times_vector
from smemnb.exercises.check import check
from smemnb.exercises.grading.advice import meeting
from smemnb.exercises.variants import edited
from smemnb.tracing.model import WorstRequest
from tests.facts import facts
from tests.tracing.records import LOAD, TILE, on_shared, site, turned


@cuda.jit
def every_thread_does_all(out, inp):
    for i in range(out.shape[0]):
        out[i] = inp[i] + 1


@cuda.jit
def first_thread_does_all(out, inp):
    if cuda.grid(1) == 0:
        for i in range(out.shape[0]):
            out[i] = 2 * inp[i]


@cuda.jit
def first_thread_of_each_block(out, inp):
    if cuda.threadIdx.x == 0:
        for i in range(cuda.blockDim.x):
            at = cuda.blockIdx.x * cuda.blockDim.x + i
            if at < out.shape[0]:
                out[at] = 2 * inp[at]


@cuda.jit
def loaded_twice(out, inp):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = inp[i]
        out[i] = out[i] + inp[i]


@cuda.jit
def guard_off_by_one(out, inp):
    i = cuda.grid(1)
    if i <= out.shape[0]:
        out[i] = 2 * inp[i]


@cuda.jit
def without_guard(out, inp):
    i = cuda.grid(1)
    out[i] = 2 * inp[i]


@cuda.jit
def parameters_swapped(inp, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = 2 * inp[i]


@cuda.jit
def same_bank(out, inp):
    tile = cuda.shared.array((128, 8), float32)
    i, tx = cuda.grid(1), cuda.threadIdx.x
    if i < out.shape[0]:
        tile[tx, 0] = inp[i]
        out[i] = 2 * tile[tx, 0]


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (first_thread_does_all, "one lane"),
        (first_thread_of_each_block, "one lane"),
        (loaded_twice, "stored 2 times"),
        (guard_off_by_one, "guard the line: if i < "),
        (without_guard, "Guard the line: if i < "),
        (parameters_swapped, "by position, as (out, inp): this kernel has (inp, out)"),
        (same_bank, "Lanes 0 and 4 of a warp need words 0 and 32"),
    ],
)
def test_hint(kernel, words):
    """Each mistake gets a hint of its own."""
    verdict = check("ex00_scale", kernel)
    assert not verdict
    assert words in verdict.hint


def test_hint_of_repeated_work():
    """256 threads that store each cell are told how often each is stored."""
    verdict = check("ex00_rounds", every_thread_does_all)
    assert verdict.reason == "requests"
    assert "stored 256 times" in verdict.hint
    assert "elements of its own" in verdict.hint


@cuda.jit
def nobody_stored(out, inp):
    tile = cuda.shared.array(512, float32)
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = tile[cuda.threadIdx.x]


def test_value_of_a_cell_that_nobody_stored():
    """A strange value is distinguished from an overflow."""
    text = check("ex00_scale", nobody_stored).part("output").text
    assert text.endswith("may come from an element that no thread has stored.")


def test_hint_of_a_misaligned_move():
    """A kernel that stops at a misaligned address is told what must be a multiple, and of what."""
    pitch_257 = {
        "a_tile[k * PITCH + m]": "a_tile[k * 257 + m] = a[top + m, k0 + k]",
        "quad =": "quad = load16(a_tile, k * 257 + 4 * tx)",
    }
    verdict = check("ex33_vector", edited(times_vector, pitch_257))
    said, more = verdict.hint.split("\n")
    assert facts(said) == ["4"] and "ex33_vector" in more


@pytest.mark.parametrize("kernel", [guard_off_by_one, without_guard])
def test_largest_launch_first(kernel):
    """A finding is shown for a launch with cells, not for the empty output."""
    text = check("ex00_scale", kernel).part("findings").text
    assert "has size 0" not in text
    assert "output of 0 elements" not in text


@pytest.mark.parametrize(
    ("address", "kind", "pair"),
    [
        ([lane * 96 for lane in range(32)], "load", ((0, 0), (4, 96))),
        ([lane * 4 for lane in range(32)], "load", None),
        ([0] * 32, "load", None),
        ([0] * 32, "atomic_add", ((0, 0), (1, 0))),
    ],
)
def test_meeting(address, kind, pair):
    """The first two lanes of the fullest bank: two words, or for an atomic one word too."""
    worst = WorstRequest(tuple(address), (True,) * 32, (0, 0, 0), 0)
    where = site(LOAD, "tile[ty, tx]", kind)
    (row,) = turned(counts=[on_shared(where, TILE, ways=4, worst=worst)]).lines
    assert meeting(row) == pair
