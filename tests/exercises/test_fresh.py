"""Fresh cases: nobody knows them beforehand, and what they ask is what the solution does there."""

import hashlib
from dataclasses import fields, replace

import numpy as np
import pytest
from memorisers import memoriser
from numba import cuda, float32
from test_all import WHOLE_TILES
from test_other_answers import EACH as OTHER_ANSWERS

from smemnb.exercises.check import check, graded
from smemnb.exercises.draw import Draw, seed_of
from smemnb.exercises.exercise import Budget
from smemnb.exercises.grading.fresh import least, taken
from smemnb.exercises.grading.observe import counted, observe
from smemnb.exercises.registry import exercises, find
from smemnb.exercises.source import source_of
from tests.facts import facts
from tests.tiers import sampled

ALL = exercises()
SEEDS = range(10)
each = pytest.mark.parametrize("exercise", ALL, ids=[e.name for e in ALL])
DRAWN_SEEDS = 4
"""Of `SEEDS`, per exercise, for the two tests that grade each; the others are nightly."""
each_seed = pytest.mark.parametrize(
    ("exercise", "seed"),
    sampled(
        [(e, seed) for e in ALL for seed in SEEDS],
        1,
        second=DRAWN_SEEDS - 1,
        by=lambda pair: pair[0].name,
    ),
    ids=[f"{e.name}-{seed}" for e in ALL for seed in SEEDS],
)


DEAR_TABLES = {
    "ex02_groups": "sectors",
    "ex04_records": "requests",
    "ex33_vector": "requests",
    "ex60_nearest": "order",
    **dict.fromkeys(("ex04b_difference", "ex04b_turn", "ex08b_gram"), "kernel"),
    **dict.fromkeys(WHOLE_TILES - {"ex61_layer", "ex61_rows"}, "kernel"),
}
"""Where published budgets, 64 KB of constants, or a pipeline that is wanted, refuse tables already,
and by which part."""


@pytest.mark.parametrize(
    "exercise", sampled(ALL, 3, by=lambda e: e.chapter < "05"), ids=[e.name for e in ALL]
)
def test_memorised(exercise):
    """A kernel that knows every published answer and reads no input is refused."""
    verdict = graded(exercise, memoriser(exercise), seed=1)
    assert not verdict
    if exercise.name in DEAR_TABLES:
        assert verdict.reason == DEAR_TABLES[exercise.name]
    else:
        assert "seed 1)" in verdict.part("output").text


DEAR = [
    (exercise, number)
    for exercise in ALL
    for number, wrong in enumerate(exercise.wrong)
    if wrong.mistake.startswith("Right, but") and wrong.refused_by[0] in ("sectors", "requests")
]


@pytest.mark.parametrize(
    ("exercise", "number"),
    sampled(DEAR, 1, by=lambda pair: pair[0].chapter < "05"),
    ids=[f"{e.name}-{number}" for e, number in DEAR],
)
def test_memorised_where_it_counts(exercise, number):
    """So is one that knows the launches with a budget, and in the others is right and dear."""
    dear = exercise.wrong_kernel(exercise.wrong[number])
    budgets = [case for case in exercise.cases if case.budget]
    kernel = memoriser(replace(exercise, cases=tuple(budgets)), dear)
    assert not graded(exercise, kernel, seed=2)


@pytest.mark.first(6)
@each_seed
def test_solution(exercise, seed):
    """The solution is accepted whatever is drawn."""
    verdict = graded(exercise, exercise.solution, seed=seed)
    assert bool(verdict), repr(verdict)
    assert f"seed {seed}" in verdict.part("output").text


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "kernel"), OTHER_ANSWERS, ids=[kernel.py_func.__name__ for _, kernel in OTHER_ANSWERS]
)
def test_other_answers(name, kernel, seed):
    """So are right answers of another design."""
    verdict = graded(find(name), kernel, seed=seed)
    assert bool(verdict), repr(verdict)


@pytest.mark.first(6)
@each_seed
def test_budget(exercise, seed):
    """What the solution takes is counted as in a trace, and is what is asked for, in numbers."""
    for number, case in enumerate(exercise.drawn(seed)):
        run, alone = observe(exercise, case, exercise.solution), counted(exercise, case)
        assert (alone.trace.lines, alone.trace.barriers) == (run.trace.lines, run.trace.barriers)
        assert alone.trace.launch.static_shared_bytes == run.trace.launch.static_shared_bytes
        below, allowed = least(exercise, run), taken(exercise, seed, number)
        for one in fields(Budget):
            if one.name not in ("requests", "sectors"):
                low, high = getattr(below, one.name), getattr(allowed, one.name)
                assert (low is None) == (high is None), one.name
                assert low is None or low <= high, one.name
        for low, high in ((below.requests, allowed.requests), (below.sectors, allowed.sectors)):
            assert low.keys() == high.keys()
            assert all(low[name] <= high[name] for name in low)


@each
def test_cases(exercise):
    """Two at least; one is held to the full case's budget; other sizes, numbers and launches."""
    drawn = [exercise.drawn(seed) for seed in SEEDS]
    assert all(len(cases) >= 2 for cases in drawn)
    assert all(0 in [case.like for case in cases] for cases in drawn)
    assert all(case.seed == seed for seed, cases in enumerate(drawn) for case in cases)
    one, two = (_arrays(exercise.drawn(5)) for _ in range(2))
    assert [array.tobytes() for array in one] == [array.tobytes() for array in two]
    published, fresh = (
        {_bytes(case) for case in some} for some in (exercise.cases, sum(drawn, ()))
    )
    assert not {data for data in published & fresh if len(data) > 16}
    assert len({(case.grid, case.block) for cases in drawn for case in cases}) >= 4
    assert len({_arrays([case])[0].shape for cases in drawn for case in cases}) >= 4
    if exercise.name not in WHOLE_TILES:
        assert len({case.block for case in sum(drawn, ())}) >= 2


@each
def test_numbers(exercise):
    """In every draw, some numbers are as large as the largest of the published cases."""
    most = max(_most(array) for array in _arrays(exercise.cases))
    for seed in SEEDS:
        assert max(_most(array) for array in _arrays(exercise.drawn(seed))) > most / 8


def _arrays(cases):
    return [v for case in cases for v in case.inputs() if isinstance(v, np.ndarray)]


def _bytes(case):
    return b"".join(array.tobytes() for array in _arrays([case]))


def _most(array):
    """The largest size of a number; what masks an element is none."""
    wide = array.astype(np.float64)
    return float(np.abs(wide[np.isfinite(wide)]).max(initial=0))


# --- seeds -------------------------------------------------------------------------------------


def test_the_same_everywhere():
    """What seeds decide is the same with every Python, NumPy and machine."""
    draw = Draw(2026, "test")
    assert [draw.size(1, 100) for _ in range(8)] == [63, 48, 37, 33, 89, 32, 76, 24]
    assert (draw.one_of("a", "b", "c"), draw.numbers()) == ("c", 1105965516)
    whole = hashlib.sha256()
    for exercise in ALL:
        for case in exercise.drawn(2026):
            whole.update(repr((case.grid, case.block, case.shared_bytes, case.like)).encode())
            for array in _arrays([case]):
                whole.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    assert whole.hexdigest()[:16] == "21927de1c9a5ffe4"


def test_seed_of_a_text():
    """Of the text alone: spaces at the ends of lines and Windows line ends do not count."""
    text = source_of(find("ex00_scale").solution)
    assert 0 <= seed_of(text) < 10**6
    assert seed_of(text) == seed_of(text.replace("\n", "  \r\n")) != seed_of(text.replace("i", "j"))


def test_check_prints_the_seed():
    """In the notebook the seed is that of the kernel's text, and the verdict says it."""
    exercise = find("ex00_scale")
    said = check("ex00_scale", exercise.solution).part("output").text
    assert said.endswith(f"2 fresh ones of seed {seed_of(source_of(exercise.solution))}")


# --- what a verdict says -----------------------------------------------------------------------


KNOWN = tuple(case.inputs()[0].shape[0] for case in find("ex00_scale").cases)


@cuda.jit(device=True)
def is_known(n):
    for known in KNOWN:
        if n == known:
            return True
    return False


@cuda.jit
def knows_sizes(out, inp):
    i = cuda.grid(1)
    if i < out.shape[0]:
        factor = float32(2) if is_known(out.shape[0]) else float32(3)
        out[i] = factor * inp[i]


@cuda.jit
def pays_elsewhere(out, inp):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = 2 * inp[i]
        if not is_known(out.shape[0]):
            out[i] = 2 * inp[i]


@cuda.jit
def sticks_elsewhere(out, inp):
    i = cuda.grid(1)
    k = 0
    while k < 1 and not is_known(out.shape[0]):
        k = k * 1
    if i < out.shape[0]:
        out[i] = 2 * inp[i]


def test_wrong_values():
    """Which input, what came, what was wanted; that the published launches were right."""
    verdict = graded(find("ex00_scale"), knows_sizes, seed=3)
    case = find("ex00_scale").drawn(3)[0]
    (inp,) = case.inputs()
    text = verdict.part("output").text
    assert facts(text) == facts(
        f"out[0] {int(3 * inp[0])} {int(2 * inp[0])} {inp.size} {np.count_nonzero(inp)} "
        f"{inp.size} {case.grid[0]} {case.block[0]} 3"
    )
    assert (verdict.reason, len([part for part in verdict.parts if not part.ok])) == ("output", 1)
    assert "out = 2 * inp" not in verdict.hint
    assert "seed 3" in verdict.hint or f"this one has {case.block[0]}" in verdict.hint


def test_counts():
    """A price that is paid in fresh cases only: what was taken, what the solution takes there."""
    verdict = graded(find("ex00_scale"), pays_elsewhere, seed=3)
    case = find("ex00_scale").drawn(3)[0]
    count = case.inputs()[0].size
    assert verdict.reason == "requests"
    assert facts(verdict.part("requests").text) == facts(
        f"{count // 16} {count // 32} {count} {case.grid[0]} {case.block[0]} 3"
    )
    assert verdict.part("output").ok and "seed 3" in verdict.part("output").text
    assert "seed 3" in verdict.hint


def test_stopped():
    """A launch that does not end says which one it is."""
    verdict = graded(find("ex00_scale"), sticks_elsewhere, seed=3)
    case = find("ex00_scale").drawn(3)[0]
    assert verdict.reason == "kernel"
    end = f"grid {case.grid[0]}, block {case.block[0]}, fresh, seed 3)"
    assert verdict.parts[0].text.endswith(end)
