"""Kernel arguments as Numba hands them to a GPU: copied in, copied back, or refused.

A host array becomes device memory for the launch and is copied back when the kernel has ended,
in the order of the arguments; an array that is given twice becomes two pieces of memory, and the
last copy wins. Device arrays are written in place. `cuda.In` is not copied back; `cuda.Out` is not
copied in (its memory holds all-ones bits: NaN, -1). A read-only array is not copied back, and
stores to it are refused by type inference.

What Numba does not take is refused before anything is written, with the parameter's name and the
repair. Non-contiguous host arrays are among it: numba.cuda copies whole buffers only.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import GeneratorType
from typing import Any

import numpy as np

from ..errors import LaunchRefused

_INSTEAD: tuple[tuple[type | tuple[type, ...], str, str], ...] = (
    (list, "a list", "np.array({name}, dtype=np.{dtype})"),
    ((set, frozenset, dict, range, slice), "a {type}", "np.array([...]) of its numbers"),
    ((str, bytes), "a text", "a number"),
    ((bytearray, memoryview), "a {type}", "np.asarray({name})"),
    (array, "an array.array", "np.asarray({name})"),
    (GeneratorType, "a generator", "np.array(list({name}), dtype=np.float32)"),
    (type(None), "None", "an array or a number"),
)


@dataclass
class Prepared:
    """Arguments of one launch: what the engine gets, Numba's view of it, and the way back."""

    values: list[Any] = field(default_factory=list)
    seen: list[Any] = field(default_factory=list)
    write_back: list[Callable[[], None]] = field(default_factory=list)
    _on_gpu: dict[int, Any] = field(default_factory=dict)

    def add(self, name: str, value: Any) -> None:
        """Take one more argument.

        Raises:
            LaunchRefused: Numba would not take it.
        """
        engine, seen = self._adopt(name, value)
        self.values.append(engine)
        self.seen.append(seen)

    def finish(self) -> None:
        """Copy results back, in the order of the arguments."""
        for write in self.write_back:
            write()

    def _adopt(self, name: str, value: Any) -> tuple[Any, Any]:
        """(value for the engine, value whose Numba type is asked for)."""
        hint = _hint(value)
        if hint is not None:
            return self._wrapped(name, value.value, hint)
        if isinstance(value, tuple):
            parts = [self._adopt(f"{name}[{i}]", part) for i, part in enumerate(value)]
            engine, seen = [p[0] for p in parts], [p[1] for p in parts]
            if hasattr(value, "_fields"):
                return type(value)(*engine), type(value)(*seen)
            return tuple(engine), tuple(seen)
        if getattr(value, "__cuda_ndarray__", False):
            memory = _device_memory(value)
            if memory is not None:
                return memory, value if hasattr(value, "_numba_type_") else memory
        if isinstance(value, np.ndarray):
            return self._host_array(name, value, "InOut")
        if hasattr(value, "__cuda_array_interface__"):
            return self._gpu_array(name, value)
        return _scalar(name, value)

    def _wrapped(self, name: str, value: Any, how: str) -> tuple[Any, Any]:
        """What stands in `cuda.In`, `cuda.Out` or `cuda.InOut`; device memory is taken as it is."""
        if isinstance(value, np.ndarray | np.void):
            return self._host_array(name, np.asarray(value), how)
        if hasattr(value, "__cuda_array_interface__") or hasattr(value, "__cuda_ndarray__"):
            return self._adopt(name, value)
        raise LaunchRefused(
            f"`{name}` is cuda.{how} of a {type(value).__name__}."
            f" Give it a NumPy array: cuda.{how}(np.array(...))"
        )

    def _host_array(self, name: str, value: Any, how: str) -> tuple[Any, Any]:
        _check_array(name, value)
        plain = np.asarray(value)
        if how == "Out":
            memory = np.empty_like(plain, subok=False)
            memory[...] = np.frombuffer(b"\xff" * plain.itemsize, plain.dtype)[0]
        else:
            memory = np.array(plain, order="K")
        _warn_of_copy()
        if how != "In" and plain.flags.writeable:
            self.write_back.append(lambda: np.copyto(plain, memory))
        return memory, plain

    def _gpu_array(self, name: str, value: Any) -> tuple[Any, Any]:
        """Memory of a GPU, for a trace beside it: a host copy, copied back afterwards."""
        from numba import cuda

        from .devices import device

        if device() in ("lockstep", "numba simulator"):
            if _is_known(value):
                return self._adopt(name, cuda.as_cuda_array(value))
            raise LaunchRefused(
                f"`{name}` is in the memory of a GPU, and this process runs kernels in the"
                f" lockstep engine. Pass a NumPy array: {name}.get() or {name}.cpu().numpy()"
            )
        if id(value) not in self._on_gpu:
            array = value if hasattr(value, "copy_to_host") else cuda.as_cuda_array(value)
            memory = array.copy_to_host()
            self.write_back.append(lambda: array.copy_to_device(memory))
            self._on_gpu[id(value)] = memory
        return self._on_gpu[id(value)], self._on_gpu[id(value)]


def on_host(value: Any) -> Any:
    """An argument of a launch as host memory: the engine's own, or a copy of a GPU's.

    What `cuda.In`, `cuda.Out` and `cuda.InOut` hold comes without them, tuples part by part;
    all else comes as it is.
    """
    if isinstance(value, tuple):
        parts = [on_host(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if _hint(value) is not None:
        return on_host(value.value)
    if getattr(value, "__cuda_ndarray__", False):
        memory = _device_memory(value)
        if memory is not None:
            return memory
    if not hasattr(value, "copy_to_host") and hasattr(value, "__cuda_array_interface__"):
        from numba import cuda

        value = cuda.as_cuda_array(value)
        return on_host(value)
    return value.copy_to_host() if hasattr(value, "copy_to_host") else value


def _warn_of_copy() -> None:
    from .devices import simulated_by_numba

    if not simulated_by_numba():
        from . import seam

        seam.warn(
            "CUDA_WARN_ON_IMPLICIT_COPY",
            "Host array used in CUDA kernel will incur copy overhead to/from device.",
        )


def _device_memory(array: Any) -> Any:
    """The NumPy view of a device array of this process; None if a GPU holds it."""
    from .devices import device

    if hasattr(array, "_ary"):  # of Numba's simulator
        return array._ary
    if device() != "lockstep":
        return None
    from .host import array_at

    return array_at(array)


def fresh_arguments(names: Sequence[str], args: Sequence[Any]) -> tuple[str, ...]:
    """The parameters that get device memory of this process which nobody has written.

    An array over a part of such memory is not named, nor is one of several over the same memory.
    """
    from .devices import device

    if device() != "lockstep":
        return ()
    from .host.memory import memory

    arrays = [value for value in args if getattr(value, "__cuda_ndarray__", False) and value.size]
    starts = Counter(memory.start(int(one.device_ctypes_pointer.value)) for one in arrays)
    return tuple(
        name
        for name, value in zip(names, args, strict=False)
        if any(value is one for one in arrays)
        and starts[memory.start(int(value.device_ctypes_pointer.value))] == 1
        and memory.is_fresh(int(value.device_ctypes_pointer.value), value.nbytes)
    )


def _is_known(foreign: Any) -> bool:
    """Whether an array of another library shows memory that was allocated here."""
    from .devices import device

    if device() != "lockstep":
        return False
    from .host.memory import memory

    said = foreign.__cuda_array_interface__
    return 0 in said["shape"] or memory.find(said["data"][0]) is not None


def _dtype_of(numbers: Any) -> str:
    """The dtype to suggest for a list of numbers: int32 if all of them are ints."""
    while isinstance(numbers, list) and numbers and isinstance(numbers[0], list):
        numbers = [number for row in numbers if isinstance(row, list) for number in row]
    whole = isinstance(numbers, list) and numbers and all(type(n) is int for n in numbers)
    return "int32" if whole else "float32"


def _hint(value: Any) -> str | None:
    """The name of a wrapper of numba.cuda ("In", "Out" or "InOut"), None for anything else."""
    names = [base.__name__ for base in type(value).__mro__]
    return names[0] if "ArgHint" in names and names[0] in ("In", "Out", "InOut") else None


def _check_array(name: str, value: np.ndarray[Any, Any]) -> None:
    kind = value.dtype
    if isinstance(value, np.ma.MaskedArray):
        raise LaunchRefused(f"`{name}` is a masked array. Pass {name}.filled(0)")
    _check_dtype(name, kind)
    if not kind.isnative:
        raise LaunchRefused(
            f"`{name}` has the byte order of another machine ({kind.str})."
            f" Pass {name}.astype({name}.dtype.newbyteorder('='))"
        )
    if not (value.flags.c_contiguous or value.flags.f_contiguous):
        raise LaunchRefused(
            f"`{name}` is not contiguous: shape {value.shape}, strides {value.strides} bytes"
            " (a slice, or a view with other axes). numba.cuda copies contiguous arrays only:"
            f" pass np.ascontiguousarray({name}), and copy results back yourself;"
            " slices of device arrays are fine"
        )


def _check_dtype(name: str, kind: np.dtype[Any]) -> None:
    if kind.fields:
        for field_name, entry in kind.fields.items():
            lead = f"`{name}` has the field `{field_name}` of"
            if entry[0].hasobject:
                raise LaunchRefused(f"{lead} Python objects. Give each field a number type")
            if (wide := _supported(entry[0])) is not None:
                raise LaunchRefused(f"{lead} {entry[0]}, which no GPU has. Make it {wide}")
        return
    if kind.hasobject:
        raise LaunchRefused(
            f"`{name}` is an array of Python objects. Give it a number type:"
            f" {name}.astype(np.float32); rows of unequal length make such arrays"
        )
    if kind.kind == "V" and kind.subdtype is None:
        raise LaunchRefused(
            f"`{name}` holds raw bytes ({kind.str}). Say what they are: {name}.view(np.float64), or"
            f" another type of {kind.itemsize} bytes"
        )
    if (wide := _supported(kind)) is not None:
        raise LaunchRefused(f"`{name}` is {kind}, which no GPU has. Pass {name}.astype(np.{wide})")


def _supported(kind: np.dtype[Any]) -> str | None:
    """The dtype to write in place of one that is too wide for a GPU, None for all others."""
    if kind.kind in "fc" and kind.itemsize // (1 + (kind.kind == "c")) > 8:
        return "float64" if kind.kind == "f" else "complex128"
    return None


def _scalar(name: str, value: Any) -> tuple[Any, Any]:
    for kinds, what, instead in _INSTEAD:
        if isinstance(value, kinds):
            raise LaunchRefused(
                f"`{name}` is {what.format(type=type(value).__name__)}."
                " Kernels take NumPy arrays, device arrays, numbers and tuples of them:"
                f" pass {instead.format(name=name, dtype=_dtype_of(value))}"
            )
    if isinstance(value, Enum):
        if isinstance(value.value, str | bytes):
            raise LaunchRefused(
                f"`{name}` is a member of an enum that stands for no number: {value!r}"
            )
        return value, value  # kernels compare members
    if isinstance(value, bool):
        return np.bool_(value), value
    if isinstance(value, int) and type(value) is int:
        return _integer(name, value), value
    if isinstance(value, float) and type(value) is float:
        return np.float64(value), value
    if isinstance(value, complex) and type(value) is complex:
        return np.complex128(value), value
    if isinstance(value, np.generic):
        if (wide := _supported(value.dtype)) is not None:
            plain = wide.rstrip("0123456789")
            raise LaunchRefused(
                f"`{name}` is {value.dtype}, which no GPU has. Pass {plain}({name})"
            )
        return value, value
    what = (
        f"of type {type(value).__name__}"
        if not isinstance(value, type)
        else f"the class {value.__name__}"
    )
    raise LaunchRefused(
        f"`{name}` is {what}. Kernels take NumPy arrays, device arrays,"
        f" numbers and tuples of them: {_repair(name, value)}"
    )


def _repair(name: str, value: Any) -> str:
    """What to write in place of an object that is neither array nor number."""
    if isinstance(value, type):
        return "take the numbers out of it"
    to_numpy = next((m for m in ("to_numpy", "numpy") if hasattr(value, m)), None)
    if to_numpy:
        return f"pass {name}.{to_numpy}()"
    if hasattr(value, "__float__"):
        return f"pass float({name})"
    if callable(value):
        return "call it first, and pass what it gives"
    if isinstance(value, Iterable):
        return f"pass np.array(list({name}), dtype=np.float32)"
    return "take the numbers out of it"


def _integer(name: str, value: int) -> np.signedinteger[Any] | np.unsignedinteger[Any]:
    if -(2**63) <= value < 2**63:
        return np.int64(value)
    if 0 <= value < 2**64:
        return np.uint64(value)
    raise LaunchRefused(f"`{name}` is {value}, which does not fit into 64 bits")
