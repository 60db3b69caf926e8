"""`replay`: a block of a launch, recorded with its barriers and without each of them.

    replay(kernel)[grid, block](*args)                  the first block
    replay(kernel, block=(1, 2))[grid, block](*args)    another one
    replay(kernel, without=24)[grid, block](*args)      begins without the barrier of line 24

The engine runs the chosen block alone, on copies of the arguments: nothing is written. Between two
barriers it runs the warps one after the other, so that a warp which need not wait does overtake.
Without a race the order changes nothing; with one, loads become stale. Of the orders in `ORDERS`
the first with a stale read is kept, else the first; a race that shows in none of them stays unseen.

Taught in `30_tiles` (what each barrier is there for).

A kernel without barriers is recorded once; its stale reads are those that see another store than in
lockstep order, in which all warps go from line to line together.

**Limits**: lanes of one warp run together, so that a race inside a warp does not show, which
`trace` finds; what other blocks store in global memory is not seen; an array that is given twice is
two; a kernel that waits for other blocks is stopped after `PATIENCE_S` seconds. `MOST_BARRIERS`
barriers are left out in turn, the one that `without` names among them. A run records
`record.MOST_ELEMENTS` elements.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...errors import KernelStopped, LaunchRefused, SmemnbError, UnassignedVariable, shortened
from ...lockstep.batch import Segment
from ...lockstep.fibers.plan import Order
from ...lockstep.intrinsics.printing import unshown
from ...lockstep.watch import Watcher
from ...simulator import launch
from ...tracing.as_compiled import KEPT_BYTES, keep
from ...tracing.model import Dim3, place
from ...tracing.trace import Trace
from ...tracing.tracer import Configured as TracedLaunch
from ...tracing.tracer import Tracer
from .barriers import barrier_lines, has_barriers, has_shared_memory
from .camera import Camera
from .film import Film, film_of
from .record import MOST_ELEMENTS, Run
from .recorder import Full, Recorder
from .staging import sources
from .stale import compared

if TYPE_CHECKING:
    from .widget import Replay

__all__ = ["MOST_BARRIERS", "ORDERS", "PATIENCE_S", "OneBlock", "Replayer", "replay"]

ORDERS: tuple[tuple[Order, int], ...] = (
    ("reversed", 0),
    ("random", 1),
    ("random", 2),
    ("random", 3),
)
LATE: tuple[Order, int] = ("late", 0)
"""Tried too where there are asynchronous copies: they land when their thread waits for them."""
WITH_ALL = 2
"""Orders that are tried with all barriers, where as a rule nothing is stale."""
MOST_BARRIERS = 8
PATIENCE_S = 20.0
"""Seconds that one run may take."""
FILM_S = 10.0
"""Seconds that a run for the film may take; the film has the phases that it comes to."""


def replay(
    kernel: Any, *, without: int | None = None, block: int | tuple[int, ...] | None = None
) -> Replayer:
    """The kernel, to be launched and recorded: `replay(kernel)[grid, block](*args)`.

    The launch returns a `Replay`. A notebook displays it; its `page()` is a page of HTML that needs
    no notebook, no kernel and no network:
    `Path("block.html").write_text(replay(kernel)[grid, block](*args).page(), "utf-8")`.

    Args:
        kernel: what `@cuda.jit` returns, or the plain function.
        without: line of a barrier in the file (in a notebook: in the cell), to begin with the run
            without it; None to begin with all barriers.
        block: which block is recorded, as a number or as (x, y, z); None for the first.

    Raises:
        LaunchRefused: `kernel` is no kernel or has no shared memory, `without` is no line of a
            barrier in its text, `block` is no block. It is a ValueError.
    """
    try:
        _check_is_kernel(kernel)
        function = cast(FunctionType, launch.kernel_of(kernel).function)
        _check_kernel(function)
        return Replayer(kernel, function, _checked_line(function, without), _checked_block(block))
    except SmemnbError as error:
        raise shortened(error) from error.__cause__


class Replayer:
    """A kernel that waits for its launch configuration, as a Numba kernel does."""

    def __init__(
        self,
        kernel: Any,
        function: FunctionType,
        without: int | None,
        block: tuple[int, ...] | None,
    ) -> None:
        self._kernel, self._function = kernel, function
        self._without, self._block = without, block

    def __getitem__(self, configuration: Any) -> Configured:
        """The kernel with grid, block, and if given stream and dynamic shared bytes.

        Raises:
            LaunchRefused: fewer than 2 or more than 4 entries.
        """
        name = self._function.__name__
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise LaunchRefused(
                f"replay({name})[{configuration!r}] lacks a launch: write replay({name})"
                "[grid, block](...), and stream and bytes of shared memory after them if needed"
            )
        grid, block, *rest = configuration
        return Configured(self, grid, block, *rest)

    def __call__(self, *args: Any) -> Replay:
        """Refused: a kernel needs a launch configuration.

        Raises:
            LaunchRefused: always.
        """
        name = self._function.__name__
        raise LaunchRefused(f"{name} needs a launch: replay({name})[grid, block](...)")

    def __repr__(self) -> str:
        return f"replay({self._function.__name__}), to be launched with [grid, block](...)"

    @property
    def function(self) -> FunctionType:
        """The kernel's Python function."""
        return self._function

    def run(
        self, grid: Any, block: Any, stream: Any, shared_bytes: int, args: tuple[Any, ...]
    ) -> Replay:
        """The replay of one launch."""
        from .widget import Replay

        grid_dim, block_dim = launch.launch_dimensions(self._kernel, grid, block)
        number = _number(self._block, grid_dim, self._function.__name__)
        kept = keep(args)
        if kept is None:
            raise LaunchRefused(
                f"args of {self._function.__name__}: a replay runs on copies, and these exceed"
                f" {KEPT_BYTES >> 20} MB or hold objects. Pass smaller arrays of numbers"
            )
        how = OneBlock(grid_dim, block_dim, stream, shared_bytes, kept, number)
        lines = barrier_lines(self._function)
        reference = how.recorded(self._kernel, None, None, 0)
        if not any(tile.space == "shared" for tile in reference.tiles):
            here = place(reference.place, grid_dim)
            raise LaunchRefused(
                f"block={here}: this block of {self._function.__name__} touches no shared array in"
                " this launch; name one that does, or pass data that reach it"
            )
        # a barrier that is no syncthreads(), as of a whole grid, is known where a run came to it
        bare = not has_barriers(self._function) and set(reference.barriers) <= {None}
        runs = [replace(how.worst(self._kernel, None, reference), bare=bare)]
        notes: list[str] = []
        chosen = lines[:MOST_BARRIERS]
        if self._without is not None and self._without not in chosen:
            chosen = (*chosen[:-1], self._without)
        for line in chosen:
            try:
                runs.append(how.worst(self._kernel, line, reference))
            except Exception as error:  # also what a thread of a kernel with debug=True raises
                said = (str(error) or type(error).__name__).splitlines()[0]
                notes.append(f"Without the barrier of line {line} the kernel stops: {said}")
        if len(chosen) < len(lines):
            left = ", ".join(str(line) for line in lines if line not in chosen)
            notes.append(f"Not left out in turn are the barriers of lines {left}.")
        begin = next((at for at, run in enumerate(runs) if run.without == self._without), 0)
        film = how.film(self._kernel, self._function)
        return Replay(tuple(runs), begin, self._function, film, tuple(notes))


class Configured:
    """A kernel with its launch configuration, as `kernel[grid, block]` is for Numba."""

    def __init__(
        self, replayer: Replayer, grid: Any, block: Any, stream: Any = 0, shared_bytes: int = 0
    ) -> None:
        self._replayer = replayer
        self._launch = (grid, block, stream, shared_bytes)

    def __call__(self, *args: Any, **named: Any) -> Replay:
        """The replay of this launch; the arguments stay as they are.

        Raises:
            LaunchRefused: a device would refuse the launch, `block` is outside the grid, or the
                arguments cannot be copied; nothing was launched.
            SmemnbError: the kernel is refused or stopped, as under `trace`.
        """
        from ...simulator.signatures import check_positional

        try:
            check_positional(self._replayer.function, named)
            return self._replayer.run(*self._launch, args)
        except (SmemnbError, KeyboardInterrupt) as error:
            raise shortened(error) from error.__cause__

    def __repr__(self) -> str:
        grid, block, *_ = self._launch
        return f"{self._replayer.function.__name__}[{grid}, {block}], waiting for its arguments"


@dataclass(frozen=True)
class OneBlock:
    """A block of a launch, which every run of a replay runs again: linear `number` in its grid."""

    grid: Dim3
    block: Dim3
    stream: Any
    shared_bytes: int
    kept: Any
    number: int

    def recorded(self, kernel: Any, without: int | None, order: Order | None, seed: int) -> Run:
        """The block's run in an order of warps; None for lockstep, with room for more."""
        recorder = Recorder(without, MOST_ELEMENTS * (2 if order is None else 1))
        self._run(kernel, recorder, self.kept.values(), order, seed, without=without)
        state = recorder.launch
        return Run(
            kernel=state.function.__name__,
            without=without,
            order=order or "lockstep",
            seed=seed,
            grid=self.grid,
            block=self.block,
            place=state.block_of(self.number),
            warps=state.warps,
            tiles=tuple(recorder.tiles),
            events=tuple(recorder.events),
            steps=tuple(recorder.steps),
            barriers=tuple(recorder.barriers),
            full=recorder.full,
            warp_barriers=frozenset(recorder.warp_barriers),
            arrivals=recorder.arrivals,
        )

    def film(self, kernel: Any, function: FunctionType, patience_s: float = FILM_S) -> Film:
        """The block with all barriers, phase by phase.

        Args:
            kernel: a dispatcher or a plain function.
            function: its Python function.
            patience_s: seconds that a run may take.
        """

        def filmed(args: Sequence[Any]) -> Camera:
            camera = Camera()
            try:
                self._run(kernel, camera, args, None, 0, patience_s)
            except KernelStopped:  # the record may have been full long before
                camera.cut()
            return camera

        camera = filmed(self.kept.values())
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        return film_of(function.__name__, camera, sources(camera, filmed, self.kept.values, names))

    def _run(
        self,
        kernel: Any,
        watcher: Watcher,
        args: Sequence[Any],
        order: Order | None,
        seed: int,
        patience_s: float = PATIENCE_S,
        without: int | None = None,
    ) -> None:
        """Run the block, until its watcher is full."""
        with unshown(), warnings.catch_warnings(), suppress(Full):
            warnings.simplefilter("ignore", UnassignedVariable)
            launch.run(
                kernel,
                self.grid,
                self.block,
                self.stream,
                self.shared_bytes,
                args,
                watchers=(watcher,),
                patience_s=patience_s,
                segments=lambda _: [Segment(self.number, 1)],
                order=order,
                seed=seed,
                unheeded=without,
            )

    def worst(self, kernel: Any, without: int | None, reference: Run) -> Run:
        """The run in the first order that shows a stale read, else in the first of all."""
        first: Run | None = None
        orders = ORDERS[: WITH_ALL if without is None else None]
        if any(event.copy for event in reference.events):
            orders = (*orders[:1], LATE, *orders[1:])
        for order, seed in orders:
            run = compared(self.recorded(kernel, without, order, seed), reference)
            first = first or run
            if run.stale_count:
                return run
        assert first is not None
        return first


# --- what is refused -----------------------------------------------------------------------------


def _check_is_kernel(given: Any) -> None:
    """Raise LaunchRefused where a trace comes, a kernel with its launch, or what a launch left."""
    if isinstance(given, Tracer | TracedLaunch):
        what, name = "this is a trace", given.function.__name__
    elif isinstance(given, Trace):
        what, name = "this is a trace", given.launch.kernel
    elif hasattr(given, "dispatcher"):
        function = launch.kernel_of(given.dispatcher).function
        what, name = "this is a kernel with its launch", function.__name__
    elif given is None:
        what, name = "this is None, as a launch returns it", "kernel"
    else:
        return
    raise LaunchRefused(f"{what}; replay takes the kernel: replay({name})[grid, block](...)")


def _check_kernel(function: FunctionType) -> None:
    if not has_shared_memory(function):
        raise LaunchRefused(
            f"kernel: {function.__name__} has no shared memory, and a replay shows how a block"
            " fills and reads its shared arrays. Give it a kernel with cuda.shared.array(...)"
        )


def _checked_line(function: FunctionType, without: Any) -> int | None:
    if without is None:
        return None
    lines = barrier_lines(function)
    whole = isinstance(without, int | np.integer) and not isinstance(without, bool)
    if whole and int(without) in lines:
        return int(without)
    known = ", ".join(map(str, lines))
    wanted = f"lines with one: {known}" if lines else "its text has none"
    raise LaunchRefused(
        f"without={without!r}: no barrier of {function.__name__} stands in such a line; {wanted}"
    )


def _checked_block(block: Any) -> tuple[int, ...] | None:
    if block is None:
        return None
    given = block if isinstance(block, tuple) else (block,)
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in given)
    if not 1 <= len(given) <= 3 or not whole or any(n < 0 for n in given):
        raise LaunchRefused(
            f"block={block!r}: write which block of the grid is recorded, as a number or as up to"
            " three numbers from 0, such as (1, 2)"
        )
    return tuple(int(n) for n in given)


def _number(block: Sequence[int] | None, grid: Dim3, name: str) -> int:
    """The linear number of a block."""
    if block is None:
        return 0
    given = (*block, 0, 0)[:3]
    if any(n >= extent for n, extent in zip(given, grid, strict=True)):
        last = place((grid[0] - 1, grid[1] - 1, grid[2] - 1), grid)
        raise LaunchRefused(
            f"block={block[0] if len(block) == 1 else tuple(block)!r} is outside the grid of"
            f" {name}, which has {math.prod(grid)} blocks; the last one is {last}"
        )
    return given[0] + grid[0] * (given[1] + grid[1] * given[2])
