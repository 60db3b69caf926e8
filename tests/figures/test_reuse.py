import io

import numpy as np
import pytest
from numba import cuda, float32
from PIL import Image

from smemnb import trace
from smemnb.errors import SmemnbError
from smemnb.figures import reuse_map
from smemnb.figures.reuse import measure
from smemnb.kernels.ptx import load16, store16
from smemnb.tracing.trace import Trace
from tests.facts import facts


@cuda.jit
def around(out, inp):
    """Sums of three by three, inside."""
    col, row = cuda.grid(2)
    acc = float32(0)
    if 0 < row < inp.shape[0] - 1 and 0 < col < inp.shape[1] - 1:
        for i in range(3):
            for j in range(3):
                acc += inp[row + i - 1, col + j - 1]
        out[row, col] = acc


@cuda.jit
def quads(out, inp):
    """A copy, four elements per lane."""
    at = cuda.grid(1) * 4
    store16(out, at, load16(inp, at))


@pytest.fixture(scope="module")
def traced():
    inp = np.ones((20, 24), np.float32)
    return trace(around)[(3, 3), (8, 8)](np.zeros_like(inp), inp)


def counted_by_hand(block_x, block_y):
    loads, own = np.zeros((20, 24), int), []
    for row in range(8 * block_y, 8 * block_y + 8):
        for col in range(8 * block_x, 8 * block_x + 8):
            if 0 < row < 19 and 0 < col < 23:
                loads[row - 1 : row + 2, col - 1 : col + 2] += 1
                own.append((row, col))
    rows, cols = zip(*own, strict=True)
    return loads, ((min(rows), max(rows) + 1), (min(cols), max(cols) + 1))


@pytest.mark.parametrize("block", [0, 2, 4, 8])
def test_counts(traced, block):
    """Each element as often as the block's threads ask for it, and where the results lie."""
    found = measure(traced, "inp", block=block)
    loads, own = counted_by_hand(block % 3, block // 3)
    assert found.loads.tolist() == loads.tolist()
    assert found.own == own
    assert (found.elements, found.total) == (np.count_nonzero(loads), loads.sum())
    assert found.block == str((block % 3, block // 3))


def test_wide_loads():
    """A lane that loads four elements loads each of them once; a vector is one row."""
    inp = np.arange(512, dtype=np.float32)
    report = trace(quads)[2, 64](np.zeros_like(inp), inp)
    found = measure(report, "inp", block=1)
    assert found.loads.shape == (1, 512)
    assert found.touched == found.own == ((0, 1), (256, 512))
    assert (found.elements, found.total) == (256, 256)
    assert "once" in repr(reuse_map(report, "inp", block=1))


def test_drawing(traced):
    """The numbers stand in text and alt, and the picture is as wide as it says."""
    drawn = reuse_map(traced, "inp", block=4)
    assert facts("rows 7-16 columns 7-16 100 576 1 9 5.8") == facts(drawn.text.splitlines()[1])
    assert facts("8-15 8-15") == facts(drawn.text.splitlines()[2])
    assert "1 to 9 times" in drawn.alt and "block (1, 1)" in drawn.alt
    assert Image.open(io.BytesIO(drawn.png)).width == 2 * drawn.width


@pytest.mark.exhaustive
def test_window():
    """Of a large part the first rows and columns are drawn; the frame ends where they end."""
    inp = np.zeros((64, 64), np.float32)
    drawn = reuse_map(trace(around)[(2, 2), (32, 32)](np.zeros_like(inp), inp), "inp", block=3)
    wide = reuse_map(trace(quads)[1, 128](np.zeros(512, np.float32), inp[:8].ravel()), "inp")
    assert Image.open(io.BytesIO(drawn.png)).width == 2 * drawn.width
    assert Image.open(io.BytesIO(wide.png)).width == 2 * wide.width <= 2 * 840


def test_refused(traced):
    """What the block loads from, which blocks there are, and a launch that is not kept."""
    with pytest.raises(SmemnbError, match=r"block \(0, 0\) of around .*loads from: inp"):
        reuse_map(traced, "out")
    with pytest.raises(SmemnbError, match="blocks 0 to 8"):
        reuse_map(traced, "inp", block=9)
    with pytest.raises(SmemnbError, match="not kept"):
        reuse_map(Trace.from_json(traced.to_json()), "inp")
    turned = trace(around)[(3, 3), (8, 8)](
        np.zeros((24, 20), np.float32), np.zeros((20, 24), "f4").T
    )
    with pytest.raises(SmemnbError, match="row by row"):
        reuse_map(turned, "inp")
