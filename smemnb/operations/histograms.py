"""`bincount(x)` and `histogram(x, bins)`, by the kernels of `smemnb.kernels.histogram`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import float32, float64, int64

from ..errors import LaunchRefused, SmemnbError, shortened
from ..hardware import limits
from ..kernels.fill import filling
from ..kernels.histogram.choosing import (
    MOST,
    MOST_GROUPS,
    THREADS,
    Counters,
    blocks_of,
    counters_of,
)
from ..kernels.histogram.variants.binning import binning_of
from ..kernels.histogram.variants.bytes import counting_bytes_of
from ..kernels.histogram.variants.counting import BEYOND, counting_of
from ..kernels.histogram.variants.extent import extent_of
from ..kernels.histogram.variants.folding import NONE, VALUES, copied, folded
from ..kernels.histogram.variants.scattering import THREADS as SCATTERING
from ..kernels.histogram.variants.scattering import scattering_of
from ..kernels.step import Launch, scratch
from . import launching, prepared
from .backends.array_backend import CloserLook
from .backends.find import array_view, exact
from .backends.matrix_view import HOST, MatrixView, TypeRefused
from .contract import MAX_ELEMENTS, check_together, handle_in
from .laid import Laid
from .patterns import Call, Work, _check_out, check_dtype, engine_seconds, host_number, perform
from .tables import captured, table, wait

COUNTED = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
BINNED = [*COUNTED[1:], "float32", "float64"]
GUESS = 1024
"""Bins that are counted at first where nobody says how many there are."""
INT64, UINT32 = np.dtype(np.int64), np.dtype(np.uint32)
CELLS = 4096
"""Cells between the first and the last of edges at any distances, at most."""


# --- bincount ------------------------------------------------------------------------------------


def bincount(
    x: Any, minlength: int = 0, *, weights: None = None, out: Any = None, stream: Any = None
) -> Any:
    """How often each whole number occurs in x: element k of the result is the count of k.

    >>> import numpy as np
    >>> bincount(np.array([3, 1, 3, 0], np.int32))
    array([1, 1, 0, 2])
    >>> bincount(np.array([1, 1], np.uint8), minlength=4)
    array([0, 2, 0, 0])

    Counts are whole numbers, added in any order, so equal calls give equal bits.

    Args:
        x: whole numbers from 0 on, of one axis: an array of NumPy, Numba, CuPy, PyTorch or JAX, or
            of any library with `__cuda_array_interface__` or `__dlpack__`, of dtype bool, int8 to
            int64 or uint8 to uint64.
        minlength: the least length of the result, which has a count for each number up to the
            largest of x. Saying it saves a second pass where numbers reach 1024.
        weights: refused: sums of weights would depend on the order in which threads come.
        out: where the result goes, int64; its length says how many bins there are, and a larger
            number in x is refused. None for a new array.
        stream: on which the work is put, as for `transpose`.

    Returns:
        `out`, or a new array of int64 of the library of x, on its device. The length depends on
        what is in x, so the call waits for the count; only for bool and uint8 with a `minlength`
        of 256 or more (or an `out` so long) nothing waits.

    Raises:
        LaunchRefused: an argument is not what is said above; x has a negative number, or one from
            the length of `out` on. `out` is as it was.
    """
    try:
        if out is None and weights is None and stream is None:
            done = _as_before(x, minlength)
            if done is not None:
                return done
        return _bincount(x, minlength, weights, out, stream)
    except SmemnbError as error:
        raise shortened(error) from error.__cause__


def _bincount(x: Any, minlength: Any, weights: Any, out: Any, stream: Any) -> Any:
    if weights is not None:
        raise LaunchRefused(
            "`weights` are not taken: float sums would depend on the order in which threads come."
            " Leave `weights` out, or use numpy.bincount"
        )
    least = _whole_number("minlength", minlength, 0)
    asked = handle_in(stream)
    view = array_view("x", x, asked, "int64")
    check_dtype(view, COUNTED, "bincount")
    if len(view.extents) != 1:
        raise LaunchRefused(
            f"`x` has shape {view.extents}; bincount takes one axis. Pass x.reshape(-1)"
        )
    kind = view.backend.number_type(view.dtype)
    assert kind is not None
    size = view.extents[0]
    of_bytes, signed = kind.itemsize == 1, kind.kind == "i"
    if out is not None:
        length = _length_of(out, view, least, asked)
        if not size or (of_bytes and not signed and length >= VALUES):
            return perform("bincount of bytes", _plan_of_bytes, {"x": x}, (length,), out, stream)
    elif not size or (of_bytes and not signed and least >= VALUES):
        return perform("bincount of bytes", _plan_of_bytes, {"x": x}, (least,), None, stream)
    if captured(view, asked):
        raise LaunchRefused(
            "bincount waits for the largest number in `x`, and the stream is captured into a CUDA"
            " graph. Capture it for uint8 with a minlength of 256 or more, or call it outside"
        )
    bins = max(length if out is not None else least, VALUES if of_bytes else GUESS)
    counts, most = _counted(x, view, bins, stream)
    _check_largest(most, kind, length if out is not None else None)
    if most >= bins:
        counts, most = _counted(x, view, most + 1, stream)
    elif view.backend.has_current and not (of_bytes and signed):
        if len(_settled) >= SETTLED:
            _settled.clear()
        _settled[type(x), x.dtype, least] = bins
    if out is not None:
        return perform(
            "bincount, copied", _plan_of_copy, {"counts": counts}, (length,), out, stream
        )
    return counts[: max(least, most + 1)]


_settled: dict[tuple[type, Any, int], int] = {}
"""Class, dtype and minlength of a call that went well -> bins in which it counted."""
SETTLED = 256


def _as_before(x: Any, minlength: Any) -> Any:
    """The result where a call like this one went well, without another look at the arguments.

    None where there was none, or where a number is larger than all before.
    """
    library = exact.get(type(x))
    if library is None or not library.has_current or type(minlength) is not int:
        return None
    bins = _settled.get((type(x), x.dtype, minlength))
    if bins is None or x.ndim != 1 or not x.shape[0]:
        return None
    try:
        library.glance(x)
        if prepared.capturing(library.current(x, ())):
            return None
    except CloserLook:
        return None
    counts = perform("bincount", _plan_of_numbers, {"x": x}, (bins,))
    most = int(counts[bins].item())
    return None if most >= bins else counts[: max(minlength, most + 1)]


def _counted(x: Any, view: MatrixView, bins: int, stream: Any) -> tuple[Any, int]:
    """(counts of so many bins and the largest number, the largest number), which is waited for."""
    counts = perform("bincount", _plan_of_numbers, {"x": x}, (bins,), None, stream)
    wait(view, handle_in(stream))
    return counts, int(host_number(counts[bins:]))


def _check_largest(most: int, kind: np.dtype[Any], length: int | None) -> None:
    """Raise LaunchRefused if the largest number, seen without a sign, is none that has a bin."""
    if kind.itemsize == 8 and most == BEYOND:
        raise LaunchRefused(f"`x` has a number below 0, or above {BEYOND - 1}")
    below = 1 << 7 if kind.itemsize == 1 else 1 << 31  # bytes are counted as their bits
    if kind.kind == "i" and kind.itemsize < 8 and most >= below:
        raise LaunchRefused("`x` has a number below 0; bincount counts whole numbers from 0 on")
    if length is not None and most >= length:
        raise LaunchRefused(f"`x` has the number {most}, and `out` has {length} elements")
    if most >= MAX_ELEMENTS - 1:
        raise LaunchRefused(f"`x` has the number {most}: a result has fewer than 2**31 elements")


def _whole_number(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise TypeRefused(f"`{name}` is {value!r}, no whole number")
    if value < least:
        raise LaunchRefused(f"`{name}` is {value}, and has to be {least} or more")
    if value >= MAX_ELEMENTS:
        raise LaunchRefused(f"`{name}` is {value}: a result has fewer than 2**31 elements")
    return int(value)


def _length_of(out: Any, x: MatrixView, least: int, asked: int | None) -> int:
    """The elements of `out`, once it is sure that the result may be written there."""
    view = array_view("out", out, asked)
    check_dtype(view, ["int64"], "the result")
    check_together([view, x], whole=False)
    _check_out(view, Work(view.extents, INT64, lambda *_: [], "", ""), [x])
    if len(view.extents) != 1 or view.extents[0] < least:
        wanted = f"one axis of {least} elements or more" if least else "one axis"
        raise LaunchRefused(f"`out` has shape {view.extents}; it takes {wanted}")
    return int(view.extents[0])


def _plan_of_numbers(call: Call, bins: int) -> Work:
    """Counts of so many bins (of bytes at least 256), and behind them the largest number."""
    x = _flat(call)
    assert bins >= VALUES or x.itemsize > 1

    def launches(new: Any, out: Laid) -> list[Launch]:
        seen = out.seen((2,), dtype=UINT32, at=8 * bins)
        return _counting(call, out, seen, x, bins)

    words = f"counts of {x.size} elements in {bins} bins"
    return Work((bins + 1,), INT64, launches, words, "np.bincount(x)", _seconds(x.size))


def _plan_of_bytes(call: Call, length: int) -> Work:
    """Counts of the values of unsigned bytes, or of nothing, without a look at the largest."""
    x = _flat(call)

    def launches(new: Any, out: Laid) -> list[Launch]:
        return _counting(call, out, None, x, length, new)

    words = f"counts of {x.size} elements in {length} bins"
    fill = 0 if x.size == 0 else None
    return Work((length,), INT64, launches, words, "np.bincount(x)", _seconds(x.size), fill)


def _plan_of_copy(call: Call, length: int) -> Work:
    counts = call["counts"].seen((length,))

    def launches(new: Any, out: Laid) -> list[Launch]:
        return [Launch(copied, -(-length // 256), 256, (out, counts))]

    return Work((length,), INT64, launches, f"a copy of {length} elements", "counts.copy()")


def _flat(call: Call) -> Laid:
    """All elements of x as one axis, in any order; bool as the byte that it is."""
    x = call["x"]
    flat, fold = (
        call.folded("x", tuple(range(x.ndim)), any_order=True) if x.ndim else (x.flat(), None)
    )
    if fold is not None and fold.length > 1 and fold.length_step != 1:
        flat = call.packed("x", tuple(range(x.ndim))).flat()
    if flat.dtype == np.bool_:
        flat = flat.seen(flat.shape, dtype=np.uint8)
    return flat


def _counting(
    call: Call, whole: Laid, seen: Laid | None, x: Laid, bins: int, new: Any = None
) -> list[Launch]:
    """The launches that count x in the first elements of `whole`, all others of which become 0.

    A single block stores its counts; several add them to zeros. Where nobody asks for the largest
    number, of bytes, there is no `seen`.
    """
    counters = _counters(call, VALUES if x.itemsize == 1 else bins, x)
    zeros, out = filling(whole, np.int64(0)), whole.seen((bins,))
    own = numba.from_dtype(x.dtype)
    if counters is None or (counters.resident == 1 and x.size < 4 * bins * counters.groups):
        grid = blocks_of(x.size, x.itemsize, call.processors, Counters(0, 2, 0))
        args: tuple[Any, ...] = out, seen, x, np.uint32(bins)
        return [zeros, Launch(scattering_of(own), grid, SCATTERING, args)]
    grid = blocks_of(x.size, x.itemsize, call.processors, counters)
    groups = 0 if seen is None else counters.groups
    if seen is None:
        seen = scratch(new, (2,), UINT32)
    args = out, seen, x, np.uint32(bins), np.uint32(counters.shift), np.uint32(groups)
    if x.itemsize == 1:
        count = Launch(counting_bytes_of(own, THREADS), grid, THREADS, args)
    else:
        kernel = counting_of(own, THREADS, counters.resident)
        count = Launch(kernel, grid, THREADS, args, counters.shared_bytes)
    return [count] if grid == 1 else [zeros, count]


def _counters(call: Call, bins: int, x: Laid, groups: int = MOST_GROUPS) -> Counters | None:
    """The counters of a block, for as many elements as one of two on a multiprocessor counts."""
    elements = x.size // blocks_of(x.size, x.itemsize, call.processors, Counters(0, 2, 0))
    return counters_of(bins, elements, _shared_bytes(call.place), groups)


@lru_cache(maxsize=64)
def _shared_bytes(place: int) -> int:
    """Bytes of shared memory that a block of a device may have; of an H200 where none is known."""
    from numba import cuda

    if not launching.on_gpu():
        return MOST
    chip = cuda.get_current_device() if place == HOST else cuda.gpus[place]
    try:
        return min(MOST, limits(tuple(chip.compute_capability)).shared_per_block_optin)
    except ValueError:  # a chip that the table does not know
        return limits((7, 5)).shared_per_block


def _seconds(elements: int, each: float = 100e-9) -> float:
    """In the engine; measured, of bytes the half, between edges three times as long."""
    return engine_seconds(elements, 2, each)


# --- histogram -----------------------------------------------------------------------------------


class _Bins(NamedTuple):
    """How the kernel finds the bin of a value.

    Attributes:
        edges: in the type as which values are compared.
        cells: as `binning` says; a single 0 for even edges.
        low: the first edge, or the first finite one.
        scale: bins, or cells, per unit.
        margin: as `binning` says.
    """

    edges: np.ndarray[Any, Any]
    cells: np.ndarray[Any, Any]
    low: Any
    scale: Any
    margin: Any


def histogram(
    x: Any,
    bins: int | Sequence[float] | Any = 10,
    range: tuple[float, float] | None = None,
    *,
    density: None = None,
    weights: None = None,
    out: Any = None,
    stream: Any = None,
) -> tuple[Any, Any]:
    """(how many elements of x lie between each two neighbouring edges, the edges), as NumPy has it.

    >>> import numpy as np
    >>> counts, edges = histogram(np.float32([0, 1, 1.5, 3, 9]), bins=3, range=(0, 3))
    >>> counts, edges
    (array([1, 2, 1]), array([0., 1., 2., 3.], dtype=float32))

    Bin k holds the elements with edges[k] <= x < edges[k + 1], the last bin those of its upper edge
    too, each compared with the edge itself: counts equal those of `numpy.histogram`, element by
    element. NaN and what lies outside of the edges is not counted.

    Args:
        x: an array of any shape, of any library that `bincount` takes, of dtype int8 to int64,
            uint8 to uint64, float32 or float64; 64-bit integers are compared as float64, as NumPy
            does, unless the edges are integers, too.
        bins: how many bins of equal width there are, or the edges, ascending: numbers of the host,
            or an array that is copied there.
        range: the first and the last edge of equal bins. None takes the least and the largest
            element, which takes a second pass over x, and a wait for it.
        density: refused; divide by `counts.sum() * numpy.diff(edges)`.
        weights: refused: sums of weights would depend on the order in which threads come.
        out: where the counts go, int64, an element per bin; None for a new array.
        stream: on which the work is put, as for `transpose`.

    Returns:
        Counts of int64 (`out`, or a new array) and edges, of the library of x, on its device.

    Raises:
        LaunchRefused: an argument is not what is said above. `out` is as it was.
    """
    try:
        return _histogram(x, bins, range, density, weights, out, stream)
    except SmemnbError as error:
        raise shortened(error) from error.__cause__


def _histogram(
    x: Any, bins: Any, limits: Any, density: Any, weights: Any, out: Any, stream: Any
) -> tuple[Any, Any]:
    for name, given in (("density", density), ("weights", weights)):
        if given not in (None, False) if name == "density" else given is not None:
            cure = (
                "divide the counts by counts.sum() * numpy.diff(edges)"
                if name == "density"
                else "float sums would depend on the order in which threads come"
            )
            raise LaunchRefused(f"`{name}` is not taken: {cure}")
    view = array_view("x", x, handle_in(stream))
    check_dtype(view, BINNED, "histogram")
    kind = view.backend.number_type(view.dtype)
    assert kind is not None
    if out is not None:
        check_dtype(array_view("out", out, handle_in(stream)), ["int64"], "the result")
    even = isinstance(bins, int | np.integer) and not isinstance(bins, bool)
    if even:
        count = _whole_number("bins", bins, 1)
        has_none = limits is not None or 0 in view.extents
        _check_range(limits)
        ends = np.empty(0, kind) if has_none else _ends_of(x, view, kind, stream)
        edges = np.histogram_bin_edges(ends, count, limits)
    else:
        edges = _edges_of(bins)
    found = _even(edges, kind) if even else _any(edges, kind)
    options = (len(edges) - 1, even, found.edges.dtype, found.low, found.scale, found.margin)
    if kind.itemsize == 1:
        values = np.arange(VALUES, dtype=np.uint8).view(kind)
        bin_of = table(x, _bins_of(values, edges), stream)
        arrays = {"x": x, "bin_of": bin_of}
        counts = perform("histogram", _plan_of_folded, arrays, options[:1], out, stream)
    else:
        arrays = {
            "x": x,
            "edges": table(x, found.edges, stream),
            "cells": table(x, found.cells, stream),
        }
        counts = perform("histogram", _plan_of_bins, arrays, options, out, stream)
    own = {"x": x, "edges": table(x, edges, stream)}
    return counts, perform("histogram edges", _plan_of_edges, own, (), None, stream)


def _check_range(limits: Any) -> None:
    """Raise if the first and the last edge are none."""
    if limits is None:
        return
    try:
        first, last = limits
        finite = bool(np.isfinite(first) and np.isfinite(last))
    except (TypeError, ValueError):
        raise TypeRefused(f"`range` is {limits!r}, no pair of numbers") from None
    if not finite or first > last:
        raise LaunchRefused(
            f"`range` is {limits!r}; it takes two finite numbers, the smaller one first"
        )


def _ends_of(x: Any, view: MatrixView, kind: np.dtype[Any], stream: Any) -> Any:
    """The least and the largest element of x, of which NumPy makes the same edges as of x."""
    if captured(view, handle_in(stream)):
        raise LaunchRefused(
            "histogram waits for the least and the largest element of `x`, and the stream is"
            " captured into a CUDA graph. Pass `range`"
        )
    ends = perform("histogram range", _plan_of_ends, {"x": x}, (), None, stream)
    wait(view, handle_in(stream))
    found = np.array([host_number(ends[k : k + 1]) for k in (0, 1)], kind)
    if not np.isfinite(found).all():
        raise LaunchRefused(
            f"`x` reaches from {found[0]} to {found[1]}, and equal bins need finite ends: pass"
            " `range`"
        )
    return found


def _edges_of(bins: Any) -> np.ndarray[Any, Any]:
    """Edges that a caller gave, on the host."""
    if isinstance(bins, str):
        raise TypeRefused(f"`bins` is {bins!r}: rules that look at the data are not taken")
    host = getattr(bins, "copy_to_host", None) or getattr(bins, "get", None)
    if host is None and hasattr(bins, "cpu"):
        host = bins.cpu().numpy
    try:
        edges = np.asarray(host() if host is not None else bins)
    except (TypeError, ValueError):
        edges = np.asarray(None)
    if edges.dtype.kind not in "biuf" or edges.ndim != 1 or edges.size < 2:
        raise TypeRefused(
            f"`bins` is {bins!r}; it takes a whole number, or two edges or more along one axis"
        )
    if edges.dtype == np.float16 or edges.itemsize > 8:
        edges = edges.astype(np.float64)
    if not (edges[:-1] <= edges[1:]).all():
        raise LaunchRefused("`bins` are edges that do not ascend")
    return edges


def _compared(edges: np.ndarray[Any, Any], kind: np.dtype[Any]) -> Any:
    """The type as which NumPy compares values of x with the edges."""
    if edges.dtype == kind == np.float32:
        return np.float32
    if edges.dtype.kind in "bi" and kind.kind in "iu" and kind != np.uint64:
        return np.int64
    if edges.dtype.kind == "u" and edges.itemsize < 8 and kind.kind in "iu" and kind != np.uint64:
        return np.int64
    return np.float64


def _even(edges: np.ndarray[Any, Any], kind: np.dtype[Any]) -> _Bins:
    """Edges at equal distances, but for rounding."""
    number = np.float32 if _compared(edges, kind) == np.float32 else np.float64
    bins, low, high = len(edges) - 1, float(edges[0]), float(edges[-1])
    step = float(np.finfo(number).eps)
    scale = bins / (high - low) if high > low else 0.0
    # what rounding moves at most, in bins: an edge, a difference, a product
    margin = step * (4 * bins + 4 * max(abs(low), abs(high)) * scale)
    if not np.isfinite(number(scale)):
        scale, margin = 0.0, 1.0
    margin = min(1.0, margin)
    cells = np.zeros(1, np.int32)
    return _Bins(edges.astype(number), cells, number(low), number(scale), number(margin))


def _any(edges: np.ndarray[Any, Any], kind: np.dtype[Any]) -> _Bins:
    """Edges at any distances, and the cells that say between which of them to search."""
    compared = _compared(edges, kind)
    number = np.float32 if compared == np.float32 else np.float64
    own = edges.astype(compared)
    finite = own[np.isfinite(own)].astype(number)
    low: Any = finite[0] if finite.size else number(0)
    inner = own[1:-1].astype(number)
    count = min(CELLS, 4 * len(edges))
    with np.errstate(all="ignore"):
        scale: Any = number(count) / (finite[-1] - low) if finite.size else number(0)
        if not np.isfinite(scale):
            scale = number(0)
        at: Any = (inner - low) * scale
        cell = np.where(at > 0, np.minimum(at, number(count - 1)), 0).astype(np.int64)
    cells = np.searchsorted(cell, np.arange(count + 1)).astype(np.int32)
    return _Bins(own, cells, low, scale, number(count - 1))


def _bins_of(values: np.ndarray[Any, Any], edges: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bin of each value, `NONE` of one outside of the edges."""
    found = np.searchsorted(edges, values, "right") - 1
    found = np.where(values == edges[-1], len(edges) - 2, found)
    return np.where((values < edges[0]) | (values > edges[-1]), NONE, found).astype(np.int32)


def _plan_of_bins(
    call: Call, bins: int, even: Any, compared: Any, low: Any, scale: Any, margin: Any
) -> Work:
    x = _flat(call)
    edges, cells = call["edges"], call["cells"]
    kind = {"float32": float32, "float64": float64, "int64": int64}[compared.name]

    def launches(new: Any, out: Laid) -> list[Launch]:
        found = _counters(call, bins, x, groups=1)
        counters, shared = found or Counters(0, 2, 0), found is not None
        own, resident = numba.from_dtype(x.dtype), counters.resident
        kernel = binning_of(own, kind, even, THREADS, resident, shared=shared)
        grid = blocks_of(x.size, x.itemsize, call.processors, counters)
        args = out, x, edges, cells, np.uint32(bins), np.uint32(counters.shift), low, scale, margin
        counting = Launch(kernel, grid, THREADS, args, counters.shared_bytes)
        return [counting] if shared and grid == 1 else [filling(out, np.int64(0)), counting]

    words = f"histogram of {x.size} elements in {bins} bins"
    fill = 0 if x.size == 0 else None
    return Work((bins,), INT64, launches, words, "np.histogram(x)", _seconds(x.size, 300e-9), fill)


def _plan_of_folded(call: Call, bins: int) -> Work:
    """Of bytes: the counts of their 256 values first."""
    x, bin_of = _flat(call), call["bin_of"]
    if x.dtype != np.uint8:
        x = x.seen(x.shape, dtype=np.uint8)

    def launches(new: Any, out: Laid) -> list[Launch]:
        counts = scratch(new, (VALUES,), INT64)
        return [
            filling(out, np.int64(0)),
            *_counting(call, counts, None, x, VALUES, new),
            Launch(folded, 1, VALUES, (out, counts, bin_of)),
        ]

    words = f"histogram of {x.size} elements in {bins} bins"
    fill = 0 if x.size == 0 else None
    return Work((bins,), INT64, launches, words, "np.histogram(x)", _seconds(x.size), fill)


def _plan_of_edges(call: Call) -> Work:
    edges = call["edges"]

    def launches(new: Any, out: Laid) -> list[Launch]:
        return [Launch(copied, -(-edges.size // 256), 256, (out, edges))]

    return Work(edges.shape, edges.dtype, launches, "a copy of edges", "edges.copy()")


def _plan_of_ends(call: Call) -> Work:
    """The least and the largest element of x; NaN if one is."""
    x = _flat(call)

    def launches(new: Any, out: Laid) -> list[Launch]:
        grid = blocks_of(x.size, x.itemsize, call.processors, Counters(0, 2, 0))
        kernel = extent_of(numba.from_dtype(x.dtype))
        parts = scratch(new, (2 * grid,), x.dtype)
        again = parts.seen((2 * grid,))
        return [
            Launch(kernel, grid, THREADS, (parts, x)),
            Launch(kernel, 1, THREADS, (out, again)),
        ]

    return Work((2,), x.dtype, launches, f"ends of {x.size} elements", "x.min()", _seconds(x.size))
