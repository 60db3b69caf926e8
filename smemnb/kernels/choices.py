"""Choices of a kernel, checked before it is made: tiles, threads, memory that must come out even.

A check looks at the values of all choices and returns the first `Problem`, or None. `refuse` raises
the ValueError for it, with the nearest values of the same choice that pass the whole check.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from math import log2
from typing import Any

from ..hardware import LIMITS

__all__ = ["Problem", "no_block", "no_residence", "refuse", "wrong_number"]

Check = Callable[[Mapping[str, Any]], "Problem | None"]

FARTHEST = 128
"""How far from a refused value others are tried."""

THREADS = 1024
SHARED_BYTES = 48 * 1024
"""Of a block, on every GPU, without opting in."""


@dataclass(frozen=True)
class Problem:
    """A choice that does not do: its name, and what is wanted of it in place of what it is."""

    field: str
    wanted: str


def refuse(
    what: str,
    values: Mapping[str, Any],
    check: Check,
    usual: Mapping[str, Any] | None = None,
) -> None:
    """Raise a ValueError if the check finds a problem with these values.

    The message names the choice, its value, what is wanted, and the nearest values that pass. Where
    `usual` has the values of choices that nobody made, it names those that somebody made first.
    """
    problem = check(values)
    if problem is None:
        return
    usual = usual or {}
    made = {name: value for name, value in values.items() if value != usual.get(name, _NO_VALUE)}
    said = f"{what}: {problem.field}={values[problem.field]!r}, but {problem.wanted}."
    if made and problem.field not in made:
        given = " and ".join(f"{name}={value!r}" for name, value in made.items())
        go = "do" if len(made) > 1 else "does"
        beside = f"{problem.field}={values[problem.field]!r}"
        said = f"{what}: {given} {go} not go with {beside}: {problem.wanted}."
    raise ValueError(f"{said} {_advice(problem.field, values, check, usual)}")


_NO_VALUE = object()


def wrong_number(values: Mapping[str, Any], least: Mapping[str, int]) -> Problem | None:
    """The first of these choices that is not a whole number of at least so much."""
    for field, smallest in least.items():
        value = values[field]
        if type(value) is not int or value < smallest:
            return Problem(field, f"a whole number of {smallest} or more is wanted")
    return None


def no_block(field: str, threads: int, shared_field: str, shared_bytes: int) -> Problem | None:
    """What a block has too much of for any GPU: threads, or bytes of shared memory."""
    if threads > THREADS:
        return Problem(field, f"that makes {threads} threads in a block, which has {THREADS}")
    if shared_bytes > SHARED_BYTES:
        return Problem(
            shared_field,
            f"that makes {shared_bytes:,} bytes of shared memory in a block, which has"
            f" {SHARED_BYTES:,}",
        )
    return None


def no_residence(
    field: str, resident: int, threads: int, shared_bytes: int, registers: int = 0
) -> Problem | None:
    """Why no GPU holds so many of these blocks on a multiprocessor at once.

    `registers` are those that a thread needs in any case. The limits are the largest of all GPUs.
    """
    most_blocks = max(limits.blocks_per_sm for limits in LIMITS.values())
    most_threads = max(limits.threads_per_sm for limits in LIMITS.values())
    most_shared = max(limits.shared_per_sm for limits in LIMITS.values())
    most_registers = max(limits.registers_per_sm for limits in LIMITS.values())
    per_thread = max(limits.registers_per_thread for limits in LIMITS.values())
    allowed = min(per_thread, most_registers // (resident * threads) // 8 * 8)
    wanted = ""
    if resident > most_blocks:
        wanted = f"a multiprocessor holds {most_blocks} blocks at most"
    elif resident * threads > most_threads:
        wanted = (
            f"{resident} blocks of {threads} threads are {resident * threads}, and a"
            f" multiprocessor holds {most_threads} at most"
        )
    elif resident * shared_bytes > most_shared:
        wanted = (
            f"{resident} blocks with {shared_bytes:,} bytes of shared memory are"
            f" {resident * shared_bytes:,}, and a multiprocessor has {most_shared:,} at most"
        )
    elif registers > allowed:
        wanted = (
            f"a thread keeps {registers} values in registers, and with {resident} blocks of"
            f" {threads} threads on a multiprocessor it has {allowed}"
        )
    return Problem(field, wanted) if wanted else None


def _advice(field: str, values: Mapping[str, Any], check: Check, usual: Mapping[str, Any]) -> str:
    """Values of this choice, or of another one, or of two, with which the rest as it is passes.

    To take a choice back is the last advice: whoever made it wants another value.
    """
    back = ""
    for name in (field, *(other for other in values if other != field)):
        found = _nearest(name, values, check)
        said = " or ".join(f"{name}={value}" for value in found)
        if found and found != [usual.get(name, _NO_VALUE)]:
            return f"With the other choices as they are, {said} would do."
        back = back or said
    made = [name for name in values if values[name] != usual.get(name, _NO_VALUE)]
    pair = _pair(values, check, made if back else ())
    if pair:
        said = " and ".join(f"{name}={value}" for name, value in pair.items())
        return f"With the other choices as they are, {said} would do."
    if back:
        return f"With the other choices as they are, {back} would do."
    return "More than two of the choices have to change."


def _nearest(field: str, values: Mapping[str, Any], check: Check) -> list[Any]:
    """The nearest values of a choice below and above that pass, smallest first.

    For True, False and fractions the same value as a whole number, and the other way round.
    """
    value = values[field]

    def passes(one: Any) -> bool:
        return check({**values, field: one}) is None

    kinds = (bool, int) if isinstance(value, int | float) else ()
    same = [kind(value) for kind in kinds if type(value) is not kind and passes(kind(value))]
    if same or type(value) is bool:
        return same or [one for one in (not value,) if passes(one)]
    start = int(value) if kinds else 1
    below = range(start - 1, max(start - FARTHEST, 0) - 1, -1)
    nearest = (next(filter(passes, some), None) for some in (below, range(start, start + FARTHEST)))
    return [one for one in nearest if one is not None]


def _pair(values: Mapping[str, Any], check: Check, keep: Collection[str]) -> dict[str, int]:
    """Powers of two for two choices that pass, as near to what they are as there are any.

    The choices to `keep` stay as they are.
    """
    powers = {
        name: [1 << power for power in range(10) if value / 8 <= 1 << power <= value * 8]
        for name, value in values.items()
        if type(value) is int and value > 0 and name not in keep
    }
    found: list[tuple[float, dict[str, int]]] = []
    for names in combinations(powers, 2):
        for pair in product(*(powers[name] for name in names)):
            tried = dict(zip(names, pair, strict=True))
            if check({**values, **tried}) is None:
                apart = sum(abs(log2(tried[name] / values[name])) for name in names)
                found.append((apart, tried))
    return min(found, key=lambda one: one[0])[1] if found else {}
