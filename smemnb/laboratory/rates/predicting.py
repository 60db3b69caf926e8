"""The model of time on its own microbenchmarks: cycles of a round, predicted, beside those read.

A round of each loop that the clock times is predicted as it is read: a launch of more rounds less
one of fewer. What agrees only because a constant follows from it is said in `derived`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...compiled.lines import built
from ...compiled.toolchain import types_of
from ...compiled.warps.parameters import Snapshot
from ...compiled.warps.run import CodeLaunch
from .table import Clocked

if TYPE_CHECKING:
    from ...tracing.timing.machine import Machine
    from ...tracing.timing.streams import Streams

__all__ = ["CC", "predicted_cycles", "ran"]

CC = (9, 0)
ROUNDS = (4, 12)
L1_BYTES = 200 << 10


def ran(one: Clocked, rounds: int) -> Streams:
    """The block of a reading with so many rounds, executed.

    Raises:
        SmemnbError: an instruction that is not modelled, or the compiler libraries are missing.
    """
    from ...tracing.timing.streams import streams

    arguments = one.arguments(rounds)
    build = built(one.make(), arguments, CC)
    block = (32 * one.warps, 1, 1)
    launch = CodeLaunch(build.elf, (1, 1, 1), block, 0, Snapshot(arguments), types_of(arguments))
    return streams(build, launch, L1_BYTES, chosen=[0])


def predicted_cycles(one: Clocked, machine: Machine, rounds: tuple[int, int] = ROUNDS) -> float:
    """Cycles of a round in the model.

    Raises:
        SmemnbError: as `ran`.
    """
    fewer, more = (ran(one, count).run(machine, 1, 1, 1).cycles for count in rounds)
    return (more - fewer) / (rounds[1] - rounds[0])
