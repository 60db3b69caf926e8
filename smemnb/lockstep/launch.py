"""A launch: arguments at virtual addresses, then the blocks in batches.

Blocks run in order of their linear number; how many share a batch changes no result that a kernel
without races between blocks can see. Where lockstep gets stuck, because threads wait in a loop for
others, or where another order is asked for, warps run one after the other (`fibers`).

Addresses are virtual: every allocation handed in begins on a multiple of 256 bytes, so counts of
sectors never depend on the host's allocator.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import KernelStopped
from .batch import Batch, Dim3, Launch, Residents, Segment, Stuck
from .depth import DEEPEST, deep_enough
from .fibers.plan import Beginning, Order, Plan, plans
from .fibers.scheduler import Scheduler
from .intrinsics.printing import show, shown
from .lanes import WARP
from .language.program import Program, library_of
from .language.scope import InferredTypes
from .memory import Arguments
from .source import confirm
from .watch import Watcher

LANES_PER_BATCH = 1 << 16


def _with_room(launch: Callable[..., Launch]) -> Callable[..., Launch]:
    """Let a launch go as deep as its expressions, its branches and its calls do."""

    @functools.wraps(launch)
    def run(function: Any, *given: Any, **options: Any) -> Launch:
        try:
            with deep_enough():
                return launch(function, *given, **options)
        except RecursionError:
            name = function.__name__
        raise KernelStopped(
            f"{name}: calls or parts of an expression lie more than {DEEPEST:,} steps deep. Most"
            " likely a function calls itself without end; on a GPU its stack would overflow"
        )

    return run


@_with_room
def launch(
    function: Any,
    grid: Dim3,
    block: Dim3,
    args: Sequence[object],
    *,
    shared_bytes: int = 0,
    shared_limit: int | None = None,
    watchers: Sequence[Watcher] = (),
    types: InferredTypes | None = None,
    patience_s: float | None = None,
    slow_after_s: float | None = None,
    lanes_per_batch: int = LANES_PER_BATCH,
    segments: Sequence[Segment] | None = None,
    order: Order | None = None,
    seed: int = 0,
    residents: Residents | None = None,
    unheeded: int | None = None,
) -> Launch:
    """Run a kernel over all blocks of a grid; arrays among `args` are written in place.

    Args:
        function: the kernel's Python function.
        grid: blocks in x, y, z.
        block: threads in x, y, z.
        args: NumPy arrays, NumPy or Python scalars, tuples of them.
        shared_bytes: dynamic shared memory per block.
        shared_limit: the most shared memory a block may have, None for no limit.
        watchers: what listens in.
        types: Numba's inferred types, None for the engine's own rules.
        patience_s: seconds after which loops are stopped, None to wait for ever.
        slow_after_s: seconds after which one line on stderr says where they went, None for never.
        lanes_per_batch: how many lanes run at a time, in whole blocks.
        segments: which blocks run, and which of them are watched; None for all of them.
        order: "reversed" or "random" to run warps one after the other between two barriers, last
            ones first or as `seed` says; "late" for last ones first and asynchronous copies that
            land no sooner than their thread waits for them; None for lockstep.
        seed: of a random order.
        residents: how many blocks a device holds at once, by their bytes of shared memory.
        unheeded: a line of the kernel's text: nobody waits at the `syncthreads()` of this line,
            which count as fences of the block; None for no such line.

    Raises:
        UnsupportedSyntax: a construct the engine does not run.
        LaunchRefused: more shared memory than `shared_limit`, a wrong number of arguments, an
            unknown order, a barrier of a grid that is larger than `residents`.
        KernelStopped: a loop that never ends, threads that wait for each other, or a launch that
            outlasts `patience_s`.
        KeyboardInterrupt: the launch was interrupted; the text names the loop it was in.
    """
    library = library_of(function, types, watched=bool(watchers))
    for known in list(library.programs) if watchers else ():
        confirm(known)
    program = library.program(function)
    program.check_count(len(args))
    arguments = Arguments(program.signature.named(len(args)), args)
    state = Launch(
        function,
        grid,
        block,
        shared_bytes=shared_bytes,
        shared_limit=shared_limit,
        watchers=watchers,
        patience_s=patience_s,
        slow_after_s=slow_after_s,
        residents=residents,
        unheeded=unheeded,
    )
    state.flushes = bool(getattr(types, "fastmath", False))
    state.lands_late = order == "late"
    state.types, state.arguments = types, arguments.values
    state.shown = shown()  # asked here: fibers are threads of their own
    chosen = plans(state, max(1, lanes_per_batch // (state.warps * WARP)), order, seed)
    beginning = Beginning([*args, *arguments.records], watchers) if len(chosen) > 1 else None
    for plan in chosen:
        state.may_begin_anew = plan is not chosen[-1]
        if _attempt(state, program, arguments, plan, segments) or beginning is None:
            break
        beginning.restore()
    return state


def _attempt(
    state: Launch,
    program: Program,
    arguments: Arguments,
    plan: Plan,
    segments: Sequence[Segment] | None,
) -> bool:
    """The whole launch in one order; False if it got stuck and may begin anew in another.

    Raises:
        KernelStopped: it got stuck in its last order.
    """
    pieces = segments or (Segment(0, state.blocks),)
    for watcher in state.watchers:
        watcher.start(state)
    try:
        if plan.fibers:
            Scheduler(state, program, arguments.values, plan, pieces).run()
        else:
            for segment in pieces:
                _run_segment(state, program, arguments.values, segment, plan.blocks)
    except KeyboardInterrupt:
        name = state.function.__name__
        where = f"; last seen in {state.last_loop}" if state.last_loop else ""
        account = state.clock.account()
        told = f"{name} was interrupted{where}"
        raise KeyboardInterrupt(f"{told}. {account}".rstrip() if account else told) from None
    except Stuck as error:
        if not state.may_begin_anew:
            raise KernelStopped(str(error)) from None
        state.printed, state.unassigned = [], {}
        return False
    finally:
        show(state)
    arguments.finish()
    for watcher in state.watchers:
        watcher.finish()
    return True


def _run_segment(
    state: Launch, program: Program, arguments: list[Any], segment: Segment, step: int
) -> None:
    """The blocks of a segment, `step` at a time."""
    first, count, weight = segment
    with np.errstate(all="ignore"):
        for at in range(first, first + count, step):
            batch = Batch(state, at, min(step, first + count - at), weight)
            watchers = state.watchers if batch.watched else ()
            for watcher in watchers:
                watcher.begin_batch(batch)
            program.run(batch, batch.live, arguments, kernel=True)
            for watcher in watchers:
                watcher.end_batch()
            done = f", {at + batch.count - first:,} of {count:,} blocks done"
            state.clock.tell(time.monotonic(), done)
