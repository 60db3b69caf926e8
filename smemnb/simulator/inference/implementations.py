"""What Numba runs for a function that it knows by an `@overload`: an implementation in Python.

`overload_of` asks the overloads in Numba's own order, with the Numba types of the arguments that
the engine holds. Functions made by `register_jitable` are their own implementation.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Any

import numpy as np

from .. import seam


def numba_type(value: Any) -> Any:
    """The Numba type of a value of the engine.

    >>> import numpy as np
    >>> print(numba_type(np.float32(1)), numba_type((np.int64(1), np.int64(2))))
    float32 UniTuple(int64 x 2)
    """
    if isinstance(value, np.ndarray | np.generic):
        return seam.numpy_support.from_dtype(value.dtype)
    if hasattr(value, "store") and hasattr(value, "strides"):  # an array of the kernel
        return seam.types.Array(seam.numpy_support.from_dtype(value.dtype), len(value.shape), "C")
    if isinstance(value, tuple):
        kinds = [numba_type(item) for item in value]
        if hasattr(value, "_fields"):
            return seam.types.BaseTuple.from_types(kinds, type(value))
        return seam.types.BaseTuple.from_types(kinds)
    if isinstance(value, str):
        return seam.types.literal(value)
    return seam.typeof(value, seam.Purpose.argument)


def overload_of(
    target: Any,
    values: Sequence[Any],
    named: Mapping[str, Any],
    literals: Sequence[int | None] = (),
) -> Any:
    """The Python function that implements a call of `target`, None if Numba has none."""
    with seam.compiler_lock, seam.target_override("cuda"):
        try:
            types = tuple(numba_type(value) for value in values)
            keywords = tuple((name, numba_type(value)) for name, value in named.items())
            exact = tuple(
                kind if literal is None else seam.types.literal(literal)
                for kind, literal in zip_longest(types, literals[: len(types)])
            )
            return _chosen(target, types, exact, keywords)
        except (TypeError, ValueError, KeyError, NotImplementedError):  # types it does not know
            return None


@functools.lru_cache(maxsize=1024)
def _chosen(
    target: Any,
    types: tuple[Any, ...],
    exact: tuple[Any, ...],
    named: tuple[tuple[str, Any], ...],
) -> Any:
    for build, literally in _builders(seam.typing_context.resolve_value_type(target)):
        for kinds in dict.fromkeys((exact, types) if literally else (types, exact)):
            with suppress(*seam.TYPING_ERRORS):  # says that it is not for these types
                implementation = build(*kinds, **dict(named))
                if isinstance(implementation, tuple):  # (signature, implementation), when strict
                    implementation = implementation[1]
                if implementation is not None:
                    return implementation
    return None


def member_of(value: Any, name: str, *, method: bool) -> Any:
    """What `overload_of` knows the `@overload_method` or `@overload_attribute` of a value by.

    None if nobody has extended values of this type with that name.
    """
    with seam.compiler_lock, seam.target_override("cuda"):
        try:
            templates = list(seam.typing_context._get_attribute_templates(numba_type(value)))
        except (TypeError, ValueError, KeyError, NotImplementedError):  # types it does not know
            return None
    for template in templates:
        known = getattr(template, "_attr", None) == name and hasattr(template, "_overload_func")
        if known and bool(template.is_method) == method:
            return type(template)._overload_func
    return None


def members_named(name: str, *, method: bool) -> bool:
    """Whether any type that kernels have was extended by such a method, or attribute."""
    seam.typing_context.refresh()
    return any(
        getattr(template, "_attr", None) == name
        and hasattr(template, "_overload_func")
        and bool(template.is_method) == method
        for key, templates in seam.typing_context._attributes.items()
        if getattr(key, "__name__", "") not in _NOT_IN_KERNELS
        for template in templates
    )


_NOT_IN_KERNELS = ("List", "LiteralList", "UnicodeType", "Bytes")
"""Types of Numba's that it has methods for, and that no value of a kernel has."""


_TARGETS = ("cuda", "gpu", "generic")
"""For which targets an overload may be declared, the more special ones first."""


def _builders(kind: Any) -> Iterator[Any]:
    """What chooses an implementation by types, and whether it looks at literals first."""
    found = []
    for template in getattr(kind, "templates", ()):
        build = template.__dict__.get("_overload_func")
        target = getattr(template, "metadata", {}).get("target", "generic")
        if build is not None and target in _TARGETS:
            literally = bool(getattr(template, "prefer_literal", False))
            found.append((_TARGETS.index(target), getattr(build, "__func__", build), literally))
    return (tuple(rest) for _, *rest in sorted(found, key=lambda entry: entry[0]))
