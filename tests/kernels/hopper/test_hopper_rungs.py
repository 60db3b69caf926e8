"""The rungs of the Hopper product: values, findings, counts, refusals, machine code."""

from collections import Counter

import numpy as np
import pytest
from numba import cuda, int64, uint64
from numba.types import float16

from smemnb.compiled import cubin
from smemnb.compiled.machine import instructions
from smemnb.compiled.usage import read_resources
from smemnb.errors import SmemnbError
from smemnb.kernels.hopper.ladder import LADDER, prepared
from smemnb.simulator.seam import OUT_OF_TREE
from smemnb.tracing import trace

LAST = LADDER[-1]
every_rung = pytest.mark.parametrize("rung", LADDER, ids=lambda one: one.name)


def traced(rung, rows, cols, depth, blocks=1):
    """A product of small whole numbers, beside NumPy's, and the trace."""
    rng = np.random.default_rng(rows + cols + depth)
    a, b = (
        rng.integers(-4, 5, shape).astype(np.float16) for shape in ((rows, depth), (depth, cols))
    )
    out = cuda.to_device(np.full((rows, cols), np.nan, np.float16))
    made = prepared(rung, out, cuda.to_device(a), cuda.to_device(b), blocks)
    one = made.launch
    found = trace(one.kernel)[one.grid, one.block, 0, one.shared_bytes](*one.args)
    expected = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16)
    np.testing.assert_array_equal(out.copy_to_host(), expected)
    assert [str(one) for one in found.findings if not one.price] == []
    return found


def test_last_rung():
    """Ragged on all sides, one step of the depth; each result is stored by one matrix store."""
    found = traced(LAST, 72, 264, 40)
    stores = [row for row in found.lines if "stmatrix" in row.text]
    # 2 tiles of 256 columns, 8 warps, 16 requests of 4 matrices, 1 wavefront each
    assert [(row.requests, row.wavefronts) for row in stores] == [(256, 1024)]


@pytest.mark.exhaustive
@every_rung
def test_values(rung):
    """Stages that come around, two tiles of a block, edges."""
    traced(rung, 136, 72, 264)


@pytest.mark.exhaustive
@pytest.mark.parametrize("order", ["reversed", "random"])
def test_orders(order):
    """Whichever warp runs first."""
    a, b = np.ones((64, 264), np.float16), np.ones((264, 8), np.float16)
    out = cuda.to_device(np.zeros((64, 8), np.float16))
    made = prepared(LAST, out, cuda.to_device(a), cuda.to_device(b), 1)
    one = made.launch
    trace(one.kernel, order=order)[one.grid, one.block, 0, one.shared_bytes](*one.args)
    np.testing.assert_array_equal(out.copy_to_host(), 264)


@pytest.mark.parametrize(
    ("out", "a", "b", "said"),
    [
        ((64, 64), (64, 60), (60, 64), "60"),
        ((64, 64), (64, 32), (64, 64), "does not fit"),
        ((64,), (64, 32), (32, 64), "matrices"),
    ],
)
def test_refusals(out, a, b, said):
    """Rows of whole 16 bytes, shapes that fit."""
    arrays = [np.zeros(shape, np.float16) for shape in (out, a, b)]
    with pytest.raises(SmemnbError, match=said):
        prepared(LAST, *arrays, 1)


@pytest.mark.toolchain
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
@every_rung
def test_machine_code(rung):
    """Nothing spilled, no product serialised: four in a row, one wait with one of them pending."""
    maps = 3 if rung.stores else 2
    elf = cubin(rung.kernel, (float16[:, ::1], *[uint64[::1]] * maps, int64))
    used = read_resources(elf, (9, 0))
    assert (used.local_bytes, used.shared_bytes + rung.shared_bytes <= 232_448) == (0, True)
    code = [one.name.split(".")[0] for one in instructions(elf)]
    count = Counter(code)
    boxes = 1 + rung.module.COLS // rung.module.PIECE
    sent = boxes * (rung.module.STAGES if rung.name == "wgmma_staged" else 1)
    wanted = {"HGMMA": 4, "UTMALDG": sent, "UTMASTG": 4 * rung.stores, "LDL": 0, "STL": 0}
    assert {name: count[name] for name in wanted} == wanted
    assert count["WARPGROUP"] == (3 if rung.threads == 384 else 2)  # arrive, waits
    first = code.index("HGMMA")
    last = len(code) - 1 - code[::-1].index("HGMMA")
    assert "WARPGROUP" not in code[first:last]
