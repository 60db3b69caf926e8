"""What `smemnb bench transpose|matmul|all|overhead` does, from a wish to results on a GPU."""

from __future__ import annotations

import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from numba import cuda

from ...errors import SmemnbError
from ...hardware import Chip
from ..results import Results, Row, table
from ..results.model import rate, unit
from ..results.store import reserve, save
from ..results.table import shape_words
from ..rows import Row as TableRow
from ..rows import Show, print_lines
from . import libraries, provenance
from .ahead import Ahead, Bounds, bound
from .case import Case, plan
from .device import sweep
from .overhead import overheads
from .run import Setting
from .session import Keeping, measured
from .timing import GpuClock

__all__ = ["Wish", "bar", "bound_lines", "measure", "no_small_grids", "progress_bar"]

BAR = 24


@dataclass(frozen=True)
class Wish:
    """What is asked for; `case.plan` and `libraries.found` say what the words mean."""

    operations: Sequence[str]
    overhead: bool
    sizes: Sequence[str] = ()
    itemsizes: Sequence[int] = ()
    rungs: Sequence[str] = ()
    also: str = ""
    against: Sequence[str] = ()
    flushed: bool = True
    quick: bool = False
    seconds: float = float("inf")
    processes: int | None = None
    command: str = ""


def measure(wish: Wish, *, out: Path | None, force: bool, show: Show = print_lines) -> Results:
    """Measure on the GPU of this process; show tables as they come, keep the file as it grows.

    Raises:
        SmemnbError: a wish that cannot be meant so, or a file that cannot be written. Nothing was
            measured.
    """
    cases = plan(
        wish.operations,
        sizes=wish.sizes,
        itemsizes=wish.itemsizes,
        rungs=wish.rungs,
        also=wish.also,
        quick=wish.quick,
    )
    there, said = libraries.found(wish.against)
    if out is not None:
        reserve(out, force=force)
    size = 2 * provenance.gpu().l2_bytes
    l2 = (
        "left as it is: resident"
        if not wish.flushed
        else (f"flushed: {size >> 20} MiB of other data read before each launch")
    )
    base = provenance.origin(wish.command, said, l2)
    show(table.origin_lines(base))
    between: Callable[[], object] = sweep(size) if wish.flushed else lambda: None
    foretold = partial(_foretell, show)
    setting = Setting(GpuClock(), there, wish.against, between, foretold=foretold)
    if wish.quick:
        setting = replace(setting, least=5, most=5)
    room = int(cuda.current_context().get_memory_info()[0] >> 31)
    ahead = Ahead(cases, wish.processes, _chip(), room)
    with ahead as kernels, progress_bar() as progress, no_small_grids():
        keeping = Keeping(
            keep=(lambda results: None) if out is None else partial(save, path=out),
            show=partial(_show, show),
            clocks=provenance.clocks,
            progress=progress,
        )
        hosts = partial(overheads, there) if wish.overhead else None
        results = measured(
            cases, setting, base, keeping, kernels=kernels, overheads=hosts, seconds=wish.seconds
        )
    show(_epilogue(results, out))
    return results


def bound_lines(cases: Sequence[Case], chip: Chip) -> Iterator[str]:
    """The bounds of a plan on a chip, from the model alone, a line per rung as it is found."""
    for case in cases:
        yield f"{case.operation} {shape_words(*case.key)} on {chip.name} (model)"
        for name in case.rungs:
            try:
                ms, limiter = bound(case, name, chip)
            except SmemnbError as error:
                yield f"  {name:<24} {error}"
                continue
            time, allowed = f"{ms:.4f}", f"{rate(*case.key[:3], ms):.4g}"
            per_second = unit(case.operation)
            yield TableRow(
                f"  {name:<24}{time:>10} ms {allowed:>8} {per_second}  {limiter}",
                (name, time, allowed, limiter),
                ("", "ms", per_second, "limiter"),
            )


def bar(done: int, number: int, words: str) -> str:
    """A progress bar.

    >>> bar(1, 4, "transpose 64 x 64")
    '[######                  ] 1/4 transpose 64 x 64'
    """
    filled = BAR * done // max(number, 1)
    return f"[{'#' * filled}{' ' * (BAR - filled)}] {done}/{number} {words}"


def _chip() -> Chip | None:
    """The chip of this process's device; None if its figures are not to be had."""
    from ..bounds import chip_of_device

    try:
        return chip_of_device()
    except (AttributeError, ValueError):
        return None


def _foretell(show: Show, case: Case, bounds: Bounds) -> None:
    """Show the bounds of a case before it is measured."""
    if bounds:
        _wipe()
        title = f"{case.operation} {shape_words(*case.key)}: at least, in ms"
        said = (f"{name} {ms:.4f} ({limiter})" for name, (ms, limiter) in bounds.items())
        filled = textwrap.wrap(", ".join(said), 100, initial_indent="  ", subsequent_indent="  ")
        show(["", title, *filled])


def _show(show: Show, rows: Sequence[Row]) -> None:
    _wipe()
    show(["", *table.case_lines(rows)])


def _epilogue(results: Results, out: Path | None) -> Iterator[str]:
    if results.overheads:
        yield ""
        yield from table.overhead_lines(results.overheads)
    yield ""
    yield table.clock_words(results.clocks)
    if not results.finished:
        yield "the run ended early: what is above was measured, the rest is missing"
    if out is not None:
        yield f"results: {out}"


@contextmanager
def no_small_grids() -> Iterator[None]:
    """No word of Numba's about grids too small for the GPU: some are meant to be small."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?i).*grid size")
        yield


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int, str], object]]:
    """A progress bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda done, number, words: None
        return

    def drawn(done: int, number: int, words: str) -> None:
        _wipe()
        sys.stderr.write(bar(done, number, words)[:78])
        sys.stderr.flush()

    try:
        yield drawn
    finally:
        _wipe()


def _wipe() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r" + " " * 79 + "\r")
        sys.stderr.flush()
