"""What has been tried in this session, so that a second try is worth something.

Of each count the wrong figures are kept, in the order in which they came. A figure that was tried
before is no new try: whoever runs a cell again reads the same again.
"""

from __future__ import annotations

_wrong: dict[tuple[str, str, str, int], list[int]] = {}
_first: dict[str, tuple[int, int]] = {}


def missed(exercise: str, access: str, column: str, counted: int, given: int) -> int:
    """Note a wrong figure; the number of this try, from 1."""
    tried = _wrong.setdefault((exercise, access, column, counted), [])
    if given not in tried:
        tried.append(given)
    return tried.index(given) + 1


def ever_missed(exercise: str, access: str, column: str, counted: int) -> bool:
    """Whether a wrong figure was given before, for what counts as much as it does now."""
    return (exercise, access, column, counted) in _wrong


def first_score(exercise: str, score: tuple[int, int]) -> tuple[int, int]:
    """The first score of an exercise in this session: that one, if there was none before."""
    return _first.setdefault(exercise, score)


def forget() -> None:
    """Begin anew, as a session does."""
    _wrong.clear()
    _first.clear()
