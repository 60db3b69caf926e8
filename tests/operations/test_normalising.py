"""softmax, log_softmax, layer_norm and rms_norm: values, special values, axes, `out`, refusals."""

import math

import numpy as np
import pytest

from smemnb import layer_norm, log_softmax, rms_norm, softmax
from smemnb.errors import LaunchRefused
from tests.facts import facts
from tests.tiers import exhaustive, sampled

EPS = {np.float32: 2.0**-24, np.float64: 2.0**-53}


def drawn(shape, dtype, seed=1):
    return (np.random.default_rng(seed).standard_normal(shape) * 3 + 1).astype(dtype)


def true_softmax(x, axis):
    """In extended precision."""
    wide = x.astype(np.longdouble)
    with np.errstate(invalid="ignore"):
        powers = np.exp(wide - wide.max(axis, keepdims=True))
        return powers / powers.sum(axis, keepdims=True)


def true_log_softmax(x, axis):
    wide = x.astype(np.longdouble)
    with np.errstate(invalid="ignore"):
        shifted = wide - wide.max(axis, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def true_norm(x, weight, bias, eps, centred):
    wide = x.astype(np.longdouble)
    if centred:
        wide = wide - wide.mean(-1, keepdims=True)
    scaled = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + np.longdouble(eps))
    return scaled * (1 if weight is None else weight) + (0 if bias is None else bias)


def check_softmax(x, axis):
    """Each element within 40 half units of its last place, the logarithm of the largest one's."""
    half = EPS[x.dtype.type]
    found, expected = softmax(x, axis), true_softmax(x, axis)
    assert (found.dtype, found.shape) == (x.dtype, x.shape)
    assert np.max(np.abs(found - expected) / expected) < 40 * half
    found, expected = log_softmax(x, axis), true_log_softmax(x, axis)
    assert np.max(np.abs(found - expected)) < 4 * half * max(1, np.max(np.abs(expected)))


def check_norms(x, weight, bias, eps):
    half, arrays = EPS[x.dtype.type], [one for one in (weight, bias) if one is not None]
    size = max(1.0, *(float(np.abs(one).max()) for one in arrays), 1.0)
    found = layer_norm(x, weight, bias, eps)
    expected = true_norm(x, weight, bias, eps, True)
    assert (found.dtype, found.shape) == (x.dtype, x.shape)
    spread = np.abs(x - x.mean(-1, keepdims=True)).max()
    worst = (np.abs(x).max() + spread) / max(math.sqrt(eps), float(x.std(-1).min()))
    assert np.max(np.abs(found - expected)) < 16 * half * size * max(4, worst)
    found, expected = rms_norm(x, weight, eps), true_norm(x, weight, None, eps, False)
    assert np.max(np.abs(found - expected)) < 16 * half * size * max(1, np.max(np.abs(expected)))


LENGTHS = {
    np.float32: [1, 7, 8, 33, 256, 8191, 20_001, 40_000],
    np.float64: [3, 255, 16_384],
}


@pytest.mark.parametrize(
    ("length", "dtype"),
    [
        (517, np.float32),
        *(
            pytest.param(n, dtype, marks=exhaustive)
            for dtype, lengths in LENGTHS.items()
            for n in lengths
        ),
    ],
)
def test_lengths(length, dtype):
    """Rows of a few lanes, of a warp, of a block, of several blocks; equal calls, equal bits."""
    x = drawn((1 if length > 300_000 else 3, length), dtype, length)
    check_softmax(x, -1)
    check_norms(x, drawn(length, dtype, 2), drawn(length, dtype, 3), 1e-3)
    np.testing.assert_array_equal(softmax(x), softmax(x))


@pytest.mark.parametrize(
    ("shape", "axis"),
    sampled(
        [
            ((5,), 0),
            ((7, 5), 0),
            ((5, 7, 3), 1),
            ((3, 100, 40), 1),
            ((2, 33, 64), -2),
            ((2000, 3), 0),
            ((1100, 33), 0),
            ((600, 2), 0),
            ((4, 1, 5), 1),
            ((2, 3, 4, 5), 1),
            ((1, 3000, 2), 1),
        ],
        1,
    ),
)
@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=exhaustive)])
def test_axes(shape, axis, dtype):
    """Columns in registers and columns that are read twice, of one slab or of many."""
    check_softmax(drawn(shape, dtype, 7), axis)


@exhaustive
def test_random_arrays():
    """Random shapes, axes and strides: rows where they lie, or from a copy."""
    rng = np.random.default_rng(20)
    for _ in range(6):
        shape = tuple(rng.integers(1, 12, rng.integers(1, 5)))
        x = drawn(shape, (np.float32, np.float64)[rng.integers(2)], int(rng.integers(99)))
        if rng.integers(2):
            x = x.transpose(rng.permutation(x.ndim))
        cuts = tuple(slice(0, max(1, int(rng.integers(n + 1)))) for n in x.shape)
        check_softmax(x[cuts], int(rng.integers(-x.ndim, x.ndim)))
        weight = drawn(x.shape[-1] * 2, x.dtype, 4)[::2] if rng.integers(2) else None
        bias = drawn(x.shape[-1], x.dtype, 5) if rng.integers(2) else None
        check_norms(x, weight, bias, 0.5)


def test_special_values():
    """As PyTorch has them: NaN for rows with inf, with NaN, and of nothing but -inf."""
    inf, nan = math.inf, math.nan
    x = np.array([[0, -inf, 0], [-inf] * 3, [1, inf, 0], [1, nan, 0], [-3e38, 3e38, 0]], np.float32)
    np.testing.assert_array_equal(
        softmax(x),
        np.array([[0.5, 0, 0.5], [nan] * 3, [nan] * 3, [nan] * 3, [0, 1, 0]], np.float32),
    )
    half = np.float32(math.log(0.5))
    np.testing.assert_array_equal(
        log_softmax(x)[:4],
        np.array([[half, -inf, half], [nan] * 3, [nan] * 3, [nan] * 3], np.float32),
    )
    np.testing.assert_array_equal(softmax(x.T, 0), softmax(x).T)
    y = np.array([[1, inf, 0], [1, nan, 0], [2, 2, 2], [0, 0, 0]], np.float32)
    expected = np.array([[nan] * 3, [nan] * 3, [0] * 3, [0] * 3], np.float32)
    np.testing.assert_array_equal(layer_norm(y), expected)
    expected = np.array([[0, nan, 0], [nan] * 3, [1] * 3, [0] * 3], np.float32)
    np.testing.assert_allclose(rms_norm(y), expected, rtol=1e-6)


@pytest.mark.parametrize("length", [3, pytest.param(40_000, marks=exhaustive)])
def test_large_means(length):
    """Rows of one number are 0 exactly; a mean a million times the spread leaves six digits."""
    x = np.full((2, length), 1_000_003, np.float32)
    x[1] += np.arange(length, dtype=np.float32) % 2
    found, expected = layer_norm(x), true_norm(x, None, None, 1e-5, True)
    np.testing.assert_array_equal(found[0], 0)
    np.testing.assert_allclose(found[1], expected[1].astype(np.float32), rtol=2e-6)


def test_out_and_empty():
    """`out` is given back; a lone row is one; an array without elements gives one."""
    x, out = drawn((4, 3), np.float32), np.zeros((4, 3), np.float32)
    assert softmax(x, 1, out=out) is out
    np.testing.assert_array_equal(out, softmax(x))
    np.testing.assert_array_equal(softmax(x[1]), out[1])
    assert layer_norm(x, out=out) is out
    for shape in ((0, 3), (3, 0), (0,)):
        empty = np.zeros(shape, np.float32)
        for operation in (softmax, log_softmax, layer_norm, rms_norm):
            assert operation(empty).shape == shape


def test_defaults_of_eps():
    """1e-5 of layer norm; of RMS norm the spacing at 1, as PyTorch has it."""
    x = np.full((1, 3), 1e-4, np.float32) * np.array([1, -1, 0], np.float32)
    expected = x / np.sqrt(2e-8 / 3 + 1e-5)
    np.testing.assert_allclose(layer_norm(x), expected, rtol=1e-5)
    expected = x / np.sqrt(2e-8 / 3 + np.finfo(np.float32).eps)
    np.testing.assert_allclose(rms_norm(x), expected, rtol=1e-5)


X = drawn((3, 4), np.float32)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: softmax(np.zeros((2, 3), np.float16)), {"float16", "float32", "float64"}),
        (lambda: log_softmax(np.zeros((2, 3), np.int32)), {"int32"}),
        (lambda: softmax(X, 2), {"axis", "2"}),
        (lambda: softmax(X, None), {"axis", "None"}),
        (lambda: softmax(X, [0]), {"axis"}),
        (lambda: softmax(X, 1.0), {"axis", "1.0"}),
        (lambda: softmax(np.array(1, np.float32)), {"axis"}),
        (lambda: layer_norm(np.array(1, np.float32)), {"x"}),
        (lambda: layer_norm(X, np.ones(3, np.float32)), {"weight", "3", "4"}),
        (lambda: layer_norm(X, None, np.ones((1, 4), np.float32)), {"bias"}),
        (lambda: rms_norm(X, np.ones(4)), {"weight", "float64", "float32"}),
        (lambda: layer_norm(X, eps="1"), {"eps"}),
        (lambda: rms_norm(X, eps=True), {"eps", "True"}),
        (lambda: softmax(X, out=X), {"out", "x"}),
        (lambda: softmax(X, out=np.zeros((4, 3), np.float32)), {"out"}),
        (lambda: softmax(X, out=np.zeros((3, 4))), {"out", "float64", "float32"}),
        (lambda: layer_norm(X, np.ones(4, np.float32), stream="s"), {"stream"}),
    ],
)
def test_refused(call, said):
    """Before anything is launched, with the argument and what came."""
    with pytest.raises(LaunchRefused) as refused:
        call()
    words = str(refused.value)
    assert all(word in words for word in said), words
    assert facts(words) is not None


def test_a_long_call_is_refused(monkeypatch):
    """Without a GPU an array above the limit is refused, with what it would take."""
    monkeypatch.setenv("SMEMNB_ENGINE_SECONDS", "0.001")
    x = np.zeros((1 << 9, 1 << 9), np.float32)
    with pytest.raises(LaunchRefused, match="SMEMNB_ENGINE_SECONDS"):
        softmax(x)
