"""Bounds of both ladders as text, beside readings where a file of them is given."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...errors import SmemnbError
from ...hardware import Chip
from ...rules.roofline import Bound
from ..results.model import NOT_MEASURED
from .ladders import CHOICE, bound_of_rung, rungs

__all__ = ["SHAPES", "lines", "readings"]

SHAPES = {"transpose": (16384, 16384), "matmul": (4096, 4096, 4096)}
_RESOURCES = ("dram", "l2", "l1", "fma", "issue", "latency")

Readings = Mapping[tuple[str, tuple[int, ...]], float]


def lines(
    chip: Chip,
    measured: Readings | None = None,
    *,
    compiled: bool = True,
    shapes: Mapping[str, tuple[int, ...]] = SHAPES,
    only: str = "",
) -> Iterator[str]:
    """A line per rung as it is found: limiter, bound, each resource, measured over bound.

    The column l1 is the pipe that global and shared memory have in common.
    """
    before = ""
    for operation, rung in rungs():
        if only not in f"{operation} {rung}":
            continue
        if operation != before:
            yield from _head(operation, shapes[operation], chip, measured is not None)
        before = operation
        found = bound_of_rung(rung, shapes[operation], 4, chip, compiled=compiled)
        ms = None if measured is None else measured.get((rung, shapes[operation]))
        line = _line(rung, found, ms)
        yield line if measured is None or ms is not None else f"{line}  {NOT_MEASURED}"


def readings(file: Path) -> dict[tuple[str, tuple[int, ...]], float]:
    """Milliseconds by rung and shape, from a file of readings; the choice and trials left out.

    Raises:
        SmemnbError: a file that is no JSON with rows of shape and ms.
    """
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
        return {
            (_name(row), tuple(row["shape"])): float(row["ms"])
            for row in rows
            if _name(row) != CHOICE and row.get("ms") and not row.get("options")
            if row.get("itemsize", 4) == 4 and not row.get("spare")
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SmemnbError(
            f"{file} holds no readings ({type(error).__name__}: {error});"
            " smemnb bench ... --out FILE.json writes such a file"
        ) from None


def _name(row: dict[str, Any]) -> str:
    return str(row["rung"] if "rung" in row else row["name"])


def _head(operation: str, shape: tuple[int, ...], chip: Chip, beside: bool) -> Iterator[str]:
    said = "x".join(map(str, shape))
    yield f"{operation} {said} float32 on {chip.name}: ms that each resource allows at least"
    columns = "".join(f"{name:>9}" for name in _RESOURCES)
    after = f"{'measured':>10}{'x bound':>9}" if beside else ""
    yield f"{'rung':22}{'limiter':9}{'bound ms':>9} |{columns}{after}"


def _line(rung: str, found: Bound, ms: float | None) -> str:
    columns = "".join(f"{row.seconds * 1e3:9.3f}" for row in found.rows)
    after = "" if ms is None else f"{ms:10.3f}{found.ratio(ms / 1e3):9.2f}"
    said = "  (source)" if found.work.source_counts else ""
    return f"{rung:22}{found.limiter:9}{found.ms:9.3f} |{columns}{after}{said}"
