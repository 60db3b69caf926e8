"""A function turned into closures once, and run for the lanes of any batch.

A `Library` holds the programs of a kernel and of the device functions it calls, compiled for one
set of inferred types. Like Numba, it reads globals and closure variables when it compiles, and
keeps them.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import LaunchRefused
from ..lanes import LaneValue, Mask, constant
from . import elements, index_arithmetic, statements  # noqa: F401  (they fill the tables of scope)
from .scope import Frame, InferredTypes, Scope


class Program:
    """One function, ready to run."""

    def __init__(self, function: Any, library: Library) -> None:
        scope = Scope(function, library)
        self.name = scope.tree.name
        self.parameters = scope.parameters
        self.defaults = {
            name: constant(p.default)
            for name, p in inspect.signature(function).parameters.items()
            if p.default is not p.empty
        }
        body = scope.tree.body
        if ast.get_docstring(scope.tree) is not None:
            body = body[1:]
        self.body = scope.block(body)

    def check_count(self, count: int) -> None:
        """Raise LaunchRefused unless a launch may give this many arguments."""
        least = len(self.parameters) - len(self.defaults)
        if not least <= count <= len(self.parameters):
            raise LaunchRefused(
                f"{self.name} takes {len(self.parameters)} arguments "
                f"({', '.join(self.parameters)}), but the launch gives {count}."
            )

    def run(
        self,
        batch: Any,
        mask: Mask,
        arguments: Sequence[LaneValue],
        named: Mapping[str, LaneValue] | None = None,
        *,
        kernel: bool = False,
    ) -> LaneValue:
        """The function's result for the lanes of `mask`."""
        frame = Frame(batch, mask, kernel)
        frame.values.update(self.defaults)
        frame.values.update(zip(self.parameters, arguments, strict=False))
        if named:
            frame.values.update(named)
        self.body(frame, mask)
        return frame.result


class Library:
    """The programs that one kernel reaches, for one set of inferred types.

    `watched` programs tell of arithmetic in an index that wraps.
    """

    def __init__(self, types: InferredTypes | None, watched: bool = False) -> None:
        self.types, self.watched = types, watched
        self.index_nodes: dict[ast.AST, frozenset[ast.AST]] = {}
        self.programs: dict[Any, Program] = {}

    def program(self, function: Any) -> Program:
        """The program of a function, compiled at its first use."""
        program = self.programs.get(function)
        if program is None:
            program = self.programs[function] = Program(function, self)
        return program

    def inferred(self, function: Any, name: str, line: int) -> np.dtype[Any] | None:
        """The dtype that must be enforced where a variable is read."""
        return None if self.types is None else self.types.local(function, name, line)

    def returned(self, function: Any) -> np.dtype[Any] | None:
        """The dtype that a device function returns on every path, None if it is not known."""
        return None if self.types is None else self.types.returned(function)


@functools.lru_cache(maxsize=256)
def _library(function: Any, types: Any, watched: bool) -> Library:
    return Library(types, watched)


def library_of(function: Any, types: InferredTypes | None, watched: bool = False) -> Library:
    """The library of a kernel, kept for its next launch."""
    key: Any = types
    return _library(function, key, watched)
