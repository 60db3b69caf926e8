"""Small random kernels over global memory, with fences, atomics and barriers, made from a seed."""

from __future__ import annotations

import linecache
import random
from typing import Any

from numba import cuda, float32, int32

CELLS, COUNTS = 24, 3


class _Writer:
    """Writes the lines of one kernel."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.depth, self.divergent = 1, 0
        fences = "cuda.threadfence()", "cuda.threadfence_block()"
        self.fences = {1: fences, 3: fences[1:]}.get(seed % 4, fences[:1])

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def cell(self) -> str:
        c = self.random.randint(0, CELLS - 1)
        return self.pick(str(c), str(c), "bx", f"bx + {c % 20}", f"tx % {CELLS}", f"i % {CELLS}")

    def statement(self) -> None:
        kind = self.random.random()
        if kind < 0.2:
            self.line(f"data[{self.cell()}] = {self.pick('1.0', 'inp[i]', 'acc', 'inp[i]')}")
        elif kind < 0.38:
            self.line(f"acc += data[{self.cell()}]")
        elif kind < 0.43:
            self.line(f"tile[tx % 8] {self.pick('=', '+=')} inp[i]")
            self.line(f"acc += tile[{self.random.randint(0, 7)}]")
        elif kind < 0.58:
            self.line(f"cuda.atomic.add(count, {self.random.randint(0, COUNTS - 1)}, 1)")
        elif kind < 0.63:
            self.line(f"acc += count[{self.random.randint(0, COUNTS - 1)}]")
        elif kind < 0.76:
            self.line(self.pick(*self.fences))
        elif kind < 0.84:
            if not self.divergent:
                self.line("cuda.syncthreads()")
        elif kind < 0.89:
            self.line("cuda.syncwarp()" if not self.divergent else "acc += 1.0")
        elif kind < 0.91:
            self.line("if tx % 32 < 16:")
            self.line("    cuda.syncwarp(0xFFFF)")
        elif self.depth < 3:
            self.branch()

    def branch(self) -> None:
        c = self.random.choice((1, 2, 16, 33))
        text = self.pick(
            f"tx < {c}", f"tx == {c}", f"bx == {c % 3}", "tx == 0", "bx > 0", "tx == 0"
        )
        self.divergent += "tx" in text
        self.line(f"if {text}:")
        self.depth += 1
        self.line("acc += 1.0")
        for _ in range(self.random.randint(1, 4)):
            self.statement()
        self.depth -= 1
        self.divergent -= "tx" in text


def kernel_of(seed: int) -> Any:
    """The kernel with this seed, its source readable by inspect."""
    writer = _Writer(seed)
    for text in (
        "tile = cuda.shared.array(8, float32)",
        "tx, bx, i = cuda.threadIdx.x, cuda.blockIdx.x, cuda.grid(1)",
        "acc = 0.0",
    ):
        writer.line(text)
    for _ in range(writer.random.randint(5, 12)):
        writer.statement()
    writer.line("out[i] = acc")
    source = "def kernel(out, data, count, inp):\n" + "\n".join(writer.lines) + "\n"
    name = f"<random signals {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {"cuda": cuda, "float32": float32, "int32": int32}
    exec(compile(source, name, "exec"), names)
    return names["kernel"]


def blocks_of(seed: int) -> int:
    """How many blocks the kernel runs in: one where its fences reach no further."""
    return 1 if seed % 4 == 3 else 3
