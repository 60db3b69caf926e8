"""Launches: what is refused and in which words, what is copied back, what stays untouched."""

import numpy as np
import pytest
from numba import cuda, float32

import smemnb
from smemnb import simulator
from smemnb.errors import LaunchRefused, TypingRefused
from smemnb.lockstep.watch import Watcher
from smemnb.simulator.launch import run

pytestmark = pytest.mark.skipif(
    simulator.device() != "lockstep", reason="launches go to a GPU here"
)


@cuda.jit
def add_one(out, inp):
    i = cuda.grid(1)
    if i < inp.shape[0]:
        out[i] = inp[i] + 1


@cuda.jit
def scale(out, factor):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = out[i] * factor


@cuda.jit(device=True)
def device_function(x):
    return x


@cuda.jit(launch_bounds=128)
def bounded(out):
    out[0] = 1


@cuda.jit
def big_tile(out):
    tile = cuda.shared.array(16384, float32)
    tile[0] = 1
    out[0] = tile[0]


@cuda.jit
def dynamic_tile(out):
    tile = cuda.shared.array(0, float32)
    tile[cuda.threadIdx.x] = cuda.threadIdx.x
    cuda.syncthreads()
    out[cuda.threadIdx.x] = tile[cuda.blockDim.x - 1 - cuda.threadIdx.x]


def ints(n=40, dtype=np.float32):
    return np.random.default_rng(5).integers(-9, 9, n).astype(dtype)


# --- refusals ----------------------------------------------------------------------------------


def test_grid_and_block_swapped():
    """Only where the swapped launch would have whole warps."""
    for grid, swapped in ((256, True), (1, False)):
        with pytest.raises(LaunchRefused) as caught:
            add_one[grid, 2048](ints(), ints())
        assert ("may be swapped" in str(caught.value)) is swapped


GRIDS = [
    ("float", (1.5, 32), ("add_one", "float 1.5", "//")),
    ("float block", (1, 32 / 1), ("block", "float 32.0", "//")),
    ("numpy float", (np.float64(2), 32), ("grid", "//")),
    ("four", ((1, 1, 1, 1), 32), ("griddim", "4 numbers", "1, 2 or 3 integers")),
    ("none at all", ((), 32), ("grid", "0 numbers")),
    ("zero", (0, 32), ("grid", "0 blocks", "leave the launch out")),
    ("zero threads", (1, (32, 0)), ("block", "0 threads")),
    ("negative", (-3, 32), ("grid", "-3 blocks")),
    ("None", (None, 32), ("grid", "None", "add_one[grid, block]")),
    ("text", ("4", 32), ("grid", "'4'")),
    ("too many threads", (4, (64, 32)), ("2048 threads", "at most 1024", "9.0", "smaller block")),
    ("swapped", (256, 4096), ("4096 threads", "swapped", "add_one[grid, block]")),
    ("block z", (1, (1, 1, 65)), ("65 threads along z", "at most 64")),
    ("grid y", ((1, 65536), 1), ("65536 blocks along y", "at most 65535", "x")),
    ("grid x", (2**31, 1), ("2147483648 blocks along x", "at most 2147483647")),
    ("stream", (1, 32, 1024), ("third", "stream", "add_one[grid, block, 0, 1024]")),
    ("shared float", (1, 32, 0, 1e3), ("1000.0", "bytes")),
    ("shared negative", (1, 32, 0, -4), ("-4", "bytes")),
    ("shared too large", (1, 32, 0, 232449), ("232449 bytes", "at most 232448", "9.0")),
    ("one entry", 4, ("add_one[4]", "add_one[grid, block]")),
    ("five entries", (1, 2, 0, 0, 0), ("add_one[grid, block]",)),
]


@pytest.mark.parametrize(("launch", "words"), [case[1:] for case in GRIDS], ids=lambda v: str(v))
def test_bad_launch(launch, words):
    """Bad grids, blocks, streams and bytes are refused, and `out` stays as it was."""
    out = ints()
    before = out.copy()
    with pytest.raises(LaunchRefused) as caught:
        add_one[launch](out, out)
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)
    assert np.array_equal(out, before)


ARGUMENTS = [
    ([1.0, 2.0], ("`inp` is a list", "np.array(inp, dtype=np.float32)")),
    ([1, 2], ("np.array(inp, dtype=np.int32)",)),
    ([[1, 2], [3, 4]], ("np.array(inp, dtype=np.int32)",)),
    ("text", ("`inp` is a text",)),
    (b"text", ("`inp` is a text",)),
    (None, ("`inp` is None",)),
    ({1: 2}, ("`inp` is a dict", "np.array")),
    ({1, 2}, ("`inp` is a set",)),
    (range(3), ("`inp` is a range",)),
    (object(), ("`inp` is of type object",)),
    (np.array([1, "a", None], object), ("`inp` is an array of Python objects", "astype")),
    (np.zeros(4, np.longdouble), ("which no GPU has", "astype(np.float64)")),
    (np.zeros(4, ">f4"), ("byte order", "newbyteorder")),
    (np.zeros((4, 6))[:, ::2], ("`inp` is not contiguous", "np.ascontiguousarray(inp)")),
    (np.broadcast_to(np.zeros(3), (4, 3)), ("not contiguous", "ascontiguousarray")),
    (np.ma.masked_array([1.0]), ("masked", "filled")),
    (2**70, ("64 bits",)),
    ((1, [2]), ("`inp[1]` is a list",)),
    (add_one, ("CUDADispatcher",)),
]


@pytest.mark.parametrize(("value", "words"), ARGUMENTS, ids=lambda v: str(type(v).__name__))
def test_bad_argument(value, words):
    """An argument that Numba does not take is refused by name, with what to pass instead."""
    out = ints()
    with pytest.raises(LaunchRefused) as caught:
        add_one[1, 32](out, value)
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), ("add_one(out, inp)", "takes 2", "got 0", "missing: out, inp")),
        ((1,), ("got 1", "missing: inp")),
        ((1, 2, 3), ("got 3", "1 too many")),
    ],
)
def test_number_of_arguments(args, words):
    """Too few and too many arguments are reported by the parameters' names."""
    with pytest.raises(LaunchRefused) as caught:
        add_one[1, 32](*args)
    assert [word for word in words if word not in str(caught.value)] == []


def test_bad_kernels():
    """What is no kernel is refused: a device function, a CPU function, a number."""
    import numba

    out = ints()
    with pytest.raises(LaunchRefused, match="device function"):
        run(device_function, 1, 1, 0, 0, (1,))
    with pytest.raises(LaunchRefused, match="compiled for the CPU"):
        run(numba.njit(lambda x: x), 1, 1, 0, 0, (out,))
    with pytest.raises(LaunchRefused, match="type int is no kernel"):
        run(3, 1, 1, 0, 0, (out,))


def test_no_launch():
    """A kernel that is called without a launch says how to launch it (Numba's words)."""
    with pytest.raises(ValueError, match="blockspergrid, threadsperblock"):
        add_one(1, 2)


def test_launch_bounds():
    """A block larger than launch_bounds promises is refused."""
    out = ints()
    bounded[1, 128](out)
    with pytest.raises(LaunchRefused, match=r"129 threads; its launch_bounds promise at most 128"):
        bounded[1, 129](out)


def test_shared_memory():
    """48 KB of static shared memory, and up to 227 KB of dynamic; the engine sees the limit."""
    out = ints()
    with pytest.raises(LaunchRefused, match="65,?536"):
        big_tile[1, 1](out)
    dynamic_tile[1, 32, 0, 232448](out)
    assert out[:32].tolist() == list(range(31, -1, -1))


def test_use():
    """The limits of another compute capability are enforced when it is chosen."""
    out = ints()
    try:
        simulator.use("7.5")
        assert cuda.get_current_device().compute_capability == (7, 5)
        with pytest.raises(LaunchRefused, match=r"at most 65536 \(compute capability 7\.5\)"):
            dynamic_tile[1, 32, 0, 65540](out)
    finally:
        simulator.use((9, 0))
    dynamic_tile[1, 32, 0, 65540](out)


def test_typing_comes_before_running():
    """What Numba refuses is refused before anything is copied back."""

    @cuda.jit
    def bad(out):
        out[0] = 7
        out[0, 0, 0] = 7

    out = ints()
    before = out.copy()
    with pytest.raises(TypingRefused, match="1-d array is indexed with 3"):
        bad[1, 1](out)
    assert np.array_equal(out, before)


# --- results -----------------------------------------------------------------------------------


def test_host_arrays():
    """Host arrays are copied in and back."""
    out, inp = np.zeros(40, np.float32), ints()
    assert add_one[2, 32](out, inp) is None
    assert np.array_equal(out, inp + 1)


def test_fortran_order():
    """A Fortran-ordered array keeps its order."""

    @cuda.jit
    def number(out):
        col, row = cuda.grid(2)
        if row < out.shape[0] and col < out.shape[1]:
            out[row, col] = 10 * row + col

    out = np.zeros((3, 5), np.int32, order="F")
    number[1, (8, 8)](out)
    assert out.tolist() == [[0, 1, 2, 3, 4], [10, 11, 12, 13, 14], [20, 21, 22, 23, 24]]
    assert out.flags.f_contiguous


def test_same_array_twice():
    """An array given twice is two pieces of memory, and the last copy back wins, as on a GPU."""
    both = ints()
    before = both.copy()
    add_one[2, 32](both, both)  # `inp` is copied back over `out`
    assert np.array_equal(both, before)

    @cuda.jit
    def second(inp, out):
        i = cuda.grid(1)
        if i < inp.shape[0]:
            inp[i] = 0
            out[i] = out[i] + 1

    second[2, 32](both, both)
    assert np.array_equal(both, before + 1)


def test_wrappers():
    """`In` is not copied back; `Out` is not copied in and arrives as NaN; `InOut` is both."""

    @cuda.jit
    def touch(a, b, c):
        i = cuda.grid(1)
        b[i] = a[i] if b[i] == b[i] else -1
        a[i] = 9
        c[i] = c[i] + 1

    a, b, c = (np.zeros(4, np.float32) for _ in range(3))
    touch[1, 4](cuda.In(a), cuda.Out(b), cuda.InOut(c))
    assert (a.tolist(), b.tolist(), c.tolist()) == ([0] * 4, [-1] * 4, [1] * 4)


def test_device_arrays():
    """Device arrays are written in place, given twice they are one, and views are fine."""
    d = cuda.to_device(ints())
    add_one[2, 32](d, d)
    assert np.array_equal(d.copy_to_host(), ints() + 1)
    scale[1, 32](d[::2], np.float32(0))
    assert np.array_equal(d.copy_to_host()[::2], np.zeros(20))
    assert np.array_equal(d.copy_to_host()[1::2], ints()[1::2] + 1)


def test_read_only_input():
    """A read-only input is fine, and is not copied back."""
    inp = ints()
    inp.flags.writeable = False
    out = np.zeros(40, np.float32)
    add_one[2, 32](out, inp)
    assert np.array_equal(out, inp + 1)


def test_numbers():
    """Numbers arrive with Numba's types; a float stored into an int32 array is cut off."""
    out = np.full(2, 3, np.int32)
    seen = []
    for factor in (2, 2.9, np.float32(1.5), True, np.int8(-1)):
        scale[1, 2](out, factor)
        seen.append(int(out[0]))
    assert seen == [6, 17, 25, 25, -25]


def test_tuples():
    """A tuple of numbers is taken."""

    @cuda.jit
    def from_tuple(out, factors):
        out[cuda.grid(1)] = factors[0] * 10 + factors[1]

    out = np.zeros(4, np.float32)
    from_tuple[1, 4](out, (2, 1.5))
    assert out.tolist() == [21.5] * 4


def test_empty_array():
    """An array without elements is taken."""
    out = np.zeros(0, np.float32)
    add_one[1, 32](out, out)


def test_launch_objects_are_independent():
    """A launch object keeps its own grid; Numba's simulator would run the last one for both."""

    @cuda.jit
    def count(out):
        cuda.atomic.add(out, 0, 1)

    first, second = count[1, 4], count[2, 4]
    out = np.zeros(1, np.int32)
    first(out)
    assert out[0] == 4
    second(out)
    first(out)
    assert out[0] == 16


def test_forall():
    """`forall(n)` starts at least n threads; 0 starts none; a negative number is refused."""
    out = np.ones(300, np.float32)
    scale.forall(300)(out, 3)
    assert out.sum() == 900
    scale.forall(0)(out, 3)
    assert out.sum() == 900
    scale.forall(300, tpb=32)(out, 2)
    assert out.sum() == 1800
    with pytest.raises(LaunchRefused, match="negative"):
        scale.forall(-1)

    @cuda.jit
    def shape(out):
        out[0] = cuda.gridDim.x
        out[1] = cuda.blockDim.x

    shape.forall(300)(out)
    assert out[:2].tolist() == [2, 256]


def test_plain_function():
    """`run` takes a plain function, too."""

    def plain(out):
        out[cuda.grid(1)] = 5

    out = np.zeros(4, np.int32)
    run(plain, 1, 4, 0, 0, (out,))
    assert out.tolist() == [5] * 4


def test_watchers():
    """Watchers hear of the launch, with grid and block filled up to three numbers."""
    heard = []

    class Ear(Watcher):
        def start(self, launch):
            heard.append((launch.grid, launch.block))

    run(add_one, 2, (32, 2), 0, 0, (ints(), ints()), watchers=(Ear(),))
    assert heard == [((2, 1, 1), (32, 2, 1))]


def test_failure_leaves_arrays():
    """A kernel that the engine stops leaves host arrays as they were."""

    @cuda.jit
    def endless(out):
        out[0] = 1
        while out[1] == 0:
            out[2] = 1

    out = np.zeros(4, np.float32)
    with pytest.raises(smemnb.errors.SmemnbError):
        endless[1, 1](out)
    assert out.tolist() == [0] * 4


# --- declared signatures -----------------------------------------------------------------------


@cuda.jit("void(float32[:], int32)")
def declared(out, n):
    out[0] = n


@cuda.jit(["void(float32[:], int32)", "void(float64[:], float64)"])
def declared_twice(out, x):
    out[0] = x


def test_declared_signature():
    """Numbers are converted to the declared type, as on a GPU."""
    out = np.zeros(2, np.float32)
    declared[1, 1](out, 2.9)
    assert out[0] == 2
    declared[1, 1](out, 2**32 + 5)
    assert out[0] == 5


def test_declared_signature_refuses():
    """An array of another type is not reinterpreted but refused, with the repair."""
    with pytest.raises(LaunchRefused) as caught:
        declared[1, 1](np.zeros(2), 3)
    assert "`out` holds float64, declared is float32" in str(caught.value)
    assert "out.astype(np.float32)" in str(caught.value)
    with pytest.raises(LaunchRefused, match="2 axes, declared is 1"):
        declared[1, 1](np.zeros((2, 2), np.float32), 3)


def test_several_signatures():
    """Of several signatures the one that fits is taken."""
    single, double = np.zeros(1, np.float32), np.zeros(1)
    declared_twice[1, 1](single, 2.5)
    declared_twice[1, 1](double, 2.5)
    assert (single[0], double[0]) == (2, 2.5)


def test_specialize():
    """`specialize` gives a kernel for these types, and refuses others."""
    out = np.ones(4, np.float32)
    special = scale.specialize(out, 3)
    special[1, 4](out, 3)
    assert out.tolist() == [3] * 4
    with pytest.raises(LaunchRefused, match="declared is float32"):
        special[1, 4](np.ones(4), 3)
