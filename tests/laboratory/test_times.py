"""The kernels whose times are recorded: values in the engine, machine code, and the record."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from smemnb.compiled import resources
from smemnb.errors import SmemnbError
from smemnb.laboratory.times import recording
from smemnb.laboratory.times.cases import CASES, NAMES
from tests.compiled.programs import needs_machine_code
from tests.tiers import sampled


@pytest.mark.parametrize("case", sampled(CASES, 3, by=lambda case: case.kernel.__module__))
def test_values(case):
    """At its small size a kernel gives what NumPy gives."""
    grid, arguments = case.launch(case.small)
    _, before = case.launch(case.small)
    case.kernel[grid, case.block](*arguments)
    assert recording.equal(case, arguments[0], before)


def test_a_wrong_value_is_seen():
    """One element off by one."""
    case = next(one for one in CASES if one.name == "timed_gather")
    _, arguments = case.launch(case.small)
    wrong = case.wanted(*arguments)
    assert recording.equal(case, wrong, arguments)
    wrong = wrong.copy()
    wrong[17] += 1
    assert not recording.equal(case, wrong, arguments)


def test_names():
    """Thirty and more kernels, whose names tell them apart in a profile."""
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) == 34
    assert all(name.startswith(NAMES) for name in names)
    assert recording.by_own_names({f"void a::{name}[abi:v1](...)": {} for name in names}) == (
        {name: {} for name in names}
    )


@needs_machine_code
@pytest.mark.parametrize(
    "case", sampled(CASES, 1, second=3, by=lambda case: case.kernel.__module__)
)
def test_machine_code(case):
    """Each compiles for cc 9.0 without a stack."""
    used = resources(case.kernel, case.launch(case.small)[1], (9, 0))
    assert used.local_bytes == 0
    assert 0 < used.registers <= 128


def test_record_is_read(tmp_path):
    """What `record` writes comes back, with stall reasons where there are any."""
    file = tmp_path / "times.json"
    read = {"ms": 1.5, "low_ms": 1.4, "high_ms": 1.6, "rounds": 7, "right": True, "registers": 32}
    waits = {"issue": 0.5, "warps": 8.0, "eligible": 1.0, "stall_wait": 2.0}
    whole = {"kernels": {"timed_a": read, "timed_b": read}, "waits": {"timed_a": waits}}
    file.write_text(json.dumps(whole))
    found = recording.load(file)
    assert found["timed_a"].waits.largest == [("wait", 2.0)]
    assert (found["timed_b"].ms, found["timed_b"].waits) == (1.5, None)
    file.write_text("{}")
    with pytest.raises(SmemnbError, match="holds no times"):
        recording.load(file)


REFUSED = {"timed_counts_global"}
"""Kernels that the model says it does not know the cost of: scattered atomics."""


@needs_machine_code
@pytest.mark.parametrize(
    "case", sampled(CASES, 0, second=2, by=lambda case: case.kernel.__module__)
)
def test_each_can_be_predicted(case):
    """At its small size, for the model knows all of its instructions."""
    from smemnb.laboratory.times.predicting import predicted_case

    if case.kernel.__name__ in REFUSED:
        with pytest.raises(SmemnbError, match="are atomics on scattered addresses"):
            predicted_case(case, case.small)
        return
    found = predicted_case(case, case.small)
    assert 0 < found.low_ms < found.ms < found.high_ms
    assert 0 < found.issue < 1


def test_the_recorded_times():
    """All kernels on an H100, with the right values and their stall reasons."""
    file = files("smemnb.measure.recorded") / "h100_times.json"
    found = recording.load(Path(str(file)))
    assert set(found) == {case.name for case in CASES}
    assert all(one.right and one.waits is not None for one in found.values())
    assert found["timed_ways_32"].waits.largest[0][0] == "mio_throttle"
