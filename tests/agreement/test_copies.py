"""Cases of asynchronous copies: counts by hand, and what the machine code makes of them."""

import numpy as np
import pytest

from smemnb.laboratory.corpus.copies import CASES
from smemnb.measure.verify.machine_code import totals
from smemnb.measure.verify.predicted import counts, traced
from smemnb.tracing import trace
from tests.agreement.shipped import RECORDING, needs_recording
from tests.compiled.programs import needs_machine_code

BY_NAME = {case.name: case for case in CASES}
COPY = ("shared_copy_requests", "shared_copy_wavefronts", "global_load_requests",
        "global_load_sectors")  # fmt: skip


def of_copies(report):
    """Requests and wavefronts of what copies store, requests and sectors of what they read."""
    sums = dict.fromkeys(("stored", "wavefronts", "read", "sectors"), 0)
    for row in report.lines:
        if row.copy:
            sums["stored" if row.space == "shared" else "read"] += row.requests
            sums["wavefronts"] += row.wavefronts
            sums["sectors"] += row.sectors
    return tuple(sums.values())


def test_size():
    """More than thirty launches of one warp, under names of their own."""
    assert len(CASES) == len(BY_NAME) == 53
    assert {case.warps for case in CASES} == {1}


@pytest.mark.first(3)
@pytest.mark.parametrize("name, expected", [
    ("copy4_at neighbours", (1, 1, 1, 4)),
    ("copy4_at every second", (1, 2, 1, 4)),
    ("copy4_at every eighth", (1, 8, 1, 4)),
    ("copy4_at from every eighth", (1, 8, 1, 32)),
    ("copy4_at all are zeros", (1, 1, 0, 0)),
    ("copy4_at half are zeros", (1, 2, 1, 2)),
    ("copy8_at neighbours", (1, 2, 1, 8)),
    ("copy8_at every second", (1, 4, 1, 8)),
    ("copy8_at first half", (1, 1, 1, 4)),
    ("copy16_at neighbours", (1, 0, 1, 16)),
    ("copy16_at every second", (1, 0, 1, 32)),
    ("copy16_at every eighth", (1, 0, 1, 32)),
    ("copy16_at swizzled columns", (1, 0, 1, 32)),
    ("copy16_at half are zeros", (1, 2, 1, 8)),
    ("copy16_at one lane", (1, 0, 1, 1)),
    ("copy16_ca_at neighbours", (1, 4, 1, 16)),
    ("copy16_ca_at every second", (1, 8, 1, 16)),
    ("copy16_first_at none in half", (1, 2, 1, 8)),
])  # fmt: skip
def test_counts(name, expected):
    """Past L1 only zeros take wavefronts; through it both sides' banks do."""
    report = traced(BY_NAME[name])
    assert of_copies(report) == expected
    found = counts(report)  # where what copies read is among loads, as the counters have it
    assert (found["shared_copy_requests"], found["shared_copy_wavefronts"]) == expected[:2]
    assert (found["global_load_requests"], found["shared_store_requests"]) == (4 + expected[2], 64)


@needs_machine_code
@pytest.mark.parametrize("name", [
    "copy4_at scattered",
    "copy8_at every second is zeros",
    "copy16_at odd lanes",
    "copy16_ca_at half are zeros",
    "copy16_first_at none to three",
])  # fmt: skip
def test_machine_code(name):
    """LDGSTS does to both memories what the source says, value for value."""
    case = BY_NAME[name]
    args = case.arguments()
    found = trace(case.kernel)[case.grid, case.block](*args)
    source, compiled = counts(found), totals(found)
    assert {count: compiled[count] for count in COPY} == {count: source[count] for count in COPY}
    np.testing.assert_array_equal(found.as_compiled().arrays[0], args[0])


@needs_recording
def test_the_counters_of_an_h200():
    """Requests of both memories and sectors of all 53 launches, of the source and as compiled."""
    read = {case.name: RECORDING.cases[case.name] for case in CASES}
    for name, found in read.items():
        source, compiled, counters = counts(traced(BY_NAME[name])), found.compiled, found.counters
        for count in ("shared_copy_requests", "global_load_requests", "global_load_sectors"):
            assert source[count] == compiled[count] == counters[count], (name, count)
        assert source["shared_copy_wavefronts"] == compiled["shared_copy_wavefronts"], name
