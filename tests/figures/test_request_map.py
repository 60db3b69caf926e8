import numpy as np
import pytest

from smemnb.figures import bank_map
from smemnb.tracing.report.bank_map import BankMap

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
    assert drawn.text == (
        "tile[2 * lane]\n"
        "load of 4 bytes by 20 lanes: 2-way, 2 wavefronts, 1 extra (model)\n"
        "n-way of each bank: 2 in banks 0, 2, 4, 6; 1 in banks 8, 10, ..., 30\n"
        "wavefront 1: lanes 0-15\n"
        "wavefront 2: lanes 16-19"
    )


def test_text_of_a_broadcast():
    drawn = bank_map(LANE * 0 + 40, width=4)
    assert drawn.text.splitlines()[1:] == [
        "n-way of each bank: 1 in bank 10",
        "multicast: 1 word for 32 lanes",
        "wavefront 1: lanes 0-31",
    ]


def test_text_of_phases():
    drawn = bank_map(LANE * 8, width=8, kind="store")
    assert "2 phases: lanes 0-15; lanes 16-31" in drawn.text.splitlines()


def test_text_is_short():
    """At most 15 lines, however many wavefronts there are."""
    drawn = bank_map(LANE * 128, width=4, kind="atomic_cas", title="cas")
    assert len(drawn.text.splitlines()) == 9
    assert drawn.text.splitlines()[-1] == "wavefront 63-64: lane 31"


def test_no_lane_has_a_text():
    drawn = bank_map(LANE * 4, width=4, active=LANE < 0)
    assert drawn.text == (
        "load of 4 bytes by 0 lanes: 0-way, 0 wavefronts, 0 extra (model)\n"
        "n-way of each bank: no lane asks"
    )
    assert drawn.alt.endswith("on no bank.")


def test_traced_request():
    """A traced request brings its width, lanes, kind and place."""
    drawn = bank_map(traced())
    assert drawn.text.splitlines()[:2] == [
        "line 47, load tile[tx, ty]: block (0, 1, 0), warp 2",
        "load of 4 bytes by 32 lanes: 32-way, 32 wavefronts, 31 extra (model)",
    ]
    assert bank_map(traced(), title="before the pad").text.startswith("before the pad\n")


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
    assert bank_map(LANE * 132, width=4).alt == (
        "Bank map of one request, lanes by banks: load of 4 bytes by 32 lanes: 1-way,"
        " 1 wavefront, 0 extra, on banks 0-31."
    )
