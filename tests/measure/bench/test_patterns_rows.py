"""The cases of row normalisation that `smemnb bench patterns rows` measures."""

import math
import re

from smemnb.measure.bench.patterns import rows
from smemnb.measure.bench.patterns.command import drawn


def test_cases():
    """No case twice; each stands beside a copy of as many bytes as its array has, both ways."""
    cases = rows.cases()
    names = [(one.operation, one.words) for one in cases]
    assert len(names) == len(set(names)) == 34
    for one in cases:
        shape = [
            int(extent) for extent in one.words.split(" axis")[0].split(" float")[0].split("x")
        ]
        assert one.copy
        assert one.moved == 2 * math.prod(shape) * (8 if "float64" in one.words else 4)


def test_drawn_cases():
    """A case depends on seed and number alone; all operations come, with 2^26 elements at most."""
    cases = drawn(rows.random_case, 60, 3)
    again = drawn(rows.random_case, 20, 3)
    assert [one.words for one in again] == [one.words for one in cases[:20]]
    assert {one.operation for one in cases} == set(rows.NAMES)
    assert max(one.moved for one in cases) <= 8 * rows.MOST
    along_columns = [one for one in cases if " axis 1" in one.words]
    assert {one.operation for one in along_columns} == {"softmax", "log_softmax"}
    assert all(re.fullmatch(r"\d+ x \d+( x \d+ axis 1)?", one.words) for one in cases)
