"""Every kernel of the ladders by name, and its machine code: compiled once, side by side.

A name is a rung's, or says what a kernel was made for (`transpose_turned-uint8`, `variant`).
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
import traceback
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from numba import float32, uint8, uint16, uint64

from smemnb.compiled import Resources, cubin
from smemnb.compiled.machine import Instruction, count, instructions, main_loop, nvdisasm
from smemnb.compiled.usage import read_resources
from smemnb.exercises.filelock import locked
from smemnb.kernels.matmul import ladder as products
from smemnb.kernels.matmul.variants.sliced import matmul_sliced_of
from smemnb.kernels.matmul.variants.streamed import matmul_streamed_of
from smemnb.kernels.matmul.variants.whole import matmul_of
from smemnb.kernels.transpose import ladder as transposes
from smemnb.kernels.transpose.variants.direct import TALL as DIRECT_TALL
from smemnb.kernels.transpose.variants.direct import WIDE as DIRECT_WIDE
from smemnb.kernels.transpose.variants.direct import transpose_direct_of
from smemnb.kernels.transpose.variants.line import THREADS as LINE_THREADS
from smemnb.kernels.transpose.variants.line import transpose_line_of
from smemnb.kernels.transpose.variants.packed import WORDS, transpose_packed_of
from smemnb.kernels.transpose.variants.pairs import transpose_pairs, transpose_pairs_batched
from smemnb.kernels.transpose.variants.runs import THREADS as RUN_THREADS
from smemnb.kernels.transpose.variants.runs import copy_runs_of
from smemnb.kernels.transpose.variants.shifted import SHAPES, transpose_shifted_of
from smemnb.kernels.transpose.variants.strips import LARGE as STRIP
from smemnb.kernels.transpose.variants.strips import (
    MIDDLE,
    SMALL,
    WIDE,
    transpose_flat_of,
    transpose_narrow_of,
)
from smemnb.kernels.transpose.variants.turned import transpose_turned_of
from smemnb.kernels.transpose.variants.units import transpose_units_of
from smemnb.kernels.transpose.variants.wide import transpose_fastest_of
from smemnb.kernels.transpose.variants.words import SHAPES as SHAPES_OF_WORDS
from smemnb.kernels.transpose.variants.words import transpose_words_of

CC = tuple[int, int]
CCS = ((7, 5), (8, 0), (9, 0))


def placed(dtype: Any, axes: int = 2) -> str:
    """A signature of `out` and `inp` whose rows lie anywhere."""
    array = f"{dtype}[{', '.join(':' * axes)}]"
    return f"void({array}, {array})"


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


def from_factory(name: str) -> str:
    """The kernel that `variants` makes for the tiling of a rung."""
    return f"{name}-factory"


def resident(kernel: Any) -> int:
    """Blocks on a multiprocessor that a kernel asks the compiler for."""
    bounds = kernel.targetoptions.get("launch_bounds")
    return int(bounds[1]) if bounds else 1


FLAGS = [(True, True, True), *((False, a, b) for a in (True, False) for b in (True, False))]
CHOICES = {"fastest": products.VARIED, "small": products.SMALL}
TILINGS = CHOICES | {"shared": products.SHARED}


def _of_any_place() -> dict[str, Built]:
    """Transposes of narrow and flat matrices, of words and units, of batches; copies of runs."""
    found = {}
    for dtype in (uint8, uint16, float32, uint64):
        for even in (True, False):
            side = "even" if even else "odd"
            for what, make in (("narrow", transpose_narrow_of), ("flat", transpose_flat_of)):
                kernel = make(dtype, even)
                found[f"transpose_{what}-{dtype}-{side}"] = _placed(kernel, dtype, STRIP.threads)
        found[f"copy_runs-{dtype}"] = _placed(copy_runs_of(dtype), dtype, RUN_THREADS, 3)
        units = transpose_units_of(dtype, 12 // (dtype.bitwidth // 8) or 2)
        found[f"transpose_units-{dtype}"] = _placed(units, dtype, 256)
    for what, make in (("narrow", transpose_narrow_of), ("flat", transpose_flat_of)):
        kernel = make(uint64, False, pairs=True)
        found[f"transpose_{what}-pairs"] = _placed(kernel, uint64, STRIP.threads)
        kernel = make(float32, False, batched=True)
        found[f"transpose_{what}-batched"] = _placed(kernel, float32, STRIP.threads, 3)
    for dtype in (uint8, uint16):
        words = WORDS[dtype.bitwidth // 8]
        kernel = transpose_packed_of(dtype, words)
        found[f"transpose_packed-{dtype}"] = _placed(kernel, dtype, words.threads)
        tiles = SHAPES_OF_WORDS[dtype.bitwidth // 8]
        kernel = transpose_words_of(dtype, tiles)
        found[f"transpose_words-{dtype}"] = _placed(kernel, dtype, tiles.threads)
    for what, cut in (("middle", MIDDLE), ("small", SMALL), ("wide", WIDE)):
        kernel = transpose_flat_of(uint8, True, cut=cut)
        found[f"transpose_flat-{what}"] = _placed(kernel, uint8, cut.threads)
    for dtype, tile in ((uint8, (64, 64)), (float32, (64, 32)), (uint64, (32, 32))):
        threads_y = tile[0] // 4 if dtype is uint8 else 8
        kernel = transpose_turned_of(dtype, tile, threads_y, whole=True)
        found[f"transpose_turned-{dtype}-whole"] = _placed(kernel, dtype, 32 * threads_y)
    kernel = transpose_line_of(uint8)
    found["transpose_line"] = _placed(kernel, uint8, LINE_THREADS)
    for what, shape in (("wide", DIRECT_WIDE), ("tall", DIRECT_TALL)):
        kernel = transpose_direct_of(uint64, shape, pairs=True)
        found[f"transpose_direct-{what}"] = _placed(kernel, uint64, shape.threads)
    words = WORDS[1]
    kernel = transpose_packed_of(uint8, words, batched=True)
    found["transpose_packed-batched"] = _placed(kernel, uint8, words.threads, 3)
    kernel = transpose_fastest_of(float32, batched=True)
    found["transpose_fastest-batched"] = _placed(kernel, float32, 512, 3)
    kernel = transpose_turned_of(float32, batched=True)
    found["transpose_turned-batched"] = _placed(kernel, float32, 512, 3)
    found["transpose_pairs-batched"] = _placed(transpose_pairs_batched, uint64, 128, 3)
    found["copy_runs-chunks"] = _placed(copy_runs_of(uint64, chunks=True), uint64, RUN_THREADS, 3)
    return found


def _placed(kernel: Any, dtype: Any, threads: int, axes: int = 2) -> Built:
    return Built(kernel, placed(dtype, axes), threads, resident(kernel))


def _all() -> dict[str, Built]:
    found = {}
    for rung in (*transposes.LADDER, transposes.COPY):
        found[rung.name] = Built(rung.kernel, matrices(2), rung.block[0] * rung.block[1])
    for dtype in (uint8, uint16, float32, uint64):
        found[f"transpose_fastest-{dtype}"] = Built(
            transpose_fastest_of(dtype), matrices(2, dtype), 512
        )
    for dtype in (uint8, uint16, float32, uint64):
        found[f"transpose_turned-{dtype}"] = Built(
            transpose_turned_of(dtype), matrices(2, dtype), 512
        )
    for dtype in (uint8, uint16, float32, uint64):
        threads = SHAPES[dtype.bitwidth // 8].threads
        found[f"transpose_shifted-{dtype}"] = Built(
            transpose_shifted_of(dtype), matrices(2, dtype), threads
        )
    found["transpose_pairs"] = Built(
        transpose_pairs, matrices(2, uint64), 128, resident(transpose_pairs)
    )
    found.update(_of_any_place())
    for rung in products.LADDER:
        signature = matrices(3, more=", float32, float32" * rung.scaled)
        found[rung.name] = Built(rung.kernel, signature, rung.block[0], resident(rung.kernel))
    for name, tiling in products.TILINGS.items():
        signature = matrices(3, more=", float32, float32")
        made = Built(matmul_of(tiling), signature, tiling.threads, tiling.resident)
        found[from_factory(name)] = made
    for what, tiling in CHOICES.items():
        for flags in FLAGS[tiling == products.VARIED :]:  # for whole tiles it is a rung
            kernel = products.kernel_of(tiling, *flags)
            signature = matrices(3, more=", float32, float32")
            built = Built(kernel, signature, tiling.threads, tiling.resident)
            found[variant(what, *flags)] = built
    for flags in FLAGS:
        kernel = matmul_streamed_of(products.SHARED, *flags, "matmul_shared")
        signature = matrices(3, more=", float32, float32, float32[::1], uint32[::1]")
        found[variant("shared", *flags)] = Built(kernel, signature, products.SHARED.threads, 2)
    sliced, signature = products.SLICED, matrices(3, more=", float32, float32")
    found["matmul_sliced"] = Built(
        matmul_sliced_of(sliced), signature, sliced.threads, sliced.resident
    )
    return found


KERNELS = _all()


Asked = dict[str, list[CC]]
Found = dict[tuple[str, CC], Machine]


def machines_of(asked: Asked) -> Found:
    """The machine code of kernels; what they have in common is inferred and compiled once."""
    found = {}
    for name, ccs in asked.items():
        built = KERNELS[name]
        for cc in ccs:
            elf = cubin(built.kernel, built.signature, cc)
            code = instructions(elf) if nvdisasm() else []
            found[name, cc] = Machine(read_resources(elf, cc), code)
    return found


def family(name: str) -> str:
    """Kernels of one family share device functions, so one process compiles them all."""
    return name.removeprefix("matmul_").partition("-")[0]


class Machines:
    """`machines(name, cc)`: all that the session asks for is compiled at once, side by side.

    Processes of one session (pytest-xdist) share a folder. The first of them that asks compiles for
    all, the others wait for its files; should it end before, the next one takes over.
    """

    def __init__(self, wanted: Iterable[tuple[str, CC]], folder: Path) -> None:
        self.asked: dict[str, Asked] = {}
        for name, cc in dict.fromkeys(wanted):
            self.asked.setdefault(family(name), {}).setdefault(name, []).append(cc)
        folder.mkdir(exist_ok=True)
        self.folder, self.found = folder, {}
        self.pool: ProcessPoolExecutor | None = None
        self.lock = ExitStack()

    def __call__(self, name: str, cc: CC) -> Machine:
        one = family(name)
        if one not in self.found:
            self.found[one] = self._awaited(self.folder / one)
        found = self.found[one]
        if isinstance(found, str):
            pytest.fail(found)
        return found[name, cc]

    def close(self) -> None:
        """Compile nothing more."""
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)
        self.lock.close()

    def _awaited(self, file: Path) -> Found | str:
        while not file.exists():
            if self.pool is None:
                self._take_over()
            time.sleep(0.05)
        return pickle.loads(file.read_bytes())

    def _take_over(self) -> None:
        """Begin to compile what is not there yet, unless another process is at it."""
        try:
            self.lock.enter_context(locked(self.folder / "lock", patience_s=0))
        except TimeoutError:
            return
        context = multiprocessing.get_context("spawn")
        large_first = sorted(self.asked, key=lambda one: -len(self.asked[one]))
        left = [one for one in large_first if not (self.folder / one).exists()]
        workers = max(1, min(len(left), os.cpu_count() or 1, 8))
        self.pool = ProcessPoolExecutor(workers, mp_context=context)
        for one in left:
            self.pool.submit(_keep_machines, self.asked[one], self.folder / one)


def _keep_machines(asked: Asked, file: Path) -> None:
    """Put the machine code of kernels into a file, or why there is none; in one step."""
    found: Found | str
    try:
        found = machines_of(asked)
    except Exception:
        found = traceback.format_exc()
    beside = file.with_suffix(".part")
    beside.write_bytes(pickle.dumps(found))
    beside.replace(file)
