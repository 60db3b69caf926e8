"""Subnormal float32 numbers under fastmath: what flushes them, and what moves their bits."""

import linecache
import math
import re

import numpy as np
import pytest
from numba import cuda, float32, float64, int32

from smemnb import lockstep
from smemnb.compiled import ptx
from smemnb.lockstep.numbers.subnormals import flush
from smemnb.simulator.inference import infer

SMALL, LEAST = np.float32(1e-40), np.float32(2e-38)  # subnormal; the least but a little
NAMES = {"cuda": cuda, "math": math, "float32": float32, "float64": float64, "int32": int32}

FLUSHED = [
    ("s + s", 0),
    ("t - float32(1.5e-38)", 0),  # a subnormal difference of normal numbers
    ("t * float32(0.1)", 0),
    ("s * float32(1e30)", 0),
    ("s / float32(1e-30)", 0),
    ("s * float32(1e20) + t", LEAST),
    ("s ** 2", 0),
    ("-s", 0),
    ("abs(s)", 0),
    ("min(s, t)", 0),
    ("max(s, -t)", 0),
    ("float32(1) if s > float32(0) else float32(2)", 2),
    ("float32(1) if s == float32(0) else float32(2)", 1),
    ("float32(1) if s else float32(2)", 2),
    ("float64(s) * 1e10", 0),
    ("s * 3.0", 0),
    ("s + 0.5j", 0.5j),
    ("math.floor(-s)", 0),
    ("math.sqrt(s)", 0),
    ("math.fabs(s)", 0),
    ("math.exp(float32(-95))", 0),
    ("cuda.fma(s, float32(1), s)", 0),
    ("cuda.libdevice.fadd_rn(s, s)", 0),
    ("doubled(s)", 0),
    ("float32(d)", 0),  # a float64 of 1e-40
]
KEPT = [
    ("s", SMALL),
    ("s if t > s else t", SMALL),
    ("float32(s)", SMALL),
    ("math.copysign(s, t)", SMALL),
    ("cuda.selp(t > s, s, t)", SMALL),
    ("same(s)", SMALL),
    ("d * 1.0", np.float64(1e-40)),
    ("d + d", np.float64(2e-40)),
]


@cuda.jit(device=True)
def doubled(x):
    return x + x


@cuda.jit(device=True)
def same(x):
    return x


def kernel_of(expression, store="out[0] = {}"):
    text = "def kernel(out, a, b):\n    s, t, d = a[0], a[1], b[0]\n"
    text += f"    {store.format(expression)}\n"
    file = f"<subnormal {expression} {store}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = NAMES | {"doubled": doubled, "same": same}
    exec(compile(text, file, "exec"), names)
    return names["kernel"]


def arguments(dtype):
    """(out, a, b): a subnormal and a normal float32, and a float64 that is no subnormal there."""
    return np.ones(1, dtype), np.array([SMALL, LEAST]), np.array([1e-40])


def value_of(kernel, dtype=np.float32, **options):
    args = arguments(dtype)
    types = infer(kernel, args, options)
    lockstep.launch(kernel, (1, 1, 1), (1, 1, 1), args, types=types)
    return args[0][0]


@pytest.mark.parametrize(("expression", "value"), FLUSHED)
def test_flushed(expression, value):
    """Operations on float32 take subnormals for zero and give none."""
    kind = np.complex64 if isinstance(value, complex) else np.float32
    kernel = kernel_of(expression)
    assert value_of(kernel, kind, fastmath=True) == value
    if expression not in ("s ** 2", "s * float32(1e20) + t", "s + 0.5j"):  # too small to see
        assert value_of(kernel, kind) != value


@pytest.mark.parametrize(("expression", "value"), KEPT)
def test_kept(expression, value):
    """Choices, casts to the same type and calls move bits; float64 is never flushed."""
    assert value_of(kernel_of(expression), value.dtype, fastmath=True) == value


@pytest.mark.parametrize(
    ("dtype", "expression", "store", "value"),
    [
        (np.float64, "s", "out[0] = {}", 0),  # converted from float32
        (np.float32, "d", "out[0] = {}", 0),  # converted to float32
        (np.float32, "s", "out[0] = {}\n    out[0] += {0}", 0),
        (np.float32, "s", "x = {}\n    x *= float32(1e20)\n    out[0] = x", 0),
        (np.float32, "s", "x = {}\n    if x:\n        out[0] = 5", 1),
        (
            np.float32,
            "s",
            "x = {}\n    while x > float32(0):\n        x = t - t\n        out[0] = 5",
            1,
        ),
        (np.float32, "s", "out[0] = cuda.shfl_sync(0xffffffff, {}, 0)", SMALL),
    ],
)
def test_statements(dtype, expression, store, value):
    """Stores convert, conditions compare, updates compute; a shuffle does none of it."""
    store = store.replace("{0}", expression)
    assert value_of(kernel_of(expression, store), dtype, fastmath=True) == value


def test_signs():
    """A flushed number keeps its sign; zero, infinity and NaN stay what they are."""
    values = np.array([-1e-40, 1e-40, -0.0, np.inf, -np.inf, np.nan, 1.5e-38], np.float32)
    wanted = np.array([-0.0, 0.0, -0.0, np.inf, -np.inf, np.nan, 1.5e-38], np.float32)
    np.testing.assert_array_equal(flush(values).view(np.uint32), wanted.view(np.uint32))
    pair = flush(np.array([[1e-40 + 1j], [1 - 1e-40j]], np.complex64))
    assert pair.tolist() == [[1j], [1 - 0j]]


COMPUTES = re.compile(r"\b(add|sub|mul|div|fma|neg|abs|min|max|setp|cvt|sqrt|ex2)\b.*\.f32")


@pytest.mark.exhaustive
@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("expression", "flushes"),
    [*((one, True) for one, _ in FLUSHED), *((one, False) for one, _ in KEPT)],
)
def test_ptx_agrees(expression, flushes):
    """Numba's PTX has `.ftz` in the operations that flush here, and no operation in the others."""
    kind = np.complex64 if "j" in expression else np.float32
    dtype = np.float64 if expression.startswith("d") and not flushes else kind
    if expression.startswith("doubled"):
        dtype = np.float32
    code = ptx(cuda.jit(fastmath=True)(kernel_of(expression)), arguments(dtype))
    found = [line for line in code.splitlines() if COMPUTES.search(line)]
    choices = ("s if", "cuda.selp")
    if expression.startswith(choices):
        found = [line for line in found if "setp" not in line]
    assert [".ftz" in line for line in found] == [flushes] * len(found)
    assert bool(found) == flushes or expression.startswith(("math.exp", "s ** 2"))
