"""Every rung of the stencils: values on awkward shapes, counts per request, races."""

import re

import numpy as np
import pytest

from smemnb.kernels.stencil import ladder
from smemnb.tracing import trace
from tests.kernels.stencil.reference import weighed
from tests.tiers import exhaustive

PICTURES = [(1, 1), (5, 4), (31, 33), (33, 132)]
LINES = [(1,), (4,), (31,), (256,), (257,), (1028,)]
STEPS = [
    *((step, PICTURES, (5, 5)) for step in ladder.LADDER),
    *((step, LINES, (9,)) for step in ladder.LINES),
    *((step, PICTURES, (15, 15)) for step in ladder.SEPARABLE),
]
by_step = pytest.mark.parametrize(("step", "shapes", "size"), STEPS, ids=[s[0].name for s in STEPS])


def new(shape, dtype):
    return np.zeros(shape, dtype)


def problem(step, shape, size, seed=1):
    """out, inp, what the step takes as weights, and the weights as a whole; small ints."""
    rng = np.random.default_rng(seed)
    inp = rng.integers(-9, 10, shape).astype(np.float32)
    if step in ladder.SEPARABLE:
        weights = tuple(rng.integers(-3, 4, n).astype(np.float32) for n in size)
        whole = np.outer(*weights)
    else:
        whole = rng.integers(-9, 10, size).astype(np.float32)
        weights = (whole,)
    return np.full(shape, np.nan, np.float32), inp, weights, whole


def run(step, shape, size, seed=1):
    """The reports of a step's launches, whose result is right."""
    out, inp, weights, whole = problem(step, shape, size, seed)
    launches = step.launches(new, out, inp, *weights)
    found = [trace(one.kernel)[one.grid, one.block](*one.args) for one in launches]
    np.testing.assert_array_equal(out, weighed(inp, whole, [n // 2 for n in size]))
    return found


def check(step, shape, size):
    out, inp, weights, _ = problem(step, shape, size)
    if not step.fits(out, inp, *weights):
        assert shape[-1] % 4
        return
    for report in run(step, shape, size):
        assert {one.kind for one in report.findings if one.severity == "error"} == set()


@exhaustive
@by_step
def test_values(step, shapes, size):
    """Pictures smaller than the window, one element, ragged blocks; no error is found."""
    for shape in shapes:
        check(step, shape, size)


def test_no_elements():
    """Nothing is launched for a picture without elements."""
    for step, shapes, size in STEPS:
        out, inp, weights, _ = problem(step, (0,) * len(shapes[0]), size)
        assert list(step.launches(new, out, inp, *weights)) == []


def test_what_fits():
    """Steps of 16 bytes take rows of whole chunks without gaps; the others take any."""
    wide = {"stencil_wide", "stencil_direct", "stencil_ahead", "stencil_inside"}
    wide |= {"stencil_framed"}
    wide |= {"line_wide", "line_direct", "separable_sliding"}
    for step, shapes, size in STEPS:
        shape = (3,) * (len(shapes[0]) - 1) + (30,)
        out, inp, weights, _ = problem(step, shape, size)
        assert step.fits(out, inp, *weights) == (step.name not in wide)
        shape = (3,) * (len(shapes[0]) - 1) + (32,)
        out, inp, weights, _ = problem(step, shape, size)
        assert step.fits(out, inp, *weights)
        flat = step.name in wide or step.name == "stencil_unsigned"
        assert step.fits(out, inp[..., ::2], *weights) == (not flat)


SHAPES = {1: (4096,), 2: (64, 512)}
WARPS = 64 * 512 // 32
OUT, OUT_WIDE = (WARPS, 0, 4 * WARPS), (WARPS // 4, 0, 4 * WARPS)
BY_ELEMENT, LINE_OUT = (25 * WARPS, 0, 25 * WARPS), (128, 0, 512)
COUNTS = {  # requests, wavefronts, sectors of each access
    "stencil_naive": {
        "load inp": (25 * WARPS, 0, 121_600),  # 4 sectors or 5, and what is mirrored
        "load weights": BY_ELEMENT,
        "store out": OUT,
    },
    "stencil_tiled": {
        "load inp": (3 * WARPS, 0, 10_560),  # 12 rows for 8, in two parts: 5 sectors, then 1
        "store tile": (3 * WARPS, 3 * WARPS, 0),
        "load tile": (25 * WARPS, 25 * WARPS, 0),
        "load weights": BY_ELEMENT,
        "store out": OUT,
    },
    "stencil_constant": {
        "load inp": (3 * WARPS, 0, 10_560),
        "store tile": (3 * WARPS, 3 * WARPS, 0),
        "load tile": (25 * WARPS, 25 * WARPS, 0),
        "store out": OUT,
    },
    "stencil_column": {
        "load inp": (2176, 0, 7480),  # 68 rows for 64
        "store tile": (2176, 2176, 0),
        "load tile": (60 * WARPS // 8, 60 * WARPS // 8, 0),
        "store out": OUT,
    },
    "stencil_sliding": {
        "load inp": (1440, 0, 6192),  # 36 rows for 32: a request per warp, and one more per block
        "store line": (1440, 1440, 0),
        "load line": (5 * 36 * WARPS // 32, 5 * 36 * WARPS // 32, 0),
        "store out": OUT,
    },
    "stencil_unsigned": {
        "load inp": (1440, 0, 6192),
        "store line": (1440, 1440, 0),
        "load line": (5 * 36 * WARPS // 32, 5 * 36 * WARPS // 32, 0),
        "store out": OUT,
    },
    "stencil_wide": {
        "load inp": (936, 0, 5472),  # 72 rows of 4 warps by 16 sectors, and both edges one by one
        "store line": (360, 1224, 0),  # 4 warps by 4 wavefronts, and one by 1
        "load line": (3 * 288, 3 * 288 * 4, 0),
        "store out": OUT_WIDE,
    },
    "stencil_direct": {
        "load inp": (2016, 0, 15_264),  # 3 of 16 sectors for each of 288, and edges one by one
        "store out": OUT_WIDE,
    },
    "stencil_ahead": {"load inp": (2016, 0, 15_264), "store out": OUT_WIDE},
    # of 12 warps' strips in 4 rows of them two are inside; a warp at an edge goes both ways
    "stencil_inside": {"load inp": (10_656, 0, 157_824), "store out": (1664, 0, 24_704)},
    # 15 tiles down, 126 chunks across: 8 rows of 3 loads; a frame of 2528 elements, 25 loads each
    "stencil_framed": {"load inp": (3415, 0, 33_760), "store out": (319, 0, 4396)},
    "line_naive": {"load inp": (9 * 128, 0, 5624), "store out": LINE_OUT},
    "line_tiled": {
        "load inp": (128 + 16, 0, 670),  # 16 blocks
        "store tile": (144, 144, 0),
        "load tile": (9 * 128, 9 * 128, 0),
        "store out": LINE_OUT,
    },
    "line_wide": {
        "load inp": (44, 0, 558),  # 32 warps, 4 blocks, and both ends one by one
        "store tile": (36, 4 * 32 + 4, 0),
        "load tile": (3 * 32, 3 * 32 * 4, 0),
        "store out": (32, 0, 512),
    },
    "line_direct": {"load inp": (3 * 32 + 8, 0, 1606), "store out": (32, 0, 512)},
    "separable_twice": {
        "load inp": (15 * WARPS, 0, 74_880),
        "store sums": OUT,
        "load sums": (15 * WARPS, 0, 4 * 15 * WARPS),
        "store out": OUT,
    },
    "separable_tiled": {
        "load inp": (2944, 0, 10_120),  # 46 rows for 32, in two parts: 5 sectors, then 3
        "store tile": (2944, 2944, 0),
        "load tile": (15 * 1472, 15 * 1472, 0),
        "store sums": (1472, 1472, 0),
        "load sums": (15 * WARPS, 15 * WARPS, 0),
        "store out": OUT,
    },
    "separable_sliding": {"load inp": (4368, 0, 28_236), "store out": OUT_WIDE},
}


@pytest.mark.first(6)
@pytest.mark.parametrize("name", [step.name for step, _, _ in STEPS])
def test_counts(name):
    """What the comments say of a request, over a whole picture with its edges."""
    step, _, size = next(one for one in STEPS if one[0].name == name)
    found = {}
    shape = (128, 1536) if name == "stencil_inside" else SHAPES[len(size)]
    for report in run(step, shape, size):
        for row in report.lines:
            access = re.match(r"(?:(?:load|store)\d+\()?(\w+)", row.text)[1]
            key = f"{row.kind} {access}"
            before = found.get(key, (0, 0, 0))
            now = row.requests, row.wavefronts, row.sectors
            found[key] = tuple(map(sum, zip(before, now, strict=True)))
    assert found == COUNTS[name]
