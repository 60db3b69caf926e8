"""Prices: each kind in words, with its count, and what must not be reported."""

import math

import numpy as np
import pytest
from numba import complex64, cuda, float32, float64, int64, types
from numba.cuda.random import xoroshiro128p_dtype, xoroshiro128p_uniform_float32

from smemnb.exercises.variants import edited
from smemnb.tracing import trace
from tests.facts import facts


def only(kernel, grid, block, *args, **others):
    """The one finding of a launch."""
    (found,) = trace(kernel)[grid, block](*args, **others).findings
    return found


def zeros(*shape):
    return np.zeros(shape, np.float32)


def ramp(*shape):
    return np.arange(math.prod(shape), dtype=np.float32).reshape(shape)


# sectors


def test_uncoalesced_along_an_axis():
    """Sectors moved and needed, the step, the axis, and that x and y want to be exchanged."""

    @cuda.jit
    def turn(out, inp):
        col, row = cuda.grid(2)
        out[col, row] = inp[row, col]

    found = only(turn, (2, 1), (32, 32), zeros(64, 32), ramp(32, 64))
    assert (found.severity, found.kind, found.count) == ("warning", "uncoalesced", 1792)
    assert found.cause.endswith(
        "stores out[col, row] and moves 2,048 sectors where 256 would hold the bytes: from lane to "
        "lane it goes on by 128 bytes, along axis 0 of out."
    )
    assert found.cure.startswith("Let threadIdx.x walk along axis 1: exchange the roles of x and y")
    assert (found.price, found.unit) == (True, "extra sectors")


def test_parts_of_complex_numbers():
    """Neighbouring complex numbers, a part in each request: its 8 sectors serve both."""

    @cuda.jit
    def product(out, inp):
        i = cuda.grid(1)
        x = inp[i]
        out[i] = x * x

    inp = ramp(64).astype(np.complex64)
    found = trace(product)[1, 64](np.zeros_like(inp), inp).findings
    assert [(one.kind, one.count) for one in found] == [("interleaved", 4 * (8 - 4))] * 2


def test_a_loop_over_what_lies_between():
    """Three channels read in a loop are as three lines: a cache keeps them; stores it does not."""

    @cuda.jit
    def grey(out, image):
        i = cuda.grid(1)
        acc = float32(0)
        for channel in range(3):
            acc += image[i, channel]
        out[i] = acc

    found = only(grey, 1, 64, zeros(64), ramp(64, 3))
    assert (found.severity, found.kind, found.count) == ("note", "interleaved", 3 * 2 * (12 - 4))

    @cuda.jit
    def plane_by_plane(out, image):
        i = cuda.grid(1)
        acc = float32(0)
        for channel in range(3):
            for part in range(3):
                acc += image[64 * part + i, channel]
        out[i] = acc

    found = only(plane_by_plane, 1, 64, zeros(64), ramp(192, 3))
    assert (found.severity, found.kind, found.count) == ("warning", "uncoalesced", 9 * 2 * (12 - 4))

    @cuda.jit
    def coloured(out, grey):
        i = cuda.grid(1)
        value = grey[i]
        for channel in range(3):
            out[i, channel] = value

    found = only(coloured, 1, 64, zeros(64, 3), ramp(64))
    assert (found.severity, found.kind, found.count) == ("warning", "uncoalesced", 3 * 2 * (12 - 4))


def test_lanes_in_pairs():
    """Lanes that go down two rows and then across: the step is that along the row."""

    @cuda.jit
    def pairs(out, inp):
        lane = cuda.threadIdx.x
        out[lane % 2, lane // 2 * 4] = inp[lane]

    found = only(pairs, 1, 32, zeros(2, 64), ramp(32))
    assert (found.kind, found.count) == ("uncoalesced", 16 - 4)
    assert "goes on by 16 bytes" in found.cause


def test_a_loop_along_a_row():
    """Each thread its own row: a sector serves eight executions, but a warp needs 32 at once."""

    @cuda.jit
    def sums(out, inp):
        i = cuda.grid(1)
        acc = float32(0)
        for k in range(64):
            acc += inp[i, k]
        out[i] = acc

    found = only(sums, 1, 64, zeros(64), ramp(64, 64))
    assert (found.kind, found.count) == ("uncoalesced", 64 * 2 * (32 - 4))


def test_uncoalesced_complex_numbers():
    """Every other complex number: half of each sector is for nobody."""

    @cuda.jit
    def even(out, inp):
        i = cuda.grid(1)
        out[i] = inp[2 * i].real

    found = only(even, 1, 64, zeros(64), ramp(128).astype(np.complex64))
    assert (found.kind, found.count) == ("uncoalesced", 4 * (16 - 4))


def test_uncoalesced_with_idle_lanes():
    """Lanes that sit out do not make the walk of the others look as if data drove it."""

    @cuda.jit
    def some(out, points):
        i = cuda.grid(1)
        if i % 32 in (0, 1, 3, 4, 8, 9, 16, 24, 26, 31):
            out[i] = points[16 * i]

    found = only(some, 1, 64, zeros(64), ramp(1024))
    assert (found.kind, found.count) == ("uncoalesced", 2 * (10 - 2))
    assert found.cause.endswith("from lane to lane it goes on by 64 bytes.")


def test_neighbouring_cells_with_idle_lanes():
    """Lanes that touch their own cells, a few of them only, walk as they should."""

    @cuda.jit
    def few(out, inp):
        i = cuda.grid(1)
        if i % 4 == 3:
            out[i] = inp[i]

    inp = np.arange(64, dtype=np.float64)
    assert trace(few)[1, 64](np.zeros(64), inp).findings == ()


def test_uncoalesced_by_fields():
    """A step that is no axis: one array per field."""

    @cuda.jit
    def first(out, points):
        i = cuda.grid(1)
        out[i] = points[4 * i]

    found = only(first, 1, 64, zeros(64), ramp(256))
    assert found.count == 2 * (16 - 4)
    assert found.cause.endswith("from lane to lane it goes on by 16 bytes.")
    assert found.cure.startswith("Let neighbouring lanes take neighbouring elements: one array per")


@cuda.jit
def taken(out, inp):
    i = cuda.grid(1)
    out[i] = inp[i]


@pytest.mark.parametrize("step", [3, -3])
def test_uncoalesced_by_strides(step):
    """A view of every third cell has no axis to walk along: a contiguous copy is the cure."""
    found = only(taken, 1, 128, zeros(128), cuda.to_device(ramp(384))[::step])
    assert (found.kind, found.count) == ("uncoalesced", 4 * (12 - 4))
    assert found.cause.endswith(
        "it goes on by 12 bytes, along axis 0 of inp, where inp has its elements 12 bytes apart."
    )
    assert found.cure.startswith("Pass a contiguous copy of inp:")


def test_uncoalesced_in_fortran_order():
    """The cells of a column are neighbours there, so axis 0 is the one to walk along."""

    @cuda.jit
    def copy(out, inp):
        col, row = cuda.grid(2)
        out[row, col] = inp[row, col]

    found = only(copy, (1, 32), (32, 1), zeros(32, 32), np.asfortranarray(ramp(32, 32)))
    assert (found.kind, found.count) == ("uncoalesced", 32 * (32 - 4))
    assert found.cure.startswith("Let threadIdx.x walk along axis 0: exchange the roles of x and y")


def test_misaligned_by_narrow_blocks():
    """A warp of a block 16 wide takes two rows of 16 bytes: a wider block is the cure."""

    @cuda.jit
    def fill(image):
        x, y = cuda.grid(2)
        image[y, x] = 0

    found = only(fill, (4, 6), (16, 8), np.zeros((48, 64), np.uint8))
    assert (found.kind, found.count) == ("misaligned", 96)
    assert found.cause.endswith(": a warp takes 2 rows of 16 bytes, no multiple of 32.")
    assert found.cure == "Let a warp take one row: a block 32 threads wide."
    wide = trace(fill)[(2, 12), (32, 4)](np.zeros((48, 64), np.uint8))
    assert (wide.findings, wide.global_.extra_sectors) == ((), 0)


@pytest.mark.parametrize("columns", [32, 45])
def test_complex_parts_with_idle_lanes(columns):
    """Where the last warp of a row has idle lanes too, the parts are named as the cause."""

    @cuda.jit
    def copy(out, inp):
        col, row = cuda.grid(2)
        if col < inp.shape[1]:
            out[row, col] = inp[row, col]

    rows = np.zeros((64, columns), np.complex64)
    found = trace(copy)[(2, 8), (32, 8)](rows, rows.copy()).findings
    assert [one.kind for one in found] == ["interleaved"] * 2
    for one in found:
        assert ".real" in one.cure and "per field" not in one.cure


@pytest.mark.parametrize(("step", "expected"), [(1, []), (2, ["uncoalesced"]), (0, []), (-1, [])])
def test_step(step, expected):
    """Twice the sectors is reported; a broadcast and a walk backwards cost nothing."""

    @cuda.jit
    def take(out, inp, step):
        i = cuda.grid(1)
        out[i] = inp[inp.size // 2 + step * i]

    found = trace(take)[1, 32](zeros(32), ramp(128), step).findings
    assert [one.kind for one in found] == expected


def test_a_halo_column_is_no_finding():
    """Few lanes that walk down a column cost few sectors: nothing to tell."""

    @cuda.jit
    def edge(out, inp):
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        if tx == 0:
            out[ty, tx] = inp[ty, tx]

    assert trace(edge)[1, (16, 16)](zeros(16, 16), ramp(16, 16)).findings == ()


def test_rows_of_odd_length_are_not_misaligned():
    """Rows of 35 cells begin inside sectors whatever the work does."""

    @cuda.jit
    def copy(out, inp):
        col, row = cuda.grid(2)
        if row < inp.shape[0] and col < inp.shape[1]:
            out[row, col] = inp[row, col]

    assert trace(copy)[(2, 5), (32, 32)](zeros(160, 35), ramp(160, 35)).findings == ()


def test_a_stencil_is_not_misaligned():
    """The neighbours of a cell are off the edge, but the cell itself is on it."""

    @cuda.jit
    def smooth(out, inp):
        i = cuda.grid(1)
        if 0 < i < inp.size - 1:
            out[i] = inp[i - 1] + inp[i] + inp[i + 1]

    assert trace(smooth)[16, 64](zeros(1024), ramp(1024)).findings == ()


@cuda.jit
def counted_where_the_data_say(out, inp):
    cuda.atomic.add(out, inp[cuda.grid(1)], 1)


def test_scattered_additions_are_no_gather():
    """What lowers their price are counters in shared memory, not a tile of the elements."""
    inp = np.random.default_rng(1).integers(0, 4096, 1024).astype(np.int32)
    found = only(counted_where_the_data_say, 32, 32, np.zeros(4096, np.int32), inp)
    assert found.kind == "scattered"
    assert "gather" not in found.cure and "counters" in found.cure


# float64: what stays float32 was checked in the PTX of sm_90


@cuda.jit
def by_literal(out, inp):
    out[cuda.grid(1)] = inp[cuda.grid(1)] * 0.1


@cuda.jit
def by_exact_literal(out, inp):
    out[cuda.grid(1)] = inp[cuda.grid(1)] * 0.5


@cuda.jit
def by_exact_literal_and_sum(out, inp):
    out[cuda.grid(1)] = inp[cuda.grid(1)] * 0.5 + inp[0]


@cuda.jit
def by_comparison(out, inp):
    if inp[cuda.grid(1)] > 0.0:
        out[cuda.grid(1)] = inp[cuda.grid(1)]


@cuda.jit
def by_maximum(out, inp):
    out[cuda.grid(1)] = max(inp[cuda.grid(1)], 0.0)


@cuda.jit
def by_index(out, inp):
    out[cuda.grid(1)] = inp[cuda.grid(1)] * cuda.threadIdx.x


@cuda.jit
def by_literal_int(out, inp):
    out[cuda.grid(1)] = inp[cuda.grid(1)] / 3


@cuda.jit
def by_literal_int_and_product(out, inp):
    quarter = inp[cuda.grid(1)] / 4
    out[cuda.grid(1)] = quarter * quarter


@cuda.jit
def by_maximum_of_int(out, inp):
    out[cuda.grid(1)] = max(inp[cuda.grid(1)], 0)


@cuda.jit
def by_call(out, inp):
    out[cuda.grid(1)] = inp[cuda.grid(1)] * abs(cuda.threadIdx.x - 7)


@cuda.jit
def by_square(out, inp):
    out[cuda.grid(1)] = inp[0] ** 2


@cuda.jit
def by_quotient(out, inp):
    out[cuda.grid(1)] = cuda.threadIdx.x / cuda.blockDim.x


@cuda.jit
def by_start(out, inp):
    acc = 0.0
    for k in range(10):
        acc += inp[k]
    out[cuda.grid(1)] = acc


@cuda.jit
def by_start_of_two(out, inp):
    first, acc = 0, 0.0
    for k in range(first, 10):
        acc += inp[k]
    out[cuda.grid(1)] = acc


@cuda.jit
def by_start_of_int(out, inp):
    acc = 0
    for k in range(10):
        acc += inp[k]
    out[cuda.grid(1)] = acc


@cuda.jit
def by_name(out, inp):
    acc = float64(0)
    for k in range(10):
        acc += inp[k]
    out[cuda.grid(1)] = acc


@pytest.mark.first(5)
@pytest.mark.parametrize(
    ("kernel", "count", "text"),
    [
        (by_literal, 1, "inp[cuda.grid(1)] * 0.1"),
        (by_exact_literal, 0, ""),
        (by_exact_literal_and_sum, 2, "inp[cuda.grid(1)] * 0.5"),
        (by_comparison, 0, ""),
        (by_maximum, 1, "max(inp[cuda.grid(1)], 0.0)"),
        (by_index, 1, "inp[cuda.grid(1)] * cuda.threadIdx.x"),
        (by_literal_int, 0, ""),
        (by_literal_int_and_product, 1, "inp[cuda.grid(1)] / 4"),
        (by_maximum_of_int, 1, "max(inp[cuda.grid(1)], 0)"),
        (by_call, 1, "inp[cuda.grid(1)] * abs(cuda.threadIdx.x - 7)"),
        (by_square, 0, ""),
        (by_quotient, 1, "cuda.threadIdx.x / cuda.blockDim.x"),
        (by_start, 1, "acc + inp[k]"),
        (by_start_of_two, 1, "acc + inp[k]"),
        (by_start_of_int, 1, "acc + inp[k]"),
        (by_name, 0, ""),
    ],
)
def test_float64(kernel, count, text):
    """Operations that the compiled kernel does in float64, and none that it does in float32."""
    found = trace(kernel)[1, 32](zeros(32), ramp(32)).findings
    assert sum(one.count for one in found) == count
    assert all(one.kind == "float64_arithmetic" for one in found)
    if count:
        assert f"computes {text} in float64" in found[0].cause


def test_float64_names_the_cure():
    """The start of the sum is named, not the sum."""
    found = only(by_start, 1, 32, zeros(32), ramp(32))
    assert found.cause.endswith("as acc = 0.0 makes acc float64; the arrays are float32.")
    assert found.cure.startswith("Write acc = float32(0.0) for acc = 0.0:")


SCALE = 0.1


@cuda.jit
def by_brackets(out, inp):
    i = cuda.grid(1)
    out[i] = inp[i] * (i + 1 - i % 3) / -((i & 3) ** 2)


@cuda.jit
def by_indices(out, inp):
    i = cuda.grid(1)
    pair = inp[i], i * 2
    out[i] = pair[1] * math.sqrt(pair[0])


@cuda.jit
def by_constant(out, inp):
    out[cuda.grid(1)] = SCALE * inp[cuda.grid(1)]


@cuda.jit
def by_constant_of_a_module(out, inp):
    i = cuda.grid(1)
    if inp[i] < math.inf:
        out[i] = math.pi * i


@pytest.mark.parametrize(
    ("kernel", "site", "why"),
    [
        (
            by_brackets,
            "inp[i] * (i + 1 - i % 3)",
            "i + 1 - i % 3 is int64 and -(i & 3) ** 2 is int64",
        ),
        (by_indices, "pair[1] * math.sqrt(pair[0])", "pair[1] is int64"),
        (by_constant_of_a_module, "math.pi * i", "the constant math.pi is float64 and i is int64"),
        (by_constant, "SCALE * inp[cuda.grid(1)]", "the constant SCALE is float64"),
    ],
)
def test_float64_in_the_words_of_the_source(kernel, site, why):
    """What has no name in the source is spelt out, with the brackets that it needs, once."""
    cause = only(kernel, 1, 32, zeros(32), ramp(32)).cause
    before, _, after = cause.partition(" in float64, as ")
    assert before.partition(" computes ")[2] == site
    assert after == f"{why}; the arrays are float32."


LOWEST = -np.inf
LOWEST_OF_NUMPY = np.float64(-np.inf)
SHORT = np.float32(-np.inf)


@cuda.jit
def by_negative_infinity(out, inp):
    top = -np.inf
    for k in range(10):
        top = max(top, inp[k])
    out[cuda.grid(1)] = top


def begins_with(start):
    """The kernel above with another start."""
    return edited(by_negative_infinity, {"top = -np.inf": f"top = {start}"})


@pytest.mark.parametrize(
    "start",
    [
        *("-np.inf", "-math.inf", "+math.inf", "np.nan", "-np.pi", "2 * math.pi", "math.sqrt(2)"),
        *("float('-inf')", "-LOWEST", "LOWEST_OF_NUMPY", "0 - np.inf"),
    ],
)
def test_float64_by_a_constant_of_whatever_kind(start):
    """Attributes of modules, globals, and what is worked out from them, in the source's words."""
    found = only(begins_with(start), 1, 32, zeros(32), ramp(32))
    assert (found.kind, found.count) == ("float64_arithmetic", 1)
    assert f"as top = {start} makes top float64" in found.cause
    assert f"Write top = float32({start}) for" in found.cure


@pytest.mark.toolchain
@pytest.mark.parametrize(("start", "double"), [("-np.inf", True), ("float32(-np.inf)", False)])
def test_float64_by_infinity_in_ptx(start, double):
    """The compiler does with it what the finding says."""
    kinds = types.float32[:], types.float32[:]
    ptx, _ = cuda.compile_ptx(begins_with(start).py_func, kinds, cc=(9, 0))
    assert ("max.f64" in ptx) == double


@pytest.mark.parametrize(
    "start",
    [
        *("float32(-np.inf)", "-float32(math.inf)", "np.float32(-math.inf)", "SHORT", "-SHORT"),
        *("float32(2 * np.pi)", "float32(float('-inf'))", "inp[0]"),
    ],
)
def test_a_constant_that_is_cast_at_once(start):
    """No double is left to compute with."""
    assert trace(begins_with(start))[1, 32](zeros(32), ramp(32)).findings == ()


@pytest.mark.parametrize(
    ("start", "why", "cure"),
    [
        ("-np.inf if inp.size else 0", "-np.inf makes top", "float32(-np.inf) for -np.inf"),
        ("float(inp.size)", "top = float(inp.size) makes top", "top = float32(inp.size) for top"),
        ("float(0)", "top = float(0) makes top", "top = float32(0) for top"),
    ],
)
def test_float64_by_a_choice_and_by_pythons_float(start, why, cure):
    """Both sides of a choice are looked at; Python's float is the double of C."""
    found = only(begins_with(start), 1, 32, zeros(32), ramp(32))
    assert f"as {why} float64" in found.cause
    assert f"Write {cure}" in found.cure


def test_what_is_worked_out_does_nothing_else(capsys):
    """A constant that is printed is printed by the launch alone."""
    printed = edited(by_literal, {"out[": "print(2.5)\nout[cuda.grid(1)] = inp[cuda.grid(1)]"})
    assert trace(printed)[1, 1](zeros(1), ramp(1)).findings == ()
    assert capsys.readouterr().out.split() == ["2.500000"]


def test_constants_alone_are_no_operation():
    """The compiler works them out: what is stored was never computed."""
    stored = edited(by_literal, {"out[": "out[cuda.grid(1)] = 2 * math.pi"})
    assert trace(stored)[1, 32](zeros(32), ramp(32)).findings == ()


@cuda.jit
def orbit(out, inp):
    i = cuda.grid(1)
    z = 0j
    c = complex(0.1, 0.2)
    n = 0
    while n < 3:
        z = z * z + c
        square = z.real * z.real + z.imag * z.imag
        if square > 16.0:
            break
        n += 1
    out[i] = square


@cuda.jit
def orbit_in_complex64(out, inp):
    i = cuda.grid(1)
    z = complex64(0j)
    c = complex64(complex(0.1, 0.2))
    n = 0
    while n < 3:
        z = z * z + c
        square = z.real * z.real + z.imag * z.imag
        if square > 16.0:
            break
        n += 1
    out[i] = square


def test_float64_of_complex_numbers():
    """The start and the constant are named; the literal 16.0 beside a float64 is no cause."""
    first = orbit.py_func.__code__.co_firstlineno
    start = "z = 0j makes z complex128"
    found = trace(orbit)[1, 32](zeros(32), ramp(32)).findings
    assert [(one.kind, one.line - first, one.count) for one in found] == [
        ("float64_arithmetic", 7, 2),  # product and sum
        ("float64_arithmetic", 8, 3),  # two products and their sum
    ]
    assert [one.cause.partition(", as ")[2] for one in found] == [
        f"{start} and c = complex(0.1, 0.2) makes c complex128; the arrays are float32.",
        f"{start}; the arrays are float32.",
    ]
    assert found[0].cure.startswith(
        "Write z = complex64(0j) for z = 0j and "
        "c = complex64(complex(0.1, 0.2)) for c = complex(0.1, 0.2):"
    )


def test_the_cure_of_complex_numbers_is_one():
    """As the finding asks for it, nothing is left in float64."""
    assert trace(orbit_in_complex64)[1, 32](zeros(32), ramp(32)).findings == ()


@cuda.jit
def by_function_of_double(out, inp, step):
    i = cuda.grid(1)
    place = step * i
    out[i] = 0.5 * math.log(place)


def test_a_literal_beside_a_float64_is_no_cause():
    """The argument is, with the integer beside it, which would make a float32 float64 again."""
    found = only(by_function_of_double, 1, 32, zeros(32), ramp(32), 0.25)
    assert found.cause.partition(", as ")[2] == (
        "the argument step is float64 and i is int64; the arrays are float32."
    )
    assert found.line == by_function_of_double.py_func.__code__.co_firstlineno + 3


@cuda.jit
def by_random(out, states):
    i = cuda.grid(1)
    out[i] = 0.1 * xoroshiro128p_uniform_float32(states, i)


def test_float64_in_numbas_own_functions():
    """That cuda.random computes in float64 does not say that the kernel wants to."""
    states = np.zeros(32, xoroshiro128p_dtype)
    found = trace(by_random)[1, 32](zeros(32), states).findings[0]
    assert (found.kind, found.count) == ("float64_arithmetic", 1)
    assert "the literal 0.1 is float64" in found.cause


def width(a, b):
    w = max(a - b + 1, 0.0)
    half = 0.1
    return w * half


@pytest.mark.parametrize("inline", [False, True, "always"])
def test_float64_in_an_inlined_function(inline):
    """Each line is found once, where it is written and with its own names."""
    device = cuda.jit(device=True, inline=inline)(width)

    @cuda.jit
    def kernel(out, inp):
        i = cuda.grid(1)
        if i < out.shape[0]:
            out[i] = device(inp[i + 1], inp[i])

    found = trace(kernel)[1, 32](zeros(32), ramp(33)).findings
    first = width.__code__.co_firstlineno
    assert [(one.function, one.line, one.count) for one in found] == [
        ("width", first + 1, 2),
        ("width", first + 3, 1),
    ]
    assert "w * half" in found[1].cause and "_v" not in found[0].cause + found[1].cause


def test_float64_kernel_is_left_alone():
    """An array of float64 that takes results says that float64 is meant."""
    args = zeros(32).astype(np.float64), ramp(32).astype(np.float64)
    found = trace(by_literal)[1, 32](*args).findings
    assert found == ()


# shared memory


def test_occupancy():
    """48 KB a block: 4 blocks of 2 warps on an SM of cc 9.0; the tile's line is named."""

    @cuda.jit
    def big(out, inp):
        tile = cuda.shared.array(12288, float32)
        tx = cuda.threadIdx.x
        tile[tx] = inp[cuda.grid(1)]
        cuda.syncthreads()
        out[cuda.grid(1)] = tile[tx ^ 1]

    found = only(big, 2, 64, zeros(128), ramp(128))
    assert (found.kind, found.severity, found.count) == ("shared_occupancy", "note", 49152)
    assert facts(found.cause) == facts(f"49,152 {found.line} 4 9.0 233,472 8 64")
    assert trace(big)[1, 64](zeros(64), ramp(64)).findings == ()  # one block needs no company


@cuda.jit
def name_assigned_anew(out, inp):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    tile = inp[tx]
    out[tx] = tile


@cuda.jit
def declared_twice(out, inp):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    tile = cuda.shared.array((32,), float32)
    tile[tx] = inp[tx]
    out[tx] = tile[tx]


def test_a_name_assigned_anew():
    """A shared array whose name goes to a number: the line that takes it, and how to store."""
    arrays = np.zeros(32, np.float32), np.ones(32, np.float32)
    (found,) = trace(name_assigned_anew)[1, 32](*arrays).findings
    assert (found.kind, found.count, found.source) == (
        "unused_shared",
        128,
        "tile = cuda.shared.array(32, float32)",
    )
    assert f"line {found.line + 2} " in found.cause
    assert found.cure.endswith(f"tile[...] = ... in line {found.line + 2}.")
    found = trace(declared_twice)[1, 32](*arrays).findings[0]  # its second one is an array, too
    assert (found.kind, "name" in found.cause) == ("unused_shared", False)


def test_half_of_the_warps_is_enough():
    """Shared memory that leaves half of the warps is not reported."""

    @cuda.jit
    def tiled(out, inp):
        tile = cuda.shared.array(12288, float32)
        tx = cuda.threadIdx.x
        tile[tx] = inp[cuda.grid(1)]
        cuda.syncthreads()
        out[cuda.grid(1)] = tile[tx ^ 1]

    assert trace(tiled)[2, 256](zeros(512), ramp(512)).findings == ()


# index arithmetic


@pytest.mark.parametrize(
    ("width", "count", "first"), [(1 << 25, 0, ""), (1 << 26, 32, "2147483648")]
)
def test_cast_of_an_index(width, count, first):
    """int32(row * width) is reported from the first row whose product does not fit."""

    @cuda.jit
    def place(out, width):
        i = np.int32(cuda.threadIdx.x * width)
        if 0 <= i < out.size:
            out[i] = 1

    found = trace(place)[1, 64](zeros(64), int64(width)).findings
    assert sum(one.count for one in found) == count
    if count:
        assert found[0].severity == "error"
        assert found[0].cause.endswith(
            f"for an index: {first} does not fit and becomes -2147483648 (thread 32, warp 1)."
        )


def test_numba_computes_int32_in_64_bits():
    """A product of two int32 does not wrap in Numba, so nothing is reported."""

    @cuda.jit
    def place(out, row, width):
        i = row * width
        if i < out.size:
            out[i] = 1

    assert trace(place)[1, 32](zeros(32), np.int32(1 << 20), np.int32(1 << 20)).findings == ()
