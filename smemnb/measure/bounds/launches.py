"""The bound of any launch: counts of the engine, registers and instructions of the compiler."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ...compiled.toolchain import types_of
from ...errors import LaunchRefused, SmemnbError
from ...hardware import WARP_LANES, Chip, chip, limits
from ...rules.occupancy import occupancy
from ...rules.roofline import Bound, Work, bound
from ...simulator.launch import kernel_of
from ...tracing.sample import Blocks
from .counts import Counts, counts
from .machine_code import MachineCode, machine_code, shortest_way

_AS_MANY = 0.99  # loads of the main loop over those of the source, where none are merged

__all__ = ["bound_of", "chip_of_device", "work_of"]


def bound_of(
    kernel: Any,
    launch: tuple[Any, ...],
    args: tuple[Any, ...],
    chip: Chip,
    *,
    fma: int = 0,
    blocks: Blocks = "all",
    compiled: bool = True,
) -> Bound:
    """The least time of `kernel[launch](*args)` on a chip.

    The launch is run in the engine, which writes its arguments.

    >>> import numpy as np
    >>> from smemnb.hardware import chip
    >>> from smemnb.kernels.transpose import transpose_tiled
    >>> inp, out = np.ones((64, 96), np.float32), np.zeros((96, 64), np.float32)
    >>> launch = (3, 2), (32, 32)
    >>> found = bound_of(transpose_tiled, launch, (out, inp), chip("H200"), compiled=False)
    >>> warps = 6 * 32
    >>> found.limiter, found.of("shared").amount == warps * (1 + 32) + warps * 2
    ('shared', True)

    (The tile is stored in 1 wavefront and read in 32; a load and a store of global memory take a
    pass each. Matrices this small are found in L2, so DRAM has nothing to do.)

    Args:
        kernel: a dispatcher or a plain function.
        launch: what stands in the brackets of a launch: grid, block, and if need be stream and
            dynamic shared bytes.
        args: the arguments.
        chip: from `smemnb.hardware.chip`, or `chip_of_device`.
        fma: float32 multiply-adds of the operation; M * N * K for a product.
        blocks: which blocks are run, as `smemnb.trace` takes it. With some of them, requests are
            scaled to the grid, and the bound says that it is an estimate.
        compiled: whether the kernel is compiled as well, where that is possible: for registers,
            instructions, and loads that the compiler merges.

    Raises:
        SmemnbError: what a launch is refused for, or stopped by; an SM of this chip cannot hold a
            block.
    """
    seen = counts(kernel, launch, args, blocks)
    types = types_of(args)
    code = machine_code(kernel, types, chip.cc) if compiled else None
    known = kernel_of(kernel)
    return bound(work_of(str(known.name), seen, launch[1], chip, fma, code), chip)


def work_of(
    name: str, seen: Counts, block: Any, chip: Chip, fma: int, code: MachineCode | None
) -> Work:
    """Counts, and what the machine code adds to them, as the work of a launch.

    Raises:
        LaunchRefused: an SM of this chip cannot hold a block.
    """
    threads = math.prod(block) if isinstance(block, tuple) else int(block)
    registers = code.registers if code else 0
    held = occupancy(chip.cc, threads, registers, seen.shared_bytes)
    if not held.blocks:
        raise LaunchRefused(
            f"{name}: an SM of a {chip.name} holds no block of {threads} threads with"
            f" {registers} registers each and {seen.shared_bytes} bytes of shared memory"
        )
    warps = seen.blocks * held.warps_per_block
    work = Work(
        name=name,
        blocks=seen.blocks,
        threads=threads,
        resident=held.blocks,
        loaded_bytes=seen.loaded_bytes,
        stored_bytes=seen.stored_bytes,
        block_loads=seen.block_loads,
        store_sectors=seen.store_sectors,
        global_passes=seen.passes,
        wavefronts=seen.store_wavefronts + seen.merged_wavefronts,
        fma=fma,
        instructions=seen.requests + fma // WARP_LANES,
        alike=False,
        estimated=seen.watched < seen.blocks,
    )
    return work if code is None else _compiled(work, seen, code, warps)


def _compiled(work: Work, seen: Counts, code: MachineCode, warps: int) -> Work:
    """The work with the instructions of the machine code, and with loads merged as there."""
    products = work.fma // WARP_LANES
    instructions, wavefronts = work.instructions, work.wavefronts
    loads = code.loads(products)
    if loads is not None:
        instructions = code.instructions(products)
        if loads >= seen.loads * _AS_MANY:  # none are merged
            wavefronts = seen.store_wavefronts + seen.load_wavefronts
    per_warp = [divmod(number, warps) for number in (seen.global_loads, seen.global_stores)]
    if loads is None and not any(left for _, left in per_warp):
        shortest = shortest_way(code.code, per_warp[0][0], per_warp[1][0])
        instructions = warps * shortest if shortest else instructions
    return replace(
        work, instructions=instructions, wavefronts=wavefronts, source_counts=not code.code
    )


_NAME_IT = 'name one, for instance smemnb.hardware.chip("H200") or --chip H200'


def chip_of_device(device: Any = None) -> Chip:
    """The chip that a device of numba.cuda is: its figures where they are known, else its own.

    The clock is the highest that the device allows. `device` is the current one if None.

    Raises:
        SmemnbError: there is no GPU, and what stands for one here has no time; a device that tells
            no clock.
        ValueError: a compute capability that is not in the tables.
    """
    if device is None:
        from numba import cuda

        from ...simulator import devices

        if devices.launches() != "gpu":
            raise SmemnbError(
                f"there is no GPU here, so no chip whose bounds are meant: {_NAME_IT}"
            )
        device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
    mhz = getattr(device, "CLOCK_RATE", 0) / 1000
    if not mhz:
        raise SmemnbError(f"{name} tells no clock, so it has no bounds: {_NAME_IT}")
    try:
        return replace(chip(name), boost_mhz=mhz)
    except ValueError:
        # both edges of the memory's clock carry a bit per wire
        rate = 2 * device.MEMORY_CLOCK_RATE * 1000 * device.GLOBAL_MEMORY_BUS_WIDTH / 8
        return Chip(
            name=name,
            cc=limits(device.compute_capability).cc,
            sms=device.MULTIPROCESSOR_COUNT,
            boost_mhz=mhz,
            dram_bytes_per_s=rate,
            l2_bytes=device.L2_CACHE_SIZE,
            source="attributes of the device",
        )
