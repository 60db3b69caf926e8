"""Numba's CUDA type inference, asked about one operator or function at a time, without a GPU."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
from numba import cuda
from numba.core.target_extension import target_override
from numba.cuda import compiler, dispatcher
from numba.cuda.descriptor import cuda_target

try:
    from numba.cuda import types

    types.boolean  # noqa: B018  (numba's own numba.cuda.types is another module)
except (ImportError, AttributeError):
    from numba.core import types

IN_TREE = getattr(cuda, "implementation", "") != "NVIDIA"
REFUSED = "refused"
CONTEXT = cuda_target.typing_context


class _Device:
    """What type inference asks of a device."""

    compute_capability = (8, 0)


@contextlib.contextmanager
def _without_device() -> Iterator[None]:
    """Functions written in Python (overloads) ask for the device's architecture: say one."""
    modules = [m for m in (compiler, dispatcher) if hasattr(m, "get_current_device")]
    kept = [m.get_current_device for m in modules]
    try:
        for module in modules:
            module.get_current_device = lambda *args: _Device
        with target_override("cuda"):
            yield
    finally:
        for module, function in zip(modules, kept, strict=True):
            module.get_current_device = function


def numba_type(dtype: Any) -> Any:
    """Numba's type of a dtype; types themselves (literals) go through."""
    if not isinstance(dtype, np.dtype):
        return dtype
    return types.boolean if dtype.kind == "b" else getattr(types, dtype.name)


def dtype_of(numba_result: Any) -> Any:
    """The dtype (or tuple of them) of a Numba type."""
    if isinstance(numba_result, types.BaseTuple):
        return tuple(dtype_of(item) for item in numba_result)
    name = str(types.unliteral(numba_result))
    return np.dtype("int64" if name == "intp" else name)


def result(function: Any, *dtypes: Any) -> Any:
    """The dtype of function(*dtypes) in a kernel, or REFUSED."""
    CONTEXT.refresh()
    with _without_device():
        try:
            found = CONTEXT.resolve_function_type(function, tuple(map(numba_type, dtypes)), {})
        except (numba.core.errors.TypingError, _TYPING_ERROR):
            return REFUSED
    return REFUSED if found is None else dtype_of(found.return_type)


def range_result(*dtypes: Any) -> Any:
    """The dtype of the loop variable of range(*dtypes), or REFUSED."""
    CONTEXT.refresh()
    try:
        found = CONTEXT.resolve_function_type(range, tuple(map(numba_type, dtypes)), {})
    except (numba.core.errors.TypingError, _TYPING_ERROR):
        return REFUSED
    return dtype_of(found.return_type.dtype)


def unified(*dtypes: np.dtype[Any]) -> Any:
    """The dtype of a variable that is assigned all of these."""
    return dtype_of(CONTEXT.unify_types(*map(numba_type, dtypes)))


def literal(value: Any) -> Any:
    """The type of a constant."""
    return types.literal(value)


def expression(source: str, names: dict[str, Any], **arguments: Any) -> Any:
    """The dtype of an expression of a kernel whose arguments have these Numba types."""
    namespace = dict(names, cuda=cuda, np=np)
    code = f"def kernel({', '.join(arguments)}):\n    answer = {source}\n    return answer\n"
    exec(compile(code, "<expression>", "exec"), namespace)
    try:
        from numba.cuda.core import typed_passes
    except ImportError:
        from numba.core import typed_passes
    try:
        from numba.cuda.compiler import run_frontend
    except ImportError:
        from numba.core.compiler import run_frontend
    context, target = CONTEXT, cuda_target.target_context
    context.refresh()
    target.refresh()
    with _without_device():
        try:
            found = typed_passes.type_inference_stage(
                context, target, run_frontend(namespace["kernel"]), tuple(arguments.values()), None
            )
        except (numba.core.errors.TypingError, _TYPING_ERROR):
            return REFUSED
    typemap = found.typemap if hasattr(found, "typemap") else found[0]
    answer = next(value for name, value in typemap.items() if name.split(".")[0] == "answer")
    return None if str(answer) == "none" else dtype_of(answer)


try:
    from numba.cuda.core.errors import TypingError as _TYPING_ERROR
except ImportError:
    _TYPING_ERROR = numba.core.errors.TypingError
