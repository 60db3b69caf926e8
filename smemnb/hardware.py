"""Numbers of the hardware, with units and sources.

`WARP_LANES`, `BANKS` and so on hold for every NVIDIA GPU since compute capability (cc) 7.0.
What differs between architectures is in `limits(cc)`, what differs between GPUs of one
architecture (how many SMs, clocks, memory) in `chip(name)`.

Sources: CUDA Programming Guide, appendix "Compute Capabilities", table "Technical
Specifications" (https://docs.nvidia.com/cuda/cuda-programming-guide/); `arch_traits.h` of CCCL
and `cuda_occupancy.h` of CUDA 13.0, which the tests compare with where they are installed. Each
`Chip` names its own.

**Limits**: cc 12.0 has 24 blocks per SM in the Programming Guide and in what an RTX 5090 reports,
but 32 in the Blackwell Tuning Guide; 24 is used here. Boards may run faster than the boost clock
of their data sheet: use `dataclasses.replace(chip, boost_mhz=...)` with the clock that was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["BANKS", "LINE_BYTES", "SECTOR_BYTES", "WARP_LANES", "WAVEFRONT_BYTES", "WORD_BYTES"]
__all__ += ["CHIPS", "FP32_LANES", "FP64_RATIO", "LIMITS", "Chip", "Limits", "chip", "limits"]

KB: Final = 1024
MB: Final = 1024 * KB

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


FP32_LANES: Final = {
    (7, 0): 64,
    (7, 5): 64,
    (8, 0): 64,
    (8, 6): 128,
    (8, 9): 128,
    (9, 0): 128,
    (10, 0): 128,
    (12, 0): 128,
}
"""float32 multiply-adds that an SM begins per cycle (CUDA Programming Guide, "Arithmetic
Instructions")."""

FP64_RATIO: Final = {
    (7, 0): 2,
    (7, 5): 32,
    (8, 0): 2,
    (8, 6): 64,
    (8, 9): 64,
    (9, 0): 2,
    (10, 0): 2,
    (12, 0): 64,
}
"""float32 multiply-adds for one of float64, from the same table."""


@dataclass(frozen=True)
class Chip:
    """A GPU: what differs between chips of one architecture.

    Attributes:
        name: as it is called.
        cc: compute capability.
        sms: multiprocessors that are switched on.
        boost_mhz: the clock that the data sheet's FP32 rate belongs to.
        dram_bytes_per_s: memory rate of the data sheet, reads and writes together.
        l2_bytes: size of the L2 cache.
        dram_reached: the highest rate that a copy was seen to reach, None where none is known.
        l2_bytes_per_cycle: most that L2 hands to all SMs together, None where none is published.
        source: where the figures come from.
        bus_bits: width of the memory bus, None where none is published.
    """

    name: str
    cc: tuple[int, int]
    sms: int
    boost_mhz: float
    dram_bytes_per_s: float
    l2_bytes: int
    dram_reached: float | None = None
    l2_bytes_per_cycle: int | None = None
    source: str = ""
    bus_bits: int | None = None

    @property
    def fp32_lanes(self) -> int:
        """float32 multiply-adds that an SM begins per cycle."""
        return FP32_LANES[limits(self.cc).cc]

    @property
    def cycles_per_s(self) -> float:
        """The boost clock in Hz."""
        return self.boost_mhz * 1e6

    @property
    def flop_per_s(self) -> float:
        """float32 operations per second, a multiply-add being two.

        >>> f"{chip('H200').flop_per_s / 1e12:.1f} TFLOP/s"
        '66.9 TFLOP/s'
        """
        return 2 * self.fp32_lanes * self.sms * self.cycles_per_s

    @property
    def memory_mhz(self) -> float | None:
        """The memory clock of the data sheet's rate, as CUDA says it: two transfers per cycle.

        >>> chip("A100 80GB").memory_mhz                  # the board reports 1593
        1592.96875
        """
        return None if self.bus_bits is None else self.dram_bytes_per_s / self.bus_bits * 4 / 1e6


_HOPPER = "132 SMs and 67 TFLOP/s (so 1980 MHz)"
_A100 = "NVIDIA A100 architecture whitepaper, tables 4 and 5, L2 rate p. 35"

CHIPS: Final = {
    one.name: one
    for one in (
        Chip(
            name="H200",
            cc=(9, 0),
            sms=132,
            boost_mhz=1980,
            dram_bytes_per_s=4.8e12,
            l2_bytes=60 * MB,
            dram_reached=4.263e12,
            source=f"NVIDIA H200 data sheet, {_HOPPER}; L2 as the device reports it; a bus of six"
            " HBM3e stacks; reached by copy_wide of 1 GiB, driver 580.159.04",
            bus_bits=6144,
        ),
        Chip(
            name="H100 SXM",
            cc=(9, 0),
            sms=132,
            boost_mhz=1980,
            dram_bytes_per_s=3.35e12,
            l2_bytes=50 * MB,
            source=f"NVIDIA H100 data sheet and architecture whitepaper, {_HOPPER}",
            bus_bits=5120,
        ),
        Chip("A100 40GB", (8, 0), 108, 1410, 1.555e12, 40 * MB, None, 5120, _A100, 5120),
        Chip(
            "A100 80GB",
            (8, 0),
            108,
            1410,
            2.039e12,
            40 * MB,
            None,
            5120,
            f"{_A100}; memory rate of the A100 80GB SXM data sheet",
            5120,
        ),
        Chip(
            name="V100",
            cc=(7, 0),
            sms=80,
            boost_mhz=1530,
            dram_bytes_per_s=900e9,
            l2_bytes=6 * MB,
            source="NVIDIA Tesla V100 architecture whitepaper, table 1 (SXM2)",
            bus_bits=4096,
        ),
        Chip(
            name="T4",
            cc=(7, 5),
            sms=40,
            boost_mhz=1590,
            dram_bytes_per_s=320e9,
            l2_bytes=4 * MB,
            source="NVIDIA T4 data sheet; NVIDIA Turing architecture whitepaper, Tesla T4",
            bus_bits=256,
        ),
        Chip(
            name="L4",
            cc=(8, 9),
            sms=58,
            boost_mhz=2040,
            dram_bytes_per_s=300e9,
            l2_bytes=48 * MB,
            source="NVIDIA L4 data sheet and product brief (7424 lanes in 58 SMs)",
            bus_bits=192,
        ),
        Chip(
            name="RTX 3090",
            cc=(8, 6),
            sms=82,
            boost_mhz=1695,
            dram_bytes_per_s=936e9,
            l2_bytes=6 * MB,
            source="NVIDIA Ampere GA102 architecture whitepaper, GeForce RTX 3090",
            bus_bits=384,
        ),
        Chip(
            name="RTX 4090",
            cc=(8, 9),
            sms=128,
            boost_mhz=2520,
            dram_bytes_per_s=1.008e12,
            l2_bytes=72 * MB,
            source="NVIDIA Ada architecture whitepaper, GeForce RTX 4090",
            bus_bits=384,
        ),
        Chip(
            name="RTX 5090",
            cc=(12, 0),
            sms=170,
            boost_mhz=2407,
            dram_bytes_per_s=1.792e12,
            l2_bytes=96 * MB,
            source="NVIDIA RTX Blackwell GPU architecture whitepaper, GeForce RTX 5090",
            bus_bits=512,
        ),
    )
}
"""GPUs whose data sheets were read, by name."""


def chip(name: str) -> Chip:
    """The GPU of this name: "H200", "rtx 4090", or as a device calls itself.

    >>> chip("NVIDIA H200").sms, chip("NVIDIA A100-SXM4-80GB").name
    (132, 'A100 80GB')

    Raises:
        ValueError: no figures of it are here; a `Chip` can be made by hand.
    """
    said = set(name.upper().replace("-", " ").replace("SXM4", "").split())
    said = {"SXM" if word.startswith("SXM") or word == "HBM3" else word for word in said}
    found = [one for one in CHIPS.values() if set(one.name.upper().split()) <= said]
    if len(found) == 1 and not said & {"LAPTOP", "PCIE", "NVL", "TI", "SUPER", "MIG", "D"}:
        return found[0]
    raise ValueError(
        f"no figures of a chip called {name!r}; known: {', '.join(CHIPS)}."
        " For others write hardware.Chip(name, cc, sms, boost_mhz, dram_bytes_per_s, l2_bytes)"
    )
