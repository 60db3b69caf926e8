"""16 bytes of words into an array of smaller elements: one store, nothing taken apart before it."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.cuda.extending import intrinsic

from ...lockstep.protocol import lockstep_implementation
from ...lockstep.watch import Access
from .accesses import WIDE_BYTES, WORD_BYTES, _address, _as, _lane, _place_wide


@intrinsic
def store_words(typingctx, array, index, words):
    """Put 4 words at a flat offset, the lowest byte first; at a multiple of 16 bytes."""
    four = types.containers.UniTuple(types.uint32, 4)

    def codegen(context, builder, sig, args):
        vector = ir.VectorType(ir.IntType(32), 4)
        whole = ir.Constant(vector, ir.Undefined)
        for at in range(4):
            whole = builder.insert_element(whole, builder.extract_value(args[2], at), _lane(at))
        pointer = _as(builder, _address(context, builder, sig, args), vector)
        builder.store(whole, pointer).align = WIDE_BYTES
        return context.get_dummy_value()

    small = array.dtype.bitwidth in (8, 16, 32)
    return small and (types.void(array, index, four), codegen)


@lockstep_implementation(store_words)
def _(batch: Any, mask: Any, site: Any, array: Any, index: Any, words: Any) -> None:
    offset, active, count = _place_wide(batch, mask, site, array, index, WIDE_BYTES)
    kind, bits = np.dtype(f"u{array.itemsize}"), 8 * array.itemsize
    each = WORD_BYTES // array.itemsize
    parts = []
    for word in words:
        whole = np.asarray(word).astype(np.uint32)
        parts += [(whole >> np.uint32(at * bits)).astype(kind) for at in range(each)]
    values = tuple(part.view(array.dtype) for part in parts)
    if batch.watched and array.reported:
        root, unit = array.root, array.unit
        batch.report_access(Access(site, root, "store", offset, active, values, count, unit=unit))
    batch.writes += 1
    for at in range(count):
        array.store.write(batch, np.where(active, offset + at, 0), active, values[at])
