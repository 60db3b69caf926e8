"""Products whose tiles come by asynchronous copies: values, counts, races, machine code."""

import re

import numpy as np
import pytest

from smemnb.compiled import cubin
from smemnb.compiled.machine import count, instructions, main_loop
from smemnb.compiled.usage import read_resources
from smemnb.errors import SmemnbError
from smemnb.kernels.matmul.rungs.matmul_async import matmul_async
from smemnb.kernels.matmul.staged import STAGED
from smemnb.kernels.matmul.variants.staged import matmul_staged_of, shared_bytes
from smemnb.measure.bench.case import plan
from smemnb.measure.bench.contenders import launch
from smemnb.tracing import trace
from tests.compiled.programs import needs_machine_code
from tests.tiers import exhaustive

BY_NAME = {rung.name: rung for rung in STAGED}
SHAPES = ((128, 128, 16), (100, 132, 21), (1, 4, 1), (130, 260, 40), (128, 128, 0))
SIGNATURE = "void(float32[:,::1],float32[:,::1],float32[:,::1],float32,float32)"


def run(rung, rows, cols, depth, order=None):
    random = np.random.default_rng(rows + cols + depth)
    a, b, out = (
        random.integers(-9, 9, shape).astype(np.float32)
        for shape in ((rows, depth), (depth, cols), (rows, cols))
    )
    expected = 2 * (a @ b) + 3 * out
    grid = rung.grid(rows, cols)
    configured = trace(rung.kernel, order=order)[grid, rung.block, 0, rung.shared_bytes]
    found = configured(out, a, b, np.float32(2), np.float32(3))
    np.testing.assert_array_equal(out, expected)
    return found


def wrong(found):
    return [str(one) for one in found.findings if not one.price and "waiver" not in one.kind]


@exhaustive
@pytest.mark.parametrize("name", BY_NAME)
def test_values_and_races(name):
    """A ragged edge in every direction, more rounds than stages."""
    assert wrong(run(BY_NAME[name], 130, 132, 61)) == []


@exhaustive
@pytest.mark.parametrize("name", ["matmul_async", "matmul_staged_5"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape(name, shape):
    """Whole tiles, edges, less than one stage of the depth, none at all."""
    assert wrong(run(BY_NAME[name], *shape)) == []


@exhaustive
@pytest.mark.parametrize("order", ["late", "reversed"])
def test_orders(order):
    """Copies that land as late as they may change nothing."""
    assert wrong(run(BY_NAME["matmul_async"], 128, 128, 40, order)) == []


def test_counts():
    """The counts in the comments, each per request that reads; zeros take those of a store."""
    found = run(BY_NAME["matmul_async"], 128, 128, 32)
    each, read = {}, {}
    for row in found.lines:
        name = re.match(r"(\w+)\(", row.text)[1]
        requests, wavefronts = row.requests, row.wavefronts
        if row.copy and row.space == "global":
            read[name] = requests
        elif row.copy:
            requests = read[name]
            wavefronts -= (row.requests - requests) * {"copy4": 1, "copy16": 4}[name]
        key = name, row.space, row.kind, row.array if name == "load16" else ""
        each.setdefault(key, set()).add((wavefronts / requests, row.sectors / requests))
    assert each == {
        ("copy4", "global", "load", ""): {(0, 4)},
        ("copy4", "shared", "store", ""): {(4, 0)},
        ("copy16", "global", "load", ""): {(0, 16)},
        ("copy16", "shared", "store", ""): {(0, 0)},
        ("load16", "shared", "load", "a_tile"): {(2, 0)},
        ("load16", "shared", "load", "b_tile"): {(4, 0)},
        ("load1", "global", "load", ""): {(0, 16)},
        ("store1", "global", "store", ""): {(0, 16)},
    }


def test_rounds():
    """2 rounds send 2 stages ahead and 2 of zeros: 4 x 8 + 4 x 2 requests of each of 4 warps."""
    found = run(BY_NAME["matmul_async"], 128, 128, 16)
    sent = {(row.text[:6], row.space): row.requests for row in found.lines if row.copy}
    assert sent == {
        ("copy4(", "global"): 4 * 8 * 2,
        ("copy4(", "shared"): 4 * 8 * 4,
        ("copy16", "global"): 4 * 2 * 2,
        ("copy16", "shared"): 4 * 2 * 4,
    }


def test_sizes():
    """Static stages fit into 48 KB, those of dynamic memory say what they ask for."""
    asked = {rung.name: rung.shared_bytes for rung in STAGED if rung.shared_bytes}
    assert asked == {
        "matmul_staged_3_dynamic": 24_960,
        "matmul_staged_6_dynamic": 49_920,
        "matmul_staged_7_dynamic": 58_240,
    }
    assert shared_bytes(5) < 48 * 1024 < shared_bytes(6)
    for stages in (1, 9):
        with pytest.raises(ValueError, match=f"stages={stages}"):
            matmul_staged_of(stages)


def test_bench_entry():
    """`smemnb bench matmul --rungs` knows them, and launches them with their memory."""
    name = "matmul_staged_6_dynamic"
    (case,) = plan(["matmul"], sizes=["256"], rungs=[name, "matmul_fastest"])
    assert case.rungs == ("matmul_fastest", name)
    made = launch(case, name, tuple(np.zeros((256, 256), np.float32) for _ in range(3)))
    assert (made.name, made.grid, made.shared_bytes) == (name, (2, 2), 49_920)
    with pytest.raises(SmemnbError, match="matmul_staged_9"):
        plan(["matmul"], rungs=["matmul_staged_9"])
    (whole,) = plan(["matmul"], sizes=["64"], rungs=["all"])
    assert not set(BY_NAME) & set(whole.rungs)


@needs_machine_code
@pytest.mark.parametrize(
    "kernel, shared, cc",
    [
        (matmul_async, 24_960, (8, 0)),
        (matmul_async, 24_960, (9, 0)),
        (matmul_staged_of(6, dynamic=True), 0, (9, 0)),
    ],
    ids=["3 on 8.0", "3", "6"],
)
def test_compiled(kernel, shared, cc):
    """No spills, two blocks of registers, 10 copies, a commit and a wait in the main loop."""
    elf = cubin(kernel, SIGNATURE, cc)
    needs = read_resources(elf, cc)
    assert needs.registers <= 255 and needs.local_bytes == 0
    assert needs.shared_bytes - needs.shared_bytes % 16 in (shared, shared + 1024)
    code = instructions(elf)
    loop = main_loop(code)
    assert not [one.name for one in code if one.name.startswith(("LDL", "STL"))]
    assert count(loop, "FFMA") == 1024
    assert sum(one.name.startswith("LDGSTS") for one in loop) == 10
    assert [one.name for one in loop if one.name in ("LDGDEPBAR", "DEPBAR.LE")] == [
        "LDGDEPBAR",
        "DEPBAR.LE",
    ]
    assert sum(one.name.startswith(("LDG.", "STS")) for one in loop) == 0
