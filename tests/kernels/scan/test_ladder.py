"""The ladder of the running sum: values, counts of its comments, no races, racing twins."""

import inspect
import re

import numpy as np
import pytest

from smemnb.errors import KernelStopped
from smemnb.exercises.source import show_change
from smemnb.kernels.scan.ladder import LADDER
from smemnb.laboratory.twins.source import barriers, twins
from smemnb.lockstep.launch import launch as lockstep
from smemnb.measure.verify.case import Case
from smemnb.tracing import trace
from tests.tiers import exhaustive

NAMES = [step.name for step in LADDER]
OF_ROWS, OF_WHOLE = NAMES[:5], NAMES[5:]
LOOKING = OF_WHOLE[1:]
FIRST = ("scan_three_launches", "scan_lookback", "scan_broad")  # whose code has that of others
TILE = {step.name: inspect.getmodule(step.kernels[0].py_func).TILE for step in LADDER[5:]}


def numbers(shape, seed=1):
    """Small integers, whose sums are exact in any order."""
    return np.random.default_rng(seed).integers(-9, 20, shape).astype(np.float32)


def new(shape, dtype):
    return np.zeros(shape, dtype)


def step_named(name):
    return LADDER[NAMES.index(name)]


def main_launch(step, x):
    """The launch of the step's first kernel, with a result of its own."""
    some = step.launches(new, np.zeros_like(x), x)
    return next(one for one in some if one.kernel is step.kernels[0])


def launched(step, x):
    """The running sums of x by the launches of a step."""
    out = np.full_like(x, np.nan)
    for launch in step.launches(new, out, x):
        launch.start()
    return out


def rows_of(name, length):
    """A length that the rung takes: `scan_wide` wants multiples of four."""
    return length if name != "scan_wide" else -(-length // 4) * 4


@pytest.mark.parametrize("name", OF_ROWS)
def test_values_of_rows(name):
    """From one element to as many as a block takes, one row and several."""
    for length in (1, 33, 511, 513, 1024):
        x = numbers((2, rows_of(name, length)), length)
        assert (launched(step_named(name), x) == x.cumsum(1)).all(), length


@pytest.mark.parametrize(
    "name",
    [
        name if name in FIRST else pytest.param(name, marks=pytest.mark.exhaustive)
        for name in OF_WHOLE
    ],
)
def test_values_of_whole_arrays(name):
    """From one element to several tiles, one more and one less than a tile."""
    tile = TILE[name]
    for size in (1, 3, tile - 1, tile, 2 * tile + 7):
        x = numbers(size, size)
        assert (launched(step_named(name), x) == x.cumsum(dtype=np.float64)).all(), size


@exhaustive
@pytest.mark.parametrize("name", LOOKING)
def test_more_than_two_groups(name):
    """A tile adds what groups before its own and the one before say."""
    x = numbers(TILE[name] * 70 + 5)
    assert (launched(step_named(name), x) == x.cumsum(dtype=np.float64)).all()


def test_which_arrays_a_step_takes():
    """Rows up to 1024 elements, or an array of one axis; of float32, and of some element."""
    taken = {
        (3, 1024): OF_ROWS,
        (3, 1023): [name for name in OF_ROWS if name != "scan_wide"],
        (3, 1025): [],
        (5,): OF_WHOLE,
        (0,): [],
    }
    for shape, names in taken.items():
        x = np.zeros(shape, np.float32)
        assert [step.name for step in LADDER if step.fits(x, x)] == names
    assert not [step for step in LADDER if step.fits(None, np.zeros(5))]


def test_sums_of_many_tiles_carry_on():
    """The one block of the second launch goes on from 1024 sums to the next."""
    (_, sums, _) = step_named("scan_three_launches").launches(new, *[numbers(2048)] * 2)
    for size in (1, 1023, 1024, 1025, 3000):
        totals = numbers(size, size)
        expected = totals.cumsum(dtype=np.float64)
        sums._replace(args=(totals,)).start()
        assert (totals == expected).all(), size


# --- the look back -------------------------------------------------------------------------------


@exhaustive
@pytest.mark.parametrize("name", LOOKING)
@pytest.mark.parametrize("order", ["reversed", "random"])
def test_any_order_of_blocks(name, order):
    """Blocks that begin in any order take tiles in theirs, and the bits are the same."""
    x = np.random.default_rng(4).standard_normal(TILE[name] * 40 + 9).astype(np.float32)
    expected = launched(step_named(name), x)
    one = main_launch(step_named(name), x)
    lockstep(
        one.kernel.py_func,
        (one.grid, 1, 1),
        (one.block, 1, 1),
        one.args,
        order=order,
        patience_s=60,
    )
    assert (one.args[0] == expected).all()


@pytest.mark.parametrize("name", ["scan_broad"])
def test_words_serve_launch_after_launch(name):
    """Nobody clears the words: longer, shorter and equal arrays follow each other on them."""
    words = np.zeros(2 + 2 * 40 + 4, np.uint64)
    for at, tiles in enumerate((40, 1, 35)):
        x = numbers(TILE[name] * tiles - 5, at)
        out = np.zeros_like(x)
        (one,) = step_named(name).launches(new, out, x)
        one._replace(args=(out, x, words, one.args[3])).start()
        assert (out == x.cumsum(dtype=np.float64)).all(), tiles
        assert int(words[0]) == (at + 1) << 32


@exhaustive
@pytest.mark.parametrize("name", ["scan_grouped", "scan_broad"])
def test_words_of_earlier_launches_say_nothing(name):
    """The second tile of a second launch waits for the first one, of which a first launch spoke."""
    x = numbers(TILE[name] * 2)
    one = main_launch(step_named(name), x)
    one.start()
    words = one.args[2]
    assert words[2] >> np.uint64(32) == 1 and words[0] == 1 << 32
    words[0] += np.uint64(1)  # the first tile is taken by nobody
    with pytest.raises(KernelStopped, match="never ends"):
        lockstep(one.kernel.py_func, (1, 1, 1), (one.block, 1, 1), one.args, patience_s=60)


@exhaustive
def test_error_does_not_grow_with_the_tiles():
    """The carry in float64 keeps the error of a tile: 70 tiles of a large mean."""
    x = (np.random.default_rng(5).random(TILE["scan_deep"] * 70) + 1).astype(np.float32)
    exact = x.cumsum(dtype=np.float64)
    for name in ("scan_grouped", "scan_early", "scan_broad"):
        error = np.abs(launched(step_named(name), x) - exact) / exact
        assert error.max() <= 32 * np.finfo(np.float32).eps / 2, name


# --- counts --------------------------------------------------------------------------------------


def counted(name, shape):
    """{(text, kind): (requests, wavefronts, sectors)} of a step's first launch."""
    launch = main_launch(step_named(name), numbers(shape))
    found = {}
    for row in trace(launch.kernel)[launch.grid, launch.block](*launch.args).lines:
        key = re.sub(r"\s+", " ", row.text), row.kind
        before = found.get(key, (0, 0, 0))
        now = row.requests, row.wavefronts, row.sectors
        found[key] = tuple(map(sum, zip(before, now, strict=True)))
    return found


def test_steps_of_the_trees():
    """A row of 1024: what the reads of the tile take, in the tree, with pads, and step by step."""
    read = {
        "scan_hillis_steele": counted("scan_hillis_steele", (1, 1024))[
            "buffers[old, tx - step]", "load"
        ][:2],
        "scan_blelloch": counted("scan_blelloch", (1, 1024))["tile[last - step]", "load"][:2],
        "scan_blelloch_padded": counted("scan_blelloch_padded", (1, 1024))[
            "tile[place(last - step)]", "load"
        ][:2],
    }
    warps = [16, 8, 4, 2, 1, 1, 1, 1, 1, 1]
    ways = [2, 4, 8, 16, 32, 16, 8, 4, 2, 1]
    both = 2 * sum(warps), 2 * sum(w * n for w, n in zip(warps, ways, strict=True))
    assert read["scan_blelloch"] == both == (72, 382)
    assert read["scan_blelloch_padded"] == (72, 72)
    requests = sum(32 - step // 32 for step in (32, 64, 128, 256, 512)) + 5 * 32
    assert read["scan_hillis_steele"][0] == requests == 289


@pytest.mark.first(1)
@pytest.mark.parametrize("name", OF_ROWS)
def test_loads_and_stores_of_rows(name):
    """4 sectors for each element of a warp, 16 for 16 bytes; 1 wavefront but in the bare tree."""
    found = counted(name, (2, 1024))
    wide = name == "scan_wide"
    moved = [row for row in found.values() if row[2]]
    assert {sectors / requests for requests, _, sectors in moved} == {16 if wide else 4}
    shared = {wavefronts / requests for requests, wavefronts, _ in found.values() if wavefronts}
    assert (shared == {1}) == (name != "scan_blelloch")


@pytest.mark.first(1)
@pytest.mark.parametrize("name", OF_WHOLE)
def test_loads_and_stores_of_tiles(name):
    """16 sectors for each load and store of 16 bytes; 1 wavefront of sums."""
    found = counted(name, 2 * TILE[name])
    wide = [
        row for (text, kind), row in found.items() if re.match(r"(.* = load16\(inp|store16)", text)
    ]
    assert {sectors / requests for requests, _, sectors in wide if sectors} == {16}
    single = [
        row
        for (text, kind), row in found.items()
        if re.match(r".*\b(sums|place|carry)\[", text) and row[1]
    ]
    assert {wavefronts / requests for requests, wavefronts, _ in single} == {1}


def test_comments_say_these_numbers():
    """The numbers in the comments are those of the tests above."""
    said = {
        step.name: inspect.getsource(inspect.getmodule(step.kernels[0].py_func)) for step in LADDER
    }
    assert "shared: 2, 4, 8, 16, 32, 16, 8, 4, 2, 1 wavefronts" in said["scan_blelloch"]
    assert "3070 additions in place of 9217" in said["scan_blelloch"]
    assert 2 * 1023 + 1024 == 3070
    assert sum(1024 - (1 << k) for k in range(10)) == 9217
    for name in OF_ROWS[:4]:
        assert "global: 4 sectors" in said[name]
    for name in ("scan_wide", *OF_WHOLE):
        assert "16 sectors" in said[name]


# --- races ---------------------------------------------------------------------------------------


def case_of(name, tiles):
    """The first launch of a step, as a case whose arguments are made anew."""
    shape = (2, 1000) if name in OF_ROWS else TILE[name] * tiles - 7

    def make():
        return main_launch(step_named(name), numbers(shape))

    one = make()
    return Case(name, one.kernel, one.grid, one.block, lambda: make().args)


@pytest.mark.first(3)
@pytest.mark.parametrize("name", NAMES)
def test_no_findings(name):
    """No rung races, not where tiles wait for each other either.

    Of 64 elements of a lane the source does not tell whether they are in registers; the tests of
    machine code do.
    """
    case = case_of(name, 3)
    found = trace(case.kernel)[case.grid, case.block](*case.make())
    assert {one.kind for one in found.all_findings} <= {"open_local_array"}
    assert found.limits == ()


def test_launches_after_the_first_race_with_nothing():
    """The sums of tiles, and the addition of what lies before them."""
    x = numbers(5000)
    _, sums, adding = step_named("scan_three_launches").launches(new, np.zeros_like(x), x)
    for one in (sums, adding):
        assert trace(one.kernel)[one.grid, one.block](*one.args).all_findings == ()


@exhaustive
@pytest.mark.parametrize("name", [*OF_ROWS, *FIRST])
def test_twins_without_a_barrier_race(name, tmp_path):
    """A barrier less is a race that is found, every one of them."""
    case = case_of(name, 5)
    made = [one for one in twins(case, tmp_path) if one.change == "removed"]
    assert len(made) == barriers(case.kernel.py_func)
    for twin in made:
        found = trace(twin.case.kernel)[case.grid, case.block](*case.make())
        assert any("race" in one.kind for one in found.all_findings), twin.name


@pytest.mark.parametrize(
    ("name", "most"), [("scan_blelloch_padded", 20), ("scan_early", 25), ("scan_broad", 2)]
)
def test_one_change_that_can_be_seen(name, most):
    """A step whose text is almost that of the one before shows few lines, and those alone."""
    before = LADDER[NAMES.index(name) - 1]
    shown = repr(show_change(before.kernels[0], step_named(name).kernels[0])).split("\n")
    assert 0 < sum(line[:2] == "+ " for line in shown) <= most
