"""A launch of machine code: blocks in batches, an instruction for all warps that are at it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...errors import SmemnbError
from ..image import Image, read_image
from ..listing import Located, listing
from .flow import STEP, Flow, Stuck
from .instructions import CONTROLS, STEPS
from .instructions.control import Control, Votes
from .memory import GLOBAL, LOCAL_WINDOW, SHARED_WINDOW, BadAddress, Memory
from .operands import Array, Reader, Unknown
from .parameters import Snapshot
from .readers import Readers, Writers
from .semantics import BuildContext, Instruction, Step
from .state import LANES, Group, State
from .tally import Site, Tally

Dim3 = tuple[int, int, int]
LANES_PER_BATCH = 1 << 16
MAX_STEPS = 1_000_000
_LAUNCH_BYTES = 0x210


class NotDetermined(SmemnbError):
    """The machine code cannot be run here; the text says where and why."""


@dataclass(frozen=True)
class CodeLaunch:
    """What is launched: machine code, extents, dynamic shared bytes, arguments and their types.

    `backwards` runs blocks, and the lanes of an atomic, from last to first.
    """

    elf: bytes
    grid: Dim3
    block: Dim3
    shared_bytes: int
    args: Snapshot
    types: tuple[Any, ...]
    backwards: bool = False


@dataclass(frozen=True)
class Ran:
    """What came of it: counts per memory instruction, the arrays afterwards, the code."""

    sites: list[Site]
    arrays: list[Array]
    code: tuple[Located, ...]


def run(
    launch: CodeLaunch, code: Sequence[Located] | None = None, image: Image | None = None
) -> Ran:
    """Run a kernel's machine code over all blocks; the arguments themselves stay as they are.

    Args:
        launch: what is launched, and how.
        code: the listing of `launch.elf`, if there is one already.
        image: what that cubin says besides, likewise.

    Raises:
        NotDetermined: an instruction, address or wait that cannot be run here, with its place.
    """
    image = image or read_image(launch.elf)
    known = tuple(code) if code is not None else listing(launch.elf)
    try:
        parameters = launch.args.parameters(image, launch.types)
    except Unknown as error:
        raise NotDetermined(f"not determined: {error}") from None
    tally, own = Tally(), launch.args.memory
    memory = np.concatenate([own, np.frombuffer(image.variables, np.uint8), np.zeros(16, np.uint8)])
    warps = -(-math.prod(launch.block) // LANES)
    blocks = math.prod(launch.grid)
    step = max(1, LANES_PER_BATCH // (warps * LANES))
    with np.errstate(all="ignore"):
        for first in range(0, blocks, step)[:: -1 if launch.backwards else 1]:
            some = _Blocks(first, min(step, blocks - first), warps)
            _Batch(launch, image, known, parameters, memory, tally, some).run()
    return Ran(tally.sites(), launch.args.arrays(memory), known)


def run_block(
    launch: CodeLaunch,
    code: tuple[Located, ...],
    image: Image,
    block: int,
    tally: Tally,
    seen: Callable[[int, Group, Reader | None], None],
    most_steps: int = MAX_STEPS,
) -> None:
    """Run one block of a launch alone, on memory as it was before the launch, and show each step.

    The multiprocessor's clock stands still at 0.

    Raises:
        NotDetermined: as `run`.
    """
    try:
        parameters = launch.args.parameters(image, launch.types)
    except Unknown as error:
        raise NotDetermined(f"not determined: {error}") from None
    own = launch.args.memory
    memory = np.concatenate([own, np.frombuffer(image.variables, np.uint8), np.zeros(16, np.uint8)])
    blocks = _Blocks(block, 1, -(-math.prod(launch.block) // LANES))
    with np.errstate(all="ignore"):
        batch = _Batch(launch, image, code, parameters, memory, tally, blocks)
        batch.stop_the_clock()
        batch.run(seen, most_steps)


class _Blocks(NamedTuple):
    """Some blocks of the grid, in a row, and the warps of each."""

    first: int
    number: int
    warps: int


@dataclass(frozen=True)
class _Code:
    """An instruction made ready: a step or a control step, and its guard."""

    step: Step | None
    control: Control | None
    guard: Reader | None
    located: Located


class _Batch:
    """Some blocks, all warps of which run together."""

    def __init__(
        self,
        launch: CodeLaunch,
        image: Image,
        code: tuple[Located, ...],
        parameters: bytes,
        octets: Array,
        tally: Tally,
        blocks: _Blocks,
    ) -> None:
        threads, warps = math.prod(launch.block), blocks.warps
        thread = np.arange(warps * LANES).reshape(warps, LANES)
        alive = np.tile(thread < threads, (blocks.number, 1))
        stack = -(-image.stack_bytes // 16) * 16 + (512 if image.stack_bytes else 0)
        banks = {**image.constants, 0: _bank0(launch, image, parameters, stack)}
        banks[4] = image.bank4(GLOBAL + len(launch.args.memory))
        start = image.parameters_at or _LAUNCH_BYTES
        self.state = State(len(alive), _registers(code), alive, banks, start)
        self.flow = Flow(self.state, warps)
        shared = image.shared_bytes + launch.shared_bytes
        tools = {
            "flow": self.flow,
            "memory": Memory(octets, blocks.number, warps, shared, stack),
            "tally": tally,
            "backwards": launch.backwards,
            "votes": Votes(alive.shape, warps),
            "special": _special(launch, blocks.first, blocks.number, thread),
        }
        self._context = BuildContext(self.state, Readers(self.state), Writers(self.state), tools)
        self._listed = {one.address: one for one in code}
        self._ready: dict[int, _Code] = {}

    def stop_the_clock(self) -> None:
        """The multiprocessor's counter of cycles reads 0, in place of being refused."""
        special = self._context.tools["special"]
        still = np.zeros_like(special["SR_LANEID"])
        special |= dict.fromkeys(("SR_CLOCKLO", "SR_CLOCKHI"), still)

    def run(
        self,
        seen: Callable[[int, Group, Reader | None], None] | None = None,
        most_steps: int = MAX_STEPS,
    ) -> None:
        """From the first instruction to the end of the last lane.

        `seen` is called with each instruction that a group executes: its address and its guard.
        """
        everyone = Group(self.state, None, self.state.alive.copy())
        self.flow.go(0, everyone)
        steps, address = 0, 0
        try:
            while found := self.flow.next():
                address, group = found
                while True:
                    code = self._ready.get(address) or self._make(address)
                    steps += 1
                    if seen is not None:
                        seen(address, group, code.guard)
                    if code.control is not None:
                        lanes = group.mask if code.guard is None else code.guard(group) & group.mask
                        code.control(address, group, lanes)
                        break
                    _execute(code, group)
                    address += STEP
                    if address in self.flow.ready:
                        self.flow.go(address, group)
                        break
                if steps > most_steps:
                    raise Unknown(f"more than {most_steps:,} steps: a loop that waits for others?")
        except (Unknown, BadAddress, Stuck) as error:
            raise NotDetermined(_where(self._listed.get(address), str(error))) from None

    def _make(self, address: int) -> _Code:
        located = self._listed.get(address)
        if located is None:
            raise Unknown(f"a jump to {address:#x}, which is no instruction")
        one = Instruction.of(located)
        guard = None
        if located.guard:
            guard = self._context.read.predicate(_predicate(located.guard[1:]))
        if one.name in CONTROLS:
            made = _Code(None, CONTROLS[one.name](one, self._context), guard, located)
        elif one.name in STEPS:
            made = _Code(STEPS[one.name](one, self._context), None, guard, located)
        else:
            raise Unknown(f"instruction {located.name}")
        self._ready[address] = made
        return made


def _predicate(text: str) -> Any:
    from .operands import operand

    return operand(text)


def _execute(code: _Code, group: Group) -> None:
    """A step for the lanes for which its guard holds."""
    assert code.step is not None
    if code.guard is None:
        code.step(group)
        return
    holds = code.guard(group)
    if holds.all():
        code.step(group)
        return
    code.step(group.narrowed(holds))


def _where(located: Located | None, cause: str) -> str:
    if located is None:
        return f"not determined: {cause}"
    place = f"line {located.places[0].line}" if located.places else f"{located.address:#x}"
    return f"not determined: {place}, {located.text}: {cause}"


def _registers(code: Sequence[Located]) -> int:
    """One more than the highest register that is named."""
    import re

    numbers = [int(n) for one in code for n in re.findall(r"\bR(\d+)", " ".join(one.operands))]
    return max(numbers, default=0) + 1


def _bank0(launch: CodeLaunch, image: Image, parameters: bytes, stack: int) -> bytes:
    """Constant bank 0: extents, windows, stack, parameters."""
    bank = bytearray(image.parameters_at or _LAUNCH_BYTES)
    for at, number in zip(range(0, 24, 4), (*launch.block, *launch.grid), strict=True):
        bank[at : at + 4] = number.to_bytes(4, "little")
    bank[0x24:0x28] = LOCAL_WINDOW.to_bytes(4, "little")
    bank[0x2C:0x30] = launch.shared_bytes.to_bytes(4, "little")
    bank[0x28:0x2C] = stack.to_bytes(4, "little")
    return bytes(bank) + parameters + bytes(16)


def _special(launch: CodeLaunch, first: int, blocks: int, thread: Array) -> dict[str, Array]:
    """Special registers, each (warps, 32) or (warps, 1)."""
    bx, by, _ = launch.block
    gx, gy, _ = launch.grid
    warps = len(thread)
    block = np.repeat(np.arange(first, first + blocks), warps)[:, None]
    place = np.tile(thread, (blocks, 1))
    lane = np.broadcast_to(np.arange(LANES), place.shape)
    one = np.ones_like(lane, np.uint64)
    found: dict[str, Array] = {
        "SR_TID.X": place % bx,
        "SR_TID.Y": place // bx % by,
        "SR_TID.Z": place // (bx * by),
        "SR_CTAID.X": block % gx,
        "SR_CTAID.Y": block // gx % gy,
        "SR_CTAID.Z": block // (gx * gy),
        "SR_LANEID": lane,
        "SR_EQMASK": one << lane.astype(np.uint64),
        "SR_LTMASK": (one << lane.astype(np.uint64)) - one,
        "SR_LEMASK": (one << (lane.astype(np.uint64) + one)) - one,
        "SR_CgaCtaId": block * 0,
        "SR_SWINHI": block * 0 + SHARED_WINDOW,
    }
    full = np.uint64(0xFFFFFFFF)
    found["SR_GTMASK"] = ~found["SR_LEMASK"] & full
    found["SR_GEMASK"] = ~found["SR_LTMASK"] & full
    return {name: value.astype(np.uint32) for name, value in found.items()}
