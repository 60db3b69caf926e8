"""What a finding says: both lines, threads, warps, cell, and what to change."""

import itertools

import pytest

from smemnb.session import PRINTED_COLUMNS
from tests.facts import facts
from tests.tracing.records import (
    BARRIER,
    FIRST,
    INP,
    INP_LOAD,
    LOAD,
    STORE,
    TILE_LOAD,
    TILE_STORE,
    WAIT,
    array,
    race,
    seen,
    site,
    turned,
)

SYNC = "cuda.syncthreads()"


def only(observation, **launch):
    (finding,) = turned([observation], **launch).findings
    return finding


def test_race():
    """A race names both lines as written, both threads with their warps, the cell, the cure."""
    found = only(race())
    assert facts(found.cause) == facts(
        f"{STORE} tile[ty, tx] 3 1 1 {LOAD} tile[tx, ty] 1 3 3 tile[1, 3]"
    )
    assert found.cure == f"Put {SYNC} between line {STORE} and line {LOAD}."
    assert (found.severity, found.line, found.other_line) == ("error", STORE, LOAD)
    assert found.source == "tile[ty, tx] = inp[ty, tx]"
    assert found.other_source == "out[ty, tx] = tile[tx, ty]"
    assert (found.threads, found.warps) == (((3, 1, 0), (1, 3, 0)), (1, 3))
    assert (found.array, found.index, found.count, found.unit) == ("tile", (1, 3), 992, "elements")


def test_printed():
    """The repr is one line; printed, it keeps its words whole, in lines that a notebook shows."""
    found = only(race())
    lines = str(found).splitlines()
    assert " ".join(line.strip() for line in lines) == repr(found)
    assert [line[:4] == "    " for line in lines] == [False, *[True] * (len(lines) - 1)]
    assert len(lines) > 2 and max(map(len, lines)) <= PRINTED_COLUMNS - 2


def test_race_of_the_next_pass():
    """A store that comes back in the next pass of a loop wants a barrier at the loop's end."""
    found = only(race(first=TILE_LOAD, then=TILE_STORE))
    assert facts(found.cure) == facts(f"{SYNC} {LOAD} {STORE}")


def test_race_on_one_line():
    """hist[b] = hist[b] + 1 wants an atomic, another cell on the same line a variable."""
    load, store = (site(STORE, "tile[ty, tx]", kind) for kind in ("load", "store"))
    found = only(race(first=load, then=store))
    assert "cuda.atomic.add" in found.cure
    assert found.cause.startswith(
        f"Line {STORE} loads tile[ty, tx] (thread (3, 1), warp 1) and stores tile[ty, tx] (thread "
    )
    neighbour = site(STORE, "tile[ty, tx - 1]", "load")
    assert facts(only(race(first=neighbour, then=store)).cure) == facts(f"{SYNC}")


def test_race_of_one_store_with_itself():
    """Two threads at the same store are named, no second line is invented."""
    found = only(race(then=TILE_STORE))
    assert facts(found.cause) == facts(f"{STORE} tile[ty, tx] 3 1 1 1 3 3 tile[1, 3]")
    assert found.cure.startswith("Let one thread store it, give every thread an element of its own")


def test_race_between_functions():
    """A line of a device function is named with its function."""
    other = site(FIRST, "a[i]", "store", function="helper", file="other.py")
    found = only(race(then=other))
    assert f"line {FIRST} of helper stores a[i] (thread" in found.cause
    assert facts(found.cure) == facts(f"{SYNC} {STORE} {FIRST}")
    assert found.other_source == "a[i]"


def test_race_in_warp():
    """Inside a warp syncwarp is enough, and the severity is a warning."""
    found = only(race("race_in_warp", other_warp=1))
    assert found.severity == "warning"
    assert found.cause.endswith("inside one warp, and no cuda.syncwarp() orders them.")
    assert found.cure.startswith(
        f"Put cuda.syncwarp() between line {STORE} and line {LOAD}; on GPUs since 2017"
    )


def test_race_same_value():
    """Equal values are a note that says why to avoid them."""
    found = only(race("race_same_value", then=TILE_STORE))
    assert found.severity == "note"
    assert "every time with the same value" in found.cause
    assert "on the day the values differ" in found.cure


HALF = {
    **{"array": None, "index": None, "other_thread": (16, 0, 0), "other_warp": 0, "count": 32},
    "detail": {"arrived": 1008, "missing": 16},
}


def test_divergent_barrier():
    """The barrier, who waits, who is elsewhere; the barrier moves out of the branch."""
    found = only(seen("divergent_barrier", WAIT, **HALF))
    assert facts(found.cause) == facts(f"1008 {BARRIER} 3 1 1 16 16 0 0")
    assert found.cure.startswith(f"Move {SYNC} out of the if or the loop")
    assert (found.source, found.unit, found.count, found.array) == (SYNC, "times", 32, None)


def test_divergent_barrier_at_two_lines():
    """Where the others wait at another barrier, that line is named."""
    other = site(LOAD, SYNC, "barrier")
    found = only(seen("divergent_barrier", WAIT, **HALF, other=other))
    assert (
        f"and 16 that have not returned are at line {LOAD} (first thread (16, 0), warp 0)."
        in found.cause
    )


def test_exited_before_barrier():
    """A note: harmless since compute capability 7.0, undefined before; a guard is safe on both."""
    found = only(seen("exited_before_barrier", WAIT, **HALF))
    assert (found.severity, found.price) == ("note", False)
    assert "and 16 have returned before it (first thread (16, 0), warp 0)." in found.cause
    assert "7.0" in found.cure and SYNC in found.cure


def test_exited_before_grid_barrier():
    """An error: some threads of a block, or whole blocks, of which the first is named."""
    found = only(seen("exited_before_grid_barrier", WAIT, **HALF))
    assert found.severity == "error"
    assert "and 16 have returned before it (first thread (16, 0), warp 0)." in found.cause
    blocks = {**HALF, "other_thread": None, "other_warp": None, "detail": {"blocks": 3}}
    found = only(seen("exited_before_grid_barrier", WAIT, **blocks, other_block=(5, 0, 0)))
    assert facts(found.cause) == facts(f"3 {BARRIER} 5")  # blocks, the line, the first absent one


def test_ended_by_exception():
    """The line, the exception with its text, how many threads, the first."""
    one = {"array": None, "index": None, "count": 12}
    detail = {"exception": "ValueError", "said": "odd"}
    found = only(seen("ended_by_exception", WAIT, **one, detail=detail))
    assert (found.severity, found.unit, found.count) == ("error", "threads", 12)
    assert "ValueError('odd') in 12 threads" in found.cause and "debug=True" in found.cause


def test_unassigned():
    """The line, the variable, the first thread; the cure names the variable."""
    one = {"array": None, "index": None, "count": 12}
    found = only(seen("unassigned", TILE_LOAD, **one, detail={"name": "best"}))
    assert (found.severity, found.unit, found.count) == ("warning", "times", 12)
    assert "reads best 12 times" in found.cause
    assert found.cure.startswith("Assign best on every way")


@pytest.mark.parametrize("kind", ["race", "race_in_warp", "race_atomic"])
def test_lines_in_the_order_of_the_program(kind):
    """The barrier goes between the line that comes first and the other; in a loop, to its end."""
    forward = only(race(kind, first=TILE_STORE, then=TILE_LOAD)).cure
    assert f"between line {STORE} and line {LOAD}" in forward
    back = only(race(kind, first=TILE_LOAD, then=TILE_STORE)).cure
    assert "between" not in back and f"after line {LOAD}, at the end of the loop" in back


@pytest.mark.parametrize("kind", ["race", "race_in_warp", "race_atomic"])
def test_a_barrier_that_stands_there_is_repaired(kind):
    """No second barrier beside one that not every thread reaches, of whatever kind the race is."""
    found = turned([race(kind), seen("divergent_barrier", WAIT, **HALF)]).findings
    (cure,) = [one.cure for one in found if one.kind == kind]
    assert cure.startswith(f"Repair the barrier of line {BARRIER} first")
    assert "Put cuda." not in cure


def test_race_around_a_divergent_barrier():
    """A barrier that some do not reach orders nothing: no second one is asked for."""
    barrier, race_ = turned([race(), seen("divergent_barrier", WAIT, **HALF)]).findings
    assert barrier.kind == "divergent_barrier"  # first, for it causes the race
    assert facts(race_.cure) == facts(f"{BARRIER}")


def test_equal_values_where_a_race_is():
    """A line that races in earnest gets no note that it is harmless."""
    observations = [race(), race("race_same_value", first=TILE_STORE, then=TILE_STORE)]
    assert [found.kind for found in turned(observations).findings] == ["race"]


def test_uninitialised():
    """The cell that nobody stored, and that shared memory does not start as zeros."""
    found = only(seen("uninitialised"))
    assert facts(found.cause) == facts(f"{LOAD} tile[tx, ty] 3 1 1 tile[1, 3]")
    assert "shared memory does not start as zeros" in found.cure
    assert "or do not load it (end the loop at the last stored element)" in found.cure


def test_stale():
    """Leftovers of an earlier block, and why they look right."""
    assert only(seen("stale")).cause.endswith(
        "a GPU gives what an earlier block left there, which often looks right."
    )


@pytest.mark.parametrize(
    ("index", "cause", "cure"),
    [
        (
            32,
            "with index 32 on axis 1, but inp has size 32 there.",
            "if tx < inp.shape[1].",
        ),
        (
            -33,
            "with index -33 on axis 1, where inp has size 32: before the array, even after Numba "
            "has wrapped it.",
            "if tx >= 0.",
        ),
    ],
)
def test_out_of_range(index, cause, cure):
    """Axis, index, size, and the guard to write, with the expressions of the source."""
    at = {"array": INP, "axis": 1, "index": (0, index), "count": 5}
    found = only(seen("out_of_range", INP_LOAD, **at))
    assert facts(found.cause) == facts(f"{STORE} inp[ty, tx] 3 1 1 {cause}")
    assert found.cure == f"Guard the line: {cure}"
    assert (found.count, found.unit) == (5, "times")


@pytest.mark.parametrize(
    ("text", "furthest", "cure"),
    [
        ("inp[i]", 40, "Guard the line: if i < inp.shape[0], or exchange the indices."),
        ("inp[i]", 64, "Guard the line: if i < inp.shape[0]."),
        ("inp[i]", 32, "The last index is 31; guard the line: if i < inp.shape[0]."),
        (
            "inp[i + 1]",
            32,
            "The last index is 31; guard the line: if i + 1 < inp.shape[0], or go round: "
            "(i + 1) % inp.shape[0].",
        ),
        (
            "inp[n - i]",
            32,
            "The last index is 31; subtract 1 more: n - i - 1, or guard the line: "
            "if n - i < inp.shape[0].",
        ),
    ],
)
def test_cure_out_of_range(text, furthest, cure):
    """By how far the index goes and how it is written; an exchange only where it would fit."""
    at = {"array": array("inp", "global", (32, 50)), "axis": 0, "index": (32, 0)}
    detail = {"index": 32, "size": 32, "furthest": furthest}
    assert only(seen("out_of_range", site(STORE, text, "load"), **at, detail=detail)).cure == cure


def test_wrapped_index():
    """A negative index inside the array: where Numba goes, and both cures."""
    at = {"array": INP, "axis": 0, "index": (-7,), "detail": {"index": -7, "size": 1000}}
    found = only(seen("wrapped_index", site(STORE, "inp[i - HALO]", "load"), **at))
    assert found.severity == "warning"
    assert found.cause.endswith(
        "with index -7 on axis 0: it counts from the end, Numba wraps it to 993, where inp has "
        "size 1000."
    )
    assert "if i - HALO >= 0" in found.cure and "(i - HALO) % inp.shape[0]" in found.cure


def test_out_of_range_takes_the_detail():
    """The watcher's own index and size win; a slice or call in the source is no trouble."""
    call = site(STORE, "cuda.atomic.add(hist, b, 1)", "atomic_add")
    hist = array("hist", "global", (8,))
    at = {"array": hist, "axis": 0, "index": None, "detail": {"index": 9, "size": 7}}
    found = only(seen("out_of_range", call, **at))
    assert found.cause.endswith("with index 9 on axis 0, but hist has size 7 there.")
    assert "if index < hist.shape[0]" in found.cure


def test_threads_of_a_line_of_threads():
    """In a block of one dimension a thread is one number."""
    found = only(seen("stale", thread=(40, 0, 0)), block=(64, 1, 1))
    assert "(thread 40, warp 1)" in found.cause


OTHER_STORE = site(FIRST, "flag[0]", "store")


def test_order():
    """Severity first, then line, then other line, whatever the order of the watchers."""
    observations = [
        race("race_same_value", first=OTHER_STORE, then=OTHER_STORE),
        race("race_in_warp"),
        seen("stale"),
        race(first=TILE_STORE, then=TILE_LOAD),
        race(first=TILE_STORE, then=TILE_STORE),
    ]
    orders = {turned(order).findings for order in itertools.permutations(observations)}
    (findings,) = orders
    assert [(one.kind, one.line, one.other_line) for one in findings] == [
        ("race", STORE, STORE),
        ("race", STORE, LOAD),
        ("stale", LOAD, None),
        ("race_in_warp", STORE, LOAD),
        ("race_same_value", FIRST, FIRST),
    ]
