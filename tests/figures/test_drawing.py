import io
import os
import re
import subprocess
import sys
from base64 import b64decode
from functools import cache
from html import unescape

import matplotlib
import numpy as np
import pytest
from IPython.core.formatters import DisplayFormatter
from PIL import Image

from smemnb.figures import (
    bank_map,
    grid_map,
    occupancy_map,
    product_map,
    register_map,
    sector_map,
    tile_map,
)
from smemnb.figures.sheet import GROUND
from smemnb.rules.layout import Padded, RowMajor, Xor

LANE = np.arange(32)
DRAWN = {
    "conflict": lambda: bank_map(LANE * 128, width=4, title="tile[tx, ty]"),
    "wide": lambda: bank_map(LANE // 2 * 64, width=16, active=LANE > 2),
    "nobody": lambda: bank_map(LANE * 4, width=4, active=LANE < 0),
    "xor": lambda: tile_map(Xor(32, 32)),
    "pad": lambda: tile_map(Padded(8, 8), highlight=("row", 7)),
    "large": lambda: tile_map(RowMajor(128, 64), highlight=("column", 40)),
    "grid": lambda: grid_map((3, 2), (32, 8), (12, 70), at=(2, 1), warp=1),
    "uncovered": lambda: grid_map(1, (16, 64), (100, 30)),
    "sectors": lambda: sector_map(LANE * 256, shape=(96, 64)),
    "nobody far": lambda: sector_map(LANE * 4, shape=(1, 32), active=LANE < 0),
    "product": lambda: product_map((70, 1, 33), (16, 16, 8), block=(0, 4), step=4),
    "registers": lambda: register_map((4, 4), (1, 2), thread=15),
    "no block": lambda: occupancy_map((7, 5), 1024, 128),
}


@cache
def drawn_once(name):
    """A drawing that several tests look at."""
    return DRAWN[name]()


@pytest.mark.first(2)
@pytest.mark.parametrize("name", DRAWN)
def test_png(name):
    """A PNG of two dots for each pixel that a notebook shows, with no metadata.

    At most 180 KB: 1,024 numbers on 32 colours take 166, and a chapter may have 500.
    """
    drawn = drawn_once(name)
    picture = Image.open(io.BytesIO(drawn.png))
    picture.load()
    assert len(drawn.png) <= 180_000
    assert (picture.format, picture.width, picture.info) == ("PNG", 2 * drawn.width, {})


@pytest.mark.first(6)
@pytest.mark.parametrize("name", DRAWN)
def test_ground(name):
    """Few colours, yet the ground is the one that was asked for, in every picture."""
    picture = Image.open(io.BytesIO(drawn_once(name).png)).convert("RGB")
    assert "#{:02x}{:02x}{:02x}".format(*picture.getpixel((2, 2))) == GROUND


def test_png_knows_no_style():
    """The same bytes every time, whatever settings the reader has, and these are left alone."""
    first = DRAWN["pad"]().png
    with matplotlib.rc_context({"font.size": 30, "font.family": "serif", "text.usetex": True}):
        assert DRAWN["pad"]().png == first
        assert matplotlib.rcParams["font.size"] == 30


def test_notebook_output():
    """A notebook shows the picture with its alt text, and stores the numbers as plain text."""
    drawn = DRAWN["pad"]()
    data, metadata = DisplayFormatter().format(drawn)
    assert sorted(data) == ["text/html", "text/plain"]
    assert data["text/plain"] == drawn.text == repr(drawn)
    assert metadata == {}
    image = re.fullmatch(
        r'<img width="(\d+)" style="max-width:100%; border-radius:6px" alt="([^"]+)" '
        r'src="data:image/png;base64,(\S+)">',
        data["text/html"],
    )
    assert (int(image[1]), unescape(image[2])) == (drawn.width, drawn.alt)
    assert b64decode(image[3]) == drawn.png


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
