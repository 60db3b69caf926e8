"""Words of prices: sectors, wavefronts, float64 and shared memory that are paid for nothing."""

from __future__ import annotations

import ast

from ...hardware import SECTOR_BYTES, WARP_LANES
from ..function_text import FunctionText
from ..model import Observation
from .words import Words, act


def uncoalesced(words: Words, seen: Observation) -> tuple[str, str]:
    """Lanes walk with a step that is larger than an element."""
    step = abs(int(seen.detail["step"]))
    cause = f"{_moved(words, seen)}: from lane to lane it goes on by {step} bytes"
    axis = "" if seen.axis is None else f", along axis {seen.axis} of {_name(seen)}"
    if seen.axis is None:
        return f"{cause}.", (
            "Let neighbouring lanes take neighbouring elements: one array per field, or load the "
            "elements in order into a shared tile and pick from there."
        )
    near, apart = _nearest(seen)
    if near == seen.axis:
        return f"{cause}{axis}, where {_name(seen)} has its elements {apart} bytes apart.", (
            f"Pass a contiguous copy of {_name(seen)}: no axis of this one has its elements side "
            "by side."
        )
    return f"{cause}{axis}.", (
        f"Let threadIdx.x walk along axis {near}: exchange the roles of x and y, or stage the "
        "elements in a shared tile and exchange them there."
    )


def _nearest(seen: Observation) -> tuple[int | None, int]:
    """The axis along which the elements of an array are nearest, and how many bytes apart."""
    if seen.array is None:
        return None, 0
    array = seen.array
    steps = [
        (abs(stride) * array.unit, -axis)
        for axis, stride in enumerate(array.strides)
        if array.shape[axis] > 1
    ]
    apart, axis = min(steps)
    return -axis, apart


def scattered(words: Words, seen: Observation) -> tuple[str, str]:
    """Lanes go where the data send them."""
    if seen.site.kind.startswith("atomic"):
        return f"{_moved(words, seen)}: its lanes go where the data send them.", (
            "That is the price of adding where the data say; counters or sums in shared memory, "
            "added to these once at the end, lower it."
        )
    return f"{_moved(words, seen)}: its lanes go where the data send them.", (
        "That is the price of a gather; sorting the indices, or a tile of the elements in shared "
        "memory, lowers it."
    )


def interleaved(words: Words, seen: Observation) -> tuple[str, str]:
    """Lanes leave out what other accesses of the kind take."""
    step = abs(int(seen.detail["step"]))
    if seen.array is not None and seen.array.dtype.kind == "c":
        return (
            f"{_moved(words, seen)}: real and imaginary part are requests of their own, each with "
            f"a part of every {step} bytes.",
            "A cache may keep the sectors from one to the next, and a compiler may join the two: "
            "as_compiled() tells. One array of .real and one of .imag need neither.",
        )
    return (
        f"{_moved(words, seen)}: it takes a part of every {step} bytes, and other accesses or "
        "its next executions take the rest.",
        "A cache may keep the sectors from one to the next; one array per field needs none.",
    )


def misaligned(words: Words, seen: Observation) -> tuple[str, str]:
    """Lanes go from element to element, but begin inside a sector."""
    rows, row = int(seen.detail["rows"]), int(seen.detail["row"])
    if rows > 1 and row % SECTOR_BYTES and words.block[0] < WARP_LANES:
        return (
            f"{_moved(words, seen)}: a warp takes {rows} rows of {row} bytes, no multiple of "
            f"{SECTOR_BYTES}.",
            f"Let a warp take one row: a block {WARP_LANES} threads wide.",
        )
    return (
        f"{_moved(words, seen)}: its lanes go from element to element, but begin inside a sector.",
        (
            "Let the first lane of a warp begin at a multiple of 32 bytes: pad the rows of "
            f"{_name(seen)}, or shift the work by the odd elements."
        ),
    )


def _moved(words: Words, seen: Observation) -> str:
    sectors, least = int(seen.detail["sectors"]), int(seen.detail["least"])
    return (
        f"{words.line(seen.site)} {act(seen.site)} and moves {sectors:,} sectors where "
        f"{least:,} would hold the bytes"
    )


def phantom_padding(words: Words, seen: Observation) -> tuple[str, str]:
    """The pad of a shared array frees no wavefront."""
    name, shape = _name(seen), () if seen.array is None else seen.array.shape
    pad, used = int(seen.detail["pad"]), int(seen.detail["used"])
    still = f"{words.line(seen.site)} {act(seen.site)} still {seen.detail['ways']}-way"
    if seen.detail["why"] == "axis":
        swapped = ", ".join(map(str, (*shape[:-2], used, shape[-1] + pad)))
        return (
            f"{name} of shape {shape} is padded on the wrong axis: its last {_rows(pad)} never "
            f"stored, and {still}.",
            f"Pad the last axis: shape ({swapped}), so that the rows begin in different banks.",
        )
    if seen.detail["why"] == "flat":
        pitch = used + pad
        return (
            f"{name} has room for rows of {pitch}, but is indexed with rows of {used}: the pad is "
            f"never between two rows, and {still}.",
            f"Multiply the row by {pitch} in every index of {name}.",
        )
    here = f"{words.line(seen.site)} {act(seen.site)} {seen.detail['ways']}-way"
    now, then = int(seen.detail["now"]), int(seen.detail["then"])
    if then < now:
        return (
            f"the pad of {name}, shape {shape}, frees nothing and makes conflicts: {here}, a "
            f"request in {now} wavefronts; with rows of {used} it would take {then}.",
            f"Leave the pad away: with rows of {used}, no access of {name} is worse off.",
        )
    return (
        f"the pad of {name}, shape {shape}, frees nothing: {here}, a request in as many wavefronts "
        f"as with rows of {used}.",
        "Choose the pad by the access that conflicts (an odd number of words per row for a "
        "column), or leave it away where a swizzle does its work.",
    )


def matrix_conflict(words: Words, seen: Observation) -> tuple[str, str]:
    """Rows of a matrix of ldmatrix or stmatrix lie in the same banks."""
    detail = {name: int(seen.detail[name]) for name in ("ways", "wavefronts", "least", "pitch")}
    name, every, fold = _name(seen), int(seen.detail["every"]), int(seen.detail["fold"])
    cause = (
        f"{words.line(seen.site)} {act(seen.site)}, an {seen.detail['instruction']}, in "
        f"{detail['wavefronts']:,} wavefronts where {detail['least']:,} would do: of the 8 rows "
        f"of a matrix {detail['ways']} lie in the same four banks"
    )
    if not detail["pitch"] or seen.array is None:
        return f"{cause}.", (
            f"Place the rows of {name} so that any 8 of them, 16 bytes each, fill all 32 banks."
        )
    elements = 16 // seen.array.itemsize
    pitch = detail["pitch"] // seen.array.itemsize
    pad = f"a pitch of {pitch + elements} elements"
    cause += f", as rows begin {detail['pitch']} bytes apart."
    if not fold:
        return cause, f"Let rows of {name} begin 16 bytes further apart: {pad}."
    row = "row" if every == 1 else f"row // {every}"
    return cause, (
        f"Keep chunk c (of {elements} elements) of a row of {name} at chunk c ^ ({row} % {fold}), "
        f"where it is stored and where it is loaded; or let rows begin 16 bytes further apart: "
        f"{pad}."
    )


def _rows(pad: int) -> str:
    return "row is" if pad == 1 else f"{pad} rows are"


def float64_arithmetic(words: Words, seen: Observation) -> tuple[str, str]:
    """A kernel of float32 arrays computes in float64."""
    return (
        f"{words.line(seen.site)} computes {seen.site.text} in float64, as "
        f"{seen.detail['why']}; the arrays are float32.",
        f"Write {seen.detail['instead']}: a GPU does float64 at a fraction of the speed.",
    )


def float64_array(words: Words, seen: Observation) -> tuple[str, str]:
    """An input is float64 in a kernel that works with float32 else."""
    array, dtype = seen.detail["array"], seen.detail["dtype"]
    short = "complex64" if dtype == "complex128" else "float32"
    how = f"in {dtype}" if seen.detail["does"] == "computes" else f"from {dtype} into {short}"
    return (
        f"{words.line(seen.site)} {seen.detail['does']} {seen.site.text} {how}, as {array} is a "
        f"{dtype} array; the kernel works with {short} else.",
        f"If {short} is meant, pass {array}.astype(np.{short}): NumPy's random numbers are "
        f"float64, each load moves twice the bytes, and a GPU does float64 at a fraction of the "
        "speed.",
    )


def shared_occupancy(words: Words, seen: Observation) -> tuple[str, str]:
    """Shared memory keeps most warps out of a multiprocessor."""
    at = seen.detail
    allowed = int(at["allowed"])
    blocks = "1 block fits" if allowed == 1 else f"{allowed} blocks fit"
    return (
        f"{seen.count:,} bytes of shared memory per block, most of them {_name(seen)} in "
        f"{words.line(seen.site)}: {blocks} into a multiprocessor of cc {at['cc']} "
        f"({int(at['per_sm']):,} bytes), with {at['warps']} of its {at['most']} warps.",
        f"A smaller tile lets up to {at['possible']} blocks in; few warps are enough only if each "
        "has much to do between two loads.",
    )


def unused_shared(words: Words, seen: Observation) -> tuple[str, str]:
    """A shared array is declared and not touched."""
    anew = _assigned_anew(seen)
    if anew is not None:
        return (
            f"{words.line(seen.site)} declares {_name(seen)}, {seen.count:,} bytes, and line {anew}"
            f" gives the name {_name(seen)} to another value: no thread loads or stores the array.",
            f"To store into the array, write {_name(seen)}[...] = ... in line {anew}.",
        )
    return (
        f"{words.line(seen.site)} declares {_name(seen)}, {seen.count:,} bytes, and no thread "
        "loads or stores it.",
        "Take the array out: its bytes count towards the limit of a block, and of a "
        "multiprocessor.",
    )


def _assigned_anew(seen: Observation) -> int | None:
    """The line that gives the name of a shared array to something else than such an array."""
    text = FunctionText.of(seen.site.function, seen.site.line, seen.site.file).own
    try:
        tree = ast.parse("\n".join(text.values()))
    except SyntaxError:  # a text in the function stands further left than its lines
        return None
    lines = (
        node.lineno + min(text) - 1
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and not _is_array_call(node.value)
        if any(isinstance(one, ast.Name) and one.id == _name(seen) for one in node.targets)
    )
    return next((line for line in lines if line > seen.site.line), None)


def _is_array_call(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("shared.array")


def local_array(words: Words, seen: Observation) -> tuple[str, str]:
    """A local array lies in local memory."""
    return (
        f"{_indexed(words, seen)}. {_size(seen)} lies in local memory, where each access is a"
        " request of its own.",
        _AT_CONSTANTS,
    )


def open_local_array(words: Words, seen: Observation) -> tuple[str, str]:
    """A local array may lie in local memory, as the compiler decides."""
    way = "lies in local memory, or each such access picks one of all its elements by selections"
    if seen.detail["index"] == "open":
        way = "lies in registers or in local memory"
    return (
        f"{_indexed(words, seen)}. {_size(seen)} {way}.",
        f"Which one is up to the compiler: as_compiled() tells. {_AT_CONSTANTS}",
    )


def _indexed(words: Words, seen: Observation) -> str:
    """What is done to a local array, and what a compiler does not know of it."""
    why, line = str(seen.detail["why"]), words.line(seen.site)
    if seen.detail["index"] == "whole":
        return f"{line}: {_name(seen)} {why}"
    late = "only if the loop is unrolled" if seen.detail["index"] == "open" else "only at run time"
    return f"{line} touches {seen.site.text}, whose index is known {late}" + (
        f" ({why})" if why else ""
    )


def _size(seen: Observation) -> str:
    return f"{_name(seen)}, {int(seen.detail['bytes']):,} bytes per thread,"


_AT_CONSTANTS = (
    "Index it with constants, or with variables of loops over constant ranges that are short enough"
    " to be unrolled; what has to be indexed at run time may do better in shared memory."
)


def unused_barrier(words: Words, seen: Observation) -> tuple[str, str]:
    """A barrier orders nothing in this launch."""
    return (
        f"the barrier of {words.line(seen.site)} orders nothing in this launch: no thread comes "
        "to what another one touched before it.",
        "Take it out, if that holds for every launch; it costs time only.",
    )


def _name(seen: Observation) -> str:
    return "the array" if seen.array is None else seen.array.name
