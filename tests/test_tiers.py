"""The first tier is what plain `pytest` runs; the mark `exhaustive` asks for the second."""

import subprocess
import sys
import tomllib

import pytest

from tests.house.notebook_form import ROOT
from tests.tiers import sampled

TESTS = """import pytest


def test_plain():
    pass


@pytest.mark.exhaustive
def test_rare():
    pass


@pytest.mark.slow
@pytest.mark.exhaustive
def test_rare_and_slow():
    pass


@pytest.mark.slow
def test_slow():
    pass


@pytest.mark.nightly
def test_long():
    pass

"""
MANY = """import pytest


@pytest.mark.first(2)
@pytest.mark.parametrize("n", range(9))
def test_many(n):
    pass
"""
MARKS = 'markers = ["slow: s", "exhaustive: e", "nightly: n", "first(n): f"]'
PLAIN, RARE, BOTH, SLOW = "test_plain", "test_rare", "test_rare_and_slow", "test_slow"
LONG = "test_long"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with five tests and the hooks of tests/conftest.py."""
    made = tmp_path_factory.mktemp("tiers")
    (made / "test_made_up.py").write_text(TESTS)
    (made / "conftest.py").write_text("from tests.conftest import pytest_collection_modifyitems\n")
    (made / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{MARKS}\n")
    return made


@pytest.mark.first(3)
@pytest.mark.parametrize(
    ("arguments", "ran"),
    [
        ([], {PLAIN, SLOW}),
        (["-m", "not slow"], {PLAIN}),
        (["-m", "slow"], {SLOW}),
        (["-m", "exhaustive"], {RARE, BOTH}),
        (["-m", "slow and exhaustive"], {BOTH}),
        (["-m", "exhaustive or not exhaustive"], {PLAIN, RARE, BOTH, SLOW}),
        (["-m", "nightly"], {LONG}),
        (["-k", "rare"], set()),
        (["test_made_up.py::test_rare"], {RARE}),
        (["test_made_up.py"], {PLAIN, SLOW}),
    ],
)
def test_what_is_run(folder, arguments, ran):
    """Without a word about the mark the first tier; a test asked for by its name is run."""
    assert collected(folder, *arguments) == ran


def collected(folder, *arguments):
    """The names of the tests that pytest would run."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "-q"]
    environment = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode in (0, pytest.ExitCode.NO_TESTS_COLLECTED), done.stdout + done.stderr
    return {line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line}


def test_first_cases(folder, tmp_path):
    """Two of nine cases are drawn, the other seven are exhaustive; one asked for by name is run."""
    for name in ("conftest.py", "pyproject.toml"):
        (tmp_path / name).write_text((folder / name).read_text())
    (tmp_path / "test_many.py").write_text(MANY)
    first, others = collected(tmp_path), collected(tmp_path, "-m", "exhaustive")
    assert (len(first), len(others)) == (2, 7)
    assert first | others == {f"test_many[{n}]" for n in range(9)}
    assert first == collected(tmp_path)
    assert len(collected(tmp_path, "-m", "exhaustive or not exhaustive")) == 9
    (one, *_) = others
    assert collected(tmp_path, f"test_many.py::{one}") == {one}


def test_mark_is_declared():
    """The mark is in pyproject.toml, so a slip in its name is an error."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]
    names = {line.partition(":")[0] for line in settings["ini_options"]["markers"]}
    assert {"exhaustive", "slow", "gpu", "toolchain"} <= names


def test_sampled():
    """So many of each group stay, the same ones each time; the others are exhaustive."""
    cases = [(group, n) for group in "ab" for n in range(5)] + [("c", 0)]
    made = sampled(cases, 2, by=lambda case: case[0])
    assert [one.values for one in made] == cases
    named = pytest.param(7, id="seven", marks=pytest.mark.slow)
    (one, other) = sampled([named, named], 1)
    assert {len(one.marks), len(other.marks)} == {1, 2} and one.id == other.id == "seven"
    first = [one.values for one in made if not one.marks]
    assert [group for group, _ in first] == ["a", "a", "b", "b", "c"]
    assert first == [one.values for one in sampled(cases, 2, by=lambda c: c[0]) if not one.marks]


def test_sampled_for_the_second_tier():
    """So many of what is left are exhaustive, the rest is nightly; what is plain stays the same."""
    cases = [(group, n) for group in "ab" for n in range(9)]
    names = [
        [mark.name for mark in one.marks] for one in sampled(cases, 2, second=3, by=lambda c: c[0])
    ]
    for group in (names[:9], names[9:]):
        assert sorted(group) == [[]] * 2 + [["exhaustive"]] * 3 + [["nightly"]] * 4
    plain = [one.marks == () for one in sampled(cases, 2, by=lambda case: case[0])]
    assert [marks == [] for marks in names] == plain
    assert {mark.name for one in sampled(cases, 2, second=99) for mark in one.marks} == {
        "exhaustive"
    }
