"""What the device answers when it is asked for an attribute, by the names of CUDA.

Three kinds, each with its source:

- the chip's figures: limits of the compute capability and its product's data sheet, both in
  `smemnb.hardware` (the product is named by `chip_name`); `_EVERY_CHIP` holds what does not differ;
- what a program branches on (`_ENGINE`): 1 where the lockstep engine does it, 0 where it does not,
  whatever the chip can do. A name that ends in SUPPORTED and is not listed is 0;
- all others are refused: nothing is guessed.

**Limits**: clocks are those of the data sheet; a board reports its own, which may be a few per
mille beside them. Nothing here says how fast the engine is.
"""

from __future__ import annotations

import difflib
import importlib
from functools import cache

from ...errors import SmemnbError
from ...hardware import CHIPS, FP64_RATIO, MB, WARP_LANES, Chip, limits
from .. import devices as chosen

_PREFIX = "CU_DEVICE_ATTRIBUTE_"

_PRODUCTS = {
    (7, 0): "V100",
    (7, 5): "T4",
    (8, 0): "A100 80GB",
    (8, 6): "RTX 3090",
    (8, 9): "RTX 4090",
    (9, 0): "H100 SXM",
    (12, 0): "RTX 5090",
}
"""One product of `hardware.CHIPS` for each compute capability."""

_B200 = {"MULTIPROCESSOR_COUNT": 148, "L2_CACHE_SIZE": 126 * MB}
"""Of the B200 of cc 10.0: SMs as CUDA reports them, L2 from the Blackwell Tuning Guide. Its clock
is published nowhere, so it is no `Chip`."""

_EVERY_CHIP = {
    # CUDA Programming Guide, "Technical Specifications per Compute Capability"
    "TOTAL_CONSTANT_MEMORY": 64 * 1024,
    # the same for T4 and A100 in what CUDA's sample deviceQuery prints, and in the guide's table
    # one column for all from cc 7.0 on
    "MAXIMUM_TEXTURE1D_WIDTH": 131072,
    "MAXIMUM_TEXTURE1D_LAYERED_WIDTH": 32768,
    "MAXIMUM_TEXTURE1D_LAYERED_LAYERS": 2048,
    "MAXIMUM_TEXTURE2D_WIDTH": 131072,
    "MAXIMUM_TEXTURE2D_HEIGHT": 65536,
    "MAXIMUM_TEXTURE2D_LAYERED_WIDTH": 32768,
    "MAXIMUM_TEXTURE2D_LAYERED_HEIGHT": 32768,
    "MAXIMUM_TEXTURE2D_LAYERED_LAYERS": 2048,
    "MAXIMUM_TEXTURE3D_WIDTH": 16384,
    "MAXIMUM_TEXTURE3D_HEIGHT": 16384,
    "MAXIMUM_TEXTURE3D_DEPTH": 16384,
    "MAX_PITCH": 2**31 - 1,
    "TEXTURE_ALIGNMENT": 512,
    "INTEGRATED": 0,
    # L1 and shared memory are one memory since cc 7.0 (Volta Tuning Guide)
    "GLOBAL_L1_CACHE_SUPPORTED": 1,
    "LOCAL_L1_CACHE_SUPPORTED": 1,
}

_ENGINE = {
    # places on a bus: there is none
    **dict.fromkeys(("PCI_DOMAIN_ID", "PCI_BUS_ID", "PCI_DEVICE_ID"), 0),
    # device memory is memory of the host
    **dict.fromkeys(("CAN_MAP_HOST_MEMORY", "UNIFIED_ADDRESSING", "MANAGED_MEMORY"), 1),
    **dict.fromkeys(("CONCURRENT_MANAGED_ACCESS", "DIRECT_MANAGED_MEM_ACCESS_FROM_HOST"), 1),
    **dict.fromkeys(("CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM", "HOST_REGISTER_SUPPORTED"), 1),
    "COOPERATIVE_LAUNCH": 1,
    # pointers to plain host memory, and what other programs would have to share, are refused
    **dict.fromkeys(("PAGEABLE_MEMORY_ACCESS", "ECC_ENABLED", "TCC_DRIVER", "MPS_ENABLED"), 0),
    "PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES": 0,
    # a call's work is done when it returns: nothing runs beside anything
    **dict.fromkeys(("ASYNC_ENGINE_COUNT", "GPU_OVERLAP", "CONCURRENT_KERNELS"), 0),
    # blocks come in grids, not in clusters of the hardware
    **dict.fromkeys(("CLUSTER_LAUNCH", "COOPERATIVE_MULTI_DEVICE_LAUNCH"), 0),
    **dict.fromkeys(
        ("UNIFIED_FUNCTION_POINTERS", "MULTI_GPU_BOARD", "MULTI_GPU_BOARD_GROUP_ID"), 0
    ),
    # no window system waits for it, and anyone may use it
    **dict.fromkeys(("KERNEL_EXEC_TIMEOUT", "COMPUTE_MODE"), 0),
    **dict.fromkeys(("CAN_TEX2D_GATHER", "CAN_FLUSH_REMOTE_WRITES", "NUMA_CONFIG"), 0),
    **dict.fromkeys(("CAN_USE_STREAM_WAIT_VALUE_NOR", "CAN_USE_64_BIT_STREAM_MEM_OPS"), 0),
}


def attribute(name: str) -> int:
    """A device attribute by the name that follows CU_DEVICE_ATTRIBUTE_.

    >>> attribute("MAX_THREADS_PER_BLOCK"), attribute("WARP_SIZE"), attribute("CLOCK_RATE")
    (1024, 32, 1980000)

    Raises:
        AttributeError: one that is not known here.
    """
    values = _values(chosen.cc())
    if name in values:
        return values[name]
    if name not in names():
        near = difflib.get_close_matches(name, values, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise AttributeError(f"the lockstep engine's device has no {name}{hint}")
    if name.endswith("SUPPORTED"):
        return 0
    raise AttributeError(
        f"the lockstep engine's device does not know its {name}: it stands for the"
        f" {chip_name(chosen.cc())}, of which no figure is published that could be told here."
        f" A program that can do without it may ask with getattr(device, {name!r}, None)"
    )


def chip_name(cc: tuple[int, int]) -> str:
    """The product whose figures are told for this compute capability.

    >>> chip_name((9, 0))
    'H100 SXM'
    """
    return _PRODUCTS.get(cc, "B200")


@cache
def names() -> frozenset[str]:
    """Every attribute that the installed Numba knows by name."""
    try:
        known = dir(importlib.import_module("cuda.bindings.driver").CUdevice_attribute)
    except ImportError:  # the numba.cuda inside Numba
        known = dir(importlib.import_module("numba.cuda.cudadrv.enums"))
    found = {one.removeprefix(_PREFIX) for one in known if one.startswith(_PREFIX)}
    return frozenset(found - {"MAX"})


def numbered(code: object) -> int:
    """The attribute of an enumerator's number, as the driver's own function takes it.

    Raises:
        SmemnbError: no attribute has this number.
        AttributeError: it is one that is not known here.
    """
    try:
        enumerators = importlib.import_module("cuda.bindings.driver").CUdevice_attribute
        found: str = enumerators(int(code)).name  # type: ignore[call-overload]
    except ImportError:
        table = vars(importlib.import_module("numba.cuda.cudadrv.enums"))
        numbers = {table[one]: one for one in table if one.startswith(_PREFIX)}
        found = numbers.get(int(code), "")  # type: ignore[call-overload]
    except ValueError:
        found = ""
    if not found:
        raise SmemnbError(f"no device attribute has the number {code}")
    return attribute(found.removeprefix(_PREFIX))


@cache
def _values(cc: tuple[int, int]) -> dict[str, int]:
    """All attributes that are known of a compute capability."""
    most = limits(cc)
    values = {
        "WARP_SIZE": WARP_LANES,
        "MAX_THREADS_PER_BLOCK": most.threads_per_block,
        "MAX_SHARED_MEMORY_PER_BLOCK": most.shared_per_block,
        "SHARED_MEMORY_PER_BLOCK": most.shared_per_block,
        "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": most.shared_per_block_optin,
        "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": most.shared_per_sm,
        "RESERVED_SHARED_MEMORY_PER_BLOCK": most.shared_reserved_per_block,
        "MAX_REGISTERS_PER_BLOCK": most.registers_per_block,
        "REGISTERS_PER_BLOCK": most.registers_per_block,
        "MAX_REGISTERS_PER_MULTIPROCESSOR": most.registers_per_sm,
        "MAX_THREADS_PER_MULTI_PROCESSOR": most.threads_per_sm,
        "MAX_THREADS_PER_MULTIPROCESSOR": most.threads_per_sm,
        "MAX_BLOCKS_PER_MULTIPROCESSOR": most.blocks_per_sm,
        "COMPUTE_CAPABILITY_MAJOR": cc[0],
        "COMPUTE_CAPABILITY_MINOR": cc[1],
        "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": FP64_RATIO[cc],
        **_EVERY_CHIP,
        **_ENGINE,
        **(_B200 if cc not in _PRODUCTS else _figures(CHIPS[_PRODUCTS[cc]])),
    }
    for axis, block, grid in zip("XYZ", most.block_dim, most.grid_dim, strict=True):
        values[f"MAX_BLOCK_DIM_{axis}"], values[f"MAX_GRID_DIM_{axis}"] = block, grid
    return values


def _figures(chip: Chip) -> dict[str, int]:
    """What its data sheet says, in CUDA's units: clocks in kHz."""
    found = {
        "MULTIPROCESSOR_COUNT": chip.sms,
        "CLOCK_RATE": round(chip.boost_mhz * 1000),
        "L2_CACHE_SIZE": chip.l2_bytes,
    }
    if chip.bus_bits is not None and chip.memory_mhz is not None:
        found["GLOBAL_MEMORY_BUS_WIDTH"] = chip.bus_bits
        found["MEMORY_CLOCK_RATE"] = round(chip.memory_mhz * 1000)
    return found
