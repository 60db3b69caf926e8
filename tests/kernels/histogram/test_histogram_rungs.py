"""Every rung of the histogram: values, counts per request, races, and twins that race."""

import importlib.util
import inspect
import re

import numpy as np
import pytest

from smemnb.kernels.histogram import ladder
from smemnb.kernels.histogram.rungs import histogram_lanes
from smemnb.rules.bank import wavefronts
from smemnb.tracing import trace
from tests.tiers import exhaustive, sampled

NAMES = [step.name for step in ladder.LADDER]
STEPS = dict(zip(NAMES, ladder.LADDER, strict=True))
PARTED = {"histogram_lanes", "histogram_joined", "histogram_paired"}
"""Whose lanes have counters of their own."""
ROUGH = {"histogram_global"}
"""Whose counters are met wherever the data send the lanes."""


def new(shape, dtype):
    return np.zeros(shape, dtype)


def drawn(n, seed=1, bins=256):
    """Random bytes."""
    return np.random.default_rng(seed).integers(0, bins, n).astype(np.uint8)


def ran(step, out, x):
    """Traces of the launches of a step."""
    return [
        trace(launch.kernel)[launch.grid, launch.block](*launch.args)
        for launch in step.launches(new, out, x)
    ]


SIZES = [0, 1, 15, 16, 17, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097, 16383, 16384, 16385, 70001]


@pytest.mark.parametrize(
    ("name", "size"), sampled([(n, s) for n in NAMES for s in SIZES], 2, by=lambda case: case[0])
)
def test_values(name, size):
    """Any number of elements; whatever `out` held before."""
    x, out = drawn(size, size), np.full(256, -5, np.int64)
    for launch in STEPS[name].launches(new, out, x):
        launch.start()
    np.testing.assert_array_equal(out, np.bincount(x, minlength=256))


DATA = {
    "random": drawn(16_384),
    "equal": np.full(16_384, 77, np.uint8),
    "ramp": (np.arange(16_384) * 3 + 17).astype(np.uint8),
}


@pytest.mark.parametrize(
    ("name", "data"), sampled([(n, d) for n in NAMES for d in DATA], 1, by=lambda case: case[0])
)
def test_no_findings(name, data):
    """Nothing races, is out of bounds or was never written, whatever the data are."""
    out = np.zeros(256, np.int64)
    reports = ran(STEPS[name], out, DATA[data])
    found = {one.kind for report in reports for one in report.findings}
    assert found <= ({"scattered", "uncoalesced"} if name in ROUGH else set())
    np.testing.assert_array_equal(out, np.bincount(DATA[data], minlength=256))


def adding(name, x):
    """(requests, wavefronts) of the increments of shared counters in a launch."""
    rows = [row for report in ran(STEPS[name], np.zeros(256, np.int64), x) for row in report.lines]
    found = [row for row in rows if row.kind == "atomic_increment" and row.space == "shared"]
    return sum(row.requests for row in found), sum(row.wavefronts for row in found)


@pytest.mark.parametrize("name", sampled([name for name in NAMES if name not in ROUGH], 3))
def test_wavefronts_of_counting(name):
    """Equal values take 1 wavefront in every rung, neighbours 1, random ones 3.15 or 1."""
    assert adding(name, DATA["equal"]) == (512, 512)
    requests, taken = adding(name, DATA["random"])
    assert (requests, taken) == (512, 512 if name in PARTED else taken)
    if name not in PARTED:
        assert round(taken / requests, 1) in (3.1, 3.2)


def test_expected_wavefronts():
    """3.15 wavefronts: the mean over random requests of 32 values of a byte."""
    address = 4 * np.random.default_rng(5).integers(0, 256, (20_000, 32))
    mean = wavefronts(address, width=4, kind="atomic_increment").mean()
    assert round(float(mean), 2) == pytest.approx(3.15, abs=0.015)


EACH = {
    "histogram_global": {("global", "load"): {(0, 1)}},
    "histogram_block": {
        ("shared", "store"): {(1, 0)},
        ("global", "load"): {(0, 1)},
        ("shared", "load"): {(1, 0)},
        ("global", "atomic_retry"): {(0, 8)},
    },
    "histogram_wide": {
        ("shared", "store"): {(1, 0)},
        ("global", "load"): {(0, 16)},
        ("shared", "load"): {(1, 0)},
        ("global", "atomic_retry"): {(0, 8)},
    },
}
EACH["histogram_warps"] = EACH["histogram_block"]
EACH |= dict.fromkeys(sorted(PARTED), EACH["histogram_wide"])


@pytest.mark.parametrize("name", sampled(EACH, 3))
def test_counts_in_comments(name):
    """(wavefronts, sectors) of each request but those that depend on the data."""
    found = {}
    (_, report) = ran(STEPS[name], np.zeros(256, np.int64), DATA["random"])
    for row in report.lines:
        each = row.wavefronts / row.requests, row.sectors / row.requests
        found.setdefault((row.space, row.kind), set()).add(each)
    found.pop(("shared", "atomic_increment"), None)
    if name in ROUGH:
        found.pop(("global", "atomic_retry"))
    assert found == EACH[name]


def test_copies_from_the_first():
    """32 wavefronts if every thread begins with copy 0, as the comment of step 3 says."""
    twin = altered(histogram_lanes, "(tx + turn) % LANES", "turn % LANES")
    report = trace(twin.histogram_lanes)[1, 1024](np.zeros(256, np.int64), DATA["random"])
    (row,) = [row for row in report.lines if row.space == "shared" and row.kind == "load"]
    assert row.wavefronts == 32 * row.requests


# --- twins that race -----------------------------------------------------------------------------


def altered(module, old, now, number=0, folder=None):
    """The module of a rung with one place changed, or all of them."""
    text = inspect.getsource(module)
    parts = text.split(old)
    assert len(parts) > (number or 0) + 1
    if number is None:
        text = now.join(parts)
    else:
        text = old.join(parts[: number + 1]) + now + old.join(parts[number + 1 :])
    text = text.replace("from ...", "from smemnb.kernels.")
    name = f"{module.__name__.rpartition('.')[2]}_{abs(hash((old, now, number)))}"
    file = (folder or FOLDER[0]) / f"{name}.py"
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, file)
    twin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(twin)
    return twin


FOLDER = []


@pytest.fixture(autouse=True, scope="module")
def _folder(tmp_path_factory):
    """Where twins are written: the engine reads the source of a kernel from its file."""
    FOLDER.append(tmp_path_factory.mktemp("twins"))
    yield
    FOLDER.clear()


IN_BLOCKS = [name for name in NAMES if name not in ROUGH]


def module_of(name):
    return inspect.getmodule(STEPS[name].kernels[0].py_func)


@pytest.mark.parametrize(
    ("name", "number"), sampled([(n, k) for n in IN_BLOCKS for k in (0, 1)], 1, by=lambda c: c[1])
)
def test_barriers_are_needed(name, number):
    """Without one of its two barriers a rung races."""
    twin = altered(module_of(name), "cuda.syncthreads()", "pass", number)
    block = twin.THREADS
    report = trace(getattr(twin, name))[2, block](np.zeros(256, np.int64), DATA["random"])
    assert {"race", "race_atomic"} & {one.kind for one in report.findings}


@pytest.mark.parametrize("name", sampled(IN_BLOCKS, 1))
def test_plain_additions_lose(name):
    """`+=` in place of an atomic: lanes of a warp, and warps, lose each other's additions."""
    text = inspect.getsource(module_of(name))
    call = re.search(r"cuda\.atomic\.add\(part, (.*), 1\)", text)
    twin = altered(module_of(name), call[0], f"part[{call[1]}] += 1", None)
    report = trace(getattr(twin, name))[1, twin.THREADS](np.zeros(256, np.int64), DATA["random"])
    assert {"lost_update", "race", "race_in_warp"} & {one.kind for one in report.findings}


@exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_random_sizes_and_skews(name):
    """Random sizes, ranges of values and grids, 12 of them."""
    rng = np.random.default_rng(11)
    for _ in range(12):
        x = drawn(int(rng.integers(0, 50_000)), rng.integers(1 << 30), int(rng.integers(1, 257)))
        x[rng.random(x.size) < rng.choice([0, 0.5, 0.9])] = 3
        out = np.zeros(256, np.int64)
        launch = STEPS[name].launches(new, out, x)[-1]
        launch._replace(grid=int(rng.integers(1, 5))).start()
        np.testing.assert_array_equal(out, np.bincount(x, minlength=256))
