"""Of which library an argument is, without importing any."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .array_backend import ArrayBackend
from .cupy_arrays import cupy_arrays
from .jax_arrays import jax_arrays
from .matrix_view import MatrixView, TypeRefused
from .numba_arrays import NUMBA
from .numpy_arrays import NUMPY
from .protocols import DLPACK, INTERFACE
from .torch_tensors import torch_tensors

_LIBRARIES: tuple[tuple[str, str, Callable[[], ArrayBackend]], ...] = (
    ("torch", "Tensor", torch_tensors),
    ("cupy", "ndarray", cupy_arrays),
    ("jax", "Array", jax_arrays),
)
_of_type: dict[type, ArrayBackend] = {}
_made: dict[str, ArrayBackend] = {}

exact: dict[type, ArrayBackend] = {}
"""The libraries' own classes, for calls like one before; what inherits from them may differ."""


def matrix_view(name: str, value: Any, stream: int | None = None) -> MatrixView:
    """The matrix in an argument of any library.

    Raises:
        TypeRefused: it is no array.
        LaunchRefused: it is no matrix, or its rows are not what the kernels take.
    """
    return array_view(name, value, stream).check()


def array_view(
    name: str, value: Any, stream: int | None = None, wanted: str = "float32"
) -> MatrixView:
    """The array in an argument of any library, of any number of axes; `problem` if no matrix.

    `wanted` is the dtype that a refusal names where the argument has none of numbers.

    Raises:
        TypeRefused: it is no array.
    """
    backend = _of_type.get(type(value))
    if backend is None:
        backend = _of_library(value)
        if backend is None:  # what a protocol says may differ from object to object of a type
            return _by_protocol(name, value, wanted).view(name, value, stream)
        _of_type[type(value)] = backend
        _note_exact(type(value), backend)
    if backend is NUMPY and value.dtype.hasobject:
        cure = backend.cast.format(name=name, dtype=wanted)
        raise TypeRefused(f"`{name}` is an array of Python objects. Give it a number type: {cure}")
    return backend.view(name, value, stream)


def _note_exact(kind: type, backend: ArrayBackend) -> None:
    """Put a class into `exact` if it is the very class of its library."""
    if kind.__module__.startswith("numba.") and kind.__name__ == "DeviceNDArray":
        exact[kind] = backend
    for module, class_name, _ in _LIBRARIES:
        library = sys.modules.get(module)
        if library is not None and kind is getattr(library, class_name, None):
            exact[kind] = backend
    torch = sys.modules.get("torch")
    if torch is not None and kind is torch.nn.Parameter:  # a weight is a tensor like others
        exact[kind] = backend


def _of_library(value: Any) -> ArrayBackend | None:
    if getattr(value, "__cuda_ndarray__", False):
        return NUMBA
    if isinstance(value, np.ndarray):
        return NUMPY
    for module, class_name, make in _LIBRARIES:
        library = sys.modules.get(module)
        if library is not None and isinstance(value, getattr(library, class_name, ())):
            if module not in _made:
                _made[module] = make()
            return _made[module]
    return None


def _by_protocol(name: str, value: Any, wanted: str) -> ArrayBackend:
    if not isinstance(value, type):
        if hasattr(value, "__cuda_array_interface__"):
            return INTERFACE
        if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
            return DLPACK
    raise TypeRefused(
        f"`{name}` is {_what(value)}, no array. Pass {_instead(name, value, wanted)}; arrays of"
        " NumPy, Numba, CuPy, PyTorch and JAX are taken, and any with __cuda_array_interface__ or"
        " __dlpack__"
    )


def _what(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    word = type(value).__name__
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def _instead(name: str, value: Any, wanted: str) -> str:
    if name == "out":  # a copy would not be the caller's
        return "one made for the result, or none"
    if hasattr(value, "to_numpy") and not isinstance(value, type):
        return f"{name}.to_numpy()"
    if isinstance(value, list | tuple):
        return f"np.array({name}, dtype=np.{wanted})"
    return "an array"
