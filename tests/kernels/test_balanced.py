"""Products without guards: values in all layouts, shares, order of sums, races, machine code."""

import itertools

import numpy as np
import pytest

from smemnb.kernels.matmul.choosing import Problem
from smemnb.kernels.matmul.cut import Cut
from smemnb.kernels.matmul.unguarded import CUTS, Side, ffma_share, offers
from smemnb.kernels.matmul.variants.balanced import matmul_balanced_of, matmul_inside_of
from smemnb.kernels.matmul.variants.even import CHUNK, LEAST_STEPS, blocks_used
from smemnb.kernels.matmul.variants.guarded import matmul_guarded_of
from smemnb.simulator.seam import OUT_OF_TREE
from smemnb.tracing import trace
from tests.kernels.test_guarded import numbers, stored, without
from tests.tiers import sampled

SMALL = Cut(64, 64, resident=6, band=16)
TINY = Cut(32, 32, tall=4, lanes_down=8)  # one warp: many blocks are quickly run
LAYOUTS = list(itertools.product((False, True), repeat=2))


def traced(
    cut,
    shape,
    columns=(False, False),
    blocks=0,
    wide=False,
    batch=(),
    beta=0.5,
    times=1,
    short="",
    teams=False,
    **how,
):
    """The trace of the last launch; results are right, what surrounds them is as it was.

    With `blocks` tiles are shared by so many; otherwise each has a block.
    """
    rows, cols, depth = shape
    rng = np.random.default_rng([*shape, blocks])
    a, b = numbers(rng, *batch, rows, depth), numbers(rng, *batch, depth, cols)
    before = numbers(rng, *batch, rows, cols)
    tiles = -(-rows // cut.rows) * -(-cols // cut.cols)
    sums = np.full(2 * blocks * cut.rows * cut.cols, np.nan, np.float32)
    flags = np.zeros(blocks + 1, np.uint32)
    make = matmul_balanced_of if blocks else matmul_inside_of
    more = ({"batched": True} if batch else {}) | ({"teams": True} if teams else {})
    kernel = make(cut, *columns, wide, wide, short=short, **more)
    spare = 0 if wide else 3
    views = [
        without(spare, stored(one, turned, spare))
        for one, turned in zip((a, b), columns, strict=True)
    ]
    grid, own = (blocks, 1), (sums, flags)
    if not blocks:
        grid, own = (tiles, 1, *batch), ()
    for _ in range(times):
        out = stored(before if beta else np.full_like(before, np.nan), False, spare)
        found = trace(kernel, **how)[grid, cut.threads](
            without(spare, out), *views, 2.0, beta, *own
        )
        expected = 2 * (a.astype(np.float64) @ b) + (beta * before if beta else 0)
        result = out.copy_to_host()
        np.testing.assert_array_equal(result[..., :cols], expected)
        assert np.isnan(result[..., cols:]).all()
        assert not flags.any()
    assert [one for one in found.findings if not one.price] == []
    return found


EACH = list(itertools.product(CUTS, LAYOUTS, (False, True)))


@pytest.mark.parametrize(("cut", "columns", "wide"), sampled(EACH, 1, second=8))
def test_values(cut, columns, wide):
    """Two tiles each way, most of the second moved back; a first step that is not full."""
    more = 4 if wide else 3
    traced(cut, (cut.rows + more, cut.cols + more, 2 * cut.depth + more), columns, wide=wide)


SHORTS = [
    (columns, wide, blocks, short)
    for columns in LAYOUTS
    for wide, blocks in ((False, 0), (True, 0), (False, 2))
    for short in ("rows", "cols")
]


@pytest.mark.parametrize(("columns", "wide", "blocks", "short"), sampled(SHORTS, 1))
def test_short(columns, wide, blocks, short):
    """A result lower or narrower than a tile: nothing beyond it is read, and nothing is stored."""
    shape = (20, 40, 44) if short == "rows" else (40, 20, 44)
    traced(TINY, shape, columns, blocks, wide, short=short)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("depth", "columns"), zip((1, 7, 8, 9), LAYOUTS, strict=True))
def test_shallow(depth, columns):
    """One step, full or not, and one more; `out` is not read where beta is 0."""
    traced(TINY, (32, 33, depth), columns, beta=0.0)
    traced(TINY, (65, 32, depth), columns, blocks=2, beta=0.0)


SHARES = [
    ((32, 40, 203), (True, False), 3, "2 tiles of 26 steps, in 3 pieces"),
    ((50, 40, 203), (True, False), 7, "4 tiles of 26 steps, in 7 pieces"),
    ((70, 40, 192), (False, True), 4, "6 tiles: one for each block, and 2 left for 4 blocks"),
    ((32, 36, 72), (True, True), 2, "2 tiles of 9 steps: too few to be cut"),
    ((32, 32, 2300), (False, False), 24, "1 tile in 23 pieces: two rounds of sums, 1 block idle"),
    ((32, 33, 800), (True, False), 2, "2 tiles of 100 steps: each is put aside once"),
    ((33, 32, 1700), (False, True), 4, "2 tiles of 213 steps: helpers put sums aside, too"),
]


@pytest.mark.parametrize(
    ("shape", "columns", "blocks", "what"),
    [*sampled(SHARES[:1], 1), *sampled(SHARES[1:], 0)],
)
def test_shares(shape, columns, blocks, what):
    """Pieces that begin and end inside tiles, and whole tiles behind them."""
    traced(TINY, shape, columns, blocks, wide=not any(extent % 4 for extent in shape))


TEAMS = [
    ((40, 100, 203), (False, True), 13, "teams of 2 rows of tiles, 4 columns for 6 teams, 1 idle"),
    ((100, 40, 203), (True, False), 13, "of 2 columns, 4 rows of tiles for 6 teams, 1 idle"),
    ((20, 40, 300), (False, False), 9, "teams of 1: a low result, 2 tiles in 9 pieces"),
    ((33, 34, 700), (True, True), 20, "1 column of 2 x 2 tiles for each of 2 teams"),
]


@pytest.mark.parametrize(
    ("shape", "columns", "blocks", "what"),
    [*sampled(TEAMS[:1], 1), *sampled(TEAMS[1:], 0)],
)
def test_teams(shape, columns, blocks, what):
    """Pieces of whole columns of tiles; what blocks do, and the flags at the end."""
    short = "rows" if shape[0] < TINY.rows else ""
    traced(TINY, shape, columns, blocks, short=short, teams=True)


@pytest.mark.exhaustive
def test_flags_are_used_again():
    """They are 0 again, and blocks are numbered from 0 again, in any order of blocks."""
    traced(TINY, (32, 65, 200), blocks=5, times=2, order="random", seed=2)


@pytest.mark.exhaustive
def test_the_order_of_sums_is_fixed():
    """Numbers that round: two launches give the same bits, whichever block comes first."""
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((32, 799), (799, 40)))
    kernel, results = matmul_balanced_of(TINY), []
    for order in (None, "reversed"):
        out = np.empty((32, 40), np.float32)
        sums, flags = np.zeros(15 * 1024, np.float32), np.zeros(16, np.uint32)
        trace(kernel, order=order)[(15, 1), TINY.threads](out, a, b, 1.0, 0.0, sums, flags)
        results.append(out)
    np.testing.assert_array_equal(*(one.view(np.uint32) for one in results))


@pytest.mark.exhaustive
def test_batch():
    """Every matrix of a batch from its own operands."""
    traced(SMALL, (70, 64, 20), (True, False), batch=(3,))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("cut", "columns", "wide"), sampled(EACH, 1, second=2))
def test_no_bank_is_asked_twice(cut, columns, wide):
    """No wavefront of shared memory too many, but where lanes stand in 8 rows; full sectors."""
    kernel = matmul_inside_of(cut, *columns, wide, wide)
    rng = np.random.default_rng(1)
    a, b = numbers(rng, cut.rows, 16), numbers(rng, 16, cut.cols)
    out = np.zeros((cut.rows, cut.cols), np.float32)
    lying = [np.ascontiguousarray(one.T) if c else one for one, c in zip((a, b), columns, strict=1)]
    found = trace(kernel)[(1, 1), cut.threads](out, *lying, 1.0, 0.0)
    np.testing.assert_array_equal(out, a @ b)
    extra = {row.wavefronts - row.ideal for row in found.lines if row.space == "shared"}
    assert extra == {0} if cut.lanes_down == 4 else max(extra) <= cut.rows * cut.cols // 16
    for row in found.lines:
        if row.space == "global" and row.kind == "store":
            assert row.sectors == row.ideal_sectors


@pytest.mark.parametrize(
    ("left", "steps", "blocks", "used"),
    [
        (100, 512, 264, 264),
        (263, 512, 264, 264),
        (1, 30, 264, 2),
        (5, 7, 264, 5),
        (0, 7, 264, 0),
    ],
)
def test_blocks_that_share(left, steps, blocks, used):
    """As many as there are, unless their pieces would be too short."""
    assert blocks_used(left, steps, blocks) == used
    assert not left or left * steps // used >= min(steps, LEAST_STEPS)


def test_offers():
    """What is offered fits, covers the result, and has room for the sums of all pieces."""
    rng = np.random.default_rng(12)
    for _ in range(100):
        rows, cols, depth = map(int, np.exp(rng.uniform(np.log(16), np.log(16384), 3)))
        sides = [Side(*(bool(one) for one in rng.integers(0, 2, 2))) for _ in range(2)]
        for one in offers(Problem(rows, cols, depth), *sides, 132):
            cut, steps = one.cut, -(-depth // one.cut.depth)
            assert (rows < cut.rows, cols < cut.cols) == (one.short == "rows", one.short == "cols")
            assert 2 * rows >= cut.rows and 2 * cols >= cut.cols
            assert one.tiles == -(-rows // cut.rows) * -(-cols // cut.cols)
            assert one.cycles >= Problem(rows, cols, depth).bytes / (16 * 132)
            if one.shared:
                assert one.blocks == 132 * cut.resident and one.left == one.tiles % one.blocks
                longest = steps if one.tiles >= one.blocks else one.left * steps / one.blocks
                each = one.sums // (one.blocks * cut.rows * cut.cols)
                assert each == 2 or longest <= CHUNK
            else:
                assert (one.blocks, one.sums) == (one.tiles, 0) and steps <= CHUNK


PLACES = list(itertools.product(CUTS, LAYOUTS, (False, True), (False, True)))


WAITING = {CUTS[5]: 42}
"""Cut -> FFMA of its loop that were seen to wait for a bank, where that is more than one in 16."""


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
@pytest.mark.parametrize(
    ("cut", "columns", "wide", "shared"),
    sampled(PLACES, 1, second=1, by=lambda case: case[0].tall),
)
def test_compiled(cut, columns, wide, shared):
    """Nothing in local memory, as many blocks as promised, few FFMA that wait for a bank."""
    from numba import float32, types, uint32

    from smemnb.compiled import cubin
    from smemnb.compiled.machine import count, instructions, main_loop, nvdisasm, one_bank_reads
    from smemnb.compiled.usage import read_resources

    matrix, flat = types.Array(float32, 2, "A"), types.Array(float32, 1, "C")
    own = (flat, types.Array(uint32, 1, "C")) if shared else ()
    make = matmul_balanced_of if shared else matmul_inside_of
    signature = matrix, matrix, matrix, float32, float32, *own
    elf = cubin(make(cut, *columns, wide, wide), signature, (9, 0))
    used = read_resources(elf, (9, 0))
    assert used.local_bytes == 0
    assert -(-used.registers // 8) * 8 * cut.threads * cut.resident <= 65536
    if nvdisasm() is None:
        return
    loop = main_loop(instructions(elf))
    products = cut.tall * cut.wide * cut.depth
    assert count(loop, "FFMA") == products
    sides = Side(not columns[0], wide), Side(columns[1], wide)
    assert abs(products / len(loop) - ffma_share(cut, *sides)) < 0.05
    # each such FFMA waits a cycle; which registers meet is ptxas's choice, and TUNING.md says where
    assert one_bank_reads(loop) <= WAITING.get(cut, products // 16)


def test_three_times_a_power_of_two():
    """Of rows and columns, in kernels without guards; of nothing else."""
    assert Cut(48, 128, tall=12).threads == 64
    with pytest.raises(ValueError, match="or three times one, is wanted"):
        Cut(40, 128)
    with pytest.raises(ValueError, match="a power of two is wanted"):
        Cut(48, 128, depth=12, tall=12)
    with pytest.raises(ValueError, match="48x128: guarded kernels take powers of two"):
        matmul_guarded_of(Cut(48, 128, tall=12))
