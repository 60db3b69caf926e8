"""The table of kinds: each has all that a report needs, and what is not in it is refused."""

import pytest

from smemnb.errors import SmemnbError
from smemnb.tracing.findings import KINDS, SEVERITIES, Kind, kind_of
from smemnb.tracing.findings.kinds import _table
from smemnb.tracing.findings.races import race as words
from tests.tracing.records import race, turned


@pytest.mark.parametrize("name", KINDS)
def test_complete(name):
    """A kind has a name for budgets and waivers, a severity, a singular unit, and its words."""
    kind = kind_of(name)
    assert kind.name == name and name.isidentifier() and name == name.lower()
    assert kind.severity in SEVERITIES
    assert kind.unit and not kind.unit.endswith("s")
    assert callable(kind.words) and kind.words.__name__ == name


def test_ranks():
    """Errors come before warnings, warnings before notes; an error is never a mere price."""
    assert SEVERITIES == ("error", "warning", "note")
    assert {kind.severity: kind.rank for kind in KINDS.values()} == {
        "error": 0,
        "warning": 1,
        "note": 2,
    }
    assert not [kind for kind in KINDS.values() if kind.price and kind.severity == "error"]


def test_unknown():
    """An observation of an unknown kind raises and lists the kinds; no report leaves it out."""
    with pytest.raises(SmemnbError, match=r"named 'rase'; there are: race, race_in_warp, "):
        turned([race("rase")])
    with pytest.raises(SmemnbError, match="named 'rase'"):
        kind_of("rase")


def test_twice():
    """Two kinds of one name are refused when the table is made."""
    twice = [Kind("race", "error", "element", words), Kind("race", "note", "element", words)]
    with pytest.raises(ValueError, match="two kinds of findings are named 'race'"):
        _table(twice)
