"""Four loads that are under way together, and the tree that their elements make.

A move is the load of 16 bytes where elements are neighbours (`wide`), else of one element; a
thread's moves lie `stride` apart. Nothing is guarded: what would lie behind the last move is that
one again, and counts as no element. So the end of a line costs one wait for memory, as every other
turn.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import uint32

from ...ptx import load1, load16
from ...unrolled import device, unroll
from ..combining import NOWHERE, Combining, several

MOVES = 4
"""Moves of a turn."""


def per_move(of: Combining, *, wide: bool) -> int:
    """Elements of a move."""
    return 16 // of.dtype.itemsize if wide else 1


@cache
def move_of(*, wide: bool) -> Any:
    """`move(inp, at)`: a tuple of the elements of a move."""
    if wide:

        @device
        def move(inp, at):
            return load16(inp, at)

    else:

        @device
        def move(inp, at):
            return (load1(inp, at),)

    return move


@cache
def turns_of(of: Combining, stride: int, *, wide: bool) -> tuple[Any, Any]:
    """`whole(inp, ahead, step, head, v, acc, at)` and `rest(..., v, count, acc, at)`.

    Merged with an accumulator: all elements of the moves v, v + stride ..., of which a rest has
    those before `count`. Move v begins at element `ahead + v * step`, of the place
    `head + v * per`.
    """
    per, kind, identity = per_move(of, wide=wide), of.kind, of.identity
    merged, ordered = of.merged, of.ordered
    move, elements = move_of(wide=wide), several(of, per)

    @device
    def whole(inp, ahead, step, head, v, acc, at):
        w, x, y = v + uint32(stride), v + uint32(2 * stride), v + uint32(3 * stride)
        va = move(inp, uint32(ahead + v * step))
        vb = move(inp, uint32(ahead + w * step))
        vc = move(inp, uint32(ahead + x * step))
        vd = move(inp, uint32(ahead + y * step))
        a, i = elements(va, uint32(head + v * uint32(per)))
        b, j = elements(vb, uint32(head + w * uint32(per)))
        c, k = elements(vc, uint32(head + x * uint32(per)))
        d, m = elements(vd, uint32(head + y * uint32(per)))
        a, i = ordered(a, i, b, j)
        c, k = ordered(c, k, d, m)
        a, i = ordered(a, i, c, k)
        return merged(acc, at, a, i)

    @device
    def present(there, value, place):
        return (value if there else kind(identity)), (place if there else uint32(NOWHERE))

    @device
    def rest(inp, ahead, step, head, v, count, acc, at):
        w, x, y = v + uint32(stride), v + uint32(2 * stride), v + uint32(3 * stride)
        last = uint32(count - uint32(1))
        va = move(inp, uint32(ahead + v * step))
        vb = move(inp, uint32(ahead + min(uint32(w), last) * step))
        vc = move(inp, uint32(ahead + min(uint32(x), last) * step))
        vd = move(inp, uint32(ahead + min(uint32(y), last) * step))
        a, i = elements(va, uint32(head + v * uint32(per)))
        b, j = elements(vb, uint32(head + w * uint32(per)))
        c, k = elements(vc, uint32(head + x * uint32(per)))
        d, m = elements(vd, uint32(head + y * uint32(per)))
        b, j = present(w < count, b, j)
        c, k = present(x < count, c, k)
        d, m = present(y < count, d, m)
        a, i = ordered(a, i, b, j)
        c, k = ordered(c, k, d, m)
        a, i = ordered(a, i, c, k)
        return merged(acc, at, a, i)

    return whole, rest


@cache
def columns_of(of: Combining, stride: int, *, wide: bool) -> Any:
    """`turn(inp, ahead, step, k, count, rows, apart, acc, at)`, by columns.

    Element q of the moves k, k + stride ..., of those before `count`, is merged with `acc[q]`,
    `at[q]`; of move k it has the place `rows[q] + k * apart`. Move k begins at element
    `ahead + k * step`.
    """
    per, kind, identity = per_move(of, wide=wide), of.kind, of.identity
    merged, ordered = of.merged, of.ordered
    move, lift = move_of(wide=wide), of.lift

    @device
    def column(q, va, vb, vc, vd, k, count, rows, apart, acc, at):
        w, x, y = k + uint32(stride), k + uint32(2 * stride), k + uint32(3 * stride)
        a, i = lift(va[q], uint32(rows[q] + k * apart))
        b, j = lift(vb[q], uint32(rows[q] + w * apart))
        c, m = lift(vc[q], uint32(rows[q] + x * apart))
        d, n = lift(vd[q], uint32(rows[q] + y * apart))
        b, j = (b if w < count else kind(identity)), (j if w < count else uint32(NOWHERE))
        c, m = (c if x < count else kind(identity)), (m if x < count else uint32(NOWHERE))
        d, n = (d if y < count else kind(identity)), (n if y < count else uint32(NOWHERE))
        a, i = ordered(a, i, b, j)
        c, m = ordered(c, m, d, n)
        a, i = ordered(a, i, c, m)
        acc[q], at[q] = merged(acc[q], at[q], a, i)

    columns = unroll(per, column)

    @device
    def turn(inp, ahead, step, k, count, rows, apart, acc, at):
        last = uint32(count - uint32(1))
        va = move(inp, uint32(ahead + k * step))
        vb = move(inp, uint32(ahead + min(uint32(k + uint32(stride)), last) * step))
        vc = move(inp, uint32(ahead + min(uint32(k + uint32(2 * stride)), last) * step))
        vd = move(inp, uint32(ahead + min(uint32(k + uint32(3 * stride)), last) * step))
        columns((va, vb, vc, vd, k, count, rows, apart, acc, at))

    return turn
