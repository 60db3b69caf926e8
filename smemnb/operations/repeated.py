"""A call like one before: what was decided then is done again, and nothing is decided anew.

What a call comes to depends on the shapes, strides and dtypes of its arrays, their device and
library, the last bits of their addresses, on whether `out` is given, on whether a factor is 0, 1 or
another number, and on `rung`. `repeated` puts these into a key. The first call of a key goes the
whole way: it is checked, planned and launched, and its prepared launches are kept under the key. A
later one reads its arrays (`ArrayBackend.glance`), looks the key up, makes the result by the
library itself, and starts the launches with the new addresses.

Whatever a key does not say is looked at in each call, and a call of which it is not so goes the
whole way, which refuses it or does it: arrays of the exact class of their library, `out` apart from
all that is read, memory that begins where the kernel wants it, no gradient, the current stream.

**Limits.** Repeated is what an operation does through `launching.run` on its own arguments and its
result. A call that works on other memory too is not kept.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from . import launching
from .backends.array_backend import BEYOND, ArrayBackend
from .backends.find import exact
from .backends.matrix_view import MatrixView
from .contract import handle_in, plain_number
from .prepared import Launch, usable

MOST = 4096
"""Keys that are kept; then all are dropped, and those in use come again."""


class Again(NamedTuple):
    """One launch of a call: arrays by their argument's number (-1 for the result) and offset."""

    launch: Launch
    plan: Any
    sources: tuple[tuple[int, int], ...]
    takes_numbers: bool
    has_workspace: bool


class Known(NamedTuple):
    """What a call of a key comes to.

    Attributes:
        launches: in their order.
        spans: bytes that each operand reaches over.
        out_span: bytes that the result reaches over.
        shape: of the result, where it is made.
        beyond: bits of its address, likewise.
        place: number of the device.
        single: of one launch on whole arrays without a workspace, which is what most calls come
            to: its start, what takes its arrays' addresses from those of the call, and whether it
            takes the call's numbers; else None.
    """

    launches: tuple[Again, ...]
    spans: tuple[int, ...]
    out_span: int
    shape: tuple[int, ...]
    beyond: int
    place: int
    single: tuple[Callable[..., None], Callable[[list[int]], Any], bool] | None


_known: dict[Any, Known] = {}


def forget() -> None:
    """Drop all that is kept."""
    _known.clear()


def repeated(
    operation: tuple[str, ...],
    whole: Callable[..., Any],
    operands: tuple[Any, ...],
    out: Any,
    factors: tuple[Any, ...],
    stream: Any,
    rung: Any,
) -> Any:
    """The result of a call: by what is known of one like it, else by `whole`.

    Args:
        operation: its name, and the names of its operands as refusals call them.
        whole: `whole(*operands, out, factors, stream, rung)`, without factors if there are none.
        operands: what is read.
        out: where the result goes, or None.
        factors: alpha and beta, say; they lead the numbers that kernels take.
        stream: as the caller said.
        rung: as the caller said.
    """
    library = exact.get(type(operands[0]))
    if library is None or not usable() or launching.is_noting():
        # an operation within another one goes the whole way, so that the outer one notes it all
        return _whole(whole, operands, out, factors, stream, rung)
    call = _glanced(operation, library, operands, out, factors, stream, rung)
    if call is None:
        return _whole(whole, operands, out, factors, stream, rung)
    key, addresses, numbers, handle = call
    known = _known.get(key)
    if known is not None:
        done = _again(known, library, operands, out, addresses, numbers, handle)
        if done is not None:
            return done
    with launching.noting() as noted:
        result = _whole(whole, operands, out, factors, stream, rung)
    if known is None:
        found = _learned(operation, library, operands, out, result, addresses, numbers, noted)
        if found is not None:
            if len(_known) >= MOST:
                _known.clear()
            _known[key] = found
    return result


def _whole(
    whole: Callable[..., Any],
    operands: tuple[Any, ...],
    out: Any,
    factors: tuple[Any, ...],
    stream: Any,
    rung: Any,
) -> Any:
    if factors:
        return whole(*operands, out, factors, stream, rung)
    return whole(*operands, out, stream, rung)


# --- what a call is known by ---------------------------------------------------------------------


def _glanced(
    operation: tuple[str, ...],
    library: ArrayBackend,
    operands: tuple[Any, ...],
    out: Any,
    factors: tuple[Any, ...],
    stream: Any,
    rung: Any,
) -> tuple[Any, list[int], list[float], int] | None:
    """Key, addresses (of `out` last, where it is given), numbers, stream; None for any other call.

    Nothing is refused here: what is not as expected goes the whole way and is refused there.
    """
    if rung is not None and type(rung) is not str:
        return None
    numbers: list[float] = []
    for factor in factors:
        if type(factor) is int and (factor == 0 or factor == 1):
            numbers.append(factor)
            continue
        number = plain_number(factor)
        if number is None:
            return None
        numbers.append(number)
    addresses: list[int] = []
    said: list[Any] = []
    streams: list[int] = []
    glance = library.glance
    try:
        for array in operands if out is None else (*operands, out):
            if exact.get(type(array)) is not library:
                return None
            address, on, what = glance(array)
            addresses.append(address)
            said.append(what)
            if on:
                streams.append(on)
        asked = None if stream is None else handle_in(stream)
        if library.has_current or asked is None:
            current = library.current(operands[0], streams)
            if asked is None:
                asked = current
            elif asked != current:
                return None  # memory has to be made and kept for another stream
    except Exception:  # whatever the library says of its array, the whole way says it better
        return None
    for on in streams:
        if on != asked:
            return None  # work on that stream comes first
    if not numbers:
        return (operation, rung, out is None, *said), addresses, numbers, asked
    kinds = [number if number == 0 or number == 1 else 2 for number in numbers]
    return (operation, rung, out is None, *kinds, *said), addresses, numbers, asked


# --- once more -----------------------------------------------------------------------------------


def _again(
    known: Known,
    library: ArrayBackend,
    operands: tuple[Any, ...],
    out: Any,
    addresses: list[int],
    numbers: list[float],
    handle: int,
) -> Any:
    """The result; None, with nothing launched, where memory does not lie as it has to."""
    if out is None:
        result = library.fresh(operands[0], known.shape, known.place, handle)
        try:
            target = library.address(result)
        except Exception:  # made by a mode of the library that gives no memory
            return None
        if not target or target & BEYOND != known.beyond:
            return None
        addresses.append(target)
    else:
        target, end = addresses[-1], addresses[-1] + known.out_span
        for address, span in zip(addresses, known.spans, strict=False):
            if target < address + span and address < end:
                return None  # the ranges meet: whether elements do takes a closer look
        result = out
        library.wrote(out)
    if known.single is not None:
        start, chosen, takes_numbers = known.single
        start(chosen(addresses), numbers if takes_numbers else (), handle)
        return result
    for launch, plan, sources, takes_numbers, has_workspace in known.launches:
        at = [addresses[index] + offset for index, offset in sources]
        taken = numbers if takes_numbers else ()
        if has_workspace:
            launching.put(launch, plan, at, taken, known.place, handle)
        else:
            launch.start(at, taken, handle)
    return result


# --- the first time ------------------------------------------------------------------------------


def _learned(
    operation: tuple[str, ...],
    library: ArrayBackend,
    operands: tuple[Any, ...],
    out: Any,
    result: Any,
    addresses: list[int],
    numbers: list[float],
    noted: list[launching.Noted],
) -> Known | None:
    """What was done, if it can be done again from addresses and numbers alone; else None."""
    if not noted or exact.get(type(result)) is not library:
        return None
    names = {name: index for index, name in enumerate(operation[1:])}
    begins = list(addresses)
    if out is None:
        begins.append(library.address(result))
        if not library.is_contiguous(result):
            return None
    names["out"] = len(begins) - 1
    spans = [library.span(array) for array in (*operands, result)]
    launches = []
    for one in noted:
        sources = []
        for matrix in one.arrays:
            index = names.get(matrix.name)
            if index is None:
                return None
            offset = matrix.address - begins[index]
            if not _within(matrix, offset, spans[index]):
                return None  # a copy that only has the name
            sources.append((index, offset))
        takes_numbers = bool(one.scalars)
        if takes_numbers and not _same(one.scalars, numbers):
            return None
        launches.append(
            Again(one.launch, one.plan, tuple(sources), takes_numbers, bool(one.plan.sums))
        )
    return Known(
        tuple(launches),
        tuple(spans[:-1]),
        spans[-1],
        tuple(result.shape),
        begins[-1] & BEYOND,
        noted[0].arrays[0].place,
        _single(launches),
    )


def _single(
    launches: list[Again],
) -> tuple[Callable[..., None], Callable[[list[int]], Any], bool] | None:
    """The short form of one launch on two arrays or more, where it has one."""
    (first, *others) = launches
    if others or first.has_workspace or any(offset for _, offset in first.sources):
        return None
    if len(first.sources) < 2:
        return None
    chosen = itemgetter(*(index for index, _ in first.sources))
    return first.launch.start, chosen, first.takes_numbers


def _within(matrix: MatrixView, offset: int, span: int) -> bool:
    return 0 <= offset and offset + matrix.span <= span


def _same(scalars: tuple[Any, ...], numbers: list[float]) -> bool:
    """Whether a kernel takes the call's own numbers, bit by bit, and no others."""
    return len(scalars) == len(numbers) and all(
        type(one) is np.float32 and one.tobytes() == np.float32(other).tobytes()
        for one, other in zip(scalars, numbers, strict=True)
    )
