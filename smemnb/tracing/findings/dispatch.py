"""Observations as findings, in the words of their kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...lockstep.watch import Site
from ..model import Dim3, Observation
from .finding import Finding, in_order
from .kinds import kind_of
from .words import Words


def findings_of(
    kernel: str,
    block: Dim3,
    label: Callable[[Site], str],
    source: Callable[[Site], str],
    seen: Sequence[Observation],
) -> tuple[Finding, ...]:
    """The observations of a launch in words, worst first; the arguments are those of `Words`."""
    words = Words(kernel, block, label, source, seen)
    return tuple(sorted((_finding(words, one) for one in seen), key=in_order))


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
