"""How kernels are written for any number of repetitions: inlined device functions, unrolled.

A factory's integers are constants while a kernel compiles. `unroll(n, body)` calls
`body(0, ...) ... body(n - 1, ...)` by functions that call each other, which the compiler always
lays out one after the other; a `range` around 64 multiplications stays a loop.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from numba import cuda

_KNOWN = inspect.signature(cuda.jit).parameters


def jit(**options: Any) -> Callable[..., Any]:
    """`cuda.jit` with these options, less those that the installed numba.cuda does not have."""
    known = {name: value for name, value in options.items() if name in _KNOWN or name == "fastmath"}
    decorator: Callable[..., Any] = cuda.jit(**known)
    return decorator


def device(function: Callable[..., Any]) -> Any:
    """A device function that is always inlined."""
    return jit(device=True, forceinline=True)(function)


def unroll(count: int, body: Any) -> Any:
    """A device function of a tuple: it calls `body(k, *args)` for k = 0 ... count - 1.

    (A tuple, as the numba.cuda inside Numba compiles no function with `*args` in its own list.)
    """
    if count == 1:

        @device
        def only(args):
            body(0, *args)

        return only

    before, last = unroll(count - 1, body), count - 1

    @device
    def upto(args):
        before(args)
        body(last, *args)

    return upto


@device
def smaller(x, y):
    """The smaller of two numbers of one type."""
    if y < x:
        return y
    return x


def named(kernel: Any, name: str, said: str = "") -> Any:
    """A kernel that a factory made, under the name of its rung."""
    for shown in (kernel, kernel.py_func):
        if name:
            shown.__name__ = name
        if said:
            shown.__doc__ = said
    return kernel
