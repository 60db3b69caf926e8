"""The live view in JupyterLab, which has ideas of its own about keys and themes."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests import browser
from tests.house.notebook_form import KERNELSPEC

pytestmark = [pytest.mark.browser, pytest.mark.slow]

IMPORTS = """import numpy as np, smemnb
from numba import cuda, float32"""
KERNEL = """@cuda.jit
def turn(out, inp):
    tile = cuda.shared.array((8, 8), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = inp[ty, tx]
    cuda.syncthreads()
    out[ty, tx] = tile[tx, ty]"""
CALL = "smemnb.replay(turn)[1, (8, 8)](np.zeros((8, 8), np.float32), np.ones((8, 8), np.float32))"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    for name in ("jupyterlab", "anywidget"):
        pytest.importorskip(name)
    folder = tmp_path_factory.mktemp("lab")
    cells = [new_code_cell(one) for one in (IMPORTS, KERNEL, CALL)]
    book = new_notebook(cells=cells, metadata={"kernelspec": KERNELSPEC})  # else Lab asks for one
    nbformat.write(book, folder / "replay.ipynb")
    with browser.lab(folder) as lab:
        yield lab.format("replay.ipynb")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_in_lab(chromium, address, theme):
    """The view is shown in the theme of JupyterLab, keys move it, and nothing is wrong."""
    errors = []
    dark = theme.endswith("Dark")
    # the system's preference is the other one
    context = chromium.new_context(color_scheme="light" if dark else "dark")
    tab = context.new_page()
    tab.on("console", lambda said: said.type == "error" and errors.append(said.text))
    browser.run_all(tab, address)
    tab.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme
    )
    tab.wait_for_selector(".smr[data-step='0']")
    cells = tab.locator(".jp-Cell").count()
    tab.get_by_label("line 6").uncheck()
    tab.get_by_role("button", name="Step on", exact=True).focus()
    for key in ("ArrowRight", "d", "d", "b"):  # a letter is no command of the notebook here
        tab.keyboard.press(key)
    root = tab.locator(".smr")
    assert [root.get_attribute(f"data-{one}") for one in ("step", "stale")] == ["1", "16"]
    assert tab.locator(".jp-Cell").count() == cells
    tab.wait_for_function("dark => document.body.dataset.jpThemeLight === String(!dark)", arg=dark)
    red = root.evaluate("e => getComputedStyle(e).getPropertyValue('--red')")
    assert red == ("#ff8a3c" if dark else "#b34700")
    assert errors == []
    context.close()
