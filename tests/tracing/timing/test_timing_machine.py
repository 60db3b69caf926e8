"""Constants have a source and a reading; instructions have a pipe; caches are followed."""

import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from smemnb.compiled.control_bits import Control
from smemnb.compiled.listing import read_listing
from smemnb.compiled.warps.execution import Execution, Requests
from smemnb.errors import SmemnbError
from smemnb.laboratory.rates.recording import load
from smemnb.laboratory.rates.table import READINGS
from smemnb.tracing.timing.instructions import COLUMNS, kind_of, table
from smemnb.tracing.timing.machine import ORDER, RATES, UNREAD, Use, constants, machine

GPUS = ("H200", "H100 SXM")


@pytest.fixture(scope="module")
def read():
    """Readings of both GPUs by name; none was made twice."""
    found = {}
    for name in ("h100_rates.json", "h200_rates.json"):
        one = load(Path(str(files("smemnb.measure.recorded") / name)))
        assert not set(one) & set(found)
        found |= {name: reading["read"] for name, reading in one.items()}
    return found


@pytest.mark.parametrize("gpu", GPUS)
def test_every_constant_has_a_reading(gpu):
    """Each names a microbenchmark that there is, lies in its doubt, and has a source."""
    names = {one.name for one in READINGS}
    for one in constants(gpu):
        assert one.low <= one.value <= one.high, one.name
        assert one.reading in names, one.name
        assert one.source
        assert one.standing == (f"read ({one.recorded})" if one.recorded else UNREAD)
    assert {reading for *_, reading in RATES.values()} <= names


def test_constants_follow_from_the_recorded_chases():
    """What is said of a chase in a constant's source stands in the recorded file."""
    from smemnb.laboratory.latency.recording import load

    read = load()
    said = {one.name: one.source for one in constants("H200")}
    said = {name: float(re.search(r"([\d.]+) cycles", said[name])[1]) for name in CHASED}
    assert said["shared_latency"] == read.shared
    assert said["l1_latency"] == read.footprints[32768]
    assert abs(said["l2_near_latency"] - read.footprints[2 << 20]) < 1
    assert abs(said["l2_far_latency"] - read.footprints[40 << 20]) < 1
    assert abs(said["dram_latency"] - read.footprints[256 << 20]) < 1


CHASED = ("shared_latency", "l1_latency", "l2_near_latency", "l2_far_latency", "dram_latency")
GHZ = 1.98


def test_constants_follow_from_the_recorded_rates(read):
    """Each by the sum that its source says in words."""
    known = machine("H100 SXM").constants
    each = {name: cycles / 16 for name, cycles in read.items() if isinstance(cycles, float)}
    assert known["constant_latency"] == round(each["constants"] - 6 - 1)
    assert known["special_latency"] == round(each["power_1x1"] - 8 - 6)
    assert known["special_latency"] == round(each["bits_set_1x1"] - 8 - 6)
    assert known["exchange_latency"] == round(each["exchanged_1x1"] - 4 - 1)
    turn = (each["barriers_32"] - each["barriers_16"]) / 16
    assert known["barrier_each"] == round(turn)
    assert known["barrier_latency"] == round(each["barriers_1"] - 2 - 2)
    assert known["branch_extra"] == each["branches"] - 30
    assert known["l2_bytes_per_cycle"] == round(read["read_l2"] / GHZ)
    four, one = 128 * GHZ / read["write_l2"], 4 * GHZ / read["write_columns"]
    sector = (four - one) / 3  # a line of four sectors and its head, less one of one sector
    assert known["packet_sectors"] == pytest.approx(one / sector - 1, abs=0.05)
    assert known["block_interval"] == round(read["blocks_of_32"])
    assert known["dram_read"] == pytest.approx(read["read_dram"] / GHZ, rel=1e-3)
    assert known["dram_copied"] == pytest.approx(read["copy_by_512_bytes"] / GHZ, rel=1e-3)
    assert [round(resident * read[name] - 8192) for resident, name in LASTING] == [430, 444]


LASTING = ((8, "lasting_of_256"), (2, "lasting_of_1024"))


@pytest.mark.parametrize(("name", "steps", "pipe"), [
    ("multiply_add_int_16x4", 256, "heavy"), ("turn_16x4", 512, "alu"),
    ("power_16x4", 256, "special"), ("multiply_add64_16x4", 256, "double"),
    ("bits_set_16x4", 256, "popc"), ("uniform_xor_add_16x4", 384, "uniform"),
])  # fmt: skip
def test_rates_of_pipes(read, name, steps, pipe):
    """What four warps of a quarter ask of a pipe keeps it busy, and little comes on top."""
    assert 1 <= read[name] / (steps * RATES[pipe][0]) < 1.17


def test_rates_are_shared():
    """132 multiprocessors have 132 times less of DRAM each than one alone; a port bounds L2."""
    many, one = machine("H200").row(132), machine("H200").row(1)
    dram, l2 = ORDER.index("sector_dram"), ORDER.index("sector_l2")
    assert one[l2] == one[dram] == 0.5
    assert many[dram] == pytest.approx(32 * 132 / (4263 / GHZ))
    assert many[l2] == pytest.approx(32 * 132 / 2202)
    half = machine("H200").row(132, 0.0, Use(0.5, 0.1, 0.5))
    assert half[l2] == pytest.approx(many[l2] / 2)
    assert half[ORDER.index("sector_in")] == 0.5
    assert half[dram] == pytest.approx(16 * 132 / (4319 / GHZ))


@pytest.mark.parametrize(("gpu", "said"), [("A100 80GB", "not of A100"), ("GTX", "no figures")])
def test_other_gpus_are_refused(gpu, said):
    with pytest.raises(SmemnbError, match=said):
        machine(gpu)


def test_changed_constants():
    known = machine("H200").changed(window=2)
    assert (known.constants["window"], machine("H200").constants["window"]) == (2, 3)
    with pytest.raises(SmemnbError, match="no constants of these names: windows"):
        known.changed(windows=2)


@pytest.mark.parametrize(("name", "wanted"), [
    ("FFMA", ("fma", 1)), ("IMAD.MOV.U32", ("heavy", 2)), ("IMAD.WIDE.U32", ("heavy", 4)),
    ("IADD3", ("alu", 2)), ("ULDC.64", ("uniform", 2)), ("LDS.128", ("load", 1)),
    ("STG.E", ("store", 1)), ("MUFU.RSQ", ("special", 8)), ("DFMA", ("double", 2)),
    ("SHFL.DOWN", ("exchange", 1)), ("BAR.SYNC.DEFER_BLOCKING", ("barrier", 1)),
    ("REDG.E.ADD", ("store", 1)), ("ATOMS.ADD", ("load", 1)), ("LDC", ("constant", 1)),
])  # fmt: skip
def test_pipes(name, wanted):
    assert kind_of(name) == wanted


@pytest.mark.parametrize("name", ["HMMA.1688.F32", "LDGSTS.E.128", "HGMMA.64x64x16.F32", "TEX"])
def test_what_is_not_modelled(name):
    with pytest.raises(SmemnbError, match="not modelled"):
        kind_of(name)


def row(text, before="NOP"):
    listing = f"//--- .text.k ---\n/*0000*/ {before} ;\n/*0010*/ {text} ;"
    code = read_listing(listing)
    bits = {one.address: Control(2, True, 0, None, (1, 3), ()) for one in code}
    return dict(zip(COLUMNS, table(code, bits)[1].tolist(), strict=True))


def test_registers_by_bank():
    """Reads of even and odd registers; what was kept from the instruction before costs nothing."""
    one = row("FFMA R0, R2, R4, R7")
    assert (one["even"], one["odd"], one["even_kept"], one["odd_kept"]) == (2, 1, 2, 1)
    one = row("FFMA R0, R2, R4, R7", before="FFMA R1, R2.reuse, R6, R9")
    assert (one["even"], one["odd"], one["even_kept"], one["odd_kept"]) == (2, 1, 1, 1)
    wide = row("STS.128 [R8], R4")
    assert (wide["even"], wide["odd"]) == (2 + 2, 2)
    assert (wide["waits"], wide["writes"], wide["reads"], wide["words"]) == (0b1010, 0, 7, 4)


def done(*accesses, store=False):
    """A block with these accesses of global memory: lists of sectors."""
    count = len(accesses)
    return Execution(
        (),
        Requests(
            np.ones(count, np.int8),
            np.ones(count, np.int32),
            np.cumsum([0, *map(len, accesses)]),
            np.concatenate(accesses).astype(np.int64),
            np.broadcast_to(store, count).astype(bool),
            np.full(count, 4, np.int32),
            np.ones(count, np.int32),
        ),
    )


@pytest.mark.exhaustive
def test_l1_keeps_sectors():
    """A sector that was there comes back; the others of its line do not; a store passes through."""
    from smemnb.tracing.timing.caches import missed

    block = done([0, 1, 2, 3], [0, 1], [4], [5], [4, 5, 6])
    assert missed(block, 1 << 16).tolist() == [4, 0, 1, 1, 1]
    assert missed(done([0], [0], store=True), 1 << 16).tolist() == [1, 1]


@pytest.mark.exhaustive
def test_l1_forgets():
    """Of 17 lines in one set of 16 the first is gone when it is wanted again."""
    from smemnb.tracing.timing.caches import missed

    lines = [[4 * line] for line in range(17)]
    assert missed(done(*lines, [0]), 16 * 128).tolist() == [1] * 17 + [1]
    assert missed(done(*lines[:16], [0]), 16 * 128).tolist() == [1] * 16 + [0]


def test_scattered_stores():
    """A store of 4 bytes per lane into 32 sectors, beside a load of 4: 32 of 36 sectors."""
    from smemnb.tracing.timing.caches import partly_stored

    gone = np.array([4, 32], np.int32)
    scattered = done([0, 1, 2, 3], [*range(100, 132)], store=[False, True])
    assert partly_stored(scattered, gone) == pytest.approx(32 / 36)
    dense = done([0, 1, 2, 3], [*range(100, 104)], store=[False, True])
    assert partly_stored(dense, np.array([4, 4], np.int32)) == 0


def test_what_comes_from_dram():
    """An array that all blocks read comes from DRAM once; one of which each has its part, whole."""
    from smemnb.tracing.timing.caches import far_share

    block = done([0, 1, 2, 3], [100, 101, 102, 103])
    gone = np.array([4, 4], np.int32)
    shares = far_share(block, gone, 10, [(0, 4 * 32), (100 * 32, 40 * 32)])
    assert shares.tolist() == pytest.approx([0.1, 1.0])
