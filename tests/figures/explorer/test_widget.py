"""What a notebook gets: the live view where it can live, the still picture and text always."""

import io
import sys

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from PIL import Image

import smemnb
from smemnb.errors import SmemnbError
from smemnb.figures.explorer.still import chips, flight
from smemnb.figures.explorer.widget import INSTALL, VIEW
from smemnb.figures.service import service
from smemnb.rules.layout import Padded, Xor
from tests import notebooks_store
from tests.facts import facts
from tests.house.notebook_form import form_problems


@pytest.fixture
def live(monkeypatch):
    """An environment in which the view is wanted."""
    monkeypatch.delenv("SMEMNB_STILL", raising=False)


def test_still():
    """With SMEMNB_STILL=1, as in the tests, there is picture and text, and no view."""
    forms = smemnb.explore()._repr_mimebundle_()
    assert set(forms) == {"text/plain", "text/html"}
    html = forms["text/html"]
    assert html.count("data:image/png;base64,") == html.count("<img") == html.count("alt=") == 2
    assert "<script" not in html


def test_chips():
    """Every active lane is on one chip, at its bank and in its wavefront; lanes of a word share."""
    rng = np.random.default_rng(0)
    for width, kind in ((4, "load"), (1, "load"), (8, "store"), (16, "load"), (4, "atomic_cas")):
        for _ in range(20):
            address, active = rng.integers(0, 96, 32) * width, rng.random(32) < 0.8
            served = service(address, width=width, active=active, kind=kind)
            found = chips(served)
            lanes = [lane for chip in found for lane in chip.lanes]
            assert sorted(lanes) == np.flatnonzero(active).tolist()
            places = {(chip.bank, chip.wavefront) for chip in found}
            assert len(places) == len(found)  # none lies upon another
            last = max(chip.wavefront + chip.high - 1 for chip in found)
            assert last == served.wavefronts
            for chip in found:
                assert all(served.banks(lane)[0] == chip.bank for lane in chip.lanes)
                assert len(chip.lanes) == 1 or all(served.together[lane] for lane in chip.lanes)


def test_flight():
    """The picture of a request has its counts as text, and a title of any length."""
    served = service(np.arange(32) * 128, width=4)
    drawn = flight(served, "line 9, load " + "tile[very_long_name] " * 20)
    assert facts(drawn.text.splitlines()[1]) == facts("4 32 32 32 31") == facts(drawn.alt)
    assert Image.open(io.BytesIO(drawn.png)).width == 2 * drawn.width


def test_text():
    """The text has the numbers of the request that is shown first."""
    said = repr(smemnb.explore(Padded(32, 32))).splitlines()
    assert facts(said[1]) == facts("4 32 1 1 0")
    assert repr(smemnb.explore(Xor(32, 32))) == repr(smemnb.explore(Xor(32, 32)))


def test_live(live):
    """Where anywidget is, the view comes on top of the same picture and text."""
    pytest.importorskip("anywidget")
    explorer = smemnb.explore()
    forms = explorer._repr_mimebundle_()
    assert set(forms) == {"text/plain", "text/html", VIEW}
    assert forms[VIEW]["model_id"] == explorer.widget.model_id
    assert explorer.widget.state == explorer.state
    assert "export default" in explorer.widget._esm and ".smb" in explorer.widget._css


def test_without_anywidget(live, monkeypatch):
    """Without anywidget there is the still, and what to install."""
    monkeypatch.setitem(sys.modules, "anywidget", None)
    explorer = smemnb.explore()
    forms = explorer._repr_mimebundle_()
    assert set(forms) == {"text/plain", "text/html"}
    assert INSTALL in forms["text/plain"]
    assert "anywidget" in forms["text/html"] and "<img" in forms["text/html"]
    with pytest.raises(SmemnbError, match="anywidget"):
        _ = explorer.widget


@pytest.mark.exhaustive
def test_still_says_nothing_of_the_machine(monkeypatch):
    """What is stored is the same with and without anywidget."""
    before = smemnb.explore()._repr_mimebundle_()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    assert smemnb.explore()._repr_mimebundle_() == before


@pytest.mark.exhaustive
@pytest.mark.slow
def test_stored_notebook(tmp_path):
    """A stored chapter holds picture and text, no view and no id, the same bytes each time."""
    path = tmp_path / "10_tiny.ipynb"
    cells = ["import smemnb", "smemnb.explore()"]
    nbformat.write(new_notebook(cells=[new_code_cell(cell) for cell in cells]), path)
    notebooks_store.store(path, execute=True)
    first = path.read_bytes()
    (output,) = nbformat.read(path, as_version=4).cells[1].outputs
    assert set(output.data) == {"text/plain", "text/html"}
    assert list(form_problems(path)) == []
    assert b"widget" not in first
    notebooks_store.store(path, execute=True)
    assert path.read_bytes() == first
