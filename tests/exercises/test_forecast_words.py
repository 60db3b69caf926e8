"""The rule behind a count, in words: what of it is said at first, and what from the second try on.

Held are the numbers of each text, in order of the alphabet; never its wording.
"""

import numpy as np
import pytest

from smemnb.exercises.forecasts.words import FOLLOWS, because, rule, slip
from smemnb.rules import bank, sector
from smemnb.tracing.model import AccessRow
from smemnb.tracing.patterns import AccessPatterns, Pattern
from tests.facts import facts

LANE = np.arange(32)
ALL = np.ones(32, bool)


def row(requests, cost, *, kind="load", space="shared", width=4, lanes=None):
    """A row of a trace with these counts."""
    shared = space == "shared"
    return AccessRow(
        line=3,
        column=4,
        function="kernel",
        source="",
        text="x[i]",
        kind=kind,
        space=space,
        array="x",
        dtype="float32",
        width=width,
        requests=requests,
        lanes=32 * requests if lanes is None else lanes,
        wavefronts=cost if shared else 0,
        ideal=0,
        extra=0,
        ways=0,
        multicast=0,
        sectors=0 if shared else cost,
        ideal_sectors=0,
    )


def alike(address, times=6, *, active=ALL, kind="load", space="shared", width=4):
    """An access whose requests all lie as this one."""
    address = np.asarray(address)
    if space == "shared":
        each = int(bank.wavefronts(address, width=width, active=active, kind=kind))
    else:
        each = int(sector.sectors(address, width=width, active=active))
    pattern = Pattern(tuple(address.tolist()), tuple(active.tolist()), times, each)
    of = row(times, times * each, kind=kind, space=space, width=width, lanes=times * active.sum())
    return AccessPatterns(of, (pattern,), times, (1,) * times)


def said(found, column, *, told):
    return facts(" ".join(because(found.row, column, found, told=told)))


def numbers(text):
    return sorted(text.split())


@pytest.mark.parametrize(
    ("address", "first", "told"),
    [
        (LANE * 4, "", "1 6 1 6"),
        (LANE * 0, "", "1 6 1 6"),
        (LANE * 128, "32 0 1 0", "32 0 1 0 32 32 6 32 192"),
        (LANE * 8, "2 0 16 0", "2 0 16 0 2 2 6 2 12"),
        (LANE * 132, "33", "33 1 6 1 6"),
        (LANE // 8 * 128 + LANE % 8 * 4, "8 8 32 0 8 0", "8 8 32 0 8 0 4 4 6 4 24"),
        (LANE // 4 * 4, "4 4 1", "4 4 1 1 6 1 6"),
        (LANE % 16 * 4, "16 16", "16 16 1 6 1 6"),
        ((LANE ^ 1) * 4, "2 2 2", "2 2 2 1 6 1 6"),
        (LANE * LANE % 32 * 4, "1 2 3 1 4 9 0", "1 2 3 1 4 9 0 1 6 1 6"),
    ],
    ids="row same stride32 stride2 pitch33 eights multicast again swapped squares".split(),
)
def test_banks(address, first, told):
    """How lanes lie and two of them that clash; told, the words of the bank, and the sum."""
    found = alike(address)
    assert said(found, "wavefronts", told=False) == numbers(first)
    assert said(found, "wavefronts", told=True) == numbers(told)


@pytest.mark.parametrize(
    ("address", "width", "kind", "first", "told"),
    [
        (LANE * 8, 8, "load", "8 2 16", "8 2 16 2 6 2 12"),
        (LANE // 2 * 8, 8, "load", "2 8 2 2 8", "2 8 2 2 8 1 6 1 6"),
        (LANE // 2 * 8, 8, "store", "2 8 2 2 8 2 16", "2 8 2 2 8 2 16 2 6 2 12"),
        (LANE * 16, 16, "load", "16 4 8", "16 4 8 4 6 4 24"),
        (LANE * 256, 8, "load", "64 8 2 16 0 1 0", "64 8 2 16 0 1 0 16 32 6 32 192"),
        (LANE // 2 * 256, 8, "load", "2 8 2 64 8 0 2 0", "2 8 2 64 8 0 2 0 16 16 6 16 96"),
    ],
    ids="doubles paired paired_store quads column paired_column".split(),
)
def test_parts_of_wide_accesses(address, width, kind, first, told):
    """8 and 16 bytes per lane are served in parts of 16 and 8 lanes, in pairs twice as many."""
    found = alike(address, width=width, kind=kind)
    assert said(found, "wavefronts", told=False) == numbers(first)
    assert said(found, "wavefronts", told=True) == numbers(told)


@pytest.mark.parametrize(
    ("kind", "address", "told"),
    [
        ("atomic_add", LANE % 4 * 4, "4 4 0 8 8 6 8 48"),
        ("atomic_increment", LANE % 4 * 4, "4 4 1 6 1 6"),
        ("atomic_cas", LANE % 4 * 4, "4 4 0 8 16 6 16 96"),
    ],
)
def test_atomics(kind, address, told):
    """Told, the lanes of the busiest bank; each kind has a rule of its own."""
    found = alike(address, kind=kind)
    assert said(found, "wavefronts", told=True) == numbers(told)
    assert len({rule(row(1, 1, kind=one), "wavefronts") for one in ("load", kind)}) == 2


@pytest.mark.parametrize(
    ("address", "width", "first", "told"),
    [
        (256 + LANE * 4, 4, "128 32", "128 32 4 6 4 24"),
        (260 + LANE * 4, 4, "128 4 32", "128 4 32 5 6 5 30"),
        (256 + LANE * 384, 4, "384 32", "384 32 32 6 32 192"),
        (256 + LANE * 8, 8, "256 32", "256 32 8 6 8 48"),
        (LANE * 0 + 64, 4, "4 32", "4 32 1 6 1 6"),
        (256 + LANE * 12, 4, "12 32", "12 32 12 6 12 72"),
        (256 + LANE // 16 * 384 + LANE % 16 * 4, 4, "16 16 384 32", "16 16 384 32 4 6 4 24"),
    ],
    ids="row misaligned column doubles same records halves".split(),
)
def test_sectors(address, width, first, told):
    """Distances, and how far from a sector's start the request begins; told, the sectors."""
    found = alike(address, space="global", width=width)
    assert said(found, "sectors", told=False) == numbers(first)
    assert said(found, "sectors", told=True) == numbers(told)


def test_few_lanes():
    """Guards leave lanes off: how many are active is said, of one lane alone nothing more."""
    five = alike(LANE * 128, active=LANE < 5)
    assert said(five, "wavefronts", told=True) == numbers("5 32 0 1 0 5 5 6 5 30")
    one = alike(LANE * 128, active=LANE == 7)
    assert said(one, "wavefronts", told=True) == numbers("1 6 1 6")
    assert said(five, "requests", told=False) == ["32"]


def test_several_patterns():
    """The dearest forms are described with how many they are; the sum has them all."""
    of = row(10, 6 * 32 + 3 * 1 + 1 * 2)
    patterns = [
        Pattern(tuple(address.tolist()), (True,) * 32, times, each)
        for address, times, each in ((LANE * 128, 6, 32), (LANE * 4, 3, 1), (LANE * 8, 1, 2))
    ]
    found = AccessPatterns(of, tuple(patterns), 10, (1,) * 10)
    assert said(found, "wavefronts", told=False) == numbers("6 10 32 0 1 0 3 10 1")
    sums = "6 32 1 2 3 1 197"
    forms = "6 10 32 0 1 0 32 32 3 10 1 1"
    assert said(found, "wavefronts", told=True) == numbers(f"{sums} {forms}")


@pytest.mark.parametrize(
    ("made", "warps", "told"),
    [((1,) * 8, 8, "8 8 8"), ((4,) * 2, 8, "2 8 4 8"), ((1, 2, 2, 3), 4, "4 4 1 3 8")],
    ids=["every warp", "some, in a loop", "unequal loops"],
)
def test_requests(made, warps, told):
    """How many warps come, how often; at first no number at all."""
    found = AccessPatterns(row(8, 8), (), warps, made)
    assert said(found, "requests", told=False) == []
    assert said(found, "requests", told=True) == numbers(told)


def test_unknown_patterns():
    """Where nothing is known of the requests, the count is said from the second try on."""
    of = row(6, 192)
    assert facts(" ".join(because(of, "wavefronts", None, told=False))) == []
    assert facts(" ".join(because(of, "wavefronts", None, told=True))) == ["192"]
    assert facts(" ".join(because(row(0, 0), "requests", None, told=True))) == []


@pytest.mark.parametrize(
    ("column", "given", "requests", "numbers_said"),
    [
        ("requests", 6144, 6144, ["32", "6144"]),
        ("requests", 32, 32, []),
        ("sectors", 4, 192, []),
        ("sectors", 192, 192, ["192"]),
        ("sectors", 128, 192, []),
    ],
)
def test_slips(column, given, requests, numbers_said):
    """What a wrong figure would be right for: lanes, one block, one request, one per request."""
    text = slip(row(192, 768, space="global"), column, given, requests, 6)
    assert text and facts(text) == numbers_said


def test_slip_that_follows():
    """Right per request of wrong requests; of a figure wrong for no known reason nothing."""
    of = row(192, 768, space="global")
    assert slip(of, "sectors", 24, 6, 6) == FOLLOWS
    assert slip(of, "sectors", 700, 192, 6) == ""
    assert slip(of, "requests", 191, 191, 6) == ""
    assert slip(of, "sectors", 700, None, 6) == ""
