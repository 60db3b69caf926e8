"""The multiprocessor cycle by cycle, on streams that are written by hand."""

import numpy as np
import pytest

from smemnb.tracing.timing.instructions import COLUMNS
from smemnb.tracing.timing.machine import machine
from smemnb.tracing.timing.scheduler import KINDS, REASONS
from smemnb.tracing.timing.streams import Streams

pytestmark = [pytest.mark.exhaustive, pytest.mark.slow]  # Numba compiles the scheduler first

M = machine("H200").changed(block_start=6, block_interval=0)


def op(kind="fma", stall=1, waits=0, writes=7, reads=7, ports=(0, 0), busy=1, space=0, words=1):
    return [KINDS.index(kind), stall, waits, writes, reads, *ports, *ports, words, busy, space]


def made(table, *warps, requests=(), lines=()):
    """Streams of one block: places of each warp; an access is a place and its request's number."""
    place = np.array(
        [one if isinstance(one, int) else one[0] for w in warps for one in w], np.int32
    )
    request = np.array(
        [-1 if isinstance(one, int) else one[1] for w in warps for one in w], np.int32
    )
    assert len(table[0]) == len(COLUMNS)
    return Streams(
        table=np.array(table, np.int32),
        place=place,
        active=np.ones(len(place), bool),
        taken=np.zeros(len(place), bool),
        request=request,
        begins=np.cumsum([0, *map(len, warps)]).astype(np.int64),
        space=np.array([one[0] for one in requests], np.int8),
        wavefronts=np.array([one[1] for one in requests], np.int32),
        missed=np.array([one[2] for one in requests], np.int32),
        far=np.array([one[3] for one in requests], np.float32),
        warps=len(warps),
        lines=np.array(lines or [0] * len(requests), np.int32),
        samples=1,
    )


def cycles(streams, *, resident=1, blocks=1, known=M):
    ran = streams.run(known, resident, blocks, 132)
    assert ran.waits[:, REASONS.index("selected")].sum() == ran.issued
    return ran


def waited(ran, reason):
    return int(ran.waits[:, REASONS.index(reason)].sum())


@pytest.mark.parametrize(("stall", "wanted"), [(1, 10), (4, 37), (15, 136)])
def test_fixed_times(stall, wanted):
    """Ten instructions of one warp, each of which holds back the next one."""
    ran = cycles(made([op(stall=stall)], [0] * 10))
    assert (ran.cycles, ran.issued, waited(ran, "wait")) == (wanted, 10, 9 * (stall - 1))


def test_warps_share_a_scheduler_or_have_their_own():
    """Four warps issue side by side; a fifth one is on the scheduler of the first."""
    table = [op()]
    assert cycles(made(table, *[[0] * 20] * 4)).cycles == 20
    ran = cycles(made(table, *[[0] * 20] * 5))
    assert (ran.cycles, waited(ran, "not_selected")) == (40, 20)


@pytest.mark.parametrize(("kind", "busy", "wanted"), [("alu", 2, 79), ("special", 8, 313)])
def test_a_pipe_is_busy(kind, busy, wanted):
    """Two warps of one scheduler with 20 instructions each, for which the pipe has to be free."""
    ran = cycles(made([op(kind, busy=busy), op()], [0] * 20, [1], [1], [1], [0] * 20))
    assert ran.cycles == wanted


def test_a_scoreboard_is_waited_for():
    """Who needs the result of a shared load: 4 cycles to the path, 1 wavefront, 18 on the way."""
    table = [op("load", writes=0), op(waits=1)]
    streams = made(table, [(0, 0), 1], requests=[(0, 1, 0, 0)])
    assert cycles(streams).cycles == 4 + 1 + 18 + 1
    alone = made([op("load", writes=0), op()], [(0, 0), 1], requests=[(0, 1, 0, 0)])
    assert cycles(alone).cycles == 2


@pytest.mark.parametrize(
    ("wavefronts", "words", "wanted"), [(1, 1, 24), (8, 1, 38), (1, 4, 26), (4, 4, 30)]
)
def test_wavefronts_take_the_path(wavefronts, words, wanted):
    """An 8-way load is 7 cycles later on the path and 7 on the way; 16 bytes come back in two."""
    table = [op("load", writes=0, words=words), op(waits=1)]
    assert cycles(made(table, [(0, 0), 1], requests=[(0, wavefronts, 0, 0)])).cycles == wanted


def test_a_miss_is_farther():
    """A line that L1 has not comes from L2, near or far, or from DRAM."""
    table = [op("load", writes=0, space=1), op(waits=1)]
    hit = cycles(made(table, [(0, 0), 1], requests=[(1, 1, 0, 0)]))
    assert hit.cycles == 4 + 1 + 27 + 1
    l2 = cycles(made(table, [(0, 0), 1], requests=[(1, 1, 4, 0)]))
    assert l2.cycles - 5 in (276 + 9, 511 + 9)  # four sectors of the share of one of 132
    dram = cycles(made(table, [(0, 0), 1], requests=[(1, 1, 4, 1)]))
    assert 656 < dram.cycles < 656 + 20
    assert waited(dram, "long_scoreboard") > 600


def test_the_queue_is_full():
    """Twenty loads of 32 wavefronts: the places of the queue fill, and the warp stands there."""
    table = [op("load")]
    streams = made(table, [(0, 0)] * 20, requests=[(0, 32, 0, 0)])
    ran = cycles(streams)
    assert waited(ran, "mio_throttle") > 200
    assert ran.path == 32 * (20 - 8)  # when the last one has issued, 8 are still waiting


def test_a_barrier_is_for_all():
    """A warp that is early stands until the other one is there."""
    table = [op(), op("barrier")]
    ran = cycles(made(table, [1, 0], [0] * 100 + [1, 0]))
    assert waited(ran, "barrier") >= 95
    assert 100 < ran.cycles < 120


def test_blocks_one_after_the_other():
    """Of six blocks two are resident: a third of the time is two of them."""
    table = [op(stall=4)]
    streams = made(table, [0] * 50)
    one, six = cycles(streams), cycles(streams, resident=2, blocks=6)
    assert one.cycles == 197
    assert six.issued == 300
    assert 3 * 197 <= six.cycles <= 3 * 197 + 3 * M.constants["block_start"] + 3


def test_every_cycle_of_a_warp_is_counted_once():
    """Waits of all reasons add up to cycles times warps, whatever was skipped."""
    table = [op("load", writes=0, space=1), op(waits=1), op("alu", busy=2), op("barrier")]
    table.append(op(ports=(3, 3)))
    warp = [(0, 0), 2, 1, 3, 4, 4, 2, (0, 1), 1]
    streams = made(table, *[warp] * 8, requests=[(1, 1, 4, 0.5), (1, 2, 0, 0)])
    ran = cycles(streams, resident=2, blocks=2)
    ends = ran.cycles * 16
    assert ends - 16 * 40 <= ran.waits.sum() <= ends
    drawn = streams.timeline(M, 2, 2, 132, int(ran.cycles) + 5)
    assert (drawn >= 0).sum() == ran.waits.sum()
    assert (drawn == REASONS.index("selected")).sum() == ran.issued


def test_ports_hold_back():
    """Instructions that read three registers of one bank issue every third cycle."""
    ran = cycles(made([op(ports=(3, 0))], [0] * 30))
    assert 85 <= ran.cycles <= 91
    assert waited(ran, "dispatch_stall") >= 50


def test_a_barrier_waits_for_nobody_who_has_ended():
    """A warp at a barrier goes on when the others of its block have come or have ended."""
    ran = cycles(made([op("barrier"), op()], [0, 1], [1] * 50))
    assert 50 <= ran.cycles <= 50 + M.constants["barrier_latency"] + 2


def test_barriers_are_taken_one_warp_at_a_time():
    """The last of 32 warps waits for 31 others by 2 cycles each."""
    table = [op("barrier"), op()]
    one, many = (cycles(made(table, *[[0, 1]] * count)) for count in (1, 32))
    assert one.cycles == 2 + 11 + 1
    assert many.cycles - one.cycles in range(31 * 2, 31 * 2 + 8)


def test_a_warp_stays_until_its_stores_have_left():
    """32 lines of a sector each: their packets, with a head each, at the share of one of 132."""
    table = [op("store", space=1)]
    ran = cycles(made(table, [(0, 0)], requests=[(1, 32, 32, 1.0)], lines=[32]))
    share = 32 * 132 / 2202
    assert ran.cycles == pytest.approx(4 + 32 + 32 * 2.2 * share + 1, abs=2)
    assert waited(ran, "drain") > 150
    assert ran.stores == pytest.approx(32 * 2.2 * share)


def test_blocks_begin_one_after_the_other():
    """Two blocks beside each other an interval apart; a third one some time after one has gone."""
    streams = made([op(stall=4)], [0] * 50)
    known = M.changed(block_interval=100, block_start=290)
    assert cycles(streams, resident=2, blocks=2, known=known).cycles == 100 + 197
    three = cycles(streams, resident=2, blocks=3, known=known)
    assert three.cycles in range(197 + 290 + 197 - 1, 197 + 290 + 197 + 2)


def test_one_whose_sources_are_late_holds_the_others():
    """Nobody else of the scheduler issues, and stands as not selected."""
    table = [op(ports=(3, 0)), op()]
    ran = cycles(made(table, [0] * 30, [1], [1], [1], [1] * 30))
    assert waited(ran, "dispatch_stall") >= 30
    assert waited(ran, "not_selected") >= 30
