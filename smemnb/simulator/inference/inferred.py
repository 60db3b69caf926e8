"""What inference found, in the terms in which the lockstep engine asks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

from .. import seam
from .implementations import overload_of
from .merges import Place

Types = tuple[Any, ...]
_DType = np.dtype[Any]


@dataclass(frozen=True, eq=False)
class Function:
    """Types of one function for one set of argument types."""

    function: Any  # a weak reference: the records live as long as the kernel
    code: CodeType
    argument_types: Types
    return_type: Any
    kinds: Mapping[str, frozenset[Any]]
    reads: Mapping[tuple[str, int], frozenset[Any]]
    merges: Mapping[Place, Any]
    casts: frozenset[str]
    calls: frozenset[tuple[Callable[..., Any], Types]]
    typed: tuple[Any, Any] = field(repr=False)  # blocks of Numba's IR, typemap
    of_two_enums: frozenset[int] = frozenset()  # lines whose `is` compares members of two enums
    wider: Mapping[Place, Any] = field(default_factory=dict)

    def local(self, name: str, line: int) -> _DType | None:
        """dtype of `name` where it is read at `line`; None where nothing is to be enforced."""
        if name not in self.casts and len(self.kinds.get(name, ())) < 2:
            return None
        found = self.reads.get((name, line), frozenset())
        return scalar_dtype(next(iter(found))) if len(found) == 1 else None

    def merged(self, places: Sequence[Place]) -> _DType | None:
        """dtype in which the sides of an expression at these places are joined."""
        found = {scalar_dtype(self.merges[place]) for place in places if place in self.merges}
        return found.pop() if len(found) == 1 else None


@dataclass(frozen=True, eq=False)
class Inferred:
    """The types of a kernel and of the device functions it calls.

    Attributes:
        argument_types: Numba types of the arguments, as the kernel sees them.
        debug: whether the kernel raises its exceptions on the host.
        fastmath: whether it was declared with fastmath=True.
    """

    argument_types: Types
    _functions: tuple[Function, ...] = field(repr=False)
    debug: bool = False
    fastmath: bool = False

    def local(self, function: Any, name: str, line: int) -> _DType | None:
        """dtype of variable `name` where it is read at absolute line `line` of `function`.

        None where there is nothing to enforce: the variable has one type throughout, is not a
        scalar, or is read with two types on that line.
        """
        found = {f.local(name, line) for f in self._of(function)}
        return found.pop() if len(found) == 1 else None

    def returned(self, function: Any) -> _DType | None:
        """dtype that a device function returns, on whichever path; None if it is no scalar."""
        found = {scalar_dtype(f.return_type) for f in self._of(function)}
        return found.pop() if len(found) == 1 else None

    def merged(self, function: Any, places: Sequence[Place]) -> _DType | None:
        """dtype in which a conditional expression of `function`, or `and`, `or`, is joined.

        Args:
            function: where it stands.
            places: those of its sides in the source.
        """
        found = {f.merged(places) for f in self._of(function)}
        return found.pop() if len(found) == 1 else None

    def widened(self, function: Any, place: Place) -> _DType | None:
        """dtype in which the result of an operator or call at this place of `function` is stored.

        None where it is the one that its operands decide.
        """
        found = {scalar_dtype(f.wider[place]) for f in self._of(function) if place in f.wider}
        return found.pop() if len(found) == 1 else None

    def implementation(
        self,
        target: Any,
        values: Sequence[Any],
        named: Mapping[str, Any],
        literals: Sequence[int | None] = (),
    ) -> Any:
        """The Python function of the `@overload` that Numba runs for `target`, None without one.

        Args:
            target: what the kernel calls.
            values: the arguments as the engine holds them.
            named: those given by name.
            literals: the positional ones that are integers in the source, else None.
        """
        return overload_of(target, values, named, literals)

    def never_same(self, function: Any, line: int) -> bool:
        """Whether every `is` and `is not` on a line of a function compares members of two enums."""
        return any(line in f.of_two_enums for f in self._of(function))

    def variables(self, function: Any = None) -> dict[str, set[str]]:
        """Name and types of every variable of the kernel (or of a device function of it)."""
        chosen = self._functions[:1] if function is None else self._of(function)
        shown: dict[str, set[str]] = defaultdict(set)
        for record in chosen:
            for name, kinds in record.kinds.items():
                shown[name] |= {str(kind) for kind in kinds}
        return dict(shown)

    def typed(self) -> Iterator[tuple[Any, Any, Any]]:
        """Function, blocks of Numba's IR and typemap of the kernel and of what it calls."""
        for record in self._functions:
            function = record.function()
            if function is not None:
                yield (function, *record.typed)

    def _of(self, function: Any) -> list[Function]:
        wanted = getattr(function, "py_func", function)
        found = [record for record in self._functions if record.function() is wanted]
        if found or getattr(wanted, "__closure__", None):
            return found
        return [record for record in self._functions if record.code is wanted.__code__]


def scalar_dtype(kind: Any) -> _DType | None:
    """NumPy dtype of a Numba scalar type, None for anything else."""
    kind = seam.types.unliteral(kind)
    if not isinstance(kind, seam.types.Number | seam.types.Boolean):
        return None
    try:
        dtype: _DType = np.dtype(seam.numpy_support.as_dtype(kind))
    except (NotImplementedError, seam.errors.NumbaNotImplementedError):
        return None
    return dtype
