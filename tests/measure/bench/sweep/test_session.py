"""A sweep from end to end without a GPU: checks, times, a file that grows and is continued."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from smemnb.errors import LaunchRefused, SmemnbError
from smemnb.measure.bench.sweep.model import Reading, load, save
from smemnb.measure.bench.sweep.problems import Problem, problems
from smemnb.measure.bench.sweep.session import Keeping, continued, measured
from smemnb.measure.bench.sweep.timing import allowed_error, launches_for, reading
from smemnb.measure.results.model import Clocks
from smemnb.operations import matmul
from tests.measure.bench.sweep.sample import SMALL, SWEEP, HostPlace, product


def ours(a, b, out):
    matmul(a, b, out=out)


def refusing(a, b, out):
    raise LaunchRefused("`a` lies by columns")


def failing(a, b, out):
    raise RuntimeError("CUBLAS_STATUS_NOT_SUPPORTED")


def one_short(a, b, out):
    """The last step of the depth is lost."""
    np.matmul(a[:, :-1], b[:-1], out=out)


def half_written(a, b, out):
    out[0] = (a @ b)[0]


def test_product_beside_two_libraries():
    """Ours by the engine; 4 launches of 0.1 ms, medians of rounds, the faster library counts."""
    place = HostPlace(smemnb=(0.2, ours), torch=(0.1, product), cupy=(0.4, product))
    found = reading(SMALL, place)
    assert (found.status, found.reason) == ("timed", None)
    assert found.ms == pytest.approx(0.2)
    assert found.libraries == {"torch": pytest.approx(0.1), "cupy": pytest.approx(0.4)}
    assert found.ratio == pytest.approx(0.5)
    assert (found.launches, found.rounds, found.repeats) == (4, 11, True)
    assert place.graphs == [("smemnb", 4), ("torch", 4), ("cupy", 4)]
    assert (found.plan, found.not_captured, found.left_out) == ("by hand", {}, {})
    assert 0 < found.error < 1e-6 and 0 < found.torch_error < 1e-6 and found.largest > 1


def test_launches_go_round_over_the_sets():
    place = HostPlace(sets=2, smemnb=(0.1, product), torch=(0.1, product))
    reading(SMALL, place)
    graph = [number for name, number in place.launched if name == "torch"][-4:]
    assert graph == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("function", "status", "said"),
    [
        (refusing, "refused", "`a` lies by columns"),
        (failing, "failed", "RuntimeError: CUBLAS_STATUS_NOT_SUPPORTED"),
        (one_short, "wrong", "wrong values"),
        (half_written, "wrong", "wrong values"),
    ],
)
def test_what_is_not_right_is_not_timed(function, status, said):
    """Ours: the reading says why. A library: it is left out, and the others are timed."""
    found = reading(SMALL, HostPlace(smemnb=(0.1, function), torch=(0.1, product)))
    assert (found.status, found.ms, found.libraries) == (status, None, {})
    assert said in found.reason
    beside = HostPlace(smemnb=(0.1, product), torch=(0.1, product), cupy=(0.1, function))
    found = reading(SMALL, beside)
    assert found.status == "timed" and list(found.libraries) == ["torch"]
    assert said in found.left_out["cupy"]


def test_without_a_library():
    """One that could not take the matrices is named; there is a time and no ratio."""
    place = HostPlace(smemnb=(0.1, product), left_out={"cupy": "no memory"})
    found = reading(SMALL, place)
    assert (found.ratio, found.left_out) == (None, {"cupy": "no memory"})
    assert found.ms == pytest.approx(0.1)


def test_what_does_not_fit():
    found = reading(Problem("matmul", (1001, 4, 4), "NN"), HostPlace(smemnb=(0.1, product)))
    assert (found.status, found.ms) == ("skipped", None) and "7.0 GiB" in found.reason


def test_launches_that_no_graph_holds():
    """They are timed one by one behind a longer pause, and the reading says so."""
    place = HostPlace(smemnb=(0.1, product), torch=(0.1, product), uncaptured=("torch",))
    found = reading(SMALL, place)
    assert found.not_captured == {"torch": "operation not permitted"}
    assert found.libraries["torch"] == pytest.approx(0.1)
    assert set(place.clock.naps[2:]) == {2 + found.launches}


def test_results_that_change():
    """Other bits at the end than at the beginning."""
    calls = iter(range(10**6))

    def drifting(a, b, out):
        np.matmul(a, b, out=out)
        if next(calls) > 50:
            out[0, 0] = np.nextafter(out[0, 0], np.float32(9))

    found = reading(SMALL, HostPlace(smemnb=(0.01, drifting), torch=(0.1, product)))
    assert found.repeats is False


def test_results_that_change_once_in_a_while():
    """Twenty calls on the same matrices are compared: one of the last with other bits is seen."""

    def found(odd):
        calls = itertools.count()

        def drifting(a, b, out):
            np.matmul(a, b, out=out)
            if next(calls) == odd:
                out[0, 0] = np.nextafter(out[0, 0], np.float32(9))

        return reading(SMALL, HostPlace(smemnb=(0.1, drifting), torch=(0.1, product))), calls

    steady, calls = found(odd=None)
    last = next(calls) - 1
    assert steady.repeats is True
    assert [found(last - back)[0].repeats for back in (0, 18)] == [False, False]


def test_a_clock_that_is_none():
    """The problem fails, and the sweep goes on."""
    found = reading(SMALL, HostPlace(smemnb=(0.0, product)))
    assert found.status == "failed" and "0.0 ms" in found.reason


@pytest.mark.parametrize(
    ("ms", "sets", "launches"),
    [(0.4, 1, 1), (0.1, 1, 4), (0.003, 4, 128), (0.03, 4, 12), (7.0, 4, 4), (0.0, 3, 126)],
)
def test_launches_at_once(ms, sets, launches):
    """0.4 ms of them, whole turns over the sets, 128 at most."""
    assert launches_for(ms, sets) == launches


def test_allowed_errors():
    """TF32 and a lost term are beyond; float32 in one chain of 16384 sums is not."""
    random = np.random.default_rng(0)
    for depth in (1, 16, 512, 16384):
        allowed = allowed_error(Problem("matmul", (64, 64, depth), "NN"))
        a, b = random.uniform(-1, 1, (2, 64, depth)).astype(np.float32)
        true = (a.astype(np.float64) * b).sum(1)
        chain = (a * b).cumsum(1, dtype=np.float32)[:, -1]
        cut = [(one.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for one in (a, b)]
        tf32 = (cut[0].astype(np.float64) * cut[1]).sum(1)
        short = (a[:, 1:].astype(np.float64) * b[:, 1:]).sum(1)
        assert abs(chain - true).max() < allowed / 2
        assert abs(tf32 - true).max() > 2 * allowed
        assert abs(short - true).max() > 10 * allowed
    assert allowed_error(Problem("transpose", (4, 4))) == 0


BASE = replace(SWEEP, readings=(), count=5)
WANTED = problems("matmul", 5, 3)


def read(problem):
    return Reading("matmul", problem.shape, problem.layout, 4, "refused", reason="not here")


def test_the_file_grows(tmp_path):
    """Kept after each problem, with clocks before and at the end."""
    sizes = []

    def keep(sweep):
        save(sweep, tmp_path / "a.json")
        sizes.append((len(load(tmp_path / "a.json").readings), sweep.finished))

    def clocks(when):
        return Clocks(when, 1980.0, None, None, None)

    found = measured(BASE, read, Keeping(keep, clocks))
    assert sizes == [(1, False), (2, False), (3, False), (4, False), (5, False), (5, True)]
    assert [one.problem for one in found.readings] == list(WANTED)
    assert [one.when for one in found.clocks] == ["before", "at the end"]
    assert load(tmp_path / "a.json") == found


def test_interrupted_and_continued():
    """Ctrl-C keeps what there is; the rest is measured later, none twice, in the same order."""
    asked = []

    def until_third(problem):
        asked.append(problem)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return read(problem)

    kept = []
    found = measured(BASE, until_third, Keeping(kept.append))
    assert (len(found.readings), found.finished, kept[-1]) == (2, False, found)
    asked = list(WANTED)
    again = measured(continued(found, BASE, "a.json"), until_third, Keeping())
    assert asked[5:] == list(WANTED[2:])
    assert again.finished and [one.problem for one in again.readings] == list(WANTED)


def test_out_of_time():
    """No problem begins after the limit; at least the first did."""
    now = iter(range(100))
    found = measured(BASE, read, Keeping(), seconds=2.5, now=lambda: next(now))
    assert (len(found.readings), found.finished) == (2, False)


def test_continued_with_more():
    """What failed is measured again; more problems may be asked for than the file has."""
    statuses = ("timed", "failed", "refused", "skipped", "wrong")
    readings = tuple(
        replace(read(one), status=status) for one, status in zip(WANTED, statuses, strict=True)
    )
    old = replace(BASE, readings=readings, finished=True)
    found = continued(old, replace(BASE, count=9), "a.json")
    assert [one.status for one in found.readings] == ["timed", "refused", "skipped", "wrong"]
    assert (found.count, found.finished) == (9, False)
    again = measured(found, read, Keeping())
    assert [one.problem for one in again.readings] == list(problems("matmul", 9, 3))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"operation": "transpose"}, "transpose"),
        ({"seed": 4}, "seed 3"),
        ({"count": 4}, "--count 4"),
        ({"driver": "1.0"}, "driver"),
        ({"versions": {"python": "3.11.0", "numba": "0.68.0"}}, "python"),
    ],
)
def test_what_cannot_be_continued(fields, said):
    with pytest.raises(SmemnbError) as refusal:
        continued(BASE, replace(BASE, **fields), "a.json")
    assert "--resume" in str(refusal.value) and said in str(refusal.value)
