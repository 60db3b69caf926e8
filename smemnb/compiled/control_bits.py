"""What the compiler tells the scheduler with each instruction: stalls, scoreboards, reuse.

An instruction from cc 7.0 on has 16 bytes. The machine does not look for most dependences itself:
the compiler counts the cycles of instructions whose time is fixed, and names one of six scoreboards
where the time is not. Bits of the 128, lowest first:

    105-108  stall      cycles until the warp's next instruction may issue
    109      yield bit  a hint to the scheduler about taking another warp
    110-112  writes     the scoreboard that this instruction frees when its result is there; 7: none
    113-115  reads      the one that it frees when its sources have been read; 7: none
    116-121  waits      the scoreboards that have to be free before it issues, a bit for each
    122-125  reuse      source operands that are kept for the next instruction, a bit for each

    controls(elf, cc)[0x10].stall

Source: the fields are those of the public disassemblers (maxas of Scott Gray, turingas of Da Yan,
CuAssembler) and of Huerta et al., "Analyzing Modern NVIDIA GPU cores" (arXiv 2503.20481), checked
here against nvdisasm, which writes `.reuse`, and against the code itself: whoever reads the result
of a load waits for the scoreboard of the load.

**Limits**: cc 8.0, 8.6, 8.9 and 9.0; others are refused, not guessed. The sources disagree about
what the yield bit asks for where it is 0, so it is handed on as it stands. Bits 126 and 127 have no
known meaning; an instruction that sets them has them in `unknown`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ..errors import SmemnbError
from .toolchain import CC
from .usage import sections

__all__ = ["NO_SCOREBOARD", "READ", "Control", "control", "controls"]

READ: frozenset[CC] = frozenset({(8, 0), (8, 6), (8, 9), (9, 0)})
"""Compute capabilities whose control bits are read."""
NO_SCOREBOARD = 7
SCOREBOARDS = 6
_BYTES = 16
_FIRST_BIT = 105 - 64


@dataclass(frozen=True)
class Control:
    """The control bits of one instruction.

    Attributes:
        stall: cycles until the warp's next instruction may issue, 0 to 15.
        yield_bit: the hint, as it stands.
        writes: scoreboard that is free again when the result is there; None for none.
        reads: scoreboard that is free again when the sources have been read; None for none.
        waits: scoreboards that have to be free first.
        reuse: places of source registers that are kept for the next instruction.
        unknown: bits 126 and 127, 0 in all code that was seen.
    """

    stall: int
    yield_bit: bool
    writes: int | None
    reads: int | None
    waits: tuple[int, ...]
    reuse: tuple[int, ...]
    unknown: int = 0

    @property
    def text(self) -> str:
        """The fields in the manner of the public disassemblers.

        >>> Control(2, True, 0, None, (1, 3), ()).text
        'B-1-3--:R-:W0:y1:S02'
        """
        waits = "".join(str(n) if n in self.waits else "-" for n in range(SCOREBOARDS))
        read, write = (("-" if n is None else n) for n in (self.reads, self.writes))
        return f"B{waits}:R{read}:W{write}:y{int(self.yield_bit)}:S{self.stall:02}"


def control(instruction: bytes) -> Control:
    """The control bits of an instruction of 16 bytes.

    >>> control((0x7EA << 105).to_bytes(16, "little")).text        # 111 111 0 1010
    'B------:R-:W-:y0:S10'

    Raises:
        SmemnbError: it has another length, or names a scoreboard that there is not.
    """
    if len(instruction) != _BYTES:
        raise SmemnbError(f"an instruction has {_BYTES} bytes; these are {len(instruction)}")
    bits = struct.unpack_from("<Q", instruction, 8)[0] >> _FIRST_BIT
    waits, reuse = bits >> 11 & 63, bits >> 17 & 15
    return Control(
        stall=bits & 15,
        yield_bit=bool(bits >> 4 & 1),
        writes=_scoreboard(bits >> 5 & 7, "writes"),
        reads=_scoreboard(bits >> 8 & 7, "reads"),
        waits=tuple(n for n in range(SCOREBOARDS) if waits >> n & 1),
        reuse=tuple(n for n in range(4) if reuse >> n & 1),
        unknown=bits >> 21,
    )


def controls(elf: bytes, cc: CC) -> dict[int, Control]:
    """The control bits of the one kernel of a cubin, by the address of the instruction.

    Raises:
        SmemnbError: a compute capability whose bits are not read here, or several functions.
    """
    if tuple(cc) not in READ:
        known = ", ".join(f"{major}.{minor}" for major, minor in sorted(READ))
        raise SmemnbError(f"control bits are read for cc {known}, not for {cc[0]}.{cc[1]}")
    code = [data for name, data in sections(elf) if name.startswith(".text.")]
    if len(code) != 1:
        raise SmemnbError(f"the machine code holds {len(code)} functions, not one kernel")
    found = {}
    for address in range(0, len(code[0]), _BYTES):
        found[address] = control(code[0][address : address + _BYTES])
    return found


def _scoreboard(number: int, what: str) -> int | None:
    if number == NO_SCOREBOARD:
        return None
    if number >= SCOREBOARDS:
        raise SmemnbError(f"control bits: {what} scoreboard {number}; there are {SCOREBOARDS}")
    return int(number)
