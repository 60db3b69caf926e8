"""`smemnb bench patterns`: a case is checked before it is timed, and its file is read again."""

import json
from contextlib import nullcontext
from importlib.resources import files

import pytest

from smemnb.errors import SmemnbError
from smemnb.measure.bench.patterns import command, model, report, run
from smemnb.measure.bench.patterns.case import PatternCase, Prepared
from smemnb.measure.bench.patterns.model import PatternReading, PatternResults, Time
from smemnb.measure.results import Gpu
from tests.measure.bench.sweep.sample import Clock

GPU = Gpu("NVIDIA H200", "9.0", 132, 150_000_000_000, 62_914_560)
ORIGIN = PatternResults(GPU, "580", "13.0", {}, {}, "2026-11-27", "smemnb bench", "warm", "rows")


class Place:
    """Launches that take the milliseconds that they say; no graphs."""

    alone = staticmethod(nullcontext)

    def __init__(self):
        self.clock = Clock()

    def captured(self, launches):
        def replay():
            for launch in launches:
                launch()

        return replay


def case(place, **ms):
    """A case whose contenders take so long; `wrong` gives a wrong result, `failing` fails."""

    def contender(name, taken):
        def launch():
            if name == "failing":
                raise ValueError("no such dtype")
            place.clock.now += taken
            return name

        return launch

    def prepare(side, number):
        runs = {name: contender(name, taken) for name, taken in ms.items()}
        return Prepared(runs, lambda result: "7 for 8" if result == "wrong" else "")

    return PatternCase("sum", "8 float32", 4000, prepare)


def test_reading():
    """Contenders that are right have times; the others a reason."""
    place = Place()
    found = run.reading(case(place, smemnb=0.5, torch=1.0, wrong=0.1, failing=0.1), None, place, 3)
    assert {name: time.ms for name, time in found.times.items()} == {"smemnb": 0.5, "torch": 1.0}
    assert set(found.left_out) == {"wrong", "failing"}
    assert (found.beside("torch", "cupy"), found.seed, found.gb_per_s()) == (2.0, 3, 0.008)


def test_our_wrong_result_has_no_time():
    """What is wrong is not timed, ours neither."""
    place = Place()
    found = run.reading(case(place, wrong=0.1), None, place)
    assert found.times == {} and found.beside("torch") is None


def test_file_is_read_again(tmp_path):
    """What is saved is what is loaded; another format and a missing field are refused."""
    times = {"smemnb": Time(1.0, 0.5, 1.5)}
    results = ORIGIN.grown([PatternReading("sum", "8 float32", 32, times, {"cupy": "missing"})])
    model.save(results, tmp_path / "rows.json")
    assert model.load(tmp_path / "rows.json") == results
    assert results.reading("sum", "8 float32").times == times
    with pytest.raises(SmemnbError):
        results.reading("sum", "9 float32")
    found = json.loads(model.encode(results))
    del found["readings"][0]["moved"]
    with pytest.raises(SmemnbError, match="moved"):
        model.decode(json.dumps(found), "rows.json")


def test_run_keeps_what_there_is():
    """After so many seconds no further case begins, and the results say so."""
    place, kept = Place(), []
    cases = [(case(place, smemnb=1.0), 0), (case(place, smemnb=2.0), 5)]
    read = lambda one, seed: run.reading(one, None, place, seed)  # noqa: E731
    whole = command.measured(ORIGIN, cases, read, keep=kept.append)
    assert (whole.finished, len(whole.readings), len(kept)) == (True, 2, 2)
    times = iter((0, 0, 10))
    early = command.measured(
        ORIGIN, cases, read, keep=kept.append, seconds=5, now=lambda: next(times)
    )
    assert (early.finished, len(early.readings)) == (False, 1)


def test_drawn_cases_do_not_depend_on_their_number():
    """Case k is the same whatever the count, and another one with another seed."""
    first, second = (command.drawn(lambda rng: rng.integers(1 << 30), n, 4) for n in (3, 5))
    assert first == second[:3]
    assert command.drawn(lambda rng: rng.integers(1 << 30), 3, 5) != first


def test_report_of_chosen_and_drawn():
    """Speeds and ratios of the chosen cases, rungs by their names, the worst of the drawn ones."""
    times = {name: Time(ms, ms, ms) for name, ms in (("smemnb", 1.0), ("torch", 2.0))}
    rung = {"rung sum_naive": Time(4.0, 4.0, 4.0)}
    results = ORIGIN.grown(
        [
            PatternReading("sum", "2^28", 2 << 30, times | rung, {}),
            PatternReading("sum", "drawn", 1 << 20, times, {}, seed=2),
        ]
    )
    text = "\n".join(report.lines(results))
    for word in ("2147", "1074", "2.000", "sum_naive", "537", "2.00"):
        assert word in text


@pytest.mark.parametrize("room", command.rooms())
def test_rooms_have_cases(room):
    """Every room names its cases once, and draws others, all of some bytes."""
    chosen = command.wanted(command.Wish(room, sweep=5))
    names = [(one.operation, one.words) for one, seed in chosen if not seed]
    assert len(set(names)) == len(names) > 0
    assert len([one for one, seed in chosen if seed]) == 5
    assert all(one.moved > 0 for one, _ in chosen)
    with pytest.raises(SmemnbError):
        command.wanted(command.Wish(room, only=("nothing of that name",)))


RECORDED = [
    room
    for room in command.rooms()
    if (files("smemnb.measure.recorded") / f"h200_{room}.json").is_file()
]


@pytest.mark.parametrize("room", RECORDED)
def test_recorded(room):
    """What comes with the package: our results were right everywhere, and the table prints it."""
    found = model.recorded(room)
    assert found.room == room and "H200" in found.gpu.name
    for one in found.readings:
        assert model.OURS in one.times and model.OURS not in one.left_out
    assert len(list(report.lines(found))) > len([one for one in found.readings if not one.seed])
