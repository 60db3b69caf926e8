"""What inference found, in the terms in which the lockstep engine asks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

from ...lockstep.language.pruning import Decided
from .. import seam
from .decisions import agreed
from .implementations import member_of, members_named, overload_of
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
    decided: Mapping[Place, Decided] = field(default_factory=dict)
    with_none: Mapping[Place, bool] = field(default_factory=dict)
    optional: bool = True  # whether any of its values may be None in some threads

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

    def held(self, function: Any, name: str, line: int) -> Any:
        """dtype of a variable where it is read, a tuple of them for a tuple, else None.

        Where a function is called with several types, one of them; None if any is no number.
        """
        found = []
        for record in self._of(function):
            kinds = record.reads.get((name, line)) or record.kinds.get(name, frozenset())
            found.append(_dtypes(next(iter(kinds))) if len(kinds) == 1 else None)
        return None if None in found or not found else found[0]

    def knows(self, function: Any) -> bool:
        """Whether the types of this function were inferred on their own."""
        return bool(self._of(function))

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

    def decided(self, function: Any) -> Mapping[Place, Decided]:
        """The tests of a function that Numba decided, for all types that it is called with."""
        return agreed([f.decided for f in self._of(function)])

    def member(self, value: Any, name: str, *, method: bool) -> Any:
        """What `implementation` takes for a method or attribute that users have added to a type."""
        return member_of(value, name, method=method)

    def members_named(self, name: str, *, method: bool) -> bool:
        """Whether users have added a method or attribute of this name to any type."""
        return members_named(name, method=method)

    def with_none(self, function: Any, place: Place) -> frozenset[bool]:
        """What `==` or `!=` at this place of a function comes to by its types alone.

        Nothing where no side of it is None; both where it is called with and without.
        """
        return frozenset(f.with_none[place] for f in self._of(function) if place in f.with_none)

    def optional(self, function: Any) -> bool:
        """Whether a function has a value that is None in some threads and a number in others."""
        found = self._of(function)
        return not found or any(record.optional for record in found)

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


def _dtypes(kind: Any) -> Any:
    if not isinstance(kind, seam.types.BaseTuple):
        return scalar_dtype(kind)
    items = [_dtypes(item) for item in kind]
    if None in items:
        return None
    named = getattr(kind, "instance_class", None)
    return tuple(items) if named is None else named(*items)


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
