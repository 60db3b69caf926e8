from dataclasses import replace

import pytest

from smemnb.hardware import CHIPS, Chip, chip
from smemnb.rules.roofline import Bound, Work, bound, bytes_on_the_way, global_passes
from tests.facts import facts

# 10 SMs at 1 GHz: 10 passes, 1280 multiply-adds, 40 instructions and 640 bytes of L2 per ns
ROUND = Chip("round", (9, 0), 10, 1000, 1e11, 1_000_000)


def rows(work, chip=ROUND):
    """Nanoseconds by resource."""
    return {row.resource: row.seconds * 1e9 for row in bound(work, chip).rows}


def near(**ns):
    return pytest.approx({"dram": 0, "l2": 0, "fma": 0, "issue": 0, "latency": 0} | ns)


def test_each_resource_alone():
    """Ten blocks, one for each SM; every row by hand."""
    work = Work("w", 10, 256)
    assert rows(replace(work, wavefronts=3000)) == near(shared=300)
    assert rows(replace(work, global_passes=3000)) == near(l1=300)
    assert rows(replace(work, instructions=4000)) == near(issue=100, l1=0)
    assert rows(replace(work, store_sectors=400)) == near(l2=20, l1=0)
    # 1280 lanes' multiply-adds are 40 instructions: both take 1 ns
    assert rows(replace(work, fma=128_000)) == near(fma=100, issue=100, l1=0)
    # 2 MB do not fit 1 MB of L2: 20 us at 100 GB/s; half of it goes in at 640 bytes per ns
    moved = replace(work, loaded_bytes=1_000_000, stored_bytes=1_000_000)
    assert rows(moved) == near(dram=20_000, l2=1562.5, l1=0)


def test_matrices_that_fit_l2_are_found_there():
    work = Work("w", 10, 256, loaded_bytes=500_000, stored_bytes=500_000)
    assert rows(work)["dram"] == 0
    assert rows(replace(work, stored_bytes=500_001))["dram"] == pytest.approx(10_000.01)


def test_one_pipe():
    """Wavefronts and passes add up; the row has the name of those that are more."""
    work = Work("w", 10, 256, wavefronts=200, global_passes=300)
    assert rows(work) == near(l1=50)
    assert rows(replace(work, wavefronts=301)) == near(shared=60.1)


@pytest.mark.parametrize(
    "blocks, alike, busy",
    [
        (10, True, 10),
        (11, True, 5.5),  # an SM has two of them
        (5, True, 5),
        (1000, True, 10),
        (1001, True, 1001 / 101),
        (11, False, 10),
        (5, False, 5),
    ],
)
def test_sms_take_whole_blocks(blocks, alike, busy):
    found = bound(Work("w", blocks, 32, wavefronts=4400, alike=alike), ROUND)
    assert found.busy_sms == pytest.approx(busy)
    assert found.seconds == pytest.approx(4400 / busy / 1e9)


def test_what_blocks_load_from_l2():
    """Of two blocks at a time one at least brings its data, less the 256 KB that L1 may hold."""
    own = 256 * 1024 + 640
    work = Work("w", 100, 256, resident=2, loaded_bytes=6400, block_loads=own)
    assert rows(work)["l2"] == pytest.approx(50 * 640 / 640)
    assert rows(replace(work, block_loads=256 * 1024))["l2"] == pytest.approx(10)
    # all of L2 hands out 320 bytes per cycle: twice as long; stores go the other way
    slow = replace(ROUND, l2_bytes_per_cycle=320)
    assert rows(work, slow)["l2"] == pytest.approx(100)
    assert rows(Work("w", 100, 256, store_sectors=2000), slow)["l2"] == pytest.approx(100)


def test_littles_law():
    """100 GB/s x 400 ns: 40 KB on the way. 20 warps of 512 bytes are a quarter of it."""
    assert bytes_on_the_way(ROUND) == pytest.approx(40_000)
    work = Work("w", 100, 64, resident=1, loaded_bytes=2_000_000, warp_loads=512)
    assert rows(work)["latency"] == pytest.approx(2_000_000 / (20 * 512) * 400)
    assert rows(replace(work, resident=3))["latency"] == pytest.approx(2e6 / (60 * 512) * 400)
    # 3 blocks keep no more than 3 blocks' warps busy, whatever fits
    assert rows(replace(work, blocks=3, resident=3))["latency"] == pytest.approx(
        2e6 / (6 * 512) * 400
    )
    assert rows(replace(work, warp_loads=None))["latency"] == 0


@pytest.mark.parametrize(
    "wavefronts, lines, passes",
    [(1, 1, 1), (1, 4, 1), (1, 5, 2), (2, 2, 2), (16, 16, 16), (32, 32, 32), (1, 32, 8)],
)
def test_global_passes(wavefronts, lines, passes):
    """4 tags and one word of each bank at a time."""
    assert global_passes(wavefronts, lines) == passes


def test_scattered_product_as_it_was_read():
    """Neighbouring threads take rows: 16 lines of one bank and one more per step.

    140.07 ms on an H200 at 1980 MHz, 4096 cubed: no less than the bound, and hardly more.
    """
    steps = 4096**3 // 32
    work = Work("scattered", 65536, 256, fma=4096**3, global_passes=17 * steps)
    found = bound(work, chip("H200"))
    assert found.limiter == "l1"
    assert found.ratio(140.066e-3) == pytest.approx(1.00, abs=0.005)
    assert found.ratio(140.066e-3) > 1


@pytest.mark.parametrize("one", CHIPS.values(), ids=lambda one: one.name)
def test_peak_rates(one):
    """A launch of multiply-adds alone runs at the chip's FP32 rate, a copy at its DRAM's."""
    work = Work("w", one.sms * 8, 256, fma=10**12)
    assert 2e12 / bound(work, one).seconds == pytest.approx(one.flop_per_s)
    copy = Work("w", one.sms * 8, 256, loaded_bytes=10**9, stored_bytes=10**9)
    found = bound(copy, one)
    assert (found.limiter, 2e9 / found.seconds) == ("dram", pytest.approx(one.dram_bytes_per_s))


def test_what_a_copy_reaches():
    """The H200's copies reach 4263 GB/s; where no reading is known there is no second figure."""
    copy = Work("w", 1320, 256, loaded_bytes=10**9, stored_bytes=10**9)
    found = bound(copy, chip("H200"))
    assert found.reached == pytest.approx(2 / 4263)
    last = "  a copy was seen to reach 4.26 TB/s of DRAM: 0.469 ms"
    assert repr(found).splitlines()[-1] == last
    assert bound(copy, chip("L4")).reached is None
    busy = bound(replace(copy, fma=10**12), chip("H200"))
    assert busy.reached == busy.seconds == busy.of("fma").seconds


def test_text():
    work = Work("w", 11, 64, resident=2, wavefronts=4400, estimated=True, source_counts=False)
    said = repr(bound(work, ROUND)).splitlines()
    assert facts(said[0]) == ["0.001"] and "shared" in said[0]
    assert said[3] == "  shared        4.4 k passes      5.5 G passes/s      0.001 ms  <"
    assert facts(said[-1]) == facts("11 2 55.0 10")


def test_rows_by_name():
    found = bound(Work("w", 10, 64, wavefronts=10), ROUND)
    assert found.of("shared").amount == 10
    with pytest.raises(KeyError, match="no row 'l1'; there are dram, l2, shared, fma"):
        found.of("l1")


def test_nothing_to_do():
    found = bound(Work("w", 1, 32), ROUND)
    assert (found.seconds, found.ratio(1.0)) == (0.0, float("inf"))
    assert isinstance(found, Bound)


@pytest.mark.parametrize("blocks, resident", [(0, 1), (1, 0)])
def test_no_blocks_are_refused(blocks, resident):
    with pytest.raises(ValueError, match=f"w has {blocks} blocks, and an SM holds {resident}"):
        bound(Work("w", blocks, 32, resident=resident), ROUND)
