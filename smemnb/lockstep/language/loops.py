"""Loops: lanes leave one by one, the rest go round together.

A loop over a range that is the same for all lanes costs no masks. A range with bounds of its own
per lane, and every `while`, keeps the set of lanes still inside; lanes that left wait for the
others, as lanes of a warp do.

A loop in which nothing changes any more can never end (lanes waiting for each other, a condition
that no statement touches): it is stopped with an explanation.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any

import numpy as np

from ...errors import KernelStopped
from ..batch import LOOK_EVERY, LOOK_EVERY_WAITING
from ..fibers.waiting import waits_on_memory
from ..lanes import NO_LANE, LaneValue, Mask, both, cast, split, truth
from ..numbers.operators import range_dtype
from .iterables import items_of
from .mixed import NUMBERS
from .raising import number
from .rounds_at_once import FEWEST, AtOnce, at_once
from .scope import Expression, Frame, Scope, Statement

MAX_ROUNDS = 10_000_000
FARTHEST = 1 << 61  # bounds of a range beyond which rounds are not counted
LONG_LOOP = 4096  # rounds after which a store that changes nothing counts as none


class _Rounds:
    """The lanes of one loop in progress: still inside, left normally, left by break."""

    def __init__(self, frame: Frame, mask: Mask, where: str) -> None:
        self.frame, self.entered, self.inside, self.where = frame, mask, mask, where
        self.alive = frame.alive
        self.finished: Mask = NO_LANE
        self.broken: Mask = NO_LANE

    def keep(self, condition: LaneValue) -> bool:
        """Let go of the lanes whose condition fails; True while any lane is inside."""
        self.inside, out = split(self.frame.rest(self.inside), condition)
        if out is not NO_LANE:
            self.finished = both(self.finished, out)
        return self.inside is not NO_LANE

    def once(self, body: Statement) -> bool:
        """Run the body for the lanes inside; True while any lane is inside."""
        frame = self.frame
        frame.batch.pass_round(self.where)
        frame.broken.append(NO_LANE)
        frame.skipped.append(NO_LANE)
        alive = frame.alive
        left = body(frame, self.inside)
        skipped, broken = frame.skipped.pop(), frame.broken.pop()
        if broken is NO_LANE and frame.alive is alive:
            return True  # no lane has left
        self.broken = both(self.broken, broken)
        left = both(left, skipped)
        self.inside = left if left.any() else NO_LANE
        return self.inside is not NO_LANE

    def end(self, orelse: Statement | None) -> Mask:
        """The lanes that go on after the loop; `orelse` runs for those that did not break."""
        done = both(self.finished, self.inside)
        if orelse is None and self.frame.alive is self.alive:
            return self.entered
        if orelse is not None and done is not NO_LANE:
            done = orelse(self.frame, done)
        return rejoined(self.frame, both(done, self.broken))


def rejoined(frame: Frame, mask: Mask) -> Mask:
    """The mask, as the frame's own object where it holds all lanes still alive in the frame."""
    alive = frame.alive
    if mask is NO_LANE or mask is alive:
        return mask
    return alive if bool((mask == alive).all()) else mask


def for_loop(scope: Scope, node: ast.For, put: Any) -> Statement:
    """The closure of `for target in range(...)` or over a tuple; `put` assigns the target."""
    body = scope.block(node.body)
    orelse = scope.block(node.orelse) if node.orelse else None
    call = node.iter
    if isinstance(call, ast.Call) and scope.static(call.func) is builtins.range:
        if not any(isinstance(argument, ast.Starred) for argument in call.args):
            return _range_loop(scope, node, call, put, body, orelse)
    return _item_loop(scope, call, put, body, orelse)


def _item_loop(
    scope: Scope, node: ast.expr, put: Any, body: Statement, orelse: Statement | None
) -> Statement:
    """A loop over the items of a tuple, an array, enumerate(...), zip(...), a range at hand."""
    if isinstance(node, ast.List):  # compiled by Python as a tuple
        node = ast.copy_location(ast.Tuple(node.elts, ast.Load()), node)
    value, where, site = scope.expression(node), _where(scope, node), scope.site(node, "load")

    def run(frame: Frame, mask: Mask) -> Mask:
        items = items_of(value(frame, mask), site)
        if items is None:
            scope.refuse(
                node, f"the engine cannot loop over {ast.unparse(node)}", "Loop over range(...)."
            )
        rounds = _Rounds(frame, frame.rest(mask), where)
        per_lane, at = isinstance(items.count, np.ndarray), 0
        while rounds.keep(items.count > at) if per_lane else at < items.count:
            put(frame, rounds.inside, items.item(frame, rounds.inside, at))
            if not rounds.once(body):
                break
            at += 1
        return rounds.end(orelse)

    return run


def _range_loop(
    scope: Scope,
    node: ast.For,
    call: ast.Call,
    put: Any,
    body: Statement,
    orelse: Statement | None,
) -> Statement:
    bounds, where = [scope.expression(argument) for argument in call.args], _where(scope, call)
    together = at_once(scope, node, body)

    def run(frame: Frame, mask: Mask) -> Mask:
        values = [bound(frame, mask) for bound in bounds]
        if any(not isinstance(value, NUMBERS) for value in values):
            values = [number(scope, call, frame, mask, value) for value in values]
        mask = frame.rest(mask)
        if mask is NO_LANE:
            return NO_LANE
        dtype = range_dtype(*(value.dtype for value in values))
        if len(values) == 1:
            values.insert(0, dtype.type(0))
        start, stop, step = values if len(values) == 3 else (*values, dtype.type(1))
        rounds = _Rounds(frame, mask, where)
        if any(isinstance(value, np.ndarray) for value in values):
            _lane_range(rounds, put, body, cast(start, dtype), stop, step, together)
        elif int(step) == 0:
            scope.refuse(call, "range() with a step of 0 never ends", "Give another step.")
        else:
            numbers = range(int(start), int(stop), int(step))
            if together is not None and len(numbers) >= FEWEST:
                first, by = dtype.type(numbers.start), dtype.type(numbers.step)
                numbers = numbers[together.run(rounds, first, by, len(numbers)) :]
            for at in numbers:
                put(frame, rounds.inside, dtype.type(at))
                if not rounds.once(body):
                    break
        return rounds.end(orelse)

    return run


def _lane_range(
    rounds: _Rounds,
    put: Any,
    body: Statement,
    at: LaneValue,
    stop: LaneValue,
    step: LaneValue,
    together: AtOnce | None,
) -> None:
    """Rounds of a range whose bounds differ between lanes."""
    tried = together is None
    while rounds.keep(np.where(step > 0, at < stop, at > stop)):
        if together is not None and not tried:
            tried = True
            grown = cast(step, at.dtype)
            count = _common_rounds(rounds, at, stop, step)
            if done := together.run(rounds, at, grown, count):
                at = at + at.dtype.type(done) * grown
                continue
        put(rounds.frame, rounds.inside, at)
        if not rounds.once(body):
            break
        at = at + cast(step, at.dtype)


def _common_rounds(rounds: _Rounds, at: LaneValue, stop: LaneValue, step: LaneValue) -> int:
    """How many rounds every lane inside has before it; 0 where numbers are too large to tell."""
    if rounds.frame.batch.count > 1:
        return 0
    active, *values = np.broadcast_arrays(rounds.inside, at, stop, step)
    first, last, grown = (value[active] for value in values)
    if any(int(value.max()) > FARTHEST or int(value.min()) < -FARTHEST for value in (first, last)):
        return 0
    gap, size = last.astype(np.int64) - first.astype(np.int64), grown.astype(np.int64)
    size = np.where(size == 0, 1, size)
    return int(((gap + size - np.sign(size)) // size).min())


def while_loop(scope: Scope, node: ast.While) -> Statement:
    """The closure of a while loop."""
    test: Expression = scope.condition(node.test)
    body, where = scope.block(node.body), _where(scope, node.test)
    orelse = scope.block(node.orelse) if node.orelse else None

    reads = waits_on_memory(node)
    most = LOOK_EVERY_WAITING if reads else LOOK_EVERY

    def run(frame: Frame, mask: Mask) -> Mask:
        rounds, count, before = _Rounds(frame, mask, where), 0, None
        look_every = min(frame.batch.look_every, most)
        while rounds.keep(truth(test(frame, rounds.inside))):
            if not rounds.once(body):
                break
            count += 1
            if count % look_every == 0:
                before = _look(rounds, count, before, reads=reads)
        return rounds.end(orelse)

    return run


def _where(scope: Scope, node: ast.expr) -> str:
    """What a message calls a loop: the line, the function, and what it runs over."""
    return f"the loop in line {node.lineno} of {scope.tree.name} (`{ast.unparse(node)}`)"


def _look(
    rounds: _Rounds, count: int, before: Any, *, reads: bool
) -> tuple[int, dict[str, LaneValue]]:
    """Notify the batch whether the last rounds changed anything; return what to compare with."""
    frame = rounds.frame
    batch = frame.batch
    now = (batch.writes, dict(frame.values))
    quiet = before is not None and before[0] == now[0]
    still = quiet and _same(before[1], now[1])
    batch.scrutiny = count >= LONG_LOOP
    batch.look(rounds.where, rounds.inside, count, still=still, quiet=quiet and reads)
    if count >= MAX_ROUNDS:
        waiting = int(np.broadcast_to(rounds.inside, batch.shape).sum())
        raise KernelStopped(
            f"{rounds.where} was stopped after {count:,} rounds with {waiting} threads in it."
        )
    return now


def _same(before: dict[str, LaneValue], now: dict[str, LaneValue]) -> bool:
    """True if every variable still has the value it had."""
    if before.keys() != now.keys():
        return False
    for name, value in now.items():
        old = before[name]
        if old is value:
            continue
        if not isinstance(value, (np.ndarray, np.generic)) or not np.array_equal(old, value):
            return False
    return True
