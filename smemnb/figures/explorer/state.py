"""Where the explorer begins, as plain data that JSON can hold.

    tile     rows, cols, itemsize, pad, swizzle ("none", "xor", "xor_chunks", "rotated", "bits")
             and of the last its bits, base and shift; of an array of one dimension also elems
    access   of the learner's own index: kind, index, stride, vector, ty and lanes
    lines    of a trace, one per access: what the trace counted, its array as a tile, its requests
    line, request    which of them is shown first
    notes    what was left out, in words

A request of a line is its 32 byte addresses and active lanes (None for all), how often it was made,
and the block and warp that made it first.

**Limits**: an array of one dimension is shown in rows of 32 elements, of which the last may not be
whole; one of more than two with all but the last as rows.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...errors import SmemnbError
from ...hardware import WARP_LANES
from ...rules import layout as layouts
from ...rules.layout import Layout
from ...tracing.model import AccessRow
from ...tracing.report.bank_map import BankMap
from ...tracing.requests import AccessRequests, Request, requests_of, worst_of
from ...tracing.trace import Trace
from ...tracing.tracer import Configured, Tracer
from ..words import counted

__all__ = ["SCHEMA", "Explored", "column", "state"]

Explored = Trace | Layout | AccessRow | BankMap | Sequence[AccessRow] | None
State = dict[str, Any]

SCHEMA: Final = "smemnb.explorer/1"
ROW_ELEMS = 32  # of an array of one dimension
LINE_BYTES = 128  # all banks once


def state(given: Explored = None, *, line: int | None = None, array: str | None = None) -> State:
    """What the explorer shows first.

    >>> state(layouts.Padded(32, 32))["tile"]["pad"]
    1

    Args:
        given: a trace; a row of its `lines`, or several (`trace.line(29)`); `trace.bank_map(29)`; a
            layout of `rules.layout`; or None for a row-major tile of 32 x 32.
        line: of a trace, the source line to begin with; None for the one with the most extra
            wavefronts.
        array: which array, where the line touches several.

    Raises:
        TypeError: something else, such as a kernel, or a line of something that has none.
        SmemnbError: there is no shared-memory request that the model counts, or no such array.
    """
    if not isinstance(given, Trace) and not (line is None and array is None):
        raise TypeError("line and array choose a line of a trace: write explore(trace, line=29)")
    if given is None or isinstance(given, Layout):
        return _begin(given or layouts.RowMajor(32, 32))
    if isinstance(given, Trace):
        _check_shared(given)
        return _with_lines(requests_of(given), line, array, kernel=given.launch.kernel)
    if isinstance(given, BankMap):
        return _with_lines([_of_map(given)])
    _check_launched(given)
    rows = [given] if isinstance(given, AccessRow) else given
    if not isinstance(rows, Sequence) or not all(isinstance(row, AccessRow) for row in rows):
        raise TypeError(
            f"explore takes a trace, rows of its lines, a layout of rules.layout, or nothing;"
            f" this is {type(given).__name__}"
        )
    why = "explore(trace, line=...) steps through all"
    kept = [worst_of(row, why) for row in rows if row.space == "shared" and row.worst is not None]
    if not kept:
        raise SmemnbError("none of these rows makes a shared-memory request that is kept")
    return _with_lines(kept)


def column(layout: Layout) -> tuple[np.ndarray[Any, np.dtype[np.int64]], list[bool]]:
    """Addresses and active lanes of the first warp that reads a tile column by column.

    >>> column(layouts.RowMajor(16, 4))[0][[0, 1, 16]].tolist()
    [0, 16, 4]
    """
    lane = np.arange(WARP_LANES)
    active = lane < layout.rows * layout.cols
    cell = np.where(active, lane, 0)
    return layout.address(cell % layout.rows, cell // layout.rows), active.tolist()


def _check_launched(given: Any) -> None:
    """Raise TypeError where a kernel comes, or a trace that waits for its launch."""
    waits = isinstance(given, Tracer | Configured)
    function = given.function if waits else getattr(given, "py_func", None)
    function = function or getattr(given, "fn", None) or given
    if not inspect.isfunction(function):
        return
    name = function.__name__
    what = f"trace({name}) waits for its launch" if waits else f"{name} is a kernel"
    raise TypeError(f"{what}: write explore(trace({name})[grid, block](...))")


def _check_shared(given: Trace) -> None:
    """Raise SmemnbError where a launch has no shared-memory request, or none was counted."""
    name = given.launch.kernel
    if not given.launch.counted:
        raise SmemnbError(
            f"this trace of {name} was made with counts=False: trace again with counts=True"
        )
    if all(row.space != "shared" for row in given.lines):
        raise SmemnbError(
            f"{name} uses no shared memory in this launch, and the explorer shows only that"
        )


def _begin(layout: Layout) -> State:
    """A state without lines: a warp reads the first column."""
    walk = "lane * stride"
    if layout.rows < WARP_LANES:
        walk = f"lane % {layout.rows} * stride + lane // {layout.rows}"
    return {
        "schema": SCHEMA,
        "tile": _tile(layout),
        "access": {
            "kind": "load",
            "index": walk,
            "stride": layout.cols,
            "vector": 1,
            "ty": 0,
            "lanes": min(WARP_LANES, layout.rows * layout.cols),
        },
        "lines": [],
        "line": 0,
        "request": 0,
        "notes": [],
    }


def _tile(layout: Layout) -> State:
    names = {
        layouts.Xor: "xor",
        layouts.XorChunks: "xor_chunks",
        layouts.Rotated: "rotated",
        layouts.Swizzle: "bits",
    }
    tile = _plain_tile(layout.rows, layout.cols, layout.itemsize)
    if isinstance(layout, layouts.Padded):
        return {**tile, "pad": layout.pad_elems}
    swizzle = names.get(type(layout), "none")
    if isinstance(layout, layouts.Swizzle):
        return {
            **tile,
            "swizzle": swizzle,
            **{name: getattr(layout, name) for name in ("bits", "base", "shift")},
        }
    return {**tile, "swizzle": swizzle}


def _plain_tile(rows: int, cols: int, itemsize: int) -> State:
    size = {"rows": rows, "cols": cols, "itemsize": itemsize}
    return {**size, "pad": 0, "swizzle": "none", "bits": 0, "base": 0, "shift": 0}


def _with_lines(
    found: Sequence[AccessRequests],
    line: int | None = None,
    array: str | None = None,
    kernel: str | None = None,
) -> State:
    """A state whose requests are those of a trace; `line` and `array` say which to begin with."""
    lines = [_line(one, kernel) for one in found]
    arrays = sorted({one.row.array for one in found})
    if array is not None and array not in arrays:
        raise SmemnbError(f"array={array!r}: no such shared array; there is: {', '.join(arrays)}")
    here = [
        at
        for at, one in enumerate(found)
        if line in (None, one.row.line) and array in (None, one.row.array)
    ]
    if not here:
        known = ", ".join(str(n) for n in sorted({one.row.line for one in found}))
        which = "" if array is None else f" on {array}"
        raise SmemnbError(
            f"line {line} does not make a counted shared-memory request{which};"
            f" lines that do: {known}"
        )
    first = max(here, key=lambda at: (found[at].row.extra, -at))
    tile = dict(lines[first]["tile"])
    begun = _begin(layouts.RowMajor(tile["rows"], tile["cols"], _usual(tile["itemsize"])))
    return {
        **begun,
        "lines": lines,
        "line": first,
        "request": lines[first]["worst"],
        "notes": _notes(found),
    }


def _usual(itemsize: int) -> int:
    return itemsize if itemsize in (1, 2, 4, 8, 16) else 4


def _line(one: AccessRequests, kernel: str | None) -> State:
    row = one.row
    where = "" if kernel in (None, row.function) else f" of {row.function}"
    rows, cols, itemsize, base = _place(one)
    return {
        "label": f"line {row.line}{where}: {row.access}",
        "number": row.line,
        "function": row.function,
        "source": row.source,
        "access": row.access,
        "kind": row.rule,
        "width": row.width,
        "made": row.requests,
        "wavefronts": row.wavefronts,
        "ideal": row.ideal,
        "extra": row.extra,
        "base": base,
        "tile": {**_plain_tile(rows, cols, itemsize), **_elems(one)},
        "requests": [_request(request) for request in one.kept],
        "others": one.others,
        "others_wavefronts": one.others_wavefronts,
        "worst": _worst_place(row, one.kept),
    }


def _request(one: Request) -> State:
    return {
        "address": list(one.address),
        "active": None if all(one.active) else list(one.active),
        "times": one.times,
        "block": list(one.block),
        "warp": one.warp,
    }


def _place(one: AccessRequests) -> tuple[int, int, int, int]:
    """Rows, columns, bytes of an element and first address of the array, or of what is known."""
    if one.shape:
        elems = math.prod(one.shape)
        cols = one.shape[-1] if len(one.shape) > 1 else ROW_ELEMS
        return max(1, -(-elems // max(1, cols))), max(1, cols), one.itemsize, one.base
    asked = [
        address
        for request in one.kept
        for address, on in zip(request.address, request.active, strict=True)
        if on
    ]
    base = min(asked, default=0) // LINE_BYTES * LINE_BYTES
    itemsize = _itemsize(one.row)
    rows = (max(asked, default=0) + one.row.width - 1 - base) // (ROW_ELEMS * itemsize) + 1
    return rows, ROW_ELEMS, itemsize, base


def _elems(one: AccessRequests) -> State:
    """How many elements an array of one dimension has: its last row may not be whole."""
    return {"elems": one.shape[0]} if len(one.shape) == 1 else {}


def _itemsize(row: AccessRow) -> int:
    try:
        return int(np.dtype(row.dtype).itemsize)
    except TypeError:  # a record, written out
        return row.width


def _worst_place(row: AccessRow, kept: Sequence[Request]) -> int:
    """Which of the requests is the worst one of the trace."""
    for at, one in enumerate(kept):
        if row.worst is not None and (one.address, one.active) == (
            row.worst.address,
            row.worst.active,
        ):
            return at
    return 0


def _of_map(request: BankMap) -> AccessRequests:
    """The one request of a bank map, as a row of a trace."""
    from ..service import service

    served = service(request.address, width=request.width, active=request.active, kind=request.kind)
    row = AccessRow(
        line=request.line,
        column=0,
        function="",
        source=request.access,
        text=request.access,
        kind=request.kind,
        space="shared",
        array="",
        dtype=f"V{request.width}",
        width=request.width,
        requests=1,
        lanes=served.lanes,
        wavefronts=served.wavefronts,
        ideal=served.ideal,
        extra=served.extra,
        ways=served.ways,
        multicast=int(served.shared_words > 0),
        sectors=0,
        ideal_sectors=0,
    )
    one = Request(request.address, request.active, 1, request.block, request.warp)
    return AccessRequests(row, (one,), itemsize=request.width)


def _notes(found: Sequence[AccessRequests]) -> list[str]:
    """What is not shown, in words."""
    alone = sorted({one.why for one in found if one.why})
    notes = [f"Only the worst request of each access is shown: {why}." for why in alone]
    for one in found:
        if one.others and not one.why:
            more = "1 more request" if one.others == 1 else f"{one.others:,} more requests"
            notes.append(
                f"line {one.row.line}, {one.row.access}: not shown, but counted: {more} with"
                f" {counted(one.others_wavefronts, 'wavefront')}."
            )
    return notes
