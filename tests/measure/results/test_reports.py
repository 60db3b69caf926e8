"""Results as text and as panels of a chart, from rows written by hand."""

from dataclasses import replace

import pytest

import tests.facts
from smemnb.errors import SmemnbError
from smemnb.figures.bars import Bar
from smemnb.measure.results import compare, panels, table
from tests.facts import facts
from tests.measure.results.test_store import FAILED, RESULTS, RUNG

CHOICE = replace(
    RUNG, name="fastest", role="choice", kernel="transpose_wide", ms=0.625, low_ms=0.5,
    high_ms=0.75, ratio=0.8, registers=36, bound_ms=0.5, limiter="dram",
)  # fmt: skip
COPY = replace(
    RUNG, name="copy_wide", role="limit", kernel="copy_wide", ms=0.5, low_ms=0.5, high_ms=0.5,
    ratio=1.0, bound_ms=None, limiter=None,
)  # fmt: skip
TORCH = replace(
    COPY, name="torch", role="library", kernel="", ms=2.5, low_ms=2.5, high_ms=2.5, ratio=0.2,
    registers=None, local_bytes=None,
)  # fmt: skip
NAIVE = replace(RUNG, name="transpose_naive", ms=4.0, low_ms=4.0, high_ms=4.0, ratio=0.125)
LADDER = replace(RESULTS, rows=(NAIVE, RUNG, CHOICE, COPY, TORCH, FAILED))

TABLE = """\
measured (NVIDIA H200, cc 9.0, 132 multiprocessors), driver 580.159.04, CUDA 13.0, 2026-11-22T10:00:00+00:00
  python 3.12.3, numba 0.68.0
  beside torch: 2.11.0; cupy: not installed
  smemnb bench all
  L2 cache flushed: 120 MiB of other data read before each launch; medians and quartiles over interleaved rounds
  SM clock 1980 MHz before, 1980 to 1980 after a shape, 1980 at the end

transpose 40 x 35 (ratio: time of copy_wide over this one's)
                              GB/s         ms           quartiles  ratio  regs  local  bound ms x bound  limiter
  transpose_naive           0.0028     4.0000       4.0000-4.0000  0.125    22      0    1.6000    2.50  shared
  transpose_tiled           0.0056     2.0000       1.5000-2.2500  0.250    22      0    1.6000    1.25  shared
  fastest: transpose_wide  0.01792     0.6250       0.5000-0.7500  0.800    36      0    0.5000    1.25  dram
  copy_wide (limit)         0.0224     0.5000       0.5000-0.5000  1.000    22      0         -       -
  torch                     0.0045     2.5000       2.5000-2.5000  0.200     -      -         -       -
  fastest has 0.800 times copy_wide's speed, 4.000 times torch's speed

matmul 5 x 6, depth 7, 3 spare per row
                  TFLOP/s         ms           quartiles  ratio  regs  local
  fastest        not timed: wrong values

host time of one call, microseconds (median; beyond: what the operation adds; own: the arrays' library)
  operation  arrays  result      call  launch  beyond      quartiles     own  call/own
  matmul     numba   given       30.5     9.0    21.0      20.0-23.0
"""  # noqa: E501


def test_table():
    """All of it: where, each shape, what failed, host times."""
    said = "\n".join(table.lines(LADDER))
    assert tests.facts.table(said) == tests.facts.table(TABLE)
    assert "wrong values" in said


def test_unfinished_is_said():
    """An interrupted run shows as one; clocks that were not read are said to be unknown."""
    said = list(table.lines(replace(LADDER, finished=False, clocks=())))
    assert "not finished" in said[5]
    assert "clocks" in said[6] and "nvidia-smi" in said[6]


def test_wrong_values_shout():
    """A time of a wrong kernel, should a file hold one, is marked."""
    said = list(table.case_lines([replace(RUNG, right=False)]))
    assert "WRONG VALUES" in said[2]


@pytest.mark.parametrize(
    ("ms", "low", "high", "verdict"),
    [
        (2.0, 1.5, 2.25, "within the spread"),
        (1.75, 1.6, 1.9, "within the spread"),  # 1.6-1.9 lies within 1.5-2.25
        (2.5, 2.25, 2.75, "within the spread"),  # they touch
        (2.5, 2.26, 2.75, "SLOWER"),
        (1.0, 0.9, 1.49, "faster"),
    ],
)
def test_change_beyond_the_spread(ms, low, high, verdict):
    """A change counts where the quartiles do not overlap."""
    (change,) = compare.changes(
        replace(RESULTS, rows=(RUNG,)),
        replace(RESULTS, rows=(replace(RUNG, ms=ms, low_ms=low, high_ms=high),)),
    )
    assert change.verdict == verdict
    assert change.speedup == 2.0 / ms
    assert change.spread == (1.5 / high, 2.25 / low)


def test_compare():
    """Rows by shape, rows only in one, and what differs between the two runs."""
    other = replace(
        LADDER,
        gpu=replace(LADDER.gpu, name="NVIDIA A100"),
        versions={"python": "3.12.3", "numba": "0.69.0"},
        rows=(replace(NAIVE, spare=1), replace(RUNG, ms=1.0, low_ms=1.0, high_ms=1.0), COPY, TORCH),
    )
    said = "\n".join(compare.lines(LADDER, other, ("A.json", "B.json")))
    assert said.count("within the spread") == 3 and said.count("faster") == 1
    assert tests.facts.table(said) == tests.facts.table("\n".join([
        "warning: the files differ in GPU: NVIDIA H200 / NVIDIA A100",
        "warning: the files differ in numba: 0.68.0 / 0.69.0",
        "3 rows in both, 1 changed by more than the spread",
        "transpose 40 x 35",
        "  transpose_tiled             2.0000 ->    1.0000 ms  speedup 2.000 (1.500-2.250)  faster",
        "  copy_wide                   0.5000 ->    0.5000 ms  speedup 1.000 (1.000-1.000)"
        "  within the spread",
        "  torch                       2.5000 ->    2.5000 ms  speedup 1.000 (1.000-1.000)"
        "  within the spread",
        "matmul on numba arrays, result given: beyond a launch 21.0 -> 21.0 us  within the spread",
        "only in A.json: transpose 40 x 35 transpose_naive",
        "only in A.json: transpose 40 x 35 fastest",
        "only in B.json: transpose 40 x 35, 1 spare per row transpose_naive",
    ]))  # fmt: skip


@pytest.mark.parametrize(
    ("low", "beyond", "high", "verdict"),
    [
        (15.0, 18.0, 19.9, "faster"),
        (15.0, 18.0, 20.0, "within the spread"),
        (23.5, 24.0, 25.0, "SLOWER"),
    ],
)
def test_host_times_compared(low, beyond, high, verdict):
    """What an operation adds has changed where its quartiles, 20 to 23, are left."""
    (old,) = RESULTS.overheads
    new = replace(old, low_us=low, beyond_us=beyond, high_us=high)
    said = compare.lines(RESULTS, replace(RESULTS, overheads=(new,)), ("A", "B"))
    (line,) = [line for line in said if "beyond a launch" in line]
    assert facts(line) == facts(f"21.0 {beyond}") and verdict in line


def test_panels():
    """The ladder in its unit with bounds, the library across; the choice over the copy."""
    ladder, choice = panels.panels(LADDER)
    bytes_moved = 2 * 40 * 35 * 4

    def rate(ms):
        return bytes_moved / ms / 1e6

    assert (ladder.title, ladder.unit) == ("transpose 40 x 35", "GB/s")
    assert ladder.bars == (
        Bar("transpose_naive", rate(4), rate(4), rate(4), "rung", rate(1.6)),
        Bar("transpose_tiled", rate(2), rate(2.25), rate(1.5), "rung", rate(1.6)),
        Bar("fastest", rate(0.625), rate(0.75), rate(0.5), "choice", rate(0.5)),
        Bar("copy_wide", rate(0.5), rate(0.5), rate(0.5), "limit", None),
    )
    assert ladder.lines == (("torch", rate(2.5)),)
    assert choice.title == "transpose: the choice by shape, speed over copy_wide's"
    (bar,) = choice.bars
    assert (bar.label, bar.value, bar.kind) == ("40 x 35", 0.8, "choice")
    assert (bar.low, bar.high) == pytest.approx((0.5 / 0.75, 1.0))
    assert choice.lines == (("copy_wide", 1.0),)


def test_nothing_to_draw():
    """Results without a time have no chart."""
    with pytest.raises(SmemnbError, match="no ladder and no ratio"):
        panels.panels(replace(RESULTS, rows=(FAILED,)))
