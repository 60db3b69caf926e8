"""Eager signatures, `overloads`, and the decorators that Numba builds on kernels."""

import importlib
from enum import IntEnum

import numpy as np
import pytest
from numba import cuda, float32, guvectorize, int32, vectorize, void
from numba.extending import overload

from smemnb import simulator
from smemnb.compiled import available
from smemnb.errors import LaunchRefused, SmemnbError, TypingRefused
from smemnb.simulator import launch, seam

pytestmark = pytest.mark.skipif(
    simulator.device() != "lockstep", reason="launches go to a GPU here"
)


@pytest.fixture
def launches(monkeypatch):
    """The names of the kernels that reach the engine."""
    names = []
    engine = launch.lockstep_launch

    def noted(function, *args, **options):
        names.append(function.__name__)
        return engine(function, *args, **options)

    monkeypatch.setattr(launch, "lockstep_launch", noted)
    return names


def test_vectorize(launches):
    """`@vectorize(target="cuda")` runs in the engine, scalars and broadcasting included."""

    @vectorize(["float32(float32, float32)", "int32(int32, int32)"], target="cuda")
    def less_twice(a, b):
        return a - 2 * b

    column, row = np.array([[5], [11]], np.int32), np.array([[1, 2, 4]], np.int32)
    assert less_twice(column, row).tolist() == [[3, 1, -3], [9, 7, 3]]
    assert less_twice(np.float32(1.5), np.array([1, 0.25], np.float32)).tolist() == [-0.5, 1.0]
    assert launches == ["__vectorized_less_twice"] * 2


def test_vectorize_reduce(launches):
    """A binary ufunc reduces by halves: 2 launches for 5 elements, one for the odd one."""

    @vectorize(["int32(int32, int32)"], target="cuda")
    def add(a, b):
        return a + b

    assert add.reduce(np.array([1, 10, 100, 1000, 10000], np.int32)) == 11111
    assert launches == ["__vectorized_add"] * 3


def test_guvectorize(launches):
    """`@guvectorize(target="cuda")`: the core works on views of the rows."""

    @guvectorize([void(int32[:], int32[:], int32[:])], "(n),(n)->(n)", target="cuda")
    def running(a, b, out):
        total = 0
        for i in range(a.shape[0]):
            total += a[i] * b[i]
            out[i] = total

    a = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
    b = np.array([[7, 1, 2], [3, 0, 5]], np.int32)
    assert running(a, b).tolist() == [[7, 9, 15], [12, 12, 42]]
    assert launches == ["__gufunc_running"]


def test_reduce(launches):
    """`@cuda.reduce` runs Numba's own reduction kernel, three times for each sum."""
    most = cuda.reduce(lambda a, b: a if a > b else b)
    values = np.random.default_rng(3).integers(-999, 999, 700)
    values[613] = 5000
    assert most(values) == 5000
    assert most(values, size=600) == max(values[:600])
    assert most(values, init=6000) == 6000
    assert launches == ["gpu_reduce_block_strided"] * 9


def test_overloads():
    """A launch notes its types; a declared signature is there before any launch."""

    @cuda.jit
    def lazy(out, x):
        out[0] = x

    @cuda.jit(void(int32[:], float32), launch_bounds=96)
    def eager(out, x):
        out[0] = x

    assert list(lazy.overloads) == []
    lazy[1, 1](np.zeros(2, np.float32), 3)
    lazy[1, 1](np.zeros(2, np.float32), 4)
    lazy[1, 1](np.zeros(2, np.float32), 4.5)
    assert [str(types[1]) for types in lazy.overloads] == ["int64", "float64"]
    ((types, overload),) = eager.overloads.items()
    assert types == (int32[:], float32) == tuple(overload.signature.args)
    assert eager.get_max_threads_per_block() == 96
    assert lazy.get_max_threads_per_block() == dict.fromkeys(lazy.overloads, 1024)


def test_cooperative_blocks():
    """132 SMs with 2048 threads each: 16 blocks of 128, or 2 of 1024; 228 KB for two of 100 KB."""

    @cuda.jit
    def kernel(out):
        out[0] = 1

    kernel[1, 1](np.zeros(1))
    (overload,) = kernel.overloads.values()
    assert overload.max_cooperative_grid_blocks(128) == 132 * 16
    assert overload.max_cooperative_grid_blocks((32, 32)) == 132 * 2
    assert overload.max_cooperative_grid_blocks(128, 100 * 1024) == 132 * 2


@pytest.mark.skipif(available(), reason="the compiler libraries are here")
def test_code_is_refused():
    """Without the compiler libraries nobody can look at code: the refusal names them."""

    @cuda.jit(void(int32[:]))
    def kernel(out):
        out[0] = 1

    for look in (kernel.inspect_asm, kernel.inspect_llvm, kernel.get_regs_per_thread):
        with pytest.raises(SmemnbError, match=r"kernel runs in the lockstep engine.*pip install"):
            look()


def test_eager_refusals():
    """A wrong kernel with a signature is refused where it is decorated, as Numba's TypingError."""
    name = "numba.cuda.core.errors" if seam.OUT_OF_TREE else "numba.core.errors"
    numba_error = importlib.import_module(name).TypingError
    with pytest.raises(TypingRefused, match=r"has no `\.foo`") as caught:

        @cuda.jit(void(int32[:]))
        def wrong(out):
            out.foo()

    assert isinstance(caught.value, numba_error)
    with pytest.raises(TypingRefused):

        @cuda.jit(int32(int32), device=True)
        def wrong_too(x):
            return x.foo


def test_declared_device_function():
    """A device function with a signature is compiled by Numba: its overload has a return type."""

    @cuda.jit("float32(int32, int32)", device=True)
    def third(a, b):
        return (a + b) / 3

    (overload,) = third.overloads.values()
    assert str(overload.signature) == "(int32, int32) -> float32"

    @cuda.jit
    def kernel(out):
        out[0] = third(1, 1)

    out = np.zeros(1)
    kernel[1, 1](out)
    assert out[0] == np.float64(np.float32(2 / 3))


def test_no_matching_definition():
    """Numba raises a TypeError there, with these words; a grid of floats is one, too."""

    @cuda.jit([void(int32[:], int32), void(float32[:], float32)])
    def kernel(out, x):
        out[0] = x

    with pytest.raises(TypeError, match=r"No matching definition.*array\(complex128") as caught:
        kernel[1, 1](np.zeros(1, np.complex128), 1j)
    assert isinstance(caught.value, LaunchRefused)
    with pytest.raises(TypeError, match=r"griddim must be a sequence of integers, got \[2\.0\]"):
        kernel[2.0, 1]
    with pytest.raises(ValueError, match="blockdim must be a sequence of 1, 2 or 3 integers"):
        kernel[1, (1, 2, 3, 4)]


def test_specialize():
    """`specialize` gives a kernel for these argument types only."""

    @cuda.jit
    def add(out, x):
        out[0] += x

    out = np.zeros(1, np.float32)
    special = add.specialize(out, 2)
    special[1, 1](out, 5)
    assert (out[0], special.specialized, len(special.overloads)) == (5, True, 1)


def test_warnings():
    """Numba's performance warnings come where its settings ask for them."""
    config = seam.dispatcher_module.config

    @cuda.jit
    def kernel(out):
        out[0] = 1

    kept = config.CUDA_LOW_OCCUPANCY_WARNINGS, config.CUDA_WARN_ON_IMPLICIT_COPY
    config.CUDA_LOW_OCCUPANCY_WARNINGS = config.CUDA_WARN_ON_IMPLICIT_COPY = 1
    try:
        with pytest.warns(match="Grid size 127 .* low occupancy"):
            kernel[127, 1]
        with pytest.warns(match="Host array used in CUDA kernel"):
            kernel[128, 1](np.zeros(1))
    finally:
        config.CUDA_LOW_OCCUPANCY_WARNINGS, config.CUDA_WARN_ON_IMPLICIT_COPY = kept


class Fruit(IntEnum):
    """One of two enums with the same numbers."""

    APPLE = 2
    PEAR = 5


class Tree(IntEnum):
    """The other."""

    ASH = 2
    OAK = 3


def test_members_of_two_enums():
    """Members of two enums are equal where their numbers are, and never the same."""

    @cuda.jit
    def compare(a, b, out):
        out[0] = a == b
        out[1] = a is b
        out[2] = a is not b

    found = []
    for a, b in ((Fruit.APPLE, Tree.ASH), (Fruit.APPLE, Fruit.APPLE), (Fruit.APPLE, Fruit.PEAR)):
        out = np.zeros(3, np.bool_)
        compare[1, 1](a, b, out)
        found.append(out.tolist())
    assert found == [[True, False, True], [True, True, False], [False, False, True]]


def test_captured_values_are_constants():
    """Globals and closure values stay as they were when the kernel first met these types."""
    prices, rate = np.array([3.0, 7.0]), 0.5

    @cuda.jit
    def total(out):
        out[0] = prices[0] * rate
        out[1] = prices[1]

    first, second, floats = np.zeros(2), np.zeros(2), np.zeros(2, np.float32)
    total[1, 1](first)
    prices[:], rate = 10.0, 0.25
    total[1, 1](second)
    total[1, 1](floats)  # another type: compiled now
    assert (first.tolist(), second.tolist(), floats.tolist()) == (
        [1.5, 7.0], [1.5, 7.0], [2.5, 10.0],
    )  # fmt: skip


def test_fastmath_division():
    """With debug=True a zero divisor raises, except of float32 under fastmath."""

    def divide(out, x, y):
        out[0] = x / y

    exact, fast = cuda.jit(debug=True, opt=False), cuda.jit(debug=True, opt=False, fastmath=True)
    one, zero, out = np.float32(1), np.float32(0), np.zeros(1, np.float32)
    with pytest.raises(ZeroDivisionError):
        exact(divide)[1, 1](out, one, zero)
    fast(divide)[1, 1](out, one, zero)
    assert out[0] == np.inf
    with pytest.raises(ZeroDivisionError):
        fast(divide)[1, 1](out, 1.0, 0.0)


def literal_first(x):
    """Has two implementations."""


@overload(literal_first, prefer_literal=True)
def choose(x):
    """Another implementation for the literal 4."""
    if getattr(x, "literal_value", None) == 4:
        return lambda x: x + 1000
    return lambda x: x * 3


def test_overload_for_a_literal():
    """An overload that prefers literals sees those of the source."""

    @cuda.jit
    def kernel(out, x):
        out[0] = literal_first(4)
        out[1] = literal_first(5)
        out[2] = literal_first(x)

    out = np.zeros(3)
    kernel[1, 1](out, 4)
    assert out.tolist() == [1004, 15, 12]


def test_too_many_launch_bounds():
    """A kernel with a signature is refused where it is declared, as in Numba."""

    def empty():
        pass

    with pytest.raises(LaunchRefused, match="Got 4 launch bounds"):
        cuda.jit("void()", launch_bounds=(128, 2, 4, 8))(empty)
