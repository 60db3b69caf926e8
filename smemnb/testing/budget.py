"""What a launch may cost: the most wavefronts, sectors and bytes, and what went over, in words.

    Budget(extra=0, sectors=8192).excess(trace)      -> lines of text, none if all is within

All numbers are the model's, over the whole launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields

from ..errors import SmemnbError
from ..tracing import AccessRow, Finding, Trace
from ..tracing.findings import SEVERITIES

_LINES_SHOWN = 5


@dataclass(frozen=True)
class Budget:
    """The most that a launch may take of each; None for no limit.

    Attributes:
        wavefronts: of shared memory.
        extra: wavefronts of shared memory above the fewest possible.
        ways: the worst n-way of any shared request.
        sectors: of global memory, 32 bytes each.
        extra_sectors: sectors above the fewest that hold the bytes asked for.
        shared_bytes: of shared memory per block, static and dynamic.
    """

    wavefronts: int | None = None
    extra: int | None = None
    ways: int | None = None
    sectors: int | None = None
    extra_sectors: int | None = None
    shared_bytes: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            most = getattr(self, field.name)
            whole = isinstance(most, int) and not isinstance(most, bool) and most >= 0
            if most is not None and not whole:
                raise SmemnbError(
                    f"the budget {field.name}={most!r} is no number of {_UNITS[field.name]}:"
                    " write a whole number from 0 on, the most that is allowed"
                )

    def excess(self, trace: Trace) -> Iterator[str]:
        """Lines that say what the launch took too much of, and at which source lines."""
        for field in fields(self):
            most, taken = getattr(self, field.name), _TAKEN[field.name](trace)
            if most is None or taken <= most:
                continue
            yield f"{_UNITS[field.name]}: {taken:,}, the budget is {most:,}"
            yield from _lines(trace, field.name)


_UNITS = {
    "wavefronts": "wavefronts",
    "extra": "extra wavefronts",
    "ways": "n-way of the worst request",
    "sectors": "sectors",
    "extra_sectors": "extra sectors",
    "shared_bytes": "shared bytes per block",
}
_TAKEN: dict[str, Callable[[Trace], int]] = {
    "wavefronts": lambda trace: trace.shared.wavefronts,
    "extra": lambda trace: trace.shared.extra,
    "ways": lambda trace: trace.shared.ways,
    "sectors": lambda trace: trace.global_.sectors,
    "extra_sectors": lambda trace: trace.global_.extra_sectors,
    "shared_bytes": lambda trace: (
        trace.launch.static_shared_bytes + trace.launch.dynamic_shared_bytes
    ),
}


def _lines(trace: Trace, unit: str) -> Iterator[str]:
    """The source lines that take the most of a unit, largest first."""
    if unit == "shared_bytes":
        return
    rows = [row for row in trace.lines if getattr(row, unit)]
    rows.sort(key=lambda row: -getattr(row, unit))
    for row in rows[:_LINES_SHOWN]:
        yield f"    {_place(trace, row)}: {row.source.strip()}"
        yield f"        {row.access}: {getattr(row, unit):,} in {row.requests:,} requests"
    if len(rows) > _LINES_SHOWN:
        yield f"    and {len(rows) - _LINES_SHOWN} more lines"


def _place(trace: Trace, row: AccessRow) -> str:
    own = row.function == trace.launch.kernel
    return f"line {row.line}" if own else f"line {row.line} of {row.function}"


def failing(
    findings: Iterable[Finding], severity: str | None, *, prices: bool = False
) -> list[Finding]:
    """The findings of this severity or worse; None: none at all.

    Prices (uncoalesced accesses, float64 in a float32 kernel ...) change no result and count only
    with `prices`.

    Raises:
        SmemnbError: an unknown severity.
    """
    if severity is not None and severity not in SEVERITIES:
        raise SmemnbError(f"severity={severity!r}: write one of {', '.join(SEVERITIES)}, or None")
    if severity is None:
        return []
    reported = SEVERITIES[: [*SEVERITIES].index(severity) + 1]
    return [one for one in findings if one.severity in reported and (prices or not one.price)]
