"""Which indices of local arrays a compiler knows: a kernel's source, run as far as it is constant.

`accesses(function)` goes through the source of a kernel, and of the device functions that it calls,
as NVIDIA's compiler does: constants, names of the module and of the factory around a kernel, and
arithmetic of them are known; so are extents of local arrays. A loop over a range that is known is
gone through round by round, as the compiler unrolls it, if it is short enough; then its variable is
known in each round, and so is what the rounds count up, also where all of the range is known but
where it begins, as of `range(x - 1, x + 2)`. Of all other loops the variable is known at run time
only, and so is what changes from round to round. Arguments, thread indices and what is loaded from
memory are known at run time only; where a branch that depends on them sets a name to different
values, so is that name.

Local arrays are followed through names, tuples, slices, rows and calls.

Source of the limits: kernels compiled for cc 9.0 with NVVM and nvJitLink 13.5, with longer and
longer loops. A copy into a local array is unrolled up to 217 rounds, one with a guard up to 113,
sums of 8 products up to 65, a sine up to 25, products of 14 x 14 elements but not of 15 x 15:
`ROUNDS` and `UNITS` lie below all of them. Between them and `LONG` it is the compiler that decides.
Loops with `break`, with a barrier and `while` loops are unrolled alike; `for value in array` never
is.

**Limits**: what the compiler finds out by other means, such as that an index is the same in every
round, is not known here. Code beyond `MOST` operations is left open.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ...errors import UnsupportedSyntax
from ...lockstep.language.scope import InferredTypes, live_tree
from ...lockstep.memory.attributes import numpy_dtype
from ...lockstep.protocol import implementation_of
from ...lockstep.source import closure_values

ROUNDS = 128
"""Rounds of a loop that are unrolled for certain, if they are not too much work."""

UNITS = 450
"""Operations of all rounds of a loop that are unrolled for certain, inner loops included."""

OWN = 0.25
"""What an access of a local array counts among them: most become no instruction."""

LONG = 512
"""Rounds of a loop that is not unrolled whatever it does."""

MOST = 100_000
"""Operations that are gone through for one kernel."""

DEPTH = 16

_WEIGHTS = {"sin": 30, "cos": 30, "tan": 40, "pow": 40, "exp": 8, "log": 10, "sqrt": 2, "erf": 20}
_DIVISION = 8

REGISTERS, OPEN, RUN_TIME = 0, 1, 2
"""How an index is known: at compile time; only if the compiler unrolls a loop; at run time."""


@dataclass(frozen=True)
class Unknown:
    """A value that is not known at compile time: how sure that is, and why, in words.

    Values of one `base` differ by what is known: `offset`. None is the base of no other value.
    """

    degree: int
    why: str
    base: Any = None
    offset: int = 0


@dataclass(eq=False)
class Declared:
    """A local array: where it is declared, what it is, and what is done to it.

    `through` is why it lies in memory whatever its indices are, "" if nothing says so, and
    `handed` what was done to it that is not known here.
    """

    name: str
    function: FunctionType
    node: ast.Call
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    through: tuple[ast.AST, str] | None = None
    handed: tuple[ast.AST, str] | None = None


@dataclass(frozen=True)
class View:
    """A local array, or a part of it: axes without an index, and how the indices are known."""

    declared: Declared
    shape: tuple[int | None, ...]
    unknown: Unknown | None = None


@dataclass(frozen=True)
class Touched:
    """An access expression to a local array, and how its index is known at worst.

    `looped` is whether it stands in a loop that is not unrolled.
    """

    declared: Declared
    function: FunctionType
    node: ast.AST
    kind: str
    unknown: Unknown | None
    looped: bool


class _Returned(Exception):
    """The function has returned, in all threads."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Left(Exception):
    """A loop has been left by `break`, in all threads, or a round by `continue`."""

    def __init__(self, by: str) -> None:
        self.by = by


class _TooMuch(Exception):
    """More operations than are gone through."""


@dataclass
class _Scope:
    """A function that is gone through: its names, and what it has returned in some threads."""

    function: FunctionType
    names: dict[str, Any]
    results: list[Any] = field(default_factory=list)
    outer: Mapping[str, Any] = field(default_factory=dict)


def accesses(
    function: FunctionType, types: InferredTypes | None = None
) -> tuple[list[Declared], list[Touched], bool]:
    """The local arrays of a kernel, what is done to them, and whether all of it was gone through.

    Branches that Numba prunes for these types are not gone through.

    Raises:
        UnsupportedSyntax: the source cannot be read.
    """
    run = _Run(types)
    tree = live_tree(function, types)
    names: dict[str, Any] = {
        one.arg: _argument()
        for one in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)
    }
    whole = True
    try:
        run.body(tree.body, _Scope(function, names))
    except _Returned:
        pass
    except (_TooMuch, RecursionError):
        whole = False
    return list(run.declared.values()), run.touched, whole


def declares_local(function: Any) -> bool:
    """Whether a kernel, or a function that it calls, asks for a local array."""
    from ...lockstep.fibers.waiting import local_bytes

    return local_bytes(function) > 0


class _Run:
    """Goes through statements and expressions; a value is a Python object, `Unknown` or `View`."""

    def __init__(self, types: InferredTypes | None) -> None:
        self.types = types
        self.declared: dict[tuple[Any, int, int], Declared] = {}
        self.touched: list[Touched] = []
        self._units, self._looped, self._depth = 0.0, 0, 0
        self._limit: float = MOST

    # --- statements -------------------------------------------------------------------------

    def body(self, statements: Sequence[ast.stmt], scope: _Scope) -> None:
        for statement in statements:
            self._statement(statement, scope)

    def _statement(self, node: ast.stmt, scope: _Scope) -> None:
        kind = type(node).__name__
        if kind == "Assign":
            assert isinstance(node, ast.Assign)
            for target in node.targets:
                self._assign(target, self._named(target, node.value, scope), scope)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self._assign(node.target, self._named(node.target, node.value, scope), scope)
        elif isinstance(node, ast.AugAssign):
            value = self._binary(
                node.op, self.value(_loaded(node.target), scope), node.value, scope
            )
            self._assign(node.target, value, scope)
        elif isinstance(node, ast.For):
            self._for(node, scope)
        elif isinstance(node, ast.While):
            self._while(node, scope)
        elif isinstance(node, ast.If):
            self._if(node, scope)
        elif isinstance(node, ast.Return):
            raise _Returned(None if node.value is None else self.value(node.value, scope))
        elif isinstance(node, (ast.Break, ast.Continue)):
            raise _Left(kind)
        elif isinstance(node, ast.Expr):
            self.value(node.value, scope)
        elif isinstance(node, ast.FunctionDef):
            scope.names[node.name] = _Inner(node, scope)
        else:
            self._children(node, scope)

    def _named(self, target: ast.expr, value: ast.expr, scope: _Scope) -> Any:
        """A value, in which the arrays that are declared get the names they are assigned to."""
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            if len(target.elts) == len(value.elts):
                pairs = zip(target.elts, value.elts, strict=True)
                return tuple(self._named(one, other, scope) for one, other in pairs)
        found = self.value(value, scope)
        if isinstance(found, View) and isinstance(target, ast.Name) and not found.declared.name:
            found.declared.name = target.id
        return found

    def _assign(self, target: ast.expr, value: Any, scope: _Scope) -> None:
        if isinstance(target, ast.Name):
            if isinstance(value, Unknown) and value.base is None:
                value = replace(value, base=object())
            scope.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            several = isinstance(value, tuple) and len(value) == len(target.elts)
            for number, part in enumerate(target.elts):
                self._assign(part, value[number] if several else _loaded_from(value), scope)
        elif isinstance(target, ast.Subscript):
            self._subscript(target, scope, "store")
        elif isinstance(target, ast.Attribute):
            self._field(target, scope, "store")

    def _if(self, node: ast.If, scope: _Scope) -> None:
        test = self.value(node.test, scope)
        if not isinstance(test, (Unknown, View)):
            self.body(node.body if test else node.orelse, scope)
            return
        before = dict(scope.names)
        ends = [self._branch(part, scope, dict(before)) for part in (node.body, node.orelse)]
        going = [names for names, how in ends if how is None]
        why = f"set to different values by the branch in line {node.lineno}"
        degree = test.degree if isinstance(test, Unknown) else RUN_TIME
        scope.names = _merged(going, Unknown(degree, why)) if going else before
        ways = [how for _, how in ends]
        if None not in ways:
            left = [how.by for how in ways if isinstance(how, _Left)]
            if len(left) == len(ways):
                raise _Left("Break" if "Break" in left else "Continue")
            if not left:
                raise _Returned(self._merged_result(scope))

    def _branch(
        self, statements: Sequence[ast.stmt], scope: _Scope, names: dict[str, Any]
    ) -> tuple[dict[str, Any], _Left | _Returned | None]:
        """The names after a branch that some threads take, and how they leave it."""
        scope.names = names
        try:
            self.body(statements, scope)
        except _Left as left:
            return scope.names, left
        except _Returned as returned:
            scope.results.append(returned.value)
            return scope.names, returned
        return scope.names, None

    # --- loops ------------------------------------------------------------------------------

    def _for(self, node: ast.For, scope: _Scope) -> None:
        over = self.value(node.iter, scope)
        rounds: Sequence[Any] | None = None
        if isinstance(over, (range, tuple)):
            rounds = over
        elif isinstance(over, View):
            self._iterated(over, node.iter, scope)
        unknown = _of_loop(node, over)
        if rounds is not None:
            if self._unrolled(node, rounds, scope):
                self.body(node.orelse, scope)
                return
            unknown = Unknown(
                RUN_TIME if len(rounds) >= LONG else OPEN,
                f"the variable of a loop of {len(rounds):,} rounds, which the compiler may leave"
                " a loop",
            )

        def begin() -> None:
            self._assign(node.target, unknown, scope)

        self._loop(node, begin, scope)
        self.body(node.orelse, scope)

    def _unrolled(self, node: ast.For, rounds: Sequence[Any], scope: _Scope) -> bool:
        """Go through a short loop round by round; False, and nothing done, if it is too long."""
        if len(rounds) > ROUNDS:
            return False

        def each() -> Iterator[None]:
            for value in rounds:
                self._assign(node.target, value, scope)
                yield

        return self._tried(node.body, each(), scope)

    def _tried(self, body: Sequence[ast.stmt], rounds: Iterator[None], scope: _Scope) -> bool:
        """Rounds of a loop as straight code, undone where that is too much of it."""
        names, results = dict(scope.names), len(scope.results)
        touched, limit = len(self.touched), self._limit
        self._limit = min(limit, self._units + UNITS)
        kept = self._units
        try:
            for _ in rounds:
                try:
                    self.body(body, scope)
                except _Left as left:
                    if left.by == "Break":
                        break
        except _TooMuch:
            if kept + UNITS > limit:  # it is the code around that is too long
                raise
            scope.names = names
            del scope.results[results:], self.touched[touched:]
            self._units = kept
            return False
        finally:
            self._limit = limit
        return True

    def _while(self, node: ast.While, scope: _Scope) -> None:
        def each() -> Iterator[None]:
            for _ in range(ROUNDS + 1):
                test = self.value(node.test, scope)
                if isinstance(test, (Unknown, View)):
                    raise _TooMuch
                if not test:
                    return
                yield
            raise _TooMuch

        if not isinstance(self.value(node.test, scope), (Unknown, View)):
            if self._tried(node.body, each(), scope):
                return
        self._loop(node, lambda: self.value(node.test, scope), scope)

    def _loop(self, node: ast.For | ast.While, begin: Callable[[], Any], scope: _Scope) -> None:
        """A loop that stays one: what its rounds change is known at run time only."""
        changed = Unknown(
            RUN_TIME, f"changed from round to round of the loop in line {node.lineno}"
        )
        assigned = {
            one.id
            for one in ast.walk(node)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        entry = dict(scope.names)
        self._looped += 1
        while True:
            scope.names, touched = dict(entry), len(self.touched)
            begin()
            try:
                self.body(node.body, scope)
            except _Left:
                pass
            except _Returned as returned:
                scope.results.append(returned.value)
            after = scope.names
            differ = {
                name
                for name in assigned & entry.keys()
                if not _covers(entry[name], after.get(name, entry[name]))
            }
            if not differ:
                break
            del self.touched[touched:]
            entry |= dict.fromkeys(differ, changed)
        self._looped -= 1
        scope.names = _merged([entry, after], changed)

    def _iterated(self, over: View, node: ast.AST, scope: _Scope) -> None:
        """`for value in array` walks by address: the array has to have addresses."""
        self._touch(over, node, "load", scope)
        if over.declared.through is None:
            over.declared.through = (node, "is walked by `for ... in`")

    # --- expressions ------------------------------------------------------------------------

    def value(self, node: ast.expr, scope: _Scope) -> Any:
        """What an expression is: a Python object where it is known."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._name(node.id, scope)
        if isinstance(node, ast.Tuple):
            return tuple(self.value(part, scope) for part in node.elts)
        if isinstance(node, ast.BinOp):
            return self._binary(node.op, self.value(node.left, scope), node.right, scope)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node, scope)
        if isinstance(node, ast.Compare):
            return self._compare(node, scope)
        if isinstance(node, ast.BoolOp):
            return self._both(node, scope)
        if isinstance(node, ast.IfExp):
            return self._chosen(node, scope)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, scope, "load")
        if isinstance(node, ast.Attribute):
            return self._field(node, scope, "load")
        if isinstance(node, ast.Call):
            return self._call(node, scope)
        return self._children(node, scope)

    def _children(self, node: ast.AST, scope: _Scope) -> Unknown:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._escape(self.value(child, scope), node, "is used in a way unknown here")
            elif isinstance(child, ast.stmt):
                self._statement(child, scope)
            else:
                self._children(child, scope)
        return Unknown(RUN_TIME, "")

    def _name(self, name: str, scope: _Scope) -> Any:
        if name in scope.names:
            return scope.names[name]
        if name in scope.outer:
            return scope.outer[name]
        function = scope.function
        closure = closure_values(function)
        if name in closure:
            return closure[name]
        if name in function.__globals__:
            return function.__globals__[name]
        return getattr(builtins, name, Unknown(RUN_TIME, ""))

    def _spend(self, units: float = 1) -> None:
        self._units += units
        if self._units > self._limit:
            raise _TooMuch

    def _binary(self, op: ast.operator, left: Any, other: ast.expr, scope: _Scope) -> Any:
        right = self.value(other, scope)
        if _is_number(left) and _is_number(right):
            return _computed(_OPERATORS[type(op)], left, right)
        if (moved := _moved(op, left, right)) is not None:
            return moved
        self._spend(_DIVISION if isinstance(op, (ast.Div, ast.FloorDiv, ast.Mod)) else 1)
        return _worst(left, right)

    def _unary(self, node: ast.UnaryOp, scope: _Scope) -> Any:
        value = self.value(node.operand, scope)
        if _is_number(value) or isinstance(value, bool):
            return _computed(_UNARY[type(node.op)], value)
        self._spend()
        return _worst(value)

    def _compare(self, node: ast.Compare, scope: _Scope) -> Any:
        values = [self.value(part, scope) for part in (node.left, *node.comparators)]
        if not any(isinstance(one, (Unknown, View)) for one in values):
            pairs = zip(node.ops, values, values[1:], strict=False)
            found = [_computed(_COMPARE[type(op)], a, b) for op, a, b in pairs]
            return next((one for one in found if isinstance(one, Unknown)), None) or all(found)
        self._spend()
        return _worst(*values)

    def _both(self, node: ast.BoolOp, scope: _Scope) -> Any:
        found: Any = None
        unknown: list[Any] = []
        for part in node.values:
            found = self.value(part, scope)
            if isinstance(found, (Unknown, View)):
                unknown.append(found)
            elif bool(found) == isinstance(node.op, ast.Or):
                return found if not unknown else _worst(*unknown)
        return _worst(*unknown) if unknown else found

    def _chosen(self, node: ast.IfExp, scope: _Scope) -> Any:
        test = self.value(node.test, scope)
        if not isinstance(test, (Unknown, View)):
            return self.value(node.body if test else node.orelse, scope)
        sides = [self.value(part, scope) for part in (node.body, node.orelse)]
        if _same(*sides):
            return sides[0]
        for side in sides:
            if isinstance(side, View) and side.declared.through is None:
                side.declared.through = (node, "is chosen among arrays at run time")
        views = [side for side in sides if isinstance(side, View)]
        degree = test.degree if isinstance(test, Unknown) else RUN_TIME
        return views[0] if views else Unknown(degree, f"chosen by what line {node.lineno} tests")

    # --- arrays -----------------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript, scope: _Scope, kind: str) -> Any:
        of = self.value(node.value, scope)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not isinstance(of, View):
            index = [self._index(part, scope) for part in parts]
            self._spend()
            if isinstance(of, tuple) and isinstance(index[0], int):
                return _computed(operator.getitem, of, index[0])
            if isinstance(of, tuple):  # a tuple of arrays, one of them chosen at run time
                for one in of:
                    self._escape(one, node, "is chosen from a tuple at run time")
            return _loaded_from(of)
        return self._of_view(node, of, parts, scope, kind)

    def _of_view(
        self, node: ast.Subscript, of: View, parts: Sequence[ast.expr], scope: _Scope, kind: str
    ) -> Any:
        unknown, shape, whole = of.unknown, list(of.shape), False
        left: list[int | None] = []
        for part in parts:
            if isinstance(part, ast.Constant) and part.value is Ellipsis:
                whole, left, shape = True, list(shape), []
                break
            extent = shape.pop(0) if shape else None
            if isinstance(part, ast.Slice):
                whole = True
                bounds = [
                    None if one is None else self.value(one, scope)
                    for one in (part.lower, part.upper, part.step)
                ]
                unknown = _worse(unknown, *(self._said(one, part) for one in bounds))
                left.append(_length(bounds, extent))
            else:
                index = self._index(part, scope)
                unknown = _worse(unknown, self._said(index, part))
        left += shape
        found = replace(of, shape=tuple(left), unknown=unknown)
        if left and not (whole and kind == "store"):
            return found  # a row, or a slice
        if left:
            self._filled(found, node, scope)
            return found
        self._spend(OWN)
        if found.declared.dtype.names and kind == "load":
            return found
        self._touch(found, node, kind, scope)
        return Unknown(RUN_TIME, "loaded from a local array")

    def _filled(self, view: View, node: ast.AST, scope: _Scope) -> None:
        """A store into many places at once is a loop over them."""
        extents = [one for one in view.shape if one is not None]
        size = math.prod(extents) if len(extents) == len(view.shape) else LONG
        if size > ROUNDS:
            why = f"filled by a loop of {size:,} rounds, which the compiler may leave a loop"
            view = replace(view, unknown=_worse(view.unknown, Unknown(OPEN, why)))
        self._touch(view, node, "store", scope)

    def _index(self, node: ast.expr, scope: _Scope) -> Any:
        return self.value(node, scope)

    def _said(self, value: Any, node: ast.AST) -> Unknown | None:
        """Why an index is not known, with the name that stands in it; None where it is."""
        if value is None or isinstance(value, (int, np.integer)):
            return None
        unknown = value if isinstance(value, Unknown) else Unknown(RUN_TIME, "")
        return unknown

    def _touch(self, view: View, node: ast.AST, kind: str, scope: _Scope) -> None:
        self.touched.append(
            Touched(view.declared, scope.function, node, kind, view.unknown, self._looped > 0)
        )

    def _field(self, node: ast.Attribute, scope: _Scope, kind: str) -> Any:
        of = self.value(node.value, scope)
        if isinstance(of, View):
            known = {"shape": of.shape, "ndim": len(of.shape), "dtype": of.declared.dtype}
            if node.attr in known:
                return known[node.attr]
            if node.attr == "size":
                known_extents = [extent for extent in of.shape if extent is not None]
                whole = len(known_extents) == len(of.shape)
                return math.prod(known_extents) if whole else Unknown(RUN_TIME, "")
            if of.declared.dtype.names and node.attr in of.declared.dtype.names:
                self._touch(of, node, kind, scope)
                return Unknown(RUN_TIME, "loaded from a local array")
            return _Method(of, node.attr)
        if isinstance(of, (ModuleType, type)):
            return getattr(of, node.attr, Unknown(RUN_TIME, ""))
        return _loaded_from(of)

    def _escape(self, value: Any, node: ast.AST, how: str) -> None:
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, View) and one.declared.handed is None:
                one.declared.handed = (node, how)

    # --- calls ------------------------------------------------------------------------------

    def _call(self, node: ast.Call, scope: _Scope) -> Any:
        called = self.value(node.func, scope)
        if getattr(called, "__qualname__", "") == "local.array":
            return self._declare(node, scope)
        args = [self.value(one, scope) for one in node.args if not isinstance(one, ast.Starred)]
        named = {one.arg: self.value(one.value, scope) for one in node.keywords if one.arg}
        if isinstance(called, _Method):
            return self._method(called, node, scope)
        if isinstance(called, _Inner):
            return self._inside(called.node, scope.function, args, named, dict(called.scope.names))
        if called in (len,) and args and isinstance(args[0], View):
            return args[0].shape[0]
        if called is range:
            return _range(args)
        if called in _KNOWN and args and all(_is_number(one) for one in args):
            return _computed(called, *args)
        if (isinstance(called, type) and issubclass(called, np.generic)) or _is_type(called):
            return args[0] if len(args) == 1 and _is_number(args[0]) else _worst(*args)
        body = getattr(called, "py_func", called)
        module = str(getattr(body, "__module__", "") or "")
        if isinstance(body, FunctionType) and not module.startswith(("numba", "numpy", "math")):
            return self._function(body, node, args, named)
        self._spend(_WEIGHTS.get(getattr(called, "__name__", ""), 1))
        if getattr(implementation_of(called), "by_constants", False):
            return None  # it takes each element by its number
        for one in (*args, *named.values()):
            self._escape(one, node, f"is handed to {ast.unparse(node.func)}")
        return Unknown(RUN_TIME, f"the result of {ast.unparse(node.func)}")

    def _function(
        self, body: FunctionType, node: ast.Call, args: Sequence[Any], named: Mapping[str, Any]
    ) -> Any:
        """A device function, gone through with these arguments."""
        try:
            tree = live_tree(body, self.types)
        except UnsupportedSyntax:
            for one in (*args, *named.values()):
                self._escape(one, node, f"is handed to {ast.unparse(node.func)}")
            return Unknown(RUN_TIME, f"the result of {ast.unparse(node.func)}")
        return self._inside(tree, body, args, named, {})

    def _inside(
        self,
        tree: ast.FunctionDef,
        function: FunctionType,
        args: Sequence[Any],
        named: Mapping[str, Any],
        outer: Mapping[str, Any],
    ) -> Any:
        if self._depth >= DEPTH:
            raise _TooMuch
        parameters = [one.arg for one in (*tree.args.posonlyargs, *tree.args.args)]
        names: dict[str, Any] = {name: _argument() for name in parameters}
        defaults = tree.args.defaults
        own = _Scope(function, names, outer=outer)
        for parameter, default in zip(parameters[::-1], defaults[::-1], strict=False):
            names[parameter] = self.value(default, own)
        if tree.args.vararg is not None:
            names[tree.args.vararg.arg] = tuple(args[len(parameters) :])
        names |= dict(zip(parameters, args, strict=False)) | dict(named)
        for name, value in names.items():
            if isinstance(value, View) and not value.declared.name:
                value.declared.name = name
        self._depth += 1
        try:
            self.body(tree.body, own)
        except _Returned as returned:
            own.results.append(returned.value)
        finally:
            self._depth -= 1
        return self._merged_result(own)

    def _merged_result(self, scope: _Scope) -> Any:
        results = scope.results or [None]
        if all(_same(results[0], one) for one in results[1:]):
            return results[0]
        return Unknown(RUN_TIME, f"the result of {scope.function.__name__}")

    def _method(self, called: _Method, node: ast.Call, scope: _Scope) -> Any:
        """A method of an array goes over all of it; `fill` stores, others load."""
        self._filled_by(called, node, scope)
        return Unknown(RUN_TIME, f"the result of {called.name}")

    def _filled_by(self, called: _Method, node: ast.Call, scope: _Scope) -> None:
        if called.name == "fill":
            self._filled(called.view, node, scope)
        else:
            self._touch(called.view, node, "load", scope)
            self._escape(called.view, node, f"is gone through by .{called.name}()")

    def _declare(self, node: ast.Call, scope: _Scope) -> Any:
        named = {one.arg: one.value for one in node.keywords}
        given = [*node.args, *(named[key] for key in ("shape", "dtype")[len(node.args) :])]
        shape, kind = (self.value(one, scope) for one in given[:2])
        key = (scope.function, node.lineno, node.col_offset)
        if key not in self.declared:
            extents = shape if isinstance(shape, tuple) else (shape,)
            if not all(_is_number(one) for one in extents):
                raise _TooMuch
            sizes = tuple(int(one) for one in extents)
            self.declared[key] = Declared("", scope.function, node, sizes, numpy_dtype(kind))
        found = self.declared[key]
        return View(found, tuple(found.shape))


@dataclass(frozen=True, eq=False)
class _Inner:
    """A function that is defined inside another."""

    node: ast.FunctionDef
    scope: _Scope


@dataclass(frozen=True, eq=False)
class _Method:
    """A method of a local array."""

    view: View
    name: str


_OPERATORS: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: dict[type[ast.unaryop], Callable[..., Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_COMPARE: dict[type[ast.cmpop], Callable[..., Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_KNOWN = (min, max, abs, int, float, bool, divmod, pow, round)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating))


def _is_type(value: Any) -> bool:
    """Whether it is a type of Numba, by which a kernel converts numbers."""
    return hasattr(value, "bitwidth") or hasattr(value, "cast_python_value")


def _computed(function: Callable[..., Any], *values: Any) -> Any:
    try:
        return function(*values)
    except (ArithmeticError, TypeError, ValueError, LookupError):
        return Unknown(RUN_TIME, "")


def _argument() -> Unknown:
    return Unknown(RUN_TIME, "an argument", base=object())


def _moved(op: ast.operator, left: Any, right: Any) -> Any:
    """Sums and differences with what is known, and of values with one base; None of others."""
    if isinstance(op, ast.Add) and isinstance(left, int):
        left, right = right, left
    if not isinstance(left, Unknown) or left.base is None:
        return None
    if isinstance(op, ast.Sub) and isinstance(right, Unknown) and left.base is right.base:
        return left.offset - right.offset
    if isinstance(right, int) and isinstance(op, (ast.Add, ast.Sub)):
        return replace(left, offset=left.offset + (right if isinstance(op, ast.Add) else -right))
    return None


def _range(args: Sequence[Any]) -> Any:
    """The values of a range: known, or known but for one base; otherwise what is known of them."""
    if all(_is_number(one) for one in args):
        return range(*args)
    first, *more = args
    if more and all(isinstance(one, Unknown) for one in args[:2]):
        length = _moved(ast.Sub(), more[0], first)
        steps = more[1:] or [1]
        if isinstance(length, int) and isinstance(steps[0], int) and steps[0] != 0:
            rounds = range(0, length, steps[0])
            if len(rounds) <= ROUNDS:
                return tuple(replace(first, offset=first.offset + at) for at in rounds)
    return _worst(*args)


def _worst(*values: Any) -> Unknown:
    """What an operation gives whose operands are not all known."""
    unknown = [one for one in values if isinstance(one, Unknown)]
    found = max(unknown, key=lambda one: one.degree, default=Unknown(RUN_TIME, ""))
    return replace(found, base=None, offset=0)


def _worse(*values: Unknown | None) -> Unknown | None:
    unknown = [one for one in values if one is not None]
    return max(unknown, key=lambda one: one.degree, default=None)


def _loaded_from(value: Any) -> Unknown:
    """What is read from a value that is no local array."""
    if isinstance(value, Unknown) and value.degree == RUN_TIME and value.why != "an argument":
        return replace(value, base=None, offset=0)
    return Unknown(RUN_TIME, "loaded from memory" if isinstance(value, Unknown) else "")


def _loaded(target: ast.expr) -> ast.expr:
    """The target of `+=` as it is read."""
    found: ast.expr = ast.copy_location(type(target)(**{**vars(target), "ctx": ast.Load()}), target)
    return found


def _covers(entry: Any, after: Any) -> bool:
    """Whether a name that begins a round so may end it so: nothing more is known of it before."""
    if isinstance(entry, Unknown):
        return not isinstance(after, View) and not (
            isinstance(after, Unknown) and after.degree > entry.degree
        )
    return _same(entry, after)


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, View) and isinstance(other, View):
        return one == other
    try:
        return type(one) is type(other) and bool(one == other)
    except Exception:  # objects that compare to arrays
        return False


def _merged(sides: Sequence[dict[str, Any]], differs: Unknown) -> dict[str, Any]:
    """Names after branches: what they agree on; what only one of them sets is as it sets it."""
    if len(sides) == 1:
        return dict(sides[0])
    names: dict[str, Any] = {}
    for name in {name for side in sides for name in side}:
        values = [side[name] for side in sides if name in side]
        unknown = [one for one in values if isinstance(one, Unknown)]
        if all(_same(values[0], one) for one in values[1:]):
            names[name] = values[0]
        elif views := [one for one in values if isinstance(one, View)]:
            for view in views:
                if view.declared.through is None and not all(
                    isinstance(one, View) and one.declared is view.declared for one in values
                ):
                    view.declared.through = (view.declared.node, "is one of several arrays")
            names[name] = replace(views[0], unknown=_worse(views[0].unknown, differs))
        else:
            found = max([*unknown, differs], key=lambda one: one.degree)
            names[name] = replace(found, base=None, offset=0)
    return names


def _of_loop(node: ast.For, over: Any) -> Unknown:
    """The variable of a loop that is not over a range that is known."""
    if isinstance(over, View):
        return Unknown(RUN_TIME, "loaded from a local array")
    return Unknown(
        RUN_TIME,
        f"the variable of the loop in line {node.lineno}, whose range is known at run time only",
    )


def _length(bounds: Sequence[Any], extent: int | None) -> int | None:
    """Elements of a slice, None where they are not known."""
    if extent is None or any(isinstance(one, (Unknown, View)) for one in bounds):
        return None
    return len(range(*slice(*bounds).indices(extent)))
