"""What `smemnb tune` does on a GPU: a search whose steps are printed and kept as they come."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

from ..bench import libraries, provenance
from ..bench.case import shape
from ..bench.command import no_small_grids
from ..bench.device import sweep
from ..bench.run import Setting
from ..bench.timing import GpuClock
from ..results.store import reserve
from ..rows import Show, print_lines
from . import outcome as outcomes
from .outcome import Outcome
from .search import searched
from .space import Choices, Step
from .timer import Compilers, GpuTimer

__all__ = ["SIZES", "Wish", "search"]

SIZES = {"transpose": "16384", "matmul": "4096"}


@dataclass(frozen=True)
class Wish:
    """What is asked for on the command line; with 0 processes kernels compile one by one."""

    operation: str
    size: str
    itemsize: int
    start: Choices
    steps: Sequence[Step]
    seconds: float = float("inf")
    rounds: int = 15
    against: Sequence[str] = ()
    processes: int | None = None
    command: str = ""


def search(wish: Wish, *, out: Path | None, force: bool, show: Show = print_lines) -> Outcome:
    """Search on the GPU of this process; show each step, keep the file as it grows.

    Raises:
        SmemnbError: a size that is none, or a file that cannot be written.
    """
    extents = shape(wish.size or SIZES[wish.operation], wish.operation)
    there, said = libraries.found(wish.against)
    if out is not None:
        reserve(out, force=force)
    base = provenance.origin(wish.command, said, "")
    begun = Outcome(
        gpu=base.gpu,
        driver=base.driver,
        versions=base.versions | base.libraries,
        date=base.date,
        command=wish.command,
        operation=wish.operation,
        shape=extents,
        itemsize=wish.itemsize,
        start=asdict(wish.start),
        best=asdict(wish.start),
    )
    setting = Setting(
        GpuClock(),
        there,
        wish.against,
        sweep(2 * base.gpu.l2_bytes),
        least=wish.rounds,
        most=wish.rounds,
    )
    show([next(outcomes.lines(begun))])
    what = wish.operation, extents, wish.itemsize
    pool = nullcontext() if wish.processes == 0 else Compilers(*what, wish.processes)
    with pool as compilers, no_small_grids():
        found = searched(
            wish.start,
            wish.steps,
            GpuTimer(*what, setting, compilers),
            begun,
            seconds=wish.seconds,
            keep=(lambda outcome: None) if out is None else lambda kept: outcomes.save(kept, out),
            say=lambda trial: show(outcomes.trial_lines(trial)),
        )
    early = "not finished: interrupted or out of time; the best so far:"
    last = ["", *([] if found.finished else [early]), *outcomes.summary(found), ""]
    show([*last, *outcomes.usage(found)])
    if out is not None:
        outcomes.save(found, out)
        show(["", f"results: {out}"])
    return found
