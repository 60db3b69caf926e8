"""The ladder of the sum: values, counts of its comments, no races, and twins that have some."""

import inspect
import re

import numpy as np
import pytest

from smemnb.kernels.reduction.ladder import BLOCKS, LADDER
from smemnb.kernels.reduction.rungs import sum_wide
from smemnb.laboratory.twins.source import barriers, twins
from smemnb.measure.verify.case import Case
from smemnb.tracing import trace
from tests.tiers import exhaustive

CHUNK = sum_wide.CHUNK * sum_wide.QUAD
NAMES = [step.name for step in LADDER]


def numbers(size, seed=1):
    """Small integers, whose sums are exact in any order."""
    return np.random.default_rng(seed).integers(0, 20, size).astype(np.float32)


def new(shape, dtype):
    return np.zeros(shape, dtype)


def step_named(name):
    return LADDER[NAMES.index(name)]


def launched(step, x):
    """The sum of x by the launches of a step."""
    out = np.full(1, np.nan, np.float32)
    for launch in step.launches(new, out, x):
        launch.start()
    return out[0]


SIZES = (1, 31, 32, 33, 255, 256, 257, 511, 512, 513, 4095, CHUNK - 1, CHUNK, CHUNK + 1, 40_003)


@pytest.mark.parametrize("name", NAMES)
def test_values(name):
    """One element to several blocks, one more and one less than a block's."""
    for size in SIZES:
        x = numbers(size, size)
        assert launched(step_named(name), x) == x.sum(), size


def test_nothing_has_the_sum_zero():
    """A grid of one block adds no element."""
    for step in LADDER:
        assert launched(step, np.empty(0, np.float32)) == 0


def test_more_chunks_than_blocks():
    """A grid walks on where an array has more chunks than there may be blocks."""
    x = numbers(3 * CHUNK + 5)
    step = step_named("sum_one_launch")
    (launch,) = step.launches(new, out := np.zeros(1, np.float32), x)
    assert launch.grid == 4
    launch._replace(grid=2).start()
    assert out[0] == x.sum()
    (large,) = step.launches(new, out, np.broadcast_to(np.float32(1), (1 << 28,)))
    assert large.grid == BLOCKS


def test_last_block_leaves_the_ticket_at_zero():
    """Repeated launches need no one to set the ticket back, and give the same bits."""
    x = np.random.default_rng(3).standard_normal(5 * CHUNK).astype(np.float32)
    (launch,) = step_named("sum_one_launch").launches(new, out := np.zeros(1, np.float32), x)
    sums = set()
    for _ in range(3):
        launch.start()
        sums.add(out.tobytes())
        assert launch.args[3].tolist() == [0]
    assert len(sums) == 1


# --- counts --------------------------------------------------------------------------------------


def counted(name, size):
    """{text: (requests, wavefronts, sectors)} of a step's first launch; loads and stores apart."""
    (launch, *_) = step_named(name).launches(new, np.zeros(1, np.float32), numbers(size))
    found = trace(launch.kernel)[launch.grid, launch.block](*launch.args)
    return {
        (re.sub(r"\s+", " ", row.text), row.kind): (row.requests, row.wavefronts, row.sectors)
        for row in found.lines
    }


PAIRS = {"sum_divergent": "tile[tx + apart]", "sum_sequential": "tile[tx + apart]"}


def test_steps_in_shared_memory():
    """256 elements in 8 steps: requests and wavefronts of the tile's reads, one block."""
    read = {
        name: counted(name, 256)[PAIRS.get(name, "tile[first + apart]"), "load"][:2]
        for name in ("sum_divergent", "sum_conflicting", "sum_sequential")
    }
    assert read == {
        "sum_divergent": (47, 47),  # 8 warps in 5 steps, then 4, 2, 1
        "sum_conflicting": (12, 47),  # 4, 2, 1 ... warps: 2, 4, 8, 8, 8, 4, 2 and 1 wavefronts
        "sum_sequential": (12, 12),
    }
    assert sum((2 * 4, 4 * 2, 8, 8, 8, 4, 2, 1)) == 47


@pytest.mark.parametrize("name", NAMES[:5])
def test_loads_of_an_element(name):
    """4 sectors for each request of global memory, 1 wavefront for each of the tile."""
    each = 512 if name in ("sum_first_add", "sum_shuffled") else 256
    found = counted(name, 4 * each)
    loads = [row for (text, kind), row in found.items() if text.startswith("inp[")]
    assert [(sectors / requests) for requests, _, sectors in loads] == [4] * (each // 256)
    shared = [row for (text, kind), row in found.items() if re.match(r"(tile|sums)\[", text)]
    if name != "sum_conflicting":
        assert {wavefronts / requests for requests, wavefronts, _ in shared} == {1}


@pytest.mark.parametrize("name", NAMES[5:])
def test_loads_of_16_bytes(name):
    """16 sectors for each load of four elements; 4 for the loads of parts."""
    found = counted(name, 4 * CHUNK)
    wide = [row for (text, kind), row in found.items() if text.startswith("load16(")]
    full = [row for row in wide if row[0]]
    assert [(requests, sectors) for requests, _, sectors in full] == [(32, 512)] * 4
    shared = [row for (text, kind), row in found.items() if text.startswith("sums[")]
    assert {wavefronts / requests for requests, wavefronts, _ in shared} == {1}


def test_comments_say_these_numbers():
    """The numbers in the comments are those of the tests above."""
    said = {step.name: inspect.getsource(step.kernels[0].py_func) for step in LADDER}
    for name in NAMES[:5]:
        assert "global: 4 sectors" in said[name]
    for name in NAMES[5:]:
        assert "global: 16 sectors each" in said[name]
    assert "2 wavefronts per read, then 4, 8, 8, 8, 4, 2, 1" in said["sum_conflicting"]


# --- races ---------------------------------------------------------------------------------------


def first_case(step, size):
    """The first launch of a step, as a case whose arguments are made anew."""
    (launch, *_) = step.launches(new, np.zeros(1, np.float32), numbers(size))

    def make():
        (again, *_) = step.launches(new, np.zeros(1, np.float32), numbers(size))
        return again.args

    return Case(step.name, launch.kernel, launch.grid, launch.block, make)


@pytest.mark.parametrize("name", NAMES)
def test_no_findings(name):
    """No rung races, not where the last block reads what all have written either."""
    case = first_case(step_named(name), 3 * CHUNK + 7)
    found = trace(case.kernel)[case.grid, case.block](*case.make())
    assert [one.kind for one in found.all_findings] == []


@exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_twins_without_a_barrier_race(name, tmp_path):
    """A barrier less is a race that is found, every one of them."""
    case = first_case(step_named(name), 2 * CHUNK + 7)
    made = [one for one in twins(case, tmp_path) if one.change == "removed"]
    assert len(made) == barriers(case.kernel.py_func)
    for twin in made:
        found = trace(twin.case.kernel)[case.grid, case.block](*case.make())
        assert any("race" in one.kind for one in found.all_findings), twin.name
