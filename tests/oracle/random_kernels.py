"""Small random kernels over two shared arrays, made from a seed."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
from numba import cuda, float32, int32

N = 64


class _Writer:
    """Writes the lines of one kernel; `tx` is the thread, `k` the innermost loop's number."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.depth, self.loops, self.divergent, self.values = 1, 0, 0, 0
        self.careful = seed % 2 == 1  # a barrier after most accesses, own cells otherwise

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def index(self) -> str:
        c = self.random.choice((1, 2, 3, 7, 31, 32, 33))
        if self.careful:
            return "tx" if self.divergent else self.pick("tx", f"(tx + {c}) % {N}", f"tx ^ {c}")
        plain = ("tx", "tx", f"(tx + {c}) % {N}", f"{N - 1} - tx", f"tx ^ {c}", f"tx // {c + 1}")
        more = (str(c), f"tx * {c} % {N}", f"-1 - tx // {c}", f"tx + {c}")
        looped = (f"(tx + k) % {N}", "k") if self.loops else ()
        return self.pick(*plain, *plain, *more, *looped)

    def condition(self) -> tuple[str, bool]:
        """A condition and whether the threads of a block may disagree on it."""
        c = self.random.choice((1, 5, 16, 32, 40))
        if self.random.random() < 0.3:
            return self.pick("bx == 0", "bx != 1", "inp.size > 10", "bx > 5"), False
        return self.pick(f"tx < {c}", f"tx >= {c}", "tx % 2 == 0", f"tx // 32 == {c % 2}"), True

    def block(self, size: int) -> None:
        self.depth += 1
        for _ in range(self.random.randint(1, size)):
            self.statement()
        self.depth -= 1

    def statement(self) -> None:
        self.access()
        if self.careful and not self.divergent and self.random.random() < 0.95:
            self.line("cuda.syncthreads()")

    def access(self) -> None:
        kind = self.random.random()
        if kind < 0.02 and self.divergent and not self.loops:
            self.line("return")
        elif kind < 0.30:
            value = self.pick("inp[tx]", "inp[tx]", "3.0", f"inp[tx] + {self.values}.0")
            self.line(f"tile[{self.index()}] = {value}")
        elif kind < 0.55:
            self.line(f"acc += tile[{self.index()}]")
        elif kind < 0.60:
            self.line(f"cuda.atomic.add(counts, ({self.index()}) % 8, 1)")
        elif kind < 0.64:
            self.line(f"acc += counts[tx % 8 ^ {self.random.randint(0, 7)}]")
        elif kind < 0.78:
            if not self.divergent or (not self.loops and self.random.random() < 0.2):
                self.line("cuda.syncthreads()")
        elif kind < 0.82:
            if not self.divergent:
                self.line("cuda.syncwarp()")
        elif kind < 0.93 and self.depth < 4:
            self.branch()
        elif self.depth < 3:
            self.loop()

    def branch(self) -> None:
        text, divergent = self.condition()
        self.divergent += divergent
        self.line(f"if {text}:")
        self.block(2)
        if not self.lines[-1].startswith("    " * (self.depth + 1)):
            self.depth += 1
            self.line("acc += 1.0")
            self.depth -= 1
        if self.random.random() < 0.4:
            self.line("else:")
            self.block(2)
            if self.lines[-1].endswith("else:"):
                self.line("    acc += 2.0")
        self.divergent -= divergent

    def loop(self) -> None:
        divergent = self.random.random() < 0.3
        self.line(f"for k in range({'tx // 16' if divergent else self.random.randint(1, 3)}):")
        self.loops += 1
        self.divergent += divergent
        self.block(3)
        if self.lines[-1].endswith(":"):
            self.line("    acc += 1.0")
        self.loops -= 1
        self.divergent -= divergent


def source_of(seed: int) -> str:
    """The source of the kernel with this seed."""
    writer = _Writer(seed)
    for text in (
        f"tile = cuda.shared.array({N}, float32)",
        "counts = cuda.shared.array(8, int32)",
        "tx = cuda.threadIdx.x",
        "bx = cuda.blockIdx.x",
        "acc = 0.0",
    ):
        writer.line(text)
    if writer.random.random() < 0.7:
        writer.line("if tx < 8:")
        writer.line("    counts[tx] = 0")
        writer.line("tile[tx] = inp[tx]")
        writer.line("cuda.syncthreads()")
    for _ in range(writer.random.randint(3, 9)):
        writer.statement()
    writer.line("out[cuda.grid(1)] = acc")
    return "def kernel(out, inp):\n" + "\n".join(writer.lines) + "\n"


def kernel_of(seed: int) -> Any:
    """The kernel with this seed, its source readable by inspect."""
    source, name = source_of(seed), f"<random kernel {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {"cuda": cuda, "float32": float32, "int32": int32, "np": np}
    exec(compile(source, name, "exec"), names)
    return names["kernel"]
