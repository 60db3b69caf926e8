"""Observations as findings, in the words of their kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ...lockstep.watch import Site
from ..callers import Call, Code
from ..model import Dim3, Observation
from .finding import Finding, in_order
from .kinds import kind_of
from .words import Words

_NONE: Mapping[Code, Call] = MappingProxyType({})


def findings_of(
    kernel: str,
    block: Dim3,
    label: Callable[[Site], str],
    source: Callable[[Site], str],
    seen: Sequence[Observation],
    calls: Mapping[Code, Call] = _NONE,
) -> tuple[Finding, ...]:
    """The observations of a launch in words, worst first.

    The arguments are those of `Words`, but for `calls`: through which call of the kernel each
    function of Numba's is reached. What is found inside is reported once, at that call; a price
    that is paid there is Numba's affair.
    """
    words = Words(kernel, block, label, source, seen)
    found = [_finding(words, one) for one in seen if not _is_inside(one, calls)]
    inside = [_at_the_call(words, one, calls) for one in seen if _is_inside(one, calls)]
    once = {
        (one.kind, one.function, one.line, one.other_line, one.array): one
        for one in reversed(inside)
        if not one.price
    }
    every = [*found, *once.values()]
    if any(one.heard is not None for one in seen):
        every = [replace(one, leads=_hands_on(one, seen)) for one in every]
    return tuple(sorted(every, key=in_order))


def _hands_on(finding: Finding, seen: Sequence[Observation]) -> bool:
    """Whether it is a race in shared memory: by these, threads of a block tell each other."""
    shared = {one.array.name for one in seen if one.array is not None and _in_shared(one)}
    return finding.kind in ("race", "race_in_warp", "race_atomic") and finding.array in shared


def _in_shared(seen: Observation) -> bool:
    return seen.array is not None and seen.array.space == "shared"


def _is_inside(seen: Observation, calls: Mapping[Code, Call]) -> bool:
    return any(_key(site) in calls for site in (seen.site, seen.other or seen.site))


def _key(site: Site) -> Code:
    return site.file, site.function


def _at_the_call(words: Words, seen: Observation, calls: Mapping[Code, Call]) -> Finding:
    """The finding about a function of Numba's, at the line that calls it."""
    found = _finding(words, seen)
    inner = seen.site if _key(seen.site) in calls else seen.other
    assert inner is not None
    call = calls[_key(inner)]
    first, then = (
        calls[_key(site)].site if _key(site) in calls else site
        for site in (seen.site, seen.other or seen.site)
    )
    apart = then is not first
    cause = found.cause[0].lower() + found.cause[1:]
    said = f"{words.line(call.site)} calls {call.name}, a function of Numba's, where {cause}"
    return replace(
        found,
        function=words.label(first),
        line=first.line,
        source=words.source(first),
        other_function=words.label(then) if apart else None,
        other_line=then.line if apart else None,
        other_source=words.source(then) if apart else None,
        cause=said[0].upper() + said[1:],
        cure=_cure_at_the_call(found.kind, call),
    )


def _cure_at_the_call(kind: str, call: Call) -> str:
    """What to change, as the function itself is not the learner's."""
    if kind_of(kind).race:
        return (
            f"Let no two threads give {call.name} the same element to change: in cuda.random every "
            "thread needs a state of its own, such as the one at cuda.grid(1)."
        )
    if kind == "out_of_range":
        return f"Give {call.name} an index that its array has, or a larger array."
    return f"Change what the call gives to {call.name}; the line itself is Numba's."


def _finding(words: Words, seen: Observation) -> Finding:
    kind = kind_of(seen.kind)
    cause, cure = kind.words(words, seen)
    other = seen.other
    threads = (seen.thread,) if seen.other_thread is None else (seen.thread, seen.other_thread)
    return Finding(
        kind=seen.kind,
        severity=kind.severity,
        function=words.label(seen.site),
        line=seen.site.line,
        source=words.source(seen.site),
        other_function=None if other is None else words.label(other),
        other_line=None if other is None else other.line,
        other_source=None if other is None else words.source(other),
        threads=threads,
        warps=(seen.warp,) if seen.other_warp is None else (seen.warp, seen.other_warp),
        block=seen.block,
        array=None if seen.array is None else seen.array.name,
        index=seen.index,
        count=seen.count,
        cause=cause[0].upper() + cause[1:],
        cure=cure,
    )
