"""What is known of a function while its syntax tree is turned into closures.

A closure takes `(frame, mask)`. An expression's closure returns a lane value, a statement's the
mask of lanes that go on to the next statement. Which function builds the closure of which type of
node says `nodes.py`; a scope finds its tables in its library.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum, EnumMeta
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from ...errors import SmemnbError, UnsupportedSyntax
from ..lanes import NO_LANE, LaneValue, Mask, both
from ..numbers.folding import between_constants, folded
from ..numbers.subnormals import flush
from ..source import closure_values, source_tree
from ..watch import Site
from .assigned import read_of, unsure_reads
from .pruning import Decided, Place, Truth, as_inferred, live, without_sure_reads

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

    def merged(self, function: Any, places: Sequence[Place]) -> np.dtype[Any] | None:
        """The dtype in which the sides of an expression at these places are joined."""

    def held(self, function: Any, name: str, line: int) -> Any:
        """The dtype of a variable where it is read, a tuple of them, None for anything else."""

    def knows(self, function: Any) -> bool:
        """Whether the types of this function were inferred on their own."""

    def widened(self, function: Any, place: Place) -> np.dtype[Any] | None:
        """The dtype of an operator's or call's result where its operands do not decide it."""

    def implementation(
        self, target: Any, values: Sequence[Any], named: Mapping[str, Any], literals: Sequence[Any]
    ) -> Any:
        """The Python function that runs when `target` is called so, None if Numba has none.

        `literals` are the positional arguments that are integers in the source, else None.
        """

    def decided(self, function: Any) -> Mapping[Place, Decided]:
        """The tests of a function that are known before it runs, by their places."""

    def member(self, value: Any, name: str, *, method: bool) -> Any:
        """What `implementation` takes for an added method or attribute, None if there is none."""

    def members_named(self, name: str, *, method: bool) -> bool:
        """Whether users have added a method or attribute of this name to any type."""

    def with_none(self, function: Any, place: Place) -> frozenset[bool]:
        """What `==` or `!=` of a None comes to by types alone; empty where no side is None."""

    def optional(self, function: Any) -> bool:
        """Whether a function has a value that is None in some threads and a number in others."""

    def never_same(self, function: Any, line: int) -> bool:
        """Whether an `is` on this line compares members of two enums."""

    @property
    def fastmath(self) -> bool:
        """True if the kernel was declared with fastmath=True."""

    @property
    def debug(self) -> bool:
        """True if exceptions of the kernel are raised by the launch."""


class Frame:
    """One call in progress: its variables, and the lanes that have not returned from it.

    `raised` are the lanes that an exception has ended, here or in a function called from here;
    `outer` is the call in which the function was defined, where it was defined inside another;
    `assigned`, for the variables of `Scope.followed`, the lanes that have assigned them.
    """

    __slots__ = (
        "alive",
        "assigned",
        "batch",
        "broken",
        "kernel",
        "outer",
        "raised",
        "result",
        "returned",
        "skipped",
        "values",
    )

    def __init__(
        self, batch: Batch, alive: Mask, *, kernel: bool = False, outer: Frame | None = None
    ) -> None:
        self.batch, self.alive, self.kernel, self.outer = batch, alive, kernel, outer
        self.values: dict[str, LaneValue] = {}
        self.assigned: dict[str, Mask] = {}
        self.result: LaneValue = NOTHING
        self.returned = False
        self.raised: Mask = NO_LANE
        self.broken: list[Mask] = []  # per enclosing loop: lanes that left it by `break`
        self.skipped: list[Mask] = []  # per enclosing loop: lanes waiting after `continue`

    def end(self, lanes: Mask) -> None:
        """These lanes have raised: they leave this call, and every call around it."""
        self.raised = both(self.raised, lanes)
        self.alive = self.alive & ~lanes
        self.returned = True
        if self.kernel:
            self.batch.live = self.alive

    def mark(self, name: str, lanes: Mask) -> None:
        """These lanes have assigned a variable that is followed."""
        known = self.assigned.get(name)
        if known is not lanes:
            self.assigned[name] = lanes if known is None else both(known, lanes)

    def rest(self, mask: Mask) -> Mask:
        """The lanes of the mask that have not raised."""
        if self.raised is NO_LANE:
            return mask
        left = mask & ~self.raised
        if not left.any():
            return NO_LANE
        return self.alive if bool((left == self.alive).all()) else left


NOTHING: Any = object()
"""The result of a call before any lane returned a value."""

_FAULTS = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, AssertionError)
"""What Python and NumPy raise where values are not of the kind that an operation takes."""

Expression = Callable[[Frame, Mask], LaneValue]
Statement = Callable[[Frame, Mask], Mask]


def flushed(expression: Expression) -> Expression:
    """The expression, its value without subnormals of float32."""
    return lambda frame, mask: flush(expression(frame, mask))


class Scope:
    """The names, the file and the inferred types of one function being compiled."""

    def __init__(
        self,
        function: Any,
        library: Library,
        tree: ast.FunctionDef | None = None,
        outer: Scope | None = None,
    ) -> None:
        self.function, self.library, self.outer = function, library, outer
        self.tree = source_tree(function) if tree is None else tree
        self.file = function.__code__.co_filename
        self.parameters, self.rest = self._parameters()
        named = set(self.parameters) | ({self.rest} if self.rest else set())
        self.locals = named | set(_assigned(self.tree))  # of dead branches, too, as in Python
        self.closure = closure_values(function)
        self.tree = live(self.tree, self._truth(), self.locals)
        self.unsure = unsure_reads(self.tree, self.locals, self._static_or_unknown)
        without_sure_reads(self.tree, lambda name: read_of(name) in self.unsure)
        self.followed = {name for name, *_ in self.unsure}
        fast = getattr(library.types, "fastmath", False)  # device functions do not inherit it
        self.fast = bool(fast) and function is library.kernel
        self.apart: Sequence[ast.IfExp] = ()  # those whose sides are not joined
        self.ends: dict[ast.AST, Site] = {}  # where threads have raised
        self._feeds = False  # whether what is compiled is an operand, to be flushed
        self.declared = ""  # the name on the left of the assignment being compiled
        self.stored: ast.expr | None = None  # the right side of it, for what is on the left
        self.update = ""  # how the statement being compiled changes what it loads

    @cached_property
    def makes_slices(self) -> bool:
        """Whether the function makes slices by name, so that any variable may hold one."""
        return any(isinstance(n, ast.Name) and n.id == "slice" for n in ast.walk(self.tree))

    def _parameters(self) -> tuple[list[str], str]:
        """The names of the parameters, and that of `*rest` ("" if there is none)."""
        arguments = self.tree.args
        if arguments.kwarg or arguments.kwonlyargs:
            self.refuse(
                self.tree,
                f"{self.tree.name} takes **kwargs or keyword-only parameters",
                "Name every parameter, without a bare *.",
            )
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        return names, arguments.vararg.arg if arguments.vararg else ""

    def _truth(self) -> Truth:
        """What is known of the tests in this function."""
        decided = None if self.outer is not None else self.library.decided(self.function)
        return self._constant_truth if decided is None else as_inferred(decided)

    def _constant_truth(self, node: ast.expr) -> bool | None:
        """Whether a global or a closure variable is true, or compared with another one."""
        with suppress(UnsupportedSyntax):  # a name that is not defined
            if isinstance(node, ast.Compare) and len(node.ops) == 1:
                sides = [self._compared(one) for one in (node.left, node.comparators[0])]
                compare = _COMPARED.get(type(node.ops[0]))
                if compare is not None and UNKNOWN not in sides:
                    return bool(compare(*sides))
            elif isinstance(node, ast.Name | ast.Attribute):
                value = _plain(self.static(node))
                return None if value is UNKNOWN else bool(value)
        return None

    def _static_or_unknown(self, node: ast.expr) -> Any:
        """What `static` gives; UNKNOWN also for names that are not defined."""
        try:
            return self.static(node)
        except UnsupportedSyntax:
            return UNKNOWN

    def _compared(self, node: ast.expr) -> Any:
        return node.value if isinstance(node, ast.Constant) else _plain(self.static(node))

    def statement(self, node: ast.stmt) -> Statement:
        """The closure of a statement."""
        build = self.library.statements.get(type(node))
        if build is None:
            self.refuse(node, *_UNSUPPORTED.get(type(node), _unknown(node)))
        return build(self, node)

    def expression(self, node: ast.expr) -> Expression:
        """The closure of an expression."""
        build = self.library.expressions.get(type(node))
        if build is None:
            self.refuse(node, *_UNSUPPORTED.get(type(node), _unknown(node)))
        if not self.library.flushes:
            return build(self, node)
        feeds, self._feeds = self._feeds, isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare)
        made = build(self, node)
        self._feeds = feeds
        return flushed(made) if feeds or isinstance(node, ast.BinOp | ast.UnaryOp) else made

    def condition(self, node: ast.expr) -> Expression:
        """The closure of a test; what lies between constants is decided as Python would."""
        test = self.expression(self._decided(node))
        return flushed(test) if self.library.flushes else test

    def _decided(self, node: ast.expr) -> ast.expr:
        """The test with True or False for its constant parts: Python jumps by each of them."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self._decided(node.operand)
            if isinstance(inner, ast.Constant):
                return ast.copy_location(ast.Constant(not inner.value), node)
            parted: ast.expr = ast.UnaryOp(node.op, inner)
            changed = inner is not node.operand
        elif isinstance(node, ast.BoolOp):
            parts = [self._decided(part) for part in node.values]
            parted = ast.BoolOp(node.op, parts)
            changed = parts != node.values
        elif isinstance(node, ast.IfExp):
            body, orelse = self._decided(node.body), self._decided(node.orelse)
            parted = ast.IfExp(node.test, body, orelse)
            changed = body is not node.body or orelse is not node.orelse
        else:
            number = folded(node)
            if number is None:
                number = between_constants(node, self._number)
            parted, changed = ast.Constant(bool(number)), number is not None
        return ast.copy_location(parted, node) if changed else node

    def _number(self, node: ast.expr) -> Any:
        """What a literal, a global or a variable that is set once, to a literal, stands for."""
        if isinstance(node, ast.Name) and node.id in self.locals:
            return self._set_once(node.id)
        number = folded(node)
        return self.static(node) if number is None else number

    def _set_once(self, name: str) -> Any:
        """The literal of a variable's only assignment; None for anything else."""
        nodes = list(ast.walk(self.tree))
        names = [n for n in nodes if isinstance(n, ast.Name) and n.id == name]
        stores = [n for n in names if not isinstance(n.ctx, ast.Load)]
        if len(stores) != 1 or any(isinstance(n, ast.arg) and n.arg == name for n in nodes):
            return None
        values = [n.value for n in nodes if isinstance(n, ast.Assign) and n.targets == stores]
        return folded(values[0]) if values else None

    def block(self, nodes: Sequence[ast.stmt]) -> Statement:
        """The closure of statements in sequence; it stops when no lane is left.

        What a statement cannot be run on, an operator or a call of values that are no numbers, say,
        is refused with the line of the statement.
        """
        steps = [self.statement(node) for node in nodes]
        if len(steps) == 1:
            only = steps[0]

            def run_one(frame: Frame, mask: Mask) -> Mask:
                try:
                    return only(frame, mask)
                except _FAULTS as error:
                    self._blame(error, nodes[0])
                    raise

            return run_one

        def run(frame: Frame, mask: Mask) -> Mask:
            step = steps[0]
            try:
                for step in steps:
                    mask = step(frame, mask)
                    if mask is NO_LANE:
                        break
            except _FAULTS as error:
                self._blame(error, nodes[steps.index(step)])
                raise
            return mask

        return run if steps else lambda frame, mask: mask

    def _blame(self, error: Exception, node: ast.stmt) -> None:
        """Raise UnsupportedSyntax for a statement that failed, unless it was refused already."""
        if isinstance(error, SmemnbError):
            return
        text = ast.unparse(node).splitlines()[0]
        raise UnsupportedSyntax(
            self.file,
            node.lineno,
            f"the engine cannot run `{text}` on these values ({type(error).__name__}: {error})",
            "Write it with numbers, arrays and tuples of them.",
        ) from error

    def site(self, node: ast.AST, kind: str, text: str = "") -> Site:
        """The place of an access or barrier in the source."""
        line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        return Site(self.tree.name, self.file, line, column, text or ast.unparse(node), kind)

    def store_site(self, node: ast.AST) -> Site:
        """The place of a store, and with it that of its value, which may have to be loaded."""
        loading = None if self.stored is None else self.site(self.stored, "load")
        return replace(self.site(node, "store"), loading=loading, update=self.update)

    def refuse(self, node: ast.AST, construct: str, instead: str) -> NoReturn:
        """Raise UnsupportedSyntax for a node."""
        raise UnsupportedSyntax(self.file, getattr(node, "lineno", 0), construct, instead)

    def static(self, node: ast.expr) -> Any:
        """The value an expression has while compiling (a global, a module's attribute), or UNKNOWN.

        As in Numba, globals and closure variables are constants of the compiled kernel.
        """
        if isinstance(node, ast.Name):
            return self._named(node)
        if isinstance(node, ast.Attribute):
            return attribute_of(self.static(node.value), node.attr)
        if isinstance(node, ast.Subscript):
            owner, at = self.static(node.value), _index(node.slice)
            if isinstance(owner, tuple) and at is not None and -len(owner) <= at < len(owner):
                return owner[at]
            if isinstance(owner, EnumMeta) and isinstance(node.slice, ast.Constant):
                return owner[str(node.slice.value)]
        return UNKNOWN

    def levels(self, name: str) -> int | None:
        """How many functions further out a variable lives, None if it is none of the kernel."""
        scope: Scope | None = self
        levels = 0
        while scope is not None and name not in scope.locals:
            scope, levels = scope.outer, levels + 1
        return None if scope is None else levels

    def _named(self, node: ast.Name) -> Any:
        if self.levels(node.id) is not None:
            return UNKNOWN
        for names in (self.closure, self.function.__globals__, vars(builtins)):
            if node.id in names:
                return names[node.id]
        self.refuse(node, f"the name {node.id!r} is not defined", "Define or import it.")


_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip


def _plain(value: Any) -> Any:
    """A constant that can be compared and has a truth; UNKNOWN for anything else."""
    plain = value is None or isinstance(value, bool | int | float | str) or callable(value)
    return value if plain else UNKNOWN


def live_tree(function: Any, types: InferredTypes | None) -> ast.FunctionDef:
    """The syntax tree of a function without the branches that Numba prunes for these types.

    Raises:
        UnsupportedSyntax: the source cannot be read.
    """
    tree = source_tree(function)
    return tree if types is None else live(tree, as_inferred(types.decided(function)))


def attribute_of(owner: Any, name: str) -> Any:
    """An attribute that is known while compiling, of an owner that is, or UNKNOWN."""
    if isinstance(owner, (ModuleType, type, Enum)) or callable(owner):
        return getattr(owner, name, UNKNOWN)
    if isinstance(owner, tuple) and name in getattr(owner, "_fields", ()):
        return getattr(owner, name)
    return UNKNOWN


def _index(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if type(value) is int else None


def _assigned(tree: ast.FunctionDef) -> Iterator[str]:
    """The names that a function assigns, without those of the functions inside it."""
    waiting: list[ast.AST] = [*tree.body]
    outer: set[str] = set()
    found: list[str] = []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            found.append(node.name)
            waiting.extend(node.args.defaults)
            continue
        if isinstance(node, ast.Lambda):
            waiting.extend(node.args.defaults)
            continue
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            outer.update(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append(node.id)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            found.append(node.name)
        waiting.extend(ast.iter_child_nodes(node))
    return (name for name in found if name not in outer)


def _unknown(node: ast.AST) -> tuple[str, str]:
    name = type(node).__name__
    return (
        f"the engine does not know the construct {name!r}",
        "Write it with if, for, while, assignments and calls.",
    )


_UNSUPPORTED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Try: ("a kernel cannot catch exceptions", "Test the condition with `if` instead."),
    ast.With: ("a kernel has no `with`", "Put what it does before the launch."),
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
    ast.ClassDef: ("a class is defined inside the kernel", "Use arrays and numbers."),
    ast.Import: ("an import stands inside the kernel", "Import at the top of the file."),
    ast.ImportFrom: ("an import stands inside the kernel", "Import at the top of the file."),
    ast.Delete: ("a kernel cannot delete names", "Leave the name alone."),
    ast.Yield: ("a kernel cannot yield", "Write into an array."),
    ast.YieldFrom: ("a kernel cannot yield", "Write into an array."),
    ast.Await: ("a kernel cannot await", "Use barriers."),
    ast.AsyncFunctionDef: ("a kernel cannot be async", "Use a plain `def`."),
    ast.Starred: ("a starred name cannot be assigned to in a kernel", "Name every value."),
    ast.JoinedStr: ("a kernel has no f-strings", "Print the values themselves."),
}
