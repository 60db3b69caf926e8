"""The recorded counter of conflicts, against what the two counters of wavefronts leave over."""

import json

import pytest

from smemnb.errors import SmemnbError
from smemnb.laboratory import conflict_counter
from smemnb.measure import readings


def test_conflicts_are_passes_lost_in_arbitration():
    """In each launch they are what the hardware counted beyond patched code; never 0."""
    launches = conflict_counter.clean_kernel()
    assert len(launches) == conflict_counter.LAUNCHES
    for one in launches:
        assert one.conflicts == one.hardware - one.patched > 0


def test_patched_code_counts_what_the_model_says():
    """The counter that is compared everywhere is the model's number in every launch."""
    expected = readings.predicted(conflict_counter.KERNEL)["shared_load_wavefronts"]
    assert {one.patched for one in conflict_counter.clean_kernel()} == {expected}


def test_a_recording_says_where_it_is_from():
    """GPU, driver, versions, date and command stand in the file."""
    kept = conflict_counter._file()
    assert {"gpu", "driver", "versions", "date", "command", "kernel"} <= set(kept)
    assert kept["metrics"] == conflict_counter.METRICS


def test_nothing_is_written_without_the_profiler(monkeypatch, tmp_path):
    """The refusal names the command; a recording that is there stays."""
    file = tmp_path / "kept.json"
    file.write_text(json.dumps("kept"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SmemnbError, match="`ncu` is not on the PATH"):
        conflict_counter.record(file)
    assert json.loads(file.read_text()) == "kept"
