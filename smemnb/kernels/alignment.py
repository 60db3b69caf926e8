"""`cuda.shared.array(shape, dtype, alignment=16)` for the numba.cuda inside Numba.

numba-cuda has the keyword. The numba.cuda inside Numba aligns a shared array to its elements, which
is not enough to load 16 bytes of float32 at once; there, importing this module adds the keyword,
for shapes of one integer. With numba-cuda it does nothing.
"""

from __future__ import annotations

import inspect
from typing import Any

from numba import cuda
from numba.core import config, types


def has_alignment() -> bool:
    """Whether the installed numba.cuda knows the keyword by itself."""
    return "alignment" in inspect.signature(cuda.shared.array).parameters


def _add_typing(declared: Any) -> None:
    """The template of `shared.array` accepts a constant alignment."""
    plain = declared.generic

    def generic(self: Any) -> Any:
        type_of = plain(self)

        def typer(shape: Any, dtype: Any, alignment: Any = None) -> Any:
            known = alignment is None or isinstance(alignment, types.IntegerLiteral)
            return type_of(shape, dtype) if known else None

        return typer

    declared.generic = generic


def _add_lowering(cudaimpl: Any) -> None:
    """The array as without the keyword, its variable at a multiple of so many bytes."""
    plain = cudaimpl.cuda_shared_array_integer

    @cudaimpl.lower(cuda.shared.array, types.IntegerLiteral, types.Any, types.IntegerLiteral)
    def aligned_array(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        before = set(builder.module.globals)
        made = plain(context, builder, sig, args)
        (name,) = (name for name in builder.module.globals if name not in before)
        variable = builder.module.globals[name]
        variable.align = max(variable.align, sig.args[2].literal_value)
        return made


def _add_keyword() -> None:
    from numba.cuda import cudadecl, cudaimpl

    _add_typing(cudadecl.Cuda_shared_array)
    _add_lowering(cudaimpl)


if not (config.ENABLE_CUDASIM or has_alignment()):  # Numba's simulator has neither typing nor code
    _add_keyword()
