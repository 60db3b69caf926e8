"""What is found out about a function, kept as long as the function lives, and no longer.

Its programs name the function again, and so does what its closure holds: from a table of the
engine, weak keys or not, they would keep it alive for ever, with every array it closes over. So
they are kept in the function itself, and Python's garbage collector sees that all belongs together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import ref

Result = TypeVar("Result")

_NAME = "__smemnb__"
_MOST = 64  # answers of one kind for one function, such as its programs for many types


class _Kept(dict[Any, Any]):
    """What is kept in one function; another that got its attributes begins anew."""

    __slots__ = ("owner",)
    owner: ref[Any]

    def __reduce__(self) -> Any:
        """Nothing: a function that is copied or pickled leaves it behind."""
        return dict, ()


def kept_in(function: Any, kind: str) -> dict[Any, Any]:
    """The answers of one kind that were kept for a function, to be read and added to.

    Of more than `_MOST` the oldest one goes.
    """
    attributes = getattr(function, "__dict__", None)
    if attributes is None:  # no function of Python's
        return {}
    kept = attributes.get(_NAME)
    if type(kept) is not _Kept or kept.owner() is not function:  # functools.wraps copies it
        kept = _Kept()
        kept.owner = ref(function)
        attributes[_NAME] = kept
    answers: dict[Any, Any] = kept.setdefault(kind, {})
    if len(answers) > _MOST:
        del answers[next(iter(answers))]
    return answers


def once_per_function(find: Callable[[Any], Result]) -> Callable[[Any], Result]:
    """Keep what a function of functions gives for each of them."""

    @functools.wraps(find)
    def known(function: Any) -> Result:
        answers = kept_in(function, find.__qualname__)
        if None not in answers:
            answers[None] = find(function)
        found: Result = answers[None]
        return found

    return known
