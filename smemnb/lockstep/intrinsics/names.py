"""Which name of numba.cuda an object stands for, and what the engine does with it.

`qualified(target)` gives the name below `numba.cuda`: "shared.array", "libdevice.fma", "fp16.hadd",
"threadIdx". `IMPLEMENTATIONS` maps it to an implementation, `REFUSED` to the reason why there is
none. A test goes through everything Numba offers inside kernels and finds each name in one of the
tables.
"""

from __future__ import annotations

import ast

from ..tables import union
from . import atomics, barriers, coordinates, halves, libdevice, shuffles, storage, vectors
from .coordinates import Implementation

_SPACES = {
    "numba.cuda.libdevice": "libdevice.",
    "numba.cuda._internal.cuda_fp16": "fp16.",
    "numba.cuda._internal.cuda_bf16": "bf16.",
    "numba.cuda._internal.cuda_fp8": "fp8.",
    "numba.cuda.cg": "cg.",
    "numba.cuda.random": "random.",
}
"""Modules whose functions carry their bare name, and what it is called by below numba.cuda."""


def qualified(target: object) -> str:
    """The name of something of numba.cuda ("shared.array", "threadIdx"), "" for all else."""
    module = getattr(target, "__module__", None) or ""
    if type(target).__name__ == "Bfloat16":
        return "bf16.bfloat16"
    if not isinstance(module, str) or not module.startswith("numba.cuda"):
        return ""
    name: str = getattr(target, "__qualname__", "")
    return _SPACES.get(module, "") + name.removeprefix("__") if name else ""


IMPLEMENTATIONS: dict[str, tuple[Implementation, str]] = union(
    coordinates.IMPLEMENTATIONS,
    storage.IMPLEMENTATIONS,
    barriers.IMPLEMENTATIONS,
    shuffles.IMPLEMENTATIONS,
    atomics.IMPLEMENTATIONS,
    vectors.IMPLEMENTATIONS,
    halves.IMPLEMENTATIONS,
    libdevice.IMPLEMENTATIONS,
)
"""Qualified name -> (implementation, kind of its site)."""


class _Refusals(dict[str, tuple[str, str]]):
    """Names and whole spaces of names ("fp8.") with the reason for refusing them."""

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or dict.__contains__(self, _space(name))

    def __missing__(self, name: str) -> tuple[str, str]:
        return dict.__getitem__(self, _space(name))


def _space(name: object) -> str:
    return f"{str(name).partition('.')[0]}."


REFUSED: dict[str, tuple[str, str]] = _Refusals(
    {
        "fp8.": ("NumPy has no floats of 8 bits", "Compute in float16 or float32."),
        "fp16.atomicAdd": (
            "fp16.atomicAdd takes a pointer, which no kernel argument is",
            "Use cuda.atomic.add on a float32 array.",
        ),
        "fp16": ("cuda.fp16 is a namespace", "Call what is in it: cuda.fp16.hadd(a, b)."),
        "atomic": ("cuda.atomic is a namespace", "Call what is in it: cuda.atomic.add(...)."),
        "shared": ("cuda.shared is a namespace", "Call cuda.shared.array(shape, dtype)."),
        "local": ("cuda.local is a namespace", "Call cuda.local.array(shape, dtype)."),
        "const": ("cuda.const is a namespace", "Call cuda.const.array_like(values)."),
    }
)
"""Qualified name -> (why the engine does not run it, what to write instead)."""


def implementation_of_call(name: str, node: ast.Call, tree: ast.AST) -> tuple[Implementation, str]:
    """The implementation of a call of this name in the function `tree`, and the kind of its site.

    Raises:
        KeyError: the engine knows no such name.
    """
    implementation, kind = IMPLEMENTATIONS[name]
    if name in atomics.WITHOUT_RESULT and _is_statement(node, tree):
        implementation = atomics.WITHOUT_RESULT[name]
    return implementation, atomics.kind_of(node, kind)


def _is_statement(node: ast.Call, tree: ast.AST) -> bool:
    return any(isinstance(one, ast.Expr) and one.value is node for one in ast.walk(tree))
