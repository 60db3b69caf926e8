"""The probe of asynchronous copies: the shipped launches are its own, read as printed."""

import json

import numpy as np
import pytest

from smemnb.errors import SmemnbError
from smemnb.laboratory import copies_probe
from smemnb.laboratory.copies_probe import COPIES, METRICS, patterns, readings


def test_shipped_patterns():
    """Letter by letter what the module would launch today, in the same order."""
    made = [one for copy in COPIES for one in patterns(copy)]
    shipped = [one.pattern for one in readings()]
    assert [(one.copy, one.name) for one in shipped] == [(one.copy, one.name) for one in made]
    for one, other in zip(shipped, made, strict=True):
        for name in ("place", "source", "active", "present"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), one.name)


def _printed(copy, counters):
    """What ncu prints: its own lines, the head, units, a row per launch."""
    head = ",".join(f'"{name}"' for name in ("ID", *METRICS.values()))
    rows = [f'"{at}","{waves:,}","{sectors}"' for at, (waves, sectors) in enumerate(counters)]
    return "\n".join(["==PROF== Connected", head, '"","",""', *rows])


def test_build():
    """Counters go to their launches, thousands with a comma too."""
    each = {copy: [(134 + at, 1000 + at) for at, _ in enumerate(patterns(copy))] for copy in COPIES}
    each["copy4"][0] = (1234, 17)
    text = copies_probe.build([_printed(copy, each[copy]) for copy in COPIES], {"gpu": "none"})
    found = json.loads(text)
    assert found["gpu"] == "none"
    assert [tuple(one[-2:]) for one in found["launches"]] == [
        one for copy in COPIES for one in each[copy]
    ]


def test_another_number_of_launches():
    """A table that ends too early is refused."""
    with pytest.raises(SmemnbError, match="copy16.* 1 "):
        copies_probe.build([_printed(copy, [(134, 16)]) for copy in COPIES], {})


def test_command():
    """Both counters, and the launches of one copy."""
    asked = copies_probe.command(2)
    assert asked[asked.index("--metrics") + 1].split(",") == list(METRICS.values())
    assert asked[-2:] == ["launch", "2"]
