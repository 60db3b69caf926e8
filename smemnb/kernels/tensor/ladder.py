"""The rungs of the tensor product in order: float16 in and out; the last one for tf32, too."""

from __future__ import annotations

from typing import Any

from ..rung import UNSIGNED, Rung
from .rungs.mma_banded import mma_banded
from .rungs.mma_by_rows import mma_by_rows
from .rungs.mma_one_barrier import mma_one_barrier
from .rungs.mma_overlapped import mma_overlapped
from .rungs.mma_staged import mma_staged
from .rungs.mma_swizzled import mma_swizzled
from .rungs.mma_tall import mma_tall
from .rungs.mma_tf32 import mma_tf32
from .rungs.mma_unswizzled import mma_unswizzled

EIGHT = 8
"""Elements in 16 bytes: rows of all matrices begin at multiples of so many, and hold whole ones."""


def _rung(kernel: Any, changed: str, edge: int) -> Rung:
    return Rung(kernel, changed, (128, 1), (edge, edge), EIGHT, span=UNSIGNED)


LADDER = (
    _rung(mma_unswizzled, "fragments straight from tiles as they lie", 64),
    _rung(mma_swizzled, "chunks change places in their lines", 64),
    _rung(mma_staged, "two more stages are under way", 64),
    _rung(mma_one_barrier, "one barrier a step", 64),
    _rung(mma_tall, "64x64 per warp", 128),
    _rung(mma_overlapped, "the next fragments are read meanwhile", 128),
    _rung(mma_by_rows, "results are stored by 16 bytes", 128),
    _rung(mma_banded, "bands of tiles share L2", 128),
)
"""Each kernel is the flat text of its file: `(out, a, b)`, out = a @ b."""

TF32 = Rung(
    mma_tf32, "float32, rounded to tf32 as it is read", (128, 1), (128, 128), 4, span=UNSIGNED
)
"""The last one for float32 in and out."""
