"""What Numba refuses, said in a learner's words, on the right line."""

import random

import numpy as np
import pytest
from numba import cuda, float32

from smemnb.errors import TypingRefused
from smemnb.simulator import seam
from smemnb.simulator.inference import infer
from smemnb.simulator.refusals.place import Place
from tests.simulator.test_inference import line_of

# ruff: noqa: C416, E702, E731, F821, F841, PTH123, RUF059, UP031
# fmt: off

TILE, PITCH = 32, 33
LISTED, TABLE, ARRAY = [1, 2, 3], {"a": 1}, np.arange(4)
A = np.zeros((4, 4), np.float32)


class Config:
    n = 4


config = Config()


def plain(x):
    return x + 1


@cuda.jit(device=True)
def twice(x):
    return x * 2


@cuda.jit(device=True)
def broken(x):
    return x.nonsense  # in the device function


REFUSED = []


def refused(*words):
    """Add a kernel to the table, with words its refusal must hold; `# here` marks the line."""

    def add(kernel):
        REFUSED.append(pytest.param(kernel, words, id=kernel.__name__))
        return kernel

    return add


def refused_by_numba_cuda(*words):
    """A row for what the numba.cuda inside Numba does not even know by name."""
    return refused(*words) if seam.OUT_OF_TREE else lambda kernel: kernel


@refused("`(TILE, TILE + 1)`", "PITCH = TILE + 1", "above the kernel")
def shape_expression(out, inp):
    tile = cuda.shared.array((TILE, TILE + 1), float32)  # here
    tile[0, 0] = inp[0, 0]


@refused("`TILE * TILE`", "above the kernel")
def shape_product(out, inp):
    tile = cuda.shared.array(TILE * TILE, float32)  # here
    tile[0] = 1


@refused("`(TILE, inp.shape[0])`", "shared.array(0, dtype)", "kernel[grid, block, 0, nbytes]")
def shape_of_argument(out, inp):
    tile = cuda.shared.array(shape=(TILE, inp.shape[0]), dtype=float32)  # here
    tile[0, 0] = 1


@refused("shape is a list", "(TILE, TILE)")
def shape_list(out, inp):
    tile = cuda.shared.array([TILE, TILE], float32)  # here
    tile[0, 0] = 1


@refused("needs a dtype", "float32")
def no_dtype(out, inp):
    tile = cuda.shared.array((TILE, TILE))  # here
    tile[0, 0] = 1


@refused("this dtype", "float32", "from numba")
def python_dtype(out, inp):
    tile = cuda.shared.array((TILE, TILE), float)  # here
    tile[0, 0] = 1


@refused("local array", "`inp.shape[0]`")
def local_shape(out, inp):
    mine = cuda.local.array(inp.shape[0], float32)  # here


@refused("`plain` is a plain Python function", "@cuda.jit(device=True)")
def calls_plain(out, inp):
    out[0, 0] = plain(1)  # here


@refused("`nonexistent` is defined nowhere")
def undefined(out, inp):
    out[0, 0] = nonexistent  # here


@refused("`TILEE` is defined nowhere", "Did you mean TILE")
def misspelt(out, inp):
    out[0, 0] = TILEE  # here


@refused("`inpt` is defined nowhere", "Did you mean inp?")
def misspelt_parameter(out, inp):
    out[0, 0] = inpt[0, 0]  # here


@refused("`math` is not imported", "`import math`")
def not_imported(out, inp):
    out[0, 0] = math.sqrt(inp[0, 0])  # here


@refused("`int32` is not imported", "`from numba import int32`")
def type_not_imported(out, inp):
    out[0, 0] = int32(3)  # here


@refused("cuda.threadIdx stands for three numbers", "Write cuda.threadIdx.x.")
def whole_dim3(out, inp):
    out[0, 0] = cuda.blockDim.x * cuda.blockIdx.x + cuda.threadIdx  # here


@refused("cuda.blockIdx stands for three numbers", "Write cuda.blockIdx.x in line")
def index_dim3(out, inp):
    i = cuda.blockIdx
    out[0, i] = 1  # here


@refused("cuda.blockDim stands for three numbers", "Write cuda.blockDim.x.")
def range_dim3(out, inp):
    for i in range(cuda.blockDim):  # here
        out[0, i] = 1


@refused("`y` is read before it has a value")
def too_early(out, inp):
    out[0, 0] = y  # here
    y = 1


@refused(".x, .y and .z", ".w")
def dim3(out, inp):
    out[0, 0] = cuda.threadIdx.w  # here


@refused("`threadIndex`", "threadIdx")
def cuda_misspelt(out, inp):
    out[0, cuda.threadIndex.x] = 1  # here


@refused("`sync_threads`", "Did you mean cuda.syncthreads?")
def sync_threads(out, inp):
    cuda.sync_threads()  # here


@refused("`shared_array`", "Did you mean cuda.shared.array?")
def shared_array(out, inp):
    tile = cuda.shared_array((4, 4), float32)  # here


@refused("cuda.to_device belongs to the host", "before the launch")
def host_function(out, inp):
    x = cuda.to_device(inp)  # here


@refused("has no `.foo`", ".shape")
def array_attribute(out, inp):
    out[0, 0] = inp.foo  # here


@refused("has no `.nonsense`", "in the device function")
def device_function(out, inp):
    out[0, 0] = broken(inp[0, 0])


@refused("twice(x)", "too many positional arguments")
def too_many_arguments(out, inp):
    out[0, 0] = twice(inp[0, 0], 1)  # here


@refused("twice(x)", "missing a required argument: 'x'")
def too_few_arguments(out, inp):
    out[0, 0] = twice()  # here


@refused("cannot make a list", "cuda.local.array")
def list_display(out, inp):
    mine = [1, 2]; out[0, 0] = mine[0]  # here


@refused("cannot make a list")
def list_append(out, inp):
    mine = []; mine.append(1); out[0, 0] = mine[0]  # here


@refused("cannot make a list")
def list_comprehension(out, inp):
    mine = [i for i in range(3)]; out[0, 0] = mine[0]  # here


@refused("cannot use a dict", "array")
def dict_display(out, inp):
    mine = {1: 2}; out[0, 0] = mine[1]  # here


@refused("cannot use a set")
def set_display(out, inp):
    mine = {1, 2}; out[0, 0] = len(mine)  # here


@refused("list")
def global_list(out, inp):
    out[0, 0] = LISTED[0]  # here


@refused("`TABLE` is a dict outside the kernel", "np.array")
def global_dict(out, inp):
    out[0, 0] = TABLE["a"]  # here


@refused("`config`", "Config", "constant above the kernel")
def global_object(out, inp):
    out[0, 0] = config.n  # here


@refused("`Config` is a class")
def global_class(out, inp):
    out[0, 0] = Config.n  # here


@refused("read-only")
def global_array_written(out, inp):
    ARRAY[0] = 1  # here


@refused("2-d array is indexed with 3 indices", "out[row, col]")
def three_indices_stored(out, inp):
    out[0, 0, 0] = 1.0  # here


@refused("2-d array is indexed with 3 indices")
def three_indices_loaded(out, inp):
    out[0, 0] = inp[0, 0, 0]  # here


@refused("1-d array of float32 is stored where one number belongs", "index is missing")
def row_stored(out, inp):
    out[0, 0] = inp[0]  # here


@refused("index is float64", "`//`")
def float_index(out, inp):
    i = cuda.threadIdx.x / 2
    out[i, 0] = 1.0  # here


@refused("index is float64", "`//`")
def float_index_loaded(out, inp):
    out[0, 0] = inp[0.5, 1]  # here


@refused("index is bool")
def bool_index(out, inp):
    out[True, 0] = 1  # here


@refused("index is a tuple", "col, row = cuda.grid(2)")
def grid_as_index(out, inp):
    x = cuda.grid(2)
    out[x, 0] = 1  # here


@refused("int64 is one value", "cuda.grid(1)")
def grid_unpacked(out, inp):
    x, y = cuda.grid(1)  # here


@refused("2 names", "3 values")
def grid_of_three(out, inp):
    x, y = cuda.grid(3)  # here


@refused("3 names", "2 values", "shape")
def shape_unpacked(out, inp):
    m, n, k = inp.shape  # here


@refused("literal 1, 2 or 3")
def grid_of_a_variable(out, inp):
    x = cuda.grid(inp.shape[0])  # here


@refused("literal 1, 2 or 3")
def grid_of_four(out, inp):
    x = cuda.grid(4)  # here


@refused("literal 1, 2 or 3")
def grid_of_nothing(out, inp):
    x = cuda.grid()  # here


@refused("returns nothing", "out[i] = value")
def returns(out, inp):
    return inp[0, 0]  # here


@refused("`x`", "2-d array of float32", "int64", "two names")
def two_types(out, inp):
    if inp[0, 0] > 1:
        x = 1
    else:
        x = inp
    out[0, 0] = 1 if x is None else 2


@refused("complex", "float32", "value.real")
def complex_stored(out, inp):
    out[0, 0] = 1j  # here


@refused("A text is stored")
def text_stored(out, inp):
    out[0, 0] = "x"  # here


@refused("None is stored")
def none_stored(out, inp):
    out[0, 0] = None  # here


@refused("A tuple", "is stored")
def tuple_stored(out, inp):
    out[0, 0] = (1, 2)  # here


@refused("cannot store into a tuple")
def store_into_tuple(out, inp):
    t = (1, 2)
    t[0] = 3  # here


@refused("cannot set attributes")
def attribute_stored(out, inp):
    out.x = 1  # here


@refused("cannot make a NumPy array", "cuda.local.array")
def numpy_zeros(out, inp):
    mine = np.zeros(4, np.float32); out[0, 0] = mine[0]  # here


@refused("no matrix product")
def matrix_product(out, inp):
    c = inp @ inp  # here


@refused("whole arrays", "index the arrays")
def array_sum(out, inp):
    c = inp + inp  # here


@refused("Whole arrays are copied", "Index both sides")
def array_copy(out, inp):
    out[:] = inp  # here


@refused("Whole arrays are copied")
def row_copy(out, inp):
    out[0, :] = inp[0, :]  # here


@refused("`max` is applied to whole arrays")
def array_max(out, inp):
    out[0, 0] = max(inp)  # here


@refused("`&` needs integers", "float32")
def float_and(out, inp):
    out[0, 0] = inp[0, 0] & 1  # here


@refused("`<<` needs integers", "float64")
def float_shift(out, inp):
    out[0, 0] = 1.5 << 2  # here


@refused("array is called like a function", "square brackets")
def array_called(out, inp):
    out[0, 0] = inp(0, 0)  # here


@refused("int32 is called like a function")
def number_called(out, inp):
    tx = cuda.threadIdx.x()  # here


@refused("2-d array is indexed with 1", "(row, col)")
def atomic_short_index(out, inp):
    cuda.atomic.add(out, 0, 1)  # here


@refused("array, the index and the value")
def atomic_without_index(out, inp):
    cuda.atomic.add(out[0, 0], 1)  # here


@refused("must be integers")
def atomic_float_index(out, inp):
    cuda.atomic.add(out, (0, 0.5), 1)  # here


@refused("cuda.syncthreads takes no arguments, not 1")
def sync_with_argument(out, inp):
    cuda.syncthreads(1)  # here


@refused("cannot catch exceptions", "`if`")
def tries(out, inp):
    try:  # here
        out[0, 0] = 1
    except Exception:
        out[0, 0] = 2


@refused("cannot use `with`")
def with_block(out, inp):
    with open("x") as file:  # here
        pass


@refused("cannot yield")
def yields(out, inp):
    yield 1  # here


@refused("cannot be `async`")
async def coroutine(out, inp):  # here
    out[0, 0] = 1


@refused("cannot define a class")
def class_inside(out, inp):
    class Inner:  # here
        pass


@refused("Import above the kernel")
def import_inside(out, inp):
    import math  # here
    out[0, 0] = math.sqrt(2.0)


@refused("outer names")
def global_assigned(out, inp):
    global TILE  # here
    TILE = 3


@refused("cannot `del`")
def deletes(out, inp):
    x = 1
    del x  # here


@refused("unpack with a star")
def starred(out, inp):
    first, *rest = inp.shape  # here


@refused("`:=`")
def walrus(out, inp):
    if (n := 3) > 2:  # here
        out[0, 0] = n


@refused("cannot make an f-string", 'print("x", inp[0, 0])')
def formatted(out, inp):
    print(f"x {inp[0, 0]}")  # here


@refused("cannot make an f-string", 'print("thread", i)')
def formatted_number(out, inp):
    i = cuda.grid(1)
    print(f"thread {i}")  # here


@refused("cannot make an f-string", 'print("x", inp[0, 0])')
def formatted_with_digits(out, inp):
    print(f"x {inp[0, 0]:.2f}")  # here


@refused("`part` is one number (float32)", "write name[i] = value")
def name_of_an_array_assigned_anew(out, inp):
    part = cuda.local.array(4, float32)
    part = inp[0, 0]
    part[0] = 1  # here


@refused("`threadIdx` is defined nowhere", "Did you mean cuda.threadIdx?")
def without_cuda(out, inp):
    out[0, 0] = threadIdx.x  # here


@refused("cannot build texts")
def percent(out, inp):
    print("x %d" % 3)  # here


@refused_by_numba_cuda("no inp.max in a kernel", "m = max(m, a[i])")
def largest(out, inp):
    out[0, 0] = inp.max()  # here


@refused_by_numba_cuda("no np.min in a kernel", "m = min(m, a[i])")
def smallest(out, inp):
    out[0, 0] = np.min(inp)  # here


@refused_by_numba_cuda("no np.clip in a kernel", "min(max(x, low), high)")
def clipped(out, inp):
    out[0, 0] = np.clip(inp[0, 0], 0, 2)  # here


@refused_by_numba_cuda("no np.where in a kernel", "a if condition else b")
def chosen(out, inp):
    out[0, 0] = np.where(inp[0, 0] > 0, 1.0, 2.0)  # here


@refused_by_numba_cuda("no code for np.sqrt", "math.sqrt(x)")
def square_root(out, inp):
    out[0, 0] = np.sqrt(inp[0, 0])  # here


@refused_by_numba_cuda("no code for np.absolute", "abs(x)")
def size_of(out, inp):
    out[0, 0] = np.abs(inp[0, 0])  # here


@refused_by_numba_cuda("no code for np.subtract", "x - y")
def all_apart(out, inp):
    np.subtract(out, inp, out)  # here


@refused_by_numba_cuda("one axis", "array.reshape(-1)")
def flat(out, inp):
    out[0, 0] = inp.ravel()[0]  # here


@refused_by_numba_cuda("np.isinf inside")
def near(out, inp):
    out[0, 0] = np.isclose(inp[0, 0], 1.0)  # here


@refused("missing_argument(out, inp, n)", "2 arguments", "one for each parameter")
def missing_argument(out, inp, n):  # here
    out[0, 0] = n


@pytest.mark.parametrize(("kernel", "words"), REFUSED)
def test_refused(kernel, words):
    """Each kernel is refused with these words, and the refusal shows the line."""
    with pytest.raises(TypingRefused) as caught:
        infer(kernel, (A, A))
    said = str(caught.value)
    assert [word for word in words if word not in said] == [], said
    if kernel not in (device_function, two_types):
        assert said.startswith(f"test_refusals.py, line {line_of(kernel, '# here')}: "), said
    assert said.count("\n") == 1


def test_table():
    """The table is not empty by mistake."""
    assert len(REFUSED) == 88 + 9 * seam.OUT_OF_TREE


def accepted_kernel(out, inp):
    m, n = inp.shape
    square = lambda v: v * v
    here = 0.0
    for i in range(m):
        if i == 2:
            continue
        here += square(inp[i, 0])
    while here > 100:
        here -= 1.0
        if here < 3:
            break
    if here < 0:
        return
    out[0, 0] = here if n > 2 else -here
    out[1][1] = max(min(here, 3), 0)
    cuda.atomic.add(out, (0, 0), 1)
    print("here", here)


def test_accepted():
    """What Numba compiles is accepted (a negative of the table)."""
    assert infer(accepted_kernel, (A, A)).variables()["here"] == {"float64"}


def test_random():
    """Random numbers are refused, at the latest by numba-cuda; the one inside Numba types them."""

    def kernel(out):
        out[0, 0] = random.random()

    from smemnb.simulator.seam import OUT_OF_TREE

    if OUT_OF_TREE:
        with pytest.raises(TypingRefused, match=r"numba\.cuda\.random"):
            infer(kernel, (A,))


def test_readonly_argument():
    """A store into a read-only array is refused, as Numba does."""
    fixed = A.copy()
    fixed.flags.writeable = False

    def kernel(out):
        out[0, 0] = 1

    with pytest.raises(TypingRefused, match="read-only"):
        infer(kernel, (fixed,))


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("/home/me/mine.py", "mine.py, line 3"),
        ("/tmp/ipykernel_9/12.py", "line 3 of the cell"),
        ("<ipython-input-3>", "line 3 of the cell"),
    ],
)
def test_place(file, shown):
    """Files by name, notebook cells as cells: the name of their file means nothing."""
    assert str(Place(file, 3)) == shown


@pytest.mark.parametrize("store", [True, False])
def test_unaligned_field(store):
    """A field at an odd place is refused as in Numba, its neighbour is not."""
    packed = np.dtype([("flag", "u1"), ("mass", "f8"), ("name", "u1")])

    def reads(out, items):
        out[0] = items[2].mass

    def writes(out, items):
        items[2].mass = out[0]

    def neighbour(out, items):
        out[0] = items[2].name + items[2].flag

    arguments = np.zeros(1), np.zeros(4, packed)
    with pytest.raises(TypingRefused, match="'mass' of type float64 is not aligned .*byte 1") as at:
        infer(writes if store else reads, arguments)
    assert "align=True" in str(at.value)
    infer(neighbour, arguments)
    aligned = np.zeros(4, np.dtype(packed.descr, align=True))
    infer(writes if store else reads, (np.zeros(1), aligned))
