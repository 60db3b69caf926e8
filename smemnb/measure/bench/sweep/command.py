"""What `smemnb bench sweep matmul|transpose` does, from a wish to a file on a GPU."""

from __future__ import annotations

import fcntl
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from ....errors import SmemnbError
from ...results.store import reserve
from ...rows import Show, print_lines
from .. import libraries, provenance
from ..calls_ahead import CallsAhead, processes_for
from ..command import no_small_grids, progress_bar
from ..timing import GpuClock
from .model import Reading, Sweep, begun, load, save
from .place import SETS, TorchPlace, calls_of
from .problems import Problem, problems
from .session import Keeping, continued, measured
from .timing import reading

__all__ = ["COUNTS", "Wish", "measure"]

COUNTS: Final = {"matmul": 300, "transpose": 200}
"""Problems of a sweep, where nothing else is said."""
L2: Final = f"as {SETS} sets of matrices in turn leave it: warm where all of them fit, for everyone"


@dataclass(frozen=True)
class Wish:
    """What is asked for.

    Attributes:
        operation: one of `problems.OPERATIONS`.
        count: of problems, at least 1.
        seed: of the problems.
        against: of torch and cupy.
        seconds: after so many no further problem begins.
        command: the words of the command line after `smemnb`.
        processes: that compile ahead; as many as there are processors, less two, if None.
        lock: a file that is locked while problems are timed, for several programs on one GPU. All
            is compiled before.
    """

    operation: str
    count: int
    seed: int
    against: Sequence[str] = libraries.NAMES
    seconds: float = float("inf")
    command: Sequence[str] = ()
    processes: int | None = None
    lock: Path | None = None


def measure(
    wish: Wish,
    *,
    out: Path | None,
    force: bool = False,
    resume: bool = False,
    show: Show = print_lines,
) -> Sweep:
    """Measure on the GPU of this process, and keep the file as it grows.

    Raises:
        SmemnbError: a wish that cannot be meant so, torch is missing, or the file cannot be written
            or continued. Nothing was measured.
    """
    problems(wish.operation, wish.count, wish.seed)
    there, said = _libraries(wish.against)
    torch = next(one.module for one in there if one.name == "torch")
    command = shlex.join(["smemnb", *wish.command])
    base = begun(provenance.origin(command, said, L2), wish.operation, wish.seed, wish.count)
    if out is not None:
        base = _reserved(base, out, force=force, resume=resume)
    side = torch.cuda.Stream()
    ahead = _ahead(wish, base)
    place = TorchPlace(
        torch,
        GpuClock(_numba_stream(side)),
        stream=side,
        libraries=[one for one in there if one.name in wish.against],
        alone=ahead.alone,
    )
    at = {one: k for k, one in enumerate(problems(wish.operation, wish.count, wish.seed))}

    def read(problem: Problem) -> Reading:
        with ahead.ready(at[problem]):
            return reading(problem, place)

    with (
        ahead,
        progress_bar() as progress,
        _held(wish.lock, partial(ahead.wait, progress)),
        no_small_grids(),
        place.current(),
    ):
        keeping = Keeping(
            keep=(lambda sweep: None) if out is None else partial(save, path=out),
            clocks=provenance.clocks,
            progress=progress,
        )
        found = measured(base, read, keeping, seconds=wish.seconds)
    show([f"  {ahead.words()}"])
    return found


@contextmanager
def _held(lock: Path | None, before: Callable[[], object]) -> Iterator[None]:
    """Within it this program has the GPU to itself, as far as others ask for the same lock.

    `before` runs first, while others may have it.
    """
    if lock is None:
        yield
        return
    before()
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _ahead(wish: Wish, base: Sweep) -> CallsAhead:
    """Processes that compile what the problems of a sweep that were not read yet will need."""
    there = {one.problem for one in base.readings}
    wanted = problems(wish.operation, wish.count, wish.seed)
    order = [at for at, one in enumerate(wanted) if one not in there]
    words = wish.operation, wish.count, wish.seed
    return CallsAhead(calls_of, words, order, processes_for(wish.processes))


def _libraries(against: Sequence[str]) -> tuple[tuple[libraries.Library, ...], dict[str, str]]:
    """torch, which makes the matrices, and those asked for that are there."""
    unknown = [name for name in against if name not in libraries.NAMES]
    if unknown or not against:
        named = unknown[0] if unknown else "(nothing)"
        raise SmemnbError(f"--against {named}: a sweep stands beside torch, cupy or both")
    there, said = libraries.found(tuple({"torch", *against}))
    if not any(one.name == "torch" for one in there):
        raise SmemnbError(f"a sweep makes its matrices with torch, which is {said['torch']}")
    return there, said


def _reserved(base: Sweep, out: Path, *, force: bool, resume: bool) -> Sweep:
    """The sweep to begin with, after making sure that its file can be written."""
    if not (resume and out.exists()):
        reserve(out, force=force)
        return base
    found = continued(load(out), base, str(out))
    reserve(out, force=True)
    return found


def _numba_stream(side: object) -> object:
    from numba import cuda

    return cuda.external_stream(side.cuda_stream)  # type: ignore[attr-defined]
