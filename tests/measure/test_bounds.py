"""Bounds: counts against the trace and by hand, ladders against full traces and readings."""

import json
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda, float32

import smemnb
from smemnb.compiled.machine import read_listing
from smemnb.errors import LaunchRefused, SmemnbError
from smemnb.hardware import CHIPS, chip
from smemnb.kernels.matmul import ladder as products
from smemnb.kernels.matmul import matmul_naive, matmul_tiled
from smemnb.kernels.transpose import ladder as transposes
from smemnb.kernels.transpose import transpose_padded, transpose_tiled
from smemnb.measure.bounds import bound_of, bound_of_rung, chip_of_device, rungs, table
from smemnb.measure.bounds.__main__ import main
from smemnb.measure.bounds.counts import Counts, counts
from smemnb.measure.bounds.ladders import work_of_rung
from smemnb.measure.bounds.launches import work_of
from smemnb.measure.bounds.machine_code import MachineCode, machine_code, shortest_way
from smemnb.simulator.seam import OUT_OF_TREE
from smemnb.tracing import trace

H200 = chip("H200")


def floats(*shape):
    return np.random.default_rng(len(shape) + shape[0]).random(shape, np.float32)


def matrices(rows, cols, depth):
    return np.zeros((rows, cols), np.float32), floats(rows, depth), floats(depth, cols)


@pytest.mark.parametrize(
    "kernel, launch, args",
    [
        (transpose_tiled, ((3, 2), (32, 32)), (np.zeros((90, 50), np.float32), floats(50, 90))),
        (transpose_padded, ((3, 2), (32, 32)), (np.zeros((90, 50), np.float32), floats(50, 90))),
        (matmul_naive, ((3, 2), (16, 16)), matrices(20, 40, 24)),
        (matmul_tiled, ((3, 2), (16, 16)), matrices(20, 40, 24)),
    ],
    ids=["tiled", "padded", "naive", "matmul_tiled"],
)
def test_counts_equal_the_trace(kernel, launch, args):
    """Requests, wavefronts and sectors, edges included."""
    found = counts(kernel, launch, args)
    seen = trace(kernel)[launch](*args)
    assert found.loads + found.stores == seen.shared.requests
    assert found.load_wavefronts + found.store_wavefronts == seen.shared.wavefronts
    assert found.global_loads + found.global_stores == seen.global_.requests
    stores = [row for row in seen.lines if (row.space, row.kind) == ("global", "store")]
    assert found.store_sectors == sum(row.sectors for row in stores)
    assert found.shared_bytes == seen.launch.static_shared_bytes
    assert (found.blocks, found.watched) == (6, 6)


def test_distinct_bytes():
    """Each matrix once, whatever is loaded again; a block its own rows and columns, the least one
    4 rows of a and 8 columns of b."""
    found = counts(matmul_naive, ((3, 2), (16, 16)), matrices(20, 40, 24))
    assert found.loaded_bytes == (20 * 24 + 24 * 40) * 4
    assert found.stored_bytes == 20 * 40 * 4
    assert found.block_loads == (4 * 24 + 24 * 8) * 4


@cuda.jit
def passes_of_strides(out, inp, stride):
    """One request with a stride of so many words, one store of neighbours."""
    out[cuda.threadIdx.x] = inp[cuda.threadIdx.x * stride]


@pytest.mark.parametrize(
    "stride, passes", [(0, 1), (1, 1), (2, 2), (32, 32), (33, 8), (4, 4), (8, 8), (31, 8)]
)
def test_passes_of_l1(stride, passes):
    """Bank rule or a quarter of the lines: 33 words apart is no bank twice but 32 lines."""
    inp = floats(40 * 32)
    found = counts(passes_of_strides, (1, 32), (np.zeros(32, np.float32), inp, stride))
    assert found.passes == passes + 1


@cuda.jit
def reads_of_a_tile(out, along):
    """Each lane reads 8 words: the first ones those of a row of 8, the others those of a column."""
    tile = cuda.shared.array(256, float32)
    tx = cuda.threadIdx.x
    for k in range(8):
        tile[tx + 32 * k] = k
    cuda.syncthreads()
    acc = float32(0)
    for k in range(8):
        at = tx * 8 + k if tx < along else 8 * along + (tx - along) + (32 - along) * k
        acc += tile[at]
    out[tx] = acc


@pytest.mark.parametrize(
    "along, wavefronts, merged_loads, merged",
    [
        (32, 8 * 8, 2, 16),  # two loads of 16 bytes, 8 wavefronts each
        (0, 8, 8, 8),
        (16, 8 * 5, 8, 8 * 5),  # not all lanes have neighbours: nothing can be merged
    ],
)
def test_loads_that_can_be_merged(along, wavefronts, merged_loads, merged):
    """Rows of 8 words put 8 of them in a bank; 16 such lanes 4, and the column's a fifth."""
    found = counts(reads_of_a_tile, (1, 32), (np.zeros(32, np.float32), along))
    assert (found.loads, found.load_wavefronts) == (8, wavefronts)
    assert (found.merged_loads, found.merged_wavefronts) == (merged_loads, merged)
    assert (found.stores, found.store_wavefronts) == (8, 8)


def test_broadcasts_that_can_be_merged():
    """16 reads of a's tile become 4 of two wavefronts each, those of b's column stay 16."""
    found = counts(matmul_tiled, ((1, 1), (16, 16)), matrices(16, 16, 16))
    assert (found.loads, found.load_wavefronts) == (8 * 32, 8 * 32)
    assert (found.merged_loads, found.merged_wavefronts) == (8 * (4 + 16), 8 * (8 + 16))


def test_some_blocks_stand_for_all():
    """Requests are scaled; distinct bytes are those that were seen; the bound says estimate."""
    args = np.zeros((128, 96), np.float32), floats(96, 128)
    whole = counts(transpose_tiled, ((4, 3), (32, 32)), args)
    args[0][:] = 0
    some = counts(transpose_tiled, ((4, 3), (32, 32)), args, blocks=[(0, 0), (3, 2)])
    assert np.count_nonzero(args[0]) == 2 * 1024  # the others did not run
    assert (some.watched, some.blocks) == (2, 12)
    assert (some.loads, some.load_wavefronts, some.passes) == (
        whole.loads,
        whole.load_wavefronts,
        whole.passes,
    )
    assert (some.loaded_bytes, whole.loaded_bytes) == (2 * 4096, 12 * 4096)
    found = bound_of(
        transpose_tiled, ((4, 3), (32, 32)), args, H200, blocks="edges", compiled=False
    )
    assert "an estimate" in repr(found)


def test_any_launch():
    """By hand: 12 blocks, each 32 warps that store 1 and load 32 wavefronts and pass L1 twice."""
    args = np.zeros((128, 96), np.float32), floats(96, 128)
    found = bound_of(transpose_tiled, ((4, 3), (32, 32)), args, H200, compiled=False)
    assert found.limiter == "shared"
    assert found.seconds == pytest.approx(12 * 32 * (33 + 2) / 12 / 1.98e9)
    assert (found.work.resident, found.work.source_counts) == (2, True)
    naive = bound_of(matmul_naive, ((3, 2), (16, 16)), matrices(20, 40, 24), H200, fma=20 * 40 * 24)
    assert naive.of("fma").amount == 19200


def test_a_block_that_no_sm_holds_is_refused():
    code = MachineCode(registers=128, shared_bytes=0)
    with pytest.raises(
        LaunchRefused, match="an SM of a T4 holds no block of 1024 threads with 128"
    ):
        work_of("wide", Counts(blocks=1, watched=1), (32, 32), chip("T4"), 0, code)


SUMS = ("global_passes", "wavefronts", "store_sectors", "instructions", "fma", "blocks", "resident")


def full_work(rung, shape, itemsize=4):
    """The work of a launch that was run whole."""
    rows, cols, *deep = shape
    if deep:
        arrays = matrices(rows, cols, deep[0])
        arrays += (np.float32(1), np.float32(0)) if rung.scaled else ()
    else:
        out = (rows, cols) if rung is transposes.COPY else (cols, rows)
        arrays = np.zeros(out, np.float32), floats(rows, cols)
    seen = counts(rung.kernel, (rung.grid(rows, cols), rung.block), arrays)
    return work_of("full", seen, rung.block, H200, np.prod(shape) if deep else 0, None)


@pytest.mark.first(4)
@pytest.mark.parametrize(
    "rung",
    [
        pytest.param(rung, id=rung.name, marks=pytest.mark.slow if "wide" in rung.name else ())
        for rung in (transposes.COPY, *transposes.LADDER)
    ],
)
def test_transposes_scale(rung):
    """One block times the number of blocks is the whole launch."""
    shape = (128, 256)
    scaled, full = work_of_rung(rung.name, shape, 4, H200, compiled=False), full_work(rung, shape)
    assert [getattr(scaled, name) for name in SUMS] == [getattr(full, name) for name in SUMS]
    assert (scaled.loaded_bytes, scaled.stored_bytes) == (full.loaded_bytes, full.stored_bytes)
    assert scaled.block_loads == full.block_loads == np.prod(rung.tile) * 4
    assert scaled.alike


@pytest.mark.parametrize(
    "rung",
    [
        pytest.param(rung, id=rung.name, marks=pytest.mark.exhaustive if rung.scaled else ())
        for rung in products.LADDER
        if not rung.depth or rung.name in ("matmul_unguarded", "matmul_wide", "matmul_fastest")
    ],
)
def test_products_scale(rung):
    """Two depths of one block tell a third, times the number of blocks."""
    rows, cols = rung.tile
    shape = (rows, 2 * cols, 128)
    scaled, full = work_of_rung(rung.name, shape, 4, H200, compiled=False), full_work(rung, shape)
    assert [getattr(scaled, name) for name in SUMS] == [getattr(full, name) for name in SUMS]
    assert (scaled.loaded_bytes, scaled.stored_bytes) == (full.loaded_bytes, full.stored_bytes)
    assert scaled.block_loads == full.block_loads == (rows + cols) * 128 * 4


@pytest.mark.parametrize(
    "name, shape", [("transpose_padded", (70, 100)), ("matmul_tiled", (40, 70, 45))]
)
def test_edges_only_lower_a_bound(name, shape):
    """For ragged shapes whole tiles alone are counted, all multiply-adds and all bytes."""
    ladder = transposes.LADDER if len(shape) == 2 else products.LADDER
    (rung,) = [one for one in ladder if one.name == name]
    ragged, full = work_of_rung(name, shape, 4, H200, compiled=False), full_work(rung, shape)
    assert not ragged.alike
    assert (ragged.blocks, ragged.fma) == (full.blocks, full.fma)
    assert 0 < ragged.wavefronts < full.wavefronts
    assert 0 < ragged.global_passes < full.global_passes
    assert ragged.loaded_bytes <= full.loaded_bytes


@pytest.mark.parametrize(
    "itemsize", [*(pytest.param(size, marks=pytest.mark.slow) for size in (1, 2, 8)), 4, 16]
)
def test_the_choice_of_a_transpose(itemsize):
    """Every element moves once each way; DRAM limits, in proportion to its bytes."""
    found = bound_of_rung("fastest", (16384, 8192), itemsize, H200, compiled=False)
    assert found.limiter == "dram"
    assert found.seconds == pytest.approx(2 * 16384 * 8192 * itemsize / 4.8e12)


def test_the_copy_keeps_the_shape():
    """10 rows of 256: 3 blocks of 4 rows; no transpose of that shape has aligned rows."""
    found = bound_of_rung("copy_wide", (10, 256), 4, H200, compiled=False)
    assert (found.work.blocks, found.work.alike) == (3, False)
    assert found.work.global_passes == 2 * 8 * 2 * 4  # 2 whole blocks, 8 warps, 4 passes each way


@pytest.mark.first(1)
@pytest.mark.slow
@pytest.mark.parametrize("shape", [(4096, 4096, 4096), (4095, 4097, 4099), (1024, 1024, 1024)])
def test_the_choice_of_a_product(shape):
    found = bound_of_rung("fastest", shape, 4, H200, compiled=False)
    assert found.of("fma").amount == np.prod(shape)
    assert found.of("fma").seconds >= np.prod(shape) / (H200.flop_per_s / 2)


@pytest.mark.parametrize(
    "name, shape, itemsize, words",
    [
        ("transpose_fast", (64, 64), 4, "no rung 'transpose_fast' for 2 extents; there are copy"),
        ("matmul_naive", (64, 64), 4, "no rung 'matmul_naive' for 2 extents"),
        ("transpose_padded", (64, 64), 8, "moves 4 bytes per element.* ask for 'fastest'"),
        ("transpose_wide", (64, 63), 4, "multiples of 4 elements"),
        ("fastest", (64,), 4, "a transpose has rows and columns"),
        ("fastest", (64, 0), 4, "all of them 1 or more"),
        ("fastest", (64, 64), 3, "elements have 1, 2, 4, 8 or 16 bytes"),
    ],
)
def test_what_is_no_rung_is_refused(name, shape, itemsize, words):
    with pytest.raises(SmemnbError, match=words):
        bound_of_rung(name, shape, itemsize, H200)


LISTING = """
.text.kernel:
        /*0000*/ S2R R0, SR_TID.X ;
        /*0010*/ ISETP.GE.AND P0, PT, R0, 0x5, PT ;
        /*0020*/ @P0 BRA `(.L_2) ;
        /*0030*/ LDG.E R2, desc[UR4][R2.64] ;
        /*0040*/ IADD3 R4, R4, 0x1, RZ ;
        /*0050*/ STS [R9], R2 ;
.L_2:
        /*0060*/ BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0070*/ @P1 EXIT ;
        /*0080*/ LDS R3, [R9] ;
        /*0090*/ STG.E desc[UR4][R6.64], R3 ;
        /*00a0*/ @P2 BRA `(.L_2) ;
        /*00b0*/ EXIT ;
.L_3:
        /*00c0*/ BRA `(.L_3) ;
"""


@pytest.mark.parametrize(
    "loads, stores, steps",
    [
        (0, 0, 5),  # to L_2, and out at once
        (1, 0, 8),
        (0, 1, 9),
        (1, 1, 12),
        (1, 3, 22),  # two more rounds of 5
        (2, 1, None),
        (0, 33, None),  # too many to search
    ],
)
def test_shortest_way(loads, stores, steps):
    assert shortest_way(read_listing(LISTING), loads, stores) == steps


def test_a_guarded_request_may_be_nobodys():
    code = read_listing(LISTING.replace("LDG", "@P3 LDG"))
    assert (shortest_way(code, 0, 1), shortest_way(code, 1, 1)) == (9, 12)
    code = read_listing(LISTING.replace("@P0 BRA `(.L_2)", "NOP").replace("LDG", "@P3 LDG"))
    assert shortest_way(code, 0, 1) == 12


def test_instructions_of_a_loop():
    """A loop of 6 instructions, 2 of them multiply-adds and 2 loads: 3 per multiply-add."""
    code = read_listing(
        ".L_1:\n /*0000*/ LDS R1, [R0] ;\n /*0010*/ LDS.128 R4, [R0] ;\n"
        " /*0020*/ FFMA R8, R4, R1, R8 ;\n /*0030*/ FFMA R9, R5, R1, R9 ;\n"
        " /*0040*/ IADD3 R0, R0, 0x10, RZ ;\n /*0050*/ @P0 BRA `(.L_1) ;\n /*0060*/ EXIT ;\n"
    )
    found = MachineCode(20, 0, tuple(code), tuple(code[:6]))
    assert (found.loop_fma, found.instructions(100), found.loads(100)) == (2, 300, 100)
    none = MachineCode(20, 0, tuple(code))
    assert (none.instructions(100), none.loads(100)) == (0, None)


LOOP = tuple(
    read_listing(
        ".L_1:\n" + " /*0000*/ LDS R1, [R0] ;\n" * 4 + " /*0040*/ FFMA R8, R4, R1, R8 ;\n"
        " /*0050*/ @P0 BRA `(.L_1) ;\n"
    )
)


@pytest.mark.parametrize(
    "loads, wavefronts",
    [
        (400, 2 * 400 + 50),  # as many as in the loop: none are merged, each counts as it stands
        (401, 2 * 401 + 50),  # the count of the loop was rounded down
        (500, 300 + 50),
    ],
)
def test_merged_loads_are_told_by_the_machine_code(loads, wavefronts):
    seen = Counts(
        blocks=1,
        watched=1,
        loads=loads,
        load_wavefronts=2 * loads,
        merged_loads=200,
        merged_wavefronts=300,
        store_wavefronts=50,
    )
    code = MachineCode(32, 0, LOOP, LOOP)
    work = work_of("w", seen, 64, H200, 100 * 32, code)
    assert (work.wavefronts, work.instructions, work.source_counts) == (wavefronts, 600, False)
    for nothing in (None, MachineCode(32, 0)):
        work = work_of("w", seen, 64, H200, 100 * 32, nothing)
        assert (work.wavefronts, work.source_counts) == (350, True)


ATTRIBUTES = {
    "compute_capability": (9, 0),
    "MULTIPROCESSOR_COUNT": 114,
    "CLOCK_RATE": 1_755_000,
    "MEMORY_CLOCK_RATE": 1_593_000,
    "GLOBAL_MEMORY_BUS_WIDTH": 5120,
    "L2_CACHE_SIZE": 52_428_800,
}


def test_chip_of_an_unknown_device():
    """An H100 PCIe: 2.04 TB/s and 51 TFLOP/s, as its data sheet says."""
    found = chip_of_device(SimpleNamespace(name=b"NVIDIA H100 PCIe", **ATTRIBUTES))
    assert (found.name, found.cc, found.sms) == ("NVIDIA H100 PCIe", (9, 0), 114)
    assert found.dram_bytes_per_s == pytest.approx(2.039e12, rel=1e-3)
    assert found.flop_per_s == pytest.approx(51e12, rel=0.01)
    assert found.l2_bytes == 50 * 1024 * 1024


def test_chip_of_a_known_device():
    """Its own figures, but the clock that the device allows."""
    found = chip_of_device(SimpleNamespace(name="NVIDIA H200", **ATTRIBUTES))
    assert found == replace(CHIPS["H200"], boost_mhz=1755)


def test_without_a_gpu_a_chip_is_to_be_named():
    with pytest.raises(SmemnbError, match="no GPU.* --chip H200"):
        chip_of_device()


def test_unknown_compute_capabilities_are_refused():
    other = ATTRIBUTES | {"compute_capability": (6, 1)}
    with pytest.raises(ValueError, match="not in the table"):
        chip_of_device(SimpleNamespace(name="Tesla P4", **other))


SHIPPED = Path(smemnb.__file__).parent / "measure" / "recorded" / "h200_bench.json"
READ = sorted(
    (rung, shape, ms / 1e3)
    for (rung, shape), ms in table.readings(SHIPPED).items()
    if shape in table.SHAPES.values() and rung in {name for _, name in rungs()}
)
LONG = {rung for _, rung in rungs() if rung.startswith("matmul_")} - {
    "matmul_scattered",
    "matmul_naive",
    "matmul_tiled",
}


def checked(rung, shape, seconds, compiled):
    found = bound_of_rung(rung, shape, 4, H200, compiled=compiled)
    assert found.ratio(seconds) >= 1, repr(found)
    return found


def test_readings_are_of_both_ladders():
    """Of the copy and of both ladders' ends at least; rungs may be newer than the file."""
    found = {rung for rung, _, _ in READ}
    assert found <= {rung for _, rung in rungs()}
    assert {"copy_wide", "transpose_naive", "transpose_fastest"} <= found
    assert {"matmul_naive", "matmul_fastest"} <= found


@pytest.mark.parametrize(
    "rung, shape, seconds",
    [
        pytest.param(*one, id=one[0], marks=pytest.mark.exhaustive if one[0] in LONG else ())
        for one in READ
    ],
)
def test_no_reading_is_below_its_bound(rung, shape, seconds):
    checked(rung, shape, seconds, compiled=False)


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
@pytest.mark.parametrize(
    "rung, shape, seconds", [pytest.param(*one, id=one[0]) for one in READ if one[0] not in LONG]
)
def test_no_reading_is_below_its_compiled_bound(rung, shape, seconds):
    """With the compiler a bound is at least as high, and still below the reading."""
    found = checked(rung, shape, seconds, compiled=True)
    assert not found.work.source_counts
    assert found.seconds >= checked(rung, shape, seconds, compiled=False).seconds


@pytest.mark.toolchain
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
def test_the_naive_product_waits_for_issue_slots():
    """Compiled by Numba, 64-bit indices cost it more instructions than L1 costs passes."""
    found = bound_of_rung("matmul_naive", (4096, 4096, 4096), 4, H200)
    assert found.limiter == "issue"
    assert found.of("issue").seconds > 2 * found.of("l1").seconds
    assert found.of("l1").seconds > 10 * found.of("fma").seconds
    code = machine_code(
        matmul_naive, "void(float32[:,::1], float32[:,::1], float32[:,::1])", (9, 0)
    )
    assert 0 < code.registers <= 32 and found.work.resident == 8


def test_table(tmp_path, capsys):
    """The command prints a head and a line per rung, and what was measured beside it."""
    file = tmp_path / "readings.json"
    row = {"rung": "copy_wide", "shape": [16384, 16384], "ms": 0.5038, "options": {}}
    file.write_text(json.dumps({"rows": [row, {"rung": "fastest", "shape": [1, 1], "ms": 1}]}))
    said = ["--chip", "h200", "--source", "--only", "copy", "--readings", str(file)]
    assert main(said) == 0
    head, columns, line = capsys.readouterr().out.splitlines()
    assert head == "transpose 16384x16384 float32 on H200: ms that each resource allows at least"
    assert columns.split()[:4] == ["rung", "limiter", "bound", "ms"]
    assert line.split()[:3] == ["copy_wide", "dram", "0.447"]
    assert line.split()[-3:] == ["0.504", "1.13", "(source)"]


def test_results_of_the_bench_are_readings(tmp_path):
    """Its rows are named otherwise; trials, other sizes of elements and failures are left out."""
    file = tmp_path / "results.json"
    row = {"name": "matmul_naive", "shape": [4, 5, 6], "itemsize": 4, "spare": 0, "ms": 2.0}
    others = [{"spare": 4}, {"itemsize": 8}, {"ms": None}, {"name": "fastest"}]
    file.write_text(json.dumps({"rows": [row, *({**row, "shape": [9, 9], **o} for o in others)]}))
    assert table.readings(file) == {("matmul_naive", (4, 5, 6)): 2.0}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rows": [{"ms": 1}]}'])
def test_files_without_readings_are_refused(tmp_path, text):
    file = tmp_path / "no.json"
    file.write_text(text)
    with pytest.raises(SmemnbError, match="holds no readings"):
        table.readings(file)
    with pytest.raises(SystemExit) as stopped:
        main(["--chip", "H200", "--readings", str(file)])
    assert stopped.value.code == 2


def test_unknown_chips_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--chip", "H300"])
    assert "no figures of a chip called 'H300'; known: H200" in capsys.readouterr().err


def test_counts_are_ints():
    found = counts(transpose_tiled, ((1, 1), (32, 32)), (np.zeros((32, 32), np.float32),) * 2)
    assert {type(getattr(found, field.name)) for field in fields(Counts)} == {int}
