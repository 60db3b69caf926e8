"""The live view in JupyterLab, which has ideas of its own about keys and themes."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests import browser
from tests.house.notebook_form import KERNELSPEC

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    for name in ("jupyterlab", "anywidget"):
        pytest.importorskip(name)
    folder = tmp_path_factory.mktemp("lab")
    cells = [new_code_cell(one) for one in ("import smemnb", "smemnb.explore()")]
    book = new_notebook(cells=cells, metadata={"kernelspec": KERNELSPEC})  # else Lab asks for one
    nbformat.write(book, folder / "explorer.ipynb")
    with browser.lab(folder) as lab:
        yield lab.format("explorer.ipynb")


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
    summary = tab.locator(".smb-summary")
    summary.wait_for()
    assert summary.inner_text() == "32-way: 32 wavefronts, 31 extra"
    cells = tab.locator(".jp-Cell").count()
    tab.locator("[data-name=pad]").focus()
    tab.keyboard.press("ArrowRight")
    assert summary.inner_text() == "1-way: 1 wavefront, 0 extra"
    tab.locator(".smb-lane").nth(0).focus()
    for key in ("ArrowRight", "d", "d", "b"):  # a letter is no command of the notebook here
        tab.keyboard.press(key)
    assert tab.evaluate("document.activeElement.innerText") == "1"
    assert tab.locator(".jp-Cell").count() == cells
    tab.wait_for_function("dark => document.body.dataset.jpThemeLight === String(!dark)", arg=dark)
    free = tab.locator(".smb").evaluate("e => getComputedStyle(e).getPropertyValue('--smb-free')")
    assert free == ("#56b4e9" if dark else "#0063a0")
    assert errors == []
    context.close()
