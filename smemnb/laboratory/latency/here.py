"""Waits of this machine's GPU, as text for the chapter."""

from __future__ import annotations

__all__ = ["latencies_here"]

NO_GPU = "No GPU here: nothing was measured, the recorded waits stand."
L1_BYTES, L2_BYTES, DRAM_BYTES = 32 << 10, 4 << 20, 512 << 20


def latencies_here() -> str:
    """Cycles of registers, shared memory, L1, L2 and DRAM, measured now; or that there is none."""
    from numba import cuda  # noqa: F401  the plug decides when it is imported

    from ...simulator import devices

    if devices.launches() != "gpu":
        return NO_GPU
    from ...measure.bench.provenance import gpu
    from . import measuring

    megahertz = measuring.megahertz()
    read = {
        "registers": measuring.multiply_add_cycles(),
        "shared memory": measuring.shared_cycles(),
        "L1": measuring.footprint_cycles(L1_BYTES),
        "L2": measuring.footprint_cycles(L2_BYTES),
        "DRAM": measuring.footprint_cycles(DRAM_BYTES),
    }
    rows = [
        f"{name:14}{each:7.1f} cycles {1000 * each / megahertz:7.1f} ns"
        for name, each in read.items()
    ]
    return "\n".join([*rows, f"measured ({gpu().name})"])
