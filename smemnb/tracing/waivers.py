"""Waivers: where a source, or whoever traces, says why a finding may stay.

In a source a waiver is a comment at the statement that the finding names, or above it:

    out[col, row] = inp[row, col]  # smemnb: allow[uncoalesced] shows what a stride costs

    # smemnb: allow[uncoalesced, interleaved] the four stores of a thread fill their sectors, and
    # stores of 16 bytes would cost registers in the main loop
    store1(out, at, value)

It names kinds of findings and gives a reason, which may go on in the comment lines below it. It
holds for the whole statement, also where that has several lines; of a finding with two lines,
such as a race, at either of them. Any finding can be waived, an error too: it leaves
`Trace.findings` and stands in `Trace.waived` with its reason, and every report lists it.

A waiver that gives no reason, or cannot be read, waives nothing and is a finding itself. One that
no finding needs is a note, where its statement made an access or passed a barrier and everything
was watched.

Graded answers (`smemnb.exercises`) are traced with `waivers=False`.

Whoever traces can say the same of code that cannot be changed: `Trace.waive({kind: reason})`.

**Limits**: comments of a source that cannot be read (`exec`) waive nothing.
"""

from __future__ import annotations

import difflib
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import SmemnbError
from ..lockstep.texts import shown_lines
from ..lockstep.watch import Site
from .findings import KINDS, Finding
from .model import Observation

_MARK = "smemnb:"
_COMMENT = re.compile(r"#\s*smemnb:\s*(?P<rest>.*)")
_ALLOW = re.compile(r"allow\s*\[(?P<kinds>[^\]]*)\]\s*(?P<reason>.*)")

Place = tuple[str, int]
"""A file and a line."""
Allowed = Mapping[str | tuple[str, int | str], str]
"""Kind, or (kind, place), to the reason: what a caller allows. See `Trace.waive`."""


@dataclass(frozen=True)
class Waived:
    """A finding that may stay, and why.

    Attributes:
        finding: as it would be reported.
        reason: as it was given.
        line: of the comment that waives it; None where whoever traced did.
    """

    finding: Finding
    reason: str
    line: int | None = None

    @property
    def in_source(self) -> bool:
        """Whether a comment of the source waives it."""
        return self.line is not None


@dataclass(frozen=True, eq=False)
class Waiver:
    """A comment that waives findings of a statement.

    Attributes:
        comment: line of the comment.
        text: the comment as it is written.
        kinds: what it names; empty where it cannot be read.
        reason: "" where it gives none.
    """

    comment: int
    text: str
    kinds: tuple[str, ...]
    reason: str

    @property
    def unknown(self) -> tuple[str, ...]:
        """What it names that is no kind of finding."""
        return tuple(kind for kind in self.kinds if kind not in KINDS)


@dataclass
class _Settled:
    """What became of the findings of one trace."""

    kept: list[Finding] = field(default_factory=list)
    waived: list[Waived] = field(default_factory=list)
    used: set[tuple[Waiver, str]] = field(default_factory=set)


class Waivers:
    """The waivers in the sources of one trace.

    Args:
        sites: what the launch executed; comments at other statements are not looked at.
        files: the file of each function, by its name in the report.
        whole: whether every block was watched with counts and checks, so that what was not found is
            not there.
    """

    def __init__(self, sites: Iterable[Site], files: Mapping[str, str], whole: bool) -> None:
        self._files, self._whole = files, whole
        self._at: dict[Waiver, Site] = {}
        for site in sites:
            for waiver in waivers_of(site.file).get(site.line, ()):
                self._at.setdefault(waiver, site)

    def settle(self, findings: Sequence[Finding]) -> tuple[list[Finding], list[Waived]]:
        """The findings that stay, and those that are waived.

        What is wrong with the waivers themselves is in `observations` afterwards.
        """
        settled = _Settled()
        self._used = settled.used
        for found in findings:
            by = next(self._for(found), None)
            if by is None:
                settled.kept.append(found)
            else:
                settled.waived.append(Waived(found, by.reason, by.comment))
                settled.used.update((one, found.kind) for one in self._for(found))
        return settled.kept, settled.waived

    def observations(self) -> Iterator[Observation]:
        """What is wrong with the waivers that were met, after `settle`."""
        for waiver, site in self._at.items():
            unknown, known = waiver.unknown, [kind for kind in waiver.kinds if kind in KINDS]
            if unknown or not waiver.kinds:
                near = difflib.get_close_matches(unknown[0], KINDS, 1) if unknown else []
                yield _seen("unknown_waiver", waiver, site, unknown, near=", ".join(near))
            if known and not waiver.reason:
                yield _seen("waiver_without_reason", waiver, site, known)
            elif self._whole and "unused_waiver" not in known:
                unused = [kind for kind in known if (waiver, kind) not in self._used]
                if unused:
                    yield _seen("unused_waiver", waiver, site, unused)

    def _for(self, found: Finding) -> Iterator[Waiver]:
        """The waivers of a finding, at its line or at its other one."""
        places = [(self._files.get(found.function, ""), found.line)]
        if found.other_function is not None and found.other_line is not None:
            places.append((self._files.get(found.other_function, ""), found.other_line))
        for file, line in places:
            for waiver in waivers_of(file).get(line, ()):
                if found.kind in waiver.kinds and waiver.reason:
                    yield waiver


def _seen(
    kind: str, waiver: Waiver, site: Site, kinds: Sequence[str], near: str = ""
) -> Observation:
    """What is wrong with a waiver, at the line of its comment."""
    return Observation(
        kind=kind,
        site=Site(site.function, site.file, waiver.comment, 0, waiver.text, "comment"),
        block=(0, 0, 0),
        thread=(0, 0, 0),
        warp=0,
        count=1,
        detail={"kinds": ", ".join(kinds), "near": near},
    )


_read: dict[str, tuple[list[str], dict[int, list[Waiver]]]] = {}


def waivers_of(file: str) -> dict[int, list[Waiver]]:
    """The waivers in a file (or a notebook's cell), by each line that they hold for."""
    lines = shown_lines(file) if file else []
    if file not in _read or _read[file][0] is not lines:
        _read[file] = lines, waivers_in(lines)
    return _read[file][1]


def waivers_in(lines: Sequence[str]) -> dict[int, list[Waiver]]:
    """The waivers in the lines of a source, by each line that they hold for.

    >>> found = waivers_in(["# smemnb: allow[stale] a test of it", "x = tile[0]"])
    >>> list(found), found[2][0].kinds, found[2][0].reason
    ([2], ('stale',), 'a test of it')
    """
    found: dict[int, list[Waiver]] = {}
    if not any(_MARK in line for line in lines):
        return found
    for first, last, comments in _statements(lines):
        for waiver in _waivers(comments):
            for line in range(first, last + 1):
                found.setdefault(line, []).append(waiver)
    return found


Comment = tuple[int, str, bool]
"""Line of a comment, its text, and whether it has the line for itself."""


def _statements(lines: Sequence[str]) -> Iterator[tuple[int, int, list[Comment]]]:
    """First and last line of each statement, with the comments in it and directly above it."""
    comments: list[Comment] = []
    first = 0
    for token in _tokens(lines):
        row, column = token.start
        before = lines[row - 1][:column].strip() if row <= len(lines) else ""
        if token.type == tokenize.COMMENT:
            comments.append((row, token.string, not before))
        elif token.type == tokenize.NL:
            if not before and not first:
                comments = []  # what stands above a blank line is not directly above
        elif token.type == tokenize.NEWLINE:
            yield first, row, comments
            comments, first = [], 0
        elif token.type not in (tokenize.INDENT, tokenize.DEDENT) and not first:
            first = row


def _tokens(lines: Sequence[str]) -> Iterator[tokenize.TokenInfo]:
    """The tokens of a source, as far as Python can read it."""
    try:
        yield from tokenize.generate_tokens(io.StringIO("".join(_ended(lines))).readline)
    except (tokenize.TokenError, SyntaxError):
        return


def _ended(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else line + "\n"


def _waivers(comments: Sequence[Comment]) -> Iterator[Waiver]:
    """The waivers among the comments of one statement."""
    for at, (line, text, alone) in enumerate(comments):
        match = _COMMENT.search(text)
        if match is None:
            continue
        allow = _ALLOW.match(match["rest"])
        if allow is None:
            yield Waiver(line, match[0].strip(), (), "")
            continue
        kinds = tuple(kind.strip() for kind in allow["kinds"].split(",") if kind.strip())
        parts = [allow["reason"], *(_continued(comments[at + 1 :], line) if alone else ())]
        yield Waiver(line, match[0].strip(), kinds, " ".join(filter(None, map(str.strip, parts))))


def _continued(comments: Sequence[Comment], line: int) -> Iterator[str]:
    """The comment lines right below a line, up to another waiver."""
    for number, (row, text, alone) in enumerate(comments, 1):
        if row != line + number or not alone or _COMMENT.search(text):
            return
        yield text.lstrip("#")


def waive(
    findings: Sequence[Finding], allow: Allowed, kernel: str
) -> tuple[list[Finding], list[Waived]]:
    """The findings that stay, and those that a caller allows, each with its reason."""
    kept, waived = [], []
    for found in findings:
        reason = next((allow[key] for key in allow if _means(key, found, kernel)), None)
        if reason is None:
            kept.append(found)
        else:
            waived.append(Waived(found, reason))
    return kept, waived


def unused(allow: Allowed, waived: Sequence[Waived], kernel: str) -> list[str]:
    """What is allowed and was not found, as it is written."""
    return [
        repr(key)
        for key in allow
        if not any(_means(key, one.finding, kernel) for one in waived if not one.in_source)
    ]


def check_allowed(allow: object) -> None:
    """Raise if this does not say what is allowed, and why.

    Raises:
        SmemnbError: no mapping, an unknown kind, a place that is none, or no reason.
    """
    if not isinstance(allow, Mapping):
        raise SmemnbError(
            f"allow={allow!r}: write the kinds of findings with their reasons, such as"
            ' {"uncoalesced": "the input is small"}'
        )
    for key, reason in allow.items():
        kind, place = key if isinstance(key, tuple) and len(key) == 2 else (key, 0)
        if kind not in KINDS:
            near = difflib.get_close_matches(str(kind), KINDS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(KINDS)}"
            raise SmemnbError(f"allow: {kind!r} is no kind of finding{hint}")
        if isinstance(place, bool) or not isinstance(place, int | str) or place == "":
            raise SmemnbError(
                f"allow: {key!r}: the place is a line's number, a part of its source, or the name"
                " of a function"
            )
        if not isinstance(reason, str) or not reason.strip():
            raise SmemnbError(f"allow: {key!r} has no reason: write {{{key!r}: 'why it may stay'}}")


def _means(key: str | tuple[str, int | str], found: Finding, kernel: str) -> bool:
    """Whether what a caller wrote means this finding."""
    if not isinstance(key, tuple):
        return key == found.kind
    kind, place = key
    if kind != found.kind:
        return False
    if isinstance(place, int):
        return place in (found.line, found.other_line)
    sources = (found.source, found.other_source or "")
    named = (kernel, found.function, found.other_function)
    return place in named or any(place in source for source in sources)
