"""A prediction as text and as HTML: the time, how sure it is, and lines with their waits."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .prediction import LineWaits, Prediction

LEAST_SHARE = 0.005
MOST_REASONS = 3


def text(found: Prediction) -> str:
    """The prediction, a line per source line at which warps spend time."""
    rows = [heading(found), *about(found)]
    shown = [one for one in found.lines if one.share >= LEAST_SHARE]
    for one in shown:
        rows.append(f"{one.line or '-':>5} {one.share:6.1%}  {one.source or 'no line'}")
        if reasons := waits(found, one):
            rows.append(f"{'':14}{reasons}")
    return "\n".join([*rows, *(f"left out: {note}" for note in found.notes)])


def heading(found: Prediction) -> str:
    """The launch and its time."""
    return (
        f"{found.kernel}[{_extent(found.grid)}, {_extent(found.block)}] on {found.gpu} (model):"
        f" {_ms(found.ms)}, between {_ms(found.low_ms)} and {_ms(found.high_ms)}"
    )


def about(found: Prediction) -> list[str]:
    """Who issues, who waits, and what the numbers rest on."""
    from .prediction import CLASSES

    rows = [f"issues in {found.issue:.0%} of cycles; {found.occupancy}"]
    if found.causes:
        named = ", then ".join(CLASSES.get(one, one) for one in found.causes)
        rows.append(f"warps wait most for: {named}")
    elif found.withheld:
        rows.append(f"what warps wait for is withheld: {found.withheld}")
    if found.unread:
        rows.append(f"{len(found.unread)} constants are published, not yet read by smemnb's own")
        rows[-1] += " microbenchmarks"
    return rows


def waits(found: Prediction, one: LineWaits) -> str:
    """What warps wait for at a line, the largest first; nothing where causes are withheld."""
    from .prediction import CLASSES, IDLE

    if found.withheld:
        return ""
    standing = sorted(
        ((name, each) for name, each in one.waits.items() if name not in IDLE),
        key=lambda pair: -pair[1],
    )
    some = [pair for pair in standing[:MOST_REASONS] if pair[1] >= one.share / 20]
    return ", ".join(f"{CLASSES.get(name, name)} {each:.1%}" for name, each in some)


def html(found: Prediction) -> str:
    """The same as one `<div>`: a table with a bar per line."""
    from ..report.view.frame import paragraph, sentence, whole

    parts = [paragraph(f"<strong>{escape(heading(found))}</strong>")]
    parts += [sentence(row) for row in about(found)]
    top = max((one.share for one in found.lines), default=1.0) or 1.0
    rows = []
    for one in found.lines:
        if one.share < LEAST_SHARE:
            continue
        width = max(1, round(80 * one.share / top))
        bar = (
            f'<span style="display:inline-block;height:0.7em;width:{width}px;'
            'background:currentColor;opacity:0.45"></span>'
        )
        rows.append(
            f"<tr><td>{one.line or ''}</td><td><code>{escape(one.source or 'no line')}</code></td>"
            f"<td>{bar} {one.share:.1%}</td><td>{escape(waits(found, one))}</td></tr>"
        )
    head = "<tr><th>line</th><th>source</th><th>time of warps</th><th>waits for</th></tr>"
    parts.append(f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>")
    parts += [sentence(f"left out: {note}") for note in found.notes]
    return whole(parts)


def _extent(extent: tuple[int, ...]) -> str:
    kept = list(extent)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return f"({', '.join(map(str, kept))})" if len(kept) > 1 else str(kept[0])


def _ms(value: float) -> str:
    return f"{value * 1000:.1f} us" if value < 1 else f"{value:.2f} ms"
