"""What a bound takes from the machine code: registers, instructions per multiply-add, merged loads.

Where the compiler's libraries are missing, there is none, and bounds rest on the source alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ...compiled import available, cubin
from ...compiled.machine import Instruction, count, instructions, main_loop, nvdisasm
from ...compiled.usage import read_resources
from ...errors import SmemnbError

__all__ = ["MachineCode", "machine_code", "shortest_way"]

_MOST_REQUESTS = 32


@dataclass(frozen=True)
class MachineCode:
    """A kernel as it was compiled.

    Attributes:
        registers, shared_bytes: per thread, and per block.
        code: its instructions, () where no disassembler is installed.
        loop: those of the main loop.
    """

    registers: int
    shared_bytes: int
    code: tuple[Instruction, ...] = ()
    loop: tuple[Instruction, ...] = ()

    @property
    def loop_fma(self) -> int:
        """Multiply-adds of the main loop."""
        return count(self.loop, "FFMA")

    def instructions(self, fma: int) -> int:
        """Instructions of warps that go with `fma` of them in the main loop; 0 if it has none."""
        return fma * len(self.loop) // self.loop_fma if self.loop_fma else 0

    def loads(self, fma: int) -> int | None:
        """Loads from shared memory that go with `fma` of warps; None without such a loop."""
        return fma * count(self.loop, "LDS") // self.loop_fma if self.loop_fma else None


@cache
def machine_code(kernel: Any, types: Any, cc: tuple[int, int]) -> MachineCode | None:
    """The kernel compiled for argument types and a compute capability; None without a compiler."""
    if not available():
        return None
    try:
        elf = cubin(kernel, types, cc)
    except SmemnbError:  # the numba.cuda inside Numba links nothing
        return None
    needs = read_resources(elf, cc)
    if nvdisasm() is None:
        return MachineCode(needs.registers, needs.shared_bytes)
    code = tuple(instructions(elf))
    loop = tuple(main_loop(code))
    return MachineCode(needs.registers, needs.shared_bytes, code, loop)


def shortest_way(code: Sequence[Instruction], loads: int, stores: int) -> int | None:
    """Fewest instructions from entry to exit with so many loads and stores of global memory.

    No warp that makes these requests executes fewer. None where no way through the code makes
    exactly these, or where there are too many to search.

    >>> code = [Instruction(0, "BRA", "0x20", "@P0"), Instruction(16, "LDG.E", "R0"),
    ...         Instruction(32, "STG.E", "R0"), Instruction(48, "EXIT", "")]
    >>> shortest_way(code, 0, 1), shortest_way(code, 1, 1), shortest_way(code, 2, 1)
    (3, 4, None)
    """
    if not code or loads + stores > _MOST_REQUESTS:
        return None
    place = {one.address: number for number, one in enumerate(code)}
    ahead = deque([(0, 0, 0, 0)])
    seen = {(0, 0, 0)}
    while ahead:
        number, loaded, stored, steps = ahead.popleft()
        one = code[number]
        if one.name == "EXIT" and (loaded, stored) == (loads, stores):
            return steps + 1
        for more in (0, 1) if one.guard else (1,):  # a guarded request may be nobody's
            made = (loaded + more * count([one], "LDG"), stored + more * count([one], "STG"))
            if made[0] > loads or made[1] > stores:
                continue
            for after in _next(one, number, place):
                if after < len(code) and (after, *made) not in seen:
                    seen.add((after, *made))
                    ahead.append((after, *made, steps + 1))
    return None


def _next(one: Instruction, number: int, place: dict[int, int]) -> list[int]:
    """Where a warp may go on: a guard may let it pass by."""
    found = []
    name = one.name.split(".")[0]
    if name == "BRA":
        target = one.operands.rpartition("0x")[2]
        found.append(place.get(int(target, 16), number)) if target else None
    if name not in ("BRA", "EXIT") or one.guard:
        found.append(number + 1)
    return found
