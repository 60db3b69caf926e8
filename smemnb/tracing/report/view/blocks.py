"""What of each function's source a view shows: all of a short one, of a long one what matters.

A block is a function with its lines and their numbers, as `show_source` numbers them. In a long
one, stretches without an access, a finding or a barrier are folded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...findings import Finding
from ...function_text import FunctionText

if TYPE_CHECKING:
    from ...trace import Trace

SHORT = 60
"""Lines up to which a function is shown whole."""
AROUND = 2
"""Lines that are shown before and after one that matters."""
_FEWEST_FOLDED = 4
_BARRIER = re.compile(r"\bsync(threads|warp)|\.sync\(\)|\b(barrier|wait|arrive)\w*\(")

Stretch = tuple[list[int], bool]
"""Line numbers, and whether they are folded."""


@dataclass(frozen=True)
class Block:
    """The source of one function.

    Attributes:
        function: its name in the report.
        file: name of its file; "" for a cell, a session, or where it is not known.
        lines: by number. Where the source cannot be read, those that the trace itself has.
        whole: whether `lines` is the whole function.
    """

    function: str
    file: str
    lines: dict[int, str]
    whole: bool

    def stretches(self, marked: Collection[int]) -> Iterator[Stretch]:
        """The lines in order, in stretches that are shown or folded.

        Args:
            marked: numbers of lines that have an access or a finding.
        """
        numbers = list(self.lines)
        if len(numbers) <= SHORT or not self.whole:
            yield numbers, False
            return
        shown = {near for line in marked for near in range(line - AROUND, line + AROUND + 1)}
        for line, text in self.lines.items():
            code = text.partition("#")[0]
            if re.match(r"\s*(@|def )", code) or _BARRIER.search(code):
                shown.add(line)
        yield from _stretches(numbers, shown)


def _stretches(numbers: list[int], shown: Collection[int]) -> Iterator[Stretch]:
    """Neighbours that are shown or not; a gap of a few lines is shown, too."""
    found: list[Stretch] = []
    for number in numbers:
        folded = number not in shown
        if found and found[-1][1] == folded:
            found[-1][0].append(number)
        else:
            found.append(([number], folded))
    open_: list[int] = []
    for lines, folded in found:
        if folded and len(lines) >= _FEWEST_FOLDED:
            if open_:
                yield open_, False
            yield lines, True
            open_ = []
        else:
            open_ = [*open_, *lines]
    if open_:
        yield open_, False


def blocks(trace: Trace) -> Iterator[Block]:
    """The kernel, then the device functions that have something to show."""
    known = _known_lines(trace)
    for function in dict.fromkeys([trace.launch.kernel, *known]):
        counted = {row.line for row in trace.lines if row.function == function}
        block = block_of(function, trace.texts.get(function), known.get(function, {}), counted)
        if block.lines:
            yield block


def block_of(
    function: str, text: FunctionText | None, known: Mapping[int, str], counted: Collection[int]
) -> Block:
    """The block of a function.

    Args:
        function: its name in the report.
        text: its source, None where it was not kept.
        known: what is known of it without its source.
        counted: lines that it must have; where it lacks one, the source is not the right one.
    """
    own = text.own if text is not None else {}
    file = text.file_name if text is not None else ""
    if own and own.keys() >= set(counted):
        return Block(function, file, own, whole=True)
    return Block(function, file, dict(sorted(known.items())), whole=False)


def places(found: Finding) -> list[tuple[str, int, str]]:
    """Function, line and source of a finding, and of its other line where that is another one."""
    own = [(found.function, found.line, found.source)]
    if found.other_line is not None:
        function = found.other_function or found.function
        other = (function, found.other_line, found.other_source or "")
        own += [other] if other[:2] != own[0][:2] else []
    return own


def _known_lines(trace: Trace) -> dict[str, dict[int, str]]:
    """By function, the lines that the trace names, with their text."""
    named = [(row.function, row.line, row.source) for row in trace.lines]
    for found in trace.all_findings:
        named += places(found)
    named += [(one.function, one.line, one.source) for one in trace.local_arrays]
    known: dict[str, dict[int, str]] = {}
    for function, line, source in named:
        known.setdefault(function, {})[line] = source.strip()
    return known
