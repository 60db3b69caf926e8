"""By what rule a count comes about: sentences made of the requests that were recorded.

Each column has its rule. The first time a figure misses, the rule is said and what it meets here:
how the lanes lie, where warps stay away. With that the count can be worked out, and it is not said.
From the second try on it is.

    requests     of which warps, how often
    wavefronts   which lanes want different words of one bank; the parts of 8 and 16 bytes per lane
    sectors      how far apart lanes lie, and where the first one begins
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...hardware import BANKS, SECTOR_BYTES, WARP_LANES, WORD_BYTES
from ...rules import bank
from ...tracing.model import AccessRow
from ...tracing.patterns import AccessPatterns, Pattern

Array = np.ndarray[Any, np.dtype[Any]]

RULES = {
    "requests": "A warp that comes to a line with at least one lane makes one request there, and "
    "one more each time it comes again.",
    "wavefronts": "Different words of one bank are served one after another, a wavefront each; one "
    "word serves all lanes that want it.",
    "sectors": "A request takes each sector of 32 bytes that one of its lanes touches, and each "
    "only once.",
}
_ATOMIC = {
    "atomic_add": "An atomic add takes a wavefront for each lane of the bank with the most lanes.",
    "atomic_increment": "An atomic add of 1 takes a wavefront for each different word of a bank.",
    "atomic_cas": "An atomic compare-and-swap takes two wavefronts for each lane of the bank with "
    "the most lanes.",
}
FOLLOWS = "Per request this is right; the requests are not."
"""Of a figure that is wrong because another one is."""
_LISTED = 4
"""Places of a sector at which requests begin, as far as they are listed one by one."""
_SHOWN = 2
"""Forms of requests that are described; of the others it is said how many requests they are."""


def rule(row: AccessRow, column: str) -> str:
    """The rule that a column follows, in a sentence."""
    return _ATOMIC.get(row.kind, RULES[column]) if column == "wavefronts" else RULES[column]


def because(
    row: AccessRow, column: str, found: AccessPatterns | None, *, told: bool
) -> Iterator[str]:
    """What the rule meets in the requests of an access, in sentences.

    Args:
        row: the access, as the trace counted it.
        column: "requests", "wavefronts" or "sectors".
        found: its requests; None where they are not known.
        told: whether the count may be said.
    """
    if not row.requests:
        yield "No warp of this launch comes here with an active lane."
        return
    if found is None:
        if told:
            yield f"The launch counts {getattr(row, column):,}."
        return
    yield from _requests(found, told) if column == "requests" else _costs(found, column, told)


def slip(row: AccessRow, column: str, given: int, requests: int | None, blocks: int) -> str:
    """What a wrong figure would be right for; "" where that is nothing known.

    Args:
        row: the access, as the trace counted it.
        column: whose figure it is.
        given: the figure.
        requests: what was forecast as requests of the same access, None if nothing.
        blocks: of the launch.
    """
    counted = getattr(row, column)
    if column == "requests":
        if given == row.lanes:
            return f"{given:,} is the number of lanes; up to 32 of them make one request."
        if blocks > 1 and given * blocks == counted:
            return "That would be one block; the launch has more."
        return ""
    if requests not in (None, row.requests) and given * row.requests == counted * requests:
        return FOLLOWS
    if row.requests > 1 and given * row.requests == counted:
        return "That is what one request takes; a figure is of the whole launch."
    if given == row.requests:
        return f"{given:,} would be one per request."
    if blocks > 1 and given * blocks == counted:
        return "That would be one block; the launch has more."
    return ""


# --- requests -------------------------------------------------------------------------------


def _requests(found: AccessPatterns, told: bool) -> Iterator[str]:
    row, made = found.row, found.made
    least, most = made[0], made[-1]
    if told:
        often = "once each" if most == 1 else f"{most:,} times each"
        if least < most:
            often = f"{least:,} to {most:,} times"
        yield (
            f"{len(made):,} of the {found.warps:,} warps of the launch come here, {often}: "
            f"{row.requests:,} request{'' if row.requests == 1 else 's'}."
        )
    elif len(made) < found.warps:
        yield "Not every warp of the launch comes here."
    if not told and most > 1:
        yield "A warp that comes here comes several times."
    if not told and len(made) == found.warps and most == 1:
        yield "Every warp of the launch comes here, once."
    if row.lanes < WARP_LANES * row.requests:
        yield f"Some come with fewer than {WARP_LANES} lanes: that is a request like any other."


# --- wavefronts and sectors -----------------------------------------------------------------


def _costs(found: AccessPatterns, column: str, told: bool) -> Iterator[str]:
    """How lanes lie in the most frequent forms of a request, and what the forms add up to."""
    row = found.row
    of_bank = column == "wavefronts"
    forms: dict[tuple[str, int], list[Pattern]] = defaultdict(list)
    for pattern in found.patterns:
        form = _form(pattern, row, shared=of_bank)
        # equal steps cost alike in banks; in sectors it also matters where they begin
        forms[form, pattern.each if of_bank else 0].append(pattern)
    ordered = sorted(forms.items(), key=lambda one: -sum(p.times * p.each for p in one[1]))
    for (form, _), patterns in ordered[:_SHOWN]:
        times = sum(pattern.times for pattern in patterns)
        of = f"In {times:,} of {row.requests:,} requests" if len(ordered) > 1 else "In each request"
        why = _meeting(patterns[0], row, told) if of_bank else _reach(patterns, row, told)
        yield f"{of} {form}{why}{_cost(patterns, column) if told else ''}."
    rest = sum(p.times for _, patterns in ordered[_SHOWN:] for p in patterns)
    if rest:
        yield f"The lanes of {rest:,} more lie otherwise."
    if told:
        yield _sum(found, column)


def _cost(patterns: Sequence[Pattern], column: str) -> str:
    """What each request of these takes."""
    costs = sorted({pattern.each for pattern in patterns})
    if costs == [1]:
        return f": 1 {column[:-1]}"
    return f": {costs[0]:,} {column}" if len(costs) == 1 else f": up to {costs[-1]:,} {column}"


def _sum(found: AccessPatterns, column: str) -> str:
    """The count of the launch, as requests times what each takes."""
    each: dict[int, int] = defaultdict(int)
    for pattern in found.patterns:
        each[pattern.each] += pattern.times
    parts = " + ".join(
        f"{times:,} x {cost:,}" for cost, times in sorted(each.items(), reverse=True)
    )
    return f"{parts} = {getattr(found.row, column):,} {column}."


def _form(pattern: Pattern, row: AccessRow, *, shared: bool) -> str:
    """How the lanes of a request lie."""
    lanes = np.flatnonzero(np.array(pattern.active))
    at = np.array(pattern.address, np.int64)[lanes]
    if len(lanes) == 1:
        return "one lane is active"
    who = "the lanes" if len(lanes) == WARP_LANES else f"{len(lanes)} active lanes"
    what = "word" if shared and row.width <= WORD_BYTES else f"{row.width} bytes"
    if (at == at[0]).all():
        return f"{who} want the same {what}"
    step = _step(lanes, at)
    if step is not None:
        return f"{who} lie {_apart(step, row.width, shared)}"
    for size in (2, 4, 8, 16):
        inner, outer = _groups(lanes, at, size)
        if inner is None or outer is None:
            continue
        beyond = f"the next {size} begin {_distance(outer, shared)} on"
        if outer == 0:
            beyond = f"the next {size} want the same again"
        if inner == 0:
            return f"{size} lanes in turn want the same {what}; {beyond}"
        return f"{size} lanes in turn lie {_apart(inner, row.width, shared)}; {beyond}"
    some, far = lanes[1:4].tolist(), (at[1:4] - at[0]).tolist()
    unit, size = ("words", WORD_BYTES) if shared and not any(at % WORD_BYTES) else ("bytes", 1)
    away = f"{_several([one // size for one in far])} {unit} from lane {lanes[0]}"
    return f"{who} lie in no even steps (lanes {_several(some)}: {away})"


def _several(items: Sequence[Any]) -> str:
    """Some things in a row: "1, 2 and 3"."""
    *most, last = map(str, items)
    return f"{', '.join(most)} and {last}" if most else last


def _step(lanes: Array, at: Array) -> int | None:
    """Bytes from lane to lane, None if they are not always the same."""
    gaps, steps = np.diff(lanes), np.diff(at)
    each = steps // gaps
    return int(each[0]) if (each == each[0]).all() and (each * gaps == steps).all() else None


def _groups(lanes: Array, at: Array, size: int) -> tuple[int | None, int | None]:
    """Bytes from lane to lane within groups, and from group to group; None where they differ."""
    if len(lanes) % size or len(lanes) == size or (np.diff(lanes) != 1).any() or lanes[0] % size:
        return None, None
    groups = at.reshape(-1, size)
    inner = np.diff(groups, axis=1)
    if (inner != inner.flat[0]).any():
        return None, None
    outer = np.diff(groups[:, 0])
    return int(inner.flat[0]), int(outer[0]) if (outer == outer[0]).all() else None


def _apart(step: int, width: int, shared: bool) -> str:
    if abs(step) == width:
        return "side by side" + (", in falling order" if step < 0 else "")
    return f"{_distance(abs(step), shared)} apart"


def _distance(step: int, shared: bool) -> str:
    if shared and step % WORD_BYTES == 0:
        words = step // WORD_BYTES
        return f"{words:,} word{'s' * (abs(words) != 1)}"
    return f"{step:,} byte{'s' * (abs(step) != 1)}"


def _reach(patterns: Sequence[Pattern], row: AccessRow, told: bool) -> str:
    """Where requests begin within a sector; told, also whether no lanes share one."""
    each = [np.array(one.address, np.int64)[np.array(one.active)] for one in patterns]
    past = sorted({int(at.min()) % SECTOR_BYTES for at in each})
    distinct = np.unique(each[0])
    span = int(distinct[-1] - distinct[0]) + row.width
    size = (
        f", {span} bytes in all" if len(distinct) > 1 and len(distinct) * row.width == span else ""
    )
    where = f"lies {' or '.join(map(str, past))} bytes past"
    if len(past) > _LISTED:
        where = f"lies {past[0]} to {past[-1]} bytes past"
    elif past == [0]:
        where = "is"
    alone = all(len(one) > 1 and len(np.unique(one // SECTOR_BYTES)) == len(one) for one in each)
    apart = ", so that no two of them share a sector" if alone and told else ""
    return f"{size}{apart}, and the lowest address {where} a multiple of 32"


def _meeting(pattern: Pattern, row: AccessRow, told: bool) -> str:
    """Which lanes meet in a bank with different words; in how many parts a request is served."""
    address, active = np.array(pattern.address, np.int64), np.array(pattern.active)
    if row.kind in ("atomic_add", "atomic_cas"):
        return _lanes_of_bank(address, active, told)
    parts = _parts(row, address, active)
    said = ""
    if row.width > WORD_BYTES:
        whole = sum(bool(active[part].any()) for part in parts)
        count = f"{whole} parts of {len(parts[0])} lanes" if whole > 1 else "one part"
        said = f"; at {row.width} bytes per lane they are served in {count}"
    clashes = [_clash(address[part], active[part], part) for part in parts]
    most, lanes, which = max(clashes, key=lambda one: one[0])
    if most <= 1 and not told:
        return said
    if most <= 1:
        return f"{said}, and no bank is asked for two different words" + (
            " in one part" if len(parts) > 1 else ""
        )
    some = f"lanes {lanes[0]} and {lanes[1]} want different words of bank {which}"
    return f"{said}, and {some}" + (f", {most} words in all" if told else "")


def _parts(row: AccessRow, address: Array, active: Array) -> list[range]:
    """The lanes that are served together (`rules.bank`)."""
    lanes = WARP_LANES
    if row.width > WORD_BYTES:
        lanes = WARP_LANES * WORD_BYTES // row.width
        if row.kind == "load" and _paired(address, active):
            lanes *= 2
    return [range(first, first + lanes) for first in range(0, WARP_LANES, lanes)]


def _paired(address: Array, active: Array) -> bool:
    """Whether each active lane has a partner, one or two lanes away, that wants the same."""
    lane = np.arange(WARP_LANES)
    return any(
        bool(((address == address[lane ^ away]) | ~(active & active[lane ^ away])).all())
        for away in (1, 2)
    )


def _clash(address: Array, active: Array, lanes: Sequence[int]) -> tuple[int, tuple[int, ...], int]:
    """Most different words of a bank, the lanes that want them first, and the bank.

    Of 8 and 16 bytes the first word stands for all: aligned pieces share all their banks or none.
    """
    by_bank: dict[int, dict[int, int]] = defaultdict(dict)
    for at, on, lane in zip(address.tolist(), active.tolist(), lanes, strict=True):
        if on:
            by_bank[at // WORD_BYTES % BANKS].setdefault(at // WORD_BYTES, lane)
    busiest = max(by_bank, key=lambda one: len(by_bank[one]), default=0)
    wanted = by_bank.get(busiest, {})
    return len(wanted), tuple(wanted.values()), busiest


def _lanes_of_bank(address: Array, active: Array, told: bool) -> str:
    banks = np.bincount(bank.bank_of(address[active]), minlength=BANKS)
    busiest = int(banks.argmax())
    return f", and bank {busiest} has {banks[busiest]} of them" if told else ""
