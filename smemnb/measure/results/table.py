"""Results as text: where and how they were measured, then a table per shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ..rows import head, row
from .model import NOT_MEASURED, Clocks, Origin, Overhead, Results, unit
from .model import Row as Reading

__all__ = ["case_lines", "clock_words", "lines", "origin_lines", "overhead_lines", "shape_words"]

HEAD = (f"{'ms':>11}", f"{'quartiles':>20}", f"{'ratio':>7}", f"{'regs':>6}", f"{'local':>7}")


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


def case_lines(rows: Sequence[Reading]) -> Iterator[str]:
    """The table of one shape."""
    first = rows[0]
    wide = max(14, *(len(_label(row)) for row in rows)) + 2
    errors = any(row.error is not None for row in rows)
    bounds = any(row.bound_ms is not None for row in rows)
    beside = next((row.beside for row in rows if row.beside is not None), None)
    title = f"{first.operation} {shape_words(*first.case)}"
    yield title + (f" (ratio: time of {beside} over this one's)" if beside else "")
    names = [" " * wide, f"{unit(first.operation):>9}", *HEAD]
    names += [f"{'error':>9}"] if errors else []
    names += [f"{'bound ms':>10}", f"{'x bound':>8}", "  limiter"] if bounds else []
    yield head(*names)
    for one in rows:
        yield _line(one, wide, errors, bounds)
    yield from _choice(rows)


def _line(one: Reading, wide: int, errors: bool, bounds: bool) -> str:
    label = f"  {_label(one):<{wide - 2}}"
    if one.ms is None or one.low_ms is None or one.high_ms is None:
        why = one.failed if one.failed == NOT_MEASURED else f"not timed: {one.failed}"
        return f"{label} {why}".rstrip()
    quartiles = f"{one.low_ms:.4f}-{one.high_ms:.4f}"
    parts = [label, f"{_rate(one):>9}", f"{one.ms:>11.4f}", f"{quartiles:>20}"]
    parts += [f"{_number(one.ratio, '.3f'):>7}", f"{_number(one.registers, 'd'):>6}"]
    parts += [f"{_number(one.local_bytes, 'd'):>7}"]
    parts += [f"{_number(one.error, '.1e'):>9}"] if errors else []
    if bounds:
        parts += [f"{_number(one.bound_ms, '.4f'):>10}", f"{_number(one.over_bound, '.2f'):>8}"]
        parts += [f"  {one.limiter or ''}"]
    return row(*parts, *([] if one.right else ["  WRONG VALUES"]))


def _label(row: Reading) -> str:
    if row.role == "limit":
        return f"{row.name} (limit)"
    if row.role == "choice" and row.kernel:
        return f"{row.name}: {row.kernel}"
    return row.name


def _rate(row: Reading) -> str:
    found = row.rate
    assert found is not None
    return format(found, ".0f" if found >= 100 else ".4g" if found >= 0.01 else ".2g")


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _choice(rows: Sequence[Reading]) -> Iterator[str]:
    """How the choice, or the last rung, stands to each library."""
    timed = [row for row in rows if row.ms is not None]
    ours = [row for row in timed if row.role == "choice"]
    ours = ours or [row for row in timed if row.role == "rung"][-1:]
    for mine in ours:
        said = [
            f"{other.ms / mine.ms:.3f} times {other.name}'s speed"
            for other in timed
            if other.role in ("library", "limit") and other.ms and mine.ms
        ]
        if said:
            yield f"  {mine.name} has {', '.join(said)}"


def overhead_lines(overheads: Sequence[Overhead]) -> Iterator[str]:
    """The table of host times."""
    yield (
        "host time of one call, microseconds (median; beyond: what the operation adds;"
        " own: the arrays' library)"
    )
    yield head(
        f"  {'operation':<11}",
        f"{'arrays':<8}",
        f"{'result':<8}",
        f"{'call':>8}",
        f"{'launch':>8}",
        f"{'beyond':>8}",
        f"{'quartiles':>15}",
        f"{'own':>8}",
        f"{'call/own':>10}",
    )
    for one in overheads:
        quartiles = f"{one.low_us:.1f}-{one.high_us:.1f}"
        left = f"  {one.operation:<11}", f"{one.arrays:<8}", f"{one.result:<8}"
        times = f"{one.call_us:>8.1f}", f"{one.launch_us:>8.1f}", f"{one.beyond_us:>8.1f}"
        own, ratio = "", ""
        if one.own_us is not None:
            own, ratio = f"{one.own_us:.1f}", f"{one.call_us / one.own_us:.2f}"
        yield row(*left, *times, f"{quartiles:>15}", f"{own:>8}", f"{ratio:>10}")
