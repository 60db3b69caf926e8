"""The inner names of Numba that this package uses, from whichever numba.cuda is installed.

numba-cuda carries its own copy of Numba's compiler (`numba.cuda.core`, `numba.cuda.types`); the
numba.cuda inside Numba uses `numba.core`. Everything that is not Numba's public interface is
imported here and nowhere else, so a new Numba (or its successor) is met in one file.

Importing this module imports numba.cuda. Where Numba simulates, most of these names are not to be
had: the import is refused, and says why.
"""

from __future__ import annotations

import importlib
import warnings
from types import ModuleType
from typing import Any

from .devices import need_types
from .hook import catch_up, held

need_types("this")  # which is all that takes these names from Numba

with held():
    from numba.core.target_extension import target_override
    from numba.cuda import compiler as cuda_compiler  # not `import numba.cuda`: while that is
    from numba.cuda import dispatcher as cuda_dispatcher  # plugged, numba has no `cuda` yet
    from numba.cuda.descriptor import cuda_target


def _module(name: str) -> ModuleType:
    """`numba.cuda.core.<name>` of numba-cuda, else `numba.core.<name>`."""
    try:
        return importlib.import_module(f"numba.cuda.core.{name}")
    except ModuleNotFoundError:
        return importlib.import_module(f"numba.core.{name}")


def _outside_core(name: str) -> ModuleType:
    """`numba.cuda.<name>` of numba-cuda, else `numba.core.<name>`."""
    if OUT_OF_TREE:
        return importlib.import_module(f"numba.cuda.{name}")
    return importlib.import_module(f"numba.core.{name}")


OUT_OF_TREE: bool = getattr(importlib.import_module("numba.cuda"), "implementation", "") == "NVIDIA"
"""True with numba-cuda, False with the numba.cuda inside Numba."""

machinery = _module("compiler_machinery")
typed_passes = _module("typed_passes")
untyped_passes = _module("untyped_passes")
ir: Any = _module("ir")
sigutils: Any = _module("sigutils")
compiler_lock: Any = _module("compiler_lock").global_compiler_lock
types: Any = _outside_core("types")
typing: Any = _outside_core("typing")
typeof: Any = _outside_core("typing.typeof").typeof
Purpose: Any = _outside_core("typing.typeof").Purpose
numpy_support: Any = importlib.import_module(
    "numba.cuda.np.numpy_support" if OUT_OF_TREE else "numba.np.numpy_support"
)
errors: Any = numpy_support.errors
TYPING_ERRORS: Any = (errors.TypingError, importlib.import_module("numba.core.errors").TypingError)
"""What overloads raise for types that they are not for: numba-cuda's, Numba's."""

CUDACompiler: Any = cuda_compiler.CUDACompiler
CUDAFlags: Any = cuda_compiler.CUDAFlags
CUDADispatcher: Any = cuda_dispatcher.CUDADispatcher
compile_device: Any = CUDADispatcher.compile_device
"""Numba's own, whatever the plug puts in its place."""
dispatcher_module: Any = cuda_dispatcher
typing_context: Any = cuda_target.typing_context
target_context: Any = cuda_target.target_context


def warn(setting: str, text: str) -> None:
    """A performance warning of Numba's, if its setting asks for it."""
    config = cuda_dispatcher.config
    if getattr(config, setting) and not config.DISABLE_PERFORMANCE_WARNINGS:
        from numba.cuda.cudadrv.devicearray import NumbaPerformanceWarning

        warnings.warn(NumbaPerformanceWarning(text), stacklevel=4)


__all__ = [
    "OUT_OF_TREE",
    "TYPING_ERRORS",
    "CUDACompiler",
    "CUDADispatcher",
    "CUDAFlags",
    "Purpose",
    "compile_device",
    "compiler_lock",
    "dispatcher_module",
    "errors",
    "ir",
    "machinery",
    "numpy_support",
    "sigutils",
    "target_context",
    "target_override",
    "typed_passes",
    "typeof",
    "types",
    "typing",
    "typing_context",
    "untyped_passes",
    "warn",
]

catch_up()
