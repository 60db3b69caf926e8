"""How an intrinsic of one's own gets an implementation in the lockstep engine.

A function that emits PTX on a GPU (an `@intrinsic`, an `@overload`ed stub) carries its second
implementation in the attribute `__lockstep__`; the engine looks there
first, and then in the tables of `intrinsics/` for names of `numba.cuda`:

    def ld4(array, index): ...          # PTX, for the GPU

    @lockstep_implementation(ld4)
    def _(batch, mask, site, array, index):
        offset, active = array.place(batch, (index,), mask, site)
        root, unit = array.root, array.unit  # `array` may be a view
        batch.report_access(Access(site, root, "load", offset, active, elements=4, unit=unit))
        return tuple(array.store.read(batch, offset + at) for at in range(4))

`batch` is the running batch (block and lane numbers, shared memory, watchers), `mask` the active
lanes, `site` the call in the source; then come the arguments as lane values or arrays, and a lane
value (or a tuple, or None) goes back. So declared once, such a call can be counted and checked
like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Implementation = Callable[..., Any]


def lockstep_implementation(intrinsic: Any) -> Callable[[Implementation], Implementation]:
    """A decorator that makes the function below it the engine's implementation of `intrinsic`."""

    def attach(implementation: Implementation) -> Implementation:
        intrinsic.__lockstep__ = implementation
        return implementation

    return attach


def implementation_of(target: object) -> Implementation | None:
    """The engine's implementation of a callable, None if it has none."""
    return getattr(target, "__lockstep__", None)
