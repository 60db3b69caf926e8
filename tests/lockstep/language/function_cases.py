"""Kernels in which functions are values: in closures, globals, tuples, variables, arguments."""

import math
import operator

import numba
import numpy as np
from numba import cuda, float32, int32, njit

CASES = []


def case(kernel):
    CASES.append(kernel)
    return kernel


@cuda.jit(device=True)
def inc(a):
    return a + 1


@cuda.jit(device=True)
def twice(a):
    return a * 2


@cuda.jit(device=True)
def scaled(a, b=3):
    return a * 10 + b


@cuda.jit(device=True)
def apply(f, a):
    return f(a)


@cuda.jit(device=True)
def apply_two(f, a, b):
    return f(a, b)


@cuda.jit(device=True)
def signed(a):
    if a < 0:
        return -1
    if a > 3:
        return 7
    return a * 2


@cuda.jit(device=True)
def pair_of(a):
    return a, a + 0.5


@cuda.jit(device=True, inline="always")
def dissolved(a):
    t = a * 2
    if a > 1:
        t = t + 0.5
    return t - 1


@cuda.jit(device=True)
def count_and_sum(first, *rest):
    total = first
    for value in rest:
        total = total + value
    return total * 10 + len(rest)


@cuda.jit(device=True)
def count_rest(first, *rest):
    return first + len(rest)


@njit
def for_any_target(a):
    return a + 7


@numba.extending.register_jitable
def jitable(a):
    return a * 3


FUNCTIONS = (inc, twice)
TYPES = (float32, int32)
ADD = operator.add
CAST = float32
LAMBDA = cuda.jit(device=True)(lambda a: a * 5 + 1)


def unrolled(count, body):
    """body(at, value) applied `count` times, by recursion while compiling."""
    if count == 0:

        @cuda.jit(device=True, inline="always")
        def nothing(value):
            return value

        return nothing
    rest = unrolled(count - 1, body)
    at = count - 1

    @cuda.jit(device=True, forceinline=True)
    def step(value):
        return body(at, rest(value))

    return step


@cuda.jit(device=True)
def horner(at, value):
    return value * 3 + at


def with_operator(combine, cast, start):
    @cuda.jit
    def kernel(out, inp):
        i = cuda.grid(1)
        out[i] = combine(cast(inp[i]), start)

    return kernel


def scaled_by(factor):
    @cuda.jit(device=True)
    def inner(a):
        return a * factor

    return inner


TRIPLED, HALVED = scaled_by(3), scaled_by(0.5)
FOUR_STEPS = unrolled(4, horner)

for combine, cast in (
    (operator.add, float32),
    (operator.sub, int32),
    (operator.mul, np.int64),
    (operator.truediv, np.float64),
    (max, float32),
    (min, np.float64),
    (math.atan2, float),
    (operator.lt, int),
    (operator.eq, np.int32),
):
    made = with_operator(combine, cast, 2)
    made.py_func.__name__ = f"closure_{combine.__name__}_{getattr(cast, '__name__', cast)}"
    CASES.append(made.py_func)


@case
def item_of_global_tuple(out, inp):
    i = cuda.grid(1)
    out[i] = FUNCTIONS[0](inp[i]) + FUNCTIONS[1](inp[i])


@case
def type_of_global_tuple(out, inp):
    i = cuda.grid(1)
    out[i] = TYPES[1](inp[i] + 0.75) + TYPES[0](0.1)


@case
def function_in_variable(out, inp):
    i = cuda.grid(1)
    f = inc
    out[i] = f(inp[i])


@case
def function_as_argument(out, inp):
    i = cuda.grid(1)
    out[i] = apply(inc, inp[i]) * 100 + apply(twice, inp[i])


@case
def builtin_as_argument(out, inp):
    i = cuda.grid(1)
    out[i] = apply(abs, inp[i])


@case
def math_as_argument(out, inp):
    i = cuda.grid(1)
    out[i] = apply(math.floor, inp[i] + 0.5)


@case
def type_as_argument(out, inp):
    i = cuda.grid(1)
    out[i] = apply(float32, inp[i] / 3)


@case
def operator_as_argument(out, inp):
    i = cuda.grid(1)
    out[i] = apply_two(operator.mul, inp[i], 3)


@case
def loop_over_functions(out, inp):
    i = cuda.grid(1)
    total = inp[i]
    for f in (inc, inc):
        total = f(total)
    out[i] = total


@case
def operator_of_global(out, inp):
    i = cuda.grid(1)
    out[i] = ADD(inp[i], i)


@case
def operator_functions(out, inp):
    i = cuda.grid(1)
    x = operator.neg(inp[i])
    y = operator.floordiv(x, 3)
    z = operator.iadd(y, 1)
    out[i] = operator.getitem(inp, i) * operator.ge(x, y) + operator.mod(z, 4)


@case
def operator_bits(out, inp):
    i = cuda.grid(1)
    n = operator.xor(operator.lshift(i, 2), operator.and_(i, 5))
    out[i] = operator.or_(n, 1) + operator.invert(i) + operator.rshift(i, 1)


@case
def operator_contains(out, inp):
    i = cuda.grid(1)
    out[i] = operator.contains((1, 2, 4), i)


@case
def cast_of_global(out, inp):
    i = cuda.grid(1)
    out[i] = CAST(inp[i] / 3)


@case
def compiled_for_any_target(out, inp):
    i = cuda.grid(1)
    out[i] = for_any_target(inp[i])


@case
def registered_jitable(out, inp):
    i = cuda.grid(1)
    out[i] = jitable(inp[i])


@case
def lambda_device_function(out, inp):
    i = cuda.grid(1)
    out[i] = LAMBDA(inp[i])


@case
def lambda_inside(out, inp):
    i = cuda.grid(1)
    f = lambda a: a * a + 1  # noqa: E731
    out[i] = f(inp[i])


@case
def lambda_with_capture(out, inp):
    i = cuda.grid(1)
    k = inp[0]
    f = lambda a: a * k - i  # noqa: E731
    out[i] = f(inp[i])


@case
def def_inside(out, inp):
    i = cuda.grid(1)

    def f(a):
        return a - 3

    out[i] = f(inp[i])


@case
def def_with_capture(out, inp):
    i = cuda.grid(1)
    k = inp[1]

    def f(a, b=4):
        t = a * k
        return t + b

    out[i] = f(inp[i]) + f(1, b=i)


@case
def def_with_branches(out, inp):
    i = cuda.grid(1)

    def f(a):
        if a > 1:
            return a * 2
        return a - 0.5

    total = 0.0
    for k in range(3):
        total += f(inp[(i + k) % 7])
    out[i] = total


@case
def def_inside_def(out, inp):
    i = cuda.grid(1)

    def f(a):
        def g(b):
            return b + 1

        return g(a) * 2

    out[i] = f(inp[i])


@case
def def_as_argument(out, inp):
    i = cuda.grid(1)

    def f(a):
        return a * 4

    out[i] = apply(f, inp[i])


@case
def unrolled_while_compiling(out, inp):
    i = cuda.grid(1)
    out[i] = FOUR_STEPS(inp[i])


@case
def factories(out, inp):
    i = cuda.grid(1)
    out[i] = TRIPLED(inp[i]) + HALVED(inp[i])


@case
def early_returns(out, inp):
    i = cuda.grid(1)
    out[i] = signed(inp[i])


@case
def returns_tuple(out, inp):
    i = cuda.grid(1)
    a, b = pair_of(inp[i])
    out[i] = a * b


@case
def inline_always(out, inp):
    i = cuda.grid(1)
    out[i] = dissolved(inp[i])


@case
def default_argument(out, inp):
    i = cuda.grid(1)
    out[i] = scaled(inp[i])


@case
def named_arguments(out, inp):
    i = cuda.grid(1)
    out[i] = scaled(b=inp[i], a=i)


@case
def star_of_variable(out, inp):
    i = cuda.grid(1)
    t = (inp[i], 2)
    out[i] = scaled(*t)


@case
def star_behind_an_argument(out, inp):
    i = cuda.grid(1)
    t = (i,)
    out[i] = scaled(inp[i], *t)


@case
def starred_parameter(out, inp):
    i = cuda.grid(1)
    out[i] = count_and_sum(inp[i], 1, 2) + count_and_sum(inp[i], i) + count_rest(*inp.shape)


@case
def module_in_variable(out, inp):
    c, m = cuda, math
    i = c.grid(1)
    out[i] = m.floor(inp[i] / 2)


@case
def nonlocal_in_an_inner_function(out, inp):
    i = cuda.grid(1)
    total = inp[i] + 1

    def add(value):
        nonlocal total
        total = total + value

    add(inp[i] * 3)
    if i % 3 == 1:
        add(50)
    out[i] = total
