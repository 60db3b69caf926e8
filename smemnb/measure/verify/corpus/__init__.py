"""The set of kernels that `smemnb verify` runs: `CASES`, by family.

package    every rung of both ladders, whole and ragged
strides    strides, widths of 1 to 16 bytes, parts of a warp
shapes     blocks of two and three dimensions, edges, branches
atomics    integers by address pattern, floats as retry loops
vectors    accesses of 8 and 16 bytes, pairs of lanes; shuffles and votes
tutorials  kernels in the manner of tutorials
"""

from __future__ import annotations

from . import atomics, package, shapes, strides, tutorials, vectors

FAMILIES = {
    "package": package.CASES,
    "strides": strides.CASES,
    "shapes": shapes.CASES,
    "atomics": atomics.CASES,
    "vectors": vectors.CASES,
    "tutorials": tutorials.CASES,
}
CASES = tuple(case for family in FAMILIES.values() for case in family)

__all__ = ["CASES", "FAMILIES"]
