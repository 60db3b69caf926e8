"""Words of memory that is read before anyone stored it."""

from __future__ import annotations

from ..model import Observation
from .words import Words, element


def uninitialised(words: Words, seen: Observation) -> tuple[str, str]:
    """Shared memory is read that no thread has stored."""
    cause = f"{words.does(seen)}: no thread of the block has stored {element(seen)} before."
    return cause, _STORE_FIRST


def stale(words: Words, seen: Observation) -> tuple[str, str]:
    """Shared memory is read that only an earlier block has stored."""
    cause = (
        f"{words.does(seen)}: no thread of this block has stored {element(seen)} before; a GPU "
        "gives what an earlier block left there, which often looks right."
    )
    return cause, _STORE_FIRST


_STORE_FIRST = (
    "Store every element that is loaded (for instance 0 where the input ends), or do not load it "
    "(end the loop at the last stored element): shared memory does not start as zeros."
)
