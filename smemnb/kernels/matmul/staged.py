"""Products whose tiles come by asynchronous copies, as rungs beside the ladder.

`matmul_async` is the flat text, of three stages in static shared memory; the others are
`variants.staged`. They differ from `matmul_fastest` in how the tiles come, and are measured beside
it (`smemnb bench matmul --rungs ...`); what is expected of them stands in `TUNING.md`.
"""

from __future__ import annotations

from ..rung import UNSIGNED, Rung, described
from .rungs.matmul_async import COLS, ROWS, matmul_async
from .tiling import QUAD
from .variants.staged import matmul_staged_of, shared_bytes

__all__ = ["STAGED"]

STATIC, DYNAMIC = (2, 4, 5), (3, 6, 7)


def _rung(kernel: object, changed: str, dynamic_bytes: int = 0) -> Rung:
    made = Rung(
        kernel,
        changed,
        (128, 1),
        (ROWS, COLS),
        QUAD,
        scaled=True,
        span=UNSIGNED,
        shared_bytes=dynamic_bytes,
    )
    return described(made, "out = alpha * a @ b + beta * out.")


STAGED = (
    _rung(matmul_async, "tiles come by copies, in three stages"),
    *(_rung(matmul_staged_of(count), f"in {count} stages") for count in STATIC),
    *(
        _rung(
            matmul_staged_of(count, dynamic=True),
            f"in {count} stages, of dynamic shared memory",
            shared_bytes(count),
        )
        for count in DYNAMIC
    ),
)
"""Two to seven stages; six and seven lie above 48 KB."""
