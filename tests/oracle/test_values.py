"""What kernel bodies compute: the engine against the same bodies compiled by Numba for the CPU.

Every body runs twice in the engine: with its own typing rules alone, and as a launch does it, with
the types that Numba's CUDA inference gives.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from numba import cuda, float32, float64, int8, int32, int64, uint8, uint16, uint32

from smemnb.lockstep import launch

pytestmark = pytest.mark.slow
BODIES: list[Any] = []
SIZE = 75
SCALE = 3
HALF = np.float32(0.5)
LIMITS = (2, 5, 9)


def body(*dtypes: str, rough: bool = False) -> Callable[[Any], Any]:
    """A body (i, a, b): i = cuda.grid(1), a and b elements of these dtypes."""

    def keep(function: Any) -> Any:
        device = cuda.jit(device=True)(function)
        BODIES.append(pytest.param(device, dtypes, rough, id=function.__name__))
        return device

    return keep


# arithmetic and its types


@body("i4", "i4")
def int32_sum_is_wide(i, a, b):
    return int32(a * 30000000) + int32(b * 30000000)


@body("i4", "i4")
def int32_cast_wraps(i, a, b):
    return int32(a * 100000000) + b


@body("u4", "i4")
def uint32_and_literal(i, a, b):
    return (a - 5) * 2 + b


@body("u4", "u4")
def uint32_difference(i, a, b):
    return a - b


@body("u4", "u4")
def uint32_cast_difference(i, a, b):
    return uint32(a - b)


@body("u8", "i8")
def uint64_and_int64(i, a, b):
    return a + b


@body("f4", "f4")
def float32_stays(i, a, b):
    return a * b + a


@body("f4", "f4")
def float_literal_widens(i, a, b):
    return a + 0.1


@body("f4", "f4")
def float32_literal_stays(i, a, b):
    return a + float32(0.1)


@body("f4", "i4")
def float32_and_int32(i, a, b):
    return a * b


@body("f4", "f4")
def global_constants(i, a, b):
    return a * SCALE + HALF


@body("i4", "i4")
def true_division(i, a, b):
    return a / (b * b + 1)


@body("i4", "i4")
def floor_division(i, a, b):
    return a // (b * b + 3)


@body("i4", "i4")
def floor_division_of_negative(i, a, b):
    return -a // 7 + a // -7


@body("i4", "i4")
def modulo(i, a, b):
    return a % 7 - (-a) % 7 + a % -7


@body("i4", "i4")
def division_by_zero(i, a, b):
    return a // (b - b) + a % (b - b)


@body("f4", "f4")
def float_division_by_zero(i, a, b):
    return a / (b - b)


@body("f4", "f4")
def float_floor_and_modulo(i, a, b):
    return a // float32(0.3) + a % float32(0.3)


@body("i4", "i4")
def shifts(i, a, b):
    return (a << 3) + (a >> 2) + (1 << (i % 40))


@body("u1", "u1")
def bytes_in_bits(i, a, b):
    return (a & 0x0F) | (b << 4) ^ a


@body("i4", "i4")
def invert_and_negate(i, a, b):
    return ~a + -b


@body("u4", "u4")
def negated_unsigned(i, a, b):
    return -a


@body("u2", "u2")
def inverted_unsigned(i, a, b):
    return ~a


@body("f4", "f4")
def square_and_cube(i, a, b):
    return a**2 + a**3


@body("i4", "i4")
def integer_power(i, a, b):
    return a**3 - 2 ** (i % 31)


# the last bit of a power differs between libraries of mathematics, and so between NumPys
@body("f8", "f8", rough=True)
def float_power(i, a, b):
    return abs(a) ** 0.5 + a**-1


@body("i4", "f4")
def casts(i, a, b):
    return int(b * 10) + int8(a * 50) + uint8(a * 3) + uint16(a)


@body("f4", "f4")
def float_to_int(i, a, b):
    return int64(a * 3) - int64(-a * 3)


@body("i4", "f8")
def bool_arithmetic(i, a, b):
    return (a > 0) + (b > 0) + (a > 0) * 2


@body("f4", "f8")
def mixed_floats(i, a, b):
    return a * b - float32(b)


@body("i4", "i4")
def augmented(i, a, b):
    value = a
    value += b
    value *= 3
    value -= 1
    value //= 2
    value %= 1000
    value <<= 2
    value ^= 5
    return value


# functions


@body("f4", "f4", rough=True)
def roots_and_waves(i, a, b):
    return math.sqrt(abs(a)) + math.sin(a) * math.cos(b)


@body("i4", "i4", rough=True)
def math_of_integers(i, a, b):
    return math.sqrt(a * a) + math.exp(b / 100)


@body("f8", "f8")
def whole_parts(i, a, b):
    return math.floor(a) + math.ceil(b) * 100.0 + math.fabs(a)


@body("i4", "i4")
def least_and_greatest(i, a, b):
    return min(a, b) * 1000 + max(a, b, 3)


@body("i4", "f4")
def least_of_mixed(i, a, b):
    return min(a, b) + max(b, 0)


@body("f8", "f8")
def rounded(i, a, b):
    return round(a) + round(b, 1)


@body("i4", "i4")
def absolute(i, a, b):
    return abs(a) - abs(b - 5)


@body("i4", "i4")
def quotient_and_rest(i, a, b):
    q, r = divmod(a, 6)
    return q * 100 + r


# branches


@body("f4", "f4")
def branch(i, a, b):
    if a > b:
        return a
    return b


@body("i4", "i4")
def chain_of_branches(i, a, b):
    if a > 20:
        value = 1
    elif a > 5:
        value = 2
    elif b > 0:
        value = 3
    else:
        value = 4
    return value


@body("i4", "f4")
def branches_of_two_types(i, a, b):
    if a > 0:
        value = a
    else:
        value = b
    return value


@body("i4", "f4")
def variable_that_changes_type(i, a, b):
    value = a
    value = value + b
    return value


@body("f4", "f4")
def accumulator_starts_as_int(i, a, b):
    acc = 0
    for k in range(4):
        acc += a * k
    return acc


@body("f4", "f4")
def accumulator_starts_as_float(i, a, b):
    acc = 0.0
    for _ in range(4):
        acc += a
    return acc


@body("f4", "f4")
def float32_accumulator(i, a, b):
    acc = float32(0)
    for _ in range(9):
        acc += a * b
    return acc


@body("i4", "i4")
def conditional_expression(i, a, b):
    return a if a > b else b * 2


@body("i4", "f4")
def conditional_expression_of_two_types(i, a, b):
    return 1 if a > 0 else b


@body("i4", "i4")
def short_circuit(i, a, b):
    return (b != 0 and a // b > 1) or a < -10


@body("i4", "i4")
def chained_comparison(i, a, b):
    return -5 < a <= b < 40


@body("i4", "i4")
def negation(i, a, b):
    return not (a > 0 and not b > 0)


@body("i4", "i4")
def nested_branches(i, a, b):
    value = 0
    if a > 0:
        if b > 0:
            value = 1
            if a > b:
                value = 5
        else:
            value = 2
        value += 10
    return value


@body("i4", "i4")
def early_returns(i, a, b):
    if a < -20:
        return -1
    for k in range(10):
        if k * k > a:
            return k
        if k == b:
            return 100 + k
    return 50


# loops


@body("i4", "i4")
def loop_to_a_lane_value(i, a, b):
    total = 0
    for k in range(i % 9):
        total += k * a
    return total


@body("i4", "i4")
def loop_with_step(i, a, b):
    total = 0
    for k in range(i % 20, -3, -4):
        total = total * 3 + k
    return total


@body("i4", "i4")
def loop_with_start(i, a, b):
    total = 0
    for k in range(i % 5, 30, 1 + i % 3):
        total += k
    return total


@body("i4", "i4")
def loop_variable_after(i, a, b):
    k = -1
    for k in range(i % 4):  # noqa: B007
        pass
    return k


@body("i4", "i4")
def while_loop(i, a, b):
    value = abs(a) + 1
    steps = 0
    while value != 1 and steps < 60:
        if value % 2 == 0:
            value //= 2
        else:
            value = 3 * value + 1
        steps += 1
    return steps


@body("i4", "i4")
def break_and_continue(i, a, b):
    total = 0
    for k in range(20):
        if k % 3 == i % 3:
            continue
        if k > i % 17:
            break
        total += k
    return total


@body("i4", "i4")
def nested_loops(i, a, b):
    total = 0
    for j in range(i % 5):
        for k in range(j + 1):
            if k == 2:
                break
            total += j * k + 1
        else:
            total += 100
        if total > 1000:
            break
    return total


@body("i4", "i4")
def loop_with_else(i, a, b):
    for k in range(8):
        if k == i % 11:
            value = k
            break
    else:
        value = -1
    return value


@body("i4", "i4")
def while_true(i, a, b):
    k = 0
    while True:
        k += 3
        if k > i:
            break
    return k


@body("u4", "u4")
def greatest_common_divisor(i, a, b):
    x, y = a + 1, b + 1
    while y != 0:
        x, y = y, x % y
    return x


@body("i4", "i4")
def return_from_nested_loops(i, a, b):
    for j in range(6):
        for k in range(6):
            if j * k > i % 13:
                return j * 10 + k
    return -1


@body("i4", "i4")
def loop_over_a_tuple_by_index(i, a, b):
    total = 0
    for k in range(3):
        total += LIMITS[k] * a
    return total


# functions called, tuples, local arrays


@cuda.jit(device=True)
def clamp(value, low, high):
    if value < low:
        return low
    if value > high:
        return high
    return value


@cuda.jit(device=True)
def polar(x, y):
    return x * x + y * y, x - y


@body("i4", "i4")
def device_function(i, a, b):
    return clamp(a, -3, 7) * 100 + clamp(b, 0, 5)


@body("i4", "f4")
def device_function_of_two_types(i, a, b):
    return clamp(a, -3, 7) + clamp(b, 0.0, 0.5)


@body("f4", "f4")
def tuple_from_device_function(i, a, b):
    square, difference = polar(a, b)
    return square - difference


@body("i4", "i4")
def swap(i, a, b):
    x, y = a, b
    if i % 2:
        x, y = y, x
    return x * 1000 + y


@body("f4", "i4")
def local_array(i, a, b):
    scratch = cuda.local.array(8, float32)
    for k in range(8):
        scratch[k] = a * k
    total = 0.0
    for k in range(8):
        total += scratch[(k + i) % 8] * k
    return total


@body("i4", "i4")
def local_array_in_two_dimensions(i, a, b):
    scratch = cuda.local.array((3, 4), int32)
    for j in range(3):
        for k in range(4):
            scratch[j, k] = a * j - b * k
    return scratch[i % 3, i % 4] + scratch[-1, -2]


@body("f8", "i4")
def local_array_casts(i, a, b):
    scratch = cuda.local.array(2, uint8)
    scratch[0] = b * 100
    scratch[1] = i
    return scratch[0] + scratch[1]


@body("f8", "f8")
def polynomial(i, a, b):
    acc = float64(0)
    for _ in range(5):
        acc = acc * a + b
    return acc


@body("i8", "i8")
def random_numbers(i, a, b):
    state = uint32(i * 747796405 + 2891336453)
    for _ in range(3):
        state = uint32(state * uint32(1664525) + uint32(1013904223))
    return state >> 7


def kernel_of(function: Any) -> Any:
    def kernel(out, a, b):
        i = cuda.grid(1)
        if i < out.shape[0]:
            out[i] = function(i, a[i], b[i])

    return kernel


def values(dtype: str, seed: int) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return (random.integers(-400, 400, SIZE) / 16 + 1 / 32).astype(kind)
    return random.integers(0 if kind.kind == "u" else -40, 60, SIZE).astype(kind)


@numba.njit
def zeros(shape: Any, dtype: Any) -> Any:
    return np.zeros(shape, dtype)


def compiled(device: Any) -> Any:
    """The body for the CPU: local arrays are NumPy's, device functions compiled as well."""
    function = device.py_func
    lines = inspect.getsource(function).splitlines()
    source = "\n".join(line for line in lines if not line.startswith("@"))
    names = {
        name: numba.njit(error_model="numpy")(value.py_func) if hasattr(value, "py_func") else value
        for name, value in function.__globals__.items()
        if name in function.__code__.co_names
    }
    names["zeros"] = zeros
    exec(source.replace("cuda.local.array", "zeros"), names)
    return numba.njit(error_model="numpy")(names[function.__name__])


@pytest.mark.first(10)
@pytest.mark.parametrize("device, dtypes, rough", BODIES)
def test_values(device: Any, dtypes: tuple[str, str], rough: bool) -> None:
    from smemnb import simulator

    a, b = values(dtypes[0], 1), values(dtypes[1], 2)
    function = compiled(device)
    function(0, a[0], b[0])
    result = np.dtype(str(function.nopython_signatures[0].return_type))
    wanted = np.zeros(SIZE, result)
    for i in range(SIZE):
        wanted[i] = function(i, a[i], b[i])
    kernel = kernel_of(device)
    for typed in (False, True):
        out = np.zeros(SIZE, result)
        if typed:
            simulator.run(cuda.jit(kernel), 3, 32, 0, 0, (out, a, b))
        else:
            launch(kernel, (3, 1, 1), (32, 1, 1), (out, a, b))
        if rough:
            np.testing.assert_allclose(out, wanted, rtol=1e-5 if result == np.float32 else 1e-6)
        else:
            np.testing.assert_array_equal(out, wanted, err_msg=f"typed={typed}")
