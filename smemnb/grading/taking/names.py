"""What the names at the top of a file stand for, statement by statement, without running one.

The file is gone through as Python would: imports, `def`, assignments of constants. A name that is
bound in another way is unclear from there on, with the reason and the line, until it is bound
again; only a kernel that needs it asks for the reason. A function is looked up when it is called,
so what counts for a kernel is what its names stand for where it is checked.

Of an `if` with a constant test the branch that is taken counts; `with` and the body of a `try`
run in sequence. What a loop, another `if`, a class or a called function binds is unclear.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..listed import attributes, is_listed, listed
from ..program import Value
from .cells import Cell
from .constants import Constants, Host, Unclear, attribute
from .decorators import JIT, decorated, jitted

_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, eq=False)
class Defined:
    """A function of the learner's: its `def`, what a decorator makes of it, its default values."""

    node: ast.FunctionDef
    cell: Cell
    kind: str
    options: dict[str, Value] = field(default_factory=dict)
    defaults: tuple[Any, ...] = ()
    home: Any = None
    """The `Names` of the file that it stands in."""


@dataclass(frozen=True)
class Open:
    """What a name stands for that the text does not say: why, and the place."""

    why: str
    place: str


class Names:
    """The names of one file, up to some statement of it."""

    def __init__(self, modules: Any = None) -> None:
        self.bound: dict[str, Any] = {}
        self.stars: list[str] = []  # the modules of `from x import *` that are not known
        self.cell = Cell("", "")
        self._changed: dict[str, Open] = {}  # by functions that set a global
        self._modules = modules
        self.constants = Constants(self.lookup)

    def copy(self) -> Names:
        """The names as they are now, whatever follows."""
        other = Names(self._modules)
        other.bound, other._changed = dict(self.bound), dict(self._changed)
        other.stars, other.cell = list(self.stars), self.cell
        return other

    def lookup(self, name: str) -> Any:
        """What a name stands for.

        Raises:
            KeyError: it is not bound.
            Unclear: what it stands for is not known.
        """
        found = self._changed.get(name) or self.bound[name]
        if isinstance(found, Open):
            raise Unclear(f"needs {name}, which {found.why[:200]} ({found.place})"[:400])
        return found

    def kernel(self, node: ast.expr) -> Any:
        """What an expression is that is handed in as a kernel.

        Raises:
            Unclear: the text does not say.
        """
        if isinstance(node, ast.Subscript):
            owner = self.constants.value(node.value)
            if isinstance(owner, Defined):
                raise Unclear("is a kernel with its launch: leave out [grid, block]")
        made = self._jitted_call(node)
        return self.constants.value(node) if made is None else made

    def run(self, node: ast.stmt, cell: Cell) -> None:
        """Note what a statement binds."""
        self.cell = cell
        step = _STATEMENTS.get(type(node))
        if step is not None:
            step(self, node)
        else:
            self._open(node, "is bound by a statement that is not run")
        if not isinstance(node, (*_FUNCTION, ast.ClassDef)):
            self._walrus(node)

    def place(self, node: ast.AST) -> str:
        """Where something stands, in words."""
        return f"{self.cell.place}, line {getattr(node, 'lineno', 1)}"

    def _note(self, name: str, value: Any) -> None:
        self.bound[name] = value

    def _open(self, node: ast.AST, why: str) -> None:
        """Every name that is bound somewhere in a statement is unclear from here on."""
        for name in _bound_in(node):
            self._note(name, Open(why, self.place(node)))

    def _value(self, node: ast.expr) -> Any:
        """A constant, a function, or why it is none."""
        try:
            return self.kernel(node)
        except Unclear as error:
            return Open(str(error), self.place(node))

    def _jitted_call(self, node: ast.expr) -> Defined | None:
        """The kernel that `cuda.jit(f)` or `cuda.jit(device=True)(f)` makes, None for all else."""
        if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
            return None
        inner = node.func
        called = inner.func if isinstance(inner, ast.Call) else inner
        if not isinstance(called, ast.Name | ast.Attribute):
            return None
        if self.constants.value(called) != Host(JIT):
            return None
        function = self.constants.value(node.args[0])
        if not isinstance(function, Defined):
            return None
        if function.kind != "plain":
            return function
        given = inner if isinstance(inner, ast.Call) else ast.Call(inner, [], [])
        kind, options = jitted(self.constants, given.args, given.keywords)
        return replace(function, kind=kind, options=options)

    # --- statements ---------------------------------------------------------------------------

    def _import(self, node: ast.Import) -> None:
        for one in node.names:
            name = one.name if one.asname else one.name.partition(".")[0]
            self._note(one.asname or name, self._module(name))

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        source = self._module(module) if module.strip(".") else Host(module)
        for one in node.names:
            if one.name == "*":
                self._star(module, source)
            else:
                self._note(one.asname or one.name, self._imported(source, module, one.name, node))

    def _imported(self, source: Any, module: str, name: str, node: ast.AST) -> Any:
        try:
            if is_listed(f"{module}.{name}"):
                return listed(f"{module}.{name}")
            submodule = self._module(f"{module}.{name}")
            if isinstance(submodule, Names):
                return submodule
            return attribute(source, name)
        except KeyError:
            return Open(f"is imported from {module}, which does not define it", self.place(node))
        except Unclear as error:
            return Open(str(error), self.place(node))

    def _star(self, module: str, source: Any) -> None:
        if isinstance(source, Names):
            self.bound.update(
                (name, one) for name, one in source.bound.items() if not name.startswith("_")
            )
        elif is_listed(module):
            self.bound.update((name, listed(f"{module}.{name}")) for name in attributes(module))
            if module == "numba.cuda":
                self._note("jit", Host(JIT))
        else:
            self.stars.append(module)

    def _module(self, name: str) -> Any:
        """A module by its name: a listed one, one of the submission's own, one of the host."""
        if is_listed(name):
            return listed(name)
        own = self._modules(name) if self._modules is not None else None
        return Host(name) if own is None else own

    def _define(self, node: ast.FunctionDef) -> None:
        try:
            kind, options = decorated(self.constants, node.decorator_list)
            values = tuple(self.constants.value(one) for one in node.args.defaults)
            self._note(node.name, Defined(node, self.cell, kind, options, values, self))
        except Unclear as error:
            self._note(node.name, Open(str(error), self.place(node)))
        for name in _set_globals(node):
            why = f"is set inside the function {node.name}"
            self._changed.setdefault(name, Open(why, self.place(node)))

    def _host_only(self, node: ast.stmt) -> None:
        kind = "a class" if isinstance(node, ast.ClassDef) else "an async function"
        self._note(node.name, Open(f"is {kind}", self.place(node)))  # type: ignore[attr-defined]

    def _assign(self, node: ast.Assign) -> None:
        value = self._value(node.value)
        for target in node.targets:
            self._store(target, value, node)

    def _store(self, target: ast.expr, value: Any, node: ast.stmt) -> None:
        if isinstance(target, ast.Name):
            self._note(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            plain = not any(isinstance(one, ast.Starred) for one in target.elts)
            fits = isinstance(value, tuple) and len(value) == len(target.elts) and plain
            for number, one in enumerate(target.elts):
                why = value if isinstance(value, Open) else Open("is unpacked", self.place(node))
                self._store(one, value[number] if fits else why, node)
        elif isinstance(target, ast.Starred):
            self._store(target.value, Open("is unpacked", self.place(node)), node)
        else:
            self._change(target, node)

    def _change(self, target: ast.expr, node: ast.stmt) -> None:
        """A store to an item or an attribute of a name: what it stands for is another thing now."""
        owner: ast.expr = target
        while isinstance(owner, ast.Subscript | ast.Attribute):
            owner = owner.value
        if isinstance(owner, ast.Name) and owner.id in self.bound:
            self._note(owner.id, Open("is changed by a store to a part of it", self.place(node)))

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._store(node.target, self._value(node.value), node)

    def _augmented(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            self._change(node.target, node)
            return
        before = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        changed = ast.copy_location(ast.BinOp(before, node.op, node.value), node)
        self._note(node.target.id, self._value(changed))

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.bound.pop(target.id, None)
            else:
                self._change(target, node)

    def _if(self, node: ast.If) -> None:
        try:
            taken = node.body if self.constants.truth(node.test) else node.orelse
        except Unclear:
            if not _is_main(node.test):
                self._open(node, "is bound under a condition: bind it at the top level")
                return
            taken = node.body  # where learners run their own checks
        self._block(taken)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for one in node.items:
            if one.optional_vars is not None:
                self._store(one.optional_vars, Open("is bound by `with`", self.place(node)), node)
        self._block(node.body)

    def _try(self, node: ast.Try) -> None:
        """The body; of names that a handler binds too, those that cannot have failed."""
        self._block([*node.body, *node.orelse])
        imports = [one for one in node.body if isinstance(one, ast.Import | ast.ImportFrom)]
        imported = set().union(*map(_bound_in, imports))
        for handler in node.handlers:
            for name in _bound_in(handler):
                sure = name in imported and not isinstance(self.bound.get(name), Host | Open)
                if not sure:
                    self._note(name, Open("is bound in `except`", self.place(handler)))
        self._block(node.finalbody)

    def _block(self, nodes: Sequence[ast.stmt]) -> None:
        for one in nodes:
            self.run(one, self.cell)

    def _loop(self, node: ast.stmt) -> None:
        self._open(node, "is bound in a loop: bind it at the top level")

    def _nothing(self, node: ast.stmt) -> None:
        """A statement that binds no name by itself: an expression, `pass`, `assert`, `global`."""

    def _walrus(self, node: ast.stmt) -> None:
        """Names that `:=` binds in an expression of this statement."""
        parts = [node] if isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign) else []
        for part in parts:
            for one in _of_this_level(part):
                if isinstance(one, ast.NamedExpr):
                    self._note(one.target.id, self._value(one.value))


_STATEMENTS: dict[type[ast.stmt], Any] = {
    ast.Import: Names._import,
    ast.ImportFrom: Names._import_from,
    ast.FunctionDef: Names._define,
    ast.AsyncFunctionDef: Names._host_only,
    ast.ClassDef: Names._host_only,
    ast.Assign: Names._assign,
    ast.AnnAssign: Names._annotated,
    ast.AugAssign: Names._augmented,
    ast.Delete: Names._delete,
    ast.If: Names._if,
    ast.With: Names._with,
    ast.AsyncWith: Names._with,
    ast.Try: Names._try,
    ast.For: Names._loop,
    ast.AsyncFor: Names._loop,
    ast.While: Names._loop,
    ast.Expr: Names._nothing,
    ast.Pass: Names._nothing,
    ast.Assert: Names._nothing,
    ast.Global: Names._nothing,
    ast.Raise: Names._nothing,
}


def _of_this_level(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is below it, without the insides of functions and classes."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        if not isinstance(one, (*_FUNCTION, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(one))


def _bound_in(node: ast.AST) -> set[str]:
    """The names that a statement may bind, in whatever part of it."""
    found: set[str] = set()
    for one in _of_this_level(node):
        if isinstance(one, (*_FUNCTION, ast.ClassDef)):
            found.add(one.name)
        elif isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            found.add(one.id)
        elif isinstance(one, ast.alias):
            found.add(one.asname or one.name.partition(".")[0])
        elif isinstance(one, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and one.name:
            found.add(one.name)
        elif isinstance(one, ast.MatchMapping) and one.rest:
            found.add(one.rest)
    return found - {"*"}


def _set_globals(node: ast.AST) -> set[str]:
    """The names that a function declares global and binds."""
    declared: set[str] = set()
    bound: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Global):
            declared.update(one.names)
        elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            bound.add(one.id)
    return declared & bound


def _is_main(node: ast.expr) -> bool:
    """Whether a test asks if the file runs as a program."""
    names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
    return names == ["__name__"]
