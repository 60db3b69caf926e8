"""The rule of asynchronous copies: by hand, and beside every launch that an H200 was read of."""

from collections import Counter

import numpy as np
import pytest

from smemnb.laboratory.copies_probe import COPIES, readings
from smemnb.rules import async_copy

LANE = np.arange(32)

OFF = {  # wavefronts: what the hardware took, less what the rule says
    "copy16": {},
    "copy16_ca": {
        "source drawn 3": 5, "both drawn 0": -3, "both drawn 1": 2, "both drawn 2": 5,
        "both permuted 0": -2, "both permuted 4": -1, "both permuted 5": 2, "both permuted 6": -2,
        "lines 2": 1, "lines 5": -1, "all drawn 0": -1, "all drawn 1": 1, "all drawn 2": 1,
    },
    "copy8": {
        "source drawn 3": 3, "both drawn 0": -3, "both drawn 2": 1, "both drawn 3": 2,
        "both permuted 3": -1, "both permuted 5": -1, "both permuted 6": -1, "both permuted 7": -2,
        "lines 0": -1, "lines 4": -1, "lines 5": 2, "all drawn 0": -1, "all drawn 1": -1,
    },
    "copy4": {"source drawn 3": 1, "both drawn 1": -1, "all drawn 1": -1},
}  # fmt: skip


def beside(copy):
    """Of each pattern: its name, both counts of the hardware and of the rule, and `settled`."""
    mine = [one for one in readings() if one.pattern.copy == copy]
    words, past = COPIES[copy]
    place, source, active, present = (
        np.stack([getattr(one.pattern, name) for one in mine])
        for name in ("place", "source", "active", "present")
    )
    width = 4 * words
    how = {"width": width, "past_l1": past, "copying": active != 0, "reading": present != 0}
    found = [
        rule(place * width, source * width, **how).tolist()
        for rule in (async_copy.wavefronts, async_copy.sectors, async_copy.settled)
    ]
    return [
        (one.pattern.name, (one.wavefronts, one.sectors), (waves, sectors), settled)
        for one, waves, sectors, settled in zip(mine, *found, strict=True)
    ]


@pytest.mark.parametrize("copy, launches", [
    ("copy16", 95), ("copy16_ca", 103), ("copy8", 103), ("copy4", 103),
])  # fmt: skip
def test_beside_the_hardware(copy, launches):
    """Equal in every launch but those of `OFF`, and each of these by as much as it says."""
    rows = beside(copy)
    assert len(rows) == launches
    off = {name: hardware[0] - rule[0] for name, hardware, rule, _ in rows}
    assert {name: by for name, by in off.items() if by} == OFF[copy]
    sectors = {name for name, hardware, rule, _ in rows if hardware[1] != rule[1]}
    assert sectors == ({"place * 32"} if copy == "copy16" else set())


def test_settled():
    """All settled launches through L1 are equal; of the others more than half are not."""
    counted = Counter(
        (settled, hardware[0] == rule[0])
        for copy in ("copy16_ca", "copy8", "copy4")
        for _, hardware, rule, settled in beside(copy)
    )
    assert counted == {(True, True): 248, (False, True): 32, (False, False): 29}


@pytest.mark.parametrize("to, source, how, expected", [
    (LANE * 16, LANE * 16, {"width": 16, "past_l1": True}, (0, 16)),
    (LANE * 128, LANE * 16, {"width": 16, "past_l1": True}, (0, 32)),  # a sector of its own each
    ((LANE ^ (LANE >> 3)) * 16, LANE * 16, {"width": 16, "past_l1": True}, (0, 16)),
    (LANE * 16, 0 * LANE, {"width": 16, "past_l1": True}, (0, 16)),
    (LANE * 16, LANE * 16, {"width": 16, "past_l1": True, "reading": LANE < 16}, (2, 8)),
    (LANE * 16, LANE * 16, {"width": 16}, (4, 16)),
    (LANE * 4, LANE * 4, {"width": 4}, (1, 4)),
    (LANE * 8, LANE * 4, {"width": 4}, (2, 4)),  # two lanes to a bank of the tile
    (LANE * 4, LANE * 8, {"width": 4}, (2, 8)),  # two lanes in a bank of L1
    (LANE * 4, 0 * LANE, {"width": 4}, (32, 1)),  # one word, which lanes do not share
    (LANE * 4, LANE * 132, {"width": 4}, (8, 32)),  # 32 lines, four at a time
    (LANE * 4, LANE * 4, {"width": 4, "reading": LANE % 2 == 0}, (2, 4)),
    (LANE * 4, LANE * 4, {"width": 4, "copying": LANE < 0}, (0, 0)),
])  # fmt: skip
def test_by_hand(to, source, how, expected):
    """Wavefronts and sectors of one request."""
    counts = async_copy.wavefronts(to, source, **how), async_copy.sectors(to, source, **how)
    assert tuple(map(int, counts)) == expected


def test_many_at_once():
    """Requests do not see each other: a thousand drawn ones, together and one by one."""
    random = np.random.default_rng(3)
    to, source = random.integers(0, 256, (2, 600, 32)) * 8
    takes, reads = random.random((2, 600, 32)) < 0.8
    how = [{"copying": takes[at], "reading": reads[at]} for at in range(600)]
    for rule in (async_copy.wavefronts, async_copy.sectors, async_copy.settled):
        together = rule(to, source, width=8, copying=takes, reading=reads).tolist()
        alone = [rule(to[at], source[at], width=8, **how[at]).item() for at in range(600)]
        assert together == alone


@pytest.mark.parametrize("to, source, how, error", [
    (LANE * 2, LANE * 4, {"width": 2}, ValueError),
    (LANE * 4, LANE * 4, {"width": 4, "past_l1": True}, ValueError),
    (LANE * 4, LANE * 8, {"width": 8}, ValueError),
    (LANE * 8, LANE * 4, {"width": 8}, ValueError),
    (LANE * 4.0, LANE * 4, {"width": 4}, TypeError),
    (LANE * 4, LANE * 4, {"width": 4, "reading": LANE}, TypeError),
    (np.arange(31) * 4, np.arange(31) * 4, {"width": 4}, ValueError),
])  # fmt: skip
def test_refused(to, source, how, error):
    """What no copy is."""
    with pytest.raises(error):
        async_copy.wavefronts(to, source, **how)
