"""Loads that are under way together, and the tree that their elements make.

A thread's moves lie `stride` apart: `chunks_of` loads `unroll` of them at once and then merges
their elements pairwise. Nothing is guarded: what would lie behind the last move is that one again,
and counts as no element. So a chunk at the end costs one wait for memory, as any other one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import uint32

from ...ptx import load1, load16
from ...unrolled import device
from ..combining import NOWHERE, Combining, quad


@cache
def loads_of(stride: int, unroll: int, *, wide: bool) -> Any:
    """`loads(inp, ahead, step, v, most)`: the moves v, v + stride ..., none behind `most`.

    Move v is the 16 bytes from element `ahead + v * step`, or that element alone.
    """

    def some(first: int, count: int) -> Any:
        if count == 1 and wide:

            @device
            def one(inp, ahead, step, v, most):
                move = min(uint32(v + uint32(first * stride)), most)
                return (load16(inp, uint32(ahead + move * step)),)

            return one
        if count == 1:

            @device
            def one(inp, ahead, step, v, most):
                move = min(uint32(v + uint32(first * stride)), most)
                return ((load1(inp, uint32(ahead + move * step)),),)

            return one
        low, high = some(first, count // 2), some(first + count // 2, count // 2)

        @device
        def both(inp, ahead, step, v, most):
            return low(inp, ahead, step, v, most) + high(inp, ahead, step, v, most)

        return both

    return some(0, unroll)


@cache
def chunks_of(of: Combining, stride: int, unroll: int, *, wide: bool) -> tuple[Any, Any]:
    """`whole(inp, ahead, step, head, v, acc, at)` and `rest(..., v, count, acc, at)`.

    Merged with an accumulator: all elements of `unroll` moves, of which a rest has those before
    `count`. The first element of move v has the place `head + v * per`.
    """
    per, merged = 16 // of.dtype.itemsize if wide else 1, of.merged
    vector = quad(of) if wide else _single(of)
    load = loads_of(stride, unroll, wide=wide)
    add = _tree(of, vector, unroll, stride, per, guarded=False)
    add_some = _tree(of, vector, unroll, stride, per, guarded=True)

    @device
    def whole(inp, ahead, step, head, v, acc, at):
        moves = load(inp, ahead, step, v, uint32(NOWHERE))
        a, i = add(moves, uint32(head + v * uint32(per)), v, v)
        return merged(acc, at, a, i)

    @device
    def rest(inp, ahead, step, head, v, count, acc, at):
        moves = load(inp, ahead, step, v, uint32(count - uint32(1)))
        a, i = add_some(moves, uint32(head + v * uint32(per)), v, count)
        return merged(acc, at, a, i)

    return whole, rest


@cache
def _single(of: Combining) -> Any:
    lift = of.lift

    @device
    def single(values, place):
        return lift(values[0], place)

    return single


def _tree(of: Combining, vector: Any, unroll: int, stride: int, per: int, *, guarded: bool) -> Any:
    merged, kind, identity = of.merged, of.kind, of.identity

    def some(first: int, count: int) -> Any:
        if count == 1 and guarded:

            @device
            def one(moves, place, v, most):
                a, i = vector(moves[first], uint32(place + uint32(first * stride * per)))
                there = uint32(v + uint32(first * stride)) < most
                return (a if there else kind(identity)), (i if there else uint32(NOWHERE))

            return one
        if count == 1:

            @device
            def one(moves, place, v, most):
                return vector(moves[first], uint32(place + uint32(first * stride * per)))

            return one
        low, high = some(first, count // 2), some(first + count // 2, count // 2)

        @device
        def both(moves, place, v, most):
            a, i = low(moves, place, v, most)
            b, j = high(moves, place, v, most)
            return merged(a, i, b, j)

        return both

    return some(0, unroll)


@cache
def columns_of(of: Combining, stride: int, unroll: int, *, wide: bool) -> tuple[Any, Any]:
    """`whole(moves, rows, step, k, acc, at)` and `rest(..., k, count, acc, at)`, by columns.

    Element q of each move goes to `acc[q]`, `at[q]`; of move u it has the place
    `rows[q] + (k + u * stride) * step`.
    """
    per = 16 // of.dtype.itemsize if wide else 1
    whole, rest = None, None
    for q in range(per):
        whole = _column(of, q, stride, unroll, whole, guarded=False)
        rest = _column(of, q, stride, unroll, rest, guarded=True)
    return whole, rest


def _column(of: Combining, q: int, stride: int, unroll: int, before: Any, *, guarded: bool) -> Any:
    merged, kind, identity, lift = of.merged, of.kind, of.identity, of.lift

    def some(first: int, count: int) -> Any:
        if count == 1 and guarded:

            @device
            def one(moves, row, step, k, most):
                a, i = lift(
                    moves[first][q], uint32(row + uint32(k + uint32(first * stride)) * step)
                )
                there = uint32(k + uint32(first * stride)) < most
                return (a if there else kind(identity)), (i if there else uint32(NOWHERE))

            return one
        if count == 1:

            @device
            def one(moves, row, step, k, most):
                return lift(
                    moves[first][q], uint32(row + uint32(k + uint32(first * stride)) * step)
                )

            return one
        low, high = some(first, count // 2), some(first + count // 2, count // 2)

        @device
        def both(moves, row, step, k, most):
            a, i = low(moves, row, step, k, most)
            b, j = high(moves, row, step, k, most)
            return merged(a, i, b, j)

        return both

    tree = some(0, unroll)
    if before is None:

        @device
        def first_column(moves, rows, step, k, most, acc, at):
            a, i = tree(moves, rows[q], step, k, most)
            acc[q], at[q] = merged(acc[q], at[q], a, i)

        return first_column

    @device
    def column(moves, rows, step, k, most, acc, at):
        before(moves, rows, step, k, most, acc, at)
        a, i = tree(moves, rows[q], step, k, most)
        acc[q], at[q] = merged(acc[q], at[q], a, i)

    return column
