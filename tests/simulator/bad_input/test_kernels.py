"""Kernels that Numba, or the engine, cannot run: refused at the launch, at their line."""

import math

import numba
import numpy as np
import pytest
from numba import cuda, float32

from smemnb import simulator
from smemnb.errors import TypingRefused, UnsupportedSyntax
from smemnb.simulator.seam import OUT_OF_TREE
from tests.simulator.bad_input.rows import Table, marked, refused

# ruff: noqa: B018, C416, E501, F841, PTH123
# kernels wrong on purpose are launched here: in the engine, never on a GPU
pytestmark = pytest.mark.skipif(simulator.device() != "lockstep", reason="launches go to a GPU")

KERNELS = Table()
CONSTANT = np.arange(4, dtype=np.float32)
FIXED = np.arange(4, dtype=np.float32)
FIXED.flags.writeable = False


def row(what, *args, kind=TypingRefused):
    """Add a kernel that is refused with these words; `args` follow `out`, else an array does."""

    def add(function):
        kernel = cuda.jit(function)
        KERNELS.add(
            function.__name__.replace("_", " "),
            lambda w: kernel[1, 32](w.dev, *(args or (w.inp,))),
            kind,
            marked(kernel, what, engine=kind is UnsupportedSyntax),
        )
        return kernel

    return add


@cuda.jit(device=True)
def twice(x):
    return 2 * x


@cuda.jit
def other_kernel(out, inp):
    out[0] = inp[0]


@numba.njit
def of_the_cpu(x):
    return 2 * x


@cuda.jit(device=True)
def endless(x):
    return endless(x - 1)  # here


@cuda.jit(device=True)
def widening(x):
    if x < 1:
        return x
    return widening(x - 1)  # here


@cuda.jit
def calls_widening(out, inp):
    out[0] = 99
    out[1] = widening(inp[0])


@cuda.jit
def runs_away(out, inp):
    out[0] = 99
    out[1] = endless(inp[0])


# --- arrays and numbers ------------------------------------------------------------------------


@row("A 1-d array is indexed with 2 indices. Give 1, as in inp[i].")
def two_indices(out, inp):
    out[0] = 99
    out[1] = inp[0, 0]  # here


@row("A 0-d array is indexed with 1 index. It holds one number: inp[()].", np.array(1.5))
def no_axes(out, inp):
    out[0] = 99
    out[1] = inp[0]  # here


@row(
    "`inp` is int64 and not an array: it cannot be indexed. Check which variable is meant, and whether it has an index already.",
    3,
)
def number_indexed(out, inp):
    out[0] = 99
    out[1] = inp[0]  # here


@row("`inp` is float64 and has no `.shape` in a kernel. Arrays have it.", 2.5)
def shape_of_a_number(out, inp):
    out[0] = 99
    out[1] = inp.shape[0]  # here


@row(
    "A 1-d array of float32 is stored where one number belongs. On the right an index is missing: a 1-d array takes one, as in a[i], a 2-d array two, as in a[row, col]."
    if OUT_OF_TREE  # the numba.cuda inside Numba cannot multiply a whole array
    else "`*` is applied to whole arrays (float32 and a 1-d array of float32). A thread works on single elements: index the arrays, as in a[i]."
)
def array_for_a_number(out, inp):
    out[0] = 99
    out[1] = out[1] * inp  # here


@row("The kernel stores into `inp`, which is read-only. Pass a writable array: inp.copy().", FIXED)
def read_only(out, inp):
    out[0] = 99
    inp[0] = 1  # here


@row("The kernel stores into `inp`, which is read-only. Pass a writable array: inp.copy().", FIXED)
def read_only_atomic(out, inp):
    out[0] = 99
    cuda.atomic.add(inp, 0, 1)  # here


@row(
    "The kernel stores into `CONSTANT`, a read-only array outside of it: a constant. Pass it as an argument."
)
def constant_written(out, inp):
    out[0] = 99
    CONSTANT[0] = 1  # here


@row(
    "A whole array is neither true nor false. A thread works on single elements: index the array, as in a[i]."
)
def truth_of_an_array(out, inp):
    out[0] = 99
    if inp:  # here
        out[1] = 1


@row("`+` cannot take a text of 2 characters and int64 in a kernel.", np.array(["a", "bc"]))
def array_of_texts(out, inp):
    out[0] = 99
    out[1] = inp[0] + 1  # here


@row("`+` cannot take a text of 3 bytes and int64 in a kernel.", np.array([b"a", b"bcd"]))
def array_of_bytes(out, inp):
    out[0] = 99
    out[1] = inp[0] + 1  # here


@row("`+` cannot take datetime64 without a unit and float32 in a kernel.", np.zeros(4, "M8"))
def dates(out, inp):
    out[0] = 99
    out[1] = inp[0] + out[0]  # here


@row(
    "340282366920938463463374607431768211456 does not fit into 64 bits. Write a float, as in 2.0**70."
)
def large_constant(out, inp):
    out[0] = 99
    out[1] = 340282366920938463463374607431768211456  # here


# --- shared and local arrays -------------------------------------------------------------------

FIXED_SHAPE = " array is fixed when the kernel is compiled: a number, one name of a global constant, or a tuple of those. Numba cannot take "


@row(
    "The shape of a shared"
    + FIXED_SHAPE
    + "`inp.shape[0]`. Use a global constant; for a size that is known at the launch only, use cuda.shared.array(0, dtype) and give the bytes as fourth number: kernel[grid, block, 0, nbytes]."
)
def shared_shape(out, inp):
    out[0] = 99
    tile = cuda.shared.array(inp.shape[0], float32)  # here


@row(
    "The shape of a local"
    + FIXED_SHAPE
    + "`inp.size`. Use a global constant: the largest size that may come."
)
def local_shape(out, inp):
    out[0] = 99
    mine = cuda.local.array(inp.size, float32)  # here


@row("Numba knows no dtype `float33`. Write float32, float64 or int32, imported from numba.")
def dtype_as_a_text(out, inp):
    out[0] = 99
    tile = cuda.shared.array(4, "float33")  # here


@row("A local array has 0 elements along an axis. Write a number from 1.")
def empty_local(out, inp):
    out[0] = 99
    mine = cuda.local.array((4, 0), float32)  # here


@row("A shared array has -4 elements along an axis. Write a number from 0.")
def negative_shape(out, inp):
    out[0] = 99
    tile = cuda.shared.array(-4, float32)  # here


# --- calls -------------------------------------------------------------------------------------


@row("A kernel cannot launch another kernel. Launch both from the host, one after the other.")
def kernel_launched(out, inp):
    out[0] = 99
    other_kernel[1, 32](out, inp)  # here


@row(
    "cuda.syncthreads is named but not called, so nothing happens. Write cuda.syncthreads().",
    kind=UnsupportedSyntax,
)
def barrier_without_brackets(out, inp):
    out[0] = 99
    cuda.syncthreads  # here
    out[1] = inp[0]


@row(
    "cuda.syncwarp is named but not called, so nothing happens. Write cuda.syncwarp().",
    kind=UnsupportedSyntax,
)
def warp_barrier_without_brackets(out, inp):
    out[0] = 99
    cuda.syncwarp  # here


@row("Kernels cannot use math.comb. Write the loop yourself.")
def math_comb(out, inp):
    out[0] = 99
    out[1] = math.comb(4, 2)  # here


@row("print cannot show a whole array. Print single elements, as in print(a[i]).")
def array_printed(out, inp):
    out[0] = 99
    print(inp)  # here


@row("print cannot show a complex number. Print its parts: print(z.real, z.imag).", 1j)
def complex_printed(out, inp):
    out[0] = 99
    print("inp", inp)  # here


@row("print cannot show None. Print a number or a text.")
def none_printed(out, inp):
    out[0] = 99
    print(None)  # here


@row(
    "the engine does not know the method out.sort. Write the loop out, or use a function of cuda or math.",
    kind=UnsupportedSyntax,
)
def array_sorted(out, inp):
    out[0] = 99
    out.sort()  # here


@row(
    "A kernel's print takes values only: no `sep`, no `end`. Write the values side by side: print(a, b)."
)
def print_with_sep(out, inp):
    out[0] = 99
    print(1, 2, sep="-")  # here


@row("Kernels cannot call `open`. Call it on the host, before the launch.")
def file_opened(out, inp):
    out[0] = 99
    open("numbers")  # here


@row("Kernels cannot call `sorted`. Write the loop yourself.")
def sorted_array(out, inp):
    out[0] = 99
    out[1] = sorted(inp)[0]  # here


@row("This call does not fit twice(x): missing a required argument: 'x'.")
def device_keyword(out, inp):
    out[0] = 99
    out[1] = twice(y=3)  # here


@row("An atomic operation takes the array first. Write atomic.add(out, index, value).", 3)
def atomic_number(out, inp):
    out[0] = 99
    cuda.atomic.add(inp, 0, 1)  # here


# --- syntax ------------------------------------------------------------------------------------


@row(
    "A kernel returns nothing; this one returns a value. Store the result into an array argument: out[i] = value."
)
def value_returned(out, inp):
    out[0] = 99
    return inp[0]  # here


@row("A kernel cannot catch exceptions. Test the condition with `if`.")
def exception_caught(out, inp):
    out[0] = 99
    try:  # here
        out[1] = 1 / inp[0]
    except ZeroDivisionError:
        out[1] = 0


@row("A kernel cannot make a generator. Write the loop yourself.")
def generator(out, inp):
    out[0] = 99
    out[1] = sum(x for x in inp)  # here


@row(
    "A kernel cannot make a list: threads have no memory manager. Use cuda.local.array(n, dtype) for numbers of one thread, cuda.shared.array for numbers of a block."
)
def comprehension(out, inp):
    out[0] = 99
    mine = [x for x in inp]  # here
    out[1] = mine[0]


@row("A kernel cannot use a dict. Put the numbers into an array and index it with integers.")
def dictionary(out, inp):
    out[0] = 99
    out[1] = {0: 1}[0]  # here


@row("A kernel cannot assign to outer names. Store to an array.")
def outer_name(out, inp):
    global CONSTANT  # here
    out[0] = 99
    CONSTANT = 3


@row("a kernel has no f-strings. Print the values themselves.", kind=UnsupportedSyntax)
def text_built(out, inp):
    out[0] = 99
    name = f"{inp[0]}"  # here


# fmt: off
KERNELS.add("recursion", lambda w: runs_away[1, 32](w.dev, w.inp), TypingRefused, marked(endless, "The function calls itself, and no path through it ends without a call. Give it one that returns a number first."))
KERNELS.add("recursion with other types", lambda w: calls_widening[1, 32](w.dev, w.inp), TypingRefused, marked(widening, "The function calls itself with other types than those it was called with. Cast the arguments of one call to the types of the other, as in f(int32(n - 1))."))
# fmt: on


@pytest.mark.first(20)
@KERNELS.each()
def test_kernel(row, monkeypatch):
    """What a kernel may not hold is refused before its first store."""
    refused(row, monkeypatch)


def test_what_is_taken():
    """The other side: a function for the CPU is called, `range` cuts a float off, as Numba does."""

    @cuda.jit
    def calls(out, n):
        for i in range(n):
            out[i] = of_the_cpu(i) + 1

    out = np.zeros(4, np.float32)
    calls[1, 1](out, 2.9)
    assert out.tolist() == [1, 3, 0, 0]
