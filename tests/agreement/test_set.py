"""The set of kernels: what is in it, and that the model has nothing against any of it."""

import re
from functools import cache
from itertools import chain

import numpy as np
import pytest

from smemnb.kernels.histogram import ladder as histograms
from smemnb.kernels.matmul import ladder as products
from smemnb.kernels.reduction import ladder as reductions
from smemnb.kernels.rows import ladder as normalisations
from smemnb.kernels.scan import ladder as scans
from smemnb.kernels.stencil import ladder as stencils
from smemnb.kernels.transpose import ladder as transposes
from smemnb.laboratory.corpus import CASES, FAMILIES, patterns
from smemnb.measure.verify.compare import compared
from smemnb.measure.verify.ncu.counters import COUNTS
from smemnb.measure.verify.predicted import calling_lines, counts, lines, traced
from tests.agreement.shipped import RECORDING, needs_recording
from tests.house.notebook_form import ROOT
from tests.tiers import sampled

BY_NAME = {case.name: case for case in CASES}
SLOW = ("matmul", "transpose_fastest", "transpose_wide")
LARGE = {case.name for case in FAMILIES["package"] if case.name.startswith(SLOW)}


PATTERNS = {case.name for case in FAMILIES["patterns"]}
"""Kernels whose rooms hold the model to them; here stands every tenth."""


def each(names):
    """The names as parameters; of the kernels with long sources the first tier has a sample."""
    others = [n for n in names if n not in LARGE | PATTERNS]
    return [*others, *sorted(PATTERNS & set(names))[::10], *sampled(sorted(LARGE & set(names)), 8)]


@cache
def trace_of(name):
    """A case's trace, made once for all tests of this file."""
    return traced(BY_NAME[name])


def test_size_and_names():
    """At least 60 launches of all families, each under a name of its own."""
    assert len(CASES) >= 60
    assert len(BY_NAME) == len(CASES)
    assert set(FAMILIES) == {"tutorials", "atomics", "package", "vectors", "shapes", "strides",
                             "local", "copies", "matrices", "patterns"}  # fmt: skip
    assert all(FAMILIES.values())


def test_every_rung_is_in_it():
    """Both ladders whole, and ragged wherever a rung takes ragged rows; the copy; other sizes."""
    inside = [case.kernel for case in FAMILIES["package"]]
    for rung in (*transposes.LADDER, *products.LADDER):
        assert inside.count(rung.kernel) == 1 + (rung in transposes.LADDER or not rung.depth)
    assert transposes.COPY.kernel in inside
    sizes = {case.arguments()[0].dtype.itemsize for case in FAMILIES["package"]}
    assert sizes == {1, 2, 4, 8}


def test_patterns_are_in_it():
    """Every step of the five ladders, but those whose blocks wait for others."""
    inside = {case.kernel for case in FAMILIES["patterns"]}
    ladders = (
        reductions.LADDER,
        scans.LADDER,
        histograms.LADDER,
        normalisations.LADDER,
        stencils.LADDER,
    )
    steps = [*chain(*ladders), *stencils.LINES, *stencils.SEPARABLE]
    left_out = [step.name for step in steps if not inside & set(step.kernels)]
    assert left_out == list(patterns.WAITING)
    assert inside <= {kernel for step in steps for kernel in step.kernels}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # 32 blocks of 256 elements, four sectors for each of 8 warps; one store by each block
        ("sum_sequential 8192", {"global_load_requests": 256, "global_load_sectors": 1024,
                                 "global_store_requests": 32}),
        # as many loads; each block adds a ticket, and the last one reads the parts of both
        ("sum_one_launch 8192", {"global_load_requests": 65, "global_load_sectors": 1025}),
        # two launches' worth of a row: 32 requests of 16 sectors in 8 warps, 4 rows
        ("softmax_wide 4 x 8192", {"global_load_requests": 256, "global_load_sectors": 4096,
                                   "global_store_sectors": 4096, "shared_load_wavefronts": 64}),
        # a chunk of 16 bytes for each thread: 1024 requests of one sector's lanes, then counters
        ("histogram_paired 32768", {"global_load_requests": 64, "global_load_sectors": 1024,
                                    "shared_atomic_requests": 1024,
                                    "shared_atomic_wavefronts": 1024}),
    ],
)  # fmt: skip
def test_counts_of_patterns(name, expected):
    """Counts of a launch, worked out by hand."""
    found = counts(trace_of(name))
    assert {count: found[count] for count in expected} == expected


def test_widths():
    """Shared memory is touched with every width from 1 to 16 bytes."""
    names = [name for name in BY_NAME if name.startswith(("typed", "load16", "strided_load"))]
    widths = {row.width for name in names for row in trace_of(name).lines if row.space == "shared"}
    assert widths == {1, 2, 4, 8, 16}


@pytest.mark.parametrize("name", ["sort_bitonic 1 x 128", "load16_at scattered", "parted"])
def test_arguments_are_seeded(name):
    """Equal numbers in new arrays each time; other numbers in other cases."""
    one, two = BY_NAME[name].arguments(), BY_NAME[name].arguments()
    assert all(np.array_equal(a, b) and a is not b for a, b in zip(one, two, strict=True))
    assert not np.array_equal(one[1][:32], BY_NAME["trips"].arguments()[1][:32])


@pytest.mark.first(8)
@pytest.mark.parametrize("name", each(BY_NAME))
def test_no_finding(name):
    """No error, and no warning but the price of an access that is meant to be dear."""
    assert [found for found in trace_of(name).findings if not found.price] == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # one warp fills 1056 words in 33 rounds, then reads once by 32 words: 33 + 32 passes
        ("strided_load stride 32", {"shared_store_requests": 33, "shared_load_requests": 1,
                                    "shared_load_wavefronts": 32, "global_store_sectors": 4}),
        # 32 lanes on one counter: 32 passes of an add, one of an increment by a constant
        ("atomic_add_value one address", {"shared_atomic_requests": 1,
                                          "shared_atomic_wavefronts": 32}),
        ("atomic_add_one one address", {"shared_atomic_wavefronts": 1}),
        ("atomic_cas_shared 2 addresses", {"shared_atomic_wavefronts": 32}),
        # 52 bytes further on, a warp's 128 bytes lie in 5 sectors; the last 13 elements are left
        # out: 7 whole warps, and 19 lanes that load bytes 896 to 971 and store 948 to 1023
        ("shifted by 13, 256 of float32", {"global_load_requests": 8, "global_load_sectors": 31,
                                "global_store_requests": 8, "global_store_sectors": 38}),
        # lane pairs share 16 bytes: 256 distinct bytes, two passes
        ("load16_at pairs (i, i ^ 1)", {"shared_load_requests": 1, "shared_load_wavefronts": 2}),
        ("load16_at neighbours", {"shared_load_wavefronts": 4}),
    ],
)  # fmt: skip
def test_counts(name, expected):
    """Counts of a launch, worked out by hand."""
    found = counts(trace_of(name))
    assert {count: found[count] for count in expected} == expected


@pytest.mark.slow
def test_lines_add_up():
    """Lines of the kernel hold all counts, a device function's at the line that calls it."""
    name = "transpose_wide 100 x 68"  # a tile inside, and three at an edge
    per_line = lines(trace_of(name), BY_NAME[name].kernel)
    whole = counts(trace_of(name))
    for count in COUNTS:
        assert sum(found.get(count, 0) for found in per_line.values()) == whole[count]
    (edge,) = calling_lines(BY_NAME[name].kernel)["move_edge"]
    assert set(per_line[edge]) & set(COUNTS) == {
        f"{space}_{kind}_{what}"
        for space, what in (("global", "sectors"), ("shared", "wavefronts"))
        for kind in ("load", "store")
        for what in ("requests", what)
    }


def read_of(name):
    """What was read of a case; one that was not is skipped."""
    if name not in RECORDING.cases:
        pytest.skip("not read yet")
    return RECORDING.cases[name]


@needs_recording
def test_recording_holds_the_set():
    """At least 60 launches were read, of known cases, with where and when; none had failed."""
    assert len(set(RECORDING.cases) & set(BY_NAME)) >= 60
    assert RECORDING.missing == {}
    for field in ("gpu", "driver", "compute_capability", "date", "command"):
        assert RECORDING.origin[field]


@needs_recording
def test_global_atomics_are_counted_by_passes():
    """Each sector as often as the word in it with the most lanes: nothing else adds up to these."""
    for name, bins in (("global_add, 200 counters", 200), ("global_add, 3 counters, ragged", 3)):
        words = BY_NAME[name].arguments()[1].astype(np.int64) % bins
        passes = 0
        for first in range(0, len(words), 32):
            word, lanes = np.unique(words[first : first + 32], return_counts=True)
            passes += sum(lanes[word // 8 == sector].max() for sector in np.unique(word // 8))
        found = read_of(name).counters
        assert found["global_atomic_sectors"] + found["global_reduction_sectors"] == passes


OFF = {"load16_at half in pairs ^ 1, half ^ 2", "load16_at lanes 15 and 16", "load16_at fours"}


@needs_recording
def test_patched_counter_is_off_and_the_hardware_is_not():
    """Where Nsight Compute's patched counter is off, the hardware's one-warp counter is ours."""
    alone = [n for n, case in BY_NAME.items() if case.warps == 1 and n in RECORDING.cases]
    found = [compared(BY_NAME[n], RECORDING.cases[n], counts(trace_of(n))) for n in alone]
    off = {one.name: one.patched for one in found if one.patched}
    assert set(off) >= OFF
    for name, rows in off.items():
        assert [row.hardware for row in rows] == [row.model for row in rows], name


@pytest.mark.first(100)
@needs_recording
@pytest.mark.parametrize("name", each(BY_NAME))
def test_agreement(name):
    """Counter for counter: as compiled everywhere, and the source where accesses are one to one.

    Every other difference of the source has a line and a cause.
    """
    case, trace = BY_NAME[name], trace_of(name)
    found = compared(case, read_of(name), counts(trace), lines(trace, case.kernel))
    assert found.rows
    assert found.compiled_differs == ()
    assert all(row.compiled is not None for row in found.rows), RECORDING.cases[name].stopped
    if found.one_to_one:
        assert found.source_differs == ()
    for row in found.source_differs:
        accesses = " ".join(row.count.split("_")[:2])  # such as "shared load"
        assert any(f" {accesses}" in cause for cause in found.causes), row


@needs_recording
@pytest.mark.exhaustive
def test_how_many_the_source_alone_tells():
    """README's number of launches of which every counter equals the trace of the source."""
    said = re.search(
        r"In (\d+) of the launches every counter",
        " ".join((ROOT / "README.md").read_text().split()),
    )
    found = [
        compared(BY_NAME[name], read_of(name), counts(trace_of(name))) for name in RECORDING.cases
    ]
    assert int(said.group(1)) == sum(not one.source_differs for one in found)
    # all but these have as many requests in the machine code as in the source
    assert [one.name for one in found if one.as_many and one.source_differs] == [
        "three_ways, 33 of 61"
    ]
