"""Validate the body of a function before Numba's inference and the engine see it.

Neither runs a learner's statement. But while they compile, both ask a module for any attribute
that the text names (`np.load`, `cuda.to_device`), Numba evaluates the signature that a text holds,
follows a `with` to its context manager, and takes `getattr` with a name apart. So a body may have
modules only as the owner of a listed name, no attribute that begins with an underscore, no builtin
that kernels do not use, and no statement that defines or imports for the host. Both also compute
an operator between two constants, so none may be of endless length, as `N ** N` for a large N.
"""

from __future__ import annotations

import ast
import builtins
import dis
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from types import CodeType
from typing import Any

from numba import types

from .arithmetic import MAX_BITS, TooLarge, bounded
from .listed import exists, is_listed, is_space, listed
from .program import NotAProgram, Value, live


class NotForKernels(NotAProgram):
    """Something in the body of a function that no kernel has."""


_BUILTINS = frozenset(
    """abs all any bool chr complex divmod enumerate filter float hasattr int isinstance iter len
    list map max min next object ord pow print range reversed round set slice sorted str sum tuple
    type zip Ellipsis NotImplemented""".split()
)
_GROWING = (ast.Pow, ast.LShift, ast.Mult, ast.Mod)
"""Operators whose result may be far larger than what they take; % is, of a text."""

_STATEMENTS: Mapping[type[ast.AST], str] = {
    ast.With: "`with`",
    ast.AsyncWith: "`with`",
    ast.AsyncFor: "`async for`",
    ast.AsyncFunctionDef: "`async def`",
    ast.Await: "`await`",
    ast.ClassDef: "class",
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.Global: "`global`",
}


def check_body(node: ast.FunctionDef, code: CodeType, names: Mapping[str, Value]) -> None:
    """Raise if a function has what no kernel has; `names` is what its globals stand for.

    Raises:
        NotForKernels: with the line.
    """
    owners = {id(one.value): one for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    inner = [one for one in _body(node) if isinstance(one, ast.FunctionDef)]
    outer = global_names(code)
    constants = _Constants(node, names)
    for one in _body(node):
        word = _STATEMENTS.get(type(one))
        if word is not None:
            raise _refused(one, f"a kernel has no {word}")
        if isinstance(one, ast.Attribute) and one.attr.startswith("_"):
            raise _refused(one, f"a kernel has no attribute {one.attr[:40]}")
        if isinstance(one, ast.Name) and one.id in outer:
            _check_name(one, names, owners)
        if isinstance(one, ast.Constant) and type(one.value) is int:
            if one.value.bit_length() > MAX_BITS:
                raise _refused(one, f"a number of more than {MAX_BITS} bits")
        if isinstance(one, ast.BinOp) and isinstance(one.op, _GROWING):
            _check_size(one, constants)
    for function in inner:
        if function.decorator_list:
            raise _refused(function, "a function inside a kernel has no decorator")


def _refused(node: ast.AST, what: str) -> NotForKernels:
    return NotForKernels(f"line {getattr(node, 'lineno', 0)}: {what}")


def _body(node: ast.FunctionDef) -> Iterator[ast.AST]:
    """Everything in a function but its own decorators, default values and annotations."""
    for statement in node.body:
        yield from ast.walk(statement)


def global_names(code: CodeType) -> set[str]:
    """The global names that a function reads, the functions inside it included."""
    found: set[str] = set()
    waiting = [code]
    while waiting:
        one = waiting.pop()
        for step in steps(one):
            if step.opname.startswith("LOAD") and step.opname.endswith(("GLOBAL", "NAME")):
                found.add(str(step.argval))
        waiting.extend(part for part in one.co_consts if isinstance(part, CodeType))
    return found


def steps(code: CodeType) -> Iterator[dis.Instruction]:
    """The instructions of code, the values of its constants left out.

    `dis` writes each of them in decimal, and Python refuses to do that for a number of more than
    4300 digits, which a text may well have in hexadecimal.
    """
    return dis.get_instructions(code.replace(co_consts=(None,) * len(code.co_consts)))


def _check_name(
    node: ast.Name, names: Mapping[str, Value], owners: Mapping[int, ast.Attribute]
) -> None:
    value = names.get(node.id)
    if value is None:
        known = hasattr(builtins, node.id)
        error = known and _is_exception(getattr(builtins, node.id))
        if known and not error and node.id not in _BUILTINS:
            raise _refused(node, f"{node.id} is not for kernels")
        return  # not defined at all: Numba says so
    if value.kind != "listed":
        return
    path, whole, last = value.data, node.id, owners.get(id(node))
    while is_space(path):
        if last is None:
            raise _refused(node, f"{whole} is a module: name what is used of it, as in {whole}.x")
        path, whole = f"{path}.{last.attr}", f"{whole}.{last.attr}"
        if not is_listed(path):
            if exists(path):
                raise _refused(last, f"{whole} is not for kernels")
            return  # there is none: Numba says so
        last = owners.get(id(last))
    if last is not None and not _has_members(path, last.attr):
        raise _refused(last, f"{whole}.{last.attr[:40]} is not for kernels")


def _has_members(path: str, name: str) -> bool:
    """Whether a listed name has this member for kernels, or none at all of that name."""
    if path in _INDICES:
        return True
    found: Any = listed(path)
    return not hasattr(found, name) or isinstance(found, types.Type | int | float)


_INDICES = tuple(f"numba.cuda.{name}" for name in ("threadIdx", "blockIdx", "blockDim", "gridDim"))


def _check_size(node: ast.BinOp, constants: _Constants) -> None:
    try:
        if isinstance(node.op, ast.Mod) and isinstance(constants.of(node.left), str):
            raise TooLarge("is a text that is formatted")
        constants.of(node)
    except TooLarge as error:
        raise _refused(node, f"{ast.unparse(node)[:60]} {error}") from None


class _Constants:
    """What a name or literal stands for that Numba and the engine know while they compile."""

    def __init__(self, node: ast.FunctionDef, names: Mapping[str, Value]) -> None:
        self._names = names
        self._arguments = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        self._known: dict[str, Any] = {}
        self._set: dict[str, list[ast.expr | None]] = {}
        for one in _body(node):
            if isinstance(one, ast.Assign):
                for target in one.targets:
                    self._store(target, one.value)
            elif isinstance(one, ast.NamedExpr | ast.AnnAssign):
                self._store(one.target, one.value)

    def _store(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self._set.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Tuple | ast.List):
            values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            for part, one in zip_longest(target.elts, values[: len(target.elts)]):
                self._store(part, one)

    def of(self, node: ast.expr, depth: int = 20) -> Any:
        """The largest number, tuple or text that it may stand for; None if it is no constant."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, int | float | str) else None
        if isinstance(node, ast.UnaryOp) and depth:
            return self.of(node.operand, depth - 1)
        if isinstance(node, ast.BinOp) and depth:
            sides = self.of(node.left, depth - 1), self.of(node.right, depth - 1)
            return _computed(type(node.op), *sides)
        if isinstance(node, ast.Tuple):
            return (None,) * len(node.elts)
        return self._named(node.id) if isinstance(node, ast.Name) else None

    def _named(self, name: str) -> Any:
        """The same of a name; of a variable that is set several times, the largest."""
        if name not in self._known:
            self._known[name] = None  # while it is asked for: x = x * x
            self._known[name] = self._of_name(name)
        return self._known[name]

    def _of_name(self, name: str) -> Any:
        if name in self._arguments:
            return None
        if name in self._set:
            found = [self.of(one) for one in self._set[name] if one is not None]
            known = [one for one in found if one is not None]
            return max(known, key=_extent, default=None)
        value = self._names.get(name)
        if value is None or value.kind in ("function", "listed", "dtype", "array", "none"):
            return None
        return (None,) * len(value.data) if value.kind == "tuple" else live(value, ())


def _extent(value: Any) -> float:
    if isinstance(value, tuple | str):
        return float(len(value))
    return abs(value) if isinstance(value, int) else 0.0


def _computed(kind: type[ast.operator], left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    try:
        return bounded(kind, left, right)
    except TooLarge:
        raise
    except Exception:
        return None


def _is_exception(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)
