"""The fast kernels of rows from factories: shapes of lengths, values, waits, machine code."""

import math
from functools import partial

import numpy as np
import pytest
from numba import float32, float64

from smemnb.compiled.machine import count, instructions, nvdisasm
from smemnb.compiled.toolchain import cubin
from smemnb.compiled.usage import read_resources
from smemnb.errors import KernelStopped
from smemnb.hardware import limits
from smemnb.kernels.rows import choosing, ladder
from smemnb.kernels.rows.rungs import softmax_joined
from smemnb.kernels.rows.variants.columns import columns_of, long_columns_of
from smemnb.kernels.rows.variants.parts import trailing_parts_of
from smemnb.kernels.rows.variants.pieces import Form, Shape
from smemnb.kernels.rows.variants.registers import rows_of
from smemnb.lockstep.launch import launch
from smemnb.simulator.seam import OUT_OF_TREE
from smemnb.tracing import trace
from tests.kernels.rows.test_rows_rungs import drawn, softmax
from tests.tiers import exhaustive, sampled

FORMS = [
    Form("softmax"),
    Form("log_softmax"),
    Form("layer_norm", True, True),
    Form("rms_norm", True),
]


def expected(form, x, weight, bias, eps):
    """By float64."""
    wide = x.astype(np.float64)
    if form.is_softmax:
        powers = softmax(x)
        return powers if form.what == "softmax" else np.log(powers)
    if form.what == "layer_norm":
        wide = wide - wide.mean(-1, keepdims=True)
    scaled = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + eps)
    return scaled * (weight if form.weighted else 1) + (bias if form.biased else 0)


@pytest.mark.parametrize(("itemsize", "most"), [(4, 32_768), (8, 16_384)])
def test_shapes_hold_their_rows(itemsize, most):
    """Every length up to that of the largest block fits its shape, which has no room for two."""
    for length in [*range(1, 1200), *range(1200, most, 997), most]:
        wide = length * itemsize % 16 == 0
        shape = choosing.row_shape(length, itemsize, wide)
        if shape is None:
            assert (itemsize, wide) == (8, False) and length > 12 * 1024
            continue
        assert length <= shape.most(itemsize) <= max(2 * length + 2, 4)
        assert shape.threads == max(shape.lanes, choosing.SMALL_BLOCK if shape.lanes <= 32 else 0)
    assert choosing.row_shape(most + 4, itemsize, True) is None


def test_few_kernels():
    """All lengths that a block holds share 75 shapes: each is compiled once, when it is needed."""
    shapes = {
        choosing.row_shape(length, 4, wide)
        for length in range(1, 32_769)
        for wide in (True, False)
        if not (wide and length % 4)
    }
    assert len(shapes) == 75


@pytest.mark.parametrize("itemsize", [4, 8])
def test_columns_hold_their_columns(itemsize):
    """Threads cover their groups; registers hold a column, or it is read twice."""
    for length in (1, 2, 15, 16, 17, 100, 511, 512, 513, 1024, 1025, 9000):
        for inner in (2, 3, 31, 32, 33, 1000):
            threads, chunks, width, lines, groups = choosing.column_shape(length, inner, itemsize)
            assert width * lines * groups <= threads <= 1024
            assert width == min(inner, 32)
            if chunks:
                assert length <= lines * chunks
                assert chunks <= choosing.MOST_HELD[itemsize]


PARTS = Shape(64, 64, 2, True, 2)


def in_parts(form, x, behind, run):
    """What `run(kernel, grid, block, args)` makes of rows in parts of 512; flags are 0 again."""
    (rows, length), parts = x.shape, -(-x.shape[1] // PARTS.most(4))
    weight, bias = drawn(length, 2), drawn(length, 3)
    firsts, seconds = np.zeros((2, rows * parts), np.float32)
    words, out = np.zeros(1 + 2 * rows, np.uint32), np.full_like(x, np.nan)
    numbers = np.uint32(parts), np.uint32(behind), np.float32(1e-3)
    kernel = trailing_parts_of(form, PARTS, float32)
    run(
        kernel,
        (rows + behind) * parts,
        64,
        (out, x, weight, bias, firsts, seconds, words, *numbers),
    )
    assert not words.any()
    wanted = expected(form, x, weight, bias, 1e-3)
    np.testing.assert_allclose(out, wanted, rtol=2e-5, atol=4e-6)
    return out


def traced(kernel, grid, block, args, **order):
    report = trace(kernel, **order)[grid, block](*args)
    assert [found.kind for found in report.findings] == []


@pytest.mark.parametrize(
    ("form", "length"),
    sampled([(form, length) for form in FORMS for length in (1036, 512)], 1),
)
def test_parts(form, length):
    """No race, right values, and the same bits however far behind a row is ended."""
    x = drawn((2, length), 1)
    out = in_parts(form, x, 1, traced)
    np.testing.assert_array_equal(out, in_parts(form, x, 2, partial(traced, order="random")))


def on(resident):
    """Runs a kernel as on a GPU that holds so many blocks at once, without watchers."""

    def run(kernel, grid, block, args):
        function, residents = kernel.py_func, lambda shared_bytes: resident
        launch(function, (grid, 1, 1), (block, 1, 1), args, residents=residents)

    return run


def test_parts_wait_for_begun_blocks_alone():
    """A GPU that holds a single block ends the launch: nobody waits for one that has not begun."""
    x = drawn((2, 1036), 8)
    alone = in_parts(FORMS[0], x, 1, on(1))
    np.testing.assert_array_equal(alone, in_parts(FORMS[0], x, 2, on(2)))
    step = ladder.step_named("softmax_joined")  # whose blocks wait for all parts of their row
    wide = drawn((1, 2 * softmax_joined.PART), 9)
    (joined,) = step.launches(np.zeros, np.zeros_like(wide), wide)
    with pytest.raises(KernelStopped, match="not begun"):
        on(1)(joined.kernel, joined.grid[0], joined.block, joined.args)


@pytest.mark.parametrize(
    ("form", "shape", "length"),
    [
        (FORMS[2], Shape(64, 16, 2, True), 100),
        pytest.param(FORMS[0], Shape(128, 2, 4, False), 7, marks=exhaustive),
        pytest.param(FORMS[1], Shape(64, 64, 16, False), 1001, marks=exhaustive),
        pytest.param(FORMS[3], Shape(128, 128, 4, True), 2000, marks=exhaustive),
    ],
)
def test_rows_are_clean(form, shape, length):
    """No finding, and every element loaded once and stored once."""
    x, weight, bias = drawn((9, length), 4), drawn(length, 5), drawn(length, 6)
    out, eps = np.zeros_like(x), np.float32(1e-3)
    report = trace(rows_of(form, shape, float32))[-(-9 // shape.rows), shape.threads](
        out, x, weight, bias, eps
    )
    assert [found.kind for found in report.findings] == []
    np.testing.assert_allclose(out, expected(form, x, weight, bias, 1e-3), rtol=2e-5, atol=4e-6)


@pytest.mark.parametrize("make", [columns_of, pytest.param(long_columns_of, marks=exhaustive)])
def test_columns_are_clean(make):
    """Threads that belong to no group of lines, the last ones of a block, touch nothing."""
    outer, length, inner, width, lines, groups = 5, 20, 3, 3, 5, 4  # 60 of 64 threads
    x = drawn((outer, length, inner), 7)
    out = np.zeros(x.size, np.float32)
    numbers = [np.uint32(one) for one in (outer, length, inner, width, lines, groups)]
    report = trace(make(Form("softmax"), 64, 4, float32))[2, 64](out, x.ravel(), *numbers)
    assert [found.kind for found in report.findings] == []
    wanted = softmax(x.transpose(0, 2, 1)).transpose(0, 2, 1)
    np.testing.assert_allclose(out.reshape(x.shape), wanted, rtol=3e-6)


def test_rows_of_parts():
    """Blocks of a GPU, and one row more, lie between the two readings; few rows are read first."""
    for rows, parts, processors, late in ((100, 17, 132, 33), (2, 17, 132, 2), (40, 17, 16, 5)):
        x = np.broadcast_to(np.float32(0), (rows, 8192 * parts - 4))
        (made,) = choosing.row_launches(FORMS[0], np.zeros, x, x, None, None, 0.0, processors)
        assert (made.grid, made.args[-2]) == ((rows + late) * parts, late)


@pytest.mark.parametrize("form", FORMS[:2])
def test_rows_of_one(form):
    """A lone element is 1, or 0, and NaN where it is not finite; neighbours are loaded together."""
    x = np.array([3, math.inf, -math.inf, math.nan, -1, *range(2000)], np.float32).reshape(-1, 1)
    out = np.full_like(x, 9)
    (launch,) = choosing.row_launches(form, np.zeros, out, x, None, None, 0.0, 132)
    assert (launch.kernel.__name__, launch.grid) == (f"{form.what}_of_one", 2)
    with np.errstate(invalid="ignore"):
        report = trace(launch.kernel)[launch.grid, launch.block](*launch.args)
        np.testing.assert_array_equal(out, expected(form, x, None, None, 0))
    assert [found.kind for found in report.findings] == []


# --- machine code --------------------------------------------------------------------------------

REGISTERS, CC = 65_536, (9, 0)
compiled = [
    pytest.mark.toolchain,
    pytest.mark.slow,
    pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing"),
    pytest.mark.skipif(nvdisasm() is None, reason="nvdisasm is not installed"),
]
M, V = "float32[:, ::1]", "float32[::1]"
SIGNATURES = {
    "softmax_split": f"void({M}, {M}, {V}, {V})",
    "softmax_joined": f"void({M}, {M}, {V}, {V}, uint32[::1])",
    "softmax_trailing": f"void({M}, {M}, {V}, {V}, uint32[::1], uint32)",
    "layer_norm_wide": f"void({M}, {M}, {V}, {V}, float32)",
    "rms_norm_wide": f"void({M}, {M}, {V}, float32)",
}
WIDE = {
    **dict.fromkeys(("softmax_wide", "softmax_split", "softmax_joined", "log_softmax_wide"), 8),
    "softmax_trailing": 16,
}


def built(kernel, signature):
    elf = cubin(kernel, signature, CC)
    return read_resources(elf, CC), instructions(elf)


@pytest.mark.parametrize(
    "name", [pytest.param(step.name, marks=compiled) for step in ladder.LADDER]
)
def test_rungs_compiled(name):
    """Nothing in local memory, room for the blocks that were promised, loads of 16 bytes."""
    kernel = ladder.step_named(name).kernels[0]
    used, code = built(kernel, SIGNATURES.get(name, f"void({M}, {M})"))
    threads, resident = kernel.targetoptions["launch_bounds"]
    assert used.local_bytes == 0
    assert count(code, "LDL") == count(code, "STL") == 0
    assert -(-used.registers // 8) * 8 * threads * resident <= REGISTERS
    assert count(code, "LDG.128") == {**WIDE, "layer_norm_wide": 24, "rms_norm_wide": 16}.get(
        name, 0
    )


SHAPES = [
    (FORMS[0], Shape(1024, 1024, 8, True), float32),
    (FORMS[2], Shape(1024, 1024, 8, True), float32),
    (FORMS[1], Shape(1024, 1024, 16, False), float32),
    (FORMS[2], Shape(1024, 1024, 8, True), float64),
    (FORMS[0], Shape(64, 64, 4, True), float32),
    (FORMS[3], Shape(128, 2, 4, False), float32),
    (FORMS[2], Shape(512, 512, 4, True, 3), float32),
    (FORMS[0], Shape(512, 512, 8, False, 2), float64),
]


@pytest.mark.parametrize(
    ("form", "wide", "dtype"),
    [
        pytest.param(FORMS[0], True, float32, marks=compiled),
        pytest.param(FORMS[2], False, float32, marks=compiled),
        pytest.param(FORMS[0], True, float64, marks=compiled),
    ],
)
def test_parts_compiled(form, wide, dtype):
    """Parts stay in registers while their block waits for others."""
    size = dtype.bitwidth // 8
    held = choosing.PART_HELD[wide] // (1 if wide or size == 4 else 2)
    threads, resident = choosing.PART_THREADS, choosing.PART_RESIDENT[size]
    shape = Shape(threads, threads, held, wide, resident)
    rows, lines = f"{dtype}[:, ::1]", ", ".join([f"{dtype}[::1]"] * 4)
    used, code = built(
        trailing_parts_of(form, shape, dtype),
        f"void({rows}, {rows}, {lines}, uint32[::1], uint32, uint32, {dtype})",
    )
    assert used.local_bytes == 0
    assert -(-used.registers // 8) * 8 * threads * resident <= REGISTERS
    assert count(code, "LDG.128" if wide else "STG") >= (2 if wide else 1) * held


@pytest.mark.parametrize(
    ("form", "shape", "dtype"), [pytest.param(*case, marks=compiled) for case in SHAPES]
)
def test_shapes_compiled(form, shape, dtype):
    """The largest shapes keep their rows in registers as well."""
    used, code = built(
        rows_of(form, shape, dtype),
        f"void({dtype}[:, ::1], {dtype}[:, ::1], {dtype}[::1], {dtype}[::1], {dtype})",
    )
    assert used.local_bytes == 0
    assert -(-used.registers // 8) * 8 * shape.threads * shape.resident <= REGISTERS
    assert limits(CC).warps_per_sm * 32 >= shape.threads * shape.resident
    loads = shape.chunks * (1 + form.weighted + form.biased)
    assert count(code, "LDG.128" if shape.wide else "LDG") == loads
    assert math.isclose(shape.most(dtype.bitwidth // 8) % shape.lanes, 0)
