"""Operands by columns, vectors and batches: as `numpy.matmul`, and in how many launches."""

import itertools

import numpy as np
import pytest
from numba import cuda

from smemnb.errors import LaunchRefused
from smemnb.operations import matmul
from smemnb.operations.backends.find import array_view
from smemnb.operations.operands import Operand, launches, operand, result_shape
from tests.tiers import sampled


def numbers(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).integers(-4, 5, shape).astype(np.float32)


def by_columns(array):
    """The same matrices, each lying by columns."""
    return np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2)


SHAPES = [
    ((5, 7), (7, 3)),
    ((7,), (7, 3)),
    ((5, 7), (7,)),
    ((7,), (7,)),
    ((2, 5, 7), (7, 3)),
    ((2, 5, 7), (2, 7, 3)),
    ((5, 7), (4, 7, 3)),
    ((2, 1, 5, 7), (3, 7, 4)),
    ((2, 5, 7), (7,)),
    ((7,), (2, 7, 3)),
    ((3, 1, 7), (7, 4)),
    ((1, 1), (1, 1)),
    ((6, 0), (0, 3)),
    ((0, 4), (4, 3)),
    ((2, 0, 4), (4, 3)),
    ((0, 3, 4), (4, 3)),
    ((70, 40), (40, 90)),
]


LAYOUTS = list(itertools.product((False, True), repeat=2))
EACH = [(*shapes, columns) for shapes, columns in itertools.product(SHAPES, LAYOUTS)]


@pytest.mark.first(3)
@pytest.mark.parametrize(("a", "b", "columns"), sampled(EACH, 1, by=lambda case: case[:2]))
def test_as_numpy(a, b, columns):
    """Shape and values for every layout of either operand."""
    left, right = numbers(*a, seed=1), numbers(*b, seed=2)
    if columns[0] and len(a) > 1:
        left = by_columns(left)
    if columns[1] and len(b) > 1:
        right = by_columns(right)
    found = matmul(left, right)
    assert found.shape == np.matmul(left, right).shape
    np.testing.assert_array_equal(found, np.matmul(left, right))


@pytest.mark.exhaustive
def test_random_operands():
    """Seeded shapes with spare elements, axes in any order, broadcast axes, alpha and beta."""
    rng = np.random.default_rng(14)
    for _ in range(25):
        rows, depth, cols = map(int, rng.integers(1, 40, 3))
        batch = tuple(map(int, rng.integers(1, 4, rng.integers(0, 3))))
        kept = tuple(1 if rng.random() < 0.3 else one for one in batch)
        a = laid_out(rng, (*batch, rows, depth))
        b = laid_out(rng, (*(kept if rng.random() < 0.7 else ()), depth, cols))
        expected = 2 * np.matmul(a, b)
        room = np.full((*expected.shape[:-1], expected.shape[-1] + 3), 7, np.float32)
        out = room[..., 1:-2]
        assert matmul(a, b, out=out, alpha=2, beta=-1) is out
        np.testing.assert_array_equal(out, expected - 7)
        assert (room[..., :1] == 7).all() and (room[..., -2:] == 7).all()


def laid_out(rng, shape):
    """An array with spare elements along its rows, its batch in another order, or by columns."""
    order = [*rng.permutation(len(shape) - 2), len(shape) - 2, len(shape) - 1]
    if rng.random() < 0.5:
        order[-2:] = order[:-3:-1]
    room = rng.integers(-4, 5, (*(shape[at] for at in order[:-1]), shape[order[-1]] + 2))
    lying = room.astype(np.float32)[..., : shape[order[-1]]]
    return lying.transpose(np.argsort(order))


def test_on_a_device():
    """Device arrays: a batch, and a vector; the result is a device array of the same shape."""
    a, b = numbers(3, 9, 20), numbers(20, 6)
    found = matmul(cuda.to_device(a), cuda.to_device(b))
    assert isinstance(found, type(cuda.to_device(a)))
    np.testing.assert_array_equal(found.copy_to_host(), a @ b)
    dot = matmul(cuda.to_device(a[0, 0]), cuda.to_device(a[0, 1]))
    assert (dot.shape, float(dot.copy_to_host())) == ((), float(a[0, 0] @ a[0, 1]))


def cut(a, b, shape=None):
    """(launches, matrices of each, rows of the first) for operands of these arrays."""
    views = array_view("a", a), array_view("b", b)
    one, other = operand(views[0], "left"), operand(views[1], "right")
    shape = result_shape(*views)
    steps = np.empty(shape, np.float32).strides
    out = Operand(one.rows, other.cols, steps[-2], extents=shape[:-2], steps=steps[:-2])
    found = launches(out, one, other)
    return len(found), {each.matrices for each in found}, found[0].out.rows


def test_launches():
    """One launch where matrices lie alike; a matrix for a whole batch makes one tall product."""
    ones = np.ones
    assert cut(ones((4, 5, 6)), ones((4, 6, 7))) == (1, {4}, 5)
    assert cut(ones((2, 3, 5, 6)), ones((2, 3, 6, 7))) == (1, {6}, 5)
    assert cut(ones((2, 3, 5, 6)), ones((6, 7))) == (1, {1}, 30)
    assert cut(by_columns(ones((4, 5, 6))), ones((6, 7))) == (1, {4}, 5)
    assert cut(ones((2, 3, 5, 6)), ones((2, 1, 6, 7))) == (1, {2}, 15)
    assert cut(ones((3, 2, 5, 6)).transpose(1, 0, 2, 3), ones((2, 3, 6, 7))) == (2, {3}, 5)
    assert cut(ones((5, 6)), ones((70_000, 6, 1))) == (2, {65_535, 4_465}, 5)


OUT = np.zeros((2, 3, 5), np.float32)
SHARED = np.zeros((4, 3, 4), np.float32)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: matmul(numbers(3, 4), numbers(5, 3)), "`a` has 4 columns and `b` 5 rows"),
        (lambda: matmul(numbers(2, 3, 4), numbers(3, 4, 5)), "do not pair"),
        (lambda: matmul(numbers(6, 8)[::2, ::2], numbers(4, 3)), "neighbours"),
        (lambda: matmul(numbers(4, 4)[::-1], numbers(4, 2)), "backwards"),
        (lambda: matmul(numbers(2, 3, 4)[::-1], numbers(4, 2)), "backwards"),
        (lambda: matmul(np.array(3, np.float32), numbers(2, 2)), "single number"),
        (lambda: matmul(numbers(2, 3, 4), numbers(4, 5), out=OUT[:1]), "(1, 3, 5)"),
        (lambda: matmul(numbers(2, 3, 4), numbers(4, 5), beta=1), "no `out`"),
        (lambda: matmul(numbers(4, 3).T, numbers(4, 2), rung="matmul_naive"), "Leave `rung` out"),
        (lambda: matmul(SHARED[:2], numbers(4, 4), out=SHARED[1:3]), "shares memory with `a`"),
        (lambda: matmul(numbers(2, 3, 4), SHARED[0].T[:, :3], out=SHARED[:2, :, :3]), "with `b`"),
    ],
)
def test_refused(call, words):
    """Shapes that do not pair, elements that are no neighbours, results with no room."""
    with pytest.raises(LaunchRefused) as found:
        call()
    assert words in str(found.value)
    assert not OUT.any() and not SHARED.any()


@pytest.mark.parametrize(
    ("a", "b", "kernel"),
    [
        ((1, 4096), (4096, 4096), "matmul_vectors"),
        ((100_000, 64), (64, 5), "matmul_vectors"),
        ((3, 5), (5, 7), "matmul_direct"),
        ((1158, 3), (3, 1904), "matmul_shallow"),
        ((4096, 64), (64, 4096), "matmul_fastest"),
        ((10012, 11), (11, 15389), "matmul_shallow"),
        ((1091, 2737), (2737, 3775), "matmul_balanced"),
        ((4224, 4224), (4224, 4224), "matmul_shared"),
        ((300, 300), (300, 300), "matmul_small"),
        ((512, 4096), (4096, 512), "matmul_balanced"),
        ((4000, 9000), (9000, 20), "matmul_balanced"),
        ((8, 64, 64), (8, 64, 64), "matmul_guarded"),
    ],
)
def test_plans(a, b, kernel):
    """What a GPU of 132 multiprocessors would launch, in words that name the reason."""
    found = matmul.plan(np.zeros(a, np.float32), np.zeros(b, np.float32), 132)
    assert (found.kernel, found.launches) == (kernel, 1)
    assert "132 multiprocessors" in str(found)
    assert kernel in repr(found)


def test_a_plan_of_nothing():
    """No element, no launch; a wrong number of multiprocessors is refused."""
    empty = matmul.plan(np.zeros((0, 3), np.float32), np.zeros((3, 4), np.float32))
    assert (empty.launches, empty.workspace) == (0, 0)
    with pytest.raises(LaunchRefused, match="multiprocessors"):
        matmul.plan(numbers(2, 2), numbers(2, 2), 0)


def test_workspace_of_a_closed_context():
    """Sums and flags that are kept for the next call go with their context."""
    a, b = numbers(20, 600), numbers(20, 600).T
    for _ in range(2):
        np.testing.assert_array_equal(matmul(a, b), a @ b)
        cuda.close()
