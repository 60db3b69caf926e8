"""Compiler extensions by users: what has an implementation in Python runs, the rest is refused.

The overloads are those of numba.cuda.extending, for numba.cuda's own types.
"""

import math

import numpy as np
import pytest
from numba import cuda, float32

from smemnb.errors import LaunchRefused, UnsupportedSyntax
from smemnb.lockstep.protocol import lockstep_implementation
from smemnb.simulator import device, seam

# the engine is asked; on a GPU the launches would be Numba's own
pytestmark = pytest.mark.skipif(device() != "lockstep", reason="launches go to a GPU")
if not seam.OUT_OF_TREE:
    pytest.skip("numba-cuda's types and extensions", allow_module_level=True)

from numba.cuda import cgutils, models, types  # noqa: E402
from numba.cuda.extending import (  # noqa: E402
    intrinsic,
    lower_builtin,
    make_attribute_wrapper,
    overload,
    overload_attribute,
    overload_method,
    register_jitable,
    register_model,
    type_callable,
    typeof_impl,
)


def launched(kernel, *args):
    out = np.zeros(4)
    kernel[1, 4](out, *args)
    return out.tolist()


def squared(x, scale=1):
    """A function that only Numba knows."""
    raise NotImplementedError


@overload(squared)
def _squared(x, scale=1):
    if isinstance(x, types.Float):
        return lambda x, scale=1: x * x * scale
    return lambda x, scale=1: x * x * 10 * scale


@overload_method(types.Array, "smemnb_first")
def _first(self, more=1):
    if self.ndim == 1:

        def of_one_axis(self, more=1):
            return self[0] + more

        return of_one_axis

    def of_more(self, more=1):
        return self[0, 0] - more

    return of_more


@overload_attribute(types.Array, "smemnb_last")
def _last(array):
    return lambda array: array[-1]


@overload_method(types.UniTuple, "smemnb_total")
def _total(self):
    def total(self):
        result = 0
        for item in self:
            result += item
        return result

    return total


@overload_method(types.Float, "smemnb_clamped")
def _clamped(self, most):
    return lambda self, most: min(self, most)


@register_jitable
def twice(x):
    return 2 * x


@cuda.jit
def by_overload(out):
    i = cuda.grid(1)
    out[i] = squared(i * 1.0) + squared(i) + squared(i, scale=100)


@cuda.jit
def by_method(out, a):
    i = cuda.grid(1)
    out[i] = a.smemnb_first() + a.smemnb_first(3) + a.smemnb_first(more=i)


@cuda.jit
def by_attribute(out, a):
    i = cuda.grid(1)
    out[i] = a.smemnb_last + a[:2].smemnb_last * i


@cuda.jit
def of_tuples_and_numbers(out):
    i = cuda.grid(1)
    out[i] = (i, 2, 3).smemnb_total() + (i * 1.0).smemnb_clamped(1.5)


@cuda.jit
def jitable(out):
    i = cuda.grid(1)
    out[i] = twice(i)


A = np.array([1.0, 2.0, 5.0])


@pytest.mark.parametrize(
    ("kernel", "args", "result"),
    [
        (by_overload, (), [0, 1011, 4044, 9099]),
        (by_method, (A,), [7, 8, 9, 10]),
        (by_method, (A.reshape(1, 3),), [-1, -2, -3, -4]),
        (by_attribute, (A,), [5, 7, 9, 11]),
        (of_tuples_and_numbers, (), [5, 7, 8.5, 9.5]),
        (jitable, (), [0, 2, 4, 6]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_overloads(kernel, args, result):
    """The implementation that Numba chooses for the types runs, as a device function would."""
    assert launched(kernel, *args) == result


@intrinsic
def plus_one(typingctx, x):
    def codegen(context, builder, sig, args):
        return builder.fadd(args[0], args[0].type(1.0))

    return x(x), codegen


@intrinsic
def plus_two(typingctx, x):
    def codegen(context, builder, sig, args):
        return builder.fadd(args[0], args[0].type(2.0))

    return x(x), codegen


@lockstep_implementation(plus_two)
def _plus_two(batch, mask, site, x):
    return x + 2


in_c = cuda.declare_device("in_c", "float32(float32)")
root_in_c = cuda.declare_device("root_in_c", "float32(float32)")


@lockstep_implementation(root_in_c)
def _root(batch, mask, site, x):
    return np.sqrt(x)


class Interval:
    """The example of Numba's tutorials."""

    def __init__(self, low, high):
        self.low, self.high = low, high


class IntervalType(types.Type):
    def __init__(self):
        super().__init__(name="Interval")


@typeof_impl.register(Interval)
def _typeof(value, context):
    return IntervalType()


@type_callable(Interval)
def _type_interval(context):
    return lambda low, high: IntervalType()


@register_model(IntervalType)
class IntervalModel(models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [("low", types.float64), ("high", types.float64)])


make_attribute_wrapper(IntervalType, "low", "low")


@lower_builtin(Interval, types.Float, types.Float)
def _lower_interval(context, builder, sig, args):
    made = cgutils.create_struct_proxy(sig.return_type)(context, builder)
    made.low, made.high = args
    return made._getvalue()


@cuda.jit
def calls_intrinsic(out):
    i = cuda.grid(1)
    out[i] = plus_one(i * 1.0)


@cuda.jit
def calls_c(out):
    i = cuda.grid(1)
    out[i] = in_c(float32(i))


@cuda.jit
def makes_interval(out):
    i = cuda.grid(1)
    out[i] = Interval(float(i), math.pi).low


@cuda.jit
def calls_second_implementations(out):
    i = cuda.grid(1)
    out[i] = plus_two(i * 1.0) + root_in_c(float32(i * i))


@pytest.mark.parametrize(
    ("kernel", "name", "kind"),
    [
        (calls_intrinsic, "plus_one", "@intrinsic"),
        (calls_c, "in_c", "declare_device"),
        (makes_interval, "Interval", "class"),
    ],
)
def test_refused(kernel, name, kind):
    """Code that is no Python is refused with its name, its line, and what to write instead."""
    with pytest.raises(UnsupportedSyntax) as caught:
        launched(kernel)
    assert caught.value.line == kernel.py_func.__code__.co_firstlineno + 3
    assert name in caught.value.construct and kind in caught.value.construct
    if kind == "@intrinsic":
        assert "lockstep_implementation" in caught.value.instead


def test_second_implementation():
    """An intrinsic, or C code, with a second implementation of NumPy runs."""
    assert launched(calls_second_implementations) == [2, 4, 6, 8]


def test_argument_of_an_own_type():
    """An argument of a user's type is refused with its name."""

    @cuda.jit
    def kernel(out, interval):
        out[0] = interval.low

    with pytest.raises(LaunchRefused, match="Interval"):
        launched(kernel, Interval(1.0, 2.0))
