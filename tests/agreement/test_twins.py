"""Racy twins: how they are made, what we find in them, and what racecheck recorded."""

import ast
from functools import cache

import pytest

from smemnb.laboratory.corpus import CASES, FAMILIES
from smemnb.laboratory.twins import recording
from smemnb.laboratory.twins.source import barriers, twins
from smemnb.laboratory.twins.verdicts import TWIN, pair_of, races, reason, verdict
from smemnb.measure.hazards import reports
from smemnb.measure.verify.case import Case
from smemnb.measure.verify.predicted import traced
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
    assert found == {(((TWIN, a), (TWIN, b)),): kind for (a, b), kind in pairs.items()}


def test_verdict_beside_racecheck(tmp_path):
    """Pairs that both find, that one of them finds; order within a pair says nothing."""
    twin = made(HALVING, tmp_path)["barrier 1 removed"]
    same, strange = ((TWIN, 5), (TWIN, 10)), ((TWIN, 3), (TWIN, 4))
    both = verdict(traced(twin.case), [same, strange], twin.case.kernel)
    assert (both.both, both.theirs, both.ours) == ((same,), (strange,), ())
    alone = verdict(traced(twin.case), [], twin.case.kernel)
    assert alone.ours == ((same, "race"),)
    first = reports(samples.RACECHECK)[0]
    assert pair_of(first, "flip_0_1_removed.py") == ((TWIN, 5), (TWIN, 7))
    assert pair_of(first, "x.py")[0] == ("flip_0_1_removed.py", 5)


def test_reasons():
    """Why racecheck is silent: an atomic; another race of the line; or no reason."""
    pair, other = ((TWIN, 5), (TWIN, 10)), ((TWIN, 10), (TWIN, 12))
    assert reason(pair, "race_atomic", []).startswith("an atomic")
    assert reason(pair, "race", [other]).startswith("it compares with the last access")
    assert reason(pair, "race", [((TWIN, 1), (TWIN, 2))]) == ""


def test_digest_of_a_twin(tmp_path):
    """Of its source with the changed device function, whatever the folder is called."""
    found = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        made = twins(BY_NAME["transpose_wide 100 x 68"], folder)
        found.append([recording.digest(twin.file.parent / own(twin)) for twin in made])
    assert found[0] == found[1]
    assert len(set(found[0])) == len(found[0]) == 4


def own(twin):
    """The file of a twin's kernel; `twin.file` is that of the function that was changed."""
    return f"{twin.case.kernel_name}.py"


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


EACH_OF = 16
"""In the first tier, one of so many twins is run."""


@pytest.fixture(
    scope="module",
    params=[EACH_OF, pytest.param(1, marks=pytest.mark.exhaustive)],
    ids=["some", "all"],
)
def every(request, tmp_path_factory):
    """Both sides of the twins whose verdict is of today's source, by name."""
    folder = tmp_path_factory.mktemp("twins")
    of_today = [
        twin
        for twin in recording.all_twins(folder)
        if VERDICTS.sources.get(twin.name) == recording.digest(twin.file.parent / own(twin))
    ]
    return {
        twin.name: verdict(traced(twin.case), VERDICTS.pairs[twin.name], twin.case.kernel)
        for twin in of_today[:: request.param]
    }


@pytest.mark.exhaustive
@needs_verdicts
@pytest.mark.slow
def test_verdicts_are_of_today(every):
    """Nearly all twins are those that racecheck saw; none failed to run.

    They are of every family but `local`, `copies` and `patterns`, which came to the set after
    racecheck was run, and `matrices`, whose kernels have no barrier of a block.
    """
    assert VERDICTS.missing == {}
    whole = len(every) > 150 / 2
    assert len(every) >= (150 if whole else 150 // EACH_OF)
    families = {name for name, some in FAMILIES.items() for case in some
                if any(one.startswith(case.name) for one in every)}  # fmt: skip
    outside = {"local", "copies", "matrices", "patterns"}
    assert families >= set(FAMILIES) - outside if whole else len(families) > 1


@pytest.mark.exhaustive
@needs_verdicts
@pytest.mark.slow
def test_every_race_of_racecheck_is_ours(every):
    """Twin by twin: what racecheck reports, we report, for the same pair of lines."""
    assert {name: found.theirs for name, found in every.items() if found.theirs} == {}
    assert sum(len(found.both) for found in every.values()) >= len(every) * 100 // 150


@pytest.mark.exhaustive
@needs_verdicts
@pytest.mark.slow
def test_what_we_alone_find_is_explained(every):
    """Each pair of ours that racecheck does not report has its reason."""
    without = [
        (name, pair, kind)
        for name, found in every.items()
        for pair, kind in found.ours
        if not reason(pair, kind, VERDICTS.pairs[name])
    ]
    assert without == []
