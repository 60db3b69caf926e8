"""Which kernel runs: the ladder's choice, a rung that was asked for, or a refusal in words."""

import numpy as np
import pytest
from numba import cuda

from smemnb.errors import LaunchRefused
from smemnb.kernels.matmul import ladder as products
from smemnb.kernels.transpose import ladder as transposes
from smemnb.operations import matmul, transpose
from smemnb.operations.backends.find import matrix_view
from smemnb.operations.choice import (
    ENGINE,
    Layout,
    bands,
    layout_of,
    most_rows,
    new_layout,
)
from smemnb.operations.matmul_choice import matmul_plan
from smemnb.operations.transpose_choice import transpose_plan
from tests.facts import facts

X = np.arange(12, dtype=np.float32).reshape(3, 4)
A, B = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)


def refusal(operation, *args, **named):
    """The text of a refusal."""
    with pytest.raises(LaunchRefused) as found:
        operation(*args, **named)
    return str(found.value)


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("shape", [(64, 128), (63, 128), (64, 127), (1, 1)])
def test_transposes_as_the_ladder_chooses(shape, itemsize):
    """The kernel, block and grid are those of `fastest` for the arrays themselves."""
    rows, cols = shape
    inp, out = np.zeros((rows, cols), f"V{itemsize}"), np.zeros((cols, rows), f"V{itemsize}")
    rung = transposes.fastest(out, inp)
    plan = transpose_plan(None, itemsize, new_layout(cols, rows, itemsize), layout(inp))
    assert (plan.kernel, plan.block, plan.tile) == (rung.kernel, rung.block, rung.tile)
    assert plan.grid == rung.grid(rows, cols)


def layout(array):
    return new_layout(*array.shape, array.itemsize)


@pytest.mark.parametrize("processors", [1, 40, 132])
@pytest.mark.parametrize(
    "shape", [(256, 8, 256), (255, 8, 256), (1024, 64, 1000), (30, 5, 2000), (4096, 9, 128)]
)
def test_products_as_the_ladder_chooses(shape, processors):
    """On a GPU, those of `fastest` for as many multiprocessors as it has."""
    rows, depth, cols = shape
    shapes = (rows, cols), (rows, depth), (depth, cols)
    arrays = [np.zeros(one, np.float32) for one in shapes]
    fit = products.fastest(*arrays, processors)
    plan = matmul_plan(None, *map(layout, arrays), processors, plain=False)
    assert (plan.kernel, plan.grid, plan.block) == (fit.kernel, fit.grid, fit.block)
    assert (plan.sums, plan.flags) == (fit.sums, fit.flags)
    assert plan.scaled and most_rows(plan) >= rows


def test_products_in_the_engine():
    """There the small kernels are faster: with alpha or beta, or without."""
    laid = [new_layout(512, 512, 4)] * 3
    names = [matmul_plan(None, *laid, ENGINE, plain=plain).name for plain in (True, False)]
    assert names == ["matmul_tiled_32", "matmul_square"]


def test_choices_are_kept():
    """The same shapes are decided once, whichever arrays they are of; other rows anew."""
    x = cuda.to_device(np.zeros((64, 96), np.float32))
    kept = transpose_plan(None, 4, new_layout(96, 64, 4), layout_of(matrix_view("x", x)))
    again = cuda.to_device(np.ones((64, 96), np.float32))
    assert (
        transpose_plan(None, 4, new_layout(96, 64, 4), layout_of(matrix_view("x", again))) is kept
    )
    part = layout_of(matrix_view("x", x[:, 1:65]))
    assert part == Layout(64, 64, 384, 4)
    assert transpose_plan(None, 4, new_layout(64, 64, 4), part).name == "transpose_turned"


def test_bands():
    """A grid has at most 65535 blocks in y, so 65535 tiles of 64 rows go at once."""
    laid = new_layout(64, 1 << 23, 4), new_layout(1 << 23, 64, 4)
    plan = transpose_plan("transpose_turned", 4, *laid)
    assert most_rows(plan) == 65535 * 64
    pieces = [(band.start, band.stop) for band in bands(1 << 23, most_rows(plan))]
    assert pieces == [(0, 4194240), (4194240, 8388480), (8388480, 8388608)]


LEAVE = "Leave `rung` out for a kernel that fits"
NAMES = [", ".join(rung.name for rung in one.LADDER) for one in (transposes, products)]
SCALED = ", ".join(rung.name for rung in products.LADDER if rung.scaled)
RUNGS = {
    "unknown": (transpose, (X,), "quick", f"`rung` 'quick' is not known. There are: {NAMES[0]}"),
    "of a transpose": (
        matmul,
        (A, B),
        "transpose_naive",
        f"`rung` 'transpose_naive' is not known. There are: {NAMES[1]}",
    ),
    "number": (
        transpose,
        (X,),
        3,
        "`rung` is 3. Pass the name of a rung, or a Rung of the ladder; None chooses",
    ),
    "odd rows": (
        transpose,
        (X[:, :3],),
        "transpose_fastest",
        "rung transpose_fastest moves 16 bytes at a time, so rows must begin at multiples of 16"
        f" bytes: those of `x` are 12 bytes apart and begin 0 beyond one. {LEAVE}",
    ),
    "size": (
        transpose,
        (np.zeros((80, 81), "i8"),),
        "transpose_padded",
        "rung transpose_padded moves elements of 4 bytes, and these have 8. For those there are:"
        " transpose_fastest, transpose_turned; transpose_turned fits",
    ),
    "rows of b": (
        matmul,
        (A, B),
        "matmul_wide",
        "rung matmul_wide moves 16 bytes at a time, so rows must begin at multiples of 16 bytes:"
        f" those of `b` are 20 bytes apart and begin 0 beyond one. {LEAVE}",
    ),
}


@pytest.mark.parametrize("what", RUNGS)
def test_rungs(what):
    """Rungs that are not known or do not fit, with what they need."""
    operation, args, rung, said = RUNGS[what]
    assert facts(refusal(operation, *args, rung=rung)) == facts(said)


@pytest.mark.parametrize(("rows", "cols", "depth"), [(132, 128, 8), (128, 132, 8), (128, 128, 12)])
def test_rungs_of_whole_tiles(rows, cols, depth):
    """Rungs without guards are refused where a tile would reach beyond an edge, or at depth 0."""
    for deep in (depth, 0):
        a, b = np.ones((rows, deep), np.float32), np.ones((deep, cols), np.float32)
        assert facts(refusal(matmul, a, b, rung="matmul_wide")) == facts(
            f"matmul_wide 128 128 8 {rows} {cols} {deep} `rung`"
        )


def test_rung_without_factors():
    """A rung that takes no alpha and beta is not asked to."""
    said = f"rung matmul_naive takes no alpha and beta. These do: {SCALED}"
    assert refusal(matmul, A, B, alpha=2, rung="matmul_naive") == said
    out = np.full((3, 5), 7, np.float32)
    assert refusal(matmul, A, B, out=out, beta=1, rung="matmul_naive") == said
    assert (out == 7).all()


def test_begin_beside_rows():
    """A device array that begins beside 16 bytes does not fit a rung that moves 16."""
    x = cuda.to_device(np.zeros((4, 8), np.float32))[:, 1:5]
    assert facts(refusal(transpose, x, rung="transpose_wide")) == facts(
        f"transpose_wide 16 16 `x` 32 4 {LEAVE}"
    )
