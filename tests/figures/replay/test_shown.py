"""What a replay prints, draws, and hands to a page."""

import inspect
import io
import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import smemnb
from smemnb.errors import SmemnbError
from smemnb.figures.explorer.widget import INSTALL, VIEW
from smemnb.figures.replay import module_text, page, style_text
from smemnb.figures.replay.state import ELEMENTS, packed
from smemnb.figures.replay.still import WRITTEN, Panel, _high, _side, panels, still
from smemnb.figures.replay.words import lines_of, order_explained
from smemnb.figures.sheet import SERIES
from tests.facts import facts
from tests.figures.replay.kernels import (
    bare,
    line_of,
    long_walk,
    moved_up,
    product,
    tall,
    waits_elsewhere,
    warp_waits,
)

FULL, READ = line_of(product, "# both tiles are full"), line_of(product, "# everyone has read")


def recorded(depth=16, **how):
    a = np.arange(8 * depth, dtype=np.float32).reshape(8, depth)
    b = np.arange(depth * 8, dtype=np.float32).reshape(depth, 8) - 9
    return smemnb.replay(product, **how)[1, (8, 8)](np.zeros((8, 8), np.float32), a, b)


@pytest.fixture(scope="module")
def found():
    return recorded(without=FULL)


@pytest.fixture(scope="module")
def long():
    return recorded(depth=64)


# --- text ----------------------------------------------------------------------------------------


def test_lines(found):
    """Per phase each line with its elements, and how many a warp of them touched."""
    said = [
        (one.line - FULL, one.kind, one.array, one.elements, one.warps, one.each)
        for one in lines_of(found.without(None), 1)
    ]
    assert said == [
        (2, "load", "a_tile", 64, (0, 1), 256),
        (2, "load", "b_tile", 64, (0, 1), 256),
    ]


def test_text(found):
    """The run without the barrier, its stale reads, the first of them, the other runs."""
    said = repr(found)
    first = found.run.stale[0]
    assert f"line {first.line}, thread {first.thread[:2]}" in said
    for run in found.runs:
        assert str(run.stale_count or "no stale read") in said
    assert said == repr(recorded(without=FULL))
    assert re.findall(r"0x|/|\.py\b", said) == []


def test_long_runs(long):
    """Of many phases the first are printed."""
    said = repr(long)
    assert len(said.splitlines()) < 45
    assert facts("6 17") == facts(next(one for one in said.splitlines() if "phases" in one))


def block_of(kernel, threads):
    inp = np.arange(threads, dtype=np.float32)
    return smemnb.replay(kernel)[1, threads](np.zeros_like(inp), inp)


def test_without_barriers():
    """A kernel that has none: this is said, and what its reads are compared with."""
    found = block_of(bare, 128)
    assert found.run.stale_count
    for said in (repr(found), found.still.text, found.still.alt, str(found.state)):
        assert "no barriers" in said and "with all barriers" not in said
    flat = " ".join(repr(found).split())
    assert "; in lockstep order it is as thread" in flat
    for said in (flat, found.state["runs"][0]["how"]):
        assert "another store than in lockstep order" in said


@pytest.mark.parametrize("kernel", [waits_elsewhere, moved_up])
def test_with_barriers(kernel):
    """A barrier in a device function is one."""
    said = repr(block_of(kernel, 64))
    assert "with all barriers" in said and "no barriers" not in said


INSIDE = "no race inside a warp"


def on_one_line(found):
    return " ".join(repr(found).split())


def test_race_inside_a_warp():
    """No read is stale where only lanes of one warp race: the text and the page send to trace."""
    for kernel, threads in ((bare, 32), (moved_up, 64)):
        found = block_of(kernel, threads)
        assert not found.run.stale_count
        for said in (on_one_line(found), " ".join(found.state["runs"][0]["notes"])):
            assert INSIDE in said and "trace" in said


def test_no_race_inside_a_warp(found, long):
    """It is said only where lanes of a warp touch what others of it store, or may be stale."""
    ordered = (block_of(waits_elsewhere, 64), block_of(warp_waits, 64))
    for said in map(on_one_line, (found, long, *ordered)):
        assert INSIDE not in said


# --- picture -------------------------------------------------------------------------------------


def test_panels(found):
    """At the first stale read half of the tile is missing; at the barrier all of it is there."""
    drawn = {(one.moment, one.name): one for one in panels(found.run)}
    before, after = [one for one in drawn.values() if one.name == "b_tile"][:2]
    assert (before.warps == np.repeat([-1, 1], 32).reshape(8, 8)).all()
    assert (after.warps == np.repeat([0, 1], 32).reshape(8, 8)).all()
    assert before.stale == after.stale == tuple((k, x) for k in range(4) for x in range(8))
    assert all(one.stale == () for one in drawn.values() if one.name == "a_tile")


def test_still(found):
    """Text first, and a picture with a sentence for those who do not see it."""
    forms = found._repr_mimebundle_()
    assert set(forms) == {"text/plain", "text/html"}
    html = forms["text/html"]
    assert html.count("data:image/png;base64,") == html.count("alt=") == 1
    assert str(found.run.stale_count) in html and "<script" not in html


def test_phases_that_are_not_drawn(found, long):
    """The picture's text and its sentence say how many; nothing is said where all are drawn."""
    for run, drawn, said in (
        (long.run, {0, 1, 2}, "14 phases of 17 not drawn"),
        (found.run, {0, 1}, "1 phase of 3 not drawn"),  # the first stale read, and two ends
    ):
        assert {one.phase for one in panels(run)} == drawn
        assert [one for one in still(run).text.splitlines() if "drawn" in one] == [said]
        assert f"at the end of {len(drawn)} phases ({said})," in still(run).alt
    whole = still(smemnb.replay(long_walk)[1, 64](np.zeros(64, np.int32), 1).run)
    assert "at the end of 2 phases," in whole.alt
    assert "drawn" not in whole.alt + whole.text


def test_writes_of_a_global_array():
    """What a phase writes has a colour of its own, not the hatch of what nobody has written."""
    picture = still(smemnb.replay(long_walk)[1, 64](np.zeros(64, np.int32), 1).run).png
    colours = np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"))
    written = (colours == [int(SERIES[WRITTEN][at : at + 2], 16) for at in (1, 3, 5)]).all(axis=2)
    in_legend = 24 * 24  # dots
    assert written.sum() > 3 * in_legend


def test_still_of_one_dimension():
    """An array of one dimension is drawn in rows of 32."""
    run = smemnb.replay(long_walk)[1, 64](np.zeros(64, np.int32), 2).run
    assert {(one.rows, one.cols) for one in panels(run)} == {(2, 32)}


def test_few_rows_are_high_enough_to_be_told_apart():
    """Three stages of 64 elements: 14 pixels each, where an element is 4 pixels wide."""
    none = np.full((3, 64), -1)
    stages = Panel("phase 1", 0, "stages", 3, 64, none, (), none > 0)
    for panel, size in (
        (stages, (4, 14)),
        (stages._replace(rows=64), (4, 4)),
        (stages._replace(rows=8, cols=8), (32, 32)),
    ):
        assert (_side(panel), _high(panel)) == size


def test_still_of_a_large_array():
    """Of a large array a part is drawn, and named: that with the stale elements."""
    line = line_of(tall, "syncthreads")
    found = smemnb.replay(tall, without=line)[1, 64](np.zeros(64, np.float32))
    first, last = panels(found.run)
    assert facts(first.name) == facts(last.name) == facts("0 63 0 1")
    assert first.stale == last.stale == tuple((row, 1) for row in range(32, 64))
    assert (first.warps == -1).all()
    assert (last.warps[32:, 1] == 0).all() and (last.warps == -1).sum() == 96


# --- page ----------------------------------------------------------------------------------------


def unpacked(numbers):
    if isinstance(numbers, list):
        return numbers
    return [numbers["from"] + at * numbers["by"] for at in range(numbers["times"])]


def test_state(found):
    """The page gets the events of each run, with lanes, elements, values and stale positions."""
    state = json.loads(json.dumps(found.state))
    assert [run["without"] for run in state["runs"]] == [None, FULL, READ]
    assert state["run"] == 1
    for run, given in zip(found.runs, state["runs"], strict=True):
        assert [list(step) for step in run.steps] == given["steps"]
        for number, event in enumerate(run.events):
            line, kind, tile, lanes, pattern, stale, sentence, values = given["events"][number]
            elements = state["patterns"][pattern]
            assert (line, kind, tile) == (event.line, event.kind, event.tile)
            assert (list(range(32)) if lanes is None else unpacked(lanes)) == event.lanes.tolist()
            assert unpacked(elements) == event.elements.tolist()
            bad = run.stale_at.get(number)
            assert (stale is None) == (bad is None) == (sentence == "")
            assert bad is None or unpacked(stale) == bad.tolist()
            if event.kind == "store" and event.values is not None:
                assert values == event.values.tolist()
    lines, first = inspect.getsourcelines(product.py_func)
    assert list(state["lines"]) == [str(first + at) for at in range(len(lines))]
    assert [one.strip() for one in state["lines"].values()] == [one.strip() for one in lines]
    assert state["lines"][str(FULL)].lstrip(" ").startswith("cuda.syncthreads()")


def test_order_explained(found):
    """The order of warps of each run, for a reader who meets the word the first time."""
    run = found.run
    said = [order_explained(replace(run, order=order, seed=3)) for order in ("reversed", "random")]
    assert "the last one first" in said[0] and facts(said[0]) == []
    assert facts(said[1]) == ["3"]
    assert [one["how"] for one in found.state["runs"]] == [
        order_explained(one) for one in found.runs
    ]


def test_packed():
    """Numbers come back as they were."""
    rng = np.random.default_rng(3)
    for numbers in ([], [4], [1, 2], [0, 1, 2, 3], [5, 5, 5], [9, 6, 3], rng.integers(0, 9, 32)):
        assert unpacked(packed(np.array(numbers, np.int64))) == list(numbers)


@pytest.mark.exhaustive
def test_large_runs_on_the_page():
    """Whole steps up to the limit are on the page, and the notes say so."""
    found = smemnb.replay(long_walk)[1, 64](np.zeros(64, np.int32), 2000)
    (run,) = [run for run in found.state["runs"] if run["without"] is None]
    patterns = [len(unpacked(one)) for one in found.state["patterns"]]
    assert sum(patterns[event[4]] for event in run["events"]) <= ELEMENTS
    assert len(run["steps"]) == ELEMENTS // 32
    assert any(f"{len(run['steps']):,}" in note for note in run["notes"])


def test_page(found):
    """Nothing is loaded from elsewhere or evaluated; a source line cannot end the script."""
    text = page({**found.state, "notes": ["</script><script>alert(1)</script>"]})
    assert text.count("<script") == 2
    assert re.findall(r"^\s*import .*|\bfetch\(|https?://|\bsrc=|\bhref=", text) == []
    code = re.sub(r"//.*", "", module_text())
    banned = r"\beval\b|\bFunction\b|innerHTML|outerHTML|document\.write"
    assert re.findall(banned, code) == []
    assert found.page().count("<img") == 1


@pytest.mark.parametrize(
    "setting", ["prefers-color-scheme: dark", "prefers-reduced-motion: reduce"]
)
def test_style(setting):
    assert setting in style_text()


# --- widget --------------------------------------------------------------------------------------


def test_live(found, monkeypatch):
    """Where anywidget is, the view comes on top of picture and text."""
    pytest.importorskip("anywidget")
    monkeypatch.delenv("SMEMNB_STILL", raising=False)
    forms = found._repr_mimebundle_()
    assert set(forms) == {"text/plain", "text/html", VIEW}
    assert forms[VIEW]["model_id"] == found.widget.model_id
    assert found.widget.state == found.state
    assert "export default" in found.widget._esm and ".smr" in found.widget._css


def test_without_anywidget(monkeypatch):
    """Without anywidget there is the still, and what to install; nothing of it is stored."""
    stored = recorded()._repr_mimebundle_()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    found = recorded()
    assert found._repr_mimebundle_() == stored
    monkeypatch.delenv("SMEMNB_STILL", raising=False)
    forms = found._repr_mimebundle_()
    assert set(forms) == {"text/plain", "text/html"}
    assert INSTALL in forms["text/plain"]
    with pytest.raises(SmemnbError, match="anywidget"):
        _ = found.widget
