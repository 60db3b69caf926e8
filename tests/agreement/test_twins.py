"""Racy twins: how they are made, what we find in them, and what racecheck recorded."""

import ast
from functools import cache

import pytest

from smemnb.measure.hazards import reports
from smemnb.measure.verify.case import Case
from smemnb.measure.verify.corpus import CASES
from smemnb.measure.verify.predicted import traced
from smemnb.measure.verify.twins import recording
from smemnb.measure.verify.twins.source import barriers, twins
from smemnb.measure.verify.twins.verdicts import pair_of, races, verdict
from tests.agreement import samples
from tests.agreement.shipped import VERDICTS, needs_verdicts

BY_NAME = {case.name: case for case in CASES}
HALVING = "sum_halving 2 x 128"


@cache
def made(name, folder):
    """The twins of a case, by name."""
    return {twin.name.removeprefix(f"{name}: "): twin for twin in twins(BY_NAME[name], folder)}


def test_changes(tmp_path):
    """Each barrier removed once, and moved by one statement where it may be."""
    found = made(HALVING, tmp_path)
    assert list(found) == [
        "barrier 1 removed",
        "barrier 1 before",
        "barrier 2 removed",
        "barrier 2 before",
    ]
    for twin in found.values():
        left = twin.file.read_text().count("cuda.syncthreads()")
        assert left == (1 if twin.change == "removed" else 2)
        assert twin.case.kernel.py_func.__code__.co_filename == str(twin.file)


def test_one_change_and_no_other(tmp_path):
    """The file is the kernel's source with that one statement changed."""
    twin = made(HALVING, tmp_path)["barrier 2 removed"]
    original = BY_NAME[HALVING].kernel.py_func
    tree = ast.parse(twin.file.read_text())
    assert tree.body[0].name == f"sum_halving_{tmp_path.name}_3_removed"
    loop = next(node for node in ast.walk(tree) if isinstance(node, ast.While))
    assert [type(one).__name__ for one in loop.body] == ["If", "Pass", "AugAssign"]
    assert barriers(original) == 2


def test_barriers_stay_out_of_branches(tmp_path):
    """A barrier never passes a statement in which a thread leaves: all still meet it."""
    name = "three_ways, 128 of 128"  # the next statement is `if tx >= limit: return`
    assert list(made(name, tmp_path)) == ["barrier 1 removed", "barrier 1 before"]
    for twin in made(name, tmp_path).values():
        kinds = {found.kind for found in traced(twin.case).findings}
        assert not kinds & {"divergent_barrier", "exited_before_barrier"}


def test_twin_of_a_device_function(tmp_path):
    """A barrier of a device function is changed there; the kernel calls the changed one."""
    name = "transpose_wide 100 x 68"
    found = made(name, tmp_path)
    assert "barrier 1 of move_edge removed" in found
    twin = found["barrier 1 of move_edge removed"]
    assert twin.function == "move_edge"
    assert "cuda.syncthreads()" not in twin.file.read_text()


@pytest.mark.parametrize(
    ("change", "pairs"),
    [
        # line 5 stores the part, 10 adds in the loop: `part[tx] += part[tx + step]`
        ("barrier 1 removed", {(5, 10): "race"}),
        ("barrier 1 before", {(6, 10): "race"}),  # the barrier stands in line 5 now
        ("barrier 2 removed", {(10, 10): "race"}),
        ("barrier 2 before", {}),  # before the `if` it orders the passes all the same
    ],
)
def test_our_verdicts(change, pairs, tmp_path):
    """Races per pair of lines, in the twin's own file."""
    twin = made(HALVING, tmp_path)[change]
    found = races(traced(twin.case), twin.case.kernel)
    file = twin.file.name
    assert found == {((file, a), (file, b)): kind for (a, b), kind in pairs.items()}


def test_verdict_beside_racecheck(tmp_path):
    """Pairs that both find, that one of them finds; order within a pair says nothing."""
    twin = made(HALVING, tmp_path)["barrier 1 removed"]
    file = twin.file.name
    same, strange = ((file, 5), (file, 10)), ((file, 3), (file, 4))
    both = verdict(traced(twin.case), [same, strange], twin.case.kernel)
    assert (both.both, both.theirs, both.ours) == ((same,), (strange,), ())
    alone = verdict(traced(twin.case), [], twin.case.kernel)
    assert alone.ours == ((same, "race"),)
    first = reports(samples.RACECHECK)[0]
    assert pair_of(first) == (("flip_0_1_removed.py", 5), ("flip_0_1_removed.py", 7))


def test_chosen():
    """A case per kernel with a barrier, of every family; none twice."""
    chosen = recording.chosen()
    kernels = [id(case.kernel) for case in chosen]
    assert len(set(kernels)) == len(kernels)
    with_barrier = {id(case.kernel): case for case in CASES if barriers(case.kernel.py_func)}
    left_out = {case.name.split()[0] for key, case in with_barrier.items() if key not in kernels}
    assert left_out == set(recording.LEFT_OUT)


def test_reports_find_their_twin():
    """A report is of the twin whose whole name it has."""
    (first, *_) = reports(samples.RACECHECK)
    assert recording._is_of(first, "flip_0_1_removed")
    assert not recording._is_of(first, "flip_0_1")
    assert not recording._is_of(first, "flip_0_1_rem")


def test_kernels_without_barrier_have_no_twins(tmp_path):
    """Nothing to remove, nothing to write."""
    case: Case = BY_NAME["add, ragged"]
    assert twins(case, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    """Both sides of all twins, by name."""
    folder = tmp_path_factory.mktemp("twins")
    return {
        twin.name: verdict(traced(twin.case), VERDICTS.pairs.get(twin.name, ()), twin.case.kernel)
        for twin in recording.all_twins(folder)
    }


NOT_OF_RACECHECK = {
    "race_atomic": "an atomic beside a plain access is no race to it",
    "race_in_warp": "lanes of one warp",
    "race_same_value": "the same value stored twice",
}
"""Kinds of ours that racecheck need not find, and why."""


@needs_verdicts
@pytest.mark.slow
def test_every_race_of_racecheck_is_ours(every):
    """Twin by twin: what racecheck reports, we report, for the same pair of lines."""
    assert set(VERDICTS.pairs) == set(every)
    assert VERDICTS.missing == {}
    assert {name: found.theirs for name, found in every.items() if found.theirs} == {}
    assert sum(bool(found.both) for found in every.values()) > 0


@needs_verdicts
@pytest.mark.slow
def test_what_we_alone_find_is_explained(every):
    """Pairs of ours that racecheck does not report are of the kinds that are listed."""
    ours = {(name, kind) for name, found in every.items() for _, kind in found.ours}
    assert {one for one in ours if one[1] not in NOT_OF_RACECHECK} == set()
