"""Small, shallow or narrow products: values on any shape and layout, races, machine code."""

import itertools

import numpy as np
import pytest
from numba import cuda

from smemnb.kernels.matmul.choosing_small import SMALL_TILINGS
from smemnb.kernels.matmul.variants import direct, shallow
from smemnb.kernels.matmul.variants.direct import GROUPS, matmul_direct_of
from smemnb.kernels.matmul.variants.shallow import STEPS, matmul_shallow_of
from smemnb.kernels.matmul.variants.small import SmallTiling, matmul_small_of
from smemnb.simulator.seam import OUT_OF_TREE
from smemnb.tracing import trace
from tests.tiers import sampled

NOTES = {"unused_waiver", "unused_shared", "unused_barrier"}
"""Kinds of findings that may stay: what one shape, say, has no need of."""
LAYOUTS = list(itertools.product((False, True), repeat=2))


def numbers(rng, *shape):
    return rng.integers(-4, 5, shape).astype(np.float32)


def framed(matrix, spare, wide=False):
    """A matrix on the device between NaN: the whole, and the view of the matrix."""
    rows, cols = matrix.shape
    before, behind = (4, 4 * spare) if wide else (spare, spare)
    if not (before or behind):
        whole = cuda.to_device(np.array(matrix))
        return whole, whole, np.s_[:, :]
    room = np.full((rows + 2, cols + before + behind), np.nan, np.float32)
    inside = np.s_[1:-1, before : before + cols]
    room[inside] = matrix
    whole = cuda.to_device(room)
    return whole, whole[inside], inside


def checked(kernel, grid, threads, shape, columns, *, wide=False, own=(), beta=0.5, times=1):
    """The trace of the last launch: results are right, nothing around them was written."""
    rows, cols, depth = shape
    rng = np.random.default_rng([*shape, *columns])
    a, b, before = numbers(rng, rows, depth), numbers(rng, depth, cols), numbers(rng, rows, cols)
    expected = 2 * (a.astype(np.float64) @ b) + (beta * before if beta else 0)
    stored = [one.T if turned else one for one, turned in zip((a, b), columns, strict=True)]
    views = [framed(one, 1, wide)[1] for one in stored]
    for _ in range(times):
        start = before if beta else np.full_like(before, np.nan)
        whole, out, inside = framed(start, 1, wide)
        found = trace(kernel)[grid, threads](out, *views, 2.0, beta, *own)
        room = np.full(whole.shape, np.nan, np.float32)
        room[inside] = expected
        np.testing.assert_array_equal(whole.copy_to_host(), room)
    assert {one.kind for one in found.findings if not one.price} <= NOTES
    return found


# --- an element by a few lanes -------------------------------------------------------------------


def run_direct(group, lanes, order, shape, columns, **how):
    kernel = matmul_direct_of(group, lanes, order, *columns)
    threads = direct.threads_of(group)
    blocks = -(-shape[0] * shape[1] // (threads // group))
    return checked(kernel, (blocks, 1), threads, shape, columns, **how)


DIRECT = [
    (group, lanes, order, columns)
    for group, lanes, order, columns in itertools.product(
        GROUPS, ("depth", "elements"), ("rows", "columns"), LAYOUTS
    )
]


@pytest.mark.parametrize(
    ("group", "lanes", "order", "columns"), sampled(DIRECT, 0, second=3, by=lambda case: case[1])
)
def test_direct(group, lanes, order, columns):
    """Ragged and degenerate shapes; whole turns of the depth, and a rest."""
    for shape in ((5, 7, 8 * group + 3), (1, 1, 1), (1, 131, 2)):
        run_direct(group, lanes, order, shape, columns)


def test_direct_in_short():
    """Turns and a rest, warps that add up; beta 0 does not read the result."""
    run_direct(64, "depth", "rows", (3, 5, 8 * 64 + 3), (False, True), beta=0.0)


# --- shallow depth -------------------------------------------------------------------------------


def run_shallow(steps, shape, columns, wide, down=2, **how):
    kernel = matmul_shallow_of(steps, *columns, wide)
    grid = -(-shape[1] // shallow.COLUMNS), down
    return checked(kernel, grid, shallow.THREADS, shape, columns, wide=wide, **how)


SHALLOW = list(itertools.product(STEPS, LAYOUTS, (False, True)))


@pytest.mark.parametrize(
    ("steps", "columns", "wide"), sampled(SHALLOW, 0, second=3, by=lambda case: case[2])
)
def test_shallow(steps, columns, wide):
    """The depth that a kernel is made for, and the least that takes it; more rows than one turn."""
    least = max([0, *(one for one in STEPS if one < steps)]) + 1
    for depth in {steps, least}:
        run_shallow(steps, (37, 132 if wide else 131, depth), columns, wide)
    run_shallow(steps, (1, 4 if wide else 1, steps), columns, wide, beta=0.0)


def test_shallow_in_short():
    run_shallow(3, (18, 131, 3), (False, True), False)


# --- the depth parted over the warps of a block --------------------------------------------------

TILINGS = [
    SmallTiling(16, 16, 64, slices=16),
    SmallTiling(32, 8, 64, 4, 4, 4, 2),
    SmallTiling(32, 32, 32, 8, 4, 4, 3),
    SmallTiling(8, 32, 16, 2, 8, 1, 1),
]


def run_small(tiling, shape, columns, wide=(False, False), parts=1, **how):
    rows, cols, _ = shape
    tiles = -(-rows // tiling.rows) * -(-cols // tiling.cols)
    kernel = matmul_small_of(tiling, *columns, *wide, parts > 1)
    sums = np.full(tiles * parts * tiling.rows * tiling.cols, np.nan, np.float32)
    flags = np.zeros(tiles, np.uint32)
    own = (sums, flags) if parts > 1 else ()
    found = checked(
        kernel, (tiles, parts), tiling.threads, shape, columns, wide=any(wide), own=own, **how
    )
    assert not flags.any()
    return found


SMALL = list(itertools.product(TILINGS, LAYOUTS, (False, True)))


@pytest.mark.parametrize(
    ("tiling", "columns", "wide"), sampled(SMALL, 0, second=1, by=lambda case: case[0])
)
def test_small(tiling, columns, wide):
    """Ragged and degenerate shapes, in one part and in several."""
    deep = 2 * tiling.stages * tiling.depth + 12
    shape = (36, 20, deep) if wide else (35, 19, deep + 1)
    run_small(tiling, shape, columns, (wide, wide))
    run_small(tiling, shape, columns, (wide, wide), parts=3)
    run_small(tiling, (1, 1, 1), columns)


def test_small_in_parts():
    """One tiling in parts, several times on one workspace, which is 0 again after each."""
    run_small(TILINGS[0], (17, 9, 70), (False, True), parts=2, times=2)


# --- machine code --------------------------------------------------------------------------------

WIDEST = [
    next(one for one in SMALL_TILINGS if (one.tall, one.wide, one.resident) == wanted)
    for wanted in ((4, 4, 4), (8, 4, 2), (8, 8, 3), (8, 8, 2))
]
"""Of each size of a thread's results, a tiling with few registers for them."""
COMPILED = {
    "direct": matmul_direct_of(8),
    "shallow-wide": matmul_shallow_of(16, False, True, True),
    **{f"small-{at}": matmul_small_of(one, False, True) for at, one in enumerate(WIDEST)},
}


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
@pytest.mark.parametrize("name", COMPILED)
def test_compiled(name):
    """Nothing lies in local memory."""
    from numba import float32, types

    from smemnb.compiled.lines import built

    matrix = types.Array(float32, 2, "A")
    made = built(COMPILED[name], (matrix, matrix, matrix, float32, float32), (9, 0))
    assert made.resources.local_bytes == 0
