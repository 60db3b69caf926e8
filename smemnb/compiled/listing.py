"""Machine code as nvdisasm lists it, each instruction with the source lines it came from.

The lines stand in the cubin where the kernel was compiled with `lineinfo=True`. Code of an inlined
device function has several: its own line first, then the line that calls it, and so on up to the
kernel.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import SmemnbError
from .machine import nvdisasm
from .usage import sections

NEEDS = "machine code as text needs nvdisasm: pip install nvidia-cuda-nvdisasm"

_CODE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*([^;]*);")
_LABEL = re.compile(r"^([.$\w]+):\s*$")
_FILE = re.compile(r'^\s*//## File "([^"]*)", line (\d+)(?: inlined at "([^"]*)", line (\d+))?')
_SECTION = re.compile(r"^//-+ (\.text\.\S+) -+", re.MULTILINE)
_NAN = re.compile(r"^[-+]?[QS]?NAN$")
_COMMA = re.compile(r",|(?<=\d) (?=`)")  # RET has a register and a target without a comma
_TARGET = re.compile(r"`\(([^)]+)\)")


@dataclass(frozen=True)
class Place:
    """A line of a source file."""

    file: str
    line: int


@dataclass(frozen=True)
class Located:
    """One machine instruction; `places` begin with the innermost line and end in the kernel.

    `operands` name jump targets by their address; `guard` is the predicate it depends on, as
    "@!P0", or empty.
    """

    address: int
    name: str
    operands: tuple[str, ...]
    guard: str = ""
    places: tuple[Place, ...] = ()

    @property
    def text(self) -> str:
        """The instruction as a disassembler writes it."""
        return " ".join(filter(None, (self.guard, self.name, ", ".join(self.operands))))


def listing(elf: bytes) -> tuple[Located, ...]:
    """The machine code of the one kernel in a cubin.

    Raises:
        SmemnbError: there is no disassembler, or the cubin holds functions beside the kernel.
    """
    tool = nvdisasm()
    if tool is None:
        raise SmemnbError(NEEDS)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(elf)
        command = [tool, "-c", "-ndf", "-gi", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return _with_bits_of_nans(read_listing(done.stdout), elf)


def _with_bits_of_nans(code: tuple[Located, ...], elf: bytes) -> tuple[Located, ...]:
    """The code with the bits of each NaN in its place: a listing says only that it is one.

    An immediate of 32 bits is the second word of an instruction.
    """
    found = list(code)
    for at, one in enumerate(code):
        if any(_NAN.match(part) for part in one.operands):
            octets = next(data for name, data in sections(elf) if name.startswith(".text."))
            bits = int.from_bytes(octets[one.address + 4 : one.address + 8], "little")
            operands = tuple(hex(bits) if _NAN.match(part) else part for part in one.operands)
            found[at] = replace(one, operands=operands)
    return tuple(found)


def read_listing(text: str) -> tuple[Located, ...]:
    r"""The instructions of a listing of nvdisasm.

    >>> [one.text for one in read_listing(".L_1:\n  /*0010*/  @P0 BRA `(.L_1) ;")]
    ['@P0 BRA 0x10']

    Raises:
        SmemnbError: two functions, whose addresses both begin at 0.
    """
    code: list[Located] = []
    labels: dict[str, int] = {}
    waiting: list[str] = []
    sections = _SECTION.findall(text)
    if len(sections) > 1:
        raise SmemnbError("the machine code holds functions that were not inlined into the kernel")
    for address, guard, name, operands, places, label in _entries(text):
        if label:
            waiting.append(label)
            continue
        labels |= dict.fromkeys(waiting, address)
        waiting = []
        code.append(Located(address, name, operands, guard, places))
    return tuple(_linked(one, labels) for one in code)


def _entries(text: str) -> Iterator[tuple[int, str, str, tuple[str, ...], tuple[Place, ...], str]]:
    """Address, guard, name, operands, places and label of each line that matters."""
    places: list[Place] = []
    fresh = True
    for line in text.splitlines():
        if "//##" in line:
            found = _FILE.match(line)
            if found:
                if fresh:
                    places = []
                file, number, *_ = found.groups()
                places.append(Place(file, int(number)))
                if found[3]:
                    places.append(Place(found[3], int(found[4])))
                fresh = False
            continue
        label, code = _LABEL.match(line), _CODE.search(line)
        if label:
            yield 0, "", "", (), (), label[1]
        elif code:
            fresh = True
            address, guard, name, operands = code.groups()
            parts = tuple(part.strip() for part in _COMMA.split(operands) if part.strip())
            yield int(address, 16), guard or "", name, parts, _deduplicated(places), ""


def _deduplicated(places: list[Place]) -> tuple[Place, ...]:
    """A chain of inlined lines, each of which is listed with the line it was inlined at."""
    kept: list[Place] = []
    for place in places:
        if not kept or kept[-1] != place:
            kept.append(place)
    return tuple(kept)


def _linked(one: Located, labels: dict[str, int]) -> Located:
    """The instruction with addresses for the names of its jump targets."""
    if not any("`(" in part for part in one.operands):
        return one
    operands = tuple(
        _TARGET.sub(lambda to: hex(labels.get(to[1], 0)), part) for part in one.operands
    )
    return Located(one.address, one.name, operands, one.guard, one.places)
