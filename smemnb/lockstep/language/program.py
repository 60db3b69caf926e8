"""A function turned into closures once, and run for the lanes of any batch.

A `Library` holds the programs of a kernel and of the device functions it calls, compiled for one
set of inferred types. Like Numba, it reads globals and closure variables when it compiles, and
keeps them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..lanes import NO_LANE, LaneValue, Mask
from ..lifetime import kept_in
from .calling.binding import Parameters
from .mixed import known
from .nodes import EXPRESSIONS, STATEMENTS
from .pruning import Decided, Place
from .raising import Raised
from .scope import NOTHING, Frame, InferredTypes, Scope


class Program:
    """One function, ready to run."""

    def __init__(self, function: Any, library: Library) -> None:
        scope = Scope(function, library)
        self.name = scope.tree.name
        self.parameters = scope.parameters
        self.signature = Parameters(
            self.name, scope.parameters, scope.rest, _defaults(function, scope.parameters)
        )
        self.check_count = self.signature.check_count
        self.simple = len(self.parameters) if not scope.rest else -1
        self.library = library
        body = scope.tree.body
        if ast.get_docstring(scope.tree) is not None:
            body = body[1:]
        self.body = scope.block(body)

    def run(
        self,
        batch: Any,
        mask: Mask,
        arguments: Sequence[LaneValue],
        named: Mapping[str, LaneValue] | None = None,
        *,
        kernel: bool = False,
        caller: Frame | None = None,
    ) -> LaneValue:
        """The function's result for the lanes of `mask`.

        Raises:
            Exception: what a thread of a kernel with debug=True raised.
        """
        frame = Frame(batch, mask, kernel=kernel)
        if not named and len(arguments) == self.simple:
            frame.values.update(zip(self.parameters, arguments, strict=True))
        else:
            frame.values.update(self.signature.bound(arguments, named or {}))
        self.body(frame, mask)
        if frame.raised is not NO_LANE:
            if caller is not None:
                caller.end(frame.raised)
            elif kernel:
                self.library.raise_noted()
        return None if frame.result is NOTHING else frame.result


def _defaults(function: Any, parameters: Sequence[str]) -> dict[str, LaneValue]:
    """The default values of the last parameters."""
    values = function.__defaults__ or ()
    names = parameters[len(parameters) - len(values) :]
    return {name: known(value) for name, value in zip(names, values, strict=True)}


class Library:
    """The programs that one kernel reaches, for one set of inferred types.

    `watched` programs report arithmetic in an index that wraps.
    """

    statements, expressions = STATEMENTS, EXPRESSIONS

    def __init__(
        self, types: InferredTypes | None, kernel: Any = None, *, watched: bool = False
    ) -> None:
        self.types, self.watched, self.kernel = types, watched, kernel
        self.index_nodes: dict[ast.AST, frozenset[ast.AST]] = {}
        self.programs: dict[Any, Program] = {}
        self.debug = bool(getattr(types, "debug", False))
        # of device functions too: the kernel's option holds for all that is compiled with it
        self.flushes = bool(getattr(types, "fastmath", False))
        self._noted: Raised | None = None

    def program(self, function: Any) -> Program:
        """The program of a function, compiled at its first use."""
        program = self.programs.get(function)
        if program is None:
            program = self.programs[function] = Program(function, self)
        return program

    def note(self, raised: Raised) -> None:
        """Keep the exception of the lowest thread."""
        if self._noted is None or raised.number < self._noted.number:
            self._noted = raised

    def raise_noted(self) -> None:
        """Raise what a thread of this launch raised, if it is to be raised."""
        noted, self._noted = self._noted, None
        if noted is not None:
            raise noted.error

    def inferred(self, function: Any, name: str, line: int) -> np.dtype[Any] | None:
        """The dtype that must be enforced where a variable is read."""
        return None if self.types is None else self.types.local(function, name, line)

    def returned(self, function: Any) -> np.dtype[Any] | None:
        """The dtype that a device function returns on every path, None if it is not known."""
        return None if self.types is None else self.types.returned(function)

    def held(self, function: Any, name: str, line: int) -> Any:
        """The dtype, or tuple of dtypes, of a variable where it is read; None if not known."""
        return None if self.types is None else self.types.held(function, name, line)

    def knows(self, function: Any) -> bool:
        """Whether the types of this function's variables are known."""
        return self.types is not None and self.types.knows(function)

    def decided(self, function: Any) -> Mapping[Place, Decided] | None:
        """The tests that Numba decided, None if it was not asked."""
        return None if self.types is None else self.types.decided(function)

    def with_none(self, function: Any, place: Place) -> frozenset[bool]:
        """What `==` or `!=` at this place comes to by types alone; empty where they do not say."""
        return frozenset() if self.types is None else self.types.with_none(function, place)

    def optional(self, function: Any) -> bool:
        """Whether None may stand in some threads for a number, as far as types say."""
        return self.types is None or self.types.optional(function)

    def of_two_enums(self, function: Any, line: int) -> bool:
        """Whether an `is` on this line compares members of two enums, which are never the same."""
        return self.types is not None and self.types.never_same(function, line)

    def merged(self, function: Any, places: Sequence[Place]) -> np.dtype[Any] | None:
        """The dtype of a conditional expression with sides at these places, None if not known."""
        return None if self.types is None else self.types.merged(function, places)

    def widened(self, function: Any, place: Place) -> np.dtype[Any] | None:
        """The dtype of what is computed at this place, None if its operands decide it."""
        return None if self.types is None else self.types.widened(function, place)


def library_of(function: Any, types: InferredTypes | None, *, watched: bool = False) -> Library:
    """The library of a kernel, kept for its next launch."""
    kept = kept_in(function, "programs")
    key = types, watched
    if key not in kept:
        kept[key] = Library(types, function, watched=watched)
    library: Library = kept[key]
    return library
