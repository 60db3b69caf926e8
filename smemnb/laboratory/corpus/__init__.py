"""The set of kernels that `smemnb verify` runs: `CASES`, by family.

tutorials  kernels in the manner of tutorials
atomics    integers by address pattern, floats as retry loops
package    every rung of both ladders, whole and ragged
vectors    accesses of 8 and 16 bytes, pairs of lanes; shuffles and votes
shapes     blocks of two and three dimensions, edges, branches
strides    strides, widths of 1 to 16 bytes, parts of a warp
local      local arrays, by place, width and part of a warp; registers that are spilled
copies     asynchronous copies of 4, 8 and 16 bytes, by place, part of a warp and zeros
matrices   rows of ldmatrix and stmatrix, by their places
patterns   every rung of reductions, scans, stencils, histograms and rows, whole and ragged
"""

from __future__ import annotations

from ...errors import SmemnbError
from ...measure.verify.case import Case
from . import (
    atomics,
    copies,
    local,
    matrices,
    package,
    patterns,
    shapes,
    strides,
    tutorials,
    vectors,
)

FAMILIES = {
    "tutorials": tutorials.CASES,
    "atomics": atomics.CASES,
    "package": package.CASES,
    "vectors": vectors.CASES,
    "shapes": shapes.CASES,
    "strides": strides.CASES,
    "local": local.CASES,
    "copies": copies.CASES,
    "matrices": matrices.CASES,
    "patterns": patterns.CASES,
}
CASES = tuple(case for family in FAMILIES.values() for case in family)


def case_named(name: str) -> Case:
    """The case of that name.

    Raises:
        SmemnbError: the set has none.
    """
    for case in CASES:
        if case.name == name:
            return case
    raise SmemnbError(f"the set has no case {name!r}: see smemnb.laboratory.corpus")


__all__ = ["CASES", "FAMILIES", "case_named"]
