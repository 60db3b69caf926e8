"""The one device: the limits that are enforced, by their CUDA names."""

from __future__ import annotations

import weakref
from typing import Any

from ...errors import SmemnbError
from ...hardware import WARP_LANES, limits
from .. import devices as chosen
from .driver import CONTEXT

_CHIPS = {
    (7, 0): ("V100", 80),
    (7, 5): ("T4", 40),
    (8, 0): ("A100", 108),
    (8, 6): ("RTX 3090", 82),
    (8, 9): ("RTX 4090", 128),
    (9, 0): ("H100 SXM", 132),
    (10, 0): ("B200", 148),
    (12, 0): ("RTX 5090", 170),
}
"""One product of each compute capability and its SMs (NVIDIA's data sheets)."""


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
            return f"smemnb lockstep engine (limits of {_CHIPS[self.compute_capability][0]})"

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


def attribute(name: str) -> int:
    """A device attribute by the name that follows CU_DEVICE_ATTRIBUTE_.

    >>> attribute("MAX_THREADS_PER_BLOCK"), attribute("WARP_SIZE")
    (1024, 32)

    Raises:
        AttributeError: one that is not known here.
    """
    cc = limits(chosen.cc())
    values = {
        "WARP_SIZE": WARP_LANES,
        "MAX_THREADS_PER_BLOCK": cc.threads_per_block,
        "MAX_SHARED_MEMORY_PER_BLOCK": cc.shared_per_block,
        "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": cc.shared_per_block_optin,
        "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": cc.shared_per_sm,
        "MAX_REGISTERS_PER_BLOCK": cc.registers_per_block,
        "MAX_THREADS_PER_MULTI_PROCESSOR": cc.threads_per_sm,
        "MAX_BLOCKS_PER_MULTIPROCESSOR": cc.blocks_per_sm,
        "MULTIPROCESSOR_COUNT": _CHIPS[cc.cc][1],
        "COMPUTE_CAPABILITY_MAJOR": cc.cc[0],
        "COMPUTE_CAPABILITY_MINOR": cc.cc[1],
        **dict.fromkeys(("PCI_DOMAIN_ID", "PCI_BUS_ID", "PCI_DEVICE_ID"), 0),
        **dict.fromkeys(("CAN_MAP_HOST_MEMORY", "UNIFIED_ADDRESSING", "MANAGED_MEMORY"), 1),
        **dict.fromkeys(("CONCURRENT_MANAGED_ACCESS", "COOPERATIVE_LAUNCH"), 1),
        "PAGEABLE_MEMORY_ACCESS": 0,
    }
    for axis, block, grid in zip("XYZ", cc.block_dim, cc.grid_dim, strict=True):
        values[f"MAX_BLOCK_DIM_{axis}"], values[f"MAX_GRID_DIM_{axis}"] = block, grid
    if name not in values:
        raise AttributeError(f"the lockstep engine's device has no {name}")
    return values[name]


def no_device(number: Any) -> SmemnbError:
    """The refusal of every device but the first."""
    return SmemnbError(f"there is no device {number}: the lockstep engine is device 0")
