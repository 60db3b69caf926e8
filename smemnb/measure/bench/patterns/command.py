"""What `smemnb bench patterns` does, from a wish to a file on a GPU."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ....errors import SmemnbError
from ...results.store import reserve
from .. import libraries, provenance
from ..calls_ahead import CallsAhead, processes_for
from ..command import no_small_grids, progress_bar
from ..sweep.place import TorchPlace
from ..timing import GpuClock
from .case import PatternCase, Side
from .model import OURS, PatternReading, PatternResults, begun, save
from .run import SETS, reading

__all__ = ["ROOMS", "Wish", "drawn", "measure", "measured", "rooms"]

ROOMS = ("reduction", "scan", "stencil", "histogram", "rows")
L2 = f"as {SETS} sets of inputs in turn leave it: warm where all of them fit, for everyone"


@dataclass(frozen=True)
class Wish:
    """What is asked for.

    Attributes:
        room: one of `rooms()`.
        sweep: cases that are drawn beside the chosen ones.
        seed: of those, above 0.
        only: words, one of which a case's name has to contain.
        against: of torch and cupy.
        seconds: after so many no further case begins.
        command: the words of the command line after `smemnb`.
        processes: that compile ahead; as many as there are processors, less two, if None.
    """

    room: str
    sweep: int = 0
    seed: int = 1
    only: Sequence[str] = ()
    against: Sequence[str] = libraries.NAMES
    seconds: float = float("inf")
    command: Sequence[str] = ()
    processes: int | None = None


def rooms() -> tuple[str, ...]:
    """The rooms that have cases."""
    return tuple(one for one in ROOMS if find_spec(f"{__package__}.{one}") is not None)


def wanted(wish: Wish) -> list[tuple[PatternCase, int]]:
    """The cases of a wish with their seeds, chosen ones first.

    Raises:
        SmemnbError: there is no such room, or no such case.
    """
    if wish.room not in rooms():
        raise SmemnbError(f"there is no room {wish.room}; there are: {', '.join(rooms())}")
    room = import_module(f"{__package__}.{wish.room}")
    found = [(one, 0) for one in room.cases()]
    found += [(one, wish.seed) for one in drawn(room.random_case, wish.sweep, wish.seed)]
    if wish.only:
        found = [
            (one, seed)
            for one, seed in found
            if any(word in f"{one.operation} {one.words}" for word in wish.only)
        ]
    if not found:
        raise SmemnbError(f"no case of {wish.room} is called {' or '.join(wish.only)}")
    return found


def drawn(draw: Callable[[Any], PatternCase], count: int, seed: int) -> list[PatternCase]:
    """So many cases; case k is the same whatever the count."""
    import numpy as np

    return [draw(np.random.default_rng((seed, at))) for at in range(count)]


def measure(wish: Wish, *, out: Path | None, force: bool = False) -> PatternResults:
    """Measure on the GPU of this process, and keep the file as it grows.

    Raises:
        SmemnbError: a wish that cannot be meant so, torch is missing, or the file cannot be
            written. Nothing was measured.
    """
    cases = wanted(wish)
    there, said = libraries.found(tuple({"torch", *wish.against}))
    modules = {one.name: one.module for one in there}
    if "torch" not in modules:
        raise SmemnbError(f"patterns make their arrays with torch, which is {said['torch']}")
    if out is not None:
        reserve(out, force=force)
    torch = modules["torch"]
    stream = torch.cuda.Stream()
    from numba import cuda

    numbas = cuda.external_stream(stream.cuda_stream)
    ahead = CallsAhead(calls_of, (wish,), range(len(cases)), processes_for(wish.processes))
    place = TorchPlace(torch, GpuClock(numbas), stream=stream, libraries=there, alone=ahead.alone)
    at = {id(case): k for k, (case, _) in enumerate(cases)}
    command = shlex.join(["smemnb", *wish.command])
    base = begun(provenance.origin(command, said, L2), wish.room)
    base = replace(base, clocks=(provenance.clocks("before"),))
    cupy = modules.get("cupy") if "cupy" in wish.against else None
    with ahead, progress_bar() as progress, no_small_grids(), place.current():

        def one(case: PatternCase, seed: int) -> PatternReading:
            with ahead.ready(at[id(case)]):
                return reading(case, Side(torch, cupy, "cuda", numbas), place, seed)

        results = measured(
            base,
            cases,
            one,
            keep=(lambda results: None) if out is None else partial(save, path=out),
            progress=progress,
            seconds=wish.seconds,
        )
    results = replace(results, clocks=(*results.clocks, provenance.clocks("at the end")))
    if out is not None:
        save(results, out)
    return results


def calls_of(wish: Wish) -> Callable[[int], Callable[[], object]]:
    """Our calls of a wish's cases, by number: for processes that do not launch them."""
    from numba import cuda

    torch: Any = import_module("torch")
    cases = wanted(wish)
    stream = cuda.external_stream(torch.cuda.current_stream().cuda_stream)

    def call(at: int) -> Callable[[], object]:
        torch.cuda.empty_cache()
        prepared = cases[at][0].prepare(Side(torch, None, "cuda", stream), 0)
        torch.cuda.synchronize()
        return prepared.runs[OURS]

    return call


def measured(
    base: PatternResults,
    cases: Sequence[tuple[PatternCase, int]],
    read: Callable[[PatternCase, int], PatternReading],
    *,
    keep: Callable[[PatternResults], object],
    progress: Callable[[int, int, str], object] = lambda done, number, words: None,
    seconds: float = float("inf"),
    now: Callable[[], float] = time.monotonic,
) -> PatternResults:
    """Case after case; after an interruption (Ctrl-C), or out of time, what there is."""
    began, results = now(), base
    try:
        for done, (case, seed) in enumerate(_until(cases, began, seconds, now)):
            progress(done, len(cases), f"{case.operation} {case.words}")
            results = results.grown([read(case, seed)])
            keep(results)
    except KeyboardInterrupt:
        return results
    return replace(results, finished=len(results.readings) == len(cases))


def _until(
    cases: Sequence[tuple[PatternCase, int]],
    began: float,
    seconds: float,
    now: Callable[[], float],
) -> Iterator[tuple[PatternCase, int]]:
    for one in cases:
        if now() - began > seconds:
            return
        yield one
