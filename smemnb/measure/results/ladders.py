"""A ladder at one shape as a chapter shows it: the times that are shipped, or those of this GPU.

    shipped_ladder("matmul", (4096, 4096, 4096))    rates, bounds and limiters; the same everywhere
    ladder_here("matmul", (4096, 4096, 4096))       measured now, where there is a GPU

Rates are TFLOP/s of a product and GB/s of a transpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan

from ...errors import SmemnbError
from ...figures.bars import Panel
from .model import NOT_MEASURED, Row, unit
from .panels import ladder_panel
from .present import rows_of_now
from .store import shipped
from .table import shape_words

__all__ = ["Ladder", "ladder_here", "shipped_ladder"]

NO_GPU = "No GPU here: nothing was measured, the recorded figures stand."


@dataclass(frozen=True, repr=False)
class Ladder:
    """Rows of one shape that were timed, and where that was.

    `missing` are rows of rungs that have no time: the results are older than they are.
    """

    rows: tuple[Row, ...]
    source: str
    missing: tuple[Row, ...] = ()

    def __getitem__(self, name: str) -> Row:
        """The row of a rung, or of a library; without a time if it was not measured.

        Raises:
            KeyError: there is no such rung here.
        """
        found = {row.name: row for row in (*self.rows, *self.missing)}
        if name not in found:
            raise KeyError(f"{name!r} was not timed; there are {', '.join(found)}")
        return found[name]

    def rate(self, name: str) -> float:
        """TFLOP/s or GB/s of a rung or a library; not a number (nan) if it was not measured."""
        found = self[name].rate
        return nan if found is None else found

    @property
    def library(self) -> Row | None:
        """The library beside which the rungs were timed, the first if there are several."""
        return next((row for row in self.rows if row.role == "library"), None)

    @property
    def panel(self) -> Panel:
        """Its bars, for `figures.bars.bar_chart`; libraries as lines beside them."""
        return ladder_panel(self.rows)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        """A line per row: rate, and where there is a bound the rate it allows."""
        first = self.rows[0]
        yield f"{first.operation} {shape_words(*first.case)}, {self.source}"
        yield f"{'':24}{unit(first.operation):>9}{'bound':>9}  limited by"
        for row in self.rows:
            rate = row.rate or 0.0
            line = f"{row.name:24}{rate:>9.4g}"
            if row.over_bound is not None:
                line += f"{rate * row.over_bound:>9.4g}  {row.limiter}"
            yield line
        for row in self.missing:
            yield f"{row.name:24}{NOT_MEASURED:>9}"


def shipped_ladder(
    operation: str, shape: tuple[int, ...], names: Sequence[str] = (), itemsize: int = 4
) -> Ladder:
    """The shipped rows of a shape in their order; of `names` only, where some are given.

    Raises:
        SmemnbError: the shape was not measured, or none of the names.
    """
    results = shipped()
    wanted = operation, shape, itemsize, 0
    rows = rows_of_now([row for row in results.rows if row.case == wanted])
    asked = [row for row in rows if not names or row.name in names]
    kept = tuple(row for row in asked if row.ms is not None)
    if not kept:
        raise SmemnbError(f"no times of {operation} {shape_words(*wanted)} are shipped")
    missing = tuple(row for row in asked if row.failed == NOT_MEASURED)
    return Ladder(kept, f"measured ({results.gpu.name})", missing)


def ladder_here(operation: str, shape: tuple[int, ...], names: Sequence[str] = ()) -> Ladder | str:
    """The ladder measured on this machine's GPU, or a sentence where there is none.

    Args:
        operation: "transpose" or "matmul".
        shape: rows and columns; of a product rows, columns and depth.
        names: rungs to measure; all of them, with what they compile first, if none are given.
    """
    from ...simulator import device

    gpu = device()
    if gpu in ("lockstep", "off", "numba simulator"):
        return NO_GPU
    from ..bench.case import LADDERS, Case
    from ..bench.libraries import found
    from ..bench.run import Setting, rows_of
    from ..bench.timing import GpuClock

    there, _ = found(("torch", "cublas"))
    setting = Setting(GpuClock(), there, ("torch", "cublas"), least=5, most=5)
    case = Case(operation, shape, rungs=tuple(names) or LADDERS[operation])
    rows = tuple(row for row in rows_of(case, setting) if row.ms is not None)
    return Ladder(rows, f"measured ({gpu}), now")
