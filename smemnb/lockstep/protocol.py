"""How an intrinsic of one's own gets a meaning in the lockstep engine.

A function that emits PTX on a GPU (an `@intrinsic`, an `@overload`ed stub) carries its second
meaning in the attribute `__lockstep__`; the engine looks for nothing else:

    def ld4(array, index): ...          # PTX, for the GPU

    @lockstep_meaning(ld4)
    def _(batch, mask, site, array, index):
        offset, active = array.place(batch, (index,), mask, site)
        root, unit = array.root, array.unit  # `array` may be a view
        batch.tell_access(Access(site, root, "load", offset, active, elements=4, unit=unit))
        return tuple(array.store.read(batch, offset + at) for at in range(4))

`batch` is the running batch (block and lane numbers, shared memory, watchers), `mask` the active
lanes, `site` the call in the source; then come the arguments as lane values or arrays, and a lane
value (or a tuple, or None) goes back. So declared once, such a call can be counted and checked
like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Meaning = Callable[..., Any]


def lockstep_meaning(intrinsic: Any) -> Callable[[Meaning], Meaning]:
    """A decorator that makes the function below it the engine's meaning of `intrinsic`."""

    def attach(meaning: Meaning) -> Meaning:
        intrinsic.__lockstep__ = meaning
        return meaning

    return attach


def meaning_of(target: object) -> Meaning | None:
    """The engine's meaning of a callable, None if it has none."""
    return getattr(target, "__lockstep__", None)
