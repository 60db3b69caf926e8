"""Kernels with loops of every form, `match`, and early ends."""

import enum

from numba import cuda

CASES = []


def case(kernel):
    CASES.append(kernel)
    return kernel


class Step(enum.IntEnum):
    STOP = 1
    GO = 2


@cuda.jit(device=True)
def first_above(values, limit):
    for at in range(values.shape[0]):
        if values[at] > limit:
            return at
    return -1


@cuda.jit(device=True)
def collatz(n):
    steps = 0
    while True:
        if n == 1:
            return steps
        if n % 2 == 0:
            n //= 2
            continue
        n = 3 * n + 1
        steps += 1


@case
def bounds_per_lane(out, inp):
    i = cuda.grid(1)
    total = 0.0
    for k in range(i % 4, i % 11, 1 + i % 3):
        total += inp[k] * k
    out[i] = total


@case
def bounds_going_down(out, inp):
    i = cuda.grid(1)
    total = 0
    for k in range(i % 9, i % 4, -1 - i % 2):
        total = total * 3 + k
    out[i] = total


@case
def over_tuple(out, inp):
    i = cuda.grid(1)
    total = 0.0
    for v in (inp[i] + 0.0, 2.0, 5.0):
        total = total * 2 + v
    out[i] = total


@case
def over_pairs(out, inp):
    i = cuda.grid(1)
    total = 0
    for a, b in ((1, 2), (3, 4), (i, 5)):
        total += a * b
    out[i] = total


@case
def over_arrays(out, inp):
    i = cuda.grid(1)
    total = 0.0
    for array in (inp, inp):
        total += array[i]
    out[i] = total


@case
def over_array(out, inp):
    i = cuda.grid(1)
    total = 0.0
    for v in inp:
        if v > inp[i]:
            continue
        total += v
        if total < -20:
            break
    out[i] = total


@case
def over_list_of_constants(out, inp):
    i = cuda.grid(1)
    total = 0
    for v in [3, 1, 4]:
        total = total * 10 + v + i
    out[i] = total


@case
def over_shape(out, inp):
    i = cuda.grid(1)
    for n in inp.shape:
        out[i] = n + i


@case
def enumerated_array(out, inp):
    i = cuda.grid(1)
    total = 0.0
    for at, v in enumerate(inp):
        if at > i % 5:
            break
        total += at * v
    out[i] = total


@case
def enumerated_from(out, inp):
    i = cuda.grid(1)
    total = 0
    for at, v in enumerate((i, 2, 3), 4):
        total = total * 7 + at * v
    out[i] = total


@case
def zipped(out, inp):
    i = cuda.grid(1)
    total = 0.0
    for k, a, b in zip(range(i % 6), inp, (1, 10, 100, 1000)):  # noqa: B905
        total += (k + 1) * a * b
    out[i] = total


@case
def enumerated_zip(out, inp):
    i = cuda.grid(1)
    total = 0.0
    for at, (a, b) in enumerate(zip(inp, range(3))):  # noqa: B905
        total += at * a + b * i
    out[i] = total


@case
def range_in_variable(out, inp):
    i = cuda.grid(1)
    r = range(i % 5, 30, 1 + i % 4)
    total = 0
    for k in r:
        total += k
    out[i] = total * 100 + len(r) + r.stop + (7 in r) + (r.start == 3)


@case
def else_of_for(out, inp):
    i = cuda.grid(1)
    for k in range(5):
        if k > inp[i]:
            break
    else:
        k = 50
    out[i] = k


@case
def else_of_while(out, inp):
    i = cuda.grid(1)
    n = 0
    while n < 4:
        n += 1
        if n == inp[i]:
            break
    else:
        n = -1
    out[i] = n


@case
def nested_breaks(out, inp):
    i = cuda.grid(1)
    total = 0
    for a in range(6):
        for b in range(a, 6):
            if (a * b + i) % 7 == 3:
                break
            if b == 4:
                continue
            total += a + b
        else:
            continue
        if total > 20:
            break
    out[i] = total


@case
def endless_with_break(out, inp):
    i = cuda.grid(1)
    n = 0
    while True:
        n += 1
        if n > inp[i]:
            break
    out[i] = n


@case
def returns_out_of_loops(out, inp):
    i = cuda.grid(1)
    out[i] = first_above(inp, inp[i])


@case
def returns_out_of_while(out, inp):
    i = cuda.grid(1)
    out[i] = collatz(i + 1)


@case
def kernel_returns_early(out, inp):
    i = cuda.grid(1)
    if i % 3 == 0:
        return
    for k in range(i):
        if k > 4:
            return
        out[i] = k
    out[i] += 100


@case
def kernel_returns_none(out, inp):
    i = cuda.grid(1)
    if inp[i] > 1:
        return None
    out[i] = 1


@case
def loop_carried_type(out, inp):
    i = cuda.grid(1)
    x = 0
    for k in range(3):
        x = x + inp[k] * 0.5
    out[i] = x + i


@case
def loop_variable_afterwards(out, inp):
    i = cuda.grid(1)
    k = -1
    for k in range(i % 4):  # noqa: B007
        pass
    out[i] = k


@case
def match_values(out, inp):
    i = cuda.grid(1)
    match i % 6:
        case 1:
            out[i] = 10
        case 2 | 3:
            out[i] = 20
        case _:
            out[i] = 30


@case
def match_without_default(out, inp):
    i = cuda.grid(1)
    n = int(inp[i])
    match n:
        case 1:
            out[i] = 1
        case -3:
            out[i] = 2


@case
def match_guards(out, inp):
    i = cuda.grid(1)
    digit = i % 10
    match digit:
        case n if n > 6:
            out[i] = n
        case n if n > 3:
            out[i] = -n
        case _:
            out[i] = 0.5


@case
def match_enum(out, inp):
    i = cuda.grid(1)
    match i % 3:
        case Step.STOP:
            out[i] = 5
        case Step.GO:
            out[i] = 6


@case
def match_in_loop(out, inp):
    i = cuda.grid(1)
    total = 0
    for k in range(8):
        match (k + i) % 4:
            case 0:
                continue
            case 3 if k > 5:
                break
            case 2:
                total += 10
            case _:
                total += 1
    out[i] = total


@case
def global_declared(out, inp):
    global CASES
    i = cuda.grid(1)
    out[i] = inp[i]


@case
def steps_of_an_iterator(out, inp):
    i = cuda.grid(1)
    items = iter(range(i % 3, 9, 2))
    a = next(items)
    if inp[i] > 0:
        a = next(items)
    out[i] = a * 10 + next(items)


@case
def iterator_of_array(out, inp):
    i = cuda.grid(1)
    items = iter(inp)
    for _ in range(i):
        next(items)
    out[i] = next(items)
