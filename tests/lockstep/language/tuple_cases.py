"""Kernels with tuples, named tuples, texts, enums, None, and assignments of every form."""

import enum
from collections import namedtuple

from numba import cuda, float32, int32

CASES = []


def case(kernel):
    CASES.append(kernel)
    return kernel


class Color(enum.IntEnum):
    RED = 1
    BLUE = 5


class Shape(enum.Enum):
    DISC = 3
    RING = 8


Point = namedtuple("Point", "x y")
ORIGIN = Point(2, 0.5)
MODE = "wrap"
NESTED = ((1, 2), (3.5, 4.5))


@cuda.jit(device=True)
def by_mode(mode, a):
    if mode == "wrap":
        return a % 3
    return a


@cuda.jit(device=True)
def length(p):
    return p.x * p.x + p.y


@cuda.jit(device=True)
def maybe(a):
    if a > 1:
        return a
    return None


@cuda.jit(device=True)
def or_default(a, other=None):
    if other is None:
        return a * 2
    return a + other


@case
def chained_assignment(out, inp):
    i = cuda.grid(1)
    a = b = inp[i]
    a += 1
    out[i] = a * b


@case
def chained_to_element(out, inp):
    i = cuda.grid(1)
    a = out[i] = inp[i] * 2
    out[i] += a


@case
def annotated(out, inp):
    i = cuda.grid(1)
    a: int32 = inp[i]
    b: float  # noqa: F842
    out[i] = a


@case
def swapped(out, inp):
    i = cuda.grid(1)
    a, b = inp[i], i
    if inp[i] > 0:
        a, b = b, a
    out[i] = a - b


@case
def swapped_elements(out, inp):
    i = cuda.grid(1)
    k = (i // 2) * 2
    if i % 2 == 0:
        inp[k], inp[k + 1] = inp[k + 1], inp[k]
        out[k], out[k + 1] = inp[k], inp[k + 1]


@case
def nested_unpacking(out, inp):
    i = cuda.grid(1)
    (a, b), c = (inp[i], 2), (i, 4.5)
    d, e = c
    out[i] = a + b * d - e


@case
def shape_unpacking(out, inp):
    i = cuda.grid(1)
    (n,) = inp.shape
    out[i] = inp[i] + n


@case
def tuple_joined(out, inp):
    i = cuda.grid(1)
    t = (inp[i], i) + (1, 2.5)  # noqa: RUF005
    out[i] = t[0] + t[1] * t[3] - len(t)


@case
def tuple_starred(out, inp):
    i = cuda.grid(1)
    t = (i, inp[i])
    u = (*t, *t)
    v = (0.5, *u)
    out[i] = u[3] * 10 + v[1] + len(v)


@case
def tuple_sliced(out, inp):
    i = cuda.grid(1)
    t = (i, inp[i], 7, 2.5)
    u, v = t[1:3], t[::-1]
    out[i] = u[0] * v[0] + u[1] + len(u)


@case
def tuple_index_of_thread(out, inp):
    i = cuda.grid(1)
    t = (10, 20, 40)
    out[i] = t[i % 3] + t[-1] + t[i % 2 - 2]


@case
def tuple_multiplied(out, inp):
    i = cuda.grid(1)
    t = (1, 2) * 3
    out[i] = t[4] + len(t) + i


@case
def tuple_equal(out, inp):
    i = cuda.grid(1)
    out[i] = (inp[i], i % 2) == (2, 1)


@case
def tuple_ordered(out, inp):
    i = cuda.grid(1)
    out[i] = (inp[i], i % 5) < (2, 3)


@case
def tuple_unequal_lengths(out, inp):
    i = cuda.grid(1)
    out[i] = ((i, 2) == (i, 2, 3)) + ((i, 2) != (i, 3)) * 2


@case
def in_tuple(out, inp):
    i = cuda.grid(1)
    if inp[i] in (1, 2, -3):
        out[i] = 1
    elif i in (4, 5, 6):
        out[i] = 2


@case
def not_in_list(out, inp):
    i = cuda.grid(1)
    if i not in [1, 2, 3]:
        out[i] = inp[i]


@case
def tuple_of_branches(out, inp):
    i = cuda.grid(1)
    if inp[i] > 0:
        t = (inp[i], 1)
    else:
        t = (0.5, i)
    out[i] = t[0] * 10 + t[1]


@case
def tuple_conditional(out, inp):
    i = cuda.grid(1)
    t = (1, 2) if inp[i] > 1 else (3, 4)
    out[i] = t[0] * 10 + t[1]


@case
def tuple_as_condition(out, inp):
    i = cuda.grid(1)
    t = (i,)
    if t:
        out[i] = sum((i, 2, 3)) + min((4, i, 9)) + max(i, 3)


@case
def tuple_index_method(out, inp):
    i = cuda.grid(1)
    out[i] = (5, 6, 7).index(5 + i % 3)


@case
def nested_closure_tuple(out, inp):
    i = cuda.grid(1)
    out[i] = NESTED[1][0] + NESTED[0][i % 2]


@case
def named_tuple_made(out, inp):
    i = cuda.grid(1)
    p = Point(inp[i], y=i)
    x, y = p
    out[i] = p.x * 100 + p[1] + x + y


@case
def named_tuple_argument(out, inp):
    i = cuda.grid(1)
    out[i] = length(Point(x=inp[i], y=2)) + length(ORIGIN)


@case
def named_tuple_of_branches(out, inp):
    i = cuda.grid(1)
    p = Point(inp[i], 1.0)
    if inp[i] < 0:
        p = Point(-inp[i], 2.0)
    out[i] = p.x + p.y


@case
def texts(out, inp):
    i = cuda.grid(1)
    if MODE == "wrap" and "ra" in MODE:
        out[i] = len(MODE) + ord("b")
    if MODE != "wrap":
        out[i] = -1


@case
def text_as_argument(out, inp):
    i = cuda.grid(1)
    out[i] = by_mode("wrap", i) + by_mode("clip", i)


@case
def int_enum(out, inp):
    i = cuda.grid(1)
    n = i % 6
    if n == Color.RED:
        out[i] = 10
    elif n == Color.BLUE:
        out[i] = Color.BLUE + n
    else:
        out[i] = Color.RED.value


@case
def enum_members(out, inp):
    i = cuda.grid(1)
    s = Shape.RING
    if s == Shape.RING and s is Shape.RING and s != Shape.DISC and s in (Shape.DISC, Shape.RING):
        out[i] = s.value + Shape.DISC.value


@case
def enum_by_name(out, inp):
    i = cuda.grid(1)
    s = Shape["DISC"]
    out[i] = s.value + int(s is Shape.DISC) + (i % 6 == Color["BLUE"])


@case
def enum_by_lane(out, inp):
    i = cuda.grid(1)
    s = Shape.DISC if inp[i] > 0 else Shape.RING
    if s is Shape.RING:
        out[i] = -s.value
    else:
        out[i] = s.value


@case
def none_on_one_path(out, inp):
    i = cuda.grid(1)
    x = None
    if inp[i] > 1:
        x = inp[i]
    if x is not None:
        out[i] = x + 1


@case
def none_stored_and_used(out, inp):
    i = cuda.grid(1)
    x = None
    k = None
    if inp[i] > -9:
        x = inp[i] + 1
    if i >= 0:
        k = i
    out[i] = x
    if inp[i] > 2 or x is None:
        out[i] = x * 2 + abs(k)


@case
def none_for_some(out, inp):
    i = cuda.grid(1)
    x = None
    if inp[i] > 1:
        x = inp[i]
    elif inp[i] < -1:
        x = inp[i] * 3
    if x is not None and x > 0:
        out[i] = x
    elif x is None:
        out[i] = 100


@case
def none_or_array(out, inp):
    i = cuda.grid(1)
    row = None
    if inp[i] > 1:
        row = inp
    if row is not None:
        out[i] = row[i] * 2


@case
def none_returned(out, inp):
    i = cuda.grid(1)
    r = maybe(inp[i])
    if r is None:
        out[i] = -1
    else:
        out[i] = r * 2


@case
def none_as_default(out, inp):
    i = cuda.grid(1)
    out[i] = or_default(inp[i]) + or_default(inp[i], 3) + or_default(1, None)


@case
def chained_comparison(out, inp):
    i = cuda.grid(1)
    out[i] = 0 < inp[i] < 4 <= i != 7


@case
def boolean_operators_give_values(out, inp):
    i = cuda.grid(1)
    a = inp[i] or 5
    b = inp[i] and i
    out[i] = a * 100 + b


@case
def is_for_numbers(out, inp):
    i = cuda.grid(1)
    b = bool(inp[i] > 1)
    out[i] = (b is True) + (i is not None) * 2 + (inp is inp) * 4 + (inp is out) * 8


@case
def conditional_of_both_types(out, inp):
    i = cuda.grid(1)
    x = i if inp[i] > 100 else 0.5
    y = 7 if inp[i] < 100 else float32(1.5)
    out[i] = x + y


@case
def types_joined_over_branches(out, inp):
    i = cuda.grid(1)
    if inp[i] > 0:
        x = 1
    else:
        x = 2.5
    x = x / 2
    out[i] = x


@case
def builtin_casts(out, inp):
    i = cuda.grid(1)
    a = int(inp[i] + 0.5) + float(i) + bool(inp[i]) + complex(inp[i], 2).imag
    out[i] = a + float("2.5") + abs(-i) + pow(i, 2) + round(inp[i] / 2)


@case
def divmod_pair(out, inp):
    i = cuda.grid(1)
    q, r = divmod(i, 7)
    out[i] = q * 100 + r
