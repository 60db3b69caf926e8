"""The part of a verdict that is read from machine code: one turn of the tile loop, as compiled.

The kernel is compiled for cc 9.0, for the types of its first published case, and nothing of it is
run. A turn is what stands around the loop of the multiply-adds, once, and that loop as often as the
multiply-adds of a turn ask for: one with 64 of 512 runs 8 times, one with all of them once.

Where the compiler's wheels or nvdisasm are missing, the part says so and refuses nothing.

**Limits**: instructions are counted as they stand: a branch that is never taken counts, a loop
around loads that stays a loop counts once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ...compiled import available, machine
from ...compiled.lines import short_name
from ...errors import SmemnbError
from ..exercise import Exercise, Kernel, MachineCode
from .observe import initial_output, outputs_of
from .verdict import Part

CC = (9, 0)
INSTALL = 'pip install "smemnb[cu13]" nvidia-cuda-nvdisasm'
NOT_HERE = f"not looked at: this needs NVIDIA's compiler, without a GPU: {INSTALL}"
NOT_ASKED = "not looked at here; check does where NVIDIA's compiler is installed"
SLOW = ("CALL", "MUFU", "I2F", "F2I", "LDL", "STL")
"""Calls, the steps of an integer division, and accesses to local memory."""
_SAID = {"CALL": "a call", "LDL": "a load from local memory", "STL": "a store to local memory"}
_DIVISION = "an integer division"
_SHOWN = 5


@dataclass(frozen=True)
class Turn:
    """One turn of the tile loop: instruction, with its width above a word -> how often it runs."""

    counts: dict[str, int]

    @property
    def total(self) -> int:
        """All instructions of the turn."""
        return sum(self.counts.values())


def turn_of(kernel: Any, signature: Any, multiply_adds: int) -> Turn:
    """The turn of a kernel, compiled now; of nothing if no loop has a multiply-add.

    Raises:
        SmemnbError: the compiler or nvdisasm is not installed. What else the compiler raises comes
            through.
    """
    from ...compiled import cubin

    code = machine.instructions(cubin(kernel, signature, CC))
    inner = Counter(short_name(one.name) for one in machine.main_loop(code))
    if not inner["FFMA"]:
        return Turn({})
    rounds = -(-multiply_adds // inner["FFMA"])
    counts = Counter(short_name(one.name) for one in machine.around(code))
    for name, number in inner.items():
        counts[name] += rounds * number
    return Turn(dict(sorted(counts.items())))


def machine_part(exercise: Exercise, kernel: Kernel, *, look: bool = True) -> Part | None:
    """Hold a kernel's machine code to what the exercise allows; None if it asks for nothing.

    Args:
        exercise: says the limits, and by its first case the types of the arguments.
        kernel: what is compiled.
        look: False where nothing is to be compiled, which the part then says.
    """
    limits = exercise.machine_code
    if limits is None:
        return None
    if not look:
        return Part("machine", NOT_ASKED, ok=True)
    if not available() or machine.nvdisasm() is None:
        return Part("machine", NOT_HERE, ok=True)
    inputs = exercise.cases[0].inputs()
    outputs = (initial_output(exercise, one) for one in outputs_of(exercise, inputs))
    try:
        turn = turn_of(kernel, (*outputs, *inputs), limits.multiply_adds)
    except SmemnbError:
        return Part("machine", NOT_HERE, ok=True)
    return held(turn, limits)


def held(turn: Turn, limits: MachineCode) -> Part:
    """Compare a turn with its limits."""
    if not turn.total:
        return Part("machine", "no loop of the compiled kernel has a multiply-add", ok=False)
    each = turn.total / limits.multiply_adds
    said = (
        f"{turn.total} instructions for {limits.multiply_adds} multiply-adds in a turn of the tile "
        f"loop, {each:.2f} each (compiled for cc {CC[0]}.{CC[1]})"
    )
    slow = [name for name in SLOW if turn.counts.get(name)]
    if slow:
        what = _SAID.get(slow[0], _DIVISION)
        text = f"{said}\namong them {what}: {turn.counts[slow[0]]} {slow[0]}"
        return Part("machine", text, ok=False)
    for name, allowed in limits.each.items():
        if turn.counts.get(name, 0) > allowed:
            text = f"{said}\namong them {turn.counts[name]} {name}; at most {allowed}"
            return Part("machine", text, ok=False)
    if turn.total > limits.turn:
        text = f"{said}; at most {limits.turn}\nbeside the multiply-adds: {_others(turn)}"
        return Part("machine", text, ok=False)
    return Part("machine", said, ok=True)


def _others(turn: Turn) -> str:
    """The most frequent instructions that are no multiply-adds, in words."""
    others = Counter({name: count for name, count in turn.counts.items() if name != "FFMA"})
    named = ", ".join(f"{count} {name}" for name, count in others.most_common(_SHOWN))
    return f"{named}, ..." if len(others) > _SHOWN else named
