"""The one device, and the refusal of every other."""

from __future__ import annotations

import weakref
from typing import Any

from ...errors import SmemnbError
from .. import devices as chosen
from .attributes import attribute, chip_name
from .driver import CONTEXT

__all__ = ["attribute", "device_class", "no_device"]


def device_class(module: Any) -> Any:
    """Numba's `Device`, with everything that it asks of a driver answered here."""

    class Device(module.Device):  # type: ignore[misc]
        """What `cuda.get_current_device()` gives."""

        def __init__(self) -> None:
            self.id = 0
            self.attributes: dict[str, int] = {}
            self.primary_context: Any = None

        uuid = "GPU-00000000-0000-0000-0000-000000000000"

        @property
        def name(self) -> str:
            """The engine, and the chip whose limits it enforces."""
            return f"smemnb lockstep engine (limits of {chip_name(self.compute_capability)})"

        @property
        def compute_capability(self) -> tuple[int, int]:
            """The compute capability whose limits are enforced."""
            return chosen.cc()

        def __getattr__(self, name: str) -> int:
            return attribute(name)

        def __repr__(self) -> str:
            return f"<CUDA device 0 '{self.name}'>"

        def get_primary_context(self) -> Any:
            """The one context."""
            if self.primary_context is None:
                handle = getattr(module, "binding", None)
                self.primary_context = module.Context(
                    weakref.proxy(self),
                    handle.CUcontext(CONTEXT) if handle else module.drvapi.cu_context(CONTEXT),
                )
            return self.primary_context

    return Device


def no_device(number: Any) -> SmemnbError:
    """The refusal of every device but the first."""
    return SmemnbError(f"there is no device {number}: the lockstep engine is device 0")
