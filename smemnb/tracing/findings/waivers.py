"""Words of waivers that do not say what they should, or that nothing needs."""

from __future__ import annotations

from ..model import Observation
from .words import Words


def waiver_without_reason(words: Words, seen: Observation) -> tuple[str, str]:
    """A waiver names kinds of findings and no reason; it waives nothing."""
    kinds = seen.detail["kinds"]
    return (
        f"{words.line(seen.site)} allows {kinds} and gives no reason, so that nothing is waived.",
        f"Write the reason behind the bracket: # smemnb: allow[{kinds}] why this may stay.",
    )


def unknown_waiver(words: Words, seen: Observation) -> tuple[str, str]:
    """A waiver cannot be read, or names a kind of finding that does not exist."""
    named, near = str(seen.detail["kinds"]), str(seen.detail["near"])
    if not named:
        return (
            f"{words.line(seen.site)} has a comment that cannot be read: {seen.site.text!r}.",
            "Write # smemnb: allow[kind] and then the reason; several kinds with commas between.",
        )
    return (
        f"{words.line(seen.site)} allows {named}, which is no kind of finding.",
        f"Did you mean {near}?" if near else "Write the kind as the finding names it.",
    )


def unused_waiver(words: Words, seen: Observation) -> tuple[str, str]:
    """A waiver stands at a line that ran, and the launch has no such finding there."""
    return (
        f"{words.line(seen.site)} allows {seen.detail['kinds']}, and this launch has no such "
        "finding there.",
        "Take it out of the comment, unless another launch needs it.",
    )
