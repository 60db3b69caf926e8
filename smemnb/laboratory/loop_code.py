"""What the compiler made of some rungs of the product: `machine_code.json`, for cc 9.0.

    python -m smemnb.laboratory.loop_code FILE

makes the file with NVIDIA's compiler libraries and nvdisasm, no GPU needed. It is shipped so that a
chapter can show machine code where they are not installed. Of each rung: registers, and the
instructions of its main loop (`compiled.machine.main_loop`).

**Limits**: another version of Numba or of the compiler may make other code; the versions stand in
the file.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

__all__ = ["LoopCode", "loop_codes", "versions"]

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
LISTED = ("matmul_square",)
"""Rungs whose loop is kept as text; the others are counted."""


@dataclass(frozen=True)
class LoopCode:
    """The main loop of a compiled kernel.

    Attributes:
        registers: per thread, of the whole kernel.
        counts: instruction with its width, such as "LDS.128" -> how often it stands in the loop.
        listing: its instructions as nvdisasm writes them; empty where they are not kept.
    """

    registers: int
    counts: Mapping[str, int]
    listing: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """Instructions of the loop.

        >>> loop_codes()["matmul_square"].total, loop_codes()["matmul_square"].count("FFMA")
        (41, 16)
        """
        return sum(self.counts.values())

    def count(self, *names: str) -> int:
        """Instructions that have one of these names."""
        return sum(self.counts.get(name, 0) for name in names)


@cache
def loop_codes() -> dict[str, LoopCode]:
    """The loops of `RUNGS`, by name."""
    found = _file()["rungs"].items()
    return {
        name: LoopCode(one["registers"], one["counts"], tuple(one["listing"]))
        for name, one in found
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
    from ..compiled import cubin, machine
    from ..compiled.usage import read_resources

    types = "float32[:, ::1], float32[:, ::1], float32[:, ::1]"
    elf = cubin(rung.kernel, f"void({types}{', float32, float32' * rung.scaled})", CC)
    loop = machine.main_loop(machine.instructions(elf))
    counts = Counter(_shown(one.name) for one in loop)
    listing = [f"{one.guard} {one.name} {one.operands}".strip() for one in loop]
    return LoopCode(
        read_resources(elf, CC).registers,
        dict(sorted(counts.items())),
        tuple(listing) if rung.name in LISTED else (),
    )


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
    }
    path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _record(Path(sys.argv[1]))
