"""Verdicts, guesses, hints, progress and sources as HTML, for the output of a notebook's cell.

Inline styles alone, because a notebook that is not trusted keeps no style sheet. Text keeps the
colour of the page, so that it reads well in light and dark; marks and edges have a colour with a
contrast of 3 against both, and each says the same by a word or a sign too. A page that drops styles
keeps every word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from ..tracing.report.view.code import coloured, monospaced
from .glossary_links import linked
from .grading.verdict import unknown_exercise

if TYPE_CHECKING:
    from .forecasts.answer import Forecast
    from .grading.verdict import Verdict

RIGHT, OPEN = "#2e8b57", "#c35b00"
"""What is right or done, and what is not yet."""
YES, NO = "\N{CHECK MARK}", "\N{MULTIPLICATION X}"
_CODE = re.compile(r"\s|\d+ \| ")
_NO_BREAK = "\u00a0"
_LONG = 58
"""Characters of a line that stays whole in JupyterLab at 1024 pixels."""
_BROKEN = "display:inline-block;vertical-align:top"
_SIDE = "text-align:left;vertical-align:top;padding:2px 10px 2px 4px;font-weight:normal"


def verdict(found: Verdict) -> str:
    """What `check` found: a line with the answer, a row for each part, the hint."""
    done = bool(found)
    rows = [_part(one.name, one.text, YES if one.ok else NO, one.ok) for one in found.parts]
    said = (("hint", found.hint), ("note", found.note))
    rows += [_part(name, text, "", None) for name, text in said if text]
    head = (
        f"<strong>{escape(unknown_exercise(found.exercise))}</strong>"
        if found.reason == "exercise"
        else f"<strong>{escape(found.exercise)}</strong>: "
        f"{_word('done' if done else 'not yet', done)}"
    )
    return _edged(
        f'<p style="margin:0 0 4px">{head}</p>{_table(rows)}',
        RIGHT if done else OPEN,
    )


def forecast(found: Forecast) -> str:
    """What `forecast` found: the table as code, or a row for each line with what was misjudged."""
    if found.table:
        return source(found.table)
    kernel = "" if found.verdict is None else verdict(found.verdict)
    if found.refusal:
        row = _part("forecast", found.refusal, "", None)
        name = f"<strong>{escape(found.exercise)}</strong>: {_word('not yet', False)}"
        if not found.known:
            name = f"<strong>{escape(unknown_exercise(found.exercise))}</strong>"
        name = "" if kernel else name
        return kernel + _edged(f"{name}{_table([row])}", OPEN)
    done = bool(found)
    rows = [_part("launch", found.launch, "", None)]
    for line in found.lines:
        sign, ok = {"right": (YES, True), "misjudged": (NO, False)}.get(line.state, ("", None))
        said = [line.said.replace(line.access, f"`{line.access}`", 1)]
        said += [f"{one.column}: {one.text}" for one in line.misjudged]
        rows.append(_part(line.state, "\n".join(said), sign, ok))
    rows += [_part(name, text, "", None) for name, text in found.rows]
    head = f'<p style="margin:0 0 4px"><strong>{escape(found.head)}</strong></p>'
    return _edged(head + _table(rows), RIGHT if done else OPEN)


def answer(text: str, *, holds: bool | None) -> str:
    """What `predict` says: the line, and by its edge whether the guess holds."""
    if holds is None:
        return _edged(prose(text), None)
    return _edged(f"{_word('', holds)} {prose(text)}", RIGHT if holds else OPEN)


def note(text: str) -> str:
    """A hint: its text, with code where it has backticks."""
    return _edged(prose(text), None)


def chapters(
    title: str, rows: Iterable[tuple[str, str, Sequence[tuple[str, str, bool]]]], below: str = ""
) -> str:
    """Progress: a row for each exercise, chapters as links.

    Args:
        title: the first line.
        rows: name of a chapter, its file or "", and its exercises: name, title, whether it is done.
        below: a last line; "" for none.
    """
    body = []
    for chapter, file, listed in rows:
        name = escape(chapter)
        name = f'<a href="{escape(file)}">{name}</a>' if file else name
        count = f"{sum(done for *_, done in listed)} of {len(listed)}"
        body.append(f'<tr style="background:none"><th style="{_SIDE}">{name}</th>')
        body.append(f'<td style="{_SIDE}">{count}</td><td style="{_SIDE}">')
        items = (
            f"{_word('done', True) if done else 'open'} {monospaced(escape(one))} {prose(what)}"
            for one, what, done in listed
        )
        body.append("<br>".join(items) + "</td></tr>")
    table = f'<table style="border-collapse:collapse">{"".join(body)}</table>'
    return (
        f'<div><p style="margin:0"><strong>{prose(title)}</strong></p>{table}{_line(below)}</div>'
    )


def source(text: str) -> str:
    """Numbered lines of Python with the colours of the page's Pygments."""
    rows = text.split("\n")
    numbers = [re.match(r" *\d+(  |$)", row) for row in rows]
    if not any(numbers):
        return _code_block(coloured(rows))
    heads = [found[0] if found else "" for found in numbers]
    codes = coloured([row[len(head) :] for row, head in zip(rows, heads, strict=True)])
    shown = []
    for row, head, code in zip(rows, heads, codes, strict=True):
        line = f'<span style="opacity:.65">{_kept(head)}</span>{code}'
        if len(row) > _LONG:
            hang = _hang(row[len(head) :], len(head))
            style = f"{_BROKEN};margin-left:{hang:.1f}em;text-indent:-{hang:.1f}em"
            line = f'<span style="{style}">{line}</span>'
        shown.append(line)
    return _code_block(shown)


def change(text: str) -> str:
    """Lines with - and + before them: each with an edge in its colour, one line's code coloured."""
    rows = []
    for row in text.split("\n"):
        colour = {"- ": OPEN, "+ ": RIGHT}.get(row[:2])
        if colour is None:
            rows.append(escape(row))
            continue
        sign, code = row[0], coloured([row[2:]])[0]
        edge = f"border-left:4px solid {colour};padding-left:.4em"
        if len(row) > _LONG:
            hang = _hang(row[2:], 2)
            edge = f"border-left:4px solid {colour};{_BROKEN}"
            edge += f";padding-left:{hang + 0.4:.1f}em;text-indent:-{hang:.1f}em"
        rows.append(f'<span style="{edge}"><b style="color:{colour}">{sign}</b> {code}</span>')
    return _code_block(rows)


def prose(text: str) -> str:
    """Words as HTML: `code` in its font, lines of source whole, lines where the text has them.

    A link to the glossary is one where the glossary lies (`glossary_links`).

    >>> prose("Store `out[i]` once.")
    'Store <code style="background:none;padding:0">out[i]</code> once.'
    """
    return "<br>".join(
        monospaced(_kept(line)) if _CODE.match(line) else _spans(line) for line in text.split("\n")
    )


def _spans(line: str) -> str:
    parts = re.split(r"`([^`]+)`", line)
    return "".join(
        monospaced(escape(part)) if number % 2 else linked(escape(part))
        for number, part in enumerate(parts)
    )


def _kept(line: str) -> str:
    """A line of code; its leading spaces stay on a page that joins spaces."""
    code = line.lstrip(" ")
    return _NO_BREAK * (len(line) - len(code)) + escape(code).replace("  ", _NO_BREAK * 2)


def _hang(code: str, head: int) -> float:
    """By how many em the rest of a line that is broken goes on right of the line's beginning.

    Args:
        code: the line.
        head: characters in front of it: its number, or a sign.
    """
    # 0.6em is the width of a character in most fonts of fixed pitch
    return 0.6 * (head + len(code) - len(code.lstrip()) + 4)


def _line(text: str) -> str:
    return f'<p style="margin:0">{prose(text)}</p>' if text else ""


def _part(name: str, text: str, sign: str, ok: bool | None) -> str:
    mark = "" if ok is None else f'<b style="color:{RIGHT if ok else OPEN}">{sign}</b>'
    return (
        f'<tr style="background:none"><td style="{_SIDE}">{mark}</td>'
        f'<th scope="row" style="{_SIDE}">{escape(name)}</th>'
        f'<td style="text-align:left;padding:2px 4px">{prose(text)}</td></tr>'
    )


def _table(rows: Sequence[str]) -> str:
    return f'<table style="border-collapse:collapse;margin:0">{"".join(rows)}</table>'


def _word(text: str, right: bool) -> str:
    sign = YES if right else NO
    said = f"{sign} {text}" if text else sign
    return f'<b style="color:{RIGHT if right else OPEN}">{said}</b>'


def _edged(text: str, colour: str | None) -> str:
    edge = f"border-left:4px solid {colour};" if colour else ""
    return f'<div style="{edge}padding:2px 10px">{text}</div>'


def _code_block(rows: Iterable[str]) -> str:
    # JupyterLab breaks the lines of a <pre> within words, unless it is told not to
    style = (
        "background:none;margin:0;padding:0;white-space:pre-wrap;overflow-wrap:anywhere;"
        "word-break:normal"
    )
    # the class is what JupyterLab's themes colour the classes of Pygments in
    return f'<div class="highlight"><pre style="{style}">{chr(10).join(rows)}</pre></div>'
