"""Updates of cells one after another, worked out for all lanes at once.

Many lanes may update one cell. `in_order` gives each its old value as if they came one after
another, in the order they are listed, and leaves the last result in the cell. Lanes are grouped by
cell; within a group an operation runs as a cumulative one (`np.add.accumulate` and its kind, which
is sequential, so that floats round exactly as one by one), over groups of similar length at a time.
What has no cumulative form (compare-and-swap with different guesses, wrapping counters with
different limits) goes round by round: round n takes the n-th update of each cell.

**Limits**: of two zeros of different sign, `max` and `min` may keep either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Combine = Callable[[Any, Any], Any]
Cumulate = Callable[[Array, Array], "Array | None"]

MANY = 8  # updates of one cell, from which the cumulative form is faster than rounds


class Operation(NamedTuple):
    """One kind of update.

    `combine(old, operand)` is one step. `cumulate(first, operands)` takes the cells' values (n,)
    and their operands (updates, n), and gives the values after each update, or None if it cannot.
    """

    combine: Combine
    cumulate: Cumulate | None = None


def in_order(flat: Array, cells: Array, operands: Array, operation: Operation) -> Array:
    """Apply the updates in order, and return the old value of each.

    >>> cells, place = np.array([10, 20]), np.array([1, 0, 1])
    >>> in_order(cells, place, np.array([1, 2, 3]), ADD).tolist(), cells.tolist()
    ([20, 10, 21], [12, 24])
    """
    if not len(cells):
        return np.empty(0, flat.dtype)
    order = _sorted_by_cell(cells)
    ordered = cells if order is None else cells[order]
    values = operands if order is None else operands[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, len(cells)])
    old = np.empty(len(cells), flat.dtype)
    for longest, group in _of_similar_length(lengths):
        begin, length = starts[group], lengths[group]
        here = ordered[begin]
        current = flat[here]
        if longest >= MANY and operation.cumulate is not None:
            turns = np.arange(longest)[:, None]
            inside = turns < length
            at = np.where(inside, begin + turns, begin)
            after = operation.cumulate(current, values[at])
            if after is not None:
                old[begin] = current
                old[at[1:][inside[1:]]] = after[:-1][inside[1:]]
                flat[here] = after[length - 1, np.arange(len(here))]
                continue
        for turn in range(longest):
            active = slice(None) if turn == 0 else np.flatnonzero(length > turn)
            at = begin[active] + turn
            old[at] = current[active]
            current[active] = operation.combine(current[active], values[at])
        flat[here] = current
    if order is None:
        return old
    result = np.empty_like(old)
    result[order] = old
    return result


def _sorted_by_cell(cells: Array) -> Array | None:
    """The stable order that brings equal cells together; None if they are in it already."""
    steps = cells[1:] >= cells[:-1]
    if steps.all():
        return None
    lowest = cells.min()
    span = int(cells.max() - lowest)
    narrow = np.uint16 if span < 1 << 16 else np.int64  # NumPy sorts 16 bits by radix
    return np.argsort((cells - lowest).astype(narrow), kind="stable")


def _of_similar_length(lengths: Array) -> list[tuple[int, Any]]:
    """(longest length, which groups), the lengths of a bunch within a factor of two."""
    longest = int(lengths.max())
    if longest == 1:
        return [(1, slice(None))]
    scale = np.frexp(lengths.astype(np.float64) - 0.5)[1]  # 1 -> 0, 2 -> 1, 3..4 -> 2, 5..8 -> 3
    return [
        (int(lengths[group].max()), group)
        for group in (np.flatnonzero(scale == power) for power in np.unique(scale))
    ]


def _running(ufunc: np.ufunc) -> Callable[[Array, Array], Array]:
    """The cumulative form of a NumPy operation, in the cells' own type."""

    def cumulate(first: Array, operands: Array) -> Array:
        steps = np.concatenate([first[None], operands])
        with np.errstate(all="ignore"):
            result: Array = ufunc.accumulate(steps, axis=0, dtype=first.dtype)[1:]
        return result

    return cumulate


def _running_extreme(ufunc: np.ufunc, least: float, *, nan_gives_way: bool) -> Cumulate:
    """Cumulative max or min: a NaN operand changes nothing; a NaN cell gives way or stays."""

    def cumulate(first: Array, operands: Array) -> Array:
        if first.dtype.kind != "f":
            return _running(ufunc)(first, operands)
        if nan_gives_way:
            pair = np.fmax if ufunc is np.maximum else np.fmin
            return _running(pair)(first, operands)
        numbers = np.where(np.isnan(operands), first.dtype.type(least), operands)
        return _running(ufunc)(first, numbers)

    return cumulate


def _larger(old: Any, new: Any) -> Any:
    return np.where(new > old, new, old)


def _smaller(old: Any, new: Any) -> Any:
    return np.where(new < old, new, old)


def _last(old: Any, new: Any) -> Any:
    return new


def _increment(old: Array, limit: Array) -> Array:
    return np.where(old >= limit, 0, old + old.dtype.type(1)).astype(old.dtype)


def _decrement(old: Array, limit: Array) -> Array:
    return np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1)).astype(old.dtype)


def _same(operands: Array) -> Array | None:
    """The one operand of each cell, None if they differ between its updates."""
    first: Array = operands[0]
    return first if bool((operands == first).all()) else None


def _counting(sign: int) -> Cumulate:
    """A wrapping counter whose limit is the same for all updates of a cell, in closed form."""

    def cumulate(first: Array, operands: Array) -> Array | None:
        limit = _same(operands)
        if limit is None or bool((limit == np.iinfo(limit.dtype).max).any()):
            return None
        one = limit.dtype.type(1)
        after: Array
        start = _increment(first, limit) if sign > 0 else _decrement(first, limit)
        steps = np.arange(len(operands), dtype=limit.dtype)[:, None] % (limit + one)
        if sign > 0:
            room = limit - start  # increments before it wraps to 0
            after = np.where(steps <= room, start + steps, steps - room - one)
        else:
            after = np.where(steps <= start, start - steps, limit - (steps - start - one))
        return after

    return cumulate


def _swap(old: Array, operands: Array) -> Array:
    return np.where(old == operands["guess"], operands["new"], old)


def _swapping(first: Array, operands: Array) -> Array | None:
    """Compare-and-swap with one guess per cell: the first swap that changes it is the last."""
    guess = _same(operands["guess"])
    if guess is None:
        return None
    changes = operands["new"] != guess
    decided = np.maximum.accumulate(changes, axis=0)
    winner = np.take_along_axis(operands["new"], changes.argmax(axis=0)[None], axis=0)
    result: Array = np.where(decided & (first == guess), winner, first)
    return result


def swaps(guess: Array, new: Array) -> Array:
    """The operands of a compare-and-swap as one array."""
    both = np.empty(len(guess), [("guess", guess.dtype), ("new", new.dtype)])
    both["guess"], both["new"] = guess, new
    return both


ADD = Operation(np.add, _running(np.add))
CAS = Operation(_swap, _swapping)

OPERATIONS: dict[str, Operation] = {
    "add": ADD,
    "sub": Operation(np.subtract, _running(np.subtract)),
    "max": Operation(_larger, _running_extreme(np.maximum, -np.inf, nan_gives_way=False)),
    "min": Operation(_smaller, _running_extreme(np.minimum, np.inf, nan_gives_way=False)),
    "nanmax": Operation(np.fmax, _running_extreme(np.maximum, -np.inf, nan_gives_way=True)),
    "nanmin": Operation(np.fmin, _running_extreme(np.minimum, np.inf, nan_gives_way=True)),
    "and_": Operation(np.bitwise_and, _running(np.bitwise_and)),
    "or_": Operation(np.bitwise_or, _running(np.bitwise_or)),
    "xor": Operation(np.bitwise_xor, _running(np.bitwise_xor)),
    "exch": Operation(_last, lambda first, operands: operands),
    "inc": Operation(_increment, _counting(1)),
    "dec": Operation(_decrement, _counting(-1)),
}
"""What cuda.atomic's names do to a cell; `swaps` makes the operands of `CAS`."""
