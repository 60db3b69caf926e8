import io

import numpy as np
import pytest
from PIL import Image

from smemnb.figures import bank_map
from smemnb.figures.request_map import CELL, LEFT, ROW, TOP, Tie, _stretches, ties
from smemnb.figures.service import service
from smemnb.figures.sheet import SCALE
from smemnb.tracing.report.bank_map import BankMap
from tests.facts import facts
from tests.tracing.records import COLUMN, LOAD, STORE, TILE, on_shared, site, turned

LANE = np.arange(32)


def traced(**changes):
    request = {
        "address": tuple(int(one) for one in LANE * 128),
        "active": (True,) * 32,
        "width": 4,
        "kind": "load",
        "access": "load tile[tx, ty]",
        "line": 47,
        "block": (0, 1, 0),
        "warp": 2,
    }
    return BankMap(**{**request, **changes})


def test_text_of_a_partial_warp():
    """The text holds every number of the map."""
    drawn = bank_map(LANE * 8, width=4, active=LANE < 20, title="tile[2 * lane]")
    assert [facts(line) for line in drawn.text.splitlines()] == [
        facts("tile[2 * lane]"),
        facts("4 20 2 2 1"),  # bytes, lanes, n-way, wavefronts, extra
        facts("2 0 2 4 6 1 8 10 30"),  # 2 in banks 0 to 6, 1 in banks 8 to 30
        facts("1 0 15"),
        facts("2 16 19"),
    ]


def test_text_of_a_broadcast():
    drawn = bank_map(LANE * 0 + 40, width=4)
    ways, multicast, wavefront = drawn.text.splitlines()[1:]
    assert (facts(ways), facts(wavefront)) == (facts("1 10"), facts("1 0 31"))
    assert "multicast" in multicast and facts(multicast) == facts("1 32")


def test_text_of_phases():
    drawn = bank_map(LANE * 8, width=8, kind="store")
    (phases,) = [line for line in drawn.text.splitlines() if "phases" in line]
    assert facts(phases) == facts("2 0 15 16 31")


def test_text_is_short():
    """At most 15 lines, however many wavefronts there are."""
    drawn = bank_map(LANE * 128, width=4, kind="atomic_cas", title="cas")
    assert len(drawn.text.splitlines()) == 9
    assert facts(drawn.text.splitlines()[-1]) == facts("63 64 31")


def test_no_lane_has_a_text():
    drawn = bank_map(LANE * 4, width=4, active=LANE < 0)
    first, second = drawn.text.splitlines()
    assert (facts(first), facts(second)) == (facts("4 0 0 0 0"), [])
    assert "no bank" in drawn.alt


def test_traced_request():
    """A traced request brings its width, lanes, kind and place."""
    drawn = bank_map(traced())
    first, second = drawn.text.splitlines()[:2]
    assert facts(first) == facts("47 tile[tx, ty] 0 1 0 2")
    assert facts(second) == facts("4 32 32 32 31")
    assert bank_map(traced(), title="before the pad").text.startswith("before the pad\n")


def test_whole_trace():
    """A trace has many requests: the refusal names its lines, and the worst one in the call."""
    padded, plain = site(STORE, "tile[tx, 0]", "store"), site(LOAD, "tile[0, tx]", "load")
    trace = turned(
        counts=(on_shared(padded, TILE, 32, worst=COLUMN), on_shared(plain, TILE, worst=COLUMN))
    )
    lines = sorted({row.line for row in trace.lines})
    with pytest.raises(TypeError) as refused:
        bank_map(trace)
    said = str(refused.value)
    assert f"write bank_map(trace.bank_map({padded.line}));" in said
    assert said.endswith(f": {lines[0]}, {lines[1]}")
    with pytest.raises(TypeError, match="no request of shared memory"):
        bank_map(turned(counts=()))


def test_traced_request_knows_its_width():
    with pytest.raises(ValueError, match="width, active and kind come with a traced request"):
        bank_map(traced(), width=4)


def test_width_is_asked_for():
    with pytest.raises(TypeError, match="width is missing"):
        bank_map(LANE * 4)


def test_title_is_one_line():
    with pytest.raises(ValueError, match="title .* has several lines"):
        bank_map(LANE * 4, width=4, title="a\nb")


def test_alt():
    assert facts(bank_map(LANE * 132, width=4).alt) == facts("4 32 1 1 0 0 31")


def test_grid_frames_each_lane_and_bank():
    """A line below each lane and beside each bank, seen past the first box of a diagonal."""
    drawn = bank_map(LANE * 4, width=4)
    picture = np.asarray(Image.open(io.BytesIO(drawn.png)).convert("L")).astype(int)
    picture = picture[::SCALE, ::SCALE]
    down = picture[TOP + ROW + 3 : TOP + 32 * ROW + 5, LEFT + CELL // 2]
    across = picture[TOP + ROW // 2, LEFT + CELL + 3 : LEFT + 32 * CELL + 5]
    assert (lines_crossed(down), lines_crossed(across)) == (31, 31)


def lines_crossed(pixels):
    """How many lines cross this row of pixels, each one or two pixels wide."""
    drawn = abs(pixels - np.median(pixels)) > 4
    return int((drawn[1:] & ~drawn[:-1]).sum())


def test_ties_join_the_lanes_of_one_word():
    """Two words of one bank have a line each, on either side of it, broken at the other's lanes."""
    served = service(LANE % 16 * 16, width=4)
    ours = [tie for tie in ties(served) if served.banks(tie.lanes[0]) == (0,)]
    assert ours == [Tie((0, 16)), Tie((8, 24), right=True)]
    assert [_stretches(served, tie) for tie in ours] == [
        [(0, 7), (9, 16)],
        [(8, 15), (17, 24)],
    ]
    for tie in ties(served):
        assert len({served.word[lane] for lane in tie.lanes}) == 1


def test_ties_of_a_crowded_bank():
    """Lines that follow one another take one side; a bank with three beside each other has none."""
    one_after_another = ties(service(LANE // 8 * 128, width=4))
    assert one_after_another == tuple(Tie(tuple(range(n, n + 8))) for n in (0, 8, 16, 24))
    assert ties(service(LANE % 3 * 128, width=4)) == ()
    assert ties(service(LANE * 4, width=4)) == ()
