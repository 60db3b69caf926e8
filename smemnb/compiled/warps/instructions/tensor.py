"""Products of small matrices by the tensor cores; sums as `rules.tensor_core` rounds them.

**Limits**: sums are rounded as those of cc 9.0, whatever the code was compiled for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ....rules import tensor_core
from ..operands import Array, Operand, Reader, Unknown
from ..semantics import BuildContext, Instruction, Step, implements
from ..state import Group
from .accesses import _register, _source
from .matrices import whole_warps

U32 = np.uint32
_PER_WORD = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4, "u8": 4}
_ELEMENTS = {"f16": "u2", "bf16": "u2", "tf32": "u4", "s8": "i1", "u8": "u1"}


def _length(one: Instruction) -> int:
    """k of the shape, 16 x 8 x k."""
    found = re.match(r"^168(\d+)$", one.modifiers[0]) if one.modifiers else None
    if found is None:
        raise Unknown(f"form of {one.located.name}")
    return int(found[1])


@implements("HMMA")
def product_of_floats(one: Instruction, context: BuildContext) -> Step:
    """float16, bfloat16 and tf32."""
    k, given = _length(one), one.only({one.modifiers[0], "F32", "F16", "BF16", "TF32"})
    kind = "bf16" if "BF16" in given else "tf32" if "TF32" in given else "f16"
    return _product(one, context, k, kind, "f2" if "F16" in given else "f4")


@implements("IMMA")
def product_of_integers(one: Instruction, context: BuildContext) -> Step:
    """int8 and uint8."""
    k = _length(one)
    kind = {"S8.S8": "s8", "U8.U8": "u8"}.get(".".join(one.modifiers[1:]))
    if kind is None:
        raise Unknown(f"form of {one.located.name}")
    return _product(one, context, k, kind, "i4")


def _product(one: Instruction, context: BuildContext, k: int, kind: str, sums: str) -> Step:
    per_word, wide = _PER_WORD[kind], 2 if sums == "f2" else 1
    of_b = k // (4 * per_word)
    out, a, b, c = (_plain(part) for part in one.operands)
    left = _matrix(context, a, 2 * of_b, _ELEMENTS[kind], tensor_core.places_of_a(k, per_word))
    right = _matrix(context, b, of_b, _ELEMENTS[kind], tensor_core.places_of_b(k, per_word))
    given = _matrix(context, c, 4 // wide, sums, tensor_core.places_of_c(wide))
    row, col = tensor_core.places_of_c(wide)
    writers = [_register(context, out, place) for place in range(4 // wide)]

    def step(group: Group) -> None:
        whole_warps(group)
        with np.errstate(all="ignore"):
            found = tensor_core.multiplied(left(group), right(group), given(group), kind=kind)
        words = np.ascontiguousarray(found[:, row, col]).view(U32)[..., 0]
        for at, write in enumerate(writers):
            write(group, words[:, at])

    return step


def _plain(part: Operand) -> Operand:
    """The operand without the layout that IMMA names, which is the only one there is."""
    return replace(part, part="") if part.part in ("ROW", "COL") else part


def _matrix(
    context: BuildContext, first: Operand, count: int, kind: str, places: tuple[Array, Array]
) -> Callable[[Group], Array]:
    """A reader of the matrix that registers of a warp hold: (rows of warps, rows, columns)."""
    row, col = places
    where = np.zeros((int(row.max()) + 1, int(col.max()) + 1), np.int64)
    where[row.ravel(), col.ravel()] = np.arange(row.size)
    readers: list[Reader] = [_source(context, first, place) for place in range(count)]

    def read(group: Group) -> Array:
        shape = group.mask.shape
        words = np.stack([np.broadcast_to(one(group), shape) for one in readers], axis=1)
        elements = words[..., None].view(kind)
        matrix: Array = elements.reshape(len(words), -1)[:, where]
        return matrix

    return read
