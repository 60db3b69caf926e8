"""Recorded results beside ladders that have changed since: a new rung, and one that is gone."""

from dataclasses import replace
from math import isnan

import pytest
from numba import cuda

from smemnb.cli import bench
from smemnb.hardware import chip
from smemnb.kernels.transpose import ladder as transposes
from smemnb.measure.bounds import table as bounds
from smemnb.measure.results import panels, shipped
from smemnb.measure.results.ladders import shipped_ladder
from smemnb.measure.results.present import of_now, rows_of_now
from tests.measure.results.test_store import FAILED, RUNG

SHAPE = (16384, 16384)


@cuda.jit
def transpose_made_up(out, inp):
    """out = inp.T.  A rung that landed before anyone had a GPU."""
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        out[col, row] = inp[row, col]


@pytest.fixture
def changed(monkeypatch):
    """The transposes without `transpose_rows8`, with a made-up rung after `transpose_naive`."""
    kept = [rung for rung in transposes.LADDER if rung.name != "transpose_rows8"]
    made_up = replace(transposes.LADDER[0], kernel=transpose_made_up, changed="made up")
    monkeypatch.setattr(transposes, "LADDER", (kept[0], made_up, *kept[1:]))


def names(rows):
    return [row.name for row in rows if row.role == "rung"]


def test_new_and_gone_rungs(changed):
    """The new one has a row without a time in its place; the gone one has none; the file has."""
    recorded = [row for row in shipped().rows if row.case == ("transpose", SHAPE, 4, 0)]
    rows = rows_of_now(recorded)
    assert names(rows) == [rung.name for rung in transposes.LADDER]
    (row,) = [row for row in rows if row.name == "transpose_made_up"]
    assert (row.ms, row.rate, row.right, row.failed) == (None, None, False, "not measured")
    assert "transpose_rows8" in names(recorded)
    assert [row for row in rows if row.role != "rung"] == [
        row for row in recorded if row.role != "rung"
    ]


def test_where_no_ladder_was_measured(changed):
    """A case with the choice alone, or with one rung, has no rungs that are missing."""
    assert rows_of_now([FAILED]) == (FAILED,)
    assert rows_of_now([RUNG]) == (RUNG,)
    assert rows_of_now([]) == ()


def test_shown(changed, capsys):
    """`smemnb bench --show` prints the new rung as not measured, and no row of the gone one."""
    assert bench.main(["--show"]) == 0
    said = capsys.readouterr().out.splitlines()
    lines = [line.split() for line in said if "transpose_made_up" in line]
    assert lines == [["transpose_made_up", "not", "measured"]]
    assert not [line for line in said if "transpose_rows8" in line]


def test_drawn(changed):
    """A chart has bars for what was measured."""
    drawn = panels.panels(of_now(shipped()))
    labels = {bar.label for bar in drawn[0].bars}
    assert {"transpose_naive", "transpose_fastest"} <= labels
    assert not {"transpose_made_up", "transpose_rows8"} & labels


def test_ladder_of_a_chapter(changed):
    """It says which rung was not measured; its rate is not a number."""
    found = shipped_ladder("transpose", SHAPE)
    read = {row.kernel for row in shipped().rows if row.case == ("transpose", SHAPE, 4, 0)}
    new = [rung.name for rung in transposes.LADDER if rung.name not in read]
    assert [row.name for row in found.missing] == new
    assert "transpose_made_up" in new
    assert isnan(found.rate("transpose_made_up"))
    lines = [line.split() for line in repr(found).splitlines()]
    assert ["transpose_made_up", "not", "measured"] in lines
    asked = shipped_ladder("transpose", SHAPE, ["transpose_naive", "transpose_tiled"])
    assert asked.missing == ()


def test_bounds_beside_readings(changed):
    """A bound without a reading says so."""
    read = {("transpose_naive", SHAPE): 3.9}
    found = list(bounds.lines(chip("H200"), read, compiled=False, only="made_up"))
    assert found[-1].split()[0] == "transpose_made_up"
    assert found[-1].endswith("not measured")


def test_shipped_as_it_is_now():
    """Nothing that was timed of rungs that there are is lost."""
    known = {rung.name for rung in transposes.LADDER}
    timed = [row for row in shipped().rows if row.operation == "transpose" and row.ms is not None]
    kept = {row.key for row in timed if row.role != "rung" or row.name in known}
    shown = [row for row in of_now(shipped()).rows if row.operation == "transpose"]
    assert {row.key for row in shown if row.ms is not None} == kept
