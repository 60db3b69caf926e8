"""The microbenchmarks: a table without gaps, kernels that run, code that is what is timed."""

import json
from collections import Counter

import numpy as np
import pytest

from smemnb.errors import SmemnbError
from smemnb.laboratory.rates import recording
from smemnb.laboratory.rates.kernels import streams, waits
from smemnb.laboratory.rates.table import READINGS, Clocked, Loaded, Started, Streamed
from tests.compiled.programs import needs_machine_code
from tests.tiers import sampled

CLOCKED = [one for one in READINGS if isinstance(one, Clocked)]
SMALL = [one for one in CLOCKED if one.group != "instruction cache" and one.warps < 16]


def test_the_table():
    """About a hundred readings with names of their own, of each kind some."""
    names = Counter(one.name for one in READINGS)
    assert max(names.values()) == 1
    kinds = Counter(type(one) for one in READINGS)
    assert (kinds[Loaded], kinds[Streamed], kinds[Started]) == (9, 13, 6)
    assert kinds[Clocked] >= 70


@pytest.mark.parametrize("one", sampled(SMALL, 1, second=2, by=lambda one: one.group))
def test_kernels_run(one):
    """In the engine, one round of one launch; the clock stands still there."""
    out, times, *rest = one.arguments(1)
    one.make()[1, 32 * one.warps](out, times, *rest)
    assert times.tolist() == [[0, 0]] * one.warps


def test_slowest_follows_the_ring():
    """Each warp goes from line to line, lane by lane."""
    ring = recording.lines(64 * 128)
    out, found = np.zeros(64, np.uint32), np.zeros((2, 2), np.int64)
    waits.slowest[1, 64](out, found, ring, 3)
    at = np.arange(64) // 32 * 7919 * 32 % ring.size + np.arange(64) % 32
    for _ in range(3):
        at = ring[at]
    assert out.tolist() == at.tolist()


@pytest.mark.parametrize("words", [8, 64, 256])
def test_copies_copy(words):
    inp = np.random.default_rng(1).integers(0, 99, (77, 512)).astype(np.uint32)
    out = np.zeros_like(inp)
    streams.copies(words)[(512 // words, -(-77 // (256 // words * 16))), 256](out, inp)
    assert np.array_equal(out, inp)


def test_stores_apart():
    """One word of each sector is written, and none beside it; `nothing` writes none."""
    out = np.zeros(256, np.uint32)
    streams.nothing[2, 32](out)
    assert not out.any()
    streams.writes_apart[1, 32](out, np.uint32(7), 2)
    assert np.flatnonzero(out).tolist() == list(range(0, 256, 8))
    assert set(out[::8].tolist()) == {8}


def test_columns_are_whole():
    """Every element is stored once, a word of each sector at a time."""
    out = np.zeros((64, 64), np.uint32)
    streams.writes_columns[(2, 2), 256](out, np.uint32(7))
    assert (out == 7).all()


@needs_machine_code
@pytest.mark.parametrize("one", sampled(SMALL, 1, second=2, by=lambda one: one.group))
def test_the_loop_has_what_is_timed(one):
    """The compiler kept the instructions that the reading is about."""
    loop = recording.loop_of(one)
    there = {name: sum(n for key, n in loop.items() if key.startswith(name)) for name in one.asked}
    if one.name == "branches":  # a jump back after each step: unrolled, there would be fewer jumps
        assert there == {"BRA": 1}
    else:
        assert min(there.values()) >= 16, (there, loop)
    assert not {"LDL", "STL"} & set(loop)


@needs_machine_code
def test_loops_are_added(tmp_path):
    """Without a GPU, to the readings that a file has; others stay away."""
    file = tmp_path / "rates.json"
    file.write_text(json.dumps({"readings": {"constants": {"read": 3}, "read_l2": {"read": 5}}}))
    recording.add_loops(file)
    found = recording.load(file)
    assert found["constants"]["loop"]["LDC"] >= 16
    assert found["read_l2"] == {"read": 5}
    assert set(found) == {"constants", "read_l2"}


def test_a_file_that_is_none(tmp_path):
    file = tmp_path / "rates.json"
    file.write_text(json.dumps({"readings": {"constants": {"read": 3}}}))
    assert recording.load(file)["constants"]["read"] == 3
    file.write_text("[]")
    with pytest.raises(SmemnbError, match="holds no readings"):
        recording.load(file)
