"""Words of memory that is read before anyone stored it."""

from __future__ import annotations

from ..model import Observation
from .words import Words, element


def uninitialised(words: Words, seen: Observation) -> tuple[str, str]:
    """Memory is read that nobody has stored: shared, local, or of a new device array."""
    space = "shared" if seen.array is None else seen.array.space
    if space == "local":
        return (
            f"{words.does(seen)}: this thread has stored nothing in {element(seen)} before.",
            _OWN,
        )
    if space == "global":
        cause = f"{words.does(seen)}: nobody has stored {element(seen)} before"
        return f"{cause}; cuda.device_array gives memory that is not empty.", _FILL
    cause = f"{words.does(seen)}: no thread of the block has stored {element(seen)} before."
    return cause, _STORE_FIRST


def stale(words: Words, seen: Observation) -> tuple[str, str]:
    """Shared memory is read that only an earlier block has stored."""
    cause = (
        f"{words.does(seen)}: no thread of this block has stored {element(seen)} before; a GPU "
        "gives what an earlier block left there, which often looks right."
    )
    return cause, _STORE_FIRST


_OWN = (
    "Store every element before it is loaded (for instance 0, in a loop over the array): a local "
    "array does not start as zeros."
)
_FILL = (
    "Pass memory that holds something, such as cuda.to_device(np.zeros(...)), or let the kernel "
    "store each element before it loads it."
)
_STORE_FIRST = (
    "Store every element that is loaded (for instance 0 where the input ends), or do not load it "
    "(end the loop at the last stored element): shared memory does not start as zeros."
)
