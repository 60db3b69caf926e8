"""Reports, comparisons and charts of sweeps that were written by hand."""

from dataclasses import replace

import pytest

import tests.facts
from smemnb.errors import SmemnbError
from smemnb.measure.bench.sweep import chart, compare, report
from tests.facts import facts
from tests.measure.bench.sweep.sample import LARGE, READINGS, SWEEP, TRANSPOSES, timed


def cells(lines, first):
    """The cells of the row that begins with a word, in every table that has it."""
    return [row[1:] for row in tests.facts.table("\n".join(lines)) if row[:1] == [first]]


def block(lines, title):
    """The lines from a title to the next empty line."""
    found = list(lines)
    begin = next(at for at, line in enumerate(found) if line.startswith(title))
    end = found.index("", begin) if "" in found[begin:] else len(found)
    return found[begin + 1 : end]


def test_ratios_of_products():
    """Beside the faster library by size and layout, then beside each one alone."""
    lines = list(report.lines(SWEEP))
    # 0.9, 1.25, 2: geometric mean the cube root of 2.25
    large, of_cupy, of_torch = cells(lines, "above 1 GFLOP")
    assert large == [
        "3",
        "3",
        "1.310",
        "0.900",
        "1.075",
        "1.250",
        "1.625",
        "100.0%",
        "100.0%",
        "66.7%",
    ]
    assert of_cupy[2] == "2.621" and of_torch == large
    # 0.5 and 1, and one that was refused
    assert cells(lines, "up to 1 GFLOP")[0] == [
        *("3", "2", "0.707", "0.500", "0.625", "0.750", "0.875", "33.3%", "33.3%", "33.3%")
    ]
    assert cells(lines, "NT")[0][2] == "2.000"
    assert any(facts(line) == facts("7 8 3") for line in lines)  # done, wanted, seed


def test_worst_of_products():
    """Apart for both sizes, with shape, layout, times and what the operation said."""
    lines = list(report.lines(SWEEP))
    (small, *_) = block(lines, "the worst 2 up to 1 GFLOP")[1:]
    assert small.split() == "0.500 NN 16 x 16, depth 16 4.00 4.00 2.00 one block".split()
    large = block(lines, "the worst 3 above 1 GFLOP")[1:]
    assert [line.split()[:2] for line in large] == [
        ["0.900", "TT"],
        ["1.250", "NN"],
        ["2.000", "NT"],
    ]


def test_errors_are_named():
    """2.5 times... beyond twice torch's error; exactly twice is not."""
    exact = replace(READINGS[0], error=2e-6, torch_error=1e-6)
    twice = replace(SWEEP, readings=(exact, READINGS[3]))
    found = block(report.lines(twice), "errors against float64")
    assert [facts(line) for line in found] == [
        facts("5.00 2048 1024 1024 5e-06, 84 roundings; torch 1e-06")
    ]


def test_what_was_not_timed():
    """Refusals, memory, libraries left out, captures that failed, results that change."""
    lines = list(report.lines(SWEEP))
    refused, skipped = block(lines, "not timed: 1 refused, 1 skipped")
    assert "TN 8 x 8, depth 8: `a` lies by columns" in refused
    assert "needs 3 GiB" in skipped
    assert block(lines, "not the same bits") == ["  TN 32 x 16, depth 16"]
    assert facts(*block(lines, "not timed beside ours")) == facts("cupy 1: error 1.0 00")
    assert "cupy, 1 times: not permitted" in block(lines, "not held by a CUDA graph")[0]


def test_transposes_beside_the_copy():
    """0.5, 0.75 and 1 of the copy; the worst have its time."""
    lines = list(report.lines(TRANSPOSES))
    beside, of_copy = cells(lines, "all")
    assert beside[2] == "4.000"
    assert (
        of_copy[2] == f"{0.375 ** (1 / 3):.3f}"
        and of_copy[3:7] == "0.500 0.625 0.750 0.875".split()
    )
    first = block(lines, "the worst 2 up to 100 MB, beside the libraries")[1]
    assert first.split() == "4.000 1000 x 1001, 1 byte 1000.00 4000.00 500.00".split()
    copies = block(lines, "the worst 2 up to 100 MB, beside the copy")[1:]
    assert [line.split()[0] for line in copies] == ["0.500", "0.750"]
    assert of_copy[7:] == ["66.7%", "33.3%", "33.3%"]  # at least 0.7, 0.85 and 0.9


def test_nothing_was_measured():
    """An empty sweep says where it was, and that it ended early."""
    lines = list(report.lines(replace(SWEEP, readings=())))
    assert facts(lines[-1]) == facts("0 8 3")


def test_long_lists_are_cut():
    many = tuple(replace(READINGS[2], shape=(8, 8, depth)) for depth in range(1, 31))
    found = block(report.lines(replace(SWEEP, readings=many)), "not timed")
    assert len(found) == 21 and "10" in found[-1]


OLD = replace(
    SWEEP,
    seed=9,
    readings=(
        timed((16, 16, 16), 1.0, ms=0.002, plan="two blocks"),  # ours took half as long
        timed(LARGE, 2.0, "NT", ms=1 / 1.055),
        timed((2048, 1024, 1024), 0.9, "TT", ms=1 / 1.045),  # less than 5 %
        timed((8, 8, 8), 1.0, "TN"),  # is refused now
        timed((4096, 1024, 1024), 1.0, "NN", ms=2.0),
        timed((5, 5, 5), 1.0),
    ),
)


def test_compare():
    """Problems of both, by shape and layout: 2, 1.055, 1.045 and 0.5 times the old time."""
    found = compare.changes(OLD, SWEEP)
    assert [one.ratio for one in found] == pytest.approx([2.0, 1.055, 1.045, 0.5])
    assert [one.problem.shape for one in compare.lost(OLD, SWEEP)] == [(8, 8, 8)]
    lines = list(compare.lines(OLD, SWEEP, "old.json"))
    assert facts(lines[1]) == facts(f"4 {(1.055 * 1.045) ** 0.25:.3f} 2 5 1")
    # torch: 0.002 -> 0.002, 1.896 -> 2, 0.861 -> 0.9, 2 -> 1.25
    mean = (1.055 * 1.045 * 0.625) ** 0.25
    assert any("torch" in line and facts(line) == facts(f"{mean:.3f}") for line in lines)
    (slower,) = [line for line in lines if "one block" in line]
    assert facts(slower) == facts("2.000 16 16 16: 2.00 4.00")
    assert any("no longer timed: TN 8 x 8, depth 8" in line for line in lines)


def test_compare_says_what_differs():
    other = replace(OLD, gpu=replace(OLD.gpu, name="NVIDIA H100"))
    assert any("NVIDIA H100" in line for line in compare.lines(other, SWEEP, "old.json"))


def test_compare_refuses():
    """Nothing in common, or another operation."""
    with pytest.raises(SmemnbError, match="seed 9"):
        list(compare.lines(replace(OLD, readings=OLD.readings[-1:]), SWEEP, "old.json"))
    with pytest.raises(SmemnbError, match="transpose"):
        list(compare.lines(TRANSPOSES, SWEEP, "old.json"))


def test_chart_series():
    """A colour per layout, or per size of elements; FLOP or bytes across, the ratio up."""
    products = {one.label: one.points for one in chart.series(SWEEP)}
    assert products == {
        "NN": ((2.0 * 16**3, 0.5), (2.0 * 4096 * 1024**2, 1.25)),
        "NT": ((2.0 * 1024**3, 2.0),),
        "TN": ((2.0 * 32 * 16 * 16, 1.0),),
        "TT": ((2.0 * 2048 * 1024**2, 0.9),),
    }
    assert [(one.label, one.points[0][0]) for one in chart.series(TRANSPOSES)] == [
        ("1 byte", 2.0 * 1000 * 1001),
        ("2 bytes", 2.0 * 1000 * 2000 * 2),
    ]


def test_chart_of_nothing():
    with pytest.raises(SmemnbError, match="beside a library"):
        chart.series(replace(SWEEP, readings=READINGS[2:3]))


@pytest.mark.parametrize(("form", "head"), [("svg", b"<?xml"), ("png", b"\x89PNG\r")])
def test_chart_picture(form, head):
    drawn = chart.picture(SWEEP, form)
    assert drawn[:5] == head
    assert form == "png" or b"NVIDIA H200" in drawn
