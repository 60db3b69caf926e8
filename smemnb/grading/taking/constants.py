"""The value of an expression at the top of a learner's file, worked out by the grader.

Numbers, texts, tuples, names that have such values, arithmetic of bounded size, types of Numba and
NumPy and their calls, functions of `math` on numbers. Whatever else stands there is not evaluated:
`Unclear` says why, in a learner's words.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types

from ...lockstep.numbers.math_functions import FUNCTIONS
from ..arithmetic import MAX_BITS, TooLarge, bounded
from ..listed import exists, is_listed, listed, path_of
from ..program import MAX_ARRAY_BYTES, MAX_ITEMS, MAX_TEXT

Lookup = Callable[[str], Any]
"""What a name stands for; raises KeyError if it has no value, Unclear if that is not known."""


class Unclear(Exception):
    """An expression whose value the text alone does not say; `line` where it is of another one."""


@dataclass(frozen=True)
class Host:
    """A module, or a name of one, that is for the host and not for kernels, by its path."""

    path: str


_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_PURE = "abs bool complex divmod float int len max min pow round sum tuple"
_BUILTINS = {name: getattr(builtins, name) for name in _PURE.split()}
_OF_MATH = frozenset(
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh degrees erf erfc exp exp2"
    " expm1 fabs floor fmod gcd hypot isfinite isinf isnan lcm ldexp log log10 log1p log2 pow"
    " radians remainder sin sinh sqrt tan tanh trunc".split()
)
_OF_THE_HOST: Mapping[str, Any] = {"numpy.finfo": np.finfo, "numpy.iinfo": np.iinfo}
_NUMBER = (bool, int, float, complex, np.number, np.bool_)
_ATTRIBUTES: Mapping[type, tuple[str, ...]] = {
    np.finfo: ("max", "min", "eps", "tiny", "bits", "smallest_normal"),
    np.iinfo: ("max", "min", "bits"),
    np.dtype: ("itemsize", "type"),
    types.Number: ("bitwidth",),
    np.number: ("real", "imag", "itemsize", "nbytes"),
    np.ndarray: ("shape", "size", "ndim", "nbytes", "itemsize"),
    complex: ("real", "imag"),
}
_ERRORS = (ValueError, TypeError, ArithmeticError, IndexError, KeyError, AttributeError)


class Constants:
    """Evaluates expressions, with what names stand for at their place in the file."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def value(self, node: ast.expr) -> Any:
        """The value of an expression; a Host for what is of the host.

        Raises:
            Unclear: the text does not say, it is too large, or it is an error.
        """
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return self._value(node)
        except RecursionError:
            raise Unclear("is nested too deeply") from None
        except _ERRORS as error:
            raise Unclear(f"ends in {type(error).__name__}: {error}"[:200]) from None

    def truth(self, node: ast.expr) -> bool:
        """Whether a test holds.

        Raises:
            Unclear: the text does not say.
        """
        return not self.value(ast.copy_location(ast.UnaryOp(ast.Not(), node), node))

    def _value(self, node: ast.expr) -> Any:
        step = _STEPS.get(type(node))
        if step is None:
            raise Unclear(f"is computed by {_WORDS.get(type(node), type(node).__name__)}")
        return step(self, node)

    def _number(self, node: ast.expr) -> Any:
        """A value that arithmetic is done with: a number, a tuple, a text."""
        value = self._value(node)
        if not isinstance(value, (*_NUMBER, tuple, str, types.Type, type, np.dtype, type(None))):
            raise Unclear(f"uses {said(value)}")
        return value

    def _constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, bytes) or node.value is ...:
            raise Unclear("is no number")
        return _small(node.value)

    def _name(self, node: ast.Name) -> Any:
        try:
            return self._lookup(node.id)
        except KeyError:
            pass
        if node.id in _BUILTINS:
            return _BUILTINS[node.id]
        if hasattr(builtins, node.id):
            return Host(f"builtins.{node.id}")
        raise Unclear(f"uses {node.id}, which is not defined above it")

    def _attribute(self, node: ast.Attribute) -> Any:
        return attribute(self._value(node.value), node.attr)

    def _tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        items: list[Any] = []
        for part in node.elts:
            if isinstance(part, ast.Starred):
                more = self._value(part.value)
                if not isinstance(more, tuple):
                    raise Unclear("spreads what is no tuple")
                items += more
            else:
                items.append(self._value(part))
        return _small(tuple(items))  # type: ignore[no-any-return]

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = self._number(node.left), self._number(node.right)
        return calculated(type(node.op), left, right)

    def _unary(self, node: ast.UnaryOp) -> Any:
        return _small(_UNARY[type(node.op)](self._number(node.operand)))

    def _compared(self, node: ast.Compare) -> Any:
        left = self._number(node.left)
        for kind, other in zip(node.ops, node.comparators, strict=True):
            right = self._number(other)
            if not isinstance(kind, tuple(_COMPARISONS)):
                raise Unclear("is computed by `is` or `in`")
            result = _COMPARISONS[type(kind)](left, right)
            if not result:
                return _small(result)
            left = right
        return _small(result)

    def _either(self, node: ast.BoolOp) -> Any:
        for part in node.values:
            value = self._number(part)
            if bool(value) is isinstance(node.op, ast.Or):
                break
        return value

    def _chosen(self, node: ast.IfExp) -> Any:
        return self._value(node.body if self._number(node.test) else node.orelse)

    def _item(self, node: ast.Subscript) -> Any:
        owner = self._value(node.value)
        if not isinstance(owner, tuple):
            raise Unclear("takes an item of what is no tuple")
        at = node.slice
        if isinstance(at, ast.Slice):
            parts = (at.lower, at.upper, at.step)
            return owner[slice(*(None if part is None else self._number(part) for part in parts))]
        return owner[operator.index(self._number(at))]

    def _call(self, node: ast.Call) -> Any:
        target = self._value(node.func)
        if hasattr(target, "node"):  # a function of the learner's
            raise Unclear(f"is computed by a call of {target.node.name}")
        if any(isinstance(part, ast.Starred) for part in node.args):
            raise Unclear("spreads the arguments of a call")
        named = {}
        for one in node.keywords:
            if one.arg is None:
                raise Unclear("spreads the arguments of a call")
            named[one.arg] = one.value
        if target is np.array or target is np.asarray:
            return self._array(node.args, named)
        if target is tuple or target is sum or target in (min, max, len):
            return self._of_items(target, node.args, named)
        values = [self._number(part) for part in node.args]
        return called(target, values, {key: self._number(part) for key, part in named.items()})

    def _of_items(self, target: Any, args: list[ast.expr], named: Mapping[str, Any]) -> Any:
        """A builtin that goes over items: `tuple(range(4))`, `len([1, 2])`, `max(a, b)`."""
        if named:
            raise Unclear(f"is computed by {target.__name__} with keywords")
        return _small(target(*(self._items(part) for part in args)))

    def _items(self, node: ast.expr) -> Any:
        if isinstance(node, ast.List):
            copied = ast.copy_location(ast.Tuple(node.elts, ast.Load()), node)
            return self._tuple(copied)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "range" and self._value(node.func) == Host("builtins.range"):
                steps = range(*(operator.index(self._number(part)) for part in node.args))
                return _small(tuple(steps[: MAX_ITEMS + 1]))
        return self._number(node)

    def _array(self, args: list[ast.expr], named: dict[str, ast.expr]) -> Any:
        """`np.array` of literal numbers, with a dtype or without."""
        if not 1 <= len(args) <= 2 or set(named) - {"dtype"}:
            raise Unclear("is an array made in another way than np.array(numbers, dtype)")
        wanted = args[1] if len(args) > 1 else named.get("dtype")
        dtype = None if wanted is None else _dtype(self._value(wanted))
        made = np.array(self._nested(args[0]), dtype)
        if made.dtype.kind not in "biufc" or made.nbytes > MAX_ARRAY_BYTES:
            raise Unclear(f"is an array of {made.nbytes} bytes of {made.dtype}"[:100])
        made.flags.writeable = False
        return made

    def _nested(self, node: ast.expr) -> Any:
        if isinstance(node, ast.List | ast.Tuple):
            return tuple(self._nested(part) for part in node.elts)
        return self._items(node)


_STEPS: Mapping[type[ast.expr], Callable[[Any, Any], Any]] = {
    ast.Constant: Constants._constant,
    ast.Name: Constants._name,
    ast.Attribute: Constants._attribute,
    ast.Tuple: Constants._tuple,
    ast.BinOp: Constants._binary,
    ast.UnaryOp: Constants._unary,
    ast.Compare: Constants._compared,
    ast.BoolOp: Constants._either,
    ast.IfExp: Constants._chosen,
    ast.Subscript: Constants._item,
    ast.Call: Constants._call,
}
_WORDS: Mapping[type[ast.expr], str] = {
    ast.List: "a list",
    ast.Dict: "a dictionary",
    ast.Set: "a set",
    ast.ListComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.Lambda: "a lambda: write it with def",
    ast.JoinedStr: "an f-string",
    ast.Await: "await",
}


def said(value: Any) -> str:
    """What a value that is no number is called: its path, or its type."""
    path = value.path if isinstance(value, Host) else path_of(value)
    return path or f"a value of type {type(value).__name__}"


def attribute(owner: Any, name: str) -> Any:
    """An attribute of a module, listed or of the host, or a plain one of a value.

    Raises:
        Unclear: there is none that the grader looks at.
    """
    for kind, names in _ATTRIBUTES.items():
        if isinstance(owner, kind) and name in names:
            return _small(getattr(owner, name))
    path = owner.path if isinstance(owner, Host) else path_of(owner)
    if path is not None:
        whole = f"{path}.{name}"
        if whole in _OF_THE_HOST:
            return _OF_THE_HOST[whole]
        if is_listed(whole):
            return listed(whole)
        if isinstance(owner, Host) or exists(whole):
            return Host(whole)
        if not isinstance(owner, type | types.Type):
            raise Unclear(f"uses {whole}, which does not exist")
    if hasattr(owner, "lookup"):  # a file of the submission's own
        try:
            return owner.lookup(name)
        except KeyError:
            raise Unclear(f"uses {name}, which its file does not define") from None
    raise Unclear(f"uses the attribute {name[:40]} of {said(owner)}")


def calculated(kind: type[ast.operator], left: Any, right: Any) -> Any:
    """The result of an operator, where it is of a bounded size.

    Raises:
        Unclear: it would be larger, or it is none of numbers and tuples.
    """
    if kind is ast.MatMult:
        raise Unclear("is computed by @")
    for side in (left, right):
        if not isinstance(side, (*_NUMBER, tuple)) or isinstance(side, np.ndarray):
            raise Unclear(f"is computed from {_kind(left)} and {_kind(right)}")
    if any(isinstance(side, np.generic) for side in (left, right)):
        if any(isinstance(side, tuple) for side in (left, right)):
            raise Unclear(f"is computed from {_kind(left)} and {_kind(right)}")
    try:
        return _small(bounded(kind, left, right))
    except TooLarge as error:
        raise Unclear(str(error)) from None


def _kind(value: Any) -> str:
    return "a tuple" if isinstance(value, tuple) else f"a {type(value).__name__}"


def called(target: Any, values: list[Any], named: dict[str, Any]) -> Any:
    """The result of a call that only computes: a type on a number, a function of math.

    Raises:
        Unclear: a call that the grader does not make.
    """
    if isinstance(target, types.Type) and len(values) == 1 and not named:
        if isinstance(target, types.Number | types.Boolean) and isinstance(values[0], _NUMBER):
            return _small(target(values[0]))
    elif target in (np.dtype, np.finfo, np.iinfo) and len(values) == 1 and not named:
        return target(_dtype(values[0]))
    elif _is_pure(target) and all(isinstance(one, (*_NUMBER, str)) for one in values):
        if target is pow or target is math.pow:
            return calculated(ast.Pow, *values)
        if target in (int, float, complex) and any(isinstance(one, str) for one in values):
            return _small(_of_text(target, values))
        if target is round and any(abs(digits) > 100 for digits in values[1:]):
            raise Unclear("is rounded to more than 100 digits")
        if not named and not any(isinstance(one, str) for one in values):
            return _small(target(*values))
    raise Unclear(f"is computed by a call of {_called(target)}")


def _of_text(target: Any, values: list[Any]) -> Any:
    if len(values) != 1 or len(values[0]) > 100:
        raise Unclear(f"is computed by {target.__name__} from a text")
    return target(values[0])


def _is_pure(target: Any) -> bool:
    if isinstance(target, Host):
        return False
    if isinstance(target, np.ufunc):
        return target in FUNCTIONS
    if isinstance(target, type) and issubclass(target, np.number | np.bool_):
        return True
    name = getattr(target, "__name__", "")
    if getattr(target, "__module__", "") == "math":
        return name in _OF_MATH
    return any(target is one for one in _BUILTINS.values())


def _called(target: Any) -> str:
    path = target.path if isinstance(target, Host) else path_of(target)
    return (path or getattr(target, "__name__", "") or "something").removeprefix("builtins.")[:80]


def _dtype(value: Any) -> np.dtype[Any]:
    """The dtype of numbers that a constant names: a type of NumPy or Numba, a dtype, its name."""
    if isinstance(value, types.Number | types.Boolean):
        value = str(value)
    if isinstance(value, str | np.dtype) or (isinstance(value, type) and _is_kind(value)):
        found: np.dtype[Any] = np.dtype(value if not isinstance(value, str) else value[:20])
        if found.kind in "biufc":
            return found
    raise Unclear("names no type of numbers")


def _is_kind(value: type) -> bool:
    return issubclass(value, np.number | np.bool_ | int | float | complex)


def _small(value: Any) -> Any:
    """A value of a kind and size that may be a constant.

    Raises:
        Unclear: it is not.
    """
    if isinstance(value, np.ndarray):
        raise Unclear("is an array that is computed")
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise Unclear(f"is a number of more than {MAX_BITS} bits")
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise Unclear(f"is a text of {len(value)} letters")
    if isinstance(value, tuple) and _items_in(value, MAX_ITEMS) > MAX_ITEMS:
        raise Unclear(f"is a tuple of more than {MAX_ITEMS} items")
    return value


def _items_in(value: Any, room: int) -> int:
    """The items of a tuple and of those in it, counted to a little above `room`."""
    if not isinstance(value, tuple):
        return 1
    count = 1
    for item in value:
        count += _items_in(item, room - count)
        if count > room:
            break
    return count
