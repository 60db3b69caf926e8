"""Random kernels of one loop over global memory, some of whose rounds need each other."""

import linecache
import math
import random

import numpy as np
from numba import cuda, float32, int32, uint8

ARRAYS = ("a", "b", "c")


class _Writer:
    """Writes one kernel; `known` are the variables that a round has assigned."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.known = ["i"]
        self.lines = []

    def pick(self, *choices):
        return self.random.choice(choices)

    def index(self):
        c = self.random.randint(1, 5)
        often = ("i", "i", "i", "i", "n - 1 - i", f"i + {c}", f"i - {c}")
        rare = (f"i // {c}", f"i * {c} % n", str(c), "first", f"(i + {c}) % n", "e[i]", "-1 - i")
        return self.pick(*often, *often, *rare)

    def element(self):
        return f"{self.pick(*ARRAYS, 'd', 'd')}[{self.index()}]"

    def value(self, depth=0):
        kind = self.random.random()
        if kind < 0.35:
            return self.element()
        if kind < 0.5 or depth > 2:
            return self.pick("i", "1.5", "2", "n", "first", *self.known, "float32(0.5)", "carried")
        if kind < 0.8:
            sign = self.pick("+", "-", "*", "+", "/", "//", "%")
            return f"({self.value(depth + 1)} {sign} {self.value(depth + 1)})"
        if kind < 0.9:
            name = self.pick(
                "hypot({0}, {1})",
                "int32({0})",
                "float32({0})",
                "min({0}, {1})",
                "abs({0})",
                "math.sqrt(abs({0}))",
                "uint8({0})",
                "math.sin({0})",
            )
            return name.format(self.value(depth + 1), self.value(depth + 1))
        return f"({self.value(depth + 1)} if {self.condition()} else {self.value(depth + 1)})"

    def condition(self):
        return f"{self.value(2)} {self.pick('<', '>', '>=', '==')} {self.value(2)}"

    def statement(self, indent, depth=0):
        kind = self.random.random()
        if kind < 0.25 and depth == 0:
            name = f"v{self.random.randint(0, 2)}"
            self.lines.append(f"{indent}{name} = {self.value()}")
            self.known.append(name)
        elif kind < 0.75 or depth == 2:
            target = f"{self.pick('c', 'c', 'a', 'd')}[{self.index()}]"
            self.lines.append(
                f"{indent}{target} {self.pick('=', '=', '=', '+=', '*=')} {self.value()}"
            )
        elif kind < 0.95:
            self.lines.append(f"{indent}if {self.condition()}:")
            self.statement(indent + "    ", depth + 1)
            if self.random.random() < 0.3:
                self.lines.append(f"{indent}else:")
                self.statement(indent + "    ", depth + 1)
        elif self.random.random() < 0.5:
            self.lines.append(f"{indent}carried += 1.0")
        else:
            self.lines.append(f"{indent}v0 = v0 + 1.0")


def source_of(seed):
    """The kernel's source."""
    writer = _Writer(seed)
    for _ in range(writer.random.randint(1, 3)):
        writer.statement("        ")
    bounds = writer.pick(
        "first, n, cuda.gridsize(1)",
        "first, n, cuda.gridsize(1)",
        "n",
        "first, n",
        "3, n, 2",
        "n - 1, -1, -1",
        "first, n - first",
        "n // 2 - first",
    )
    guard = writer.random.random() < 0.2
    lines = [
        "def kernel(a, b, c, d, e, x):",
        "    first = cuda.grid(1)",
        "    n = a.shape[0]",
        "    carried = 0.0",
        "    v0 = 0.25",
        "    v1 = 0.5",
        "    v2 = x",
        *(["    if first % 3 == 2:", "        return"] if guard else []),
        f"    for i in range({bounds}):",
        *writer.lines,
        "    b[first % b.shape[0]] = v0 + v1 + v2 + carried",
    ]
    return "\n".join(lines) + "\n"


def kernel_of(seed):
    """The kernel, its source readable by inspect."""
    source, name = source_of(seed), f"<random loop {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = {
        "cuda": cuda, "math": math, "hypot": math.hypot,
        "float32": float32, "int32": int32, "uint8": uint8,
    }  # fmt: skip
    exec(compile(source, name, "exec"), names)
    return names["kernel"]


def arguments_of(seed):
    """Grid, block and arguments: views that overlap, several dtypes, one array twice."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 400))
    dtypes = ("f4", "f4", "f8", "i4", "i8", "u1", "u8")

    def array():
        return rng.integers(-40, 40, n).astype(rng.choice(dtypes))

    a, b, d = array(), array(), array()
    c = [array(), array(), a, a[::-1], np.zeros(n, np.float32)][rng.integers(5)]
    if rng.random() < 0.2:
        whole = np.arange(2 * n).astype(rng.choice(dtypes))
        a, c = whole[:n], whole[n // 2 : n // 2 + n]
    e = rng.permutation(n).astype(np.int32) if rng.random() < 0.7 else rng.integers(0, n, n)
    grid, block = [(1, 1), (1, 1), (1, 2), (1, 32), (1, 40), (1, 128), (3, 32)][rng.integers(7)]
    return grid, block, [a, b, c, d, e, float(rng.integers(0, 9))]
