"""Products of a few vectors and a large matrix: values, races, counts, errors, machine code."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numba import cuda

from smemnb.compiled import cubin
from smemnb.compiled.machine import count as counted
from smemnb.compiled.machine import instructions, main_loop, nvdisasm
from smemnb.compiled.usage import read_resources
from smemnb.kernels.matmul.variants.vector_tiling import (
    COUNTS,
    THREADS,
    VectorTiling,
    launched,
    vector_plan,
)
from smemnb.kernels.matmul.variants.vectors import vector_product_of
from smemnb.simulator.launch import run
from smemnb.simulator.seam import OUT_OF_TREE
from smemnb.tracing import trace
from tests.tiers import sampled

COLUMNS, DEPTH = VectorTiling("columns", 2, across=8), VectorTiling("depth", 2, across=2)
NOTES = {
    *("unused_shared", "unused_barrier", "unused_waiver"),  # what one part, say, has no need of
    *("misaligned", "interleaved"),  # rows that begin between sectors
    "open_local_array",  # `test_machine_code` says that it is in registers
}
"""Kinds of findings that may stay: no error, no warning."""

BOTH = pytest.mark.parametrize("tiling", [COLUMNS, DEPTH], ids=["columns", "depth"])


def framed(of, spare, before):
    """The matrix on the device with NaN around: `before` columns in front and `spare` behind."""
    if not of.size:
        return of, np.s_[:], None, np.zeros(of.shape, np.float32)
    host = np.full((of.shape[0] + 2, of.shape[1] + before + spare), np.nan, np.float32)
    inside = np.s_[1:-1, before : before + of.shape[1]]
    host[inside] = of
    whole = cuda.to_device(host)
    return host, inside, whole, whole[inside]


@dataclass
class Case:
    """A product with its arrays, launched on them; what it leaves behind is checked."""

    tiling: VectorTiling
    count: int
    length: int
    depth: int
    parts: int = 1
    small_columns: bool = False
    out_turned: bool = False
    alpha: float = 2.0
    beta: float = 0.5
    spare: int = 0

    def __post_init__(self):
        rng = np.random.default_rng([self.count, self.length, self.depth])
        self.vectors = rng.integers(-9, 10, (self.count, self.depth)).astype(np.float32)
        self.matrix = rng.integers(-9, 10, (self.depth, self.length)).astype(np.float32)
        shape = self.count, self.length
        self.before = np.full(shape, np.nan, np.float32)
        if self.beta:
            self.before = rng.integers(-9, 10, shape).astype(np.float32)

    def checked(self, launches=1, prices=False):
        """The trace of the last of some launches on one workspace; `prices` may be any."""
        of_depth, wide = self.tiling.along == "depth", self.tiling.wide
        kernel = vector_product_of(self.tiling, self.small_columns, self.out_turned)
        plan = launched(self.tiling, self.count, self.length, self.parts)
        sums, flags = np.full(plan.sums, np.nan, np.float32), np.zeros(plan.flags, np.uint32)
        small = self.vectors.T if self.small_columns else self.vectors
        large = self.matrix.T if of_depth else self.matrix
        _, _, _, small = framed(small, self.spare, self.spare)
        _, _, _, large = framed(large, 4 * self.spare if wide else self.spare, 8 * wide)
        for _ in range(launches):
            turned = self.before.T if self.out_turned else self.before
            host, inside, whole, out = framed(turned, self.spare, self.spare)
            arguments = out, small, large, self.alpha, self.beta, sums, flags
            found = trace(kernel)[plan.grid, plan.block](*arguments)
            result = self.alpha * (self.vectors.astype(np.float64) @ self.matrix)
            result += self.beta * self.before if self.beta else 0
            host[inside] = result.T if self.out_turned else result
            np.testing.assert_array_equal(whole.copy_to_host(), host)
            assert not flags.any()
        kinds = {one.kind for one in found.findings if not (prices and one.price)}
        assert kinds <= NOTES
        return found


# --- values and races ----------------------------------------------------------------------------

MORE = [(1, 1, 1), (2, 64, 300), (2, 1, 1000), (2, 333, 3), (1, 4, 4)]
SHAPES = [(1, 70, 129), *(pytest.param(shape, marks=pytest.mark.exhaustive) for shape in MORE)]


@pytest.mark.first(1)
@pytest.mark.parametrize("wide", [True, False], ids=["wide", "narrow"])
@pytest.mark.parametrize("shape", SHAPES)
@BOTH
def test_shapes(tiling, shape, wide):
    """Ragged and degenerate ones, in one part and in three; nothing around is read or written."""
    count, length, depth = shape
    if wide:  # rows of whole quads
        length, depth = (-(-extent // 4) * 4 for extent in (length, depth))
    for parts in (1, 3):
        Case(replace(tiling, wide=wide), count, length, depth, parts, spare=1).checked()


@pytest.mark.first(1)
@pytest.mark.parametrize("parts", [pytest.param(1, marks=pytest.mark.exhaustive), 2])
@BOTH
def test_depth_of_nothing(tiling, parts):
    """out = beta * out, and 0 where beta is 0."""
    Case(tiling, 2, 40, 0, parts).checked()
    Case(tiling, 2, 40, 0, parts, beta=0.0).checked()


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("small_columns", "out_turned"),
    [
        (True, True),
        pytest.param(False, False, marks=pytest.mark.exhaustive),
        pytest.param(True, False, marks=pytest.mark.exhaustive),
        pytest.param(False, True, marks=pytest.mark.exhaustive),
    ],
)
@BOTH
def test_operands(tiling, small_columns, out_turned):
    """Vectors by rows or by columns, the result straight or turned; beta 0 does not read it."""
    for beta in (0.0, -1.0):
        case = Case(tiling, 2, 68, 200, 2, small_columns, out_turned, 1.0, beta, spare=3)
        case.checked()


@pytest.mark.first(1)
@pytest.mark.parametrize(
    "count", [4, *(pytest.param(one, marks=pytest.mark.exhaustive) for one in (1, 2, 8, 16))]
)
@BOTH
def test_counts_of_vectors(tiling, count):
    """Fewer vectors than the kernel takes at once, as many, and more: several sets of blocks."""
    tiling = replace(tiling, count=count, groups=4, loads=4)
    for vectors in {max(1, count - 1), count, count + 1}:
        Case(tiling, vectors, 76, 260, 2, small_columns=count % 4 == 0).checked()


def tilings():
    """All choices but those that are refused."""
    for along in ("columns", "depth"):
        for count in COUNTS:
            for wide in (True, False):
                for across in (1, 2, 4, 8, 16, 32):
                    for groups in (1, 2, 4, 8):
                        for loads in (4, 8):
                            try:
                                yield VectorTiling(along, count, wide, across, groups, loads)
                            except ValueError:
                                assert along == "depth" or across < 32


def random_case(rng, tiling):
    """A shape of some blocks and turns, the rest at random; few suit the tiling."""
    length = int(rng.choice([1, tiling.columns, rng.integers(1, 3 * tiling.columns)]))
    depth = int(rng.choice([1, tiling.step, rng.integers(1, 3 * tiling.step)]))
    count, parts = int(rng.integers(1, tiling.count + 2)), int(rng.integers(1, 5))
    if tiling.wide:
        length, depth = (-(-extent // 4) * 4 for extent in (length, depth))
    small_columns, out_turned = (bool(one) for one in rng.integers(0, 2, 2))
    alpha, beta = (float(one) for one in rng.choice([0.0, 1.0, -0.5, 2.0], 2))
    spare = int(rng.integers(0, 3))
    layout = small_columns, out_turned, alpha, beta, spare
    return Case(tiling, count, length, depth, parts, *layout)


@pytest.mark.first(1)
@pytest.mark.parametrize("seed", range(2))
def test_random_tilings(seed):
    """One tiling of each seed, watched."""
    rng, some = np.random.default_rng([1, seed]), list(tilings())
    random_case(rng, some[rng.integers(len(some))]).checked(prices=True)


@pytest.mark.parametrize("seed", sampled(range(24), 0, second=8))
def test_many_random_tilings(seed):
    """Three of each seed."""
    rng, some = np.random.default_rng([2, seed]), list(tilings())
    for _ in range(3):
        random_case(rng, some[rng.integers(len(some))]).checked(prices=True)


@pytest.mark.first(1)
@pytest.mark.parametrize("infinite", ["vectors", "matrix"])
@BOTH
def test_values_beyond_the_end(tiling, infinite):
    """An infinite last element is loaded again behind the end, and does not become NaN there."""
    case = Case(tiling, 1, 64, 132, 1, beta=0.0)
    case.vectors[:], case.matrix[:] = 1, 1
    if infinite == "vectors":
        case.vectors[:, -1] = np.inf
    else:
        case.matrix[-1, :] = np.inf
    case.checked()  # compared with what NumPy makes of it


@BOTH
def test_workspace_is_used_again(tiling):
    """Flags are 0 after each launch, so that the next one counts from 0."""
    Case(tiling, 2, 100, 400, 3).checked(launches=3)


# --- what is read and written --------------------------------------------------------------------


def requests(found):
    """{(array, kind): (requests, sectors)}, over all lines."""
    sums = {}
    for row in found.lines:
        before = sums.get((row.array, row.kind), (0, 0))
        sums[row.array, row.kind] = before[0] + row.requests, before[1] + row.sectors
    return sums


@pytest.mark.first(1)
@pytest.mark.parametrize(
    "wide", [True, pytest.param(False, marks=pytest.mark.exhaustive)], ids=["wide", "narrow"]
)
@pytest.mark.parametrize("along", ["columns", "depth"])
def test_matrix_is_read_once(along, wide):
    """256 x 512 whole turns: 16 sectors per request (4 of 4-byte loads), each sector once.

    Two parts of four pieces: blocks store and load 4 warps' worth of 2 sums per lane each.
    """
    across, groups = (8, 2) if along == "columns" else (1, 8)
    tiling = VectorTiling(along, 2, wide, across, groups)
    case = Case(tiling, 2, 256, 512, parts=2, beta=0.0)
    found = requests(case.checked())
    sectors, per_request = 4 * 256 * 512 // 32, 16 if wide else 4
    assert found["large", "load"] == (sectors // per_request, sectors)
    blocks = 2 * 256 // tiling.columns
    assert found["sums", "store"] == (groups * tiling.values * blocks, tiling.slot * blocks // 8)


@pytest.mark.first(1)
@pytest.mark.parametrize("along", ["columns", "depth"])
def test_wavefronts(along):
    """Vectors are read from shared memory in as few wavefronts as their bytes allow."""
    tiling = VectorTiling(along, 4, True, 32 if along == "columns" else 1, 8)
    found = Case(tiling, 4, 256, 512).checked()
    (read,) = [row for row in found.lines if (row.space, row.width) == ("shared", 16)]
    each = 2 if along == "columns" else 4  # one address for all lanes, or 512 bytes
    assert read.wavefronts == each * read.requests
    others = [row for row in found.lines if row.space == "shared" and row.width == 4]
    assert {row.wavefronts / row.requests for row in others} == {1}


# --- always the same result, and a good one ------------------------------------------------------


@pytest.mark.first(1)
@BOTH
def test_order_of_blocks_and_warps(tiling):
    """Bit by bit the same, whatever order warps run in, in a product that rounds."""
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((2, 1000), np.float32)
    matrix = rng.standard_normal((1000, 64), np.float32)
    plan = launched(tiling, 2, 64, 5)
    large = matrix if tiling.along == "columns" else np.ascontiguousarray(matrix.T)
    results = set()
    for order, seed in ((None, 0), ("reversed", 0), ("random", 1), ("random", 2)):
        out = np.zeros((2, 64), np.float32)
        sums, flags = np.full(plan.sums, np.nan, np.float32), np.zeros(plan.flags, np.uint32)
        arguments = out, vectors, large, 1.0, 0.0, sums, flags
        kernel = vector_product_of(tiling)
        run(kernel, plan.grid, plan.block, 0, 0, arguments, order=order, seed=seed)
        results.add(out.tobytes())
    assert len(results) == 1


@pytest.mark.first(1)
@pytest.mark.parametrize(
    "wide", [True, pytest.param(False, marks=pytest.mark.exhaustive)], ids=["wide", "narrow"]
)
@pytest.mark.parametrize("along", ["columns", "depth"])
def test_errors_at_depth(along, wide):
    """Depth 100000: against float64 no worse than twice a pairwise sum in float32."""
    rng, depth = np.random.default_rng(4), 100_000
    vector = rng.standard_normal((1, depth), np.float32)
    matrix = rng.standard_normal((depth, 64), np.float32)
    plan = vector_plan(1, 64, depth, along, wide)
    large = matrix if along == "columns" else np.ascontiguousarray(matrix.T)
    out = np.zeros((1, 64), np.float32)
    sums, flags = np.zeros(plan.sums, np.float32), np.zeros(plan.flags, np.uint32)
    kernel = vector_product_of(plan.tiling)
    kernel[plan.grid, plan.block](out, vector, large, 1.0, 0.0, sums, flags)
    exact = vector.astype(np.float64) @ matrix
    pairwise = (np.ascontiguousarray(matrix.T) * vector).sum(1)  # NumPy's is, along the last axis
    error, other = (np.sqrt(np.mean((one - exact) ** 2)) for one in (out, pairwise))
    assert error <= 2 * other


# --- choices -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "named", "advice"),
    [
        ({"along": "rows"}, "along='rows'", "columns"),
        ({"count": 3}, "count=3", "count=2 or count=4"),
        ({"across": 6}, "across=6", "across=4 or across=8"),
        ({"groups": 0}, "groups=0", "groups=1"),
        ({"loads": 6}, "loads=6", "loads=4 or loads=8"),
        ({"wide": 1}, "wide=1", "wide=True"),
        ({"along": "depth", "count": 16, "across": 1, "groups": 2}, "loads=8", "loads=4"),
    ],
)
def test_bad_choices(choices, named, advice):
    """A ValueError that names the choice, and values that would do."""
    with pytest.raises(ValueError) as refusal:
        VectorTiling(**{"along": "columns", "count": 2, **choices})
    assert named in str(refusal.value)
    assert advice in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"count": 0}, "count=0"),
        ({"length": 0}, "length=0"),
        ({"depth": -1}, "depth=-1"),
        ({"multiprocessors": 0}, "multiprocessors=0"),
    ],
)
def test_bad_sizes(change, said):
    """Nothing to compute is no plan."""
    sizes = {"count": 1, "length": 5, "depth": 7, "along": "depth", "wide": False}
    with pytest.raises(ValueError, match=said):
        vector_plan(**(sizes | change))


@pytest.mark.parametrize("multiprocessors", [1, 20, 132])
@pytest.mark.parametrize("along", ["columns", "depth"])
def test_plans_cover(along, multiprocessors):
    """Of 300 random shapes: all columns, vectors and steps; no part empty, none beyond limits."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        count = int(rng.integers(1, 40))
        length, depth = (int(np.exp(rng.uniform(0, np.log(2e6)))) for _ in range(2))
        plan = vector_plan(count, length, depth, along, False, multiprocessors)
        tiling, (pieces, sets, parts) = plan.tiling, plan.grid
        assert (pieces - 1) * tiling.columns < length <= pieces * tiling.columns
        assert (sets - 1) * tiling.count < count <= sets * tiling.count
        part = ((depth + parts - 1) // parts + 31) // 32 * 32  # as the kernel cuts it
        assert (parts - 1) * part < depth <= parts * part
        assert part <= 2 * 256 * tiling.step
        assert sets <= 65_535
        assert parts <= 65_535
        assert (plan.sums, plan.flags) == (
            (pieces * sets * parts * tiling.slot, pieces * sets) if parts > 1 else (0, 0)
        )


# --- as compiled ---------------------------------------------------------------------------------

SIGNATURE = (
    "void(float32[:, :], float32[:, :], float32[:, :], float32, float32, float32[:], uint32[:])"
)
CHOICES = [
    vector_plan(count, 4096, 4096, along, wide).tiling
    for count in (1, 4, 16)
    for along in ("columns", "depth")
    for wide in (True, False)
]


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
@pytest.mark.parametrize(
    "tiling", CHOICES, ids=lambda one: f"{one.count}-{one.along}-{'wide' if one.wide else 'narrow'}"
)
def test_machine_code(tiling):
    """No local memory; as many blocks as promised have registers; loads of a turn are together."""
    elf = cubin(vector_product_of(tiling), SIGNATURE, (9, 0))
    used = read_resources(elf, (9, 0))
    print(f"{tiling}: {used.registers} registers")
    assert used.local_bytes == 0
    registers = -(-used.registers // 8) * 8
    assert registers * THREADS * tiling.resident <= 65_536
    if nvdisasm() is None:
        return
    loop = main_loop(instructions(elf))
    products = 4 * tiling.count * tiling.loads
    loads = tiling.loads if tiling.wide else 4 * tiling.loads
    assert counted(loop, "FFMA") == products
    assert counted(loop, "LDG") == loads
    assert counted(loop, "LDG.128") == loads * tiling.wide
    # between the first load of a turn and the last one nothing branches or waits for a load
    at = [place for place, one in enumerate(loop) if one.name.startswith("LDG")]
    between = loop[at[0] : at[-1]]
    assert not [one.name for one in between if one.name in ("BRA", "FFMA", "FADD", "LDS")]
