"""Arrays that are frozen into a kernel, and the 64 KB that NVIDIA's assembler has for them.

Numba copies the arrays of globals and closures, and those of `cuda.const.array_like`, into constant
memory: once for each place of the source that names one, in the order of the source, the kernel's
before those of its device functions. ptxas refuses more than 0x10000 bytes.

Counted is what is certain to stay: elements that are read and used, at an index that the
compiler cannot know. **Limits**: a loop of up to 128 rounds may be unrolled, so an array that is
only read by its counter is left out; ptxas may refuse what passes here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...errors import LaunchRefused
from .. import seam

MOST_BYTES = 0x10000
_UNROLLED = 128
_KNOWN = frozenset(
    "binop inplace_binop unary cast phi build_tuple exhaust_iter iternext getiter getitem"
    " static_getitem pair_first pair_second".split()
)
"""Operations whose result the compiler knows where it knows their operands."""


def check_constants(name: str, functions: Any) -> None:
    """Raise LaunchRefused if a kernel, with its device functions, freezes too many bytes.

    Args:
        name: the kernel's.
        functions: (blocks of Numba's IR, typemap) of it, then of its device functions.
    """
    if sum(map(_named_bytes, functions)) <= MOST_BYTES // 2:  # gaps at most double it
        return
    found = [one for blocks, typemap in functions for one in _Function(blocks, typemap).frozen()]
    top = 0
    for array, _ in found:
        align = 1 << (array.itemsize - 1).bit_length()
        top = -(-top // align) * align + array.nbytes
    if top <= MOST_BYTES:
        return
    listed = ", ".join(f"{array.nbytes:,} in line {line}" for array, line in found[:4])
    more = f" and {len(found) - 4} more" if len(found) > 4 else ""
    raise LaunchRefused(
        f"{name}: ptxas error: File uses too much global constant data ({top:#x} bytes,"
        f" {MOST_BYTES:#x} max). Arrays that are globals or closure variables are copied into the"
        f" kernel, once for each place that names them: {listed}{more}. Pass a large table to the"
        " kernel as an argument"
    )


def _index(value: Any) -> Any:
    """The variable of an index that is no literal; Numba puts a property for `threadIdx.x`."""
    op = getattr(value, "op", "")
    if op == "static_getitem" and isinstance(value.index, property):
        return value.index_var
    return value.index if op == "getitem" else None


def _named_bytes(function: Any) -> int:
    """Bytes of the arrays from outside that a function names, whatever it does with them."""
    blocks, _ = function
    values = (getattr(one, "value", None) for block in blocks.values() for one in block.body)
    outer = seam.ir.Global | seam.ir.FreeVar | seam.ir.Const
    arrays = (one.value for one in values if isinstance(one, outer))
    return sum(one.nbytes for one in arrays if isinstance(one, np.ndarray))


class _Function:
    """The typed code of one function, and where its values come from."""

    def __init__(self, blocks: Mapping[int, Any], typemap: Mapping[str, Any]) -> None:
        self.typemap = typemap
        self.statements = [one for block in blocks.values() for one in block.body]
        self.made: dict[str, list[Any]] = {}
        for one in self.statements:
            if isinstance(one, seam.ir.Assign):
                self.made.setdefault(one.target.name, []).append(one.value)
        self.live = self._live()

    def frozen(self) -> Iterator[tuple[np.ndarray[Any, Any], int]]:
        """The arrays that are copied into the kernel, each with its line; in that order."""
        read = self._read()
        for one in self.statements:
            array = self._array(one)
            if array is not None and one.target.name in read:
                yield array, one.loc.line

    def _array(self, statement: Any) -> Any:
        """The array that a statement takes from outside the function, or makes constant."""
        value: Any = getattr(statement, "value", None)
        if not isinstance(statement, seam.ir.Assign):
            return None
        if isinstance(value, seam.ir.Global | seam.ir.FreeVar | seam.ir.Const):
            return value.value if isinstance(value.value, np.ndarray) else None
        if self._is_constant_copy(value):
            found = self._origin(value.args[0].name)
            source = self.made.get(found, [None])[0]
            array = getattr(source, "value", None)
            return array if isinstance(array, np.ndarray) else None
        return None

    def _is_constant_copy(self, value: Any) -> bool:
        if getattr(value, "op", "") != "call" or not value.args:
            return False
        return "array_like" in str(self.typemap.get(value.func.name))

    def _origin(self, name: str) -> str:
        """The variable that first held an array, through names, views and attributes."""
        seen = set()
        while name not in seen:
            seen.add(name)
            (value, *others) = self.made.get(name, [None])
            if others:
                break
            if isinstance(value, seam.ir.Var):
                name = value.name
            elif getattr(value, "op", "") in ("getattr", "getitem", "static_getitem", "cast"):
                name = value.value.name
        return name

    def _read(self) -> set[str]:
        """Variables that hold an array of which an element is read, at an unknown index."""
        found = set()
        for one in self.statements:
            value: Any = getattr(one, "value", None)
            op = getattr(value, "op", "")
            if op == "call" and not self._is_constant_copy(value):
                given = [*value.args, *(each for _, each in value.kws)]
                if self._is_device_call(value):
                    found |= {self._origin(arg.name) for arg in given}
            elif op in ("getitem", "static_getitem") and one.target.name in self.live:
                scalar = not isinstance(self.typemap.get(one.target.name), seam.types.Array)
                if scalar and self._unknown_place(one.target.name):
                    found.add(self._origin(value.value.name))
        return found

    def _is_device_call(self, value: Any) -> bool:
        return isinstance(self.typemap.get(value.func.name), seam.types.Dispatcher)

    def _unknown_place(self, name: str) -> bool:
        """Whether an index on the way from an array to this element is unknown to the compiler."""
        seen = set()
        while name not in seen:
            seen.add(name)
            value = self.made.get(name, [None])[0]
            if isinstance(value, seam.ir.Var):
                name = value.name
                continue
            op = getattr(value, "op", "")
            index = _index(value)
            if index is not None and self._varies(index.name, set()):
                return True
            if op not in ("getattr", "getitem", "static_getitem", "cast"):
                return False
            name = value.value.name
        return False

    def _varies(self, name: str, seen: set[str]) -> bool:
        """Whether a number is unknown to the compiler, or counts more rounds than it unrolls."""
        if name in seen:
            return False
        seen.add(name)
        return any(self._value_varies(value, seen) for value in self.made.get(name, [None]))

    def _value_varies(self, value: Any, seen: set[str]) -> bool:
        if isinstance(value, seam.ir.Var):
            return self._varies(value.name, seen)
        if isinstance(value, seam.ir.Const | seam.ir.Global | seam.ir.FreeVar):
            return False
        op = getattr(value, "op", "")
        if op == "call" and self._called(value) is range:
            sizes = [self._number(arg.name) for arg in value.args]
            known = [size for size in sizes if size is not None]
            return len(known) < len(sizes) or len(range(*known)) > _UNROLLED
        if op == "getattr":
            return value.attr not in ("shape", "size", "ndim") or (
                self._frozen_array(value.value.name) is None
            )
        element = op == "getitem" and isinstance(
            self.typemap.get(value.value.name), seam.types.Array
        )
        if op not in _KNOWN or element:
            return True
        parts = value.incoming_values if op == "phi" else value.list_vars()
        return any(self._varies(part.name, seen) for part in parts if isinstance(part, seam.ir.Var))

    def _called(self, value: Any) -> Any:
        source = self.made.get(self._origin(value.func.name), [None])[0]
        return getattr(source, "value", None)

    def _number(self, name: Any) -> int | None:
        """The integer that a variable is known to hold: a literal, a global, an extent."""
        values = self.made.get(name, []) if isinstance(name, str) else []
        if len(values) != 1:
            return None
        value = values[0]
        if isinstance(value, seam.ir.Var):
            return self._number(value.name)
        if isinstance(value, seam.ir.Const | seam.ir.Global | seam.ir.FreeVar):
            return value.value if isinstance(value.value, int) else None
        if getattr(value, "op", "") == "static_getitem":
            shape = self.made.get(value.value.name, [None])[0]
            if getattr(shape, "op", "") == "getattr" and shape.attr == "shape":
                array = self._frozen_array(shape.value.name)
                return None if array is None else array.shape[value.index]
        if getattr(value, "op", "") == "getattr" and value.attr == "size":
            array = self._frozen_array(value.value.name)
            return None if array is None else array.size
        if getattr(value, "op", "") == "call" and self._called(value) is len and value.args:
            array = self._frozen_array(value.args[0].name)
            return None if array is None else len(array)
        return None

    def _frozen_array(self, name: str) -> Any:
        source = self.made.get(self._origin(name), [None])[0]
        array = getattr(source, "value", None)
        return array if isinstance(array, np.ndarray) else None

    def _live(self) -> set[str]:
        """The variables whose values reach memory, a branch or a call."""
        found: set[str] = set()
        waiting = []
        for one in self.statements:
            if isinstance(one, seam.ir.Del):
                continue
            if not isinstance(one, seam.ir.Assign):
                waiting += [part.name for part in one.list_vars()]
            elif getattr(one.value, "op", "") in ("call", "inplace_binop"):
                waiting += [part.name for part in one.value.list_vars()]
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            found.add(name)
            for value in self.made.get(name, ()):
                if isinstance(value, seam.ir.Var):
                    waiting.append(value.name)
                elif hasattr(value, "list_vars"):
                    waiting += [part.name for part in value.list_vars()]
        return found
