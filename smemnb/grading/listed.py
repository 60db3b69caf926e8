"""The names of modules that a kernel may be rebuilt with, by their dotted path.

A kernel that is rebuilt from its text gets plain values, device functions of its own, and what
stands here: modules (`cuda`, `math`, `np`), and of each the names that are for kernels. Numba's
inference asks a module for whatever attribute the text names, so no other one is let through.
"""

from __future__ import annotations

import cmath
import functools
import inspect
import math
import operator
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba import cuda

from ..exercises.chapters import CHAPTERS
from ..lockstep.intrinsics.names import IMPLEMENTATIONS, REFUSED
from ..lockstep.language.calling.python_builtins import BUILTINS
from ..lockstep.memory.attributes import FUNCTIONS as OF_ARRAYS
from ..lockstep.numbers.math_functions import FUNCTIONS
from ..lockstep.protocol import implementation_of

MODULES = ("cmath", "math", "numba", "numba.cuda", "numba.types", "numpy", "operator")
"""Modules that may be a kernel's global under any name, `import numpy as np` for one."""

WORKBOOK = "smemnb.exercises.chapters"
INTRINSICS = (
    "smemnb.kernels.ptx",
    "smemnb.kernels.ptx.asynchronous",
    "smemnb.kernels.ptx.matrices",
    "smemnb.kernels.ptx.tensor",
)

_TYPES = """
bool bool_ boolean b1 byte char uchar short ushort int_ uint intc uintc intp uintp long_ ulong
longlong ulonglong size_t ssize_t int8 int16 int32 int64 uint8 uint16 uint32 uint64 i1 i2 i4 i8 u1
u2 u4 u8 float16 float32 float64 double f4 f8 complex64 complex128 c8 c16 void none
""".split()
_ARRAY_MAKERS = """
array arange asarray empty empty_like full full_like linspace ones ones_like zeros zeros_like dot
matmul sum mean min max argmin argmax prod cumsum cumprod sort abs absolute all any where clip
transpose reshape ravel shape size ndim copy round_ around
""".split()  # what learners try in kernels; Numba says itself what it thinks of each
_BESIDE = ("threadIdx", "blockIdx", "blockDim", "gridDim", "laneid", "warpsize", "grid_group")
_SPACES = ("shared", "local", "const", "atomic", "cg", "libdevice", "fp16", "bf16", "random")
_OPERATORS = """
abs add and_ eq floordiv ge getitem gt iadd iand ifloordiv ilshift imod imul index inv invert ior
ipow irshift isub itruediv ixor le lshift lt mod mul ne neg not_ or_ pos pow rshift setitem sub
truediv truth xor is_ is_not
""".split()


@functools.cache
def attributes(module: str) -> frozenset[str]:
    """The names of a module or namespace that a kernel may use."""
    return frozenset(name for name in _named(module) if _found(f"{module}.{name}") is not None)


def _named(module: str) -> Iterator[str]:
    if module in ("math", "cmath"):
        yield from (name for name in dir(import_module(module)) if not name.startswith("_"))
    elif module == "operator":
        yield from _OPERATORS
    elif module == "numpy":
        known = {id(one) for table in (FUNCTIONS, BUILTINS, OF_ARRAYS) for one in table}
        for name, value in vars(np).items():
            if isinstance(value, np.ufunc) or _scalar_type(value) or id(value) in known:
                yield name
        yield from ("inf", "nan", "pi", "e", "newaxis", "euler_gamma", "dtype", *_ARRAY_MAKERS)
    elif module == "numba.types":
        yield from _TYPES
    elif module == "numba":
        yield from (*_TYPES, "cuda", "types", "literal_unroll", "prange")
    elif module == "numba.cuda":
        plain = [name for name in (*IMPLEMENTATIONS, *REFUSED) if "." not in name]
        yield from (*_TYPES, *plain, *_BESIDE, *_SPACES, "types", "literal_unroll")
    elif module.startswith("numba.cuda."):
        space = module.removeprefix("numba.cuda.")
        if space == "random":
            yield from (name for name in dir(_found(module)) if name.startswith("xoroshiro128p_"))
        elif space in _SPACES:
            members = dir(_found(module))
            implemented = (*IMPLEMENTATIONS, *dict.keys(REFUSED))
            names = {name.partition(".")[2] for name in implemented if name.startswith(f"{space}.")}
            bare = {name for name in implemented if "." not in name}  # cuda.libdevice.fma
            yield from (name for name in members if name in names or name in bare)
        elif space in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
            yield from "xyz"
    elif module in INTRINSICS:
        yield from (name for name, value in vars(import_module(module)).items() if _runs(value))
    elif module.startswith(f"{WORKBOOK}."):
        chosen = vars(import_module(module)) if module.rpartition(".")[2] in _exercises() else {}
        yield from (
            name
            for name, value in chosen.items()
            if _device_function(value, module) or _runs(value)
        )


def _exercises() -> frozenset[str]:
    return frozenset(name for names in CHAPTERS.values() for name in names)


def _device_function(value: Any, module: str) -> bool:
    options = getattr(value, "targetoptions", None) or {}
    own = getattr(getattr(value, "py_func", None), "__module__", "") == module
    return own and bool(options.get("device"))


def _runs(value: Any) -> bool:
    """Whether it is an intrinsic of the package, which the engine can run."""
    return not inspect.ismodule(value) and implementation_of(value) is not None


def _scalar_type(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, np.number | np.bool_)


def is_listed(path: str) -> bool:
    """Whether a kernel may have this: a module, or a name of one.

    >>> is_listed("numpy"), is_listed("numpy.float32"), is_listed("numpy.load")
    (True, True, False)
    """
    owner, _, name = path.rpartition(".")
    if path in MODULES or path in INTRINSICS:
        return True
    return bool(owner) and _may_own(owner) and name in attributes(owner)


def is_space(path: str) -> bool:
    """Whether a listed path is of a module, or of a namespace such as `cuda.shared`.

    >>> is_space("numba.cuda.shared"), is_space("numba.cuda.shared.array")
    (True, False)
    """
    owner, _, name = path.rpartition(".")
    return path in MODULES or path in INTRINSICS or (owner == "numba.cuda" and name in _SPACES)


def _may_own(path: str) -> bool:
    return path in MODULES or path.startswith(("numba.cuda.", f"{WORKBOOK}.")) or path in INTRINSICS


def listed(path: str) -> Any:
    """What a listed path stands for.

    Raises:
        KeyError: it is not listed.
    """
    if not is_listed(path):
        raise KeyError(path)
    return _found(path)


def exists(path: str) -> bool:
    """Whether a module or namespace that is listed has such a name at all, listed or not."""
    owner, _, name = path.rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hasattr(_found(owner), name)


def _found(path: str) -> Any:
    """The object at a path below a listed root; None where there is none."""
    roots = (
        *MODULES,
        "numba.cuda.random",
        *INTRINSICS,
        *map(f"{WORKBOOK}.{{}}".format, _exercises()),
    )
    root = max((one for one in roots if f"{path}.".startswith(f"{one}.")), key=len, default="")
    if not root:
        return None
    found: Any = _ROOTS.get(root) or import_module(root)
    for name in path[len(root) + 1 :].split(".") if path != root else ():
        found = getattr(found, name, None) if not inspect.isfunction(found) else None
    return found


_ROOTS: dict[str, ModuleType] = {
    "cmath": cmath,
    "math": math,
    "numba": numba,
    "numba.cuda": cuda,
    "numba.types": numba.core.types,
    "numpy": np,
    "operator": operator,
}


@functools.cache
def _paths() -> dict[int, str]:
    """The path of each listed object, by its id; the first path where it has several."""
    found: dict[int, str] = {id(listed(name)): name for name in (*MODULES, *INTRINSICS)}
    owners = [*MODULES, *INTRINSICS, *(f"numba.cuda.{space}" for space in _SPACES)]
    for owner in owners:
        for name in sorted(attributes(owner), key=lambda name: (-len(name), name)):  # not f4
            value = _found(f"{owner}.{name}")
            if not isinstance(value, int | float | complex | np.generic):
                found.setdefault(id(value), f"{owner}.{name}")
    return found


def path_of(value: Any) -> str | None:
    """The path under which something is listed, None if it is not.

    >>> import numpy
    >>> path_of(numpy.float32), path_of(numpy), path_of(numpy.load)
    ('numpy.float32', 'numpy', None)
    """
    path = _paths().get(id(value))
    if path is not None:
        return path
    if isinstance(value, ModuleType) and value.__name__ in ("numba.types", "numba.core.types"):
        return "numba.types"  # two modules, whichever was imported last
    function = getattr(value, "py_func", None)
    module = getattr(function, "__module__", "") or ""
    name = f"{module}.{getattr(function, '__name__', '')}"
    if module.startswith(f"{WORKBOOK}.") and is_listed(name) and listed(name) is value:
        return name
    return _in_an_exercise(value) if _runs(value) else None


def _in_an_exercise(value: Any) -> str | None:
    """The path of an intrinsic that an exercise has made, such as a wait for some groups."""
    for exercise in sorted(_exercises()):
        module = f"{WORKBOOK}.{exercise}"
        for name in attributes(module) if module in sys.modules else ():
            if _found(f"{module}.{name}") is value:
                return f"{module}.{name}"
    return None
