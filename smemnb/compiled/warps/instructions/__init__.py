"""What machine instructions do, by family, and the two tables of their builders.

`STEPS` has the instructions that go on to the next address, `CONTROLS` those that move lanes
elsewhere or make them wait.

accesses      loads and stores
atomics       atomics and reductions in memory
bits          counts, permutations and masks of bits
control       branches, calls, ends and barriers
conversions   between integers and floats
exchange      special registers, votes, shuffles, matches
floats        arithmetic and comparisons of floats
integers      arithmetic, comparisons and logic of integers
matrices      matrices between shared memory and registers
tensor        products of small matrices
"""

from ..semantics import builders
from . import (
    accesses,
    atomics,
    bits,
    control,
    conversions,
    exchange,
    floats,
    integers,
    matrices,
    tensor,
)

STEPS, CONTROLS = builders(
    accesses, atomics, bits, control, conversions, exchange, floats, integers, matrices, tensor
)

__all__ = ["CONTROLS", "STEPS"]
