"""The view of a trace in a real browser: nothing is cut, nothing scrolls sideways."""

from dataclasses import replace

import numpy as np
import pytest

from smemnb.kernels.matmul.rungs.matmul_tiled import matmul_tiled
from smemnb.kernels.transpose.rungs.transpose_tiled import transpose_tiled
from smemnb.tracing import trace
from smemnb.tracing.report.view.page import page
from tests.tracing.records import race, turned
from tests.tracing.view_page import bare

pytestmark = pytest.mark.browser
CUT = """() => [...document.querySelectorAll("td, th, p, summary, code, span")]
  .filter(one => one.clientWidth && one.scrollWidth > one.clientWidth + 1)
  .map(one => one.textContent)"""
TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def traces():
    out, inp = np.zeros((64, 64), np.float32), np.ones((64, 64), np.float32)
    report = turned([race(), race("race_in_warp")])
    yield report
    text = report.texts["turn"]
    lines = [line.replace("tile", "a_tile_with_a_name" * 9) for line in text.lines]
    yield replace(report, texts={"turn": replace(text, lines=lines)})
    yield trace(transpose_tiled)[(2, 2), (32, 32)](out, inp)
    yield trace(matmul_tiled)[(4, 4), (16, 16)](out, inp, inp)


@pytest.fixture(scope="module")
def views():
    return [report._repr_html_() for report in traces()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("wide", [590, 1000])
def test_nothing_is_cut(chromium, views, scheme, wide):
    """Also with all details open, and in the pane that JupyterLab leaves at 1024 pixels."""
    tab = chromium.new_page(viewport={"width": wide, "height": 800}, color_scheme=scheme)
    for view in views:
        for html in (view, view.replace("<details>", "<details open>")):
            tab.set_content(page("a trace", html))
            assert tab.evaluate(TOO_WIDE) <= 0
            assert tab.evaluate(CUT) == []
    tab.close()


def test_without_styles(chromium, views):
    """A page that drops all styles has the same rows, none wider than the page (but for a word)."""
    tab = chromium.new_page(viewport={"width": 700, "height": 800})
    for view in (views[0], *views[2:]):
        tab.set_content(view)
        rows = tab.evaluate("document.querySelectorAll('tr').length")
        tab.set_content(bare(view))
        assert tab.evaluate("document.querySelectorAll('tr').length") == rows > 6
        assert tab.evaluate(TOO_WIDE) <= 0
    tab.close()


def test_bars_are_aligned(chromium, views):
    """The bars of a memory begin at one place, whatever the numbers before them."""
    tab = chromium.new_page(viewport={"width": 640, "height": 800})
    tab.set_content(page("a trace", views[2]))
    begins = tab.evaluate(
        """() => [...document.querySelectorAll("tr")]
          .flatMap(row => [...row.querySelectorAll("td > span")])
          .map(bar => Math.round(bar.getBoundingClientRect().left))"""
    )
    assert len(begins) == 4 and len(set(begins)) == 2
    tab.close()


def test_details_open_by_keyboard(chromium, views):
    """A line's details are reached and opened with keys."""
    tab = chromium.new_page()
    tab.set_content(page("a trace", views[2]))
    assert tab.locator("details[open]").count() == 0
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    assert tab.locator("details[open]").count() == 1
    assert "requests" in tab.locator("details[open]").inner_text()
    tab.close()
