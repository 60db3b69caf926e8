"""Products of any shape: values, layouts, parts, batches, races, counts, machine code."""

import itertools

import numpy as np
import pytest
from numba import cuda

from smemnb.kernels.matmul.choosing import CUTS, Problem, choose
from smemnb.kernels.matmul.cut import Cut
from smemnb.kernels.matmul.variants.guarded import matmul_guarded_of
from smemnb.simulator.seam import OUT_OF_TREE
from smemnb.tracing import trace
from tests.tiers import sampled

LAYOUTS = list(itertools.product((False, True), repeat=2))
SMALLEST = CUTS[-1]


def numbers(rng, *shape):
    return rng.integers(-4, 5, shape).astype(np.float32)


def stored(matrix, columns, spare):
    """A matrix as it lies in memory: by rows or by columns, with spare elements in each row."""
    lying = matrix.swapaxes(-1, -2) if columns else matrix
    room = np.full((*lying.shape[:-1], lying.shape[-1] + spare), np.nan, np.float32)
    room[..., : lying.shape[-1]] = lying
    return cuda.to_device(room)


def without(spare, room):
    """The view of a device array that leaves the spare elements of its rows out."""
    shape = *room.shape[:-1], room.shape[-1] - spare
    if 0 in shape:  # Numba has no empty slices
        return cuda.to_device(np.empty(shape, np.float32))
    return room[(*[slice(None)] * (room.ndim - 1), slice(0, shape[-1]))]


def traced(
    cut,
    shape,
    columns=(False, False),
    parts=1,
    wide=False,
    batch=(),
    beta=0.5,
    times=1,
    spare=None,
    **how,
):
    """The trace of the last launch; the results of all are right and the flags are 0 again."""
    rows, cols, depth = shape
    rng = np.random.default_rng([*shape, parts])
    a, b = numbers(rng, *batch, rows, depth), numbers(rng, *batch, depth, cols)
    before = numbers(rng, *batch, rows, cols)
    tiles, matrices = -(-rows // cut.rows) * -(-cols // cut.cols), batch[0] if batch else 1
    sums = np.full(matrices * tiles * parts * cut.rows * cut.cols, np.nan, np.float32)
    flags = np.zeros(matrices * tiles, np.uint32)
    kernel = matmul_guarded_of(cut, *columns, wide, wide, wide, bool(batch))
    spare = (0 if wide else 3) if spare is None else spare
    lying = stored(a, columns[0], spare), stored(b, columns[1], spare)
    views = [without(spare, one) for one in lying]
    for _ in range(times):
        out = stored(before if beta else np.full_like(before, np.nan), False, spare)
        grid = (tiles, parts, matrices) if batch else (tiles, parts)
        found = trace(kernel, **how)[grid, cut.threads](
            without(spare, out), *views, 2.0, beta, sums, flags
        )
        expected = 2 * (a.astype(np.float64) @ b) + (beta * before if beta else 0)
        result = out.copy_to_host()
        np.testing.assert_array_equal(result[..., :cols], expected)
        assert np.isnan(result[..., cols:]).all()
        assert not flags.any()
    assert [one for one in found.findings if not one.price] == []
    return found


EACH = [
    (cut, columns, wide) for cut, columns, wide in itertools.product(CUTS, LAYOUTS, (False, True))
]


@pytest.mark.parametrize(("cut", "columns", "wide"), sampled(EACH, 2, second=24))
def test_values(cut, columns, wide):
    """Every cut, layout and width: two tiles each way, a last step that is not full, 2 parts."""
    more = 4 if wide else 3
    shape = cut.rows + more, cut.cols + more, 2 * cut.depth * cut.slices + more
    traced(cut, shape, columns, parts=2, wide=wide)


SMALL_SHAPES = [(1, 1, 1), (1, 40, 9), (40, 1, 9), (5, 3, 0), (3, 7, 200), (17, 33, 31)]


DEGENERATE = list(itertools.product(SMALL_SHAPES, LAYOUTS))


@pytest.mark.first(2)
@pytest.mark.parametrize(
    ("shape", "columns"), sampled(DEGENERATE, 1, by=lambda case: case[0], seed=3)
)
def test_degenerate_shapes(shape, columns):
    """Single rows, columns and steps, and a depth of 0; `out` is not read where beta is 0."""
    traced(SMALLEST, shape, columns, beta=0.0)


CUT_IN_PARTS = list(itertools.product((Cut(64, 64), SMALLEST), (1, 3, 5)))


@pytest.mark.parametrize(("cut", "parts"), sampled(CUT_IN_PARTS, 1, by=lambda case: case[0]))
def test_parts(cut, parts):
    """Parts of unequal numbers of steps, twice on the same workspace; 5 parts of 4 steps."""
    traced(cut, (20, 20, 4 * cut.depth - 3), parts=parts, times=2)


@pytest.mark.exhaustive
@pytest.mark.parametrize("columns", sampled([pytest.param(one) for one in LAYOUTS], 1))
def test_batch(columns):
    """Every matrix of a batch from its own operands; parts of each apart, in any order."""
    traced(SMALLEST, (18, 35, 70), columns, parts=2, batch=(3,))
    traced(SMALLEST, (9, 7, 200), columns, parts=3, batch=(5,), order="random", seed=1)


def test_shared_matrix_of_a_batch():
    """A stride of 0 along the batch: all matrices are multiplied with the same one."""
    rng = np.random.default_rng(5)
    a, one = numbers(rng, 4, 9, 20), numbers(rng, 1, 20, 11)
    there = cuda.to_device(one)
    b = type(there)((4, 20, 11), (0, 44, 4), there.dtype, gpu_data=there.gpu_data)
    out = np.full((4, 9, 11), np.nan, np.float32)
    kernel = matmul_guarded_of(SMALLEST, False, False, False, False, False, True)
    workspace = np.zeros(1, np.float32), np.zeros(4, np.uint32)
    kernel[(1, 1, 4), SMALLEST.threads](out, a, b, 1.0, 0.0, *workspace)
    np.testing.assert_array_equal(out, a @ one)


@pytest.mark.exhaustive
def test_the_order_of_sums_is_fixed():
    """Numbers that round: two launches give the same bits, whichever part comes last."""
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((16, 999), (999, 32)))
    kernel = matmul_guarded_of(SMALLEST, False, False, False, False, False)
    sums, flags = np.zeros(7 * 512, np.float32), np.zeros(1, np.uint32)
    results = []
    for order in (None, "reversed"):
        out = np.empty((16, 32), np.float32)
        trace(kernel, order=order)[(1, 7), SMALLEST.threads](out, a, b, 1.0, 0.0, sums, flags)
        results.append(out)
    np.testing.assert_array_equal(*(one.view(np.uint32) for one in results))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("columns", "wide"), sampled(itertools.product(LAYOUTS, (True, False)), 2))
def test_no_bank_is_asked_twice(columns, wide):
    """Whole tiles in aligned rows: no wavefront of shared memory too many, full sectors."""
    cut = Cut(64, 64)
    found = traced(cut, (64, 64, 32), columns, wide=wide, beta=0.0, spare=0)
    assert found.shared.wavefronts == found.shared.ideal
    loads = [row for row in found.lines if row.space == "global" and row.kind == "load"]
    assert loads
    for row in loads:
        assert row.sectors == row.ideal_sectors


TYPES = [(True, True), (False, False)]


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
@pytest.mark.parametrize(("cut", "columns", "wide"), sampled(EACH, 1, by=lambda case: case[0]))
def test_compiled(cut, columns, wide):
    """Nothing in local memory, and all loads of a step stand together at the top of the loop."""
    from numba import float32, types, uint32

    from smemnb.compiled.lines import built

    matrix, flat = types.Array(float32, 2, "A"), types.Array(float32, 1, "C")
    signature = matrix, matrix, matrix, float32, float32, flat, types.Array(uint32, 1, "C")
    made = built(matmul_guarded_of(cut, *columns, wide, wide, wide), signature, (9, 0))
    assert made.resources.local_bytes == 0
    assert made.resources.shared_bytes <= cut.shared_bytes + 16
    assert made.resources.registers * cut.threads * cut.resident <= 65536
    names = [one.name.split(".")[0] for one in made.code]
    barrier = names.index("BAR")
    main = names[barrier : names.index("FFMA", barrier) + 64]
    assert "LDG" in main


def test_a_choice_covers_the_result():
    """Tiles, parts and workspace of what is chosen, over seeded shapes."""
    rng = np.random.default_rng(11)
    for _ in range(300):
        shape = np.exp(rng.uniform(0, np.log(16384), 3)).astype(int)
        rows, cols, depth = map(int, shape)
        found = choose(Problem(rows, cols, depth), 132)
        assert found.tiles == -(-rows // found.cut.rows) * -(-cols // found.cut.cols)
        assert 1 <= found.parts <= max(1, -(-depth // found.cut.depth))
        assert found.cycles >= Problem(rows, cols, depth).bytes / (16 * 132)
