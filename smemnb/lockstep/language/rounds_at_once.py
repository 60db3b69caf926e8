"""Many rounds of a loop at once, where no round needs another: the loop of a launch of few lanes.

A batch of one block leaves the axis of blocks unused: values have length 1 there. A loop such as

    for i in range(first, n, stride):
        c[i] = hypot(a[i], b[i])

then runs its rounds along that axis, thousands of them in each call of NumPy. Where a launch has
few threads, as the first kernel of many courses has, the calls are what takes the time.

Which loops: by the source (`independent_names`) each round assigns what it uses, and does nothing
but arithmetic and accesses to global memory. Whether rounds meet in memory is seen when they have
run: loads come from memory as it is, stores and events are put aside. If a round would have read
what an earlier one stores, or anything else was out of the common, all that is dropped and the
rounds run one after the other. So results, dtypes and events are those of single rounds.

Rounds run so until the first lane leaves; the rest goes round by round. Not taken: while loops,
accumulators (`t += x`), calls of device functions, shared and local arrays.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..batch import Batch
from ..lanes import NO_LANE, LaneValue, Mask, spread
from ..memory import GlobalStore, KernelArray
from ..numbers.math_functions import FUNCTIONS
from ..watch import Access
from .calls import as_dtype
from .mixed import NUMBERS, joined
from .scope import UNKNOWN, Frame, Scope, Statement

FEWEST = 8  # rounds that are worth it
FIRST = 64  # rounds of the first attempt: little is lost if it fails
LANES = 1 << 16  # of all rounds that run at once
MOST_CELLS = 1 << 24  # between the lowest and the highest cell of an array, to be compared
_ASKED = {"shape", "size", "ndim", "x", "y", "z"}
_PLAIN = (
    ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Constant,
    ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.expr_context, ast.Tuple,
)  # fmt: skip
_CALLED = {builtins.int, builtins.float, builtins.bool, builtins.abs, builtins.min, builtins.max}


class _Needed(Exception):
    """A round turns out to need another, or does what only single rounds can do."""


class _Stack(Batch):
    """The batch of one block, with rounds of a loop where blocks stand."""

    __slots__ = ("events",)

    def __init__(self, batch: Batch, rounds: int, live: Mask) -> None:
        for name in Batch.__slots__:
            setattr(self, name, getattr(batch, name))
        self.shape = (rounds, *batch.shape[1:])
        self.live, self.writes, self.events = live, 0, list[Access]()

    def report_access(self, event: Access) -> None:
        """Put the event aside."""
        if not isinstance(event.offset, np.ndarray):
            event.offset = np.full((1, 1, 1), event.offset, np.int64)
        event.rounds = self.shape[0]
        self.events.append(event)

    def _refuse(self, event: Any) -> None:
        raise _Needed

    report_barrier = report_fence = report_out_of_range = report_overflow = _refuse
    report_unassigned = report_copy_group = _refuse


class _Touched:
    """The accesses of all rounds to one array's memory, in the order of the source."""

    def __init__(self, store: GlobalStore) -> None:
        self.store = store
        self.loads: list[tuple[int, Any, Mask]] = []
        self.stores: list[tuple[int, Any, Mask, LaneValue]] = []


class _Memory:
    """What the rounds have touched; `step` counts the accesses."""

    def __init__(self) -> None:
        self.touched: dict[int, _Touched] = {}
        self.step = 0

    def of(self, store: GlobalStore) -> _Touched:
        """The accesses to one flat array."""
        return self.touched.setdefault(id(store.flat), _Touched(store))

    def write(self, batch: Batch, shape: tuple[int, ...]) -> None:
        """Let the stores happen.

        Raises:
            _Needed: the rounds meet in a cell in another order than one after the other.
        """
        written = [one for one in self.touched.values() if one.stores]
        for one in written:
            for other in self.touched.values():
                if other is not one and np.may_share_memory(one.store.flat, other.store.flat):
                    raise _Needed
            if len(one.stores) > 1 or one.loads:
                _compare(one, shape)
        for one in written:
            for _, offset, mask, value in one.stores:
                one.store.write(batch, offset, mask, value)


def _compare(touched: _Touched, shape: tuple[int, ...]) -> None:
    """Raise _Needed if loads before all stores, and stores one after the other, are not right."""
    loads = [(step, *_cells(offset, mask, shape)) for step, offset, mask in touched.loads]
    stores = [(step, *_cells(offset, mask, shape)) for step, offset, mask, _ in touched.stores]
    cells = np.concatenate([cell for _, cell, _ in stores])
    if not len(cells):
        return
    lowest, highest = int(cells.min()), int(cells.max())
    if highest - lowest > MOST_CELLS:
        raise _Needed
    last = np.full(highest - lowest + 1, -1)
    for step, cell, number in stores:
        cell = cell - lowest
        if (last[cell] > number).any():  # a later round's store comes earlier in the source
            raise _Needed
        first = np.full(len(last), shape[0])
        first[cell[::-1]] = number[::-1]
        last[cell] = number
        for when, loaded, of_load in loads:
            inside = (loaded >= lowest) & (loaded <= highest)
            stored = first[loaded[inside] - lowest]
            late = of_load[inside] >= stored if when > step else of_load[inside] > stored
            if late.any():
                raise _Needed


def _cells(offset: Any, mask: Mask, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The cells of the active lanes, round by round, and their rounds."""
    active = spread(mask, shape)
    number = spread(np.arange(shape[0]).reshape(-1, 1, 1), shape)
    return spread(np.asarray(offset), shape)[active], number[active]


class _Deferred:
    """A store of global memory whose writes wait until all rounds have run."""

    def __init__(self, store: GlobalStore, memory: _Memory) -> None:
        self._store, self._memory, self._touched = store, memory, memory.of(store)
        self.active: Mask = NO_LANE  # of the access whose place was asked for last

    def read(self, batch: Batch, offset: LaneValue) -> LaneValue:
        """The cells as they were before the rounds."""
        self._memory.step += 1
        self._touched.loads.append((self._memory.step, offset, self.active))
        return self._store.read(batch, offset)

    def write(self, batch: Batch, offset: LaneValue, mask: Mask, value: LaneValue) -> None:
        """Put a store aside."""
        self._memory.step += 1
        self._touched.stores.append((self._memory.step, offset, mask, value))


class _Array(KernelArray):
    """An argument while rounds run at once: the same array over a deferred store."""

    def place(self, batch: Any, index: Any, mask: Mask, site: Any) -> tuple[LaneValue, Mask]:
        """As for any array; the store learns which lanes are active."""
        if len(index) != len(self.shape):
            raise _Needed
        placed = super().place(batch, index, mask, site)
        self.store.active = placed[1]  # type: ignore[attr-defined]
        return placed


def _deferred(array: KernelArray, memory: _Memory) -> _Array:
    store = array.store
    if type(store) is not GlobalStore or array.space != "global" or array.special:
        raise _Needed
    if not array.uniform or array.valid is not None:
        raise _Needed
    same: Any = copy.copy(array)
    same.__class__ = _Array
    same.root, same.memory = array.root, array.memory
    same.store = _Deferred(store, memory)
    return same  # type: ignore[no-any-return]


class AtOnce:
    """The rounds of one loop, if they may be run at once; `body` is its closure."""

    def __init__(self, target: str, source: _Source, followed: set[str], body: Statement) -> None:
        self._target, self._loaded, self._assigned = target, source.loaded, source.assigned
        self._followed = followed  # variables that threads may read before they assign them
        self._body = body

    def run(self, rounds: Any, first: LaneValue, step: LaneValue, count: int) -> int:
        """Run up to `count` rounds for the lanes inside; return how many have been run.

        Args:
            rounds: the loop in progress (`loops._Rounds`).
            first: the loop's variable in the first of them.
            step: what it grows by, in the same dtype.
            count: rounds that all lanes inside have before them.
        """
        batch, done = rounds.frame.batch, 0
        if type(batch) is not Batch or not batch.takes_rounds() or count < FEWEST:
            return 0
        most = max(1, LANES // (batch.shape[1] * batch.shape[2]))
        size = min(FIRST, most)
        while count - done >= FEWEST and size >= FEWEST:
            size = min(size, count - done)
            try:
                self._attempt(rounds, first + first.dtype.type(done) * step, step, size)
            except _Needed:
                break
            done += size
            size = min(8 * size, most)
        return done

    def _attempt(self, rounds: Any, first: LaneValue, step: LaneValue, count: int) -> None:
        frame, mask = rounds.frame, rounds.inside
        frame.batch.pass_round(rounds.where, count)
        memory, stack = _Memory(), _Stack(frame.batch, count, mask)
        inner = Frame(stack, mask, kernel=frame.kernel)
        inner.values = self._values(frame.values, memory)
        inner.assigned = dict(frame.assigned)
        number = np.arange(count).astype(first.dtype).reshape(-1, 1, 1)
        inner.values[self._target] = first + number * step
        if self._body(inner, mask) is not mask or inner.alive is not mask:
            raise _Needed
        left = {name: inner.values[name] for name in (self._target, *self._assigned)}
        if not all(isinstance(value, NUMBERS) for value in left.values()):
            raise _Needed
        memory.write(stack, stack.shape)
        for name, value in left.items():
            _put(frame, mask, name, _last(value, count))
            if name in self._followed:
                frame.mark(name, mask)
        for event in sorted(stack.events, key=_first_round):  # stable: then by source
            frame.batch.report_access(event)
        frame.batch.writes += stack.writes * count

    def _values(self, values: dict[str, Any], memory: _Memory) -> dict[str, Any]:
        found = {}
        for name in self._loaded & values.keys():
            value = values[name]
            if isinstance(value, KernelArray):
                value = _deferred(value, memory)
            elif not isinstance(value, NUMBERS):
                raise _Needed
            found[name] = value
        return found


def _first_round(event: Access) -> int:
    active = event.active
    return 0 if active.shape[0] == 1 else int(active.any(axis=(1, 2)).argmax())


def _last(value: LaneValue, count: int) -> LaneValue:
    """What a variable holds after the last round."""
    return value[-1:] if isinstance(value, np.ndarray) and value.shape[0] == count else value


def _put(frame: Frame, mask: Mask, name: str, value: LaneValue) -> None:
    """Assign as a statement does."""
    if mask is frame.alive or name not in frame.values:
        frame.values[name] = value
    else:
        frame.values[name] = joined(mask, value, frame.values[name])


def at_once(scope: Scope, node: ast.For, body: Statement) -> AtOnce | None:
    """The rounds of a loop over a range, if by the source no round needs another."""
    if scope.library.debug or scope.outer is not None or not isinstance(node.target, ast.Name):
        return None
    source = _Source(scope, node)
    if not source.independent:
        return None
    return AtOnce(node.target.id, source, scope.followed, body)


class _Source:
    """What the body of a loop reads and assigns.

    `independent` says that each round assigns a variable before it uses it, whatever its branches,
    and that all it does may be done for many rounds at once.
    """

    def __init__(self, scope: Scope, loop: ast.For) -> None:
        self._scope, self._loop = scope, loop
        self.loaded: set[str] = set()
        self.assigned: set[str] = set()
        inside = {name.id for name in _names(loop.body) if isinstance(name.ctx, ast.Store)}
        self._own = inside | {loop.target.id} if isinstance(loop.target, ast.Name) else inside
        known = {loop.target.id} if isinstance(loop.target, ast.Name) else set[str]()
        self.independent = not loop.orelse and self._statements(loop.body, known, nested=False)

    def _statements(self, body: Sequence[ast.stmt], known: set[str], *, nested: bool) -> bool:
        return all(self._statement(one, known, nested=nested) for one in body)

    def _statement(self, node: ast.stmt, known: set[str], *, nested: bool) -> bool:
        if isinstance(node, ast.Pass):
            return True
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            return self._value(node.value, known) and self._target(
                node.targets[0], known, nested=nested
            )
        if isinstance(node, ast.AugAssign):
            target = node.target
            if isinstance(target, ast.Name):
                return target.id in known and not nested and self._value(node.value, known)
            return self._value(node.value, known) and self._target(target, known, nested=nested)
        if isinstance(node, ast.If):
            return (
                self._value(node.test, known)
                and self._statements(node.body, known, nested=True)
                and self._statements(node.orelse, known, nested=True)
            )
        return False

    def _target(self, target: ast.expr, known: set[str], *, nested: bool) -> bool:
        if isinstance(target, ast.Subscript):
            return self._value(target, known)
        if not isinstance(target, ast.Name) or nested:  # what a branch assigns, others still have
            return False
        known.add(target.id)
        self.assigned.add(target.id)
        return True

    def _value(self, node: ast.expr, known: set[str]) -> bool:
        return all(self._part(part, known) for part in self._evaluated(node))

    def _evaluated(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes of an expression, without what is known while compiling: `cuda.threadIdx`."""
        yield node
        for child in ast.iter_child_nodes(node):
            named = isinstance(node, ast.Call) and child is node.func
            known = isinstance(node, ast.Attribute) and (
                self._scope.static(node.value) is not UNKNOWN
            )
            if not named and not known:
                yield from self._evaluated(child)

    def _part(self, node: ast.AST, known: set[str]) -> bool:
        scope = self._scope
        if isinstance(node, ast.Name):
            if node.id in self._own:
                return node.id in known
            self.loaded.add(node.id)
            return node.id in scope.locals or _is_number(scope.static(node))
        if isinstance(node, ast.Attribute):
            value = scope.static(node)
            return node.attr in _ASKED if value is UNKNOWN else _is_number(value)
        if isinstance(node, ast.Call):
            target = scope.static(node.func)
            plain = not node.keywords and target is not UNKNOWN
            return plain and (_is_in(_CALLED, target) or _is_in(FUNCTIONS, target) or _cast(target))
        if isinstance(node, ast.Subscript):
            indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return isinstance(node.value, ast.Name | ast.Attribute) and not any(
                isinstance(one, ast.Slice | ast.Starred) for one in indices
            )
        return isinstance(node, _PLAIN)


def _names(body: Sequence[ast.stmt]) -> Iterator[ast.Name]:
    for statement in body:
        yield from (node for node in ast.walk(statement) if isinstance(node, ast.Name))


def _is_number(value: object) -> bool:
    return isinstance(value, (bool, int, float, complex, np.generic))


def _is_in(table: Any, target: Any) -> bool:
    try:
        return target in table
    except TypeError:  # not hashable
        return False


def _cast(target: Any) -> bool:
    return as_dtype(target) is not None
