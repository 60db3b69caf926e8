"""Links to the glossary in a learner's JupyterLab: they open it rendered, at the word."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from smemnb.cli.lab import SETTINGS, lay_out
from tests import browser
from tests.house.notebook_form import KERNELSPEC
from tests.house.notebook_style import GLOSSARY

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive, pytest.mark.slow]

NAME = "14_banks.ipynb"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A learner's copy of a made-up chapter, in JupyterLab with the settings of `smemnb lab`."""
    pytest.importorskip("jupyterlab")
    source, mine = (tmp_path_factory.mktemp(name) for name in ("notebooks", "mine"))
    text = "A [bank](../GLOSSARY.md#bank), and [more](../GLOSSARY.md#extra-wavefronts)."
    cells = [new_markdown_cell(text), new_code_cell("1")]
    book = new_notebook(cells=cells, metadata={"kernelspec": KERNELSPEC})
    nbformat.write(book, source / NAME)
    (source / GLOSSARY.name).write_bytes(GLOSSARY.read_bytes())
    lay_out(source, mine)
    copied = nbformat.read(mine / NAME, as_version=4)
    html = {"text/html": 'See <a href="GLOSSARY.md#wrapped-index">the index</a>.'}
    copied.cells[1].outputs = [new_output("display_data", data=html)]  # as a verdict's
    nbformat.write(copied, mine / NAME)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_CONFIG_PATH", str(SETTINGS))
        with browser.lab(mine) as lab:
            yield lab.format(NAME)


@pytest.mark.parametrize(
    ("words", "heading"),
    [("bank", "bank"), ("more", "extra wavefronts"), ("the index", "wrapped index")],
)
def test_a_link_opens_the_word(chromium, address, words, heading):
    """The preview comes, and the word's heading is in sight, which it is not without the link."""
    context = chromium.new_context(viewport={"width": 1200, "height": 800})
    tab = context.new_page()
    tab.goto(address)
    tab.locator(".jp-Notebook").get_by_role("link", name=words, exact=True).click()
    tab.wait_for_function(
        """heading => {
          const all = [...document.querySelectorAll(".jp-MarkdownViewer h3")];
          const one = all.find(h => h.textContent.replace("\u00b6", "").trim() === heading);
          const top = one?.getBoundingClientRect().top;
          return top >= 0 && top < innerHeight;
        }""",
        arg=heading,
        timeout=30_000,
    )
    assert tab.locator(".jp-FileEditor").count() == 0
    context.close()
