"""Numba's own tests through the plug: a part of them always, all of them in the exhaustive tier."""

import importlib.util
import warnings

import pytest

from tests.numba_suites import comparison
from tests.numba_suites.comparison import Exceptions, compare, exceptions, report
from tests.numba_suites.runner import FOLDERS, Result, modules, run_suite

NEEDED = {"intree": (), "numba_cuda": ("numba_cuda", "filecheck", "ml_dtypes", "cffi")}


def needed(suite):
    """Skip where the suite's own dependencies are missing."""
    missing = [name for name in NEEDED[suite] if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{suite}: pip install {' '.join(missing)}")


def results(**outcomes):
    return {name: Result(name, outcome, launches=2) for name, outcome in outcomes.items()}


@pytest.fixture
def accepted(monkeypatch):
    """Exceptions for made-up tests: c, the d's, e, which may pass elsewhere, z, which is none."""
    reasons = {"c": "links", "d*": "caches", "e": "toolkit", "z": "is gone"}
    given = Exceptions(reasons, frozenset(), frozenset("e"))
    monkeypatch.setattr(comparison, "exceptions", lambda suite: given)


def test_what_is_a_problem(accepted):
    """A failure without a reason, a skip of what passed, an exception that nothing needs."""
    baseline = results(a="ok", b="skip", c="ok", d1="ok", f="ok", g="skip")
    plug = results(a="ok", b="skip", c="fail", d1="ok", e="ok", f="skip", g="error")
    compared = compare("intree", baseline, plug)
    assert compared.problems == (
        "f: ok under Numba's simulator, skip here",
        "g: skip under Numba's simulator, error here",
        "stale exception: d*",
        "stale exception: z",
    )
    assert compare("intree", baseline, plug, whole=False).problems == compared.problems[:3]
    assert [row.reason for row in compared.rows] == ["", "", "links", "caches", "toolkit", "", ""]
    assert "14 launches reached the engine" in report(compared)
    assert "     1 excused: links" in report(compared)


def test_missing_test(accepted):
    """A test that only the baseline knows is a problem, too."""
    compared = compare("intree", results(a="ok"), {}, whole=False)
    assert compared.problems == ("a: ok under Numba's simulator, absent here",)


@pytest.mark.parametrize("suite", FOLDERS)
def test_exceptions_have_reasons(suite):
    """Every exception names a test and stands below a reason."""
    found = exceptions(suite)
    assert [name for name, reason in found.reasons.items() if len(reason) < 20] == []
    assert found.left_out < set(found.reasons)


def test_modules():
    """The list of modules is as long as Numba's folders, without importing any."""
    names = modules("intree")
    assert {"numba.cuda.tests.cudapy.test_warp_ops", "numba.cuda.tests.nocuda.test_nvvm"} < set(
        names
    )
    assert len(names) > 100


@pytest.mark.exhaustive
def test_exceptions_are_needed():
    """Numba's tests of shared memory: those with an exception fail here, the others pass."""
    found = run_suite("intree", simulator=False, pattern="numba.cuda.tests.cudapy.test_sm*")
    assert compare("intree", {}, found, whole=False).problems == ()
    assert len(found) > 20


@pytest.mark.slow
def test_warp_operations():
    """What Numba skips on its simulator runs here: all tests of warps, in the engine."""
    found = run_suite("intree", simulator=False, pattern="numba.cuda.tests.cudapy.test_warp_ops*")
    assert {row.outcome for row in found.values()} == {"ok"}
    assert (len(found), sum(row.launches for row in found.values())) == (15, 23)


@pytest.mark.exhaustive
@pytest.mark.parametrize("suite", FOLDERS)
def test_suite(suite):
    """All tests that pass under Numba's simulator pass, or are an exception with its reason."""
    needed(suite)
    baseline = run_suite(suite, simulator=True)
    plug = run_suite(suite, simulator=False, leave_out=exceptions(suite).left_out)
    compared = compare(suite, baseline, plug)
    if compared.problems:  # a busy machine brings some that do not come again; they are told
        warnings.warn(f"run again alone: {', '.join(compared.problems)}", stacklevel=1)
        names = [problem.partition(": ")[0] for problem in compared.problems]
        for name in [name for name in names if name in baseline][:10]:
            baseline |= run_suite(suite, simulator=True, pattern=name, jobs=1)
            plug |= run_suite(suite, simulator=False, pattern=name, jobs=1)
        compared = compare(suite, baseline, plug)
    assert compared.problems == (), report(compared)
