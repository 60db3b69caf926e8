"""The search, with timers that work out times instead of measuring them."""

import json
from dataclasses import asdict, replace

import pytest

from smemnb.errors import SmemnbError
from smemnb.kernels.matmul.ladder import FASTEST
from smemnb.kernels.matmul.tiling import Tiling
from smemnb.measure.results.model import Gpu
from smemnb.measure.tuning import outcome as outcomes
from smemnb.measure.tuning.outcome import Outcome, Timed
from smemnb.measure.tuning.search import Timing, candidates, faster, searched
from smemnb.measure.tuning.space import (
    Chunks,
    Step,
    changed,
    differences,
    start,
    steps,
    steps_named,
)

BEGIN = Tiling(
    warp_rows=64,
    warp_cols=64,
    lanes_down=4,
    interleaved=True,
    buffers=2,
    pinned=True,
    fragments=2,
    turn=1,
    stage_at=5,
    band=4,
)
"""Where searches of these tests begin, whatever the package ships."""

GPU = Gpu("a GPU", "9.0", 132, 1 << 30, 1 << 20)


def blank(choices):
    operation = "matmul" if isinstance(choices, Tiling) else "transpose"
    shape = (4096,) * 3 if operation == "matmul" else (8192,) * 2
    words = asdict(choices)
    return Outcome(GPU, "1.2", {}, "now", "smemnb tune", operation, shape, 4, words, words)


class Priced:
    """A timer that asks a function for each candidate's milliseconds; None is a failure."""

    def __init__(self, price):
        self.price, self.asked = price, []

    def __call__(self, some):
        self.asked.append(list(some))
        return Timing(tuple(map(self.timed, some)), {"library": Timed(1.0, 1.0, 1.0)})

    def timed(self, choices):
        ms = self.price(choices)
        if ms is None:
            return Timed(failed="wrong values")
        return Timed(ms, ms * 0.999, ms * 1.001, 100, 0)


def apart(tiling):
    """The best is 15 away from the start in three choices that do not depend on each other."""
    return 10 + abs(tiling.band - 8) + (tiling.turn != 2) + (tiling.stage_at != 4)


def found(timer, begin=BEGIN, **words):
    return searched(begin, steps(begin), timer, blank(begin), **words)


def test_the_best_of_each_step_is_kept():
    """Choices that cost time on their own are found one by one, whatever their order."""
    result = found(Priced(apart))
    assert (result.best["band"], result.best["turn"], result.best["stage_at"]) == (8, 2, 4)
    assert result.finished
    kept = [trial.kept for trial in result.trials if trial.kept]
    assert kept == [{"stage_at": 4}, {"turn": 2}, {"band": 8}]
    others = asdict(BEGIN)
    assert result.best == others | {"band": 8, "turn": 2, "stage_at": 4}
    assert Tiling(**result.best) == replace(BEGIN, band=8, turn=2, stage_at=4)


def test_candidates_are_timed_with_the_best():
    """The first of each round is the present best; nobody is asked twice in a round."""
    timer = Priced(apart)
    result = found(timer)
    assert timer.asked[0][0] == BEGIN
    assert timer.asked[-1][0] == Tiling(**result.best)
    for asked in timer.asked:
        assert len(set(asked)) == len(asked) > 1


def test_the_same_search_again():
    """Same times, same candidates in the same order."""
    one, two = Priced(apart), Priced(apart)
    found(one), found(two)
    assert one.asked == two.asked


def test_an_end():
    """A pass in which nothing changes is the last; with two passes there are no more."""
    constant = Priced(lambda tiling: 5.0)
    result = found(constant)
    assert result.best == result.start
    assert len(result.trials) == len(steps(BEGIN))
    forever = Priced(lambda tiling: 5.0 / (1 + tiling.band))
    assert len(found(forever).trials) == 2 * len(steps(BEGIN))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (Timed(0.9, 0.89, 0.91), Timed(1.0, 0.99, 1.01), True),
        (Timed(0.9, 0.89, 0.995), Timed(1.0, 0.99, 1.01), False),  # quartiles overlap
        (Timed(0.999, 0.998, 0.9991), Timed(1.0, 0.9995, 1.01), False),  # too little
        (Timed(1.1, 1.09, 1.11), Timed(1.0, 0.99, 1.01), False),
        (Timed(failed="wrong"), Timed(1.0, 0.99, 1.01), False),
        (Timed(1.1, 1.09, 1.11), Timed(failed="wrong"), True),
    ],
)
def test_faster(one, other, expected):
    """By more than the least gain, and beyond the spread."""
    assert faster(one, other) is expected


def test_failures_are_not_kept():
    """A candidate with wrong values is never the best, however little it would take."""
    result = found(Priced(lambda tiling: None if tiling.band == 16 else 5.0))
    assert result.best == result.start
    said = [
        attempt.timed.failed
        for trial in result.trials
        for attempt in trial.attempts
        if attempt.changes == {"band": 16}
    ]
    assert said == ["wrong values"]


def test_refused_candidates_have_their_reason():
    """What a Tiling refuses is not timed, and the trial says why."""
    step = Step("depth", "", lambda best: [{"depth": 12}, {"depth": 8}, {"depth": 16}])
    made, refused = candidates(step, BEGIN)
    assert [one.depth for one in made] == [16]
    assert [one.changes for one in refused] == [{"depth": 12}]
    assert "depth=12" in refused[0].timed.failed


def test_out_of_time():
    """After so many seconds no further step begins; what was found stays."""
    ticks = iter(range(100))
    result = found(Priced(apart), seconds=4.5, now=lambda: next(ticks))
    assert (len(result.trials), result.finished) == (4, False)


def test_interrupted():
    """Ctrl-C during a step loses that step alone."""

    class Impatient(Priced):
        def __call__(self, some):
            if len(self.asked) == 3:
                raise KeyboardInterrupt
            return super().__call__(some)

    kept = []
    result = found(Impatient(apart), keep=kept.append)
    assert (len(result.trials), result.finished) == (3, False)
    assert kept[-1].trials == result.trials


def test_transposes():
    """Tile, threads and blocks of any size of elements."""
    begin = start("transpose", 2)
    assert (begin.rows, begin.cols, begin.dtype.bitwidth) == (64, 64, 16)
    result = found(Priced(lambda one: 1.0 + abs(one.threads - 512)), begin)
    assert begin.threads == 256
    assert result.best["threads"] == 512
    assert Chunks(**result.best).kernel().__name__ == "transpose_fastest"
    with pytest.raises(SmemnbError, match="1, 2, 4 or 8 bytes are tuned"):
        start("transpose", 16)


@pytest.mark.parametrize("begin", [FASTEST, *(start("transpose", size) for size in (1, 2, 4, 8))])
def test_every_step_has_candidates(begin):
    """From what is shipped, each step tries something that is made and differs from the best."""
    for step in steps(begin):
        made, _ = candidates(step, begin)
        assert made, step.name
        for one in made:
            assert changed(begin, differences(one, begin)) == one != begin


def test_named_steps():
    """In the order that is asked for."""
    assert [step.name for step in steps_named(BEGIN, ["band", "tile"])] == ["band", "tile"]
    assert steps_named(BEGIN, []) == steps(BEGIN)
    with pytest.raises(SmemnbError, match="--steps bands: the steps are tile, resident"):
        steps_named(BEGIN, ["bands"])


def test_file(tmp_path):
    """What was saved is loaded, field by field."""
    result, path = found(Priced(apart)), tmp_path / "tuned.json"
    outcomes.save(result, path)
    assert outcomes.load(path) == result
    assert json.loads(path.read_text())["format"] == "smemnb tune"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ('{"format": "smemnb bench", "version": 1}', '"format": "smemnb tune"'),
        ('{"format": "smemnb tune", "version": 2}', "has version 2"),
        ('{"format": "smemnb tune", "version": 1}', "gpu is missing"),
    ],
)
def test_bad_files(tmp_path, text, said):
    """Each is refused with its reason."""
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(SmemnbError) as refusal:
        outcomes.load(path)
    assert said in str(refusal.value)


@pytest.mark.parametrize("begin", [BEGIN, start("transpose")])
def test_usage_runs(begin):
    """What a result says of its use is Python that makes the kernel of the best choices."""
    price = (lambda one: 1.0 + (one.band != 8)) if begin == BEGIN else lambda one: 1.0
    made = {}
    exec("\n".join(outcomes.usage(found(Priced(price), begin))), made)
    assert made["kernel"].py_func is not None
    if begin == BEGIN:
        assert made["tiling"] == replace(BEGIN, band=8)


def test_text():
    """Each step with its candidates, the library beside them, what was kept, and the gain."""
    said = list(outcomes.lines(found(Priced(apart))))
    assert any("band=8" in line and "kept" in line for line in said)
    assert any(line.split()[:2] == ["beside:", "library"] for line in said)
    assert "17.0000 ms at the start, 10.0000 ms at the end" not in said  # it gains 4 + 1 + 1
    assert "16.0000 ms at the start, 10.0000 ms at the end" in said
    assert "0.100 times library's speed" in said
