"""Chains that the compiler keeps, values of the kernels that are timed, and the recorded waits."""

import json
import re
from importlib.resources import files

import numpy as np
import pytest

from smemnb.compiled import cubin
from smemnb.compiled.listing import listing
from smemnb.laboratory.latency import here, kernels, measuring, recording, waiting
from smemnb.simulator import devices

SIGNATURE = "void(uint32[::1], int64[:, ::1], uint32[::1], int64{})"


def times(warps=1):
    return np.full((warps, 2), -1, np.int64)


def followed(ring, at, steps):
    for _ in range(steps):
        at = ring[at]
    return at


@pytest.mark.parametrize(("places", "apart"), [(2, 1), (64, 32), (100, 3)])
def test_a_ring_is_one_cycle(places, apart):
    """After as many steps as there are places one has been everywhere, once."""
    ring = measuring.ring(places, apart)
    seen = [int(followed(ring, 0, step)) for step in range(places)]
    assert sorted(seen) == list(range(0, places * apart, apart))
    assert followed(ring, 0, places) == 0


def test_chases_arrive():
    """Alone from anywhere, several at once, and in shared memory."""
    ring, steps = measuring.ring(100, 32), 2 * kernels.UNROLLED
    last, clock = np.zeros(1, np.uint32), times()
    kernels.chase[1, 1](last, clock, ring, 32 * 7, 2)
    assert last[0] == followed(ring, 32 * 7, steps)
    assert clock.tolist() == [[0, 0]]  # the engine has no time
    starts = np.array([0, 64, 320], np.uint32)
    last = starts.copy()
    kernels.chases(3)[1, 1](last, times(), ring, 1)
    assert last.tolist() == [followed(ring, at, kernels.UNROLLED) for at in starts]
    tile = measuring.ring(kernels.WORDS, 1)
    last = np.zeros(64, np.uint32)
    kernels.chase_shared[1, 64](last, times(2), tile, 1)
    assert last.tolist() == [followed(tile, at, kernels.UNROLLED) for at in range(64)]


@pytest.mark.parametrize("loads", [1, 4])
def test_walks_arrive(loads):
    """Each walk goes on by all threads' walks, and stays in a part of its own."""
    out, rounds, threads = np.zeros(128, np.uint32), 3, 128
    kernels.walks(loads)[2, 64](out, np.ones(1 << 12, np.uint32), rounds)
    first = np.arange(threads)[:, None] + threads * np.arange(loads)
    assert out.tolist() == (first + rounds * threads * loads).sum(axis=1).tolist()


def test_multiply_adds_are_made():
    """Half of a number and 1, again and again, is 2 in each chain."""
    out = np.zeros(64, np.float32)
    factor, addend = np.float32(0.5), np.float32(1)
    kernels.multiply_adds(2)[1, 64](out, times(2), factor, addend, 2)
    assert out.tolist() == [4.0] * 64


@pytest.mark.first(3)
@pytest.mark.parametrize("name", waiting.KERNELS)
def test_kernels_that_wait_run(name, monkeypatch):
    """Two blocks of each, without a finding; the pairs store the same numbers."""
    monkeypatch.setattr(waiting, "BLOCKS", 2)
    out, inp = waiting.arguments(name)
    waiting.KERNELS[name][2, waiting.THREADS](out, inp)
    pairs = {"fence_between": "fence_without"}
    if name in pairs:
        other = np.zeros_like(out)
        waiting.KERNELS[pairs[name]][2, waiting.THREADS](other, inp)
        assert np.array_equal(out, other)
    assert (out[: 2 * waiting.THREADS] != 0).any()


def needing(code, load):
    """Loads of the code, and how many of their addresses are made from the value of a load."""
    from_load, values, loads, found = {}, set(), 0, 0
    for one in code:
        if one.name.split(".")[0] == load:
            address = re.search(r"\[(R\d+)[^\[]*\]$", one.operands[-1])[1]
            loads, found = loads + 1, found + from_load.get(address, False)
            values.add(one.operands[0])
        elif one.operands:
            used = {word.split(".")[0] for word in one.operands[1:]}
            from_load[one.operands[0]] = bool(used & values)
            values.discard(one.operands[0])
    return loads, found


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("kernel", "load"), [(kernels.chase, "LDG"), (kernels.chase_shared, "LDS")]
)
def test_no_load_of_a_chase_is_dropped(kernel, load):
    """A round is `UNROLLED` loads; the address of each is made from a value that was loaded."""
    more = ", int64" if kernel is kernels.chase else ""
    code = listing(cubin(kernel, SIGNATURE.format(more)))
    clocks = [at for at, one in enumerate(code) if "CLOCK" in " ".join(one.operands)]
    assert len(clocks) == 2
    loads, found = needing(code[clocks[0] : clocks[1]], load)
    assert loads % kernels.UNROLLED == 0 < loads
    assert loads - 2 <= found <= loads  # the first of a loop begins from the start


@pytest.mark.toolchain
@pytest.mark.parametrize("chains", [1, 4])
def test_multiply_adds_stay_in_registers(chains):
    """As many FFMA as a round has, and no access to memory between the clocks."""
    signature = "void(float32[::1], int64[:, ::1], float32, float32, int64)"
    code = listing(cubin(kernels.multiply_adds(chains), signature))
    names = [one.name.split(".")[0] for one in code]
    assert names.count("FFMA") == kernels.UNROLLED * chains
    assert not {"LDL", "STL", "LDG", "LDS"} & set(names)


def test_recorded_waits_grow():
    """From registers to DRAM each wait is longer, and the chain of 4 cycles is known."""
    read = recording.load()
    l1, l2, dram = (read.footprints[size << 10] for size in (32, 4096, 1 << 20))
    assert 3.5 < read.multiply_add < 5 < read.shared < l2 < dram
    assert read.multiply_add < l1 < l2
    assert set(read.waits) == set(waiting.KERNELS)


def test_recorded_flights_obey_the_law():
    """What is under way, over the rate, is never less time than a load of DRAM takes at best."""
    read = recording.load()
    per_load = [
        one.held * read.multiprocessors / one.gb_per_s * read.megahertz / 1000
        for one in read.flights
    ]
    assert min(per_load) > read.footprints[16 << 20]  # cycles, of the L2 cache


def test_a_recording_says_where_it_is_from():
    """GPU, driver, versions, date and command stand in the file."""
    source = files("smemnb.measure.recorded") / recording.FILE
    kept = json.loads(source.read_text(encoding="utf-8"))
    assert {"gpu", "driver", "versions", "date", "command"} <= set(kept)


@pytest.mark.skipif(devices.launches() == "gpu", reason="there is a GPU")
def test_nothing_is_measured_without_a_gpu():
    """A sentence instead."""
    assert here.latencies_here() == here.NO_GPU
