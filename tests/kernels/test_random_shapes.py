"""Both ladders on random shapes: values, what lies around the result, races.

Matrices are parts of larger ones: rows lie apart, and what surrounds them is NaN. A read beyond an
edge would show in the result, a write beyond it in the frame. Of each rung one shape is run in the
first tier, and many in the exhaustive one, watched.
"""

import numpy as np
import pytest
from numba import cuda

from smemnb.kernels.matmul import ladder as products
from smemnb.kernels.transpose import ladder as transposes
from smemnb.tracing import trace
from tests.tiers import sampled

ELEMENTS = {1: np.uint8, 2: np.uint16, 4: np.float32, 8: np.uint64}
CANARY = 171


class Framed:
    """A matrix inside a larger one: `of` the values, `spare` columns and a row on each side."""

    def __init__(self, of, spare):
        rows, cols = of.shape
        blank = np.nan if of.dtype.kind == "f" else CANARY
        spare += cols == 0  # an array of no bytes has no parts
        self.host = np.full((rows + 2, cols + 2 * spare), blank, of.dtype)
        self.inside = np.s_[1 : rows + 1, spare : spare + cols]
        self.host[self.inside] = of
        self.device = cuda.to_device(self.host)
        self.view = self.device[self.inside]

    def after(self, expected):
        """Asserts that the inside became this, and that the frame is as it was."""
        self.host[self.inside] = expected
        np.testing.assert_array_equal(self.device.copy_to_host(), self.host)


def launched(kernel, grid, block, arguments, watched):
    """Runs it; watched, the kinds of findings that are no prices must be none."""
    if not watched:
        kernel[grid, block](*arguments)
        return
    found = trace(kernel)[grid, block](*arguments).findings
    assert all(one.price for one in found)


def sized(rng, most, to=1):
    """A random extent, often 1, up to `most`, rounded up to a multiple of `to`."""
    extent = int(rng.choice([1, 2, 31, 32, 33, rng.integers(1, most + 1)]))
    return -(-min(extent, most) // to) * to


def transposed(rung, rng, dtype, to=1, watched=False):
    rows, cols = sized(rng, 150, to), sized(rng, 150, to)
    spares = [int(rng.integers(0, 4)) * to for _ in range(2)]
    inp = Framed(rng.integers(0, 250, (rows, cols)).astype(dtype), spares[0])
    out = Framed(np.zeros((cols, rows), dtype), spares[1])
    pair = out.view, inp.view
    rung = rung or transposes.fastest(*pair)
    launched(rung.kernel, rung.grid(rows, cols), rung.block, pair, watched)
    out.after(inp.host[inp.inside].T)


FEW_OR_MANY = pytest.mark.parametrize(
    ("shapes", "watched"),
    [(1, False), pytest.param(20, True, marks=pytest.mark.exhaustive)],
    ids=["few", "many"],
)


@FEW_OR_MANY
@pytest.mark.parametrize("rung", transposes.LADDER, ids=lambda rung: rung.name)
def test_transposes(rung, shapes, watched):
    """12 rungs, 21 shapes each."""
    rng = np.random.default_rng([1, shapes, transposes.LADDER.index(rung)])
    for _ in range(shapes):
        transposed(rung, rng, np.float32, rung.aligned, watched)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("itemsize", "to", "shapes"),
    [
        pytest.param(2, 1, 3, id="2-any-few"),
        *(
            pytest.param(size, to, 12, id=f"{size}-{kind}", marks=pytest.mark.exhaustive)
            for size in ELEMENTS
            for to, kind in ((1, "any"), (16, "aligned"))
        ),
    ],
)
def test_choices_of_transpose(itemsize, to, shapes):
    """What `fastest` takes for each element, rows aligned or not: 12 shapes each, watched."""
    rng = np.random.default_rng([2, itemsize, to])
    for _ in range(shapes):
        transposed(None, rng, ELEMENTS[itemsize], to, watched=True)


def multiplied(fit, rng, shape, scaled=True, watched=False, apart=(0, 1, 4)):
    """A product of this shape by `fit(out, a, b)`, with random rows apart, alpha and beta."""
    m, k, n = shape
    spares = [int(spare) for spare in rng.choice(apart, 3)]
    a = Framed(rng.integers(-9, 10, (m, k)).astype(np.float32), spares[0])
    b = Framed(rng.integers(-9, 10, (k, n)).astype(np.float32), spares[1])
    alpha, beta = (float(one) for one in rng.choice([0.0, 1.0, -0.5, 2.0], 2))
    before = np.full((m, n), np.nan, np.float32)
    if scaled and beta:
        before = rng.integers(-9, 10, (m, n)).astype(np.float32)
    out = Framed(before, spares[2])
    made = fit(out.view, a.view, b.view)
    own = np.full(made.sums, np.nan, np.float32), np.zeros(made.flags, np.uint32)
    arguments = (out.view, a.view, b.view, *((alpha, beta) if scaled else ()))
    arguments += own if made.sums else ()
    launched(made.kernel, made.grid, made.block, arguments, watched)
    expected = a.host[a.inside].astype(np.float64) @ b.host[b.inside]
    if scaled:
        expected = alpha * expected + (beta * before if beta else 0)
    out.after(expected)
    assert not own[1].any()


def as_fit(rung):
    """The rung as `fastest` would give it."""
    return lambda out, a, b: products.Fit(rung.kernel, rung.grid(*out.shape), rung.block)


def depth_of(rng):
    return int(rng.choice([0, 1, rng.integers(2, 40)]))


@pytest.mark.first(4)
@FEW_OR_MANY
@pytest.mark.parametrize(
    "rung", [one for one in products.LADDER if not one.depth], ids=lambda rung: rung.name
)
def test_products_of_any_shape(rung, shapes, watched):
    """Rungs that take any shape, 21 shapes each, a depth of 0 and 1 often."""
    rng = np.random.default_rng([3, shapes, products.LADDER.index(rung)])
    for _ in range(shapes):
        shape = sized(rng, 90), depth_of(rng), sized(rng, 90)
        multiplied(as_fit(rung), rng, shape, rung.scaled, watched)


def whole_multiplied(rung, rng, watched):
    """A product of whole tiles, rows as far apart as the rung allows."""
    rows, cols = (int(tiles) * 128 for tiles in rng.integers(1, 3, 2))
    shape = rows, int(rng.integers(1, 4)) * rung.depth, cols
    spares = [4] if rung.aligned > 1 else [0, 1, 4]
    multiplied(as_fit(rung), rng, shape, True, watched, spares)


@pytest.mark.first(1)
@FEW_OR_MANY
@pytest.mark.parametrize(
    "rung", [one for one in products.LADDER if one.depth], ids=lambda rung: rung.name
)
def test_products_of_whole_tiles(rung, shapes, watched):
    """Rungs that take whole tiles: 1 to 2 x 1 to 2 of them, a depth of 8 to 24."""
    rng = np.random.default_rng([6, shapes, products.LADDER.index(rung)])
    for _ in range(min(shapes, 4)):
        whole_multiplied(rung, rng, watched)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(products.TILINGS, 1))
def test_tilings(name):
    """Each tiling of a rung on 2 shapes that hold a tile, with any rows; watched."""
    tiling = products.TILINGS[name]
    rng = np.random.default_rng([4, len(name)])
    for _ in range(2):
        rows, cols = (int(extent) for extent in rng.integers(128, 200, 2))
        shape = rows, depth_of(rng), cols
        multiplied(lambda *arrays: products.fit_of(tiling, *arrays), rng, shape, watched=True)


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("shapes", "watched"),
    [(1, False), pytest.param(12, True, marks=pytest.mark.exhaustive)],
    ids=["few", "many"],
)
@pytest.mark.parametrize("multiprocessors", [0, 1, 132], ids=["large", "shared", "small"])
def test_choices_of_product(multiprocessors, shapes, watched):
    """What `fastest` takes for large results, for those whose tiles are shared, for small ones."""
    rng = np.random.default_rng([5, shapes, multiprocessors])
    most, depth = 110 if multiprocessors == 132 else 200, 64 * (multiprocessors == 1)
    for _ in range(shapes):
        shape = int(rng.integers(1, most)), depth + depth_of(rng), int(rng.integers(60, most))
        if depth:  # two tiles or more, for two blocks
            shape = shape[0] + 128, *shape[1:]
        multiplied(
            lambda out, a, b: products.fastest(out, a, b, multiprocessors),
            rng,
            shape,
            watched=watched,
        )
