"""Occupancy: how many blocks and warps of a kernel an SM holds at once, and what limits them.

A block is resident on an SM if four things are left there for it: warps, registers, shared
memory, a place. Each is handed out in whole pieces:

    registers   to a warp, 32 x registers per thread, rounded up to 256. An SM has 4 partitions of
                16384 registers; a warp lives in one of them, so the SM holds
                4 x (16384 // registers of a warp) warps
    shared      to a block, rounded up to 128 bytes (256 on cc 7.x), with the 1 KB per block that
                the system reserves from cc 8.0 on

`waves(...)` tells how a grid of such blocks goes over a chip, and how empty the last wave is.

Source: `cuda_occupancy.h` of CUDA 13.0, which the tests compile and compare with; examples of the
CUDA C++ Best Practices Guide. Taught in the chapter on occupancy.

**Limits**: blocks that use more than one named barrier may be held back by barriers; clusters
are placed together and may leave SMs empty.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..hardware import WARP_LANES, Limits, limits

__all__ = ["Occupancy", "Waves", "occupancy", "waves"]

PARTITIONS = 4  # of an SM, each with a scheduler and a quarter of the registers
REGISTER_UNIT = 256  # registers handed to a warp come in multiples of this


@dataclass(frozen=True)
class Occupancy:
    """What an SM holds of a kernel. Sizes are bytes.

    Attributes:
        cc: compute capability.
        threads: of a block.
        blocks: resident at once; 0 if the SM cannot hold even one.
        warps_per_block: a last warp of fewer threads counts whole.
        registers_per_warp: handed to a warp.
        shared_per_block: handed to a block, with what the system reserves.
        by_warps, by_registers, by_shared, by_places: blocks that each of them allows; None where
            a kernel uses none of it.
        carveout: least shared memory that the SM must be set to for these blocks.
    """

    cc: tuple[int, int]
    threads: int
    blocks: int
    warps_per_block: int
    registers_per_warp: int
    shared_per_block: int
    by_warps: int
    by_registers: int | None
    by_shared: int | None
    by_places: int
    carveout: int

    @property
    def warps(self) -> int:
        """Resident warps of an SM."""
        return self.blocks * self.warps_per_block

    @property
    def share(self) -> float:
        """Resident warps over the most an SM can hold: what is called occupancy."""
        return self.warps / limits(self.cc).warps_per_sm

    @property
    def limiters(self) -> tuple[str, ...]:
        """What allows no further block: "warps", "registers", "shared", "places"."""
        allowed = {
            "warps": self.by_warps,
            "registers": self.by_registers,
            "shared": self.by_shared,
            "places": self.by_places,
        }
        return tuple(name for name, blocks in allowed.items() if blocks == self.blocks)

    def __str__(self) -> str:
        """For instance "2 blocks, 8 of 64 warps, limited by registers"."""
        most = limits(self.cc).warps_per_sm
        return (
            f"{self.blocks} block{'s' * (self.blocks != 1)}, {self.warps} of {most} warps,"
            f" limited by {' and '.join(self.limiters)}"
        )


def occupancy(
    cc: tuple[int, int] | str | float,
    threads: int,
    registers: int,
    shared_bytes: int = 0,
    carveout: int | None = None,
) -> Occupancy:
    """Blocks and warps that are resident on an SM.

    255 registers for each of 128 threads: a warp gets 255 x 32 = 8160, rounded up to 8192. A
    partition of 16384 registers holds 2 such warps, the SM 8, and a block needs 4 of them:

    >>> found = occupancy((9, 0), threads=128, registers=255)
    >>> print(found)
    2 blocks, 8 of 64 warps, limited by registers

    One thread more is a fifth warp, and one block is left; with 249 registers a warp gets 8192
    all the same:

    >>> occupancy((9, 0), 129, 255).blocks, occupancy((9, 0), 128, 249).blocks
    (1, 2)

    With a tile of 64 KB a block takes 65, for 1 KB is reserved. Three of them are 195 KB, so the SM
    has to set aside the next size, 196 KB:

    >>> found = occupancy((9, 0), 256, 32, shared_bytes=64 * 1024)
    >>> print(found, f"of {found.carveout // 1024} KB")
    3 blocks, 24 of 64 warps, limited by shared of 196 KB

    Args:
        cc: compute capability.
        threads: of a block, 1 to 1024.
        registers: of a thread, 0 to 255.
        shared_bytes: of a block, static and dynamic together.
        carveout: bytes of the SM's memory that are set aside as shared memory; the next size there
            is, and no less than one block needs. None: the most there is.

    Raises:
        ValueError: an unknown `cc`, or numbers that no launch can have.
    """
    most = limits(cc)
    _check("threads", threads, 1, most.threads_per_block)
    _check("registers", registers, 0, most.registers_per_thread)
    _check("shared_bytes", shared_bytes, 0, None)
    warps = -(-threads // WARP_LANES)
    per_warp = _up(registers * WARP_LANES, REGISTER_UNIT)
    shared = _up(shared_bytes + most.shared_reserved_per_block, _shared_unit(most.cc))
    by_warps = most.warps_per_sm // warps
    by_registers = _by_registers(most, warps, per_warp)
    by_shared = _by_shared(most, shared, carveout)
    allowed = (by_warps, by_registers, by_shared, most.blocks_per_sm)
    blocks = min(one for one in allowed if one is not None)
    return Occupancy(
        cc=most.cc,
        threads=threads,
        blocks=blocks,
        warps_per_block=warps,
        registers_per_warp=per_warp,
        shared_per_block=shared,
        by_warps=by_warps,
        by_registers=by_registers,
        by_shared=by_shared,
        by_places=most.blocks_per_sm,
        carveout=_carveout(most, blocks * shared),
    )


@dataclass(frozen=True)
class Waves:
    """How the blocks of a grid go over a chip, if all of them take equally long.

    Attributes:
        blocks: of the grid.
        at_once: blocks that the chip holds.
        count: waves, the last one included.
        last: blocks of the last wave.
    """

    blocks: int
    at_once: int
    count: int
    last: int

    @property
    def busy(self) -> float:
        """Share of the places that hold a block, over all waves."""
        return self.blocks / (self.count * self.at_once) if self.count else 1.0

    def __str__(self) -> str:
        """For instance "4 waves of 264 blocks, the last of 232"."""
        name = "wave" if self.count == 1 else "waves"
        return f"{self.count} {name} of {self.at_once} blocks, the last of {self.last}"


def waves(blocks: int, per_sm: int, sms: int) -> Waves:
    """Waves of a grid.

    A product of 4096 x 4096 in tiles of 128x128 on an H200, 2 blocks resident: 1024 blocks do not
    divide by 264, so that the last wave leaves 32 places empty.

    >>> print(waves(1024, 2, 132), f"{waves(1024, 2, 132).busy:.3f}")
    4 waves of 264 blocks, the last of 232 0.970

    Raises:
        ValueError: no blocks per SM, or no SMs: nothing would run.
    """
    _check("blocks", blocks, 0, None)
    _check("per_sm", per_sm, 1, None)
    _check("sms", sms, 1, None)
    at_once = per_sm * sms
    count = -(-blocks // at_once)
    return Waves(blocks, at_once, count, blocks - at_once * max(count - 1, 0))


def _by_registers(most: Limits, warps: int, per_warp: int) -> int | None:
    if not per_warp:
        return None
    per_partition = most.registers_per_sm // PARTITIONS // per_warp
    return per_partition * PARTITIONS // warps


def _by_shared(most: Limits, shared: int, carveout: int | None) -> int | None:
    if not shared:
        return None
    if shared > most.shared_per_sm:
        return 0
    there = most.shared_per_sm
    if carveout is not None:
        _check("carveout", carveout, 0, most.shared_per_sm)
        there = max(_carveout(most, carveout), _carveout(most, shared))
    return there // shared


def _carveout(most: Limits, needed: int) -> int:
    return next(size for size in most.carveouts if size >= needed)


def _shared_unit(cc: tuple[int, int]) -> int:
    return 128 if cc >= (8, 0) else 256


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


def _check(name: str, value: int, least: int, most: int | None) -> None:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ValueError(f"{name} is {value!r}; it wants a whole number")
    if value < least or (most is not None and value > most):
        wanted = f"{least} or more" if most is None else f"{least} to {most}"
        raise ValueError(f"{name} is {value}; a launch has {wanted}")
