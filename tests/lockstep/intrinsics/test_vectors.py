"""Vector types: built from numbers and vectors, kept in variables, handed through functions."""

import itertools

import numpy as np
import pytest
from numba import cuda
from numba.cuda import float32x2, float32x4, float64x3, int32x3, uchar4, uint8x4

from smemnb.lockstep.intrinsics.vectors import ELEMENTS
from smemnb.simulator import seam
from tests.lockstep.intrinsics.typed import call, run


def compositions(count):
    """All ways to write a number as a sum of positive ones, in order."""
    if count == 0:
        return [()]
    return [(first, *rest) for first in range(1, count + 1) for rest in compositions(count - first)]


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_constructors(element, count):
    """Every mixture of numbers and shorter vectors that fills the type, as Numba lists them."""
    for parts in compositions(count):
        numbers = itertools.count(5)
        values = []
        for size in parts:
            own = [np.int64(next(numbers)) for _ in range(size)]
            values.append(own[0] if size == 1 else call(f"{element}x{size}", *own))
        made = call(f"{element}x{count}", *values)
        assert made._fields == tuple("xyzw"[:count])
        assert [part.item() for part in made] == list(range(5, 5 + count))
        assert {part.dtype for part in made} == {np.dtype(element)}


def test_all_types_of_numba():
    """The stubs of this Numba are the types that the engine has."""
    stubs = {stub.__name__ for stub in cuda.stubs._vector_type_stubs}
    assert stubs == {f"{element}x{count}" for element in ELEMENTS for count in (1, 2, 3, 4)}


def test_wrong_number():
    """More or fewer numbers than it holds are refused by name."""

    class Here:
        text = "float32x2(a)"

    from smemnb.lockstep.intrinsics.names import IMPLEMENTATIONS

    with pytest.raises(TypeError, match=r"float32x2\(a\) gives float32x2 1 numbers; it holds 2"):
        IMPLEMENTATIONS["float32x2"][0](None, None, Here, np.float32(1))


@cuda.jit(device=True)
def turned(v):
    return float32x4(v.w, v.z, v.y, v.x)


@cuda.jit(device=True)
def nearer(a, b):
    if a.x * a.x + a.y * a.y < b.x * b.x + b.y * b.y:
        return a
    return b


def through_everything(out, x):
    i = cuda.threadIdx.x
    v = float32x4(x[i], float32x2(i, 2), 3)
    if i % 3 == 0:
        v = turned(v)
    pair = (float32x2(i - 16, 1), float32x2(3, x[i]))
    near = nearer(pair[0], pair[1])
    acc = float64x3(0, 0, 0)
    for k in range(i % 4):
        acc = float64x3(acc.x + k, acc.y + 1, acc.z + near.x)
    small = uchar4(i, 255, 300, -1)
    out[i, 0], out[i, 1], out[i, 2], out[i, 3] = v.x, v.y, v.z, v.w
    out[i, 4] = near.x
    out[i, 5] = acc.x + acc.z
    out[i, 6] = small.x + small.y + small.z + small.w


def test_in_a_kernel():
    """Branches, loops, tuples and device functions carry vectors, lane by lane."""
    x, out = np.random.default_rng(5).normal(size=32).astype(np.float32), np.zeros((32, 7))
    run(through_everything, out, x)
    for i in range(32):
        v = [x[i], i, 2, 3]
        v = v[::-1] if i % 3 == 0 else v
        near = i - 16 if (i - 16) ** 2 + 1 < 9 + float(x[i]) ** 2 else 3
        loops = i % 4
        total = sum(range(loops)) + loops * near
        assert out[i].tolist() == [*v, near, total, i + 255 + 44 + 255]


def types_of(out):
    a = int32x3(1, 2, 3)
    b = uint8x4(1, 2, 3, 4)
    out[0] = a.x * 2**31
    out[1] = b.x - 2


def test_attributes_have_the_element_type():
    """Arithmetic on .x is that of its type: int32 widens to int64, uint8 minus 2 is int64."""
    out = np.zeros(2, np.int64)
    run(types_of, out, block=1)
    assert out.tolist() == [2**31, -1]


def test_aliases():
    """float4 and its kind are the same objects."""
    assert (cuda.float4, cuda.uchar4) == (cuda.float32x4, cuda.uint8x4)
    assert seam.typing_context is not None
