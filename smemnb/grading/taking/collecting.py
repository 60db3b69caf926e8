"""A kernel of a file with all that it names, as a `Program`."""

from __future__ import annotations

import ast
import builtins
import warnings
from types import CodeType
from typing import Any

from ..permitted import global_names
from ..program import MAX_FUNCTIONS, Function, NotAProgram, Program, Value, check, value_of
from .constants import Host, Unclear, said
from .names import Defined, Names


class Collector:
    """Collects the functions that a kernel reaches, with what their names stand for.

    Args:
        names: what the names of the file stand for where the kernel is looked at.
        live: the same names at the end of the file, by which its functions know their home.
    """

    def __init__(self, names: Names, live: Names) -> None:
        self._names, self._live = names, live
        self._indices: dict[int, int] = {}
        self._functions: list[Function | None] = []

    def program(self, kernel: Defined) -> Program:
        """The program of a kernel.

        Raises:
            Unclear: something in it cannot be taken from the text.
        """
        self._index(kernel)
        program = Program(tuple(one for one in self._functions if one is not None))
        try:
            check(program)
        except NotAProgram as error:
            raise Unclear(f"is not taken: {error}") from None
        return program

    def _index(self, function: Defined) -> int:
        if id(function) not in self._indices:
            if len(self._functions) == MAX_FUNCTIONS:
                raise Unclear(f"calls more than {MAX_FUNCTIONS} functions")
            at = self._indices[id(function)] = len(self._functions)
            self._functions.append(None)
            self._functions[at] = self._function(function)
        return self._indices[id(function)]

    def _function(self, one: Defined) -> Function:
        names = self._names if one.home is self._live else one.home
        node = one.node
        first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
        lines = one.cell.text.split("\n")[first - 1 : node.end_lineno]
        found: dict[str, Value] = {}
        for name in sorted(loaded(node)):
            try:
                value = names.lookup(name)
            except KeyError:
                if names.stars and not hasattr(builtins, name):
                    star = f"from {names.stars[-1]} import *"
                    raise Unclear(f"needs {name}, which may come of `{star}`") from None
                continue
            found[name] = self._value(value, name)
        return Function(
            name=node.name,
            source="\n".join(lines) + "\n",
            file=one.cell.place,
            first_line=first,
            kind=one.kind,
            options=one.options,
            names=found,
            defaults=tuple(self._value(value, "a default value") for value in one.defaults),
        )

    def _value(self, value: Any, name: str) -> Value:
        if isinstance(value, Defined):
            return Value("function", self._index(value))
        if isinstance(value, tuple):
            return Value("tuple", tuple(self._value(item, name) for item in value))
        if isinstance(value, Host):
            raise Unclear(f"needs {name}: {value.path} is not for kernels")
        if isinstance(value, Names):
            raise Unclear(f"needs {name}, a file of the submission: import the names that it uses")
        try:
            return value_of(value)
        except NotAProgram:
            raise Unclear(f"needs {name}: {said(value)} is not for kernels") from None


def loaded(node: ast.FunctionDef) -> set[str]:
    """The global names that a function reads, the functions inside it included.

    Raises:
        Unclear: Python cannot compile the function.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = compile(ast.Module([node], []), "<submission>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unclear(f"does not compile: {type(error).__name__}: {error}"[:200]) from None
    inner = [one for one in whole.co_consts if isinstance(one, CodeType)]
    return set().union(*(global_names(one) for one in inner if one.co_name == node.name))
