"""The instructions of a compiled kernel: its main loop, and which registers they read.

Needs nvdisasm (`pip install nvidia-cuda-nvdisasm`, or a CUDA toolkit). A multiprocessor from cc 7.0
on has two banks of registers, even and odd numbers: an FFMA whose three sources lie in one bank
takes a cycle more, unless one of them is kept from the instruction before (`.reuse`).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ..errors import SmemnbError

_LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*([^;]*);")
_LABEL = re.compile(r"^(\.L_\w+):", re.MULTILINE)
_JUMP = re.compile(r"`\((\.L_\w+)\)")
_SOURCE = re.compile(r"\bR(\d+)(\.reuse)?")


@dataclass(frozen=True)
class Instruction:
    """One machine instruction: its address, name with suffixes, and operands as text."""

    address: int
    name: str
    operands: str
    guard: str = ""


@cache
def nvdisasm() -> str | None:
    """Where the disassembler is: among the installed wheels, or on the path; None without one."""
    wheels = Path(sysconfig.get_paths()["purelib"]) / "nvidia"
    found = sorted(wheels.glob("*/bin/nvdisasm*"))
    return str(found[-1]) if found else shutil.which("nvdisasm")


def instructions(elf: bytes) -> list[Instruction]:
    """The machine code of a cubin.

    Raises:
        SmemnbError: there is no disassembler.
    """
    tool = nvdisasm()
    if tool is None:
        raise SmemnbError("machine code as text needs nvdisasm: pip install nvidia-cuda-nvdisasm")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(elf)
        command = [tool, "-c", "-ndf", str(file)]  # code only; no data flow: half of the time
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return read_listing(done.stdout)


def read_listing(text: str) -> list[Instruction]:
    r"""The instructions of a listing of nvdisasm, labels replaced by addresses.

    >>> read_listing(".L_1:\\n  /*0010*/  @P0 BRA `(.L_1) ;")
    [Instruction(address=16, name='BRA', operands='0x10', guard='@P0')]
    """
    code: list[Instruction] = []
    places: dict[str, int] = {}
    waiting: list[str] = []
    for line in text.splitlines():
        label, found = _LABEL.match(line), _LINE.search(line)
        if label:
            waiting.append(label[1])
        if found:
            address, guard, name, operands = found.groups()
            places |= dict.fromkeys(waiting, int(address, 16))
            waiting = []
            code.append(Instruction(int(address, 16), name, operands.strip(), guard or ""))
    return [
        replace(one, operands=_JUMP.sub(lambda to: hex(places.get(to[1], 0)), one.operands))
        for one in code
    ]


def main_loop(code: Sequence[Instruction]) -> list[Instruction]:
    """The loop with the most FFMA among those that hold no other loop with any."""
    loops = {span: _inside(code, span) for span in _loops(code)}
    worked = {span: loop for span, loop in loops.items() if count(loop, "FFMA")}
    inner = [
        loop
        for span, loop in worked.items()
        if not any(
            span != other and span[0] <= other[0] and other[1] <= span[1] for other in worked
        )
    ]
    return max(
        inner or loops.values(), key=lambda loop: (count(loop, "FFMA"), -len(loop)), default=[]
    )


def around(code: Sequence[Instruction]) -> list[Instruction]:
    """What stands around the main loop, in the smallest loop that holds it; nothing without one.

    A kernel whose steps are a loop has its loads, stores and barriers there; one whose steps are
    laid out has them in the main loop itself.
    """
    inner = main_loop(code)
    if not inner:
        return []
    first, last = inner[0].address, inner[-1].address
    holding = [
        span
        for span in _loops(code)
        if span[0] <= first and last <= span[1] and span != (first, last)
    ]
    if not holding:
        return []
    whole = _inside(code, min(holding, key=lambda span: span[1] - span[0]))
    return [one for one in whole if not first <= one.address <= last]


def _loops(code: Sequence[Instruction]) -> set[tuple[int, int]]:
    """First and last address of what each jump back goes over."""
    found = set()
    for jump in code:
        if jump.name.split(".")[0] == "BRA":
            target = re.findall(r"0x([0-9a-f]+)", jump.operands)
            if target and int(target[-1], 16) < jump.address:
                found.add((int(target[-1], 16), jump.address))
    return found


def _inside(code: Sequence[Instruction], span: tuple[int, int]) -> list[Instruction]:
    return [one for one in code if span[0] <= one.address <= span[1]]


def count(code: Sequence[Instruction], name: str) -> int:
    """How many instructions have this name, whatever further suffixes.

    >>> count([Instruction(0, "LDS.128", "R0, [R1]"), Instruction(16, "LDS", "")], "LDS.128")
    1
    """
    wanted = name.split(".")
    return sum(set(wanted) <= set(one.name.split(".")) for one in code)


def one_bank_reads(code: Sequence[Instruction]) -> int:
    """FFMA that read three registers of one bank, none of them kept from the one before.

    >>> one_bank_reads([Instruction(0, "FFMA", "R0, R2, R4, R0")])
    1
    >>> one_bank_reads([Instruction(0, "FFMA", "R0, R2.reuse, R4, R0")])
    1
    """
    found = 0
    kept: set[tuple[int, str]] = set()
    for one in code:
        if one.name.split(".")[0] != "FFMA":
            kept = set()
            continue
        sources = _SOURCE.findall(one.operands.partition(",")[2])
        read = {
            int(number) for place, (number, _) in enumerate(sources) if (place, number) not in kept
        }
        if len(read) == 3 and len({number % 2 for number in read}) == 1:
            found += 1
        kept = {(place, number) for place, (number, reuse) in enumerate(sources) if reuse}
    return found
