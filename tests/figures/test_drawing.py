import io
import os
import subprocess
import sys
from base64 import b64decode

import matplotlib
import numpy as np
import pytest
from PIL import Image

from smemnb.figures import bank_map, tile_map
from smemnb.rules.layout import Padded, RowMajor, Xor

LANE = np.arange(32)
DRAWN = {
    "conflict": lambda: bank_map(LANE * 128, width=4, title="tile[tx, ty]"),
    "wide": lambda: bank_map(LANE // 2 * 64, width=16, active=LANE > 2),
    "nobody": lambda: bank_map(LANE * 4, width=4, active=LANE < 0),
    "xor": lambda: tile_map(Xor(32, 32)),
    "pad": lambda: tile_map(Padded(8, 8), highlight=("row", 7)),
    "large": lambda: tile_map(RowMajor(128, 64), highlight=("column", 40)),
}


@pytest.mark.parametrize("name", DRAWN)
def test_png(name):
    """A PNG of at most 40 KB that decodes to the width a notebook shows, with no metadata."""
    drawn = DRAWN[name]()
    picture = Image.open(io.BytesIO(drawn.png))
    picture.load()
    assert len(drawn.png) <= 40_000
    assert (picture.format, picture.width, picture.info) == ("PNG", drawn.width, {})


def test_png_knows_no_style():
    """The same bytes every time, whatever settings the reader has, and these are left alone."""
    first = DRAWN["pad"]().png
    with matplotlib.rc_context({"font.size": 30, "font.family": "serif", "text.usetex": True}):
        assert DRAWN["pad"]().png == first
        assert matplotlib.rcParams["font.size"] == 30


def test_notebook_bundle():
    """A notebook stores the picture, its alt text, and the numbers instead of <Figure size>."""
    drawn = DRAWN["pad"]()
    data, metadata = drawn._repr_mimebundle_()
    assert sorted(data) == ["image/png", "text/plain"]
    assert b64decode(data["image/png"]) == drawn.png
    assert data["text/plain"] == drawn.text == repr(drawn)
    assert metadata == {"image/png": {"alt": drawn.alt, "width": drawn.width}}


def test_matplotlib_comes_with_the_first_png(tmp_path):
    """Texts need no matplotlib; the first PNG of a new machine says nothing on stderr."""
    code = (
        "import sys, smemnb.figures as f\n"
        "drawn = f.bank_map(range(0, 128, 4), width=4)\n"
        "print(len(drawn.text.splitlines()), 'matplotlib' in sys.modules)\n"
        "print(len(drawn.png) > 1000, 'matplotlib.pyplot' in sys.modules)\n"
    )
    taken = tmp_path / "a-file"
    taken.write_text("no folder: matplotlib has to keep its fonts elsewhere")
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "MPLCONFIGDIR": str(taken)},
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert (run.stdout, run.stderr) == ("3 False\nTrue False\n", "")
