"""Kernels whose threads raise (apart from their tests: pytest rewrites the asserts of those)."""

from numba import cuda


class Odd(Exception):
    """An exception of the program."""


@cuda.jit(device=True)
def root(a):
    if a < 0:
        raise ValueError("negative", 7)
    return a**0.5


def raises(out, inp):
    i = cuda.grid(1)
    if inp[i] > 2:
        raise Odd("more than two")
    out[i] = inp[i]


def raises_class(out, inp):
    i = cuda.grid(1)
    while True:
        if inp[i] > 2:
            raise Odd
        out[i] = inp[i]
        break
    out[i] += 0


def asserts(out, inp):
    i = cuda.grid(1)
    assert inp[i] <= 2
    out[i] = inp[i]


def asserts_with_text(out, inp):
    i = cuda.grid(1)
    assert inp[i] <= 2, "more than two"
    out[i] = inp[i]


def raises_in_callee(out, inp):
    i = cuda.grid(1)
    out[i] = root(2 - inp[i]) * 0 + inp[i]


def raises_in_condition(out, inp):
    i = cuda.grid(1)
    if root(2 - inp[i]) >= 0:
        out[i] = inp[i]
    else:
        out[i] = 1000


def raises_in_argument(out, inp):
    i = cuda.grid(1)
    cuda.atomic.add(out, i, root(2 - inp[i]) * 0 + inp[i] + 77.5)


def raises_in_loop(out, inp):
    i = cuda.grid(1)
    for k in range(3):
        if k == 1:
            root(2 - inp[i])
        if k == 2:
            out[i] = inp[i]


def raises_in_inner(out, inp):
    i = cuda.grid(1)

    def check(a):
        if a > 2:
            raise Odd("more than two")
        return a

    out[i] = check(inp[i])


def uses_none(out, inp):
    i = cuda.grid(1)
    x = None
    if inp[i] <= 2:
        x = inp[i]
    y = x + 0
    out[i] = y


def raises_in_an_update(out, inp):
    i = cuda.grid(1)
    out[i] += root(2 - inp[i]) * 0 + inp[i] + 77.5


ENDING = [
    raises, raises_class, asserts, asserts_with_text, raises_in_callee, raises_in_condition,
    raises_in_argument, raises_in_loop, raises_in_inner, raises_in_an_update, uses_none,
]  # fmt: skip


def divides(out, inp):
    i = cuda.grid(1)
    out[i] = 12 // int(inp[i])


def takes_rest(out, inp):
    i = cuda.grid(1)
    out[i] = 12 % int(inp[i])


def divides_floats(out, inp):
    i = cuda.grid(1)
    out[i] = 12.0 / inp[i]
