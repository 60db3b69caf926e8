"""READINGS: every microbenchmark, what it launches, and what its reading is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .kernels import chains, shared, streams, waits

__all__ = ["READINGS", "Clocked", "Loaded", "Reading", "Started", "Streamed"]

MB = 1 << 20
COPIED = (16384, 4096)  # rows and elements of a matrix of 256 MB


@dataclass(frozen=True)
class Reading:
    """A microbenchmark.

    Attributes:
        name: its own, by which constants name it.
        group: what it is about.
        make: gives the kernel.
        tells: what follows from it.
    """

    name: str
    group: str
    make: Callable[[], Any]
    tells: str

    @property
    def unit(self) -> str:
        """Of what is read."""
        return "cycles per round"


@dataclass(frozen=True)
class Clocked(Reading):
    """Cycles of a round, of `warps` warps of one block, in the first `partitions` quarters.

    Attributes:
        dtypes: of the kernel's `out`, `a` and `b`.
        asked: names of machine instructions that its loop must have, for the check without a GPU.
        words: of `out`, if more than one per thread.
    """

    warps: int = 1
    partitions: int = 4
    dtypes: tuple[type, type, type] = (np.uint32, np.uint32, np.uint32)
    asked: tuple[str, ...] = ()
    words: int = 0

    def arguments(self, rounds: int) -> tuple[Any, ...]:
        """Arguments of a launch of one block of `32 * warps` threads."""
        out, a, b = self.dtypes
        times = np.zeros((self.warps, 2), np.int64)
        words = max(32 * self.warps, self.words)
        return (np.zeros(words, out), times, a(3), b(1), rounds, self.partitions)


@dataclass(frozen=True)
class Loaded(Reading):
    """Mean and slowest wait of a load, in cycles, of `warps` warps on each multiprocessor."""

    warps: int = 1
    size: int = MB

    @property
    def unit(self) -> str:
        """Three figures."""
        return "cycles: mean, slowest of a warp (mean over warps), slowest of all"


@dataclass(frozen=True)
class Streamed(Reading):
    """Bytes per second of the whole GPU, read and written together."""

    words: int = 0
    size: int = 0
    rounds: int = 1

    @property
    def unit(self) -> str:
        """Of the rate."""
        return "GB/s"


@dataclass(frozen=True)
class Started(Reading):
    """Cycles of a multiprocessor from one block to the next, as many resident as fit."""

    threads: int = 32

    @property
    def unit(self) -> str:
        """Of the whole GPU, divided among its multiprocessors."""
        return "cycles per block of a multiprocessor"


F, D, U, S, W = np.float32, np.float64, np.uint32, np.int32, np.uint64
_DTYPES = {
    "float32": (F, F, F),
    "float64": (D, D, D),
    "uint32": (U, U, U),
    "int32": (S, S, S),
    "uint64": (W, W, W),
}
_ASKED = {
    "multiply_add": ("FFMA",),
    "add": ("FADD",),
    "multiply_add64": ("DFMA",),
    "add64": ("DADD",),
    "xor_add": ("LOP3",),
    "turn": ("SHF",),
    "compared": ("ISETP",),
    "multiply_add_int": ("IMAD",),
    "multiply_add_wide": ("IMAD",),
    "bits_set": ("POPC",),
    "root": ("MUFU",),
    "power": ("MUFU",),
    "to_int_and_back": ("F2I", "I2F"),
    "exchanged": ("SHFL",),
}


def _dtypes(name: str) -> tuple[type, type, type]:
    return _DTYPES[str(chains.STEPS[name][1])]


def _chains() -> list[Reading]:
    found: list[Reading] = []
    for name, asked in _ASKED.items():
        for warps, count, tells in (
            (1, 1, "latency of the step"),
            (16, 4, "rate of its pipe, all four partitions"),
        ):
            found.append(
                Clocked(
                    f"{name}_{warps}x{count}",
                    "chains",
                    lambda name=name, count=count: chains.chained(name, count),  # type: ignore[misc]
                    tells,
                    warps,
                    dtypes=_dtypes(name),
                    asked=asked,
                )
            )
    for warps in (4, 16):
        found.append(
            Clocked(
                f"uniform_xor_add_{warps}x4",
                "chains",
                lambda: chains.uniform(4),
                "rate of the pipe for numbers that all lanes share",
                warps,
                asked=("ULOP3", "UIADD3"),
            )
        )
    for name in ("xor_add", "turn", "multiply_add_int", "multiply_add64", "root", "bits_set"):
        found.append(
            Clocked(
                f"multiply_add_beside_{name}",
                "mixes",
                lambda name=name: chains.mixed(name),  # type: ignore[misc]
                "whether both kinds share a pipe or an issue slot",
                16,
                dtypes=_dtypes(name),
                asked=("FFMA", *_ASKED[name]),
            )
        )
    return found


def _registers() -> list[Reading]:
    return [
        Clocked(
            f"outer_{edge}_apart_{apart}_{warps}",
            "registers",
            lambda edge=edge, apart=apart: chains.outer(edge, apart),  # type: ignore[misc]
            "multiply-adds by the banks that their registers lie in, and by what is reused",
            warps,
            dtypes=(F, F, F),
            asked=("FFMA",),
        )
        for edge, apart in ((4, 1), (8, 1), (8, 5), (8, 9))
        for warps in (4, 16)
    ]


def _tiles() -> list[Reading]:
    found: list[Reading] = [
        Clocked(
            f"shared_followed_{width}",
            "shared",
            lambda width=width: shared.followed(width),  # type: ignore[misc]
            "latency of a load of this width",
            asked=("LDS",),
        )
        for width in (1, 2, 4, 8, 16)
    ]
    for width, apart, partitions in (
        *((width, 1, 4) for width in (4, 8, 16)),
        *((width, 1, 1) for width in (4, 8, 16)),
        *((width, 0, 4) for width in (4, 8, 16)),
    ):
        how = "one place" if not apart else f"{partitions} partitions"
        found.append(
            Clocked(
                f"shared_loads_{width}_{how.replace(' ', '_')}",
                "shared",
                lambda width=width, apart=apart: shared.loads(width, apart),  # type: ignore[misc]
                "loads per cycle",
                16,
                partitions,
                asked=("LDS",),
            )
        )
    for width in (4, 8, 16):
        found.append(
            Clocked(
                f"shared_stores_{width}",
                "shared",
                lambda width=width: shared.stores(width),  # type: ignore[misc]
                "stores per cycle",
                16,
                asked=("STS",),
            )
        )
    return found


def _waits() -> list[Reading]:
    found: list[Reading] = [
        Clocked(
            f"barriers_{warps}",
            "waits",
            lambda: waits.barriers,
            "a barrier of so many warps",
            warps,
            asked=("BAR",),
        )
        for warps in (1, 4, 8, 16, 32)
    ]
    found.append(
        Clocked("branches", "waits", lambda: waits.branches, "a taken branch", asked=("BRA",))
    )
    found.append(
        Clocked(
            "constants", "waits", lambda: waits.constants, "a load of a constant", asked=("LDC",)
        )
    )
    for blocks in (8, 16, 24, 32, 48, 64, 96):
        found.append(
            Clocked(
                f"straight_{blocks}_kb",
                "instruction cache",
                lambda blocks=blocks: chains.straight(blocks),  # type: ignore[misc]
                "cycles of a loop of this size, per instruction",
                8,
                dtypes=(F, F, F),
                asked=("FFMA",),
            )
        )
    for width, apart, how in (
        (4, 1, "side_by_side"),
        (16, 4, "side_by_side"),
        (4, 0, "one_place"),
        (4, 8, "sectors"),
        (4, 32, "lines"),
        (4, 33, "lines_of_other_banks"),
    ):
        found.append(
            Clocked(
                f"global_loads_{width}_{how}",
                "L1",
                lambda width=width, apart=apart: waits.global_loads(width, apart),  # type: ignore[misc]
                "loads that L1 has, per cycle",
                16,
                asked=("LDG",),
                words=4096,
            )
        )
    for level, size in (("l1", MB // 64), ("l2", 16 * MB), ("dram", 1024 * MB)):
        for warps in (1, 16, 64):
            found.append(
                Loaded(
                    f"{level}_slowest_{warps}",
                    "latency under load",
                    lambda: waits.slowest,
                    f"a load of a line out of {level.upper()}: mean and slowest",
                    warps,
                    size,
                )
            )
    return found


def _streams() -> list[Reading]:
    found: list[Reading] = [
        Streamed(
            f"copy_by_{4 * words}_bytes",
            "DRAM",
            lambda words=words: streams.copies(words),  # type: ignore[misc]
            "what is left of the memory rate where rows are short",
            words,
        )
        for words in (8, 16, 32, 64, 128, 256)
    ]
    found.append(Streamed("read_l2", "L2", lambda: streams.reads, "rate of L2", 0, 16 * MB, 64))
    found.append(
        Streamed("read_dram", "DRAM", lambda: streams.reads, "rate of reading", 0, 1024 * MB, 1)
    )
    found.append(
        Streamed("write_dram", "DRAM", lambda: streams.writes, "rate of writing", 0, 1024 * MB, 1)
    )
    found.append(Streamed("write_l2", "L2", lambda: streams.writes, "rate of L2", 0, 16 * MB, 64))
    found.append(
        Streamed(
            "write_columns",
            "DRAM",
            lambda: streams.writes_columns,
            "rate of sectors that are filled by eight stores, counted once",
            0,
            1024 * MB,
        )
    )
    for name, group, size, rounds in (
        ("l2", "L2", 16 * MB, 64),
        ("dram", "DRAM", 1024 * MB, 1),
    ):
        found.append(
            Streamed(
                f"write_apart_{name}",
                group,
                lambda: streams.writes_apart,
                "rate of sectors that are written in part, counted whole",
                0,
                size,
                rounds,
            )
        )
    for threads in (32, 256, 1024):
        found.append(
            Started(
                f"blocks_of_{threads}",
                "blocks",
                lambda: streams.nothing,
                "the start of a block",
                threads,
            )
        )
        found.append(
            Started(
                f"lasting_of_{threads}",
                "blocks",
                lambda: streams.lasting,
                f"the time between two blocks, beyond the {streams.LASTING} cycles that each takes",
                threads,
            )
        )
    return found


READINGS: tuple[Reading, ...] = (*_chains(), *_registers(), *_tiles(), *_waits(), *_streams())
"""All of them, by group."""
