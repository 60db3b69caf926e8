"""What the compiler made of rungs of the product, and of the kernels of `34_fast_code`, for cc 9.0.

    python -m smemnb.laboratory.loop_code FILE

makes the file, `machine_code.json`, with NVIDIA's compiler libraries and nvdisasm, no GPU needed.
It is shipped so that a chapter can show machine code where they are not installed. Of each kernel:
registers, the instructions of its main loop (`compiled.machine.main_loop`), and those around it in
the loop over the tiles (`around`), which are none where the steps of a tile are laid out.

**Limits**: another version of Numba or of the compiler may make other code; the versions stand in
the file.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

__all__ = ["LoopCode", "loop_codes", "step_codes", "versions"]

FILE = "machine_code.json"
CC = (9, 0)
RUNGS = (
    "matmul_naive",
    "matmul_tiled",
    "matmul_tiled_32",
    "matmul_column",
    "matmul_square",
    "matmul_8x8",
    "matmul_turned",
    "matmul_turned_padded",
    "matmul_unguarded",
    "matmul_two_blocks",
    "matmul_laid_out",
    "matmul_unsigned",
    "matmul_by_quads",
    "matmul_primed",
    "matmul_wide",
    "matmul_prefetched",
    "matmul_warped",
    "matmul_tall",
    "matmul_snaking",
    "matmul_overlapped",
    "matmul_fastest",
)
STEPS = {
    "guarded": "ex34_guards",
    "unguarded": "ex34_guards",
    "with_offsets": "ex34_offsets",
    "laid_out": "ex34_steps",
    "by_quads": "ex34_quads",
}
"""The kernels of `34_fast_code`: name -> the exercise in whose file it stands."""
LISTED = ("matmul_square", "guarded")
"""Kernels whose loop is kept as text; the others are counted."""


@dataclass(frozen=True)
class LoopCode:
    """The main loop of a compiled kernel.

    Attributes:
        registers: per thread, of the whole kernel.
        counts: instruction with its width, such as "LDS.128" -> how often it stands in the loop.
        listing: its instructions as nvdisasm writes them; empty where they are not kept.
        around: what else stands in the loop that holds this one, counted likewise.
    """

    registers: int
    counts: Mapping[str, int]
    listing: tuple[str, ...] = ()
    around: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Instructions of the loop.

        >>> loop_codes()["matmul_square"].total, loop_codes()["matmul_square"].count("FFMA")
        (41, 16)
        """
        return sum(self.counts.values())

    def turn(self, multiply_adds: int) -> Counter[str]:
        """Instructions of one turn of the loop over the tiles, of so many multiply-adds.

        >>> step_codes()["unguarded"].turn(512)["FFMA"]
        512
        """
        rounds = multiply_adds // self.count("FFMA")
        inner = {name: rounds * number for name, number in self.counts.items()}
        return Counter(inner) + Counter(self.around)

    def count(self, *names: str) -> int:
        """Instructions that have one of these names."""
        return sum(self.counts.get(name, 0) for name in names)


@cache
def loop_codes() -> dict[str, LoopCode]:
    """The loops of `RUNGS`, by name."""
    return _loops("rungs")


@cache
def step_codes() -> dict[str, LoopCode]:
    """The loops of `STEPS`, by name."""
    return _loops("steps")


def _loops(kind: str) -> dict[str, LoopCode]:
    return {
        name: LoopCode(one["registers"], one["counts"], tuple(one["listing"]), one["around"])
        for name, one in _file()[kind].items()
    }


def versions() -> dict[str, str]:
    """The versions of the packages that made the code."""
    return dict(_file()["versions"])


@cache
def _file() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (files("smemnb.measure.recorded") / FILE).read_text(encoding="utf-8")
    )
    return found


def compiled_loop(rung: Any) -> LoopCode:
    """The loop of a rung of the product, compiled now.

    Raises:
        SmemnbError: the compiler libraries or nvdisasm are not installed.
    """
    return _compiled(rung.kernel, rung.name, scaled=rung.scaled)


def compiled_step(name: str) -> LoopCode:
    """The loop of a kernel of `STEPS`, compiled now.

    Raises:
        SmemnbError: the compiler libraries or nvdisasm are not installed.
    """
    module = import_module(f"smemnb.exercises.chapters.{STEPS[name]}")
    return _compiled(getattr(module, name), name, scaled=False)


def _compiled(kernel: Any, name: str, *, scaled: bool) -> LoopCode:
    from ..compiled import cubin, machine
    from ..compiled.usage import read_resources

    types = "float32[:, ::1], float32[:, ::1], float32[:, ::1]"
    elf = cubin(kernel, f"void({types}{', float32, float32' * scaled})", CC)
    code = machine.instructions(elf)
    loop = machine.main_loop(code)
    listing = [f"{one.guard} {one.name} {one.operands}".strip() for one in loop]
    return LoopCode(
        read_resources(elf, CC).registers,
        _counted(loop),
        tuple(listing) if name in LISTED else (),
        _counted(machine.around(code)),
    )


def _counted(code: Any) -> dict[str, int]:
    return dict(sorted(Counter(_shown(one.name) for one in code).items()))


def _shown(name: str) -> str:
    """An instruction's name; of its suffixes only a width above one word.

    >>> _shown("LDS.128"), _shown("LDG.E"), _shown("STS.64"), _shown("IMAD.WIDE.U32")
    ('LDS.128', 'LDG', 'STS.64', 'IMAD')
    """
    first, *suffixes = name.split(".")
    wide = [suffix for suffix in suffixes if suffix in ("64", "128")]
    return ".".join([first, *wide]) if first in ("LDS", "STS", "LDG", "STG") else first


def _record(path: Path) -> None:
    from ..kernels.matmul.ladder import LADDER

    made = {
        "cc": "9.0",
        "versions": {name: version(name) for name in ("numba", "numba-cuda", "nvidia-nvjitlink")},
        "command": f"python -m {__spec__.name} FILE",
        "rungs": {one.name: asdict(compiled_loop(one)) for one in LADDER if one.name in RUNGS},
        "steps": {name: asdict(compiled_step(name)) for name in STEPS},
    }
    path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _record(Path(sys.argv[1]))
