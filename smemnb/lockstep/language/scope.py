"""What is known of a function while its syntax tree is turned into closures.

A closure takes `(frame, mask)`. An expression's closure returns a lane value, a statement's the
mask of lanes that go on to the next statement. The tables `STATEMENTS` and `EXPRESSIONS` map a
node type to the function that builds its closure; `statements.py`, `expressions.py` and `calls.py`
fill them.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from ...errors import UnsupportedSyntax
from ..lanes import NO_LANE, LaneValue, Mask
from ..watch import Site

if TYPE_CHECKING:
    from ..batch import Batch
    from .program import Library

UNKNOWN = object()
"""What `Scope.static` gives for an expression whose value only a running kernel has."""


class InferredTypes(Protocol):
    """The dtypes that Numba infers, as far as they must be enforced."""

    def local(self, function: Any, name: str, line: int) -> np.dtype[Any] | None:
        """The dtype of a variable where it is read, None if there is nothing to enforce."""

    def returned(self, function: Any) -> np.dtype[Any] | None:
        """The dtype that a device function returns on every path, None if it is no scalar."""


class Frame:
    """One call in progress: its variables, and the lanes that have not returned from it."""

    __slots__ = ("alive", "batch", "broken", "kernel", "result", "returned", "skipped", "values")

    def __init__(self, batch: Batch, alive: Mask, kernel: bool) -> None:
        self.batch, self.alive, self.kernel = batch, alive, kernel
        self.values: dict[str, LaneValue] = {}
        self.result: LaneValue = None
        self.returned = False
        self.broken: list[Mask] = []  # per enclosing loop: lanes that left it by `break`
        self.skipped: list[Mask] = []  # per enclosing loop: lanes waiting after `continue`


Expression = Callable[[Frame, Mask], LaneValue]
Statement = Callable[[Frame, Mask], Mask]
STATEMENTS: dict[type[ast.stmt], Callable[[Scope, Any], Statement]] = {}
EXPRESSIONS: dict[type[ast.expr], Callable[[Scope, Any], Expression]] = {}


def source_tree(function: Any) -> ast.FunctionDef:
    """The syntax tree of a function, with the line numbers of its file."""
    code = function.__code__
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError) as error:
        raise UnsupportedSyntax(
            code.co_filename,
            code.co_firstlineno,
            f"the source of {function.__name__} cannot be read ({error})",
            "Define the kernel with `def` in a file or a notebook cell.",
        ) from None
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef):
        raise UnsupportedSyntax(
            code.co_filename,
            code.co_firstlineno,
            f"{function.__name__} is not defined by a plain `def`",
            "Write the kernel as `def name(...):`.",
        )
    ast.increment_lineno(node, first - 1)
    return node


class Scope:
    """The names, the file and the inferred types of one function being compiled."""

    def __init__(self, function: Any, library: Library) -> None:
        self.function, self.library = function, library
        self.tree = source_tree(function)
        self.file = function.__code__.co_filename
        self.parameters = self._parameters()
        self.locals = set(self.parameters) | {
            node.id
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        self.closure = inspect.getclosurevars(function).nonlocals
        self.declared = ""  # the name on the left of the assignment being compiled

    def _parameters(self) -> list[str]:
        arguments = self.tree.args
        extra = arguments.vararg or arguments.kwarg or arguments.kwonlyargs
        if extra:
            self.refuse(
                self.tree,
                f"{self.tree.name} takes *args, **kwargs or keyword-only parameters",
                "Name every parameter.",
            )
        return [a.arg for a in (*arguments.posonlyargs, *arguments.args)]

    def statement(self, node: ast.stmt) -> Statement:
        """The closure of a statement."""
        build = STATEMENTS.get(type(node))
        if build is None:
            self.refuse(node, *_UNSUPPORTED.get(type(node), _unknown(node)))
        return build(self, node)

    def expression(self, node: ast.expr) -> Expression:
        """The closure of an expression."""
        build = EXPRESSIONS.get(type(node))
        if build is None:
            self.refuse(node, *_UNSUPPORTED.get(type(node), _unknown(node)))
        return build(self, node)

    def block(self, nodes: Sequence[ast.stmt]) -> Statement:
        """The closure of statements in sequence; it stops when no lane is left."""
        steps = [self.statement(node) for node in nodes]
        if len(steps) == 1:
            return steps[0]

        def run(frame: Frame, mask: Mask) -> Mask:
            for step in steps:
                mask = step(frame, mask)
                if mask is NO_LANE:
                    break
            return mask

        return run

    def site(self, node: ast.AST, kind: str, text: str = "") -> Site:
        """The place of an access or barrier in the source."""
        line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        return Site(self.tree.name, self.file, line, column, text or ast.unparse(node), kind)

    def refuse(self, node: ast.AST, construct: str, instead: str) -> NoReturn:
        """Raise UnsupportedSyntax for a node."""
        raise UnsupportedSyntax(self.file, getattr(node, "lineno", 0), construct, instead)

    def static(self, node: ast.expr) -> Any:
        """The value an expression has while compiling (a global, a module's attribute), or UNKNOWN.

        As in Numba, globals and closure variables are constants of the compiled kernel.
        """
        if isinstance(node, ast.Name) and node.id not in self.locals:
            for names in (self.closure, self.function.__globals__, vars(builtins)):
                if node.id in names:
                    return names[node.id]
            self.refuse(node, f"the name {node.id!r} is not defined", "Define or import it.")
        if isinstance(node, ast.Attribute):
            owner = self.static(node.value)
            if isinstance(owner, (ModuleType, type)) or callable(owner):
                return getattr(owner, node.attr, UNKNOWN)
        return UNKNOWN


def _unknown(node: ast.AST) -> tuple[str, str]:
    name = type(node).__name__
    return (
        f"the engine does not know the construct {name!r}",
        "Write it with if, for, while, assignments and calls.",
    )


_UNSUPPORTED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Try: ("a kernel cannot catch exceptions", "Test the condition with `if` instead."),
    ast.With: ("a kernel has no `with`", "Put what it does before the launch."),
    ast.Lambda: ("a kernel has no lambda", "Write a device function with @cuda.jit(device=True)."),
    ast.ListComp: ("a kernel has no lists", "Use cuda.local.array and a for loop."),
    ast.GeneratorExp: ("a kernel has no generators", "Use a for loop."),
    ast.DictComp: ("a kernel has no dictionaries", "Use arrays."),
    ast.SetComp: ("a kernel has no sets", "Use arrays."),
    ast.List: (
        "a kernel has no lists",
        "Use a tuple, or cuda.local.array for numbers that change.",
    ),
    ast.Dict: ("a kernel has no dictionaries", "Use arrays."),
    ast.Set: ("a kernel has no sets", "Use arrays."),
    ast.FunctionDef: (
        "a function is defined inside the kernel",
        "Define it outside, with @cuda.jit(device=True).",
    ),
    ast.ClassDef: ("a class is defined inside the kernel", "Use arrays and numbers."),
    ast.Import: ("an import stands inside the kernel", "Import at the top of the file."),
    ast.ImportFrom: ("an import stands inside the kernel", "Import at the top of the file."),
    ast.Global: ("a kernel cannot change a global", "Pass an array and write to it."),
    ast.Nonlocal: ("a kernel cannot change an outer variable", "Pass an array and write to it."),
    ast.Delete: ("a kernel cannot delete names", "Leave the name alone."),
    ast.Raise: ("the engine does not run `raise` in a kernel", "Write a flag into an array."),
    ast.Assert: ("the engine does not run `assert` in a kernel", "Write a flag into an array."),
    ast.Yield: ("a kernel cannot yield", "Write into an array."),
    ast.YieldFrom: ("a kernel cannot yield", "Write into an array."),
    ast.Await: ("a kernel cannot await", "Use barriers."),
    ast.AsyncFunctionDef: ("a kernel cannot be async", "Use a plain `def`."),
    ast.Match: ("the engine does not run `match`", "Use if and elif."),
    ast.NamedExpr: ("the engine does not run `:=`", "Assign on a line of its own."),
    ast.Starred: ("the engine does not run starred expressions", "Name every value."),
    ast.JoinedStr: ("a kernel has no f-strings", "Print the values themselves."),
}
