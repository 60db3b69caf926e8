"""In which orders a launch is tried, and what brings it back to its beginning in between.

Lockstep order is by far the fastest and is tried first, unless another order is asked for. Where
it gets stuck, because threads wait in a loop for threads that wait for them, the launch begins
anew: all blocks in one batch, then a fiber per warp, then a fiber per thread.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ...errors import LaunchRefused
from ..lanes import WARP
from ..watch import Watcher
from .waiting import local_bytes, needs

if TYPE_CHECKING:
    from ..batch import Launch

Order = Literal["reversed", "random", "late"]

MAX_LANES_TOGETHER = 1 << 19  # of a grid that runs in one batch
LOCAL_BYTES = 1 << 28  # of the local arrays of a batch
GROUPS = 8  # block groups that a grid is cut into, so that their order matters


class Plan(NamedTuple):
    """One order: `blocks` at a time, in lockstep or as fibers.

    `sequential` block groups run one after the other; `together` joins what fibers report into
    events of whole blocks; `by_lane` gives each thread a fiber.
    """

    blocks: int
    fibers: bool = False
    order: Order | None = None
    seed: int = 0
    sequential: bool = False
    together: bool = False
    by_lane: bool = False


def check_order(order: Any, seed: Any) -> None:
    """Raise LaunchRefused if the order is unknown or the seed is no whole number from 0."""
    if order not in (None, "reversed", "random", "late"):
        raise LaunchRefused(
            f"order={order!r}: warps run in lockstep (None), the last one first ('reversed'),"
            " likewise with copies that land as late as they may ('late'), or in an order drawn"
            " from `seed` ('random')"
        )
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise LaunchRefused(f"seed={seed!r}: write a whole number, 0 or more")


def plans(launch: Launch, step: int, order: Order | None, seed: int) -> list[Plan]:
    """The orders to try, first the one that is asked for.

    Args:
        launch: what is launched.
        step: blocks of a batch.
        order: of warps and blocks, None for lockstep.
        seed: of a random order.

    Raises:
        LaunchRefused: an unknown order, or a seed that is no whole number from 0.
    """
    check_order(order, seed)
    found, blocks, lanes = needs(launch.function), launch.blocks, launch.warps * WARP
    step = max(1, min(step, LOCAL_BYTES // max(1, local_bytes(launch.function) * lanes)))
    if found:
        step = min(step, launch.resident_blocks())
    chosen = [Plan(step)] if order is None else [_in_order(blocks, step, found, order, seed)]
    if not found:
        return chosen
    together = blocks * lanes <= MAX_LANES_TOGETHER
    if order is None and step < blocks <= launch.resident_blocks() and together:
        chosen = [Plan(blocks)] if "grid" in found else [*chosen, Plan(blocks)]
    by_warp = Plan(1, fibers=True, order=order, seed=seed)
    return [*chosen, by_warp, by_warp._replace(together=True, by_lane=True)]


def _in_order(blocks: int, step: int, found: frozenset[str], order: Order, seed: int) -> Plan:
    size = max(1, min(step, blocks // GROUPS))
    return Plan(
        size,
        fibers=True,
        order=order,
        seed=seed,
        sequential="grid" not in found,
        together="wait" not in found,
    )


class Beginning:
    """The arguments and watchers as they were before a launch, to go back to."""

    def __init__(self, args: Sequence[object], watchers: Sequence[Watcher]) -> None:
        self._arrays = [(array, array.copy()) for array in _arrays(args) if array.flags.writeable]
        self._known = {id(watcher): watcher for watcher in watchers}  # they may know each other
        self._watchers = [(watcher, self._copied(vars(watcher))) for watcher in watchers]

    def _copied(self, state: dict[str, Any]) -> dict[str, Any]:
        return copy.deepcopy(state, dict(self._known))

    def restore(self) -> None:
        """Go back."""
        for array, before in self._arrays:
            array[...] = before
        for watcher, state in self._watchers:
            vars(watcher).clear()
            vars(watcher).update(self._copied(state))


def _arrays(args: Sequence[object]) -> Iterator[np.ndarray[Any, Any]]:
    for value in args:
        if isinstance(value, tuple):
            yield from _arrays(value)
        elif isinstance(value, np.ndarray):
            yield value
