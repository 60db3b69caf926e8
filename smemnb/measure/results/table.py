"""Results as text: where and how they were measured, then a table per shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from .model import NOT_MEASURED, Clocks, Origin, Overhead, Results, Row, unit

__all__ = ["case_lines", "clock_words", "lines", "origin_lines", "overhead_lines", "shape_words"]

HEAD = f"{'ms':>10} {'quartiles':>19} {'ratio':>6} {'regs':>5} {'local':>6}"


def lines(results: Results) -> Iterator[str]:
    """All of it, a line at a time."""
    yield from origin_lines(results)
    if not results.finished:
        yield "  not finished: the run ended early, and what it did not reach is missing"
    yield f"  {clock_words(results.clocks)}"
    for _, group in groupby(results.rows, key=lambda row: row.case):
        yield ""
        yield from case_lines(list(group))
    if results.overheads:
        yield ""
        yield from overhead_lines(results.overheads)


def shape_words(operation: str, shape: Sequence[int], itemsize: int = 4, spare: int = 0) -> str:
    """A shape as the tables name it.

    >>> shape_words("matmul", (1024, 8192, 512)), shape_words("transpose", (40, 35), 2, 5)
    ('1024 x 8192, depth 512', '40 x 35, 2-byte elements, 5 spare per row')
    """
    words = f"{shape[0]} x {shape[1]}"
    words += f", depth {shape[2]}" if operation == "matmul" else ""
    words += "" if itemsize == 4 else f", {itemsize}-byte elements"
    return words + (f", {spare} spare per row" if spare else "")


def origin_lines(results: Origin) -> Iterator[str]:
    """Where and how."""
    gpu = results.gpu
    yield (
        f"measured ({gpu.name}, cc {gpu.cc}, {gpu.multiprocessors} multiprocessors),"
        f" driver {results.driver}, CUDA {results.cuda}, {results.date}"
    )
    yield "  " + ", ".join(f"{name} {version}" for name, version in results.versions.items())
    if results.libraries:
        said = (f"{name}: {version}" for name, version in results.libraries.items())
        yield f"  beside {'; '.join(said)}"
    yield f"  {results.command}"
    yield f"  L2 cache {results.l2}; medians and quartiles over interleaved rounds"


def clock_words(clocks: Sequence[Clocks]) -> str:
    """What the readings of the clocks say, in one sentence."""
    read = [one.sm_mhz for one in clocks if one.sm_mhz is not None]
    if not read:
        return "clocks were not read (no nvidia-smi)"
    middle = read[1:-1] or read
    return (
        f"SM clock {read[0]:.0f} MHz before, {min(middle):.0f} to {max(middle):.0f} after a shape,"
        f" {read[-1]:.0f} at the end"
    )


def case_lines(rows: Sequence[Row]) -> Iterator[str]:
    """The table of one shape."""
    first = rows[0]
    wide = max(14, *(len(_label(row)) for row in rows)) + 2
    errors = any(row.error is not None for row in rows)
    bounds = any(row.bound_ms is not None for row in rows)
    beside = next((row.beside for row in rows if row.beside is not None), None)
    title = f"{first.operation} {shape_words(*first.case)}"
    yield title + (f" (ratio: time of {beside} over this one's)" if beside else "")
    head = f"{'':<{wide}}{unit(first.operation):>9} {HEAD}"
    head += f" {'error':>8}" if errors else ""
    head += f" {'bound ms':>9} {'x bound':>7}  limiter" if bounds else ""
    yield head
    for row in rows:
        yield _line(row, wide, errors, bounds).rstrip()
    yield from _choice(rows)


def _line(row: Row, wide: int, errors: bool, bounds: bool) -> str:
    label = f"  {_label(row):<{wide - 2}}"
    if row.ms is None or row.low_ms is None or row.high_ms is None:
        return label + (
            f" {row.failed}" if row.failed == NOT_MEASURED else f" not timed: {row.failed}"
        )
    quartiles = f"{row.low_ms:.4f}-{row.high_ms:.4f}"
    line = f"{label}{_rate(row):>9} {row.ms:>10.4f} {quartiles:>19} {_number(row.ratio, '.3f'):>6}"
    line += f" {_number(row.registers, 'd'):>5} {_number(row.local_bytes, 'd'):>6}"
    line += f" {_number(row.error, '.1e'):>8}" if errors else ""
    if bounds:
        line += f" {_number(row.bound_ms, '.4f'):>9} {_number(row.over_bound, '.2f'):>7}"
        line += f"  {row.limiter or ''}"
    return line + ("" if row.right else "  WRONG VALUES")


def _label(row: Row) -> str:
    if row.role == "limit":
        return f"{row.name} (limit)"
    if row.role == "choice" and row.kernel:
        return f"{row.name}: {row.kernel}"
    return row.name


def _rate(row: Row) -> str:
    found = row.rate
    assert found is not None
    return format(found, ".0f" if found >= 100 else ".4g" if found >= 0.01 else ".2g")


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _choice(rows: Sequence[Row]) -> Iterator[str]:
    """How the choice, or the last rung, stands to each library."""
    timed = [row for row in rows if row.ms is not None]
    ours = [row for row in timed if row.role == "choice"]
    ours = ours or [row for row in timed if row.role == "rung"][-1:]
    for row in ours:
        said = [
            f"{other.ms / row.ms:.3f} times {other.name}'s speed"
            for other in timed
            if other.role in ("library", "limit") and other.ms and row.ms
        ]
        if said:
            yield f"  {row.name} has {', '.join(said)}"


def overhead_lines(overheads: Sequence[Overhead]) -> Iterator[str]:
    """The table of host times."""
    yield "host time of one call, microseconds (median; beyond: what the operation adds)"
    yield f"  {'operation':<11}{'arrays':<8}{'result':<8}{'call':>8}{'launch':>8}{'beyond':>8}" + (
        f"{'quartiles':>15}"
    )
    for one in overheads:
        quartiles = f"{one.low_us:.1f}-{one.high_us:.1f}"
        yield (
            f"  {one.operation:<11}{one.arrays:<8}{one.result:<8}{one.call_us:>8.1f}"
            f"{one.launch_us:>8.1f}{one.beyond_us:>8.1f}{quartiles:>15}"
        )
