"""In which order the compiler put loads, stores, products, barriers: `loop_order.json`, for cc 9.0.

    python -m smemnb.laboratory.loop_order FILE MODULE:KERNEL ... MODULE:RUNG

makes the file with NVIDIA's compiler libraries and nvdisasm, no GPU needed; a rung of the product
is named by its ladder's module. It is shipped so that a chapter can show where a load is asked for
and where it is waited for: source lines do not show it, as the compiler moves both.

**Limits**: the order is that of the outermost loop as it stands in the code; a loop inside of it
stands there once. Another version of the compiler may order it otherwise; the versions are in
the file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import Any

from ..session import PRINTED_COLUMNS

__all__ = ["LoopOrder", "loop_orders"]

FILE = "loop_order.json"
CC = (9, 0)
KEPT = ("LDG", "STS", "BAR", "LDS", "FFMA")
"""Load from global memory, store to shared memory, barrier, load from there, multiply-add."""


@dataclass(frozen=True, repr=False)
class LoopOrder:
    """The main loop of a kernel as runs of instructions, in order: (name, how many).

    Attributes:
        registers: per thread, of the whole kernel.
        shared_bytes: of a block, static.
        runs: instructions of `KEPT`, equal neighbours counted.
    """

    registers: int
    shared_bytes: int
    runs: tuple[tuple[str, int], ...]

    def __repr__(self) -> str:
        """The runs as words.

        >>> LoopOrder(32, 0, (("LDG", 2), ("STS", 2), ("BAR", 1)))
        2 LDG, 2 STS, BAR
        """
        words = [f"{count} {name}" if count > 1 else name for name, count in self.runs]
        return fill(", ".join(words), PRINTED_COLUMNS)

    def count(self, name: str) -> int:
        """Instructions of this name in the loop."""
        return sum(count for one, count in self.runs if one == name)

    @property
    def between(self) -> int:
        """Multiply-adds after the last load from global memory and before the store it waits at.

        >>> LoopOrder(32, 0, (("LDG", 2), ("FFMA", 9), ("STS", 2), ("FFMA", 4))).between
        9
        """
        names = [name for name, _ in self.runs]
        last = len(names) - 1 - names[::-1].index("LDG")
        first = names.index("STS", last)
        return sum(count for name, count in self.runs[last:first] if name == "FFMA")


@cache
def loop_orders() -> dict[str, LoopOrder]:
    """The loops that are shipped, by the kernel's name.

    >>> loop_orders()["ahead_early"].between, loop_orders()["matmul_prefetched"].between
    (0, 257)
    """
    text = (files("smemnb.measure.recorded") / FILE).read_text(encoding="utf-8")
    return {
        name: LoopOrder(
            one["registers"], one["shared_bytes"], tuple((run, count) for run, count in one["runs"])
        )
        for name, one in json.loads(text)["kernels"].items()
    }


def outermost(code: Sequence[Any]) -> Sequence[Any]:
    """The instructions of the longest loop that holds multiply-adds: from where it jumps back to.

    Raises:
        ValueError: there is none.
    """
    place = {one.address: at for at, one in enumerate(code)}
    loops = []
    for at, one in enumerate(code):
        if one.name.startswith("BRA") and "0x" in one.operands:
            goal = int(one.operands.split("0x")[-1].strip("`() ,"), 16)
            inside = code[place.get(goal, at + 1) : at + 1]
            if any(other.name.startswith("FFMA") for other in inside):
                loops.append(inside)
    return max(loops, key=len)


def compiled_order(kernel: Any, *, scaled: bool) -> LoopOrder:
    """The order of a kernel of out, a, b (and with `scaled` alpha, beta), compiled now.

    Raises:
        SmemnbError: the compiler libraries or nvdisasm are not installed.
    """
    from ..compiled import cubin, machine
    from ..compiled.usage import read_resources

    types = "float32[:, ::1], float32[:, ::1], float32[:, ::1]"
    elf = cubin(kernel, f"void({types}{', float32, float32' * scaled})", CC)
    used = read_resources(elf, CC)
    names = [one.name.split(".")[0] for one in outermost(machine.instructions(elf))]
    runs = [
        (name, len(list(same))) for name, same in groupby(name for name in names if name in KEPT)
    ]
    return LoopOrder(used.registers, used.shared_bytes, tuple(runs))


def _record(path: Path, wanted: Sequence[str]) -> None:
    found = {}
    for place in wanted:
        module, name = place.split(":")
        inside = import_module(module)
        rungs = {rung.name: rung.kernel for rung in getattr(inside, "LADDER", ())}
        kernel = rungs.get(name) or getattr(inside, name)
        found[name] = asdict(compiled_order(kernel, scaled=name in rungs))
    made = {
        "cc": "9.0",
        "versions": {name: version(name) for name in ("numba", "numba-cuda", "nvidia-nvjitlink")},
        "command": f"python -m {__spec__.name} FILE {' '.join(wanted)}",
        "kernels": found,
    }
    path.write_text(json.dumps(made) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _record(Path(sys.argv[1]), sys.argv[2:])
