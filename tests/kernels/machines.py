"""Every kernel of the ladders by name, and its machine code: compiled once, side by side.

A name is a rung's, or says what a kernel was made for (`transpose_turned-uint8`, `variant`).
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from numba import float32, uint8, uint16, uint64

from smemnb.compiled import Resources, cubin
from smemnb.compiled.machine import Instruction, count, instructions, main_loop, nvdisasm
from smemnb.compiled.usage import read_resources
from smemnb.kernels.matmul import ladder as products
from smemnb.kernels.matmul.sliced import matmul_sliced_of
from smemnb.kernels.matmul.wide import matmul_of
from smemnb.kernels.transpose import ladder as transposes
from smemnb.kernels.transpose.pairs import transpose_pairs
from smemnb.kernels.transpose.shaped import transpose_turned_of
from smemnb.kernels.transpose.snapped import transpose_snapped_of
from smemnb.kernels.transpose.wide import transpose_fastest_of

CC = tuple[int, int]
CCS = ((7, 5), (8, 0), (9, 0))


def matrices(count: int, dtype: Any = float32, more: str = "") -> str:
    """A signature of row-major matrices, and what comes after them."""
    return f"void({', '.join([f'{dtype}[:, ::1]'] * count)}{more})"


@dataclass(frozen=True)
class Built:
    """A kernel, the types it is compiled for, and what it promised the compiler."""

    kernel: Any
    signature: str
    threads: int
    resident: int = 1


@dataclass(frozen=True)
class Machine:
    """Machine code of one kernel for one compute capability."""

    used: Resources
    code: list[Instruction] = field(repr=False)

    @property
    def loop(self) -> list[Instruction]:
        """The instructions of the main loop."""
        return main_loop(self.code)

    def counts(self, *names: str, loop: bool = False) -> dict[str, int]:
        """How many instructions there are of each of these names, in all or in the main loop."""
        code = self.loop if loop else self.code
        return {name: count(code, name) for name in names}


def variant(what: str, exact: bool, wide_a: bool, wide_b: bool) -> str:
    """ "small-ragged-b": tiles of 64x64, any shape, rows of b begin at multiples of 16 bytes."""
    aligned = "a" * wide_a + "b" * wide_b
    return f"{what}-{'exact' if exact else 'ragged'}-{aligned or 'none'}"


FLAGS = [(True, True, True), *((False, a, b) for a in (True, False) for b in (True, False))]
CHOICES = {"fastest": products.FASTEST, "small": products.SMALL}


def _all() -> dict[str, Built]:
    found = {}
    for rung in (*transposes.LADDER, transposes.COPY):
        found[rung.name] = Built(rung.kernel, matrices(2), rung.block[0] * rung.block[1])
    for dtype in (uint8, uint16, uint64):
        found[f"transpose_fastest-{dtype}"] = Built(
            transpose_fastest_of(dtype), matrices(2, dtype), 512
        )
    for dtype in (uint8, uint16, uint64):
        found[f"transpose_turned-{dtype}"] = Built(
            transpose_turned_of(dtype), matrices(2, dtype), 512
        )
    for dtype in (uint8, uint16, float32, uint64):
        found[f"transpose_snapped-{dtype}"] = Built(
            transpose_snapped_of(dtype), matrices(2, dtype), 512
        )
    found["transpose_pairs"] = Built(transpose_pairs, matrices(2, uint64), 512)
    for rung in products.LADDER:
        signature = matrices(3, more=", float32, float32" * rung.scaled)
        resident = 2 if rung.aligned > 1 else 1
        found[rung.name] = Built(rung.kernel, signature, rung.block[0], resident)
    for what, tiling in CHOICES.items():
        for flags in FLAGS[tiling == products.FASTEST :]:  # the first of FASTEST is a rung
            kernel = matmul_of(tiling, *flags, "matmul_fastest")
            signature = matrices(3, more=", float32, float32")
            built = Built(kernel, signature, tiling.threads, tiling.resident)
            found[variant(what, *flags)] = built
    sliced, signature = products.SLICED, matrices(3, more=", float32, float32")
    found["matmul_sliced"] = Built(
        matmul_sliced_of(sliced), signature, sliced.threads, sliced.resident
    )
    return found


KERNELS = _all()


def machines_of(name: str, ccs: Iterable[CC]) -> dict[CC, Machine]:
    """The machine code of a kernel for each of these; what Numba infers is inferred once."""
    built, found = KERNELS[name], {}
    for cc in ccs:
        elf = cubin(built.kernel, built.signature, cc)
        code = instructions(elf) if nvdisasm() else []
        found[cc] = Machine(read_resources(elf, cc), code)
    return found


class Machines:
    """`machines(name, cc)`: all that the session asks for is compiled at once, side by side."""

    def __init__(self, wanted: Iterable[tuple[str, CC]]) -> None:
        by_name: dict[str, list[CC]] = {}
        for name, cc in dict.fromkeys(wanted):
            by_name.setdefault(name, []).append(cc)
        context = multiprocessing.get_context("spawn")
        workers = min(len(by_name), os.cpu_count() or 1, 8)
        self.pool = ProcessPoolExecutor(workers, mp_context=context)
        self.found: dict[str, Future[dict[CC, Machine]]] = {
            name: self.pool.submit(machines_of, name, ccs) for name, ccs in by_name.items()
        }

    def __call__(self, name: str, cc: CC) -> Machine:
        return self.found[name].result()[cc]
