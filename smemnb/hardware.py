"""Numbers of the hardware, with units and sources.

`WARP_LANES`, `BANKS` and so on hold for every NVIDIA GPU since compute capability (cc) 7.0.
What differs between architectures is in `limits(cc)`.

Sources: CUDA Programming Guide, appendix "Compute Capabilities", table "Technical
Specifications" (https://docs.nvidia.com/cuda/cuda-programming-guide/); `arch_traits.h` of CCCL
and `cuda_occupancy.h` of CUDA 13.0, which the tests compare with where they are installed.

**Limits**: cc 12.0 has 24 blocks per SM in the Programming Guide and in what an RTX 5090 reports,
but 32 in the Blackwell Tuning Guide; 24 is used here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["BANKS", "LINE_BYTES", "SECTOR_BYTES", "WARP_LANES", "WAVEFRONT_BYTES", "WORD_BYTES"]
__all__ += ["LIMITS", "Limits", "limits"]

KB: Final = 1024

WARP_LANES: Final = 32  # threads that run in lockstep
BANKS: Final = 32  # columns of shared memory that can each serve one word per wavefront
WORD_BYTES: Final = 4  # bytes of one word of one bank
WAVEFRONT_BYTES: Final = BANKS * WORD_BYTES  # 128, the most that one wavefront moves
SECTOR_BYTES: Final = 32  # smallest piece of global memory that is moved
LINE_BYTES: Final = 128  # four sectors with one tag in L1 and L2


@dataclass(frozen=True)
class Limits:
    """What one compute capability allows. Sizes are bytes, registers are 32 bits wide.

    Attributes:
        threads_per_block: most threads of a block.
        block_dim, grid_dim: most along x, y, z.
        warps_per_sm, threads_per_sm, blocks_per_sm: most that are resident on an SM.
        registers_per_sm, registers_per_block, registers_per_thread: the most there are.
        l1_and_shared_per_sm: the memory that L1 and shared memory divide between them.
        shared_per_sm: most of it that can be shared memory.
        shared_per_block: shared memory of a block without opting in.
        shared_per_block_optin: the same after opting in (dynamic shared memory only, in C++).
        shared_reserved_per_block: what the system takes of the SM's shared memory per block.
        carveouts: sizes that an SM's shared memory can be set to.
    """

    cc: tuple[int, int]
    blocks_per_sm: int
    warps_per_sm: int
    l1_and_shared_per_sm: int
    carveouts: tuple[int, ...]
    shared_reserved_per_block: int = KB
    shared_per_block: int = 48 * KB
    registers_per_sm: int = 65536
    registers_per_block: int = 65536
    registers_per_thread: int = 255
    threads_per_block: int = 1024
    block_dim: tuple[int, int, int] = (1024, 1024, 64)
    grid_dim: tuple[int, int, int] = (2**31 - 1, 65535, 65535)

    @property
    def threads_per_sm(self) -> int:
        """Most threads resident on an SM."""
        return self.warps_per_sm * WARP_LANES

    @property
    def shared_per_sm(self) -> int:
        """Bytes of shared memory of an SM at the largest carve-out."""
        return self.carveouts[-1]

    @property
    def shared_per_block_optin(self) -> int:
        """Most bytes of shared memory of one block, after opting in."""
        return self.shared_per_sm - self.shared_reserved_per_block


def _limits(
    cc: tuple[int, int], blocks: int, warps: int, l1_kb: int, carveouts_kb: tuple[int, ...]
) -> Limits:
    """Limits of one row of the table; 1 KB per block is reserved from cc 8.0 on."""
    reserved = KB if cc >= (8, 0) else 0
    return Limits(cc, blocks, warps, l1_kb * KB, tuple(k * KB for k in carveouts_kb), reserved)


_TO_100 = (0, 8, 16, 32, 64, 100)
_TO_164 = (*_TO_100, 132, 164)
_TO_228 = (*_TO_164, 196, 228)

LIMITS: Final = {
    row.cc: row
    for row in (
        _limits((7, 0), 32, 64, 128, (0, 8, 16, 32, 64, 96)),
        _limits((7, 5), 16, 32, 96, (32, 64)),
        _limits((8, 0), 32, 64, 192, _TO_164),
        _limits((8, 6), 16, 48, 128, _TO_100),
        _limits((8, 9), 24, 48, 128, _TO_100),
        _limits((9, 0), 32, 64, 256, _TO_228),
        _limits((10, 0), 32, 64, 256, _TO_228),
        _limits((12, 0), 24, 48, 128, _TO_100),
    )
}
"""Limits per compute capability, oldest first."""


def limits(cc: tuple[int, int] | str | float) -> Limits:
    """Limits of a compute capability, given as (9, 0), "9.0" or 9.0.

    >>> limits((8, 0)).shared_per_block_optin // 1024     # 164 KB per SM, 1 KB reserved
    163
    >>> limits((9, 0)).shared_per_block_optin
    232448

    Raises:
        ValueError: a compute capability that is not in the table.
    """
    try:
        major, minor = str(cc).split(".") if isinstance(cc, str | float | int) else cc
        return LIMITS[int(major), int(minor)]
    except (KeyError, TypeError, ValueError):
        known = ", ".join(f"{major}.{minor}" for major, minor in LIMITS)
        raise ValueError(
            f"compute capability {cc!r} is not in the table; known: {known}."
            " Limits of a nearby one are not a safe guess"
        ) from None
