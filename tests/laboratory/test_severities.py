"""Kernels that are wrong on purpose: the engine finds what is wrong, and the recorder survives."""

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import smemnb
from smemnb.errors import KernelStopped
from smemnb.laboratory import severities
from smemnb.laboratory.severities.__main__ import main
from smemnb.laboratory.severities.everything import EXPERIMENTS, experiment
from smemnb.laboratory.severities.launching import launch
from smemnb.laboratory.severities.recording import load, outcome_of, read_text, record, watch
from smemnb.laboratory.severities.table import document
from smemnb.tracing.findings.kinds import KINDS

LAUNCHED, BACK = {"state": "launch", "number": 0}, {"state": "back", "number": 0, "wrong": 0}
WRONG = {"state": "back", "number": 1, "wrong": 3, "first": [17, 5, 9]}
READY = {"state": "ready"}
# kinds whose kernels no GPU has run yet
NOT_MEASURED = {"read_before_arrival", "missing_commit", "wrong_group", "overwritten_stage"}
NOT_MEASURED |= {"store_under_way", "overwritten_source"}


def test_each_kind_of_error_has_three_kernels():
    """And no two experiments share a name."""
    count = Counter(one.kind for one in EXPERIMENTS)
    errors = {name for name, kind in KINDS.items() if kind.severity == "error"}
    assert {name for name in errors if count[name] < 3} == set()
    assert len({one.name for one in EXPERIMENTS}) == len(EXPERIMENTS)


@pytest.mark.parametrize("one", EXPERIMENTS, ids=lambda one: one.name.replace(" ", "-"))
def test_the_engine_finds_it(one):
    """The kernel's own kind is among the findings; a control has no error at all."""
    try:
        trace = smemnb.trace(one.kernel)[one.grid, one.block](*one.make(0))
    except KernelStopped as stopped:
        trace = stopped.trace
    found = {finding.kind for finding in trace.findings}
    if one.kind:
        assert one.kind in found
    else:
        assert not any(KINDS[kind].severity == "error" for kind in found)


def test_what_is_right_has_the_shape_of_the_result():
    """Right values differ from the result before the launch, unless the launch is to fault."""
    for one in EXPERIMENTS:
        out, right = one.make(3)[0], one.right(*one.make(3))
        assert np.shape(right) == np.shape(out), one.name
    assert not np.array_equal(experiment("sum_that_never_began").make(0)[1], one.make(1)[1])


@pytest.mark.parametrize(
    ("lines", "hung", "outcome", "launches", "wrong"),
    [
        ([READY, LAUNCHED, BACK], False, "right values", 1, 0),
        ([READY, LAUNCHED, BACK, LAUNCHED, WRONG], False, "wrong values", 2, 1),
        ([READY, LAUNCHED, BACK, LAUNCHED], True, "hang", 1, 0),
        ([READY, LAUNCHED], False, "fault", 0, 0),  # the process died
        ([READY, LAUNCHED, {"state": "fault", "said": "ILLEGAL"}], False, "fault", 0, 0),
        ([READY, LAUNCHED, {"state": "hang", "said": "never ends"}], False, "hang", 0, 0),
        ([{"state": "refused", "said": "no library"}], False, "not run", 0, 0),
        ([READY], True, "not run", 0, 0),
        ([], True, "not run", 0, 0),
    ],
)
def test_outcome(lines, hung, outcome, launches, wrong):
    """The journal's last line, and whether the process was ended, say what came of it."""
    found = outcome_of("race", lines, hung=hung, code=-9 if hung else 0, said="")
    assert (found.outcome, found.launches, found.wrong) == (outcome, launches, wrong)
    assert found.first == ((17, 5, 9) if wrong else ())


def test_a_process_that_does_not_come_back_is_ended(tmp_path):
    """Its children too: the process has a group of its own."""
    journal = tmp_path / "journal"
    journal.write_text(json.dumps(READY) + "\n")
    process = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True
    )
    began = time.monotonic()
    assert watch(process, journal, began + 60, patience_s=0.2)
    assert time.monotonic() - began < 20
    assert process.returncode == -9


def test_nothing_is_launched_without_the_option(tmp_path, capsys):
    """The refusal names the option, and no file is written."""
    out = tmp_path / "file.json"
    assert main(["record", "--out", str(out)]) == 2
    assert main(["launch", "reversed_without_barrier", "--into", str(out)]) == 2
    assert not out.exists()
    assert "--launch-wrong-kernels" in capsys.readouterr().err


def test_journal(tmp_path):
    """A launch in the engine, where a counter that nobody zeroed is wrong every time."""
    launch("counter_that_nobody_zeroed", 2, tmp_path / "journal")
    lines = [json.loads(line) for line in (tmp_path / "journal").read_text().splitlines()]
    assert [line["state"] for line in lines] == ["ready", "launch", "back", "launch", "back"]
    assert [line["wrong"] for line in lines if line["state"] == "back"] == [256, 256]


def test_document():
    """SEVERITIES.md is what the recorded file and the experiments give."""
    path = Path(severities.__file__).with_name("SEVERITIES.md")
    assert path.read_text(encoding="utf-8") == document(load())


def test_recorded():
    """On the H200 each kind of error did harm, or every kernel of it says why it did not."""
    kept = load()
    assert kept.origin["gpu"] == "NVIDIA H200"
    names = {one.name for one in EXPERIMENTS}
    assert set(kept.experiments) <= names
    measured = [one for one in EXPERIMENTS if one.name in kept.experiments]
    unexplained = [
        one.name
        for one in measured
        if kept.experiments[one.name].outcome == "right values" and not one.hides
    ]
    assert unexplained == []
    assert {kept.experiments[one.name].outcome for one in measured} <= {
        "right values", "wrong values", "hang", "fault"
    }  # fmt: skip
    count = Counter(one.kind for one in measured)
    errors = {name for name, kind in KINDS.items() if kind.severity == "error"}
    assert {name for name in errors if count[name] < 3} == NOT_MEASURED
    harmless = {"exited_before_barrier", ""}
    assert {kept.experiments[one.name].outcome for one in measured if one.kind in harmless} == {
        "right values"
    }


@pytest.mark.exhaustive
def test_rehearsal(tmp_path, monkeypatch):
    """Two experiments in processes of their own, and the file that is read again."""
    monkeypatch.setenv("SMEMNB_DEVICE", "lockstep")
    names = ["the_rest_has_returned 33", "blocks_counted_without_atomics"]
    kept = record(tmp_path / "file.json", launches=2, names=names)
    assert {name: one.outcome for name, one in kept.experiments.items()} == {
        "the_rest_has_returned 33": "right values",
        "blocks_counted_without_atomics": "wrong values",
    }
    assert kept.experiments["blocks_counted_without_atomics"].first == (0, 1, 64)
    assert read_text((tmp_path / "file.json").read_text()) == kept
    more = record(tmp_path / "file.json", launches=1, names=["out"], onto=kept)
    assert more.experiments == kept.experiments
