"""The learner's copy in JupyterLab: chapters run whole, and what moves in them moves.

Nothing waits for a time to pass, and the live views are put below chapters that have run, so that
another chapter can have them wherever its text needs them.
"""

import json

import pytest

from tests import browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]

EXPLORE = "import smemnb\nsmemnb.explore()"
REPLAY = """import numpy as np
import smemnb
from numba import cuda, float32


@cuda.jit
def turn(out, inp):
    tile = cuda.shared.array((8, 8), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = inp[ty, tx]
    cuda.syncthreads()
    out[ty, tx] = tile[tx, ty]


smemnb.replay(turn)[1, (8, 8)](np.zeros((8, 8), np.float32), np.ones((8, 8), np.float32))"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A folder with a learner's copy, and the address of its pages."""
    for name in ("jupyterlab", "anywidget"):
        pytest.importorskip(name)
    folder = tmp_path_factory.mktemp("learner") / "mine"
    with browser.learners_lab(folder) as address:
        yield folder, address


@pytest.fixture(scope="module")
def window(chromium, copy):
    """JupyterLab in a tab, open at the contents page, and a list of what went wrong there."""
    errors = []
    context = chromium.new_context(viewport={"width": 1440, "height": 1000})
    context.set_default_timeout(browser.WAIT_MS)
    tab = context.new_page()
    browser.keep_errors(tab, errors)
    tab.goto(copy[1].format("CONTENTS.md"))
    yield tab, errors
    context.close()


@pytest.fixture
def tab(window):
    """The tab; nothing goes wrong in a test."""
    tab, errors = window
    errors.clear()
    yield tab
    assert errors == []


def run_whole(tab, name):
    """Run an open chapter: each of its code cells has run, and none raised."""
    browser.await_kernel(tab, name)
    assert browser.command(tab, "notebook:run-all-cells") is True
    code = [cell for cell in browser.cells(tab) if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [one for cell in code for one in cell["outputs"]]
    assert [one for one in outputs if one["output_type"] == "error"] == []
    assert outputs


def test_chapter_from_the_contents(tab):
    """A link of the contents page opens the first chapter, which runs from beginning to end."""
    tab.locator(".jp-RenderedMarkdown a[href*='10_threads.ipynb']").first.click()
    run_whole(tab, "10_threads.ipynb")


def test_explorer_below_a_chapter(tab):
    """A key moves the pad from 0 to 1: the page says 1 where it said 32; lanes light elements."""
    browser.command(tab, "docmanager:open", path="14_banks.ipynb")
    run_whole(tab, "14_banks.ipynb")
    browser.add_cell(tab, EXPLORE)
    explorer = tab.locator(".smb").last
    summary = explorer.locator(".smb-summary")
    assert summary.inner_text() == "32-way: 32 wavefronts, 31 extra"
    assert explorer.get_attribute("data-wavefronts") == "32"
    explorer.locator("[data-name=pad]").focus()
    tab.keyboard.press("ArrowRight")
    assert summary.inner_text() == "1-way: 1 wavefront, 0 extra"
    assert explorer.get_attribute("data-wavefronts") == "1"
    explorer.locator(".smb-lane").nth(5).hover()
    lit = explorer.locator(".smb-cell.smb-lit")
    assert lit.evaluate_all("all => all.map((e) => [e.dataset.row, e.dataset.col])") == [["5", "0"]]
    explorer.locator(".smb-lane").nth(5).focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    assert lit.evaluate_all("all => all.map((e) => e.dataset.row)") == ["7"]


def test_replay_below_a_chapter(tab):
    """Without the barrier, Play stops at the stale read; its elements are red; keys step on."""
    browser.command(tab, "docmanager:open", path="12_shared_memory.ipynb")
    run_whole(tab, "12_shared_memory.ipynb")
    browser.add_cell(tab, REPLAY)
    replay = tab.locator(".smr").last
    tile = replay.locator("canvas[data-tile=tile]")
    assert (replay.get_attribute("data-stale"), tile.get_attribute("data-stale")) == ("0", "0")
    replay.locator("input[type=checkbox]").uncheck()
    replay.get_by_role("button", name="Play", exact=True).click()
    tab.wait_for_selector(".smr[data-stale]:not([data-stale='0'])")
    replay.get_by_role("button", name="Play", exact=True).wait_for()  # it has stopped
    assert (replay.get_attribute("data-step"), replay.get_attribute("data-stale")) == ("1", "16")
    assert int(tile.get_attribute("data-stale")) == 16
    assert red_pixels(tile) > 0
    box = tile.bounding_box()
    at = {"x": box["width"] * 5.5 / 8, "y": box["height"] * 1.5 / 8}
    tile.hover(position=at)
    said = replay.locator(".smr-info").inner_text()
    assert said.startswith("tile[1, 5]: not yet written; read by thread ") and "STALE" in said
    replay.get_by_role("button", name="Step on", exact=True).focus()
    tab.keyboard.press("Home")
    assert (replay.get_attribute("data-step"), red_pixels(tile)) == ("0", 0)


def red_pixels(canvas):
    """How many pixels of a drawing have the colour of stale elements."""
    return canvas.evaluate(
        """e => {
          const red = getComputedStyle(e.closest(".smr")).getPropertyValue("--red").trim();
          const [r, g, b] = [1, 3, 5].map((at) => parseInt(red.slice(at, at + 2), 16));
          const data = e.getContext("2d").getImageData(0, 0, e.width, e.height).data;
          let found = 0;
          for (let at = 0; at < data.length; at += 4)
            found += data[at] === r && data[at + 1] === g && data[at + 2] === b;
          return found;
        }"""
    )


def test_saved_and_opened_again(tab, copy):
    """A saved page holds pictures and no views; opened again it shows them, and no lost widget."""
    folder, address = copy
    name = "24_checkpoint.ipynb"
    browser.command(tab, "docmanager:open", path=name)
    browser.await_kernel(tab, name)
    for source in (EXPLORE, REPLAY):
        browser.add_cell(tab, source)
    for live in (".smb", ".smr"):
        tab.locator(live).last.wait_for()
    browser.command(tab, "docmanager:save")
    saved = json.loads((folder / name).read_text("utf-8"))
    kinds = [set(one["data"]) for cell in saved["cells"][-2:] for one in cell["outputs"]]
    assert kinds == [{"text/plain", "text/html"}] * 2
    tab.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    browser.open_notebook(tab, address.format(name))
    shown = tab.locator(".jp-OutputArea-output", has=tab.locator("img"))
    assert [one["output_type"] for one in browser.cells(tab)[-1]["outputs"]] == ["execute_result"]
    for number, below in enumerate((2, 1)):
        tab.evaluate(
            """below => {
              const book = window.jupyterapp.shell.currentWidget.content;
              book.activeCellIndex = book.widgets.length - below;
              return book.scrollToCell(book.activeCell, "center");
            }""",
            below,
        )
        shown.nth(number).wait_for()
    assert tab.get_by_text("model not found").count() == 0
