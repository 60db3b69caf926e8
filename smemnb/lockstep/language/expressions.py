"""Expressions: lane values from names, operators, elements and attributes.

Both sides of `and`, `or` and a conditional expression run only for the lanes that need them, so
a guard such as `i < n and x[i] > 0` protects its access as it does on the device.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..intrinsics.coordinates import COORDINATES
from ..intrinsics.names import qualified
from ..lanes import NO_LANE, LaneValue, Mask, cast, constant, split, truth
from ..memory import KernelArray, frozen, poison
from ..memory.attributes import ATTRIBUTES, MISSING
from ..memory.whole import contains
from ..numbers import operators as numbers
from ..numbers.folding import folded, literal_int
from ..numbers.operators import UNARY, static_power
from ..numbers.subnormals import flush
from ..watch import Unassigned
from .assigned import read_of
from .elements import array_attribute
from .iterables import Items
from .joined_types import Side, apart, settlement, wide_dtype
from .mixed import BINARY, COMPARISONS, NUMBERS, SYMBOLS, Mixed, joined, known, like
from .pruning import place_of
from .raising import number, raise_in
from .scope import NOTHING, UNKNOWN, Expression, Frame, Scope, attribute_of

Operation = Callable[[Frame, Mask, LaneValue, LaneValue], LaneValue]

PLAIN: dict[str, Callable[[LaneValue, LaneValue], LaneValue]] = {
    SYMBOLS[kind]: compute for kind, compute in (*numbers.BINARY.items(), *numbers.COMPARE.items())
}
"""Operators of two numbers, without a look at anything else."""


def _literal(scope: Scope, node: ast.expr, number: Any) -> Expression:
    """A constant; one of more than 64 bits is refused where it runs, as Numba drops dead code."""
    if type(number) is int and not -(2**63) <= number < 2**64:
        said = f"{ast.unparse(node)} has more than 64 bits"
        return lambda frame, mask: scope.refuse(node, said, "Use smaller integers, or floats.")
    value = constant(number)
    return lambda frame, mask: value


def literal(scope: Scope, node: ast.Constant) -> Expression:
    """The closure of a constant that is written out."""
    return _literal(scope, node, node.value)


def side(scope: Scope, node: Side) -> Expression:
    """The closure of one side of a conditional expression that is returned or stored."""
    return scope.expression(node.value)


def variable(scope: Scope, node: ast.Name) -> Expression:
    """The closure of a name: a variable, or what is known while compiling."""
    name, levels = node.id, scope.levels(node.id)
    if levels is None:
        return fixed(scope, node, scope.static(node))
    dtype = None
    if scope.outer is None:
        dtype = scope.library.inferred(scope.function, name, node.lineno)

    def read(frame: Frame, mask: Mask) -> LaneValue:
        try:
            return frame.values[name]
        except KeyError:
            scope.refuse(
                node,
                f"{name!r} is read before anything was assigned to it",
                "Assign it before the branch or loop that may be skipped.",
            )

    if levels:
        return _outer(read, levels)
    if dtype is None:
        return _checked(scope, node, read) if read_of(node) in scope.unsure else read

    def read_as(frame: Frame, mask: Mask) -> LaneValue:
        try:
            return cast(read(frame, mask), dtype)
        except AttributeError:  # no number on this path
            return read(frame, mask)

    return _checked(scope, node, read_as) if read_of(node) in scope.unsure else read_as


def _checked(scope: Scope, node: ast.Name, read: Expression) -> Expression:
    """A variable that some lanes may not have assigned; these get poison, and it is reported."""
    name, site = node.id, scope.site(node, "variable")

    def run(frame: Frame, mask: Mask) -> LaneValue:
        have = frame.assigned.get(name, NO_LANE)
        if have is mask:
            return read(frame, mask)
        lost = mask & ~have
        if not lost.any():
            return read(frame, mask)
        if name in frame.values:
            value = read(frame, mask)
            value = joined(lost, _poisoned(value), value)
        else:
            kind = scope.library.held(scope.function, name, node.lineno)
            value = read(frame, mask) if kind is None else _poison_of(kind)
        frame.batch.report_unassigned(Unassigned(site, name, lost))
        return value

    return run


def _poisoned(value: LaneValue) -> LaneValue:
    """What lanes have in place of a value that they never assigned; objects stay as they are."""
    if isinstance(value, tuple):
        return like(value, (_poisoned(item) for item in value))
    return poison(value.dtype) if isinstance(value, NUMBERS) else value


def _poison_of(kind: Any) -> LaneValue:
    if isinstance(kind, tuple):
        return like(kind, (_poison_of(item) for item in kind))
    return poison(kind)


def _outer(read: Expression, levels: int) -> Expression:
    """A variable of a function around this one."""

    def run(frame: Frame, mask: Mask) -> LaneValue:
        for _ in range(levels):
            assert frame.outer is not None
            frame = frame.outer
        return read(frame, mask)

    return run


def fixed(scope: Scope, node: ast.expr, value: Any) -> Expression:
    """The closure of a value that is known while compiling."""
    coordinate = COORDINATES.get(qualified(value))
    if coordinate is not None:
        return lambda frame, mask: coordinate(frame.batch)
    on_device = not isinstance(value, type) and hasattr(value, "__cuda_array_interface__")
    if on_device or isinstance(value, np.ndarray | np.void | tuple):
        result = frozen(ast.unparse(node), value)
    else:
        result = known(value)
    return lambda frame, mask: result


def attribute(scope: Scope, node: ast.Attribute) -> Expression:
    """The closure of an attribute that is read."""
    if qualified(scope.static(node.value)) not in COORDINATES:
        value = scope.static(node)
        if value is not UNKNOWN:
            return fixed(scope, node, value)
    owner, name, site = scope.expression(node.value), node.attr, scope.site(node, "load")
    seen: dict[int, tuple[Any, Expression]] = {}

    def read(frame: Frame, mask: Mask) -> LaneValue:
        target = owner(frame, mask)
        if isinstance(target, Mixed):
            return target.each(lambda option, lanes: one(frame, mask & lanes, option))
        return one(frame, mask, target)

    def one(frame: Frame, mask: Mask, target: Any) -> LaneValue:
        if isinstance(target, KernelArray):
            found = array_attribute(target, name, frame, mask, site)
            if found is not MISSING:
                return found
        if isinstance(target, slice) and name in _SLICE_ATTRIBUTES:
            return _SLICE_ATTRIBUTES[name](target)
        if isinstance(target, (np.ndarray, np.generic)) and name in _NUMBER_ATTRIBUTES:
            return _NUMBER_ATTRIBUTES[name](target)
        if isinstance(target, tuple) and hasattr(target, "_fields") and name in target._fields:
            return getattr(target, name)
        if id(target) not in seen:  # an object that is known: a module, a dtype, an enum's member
            value = attribute_of(target, name)
            if value is UNKNOWN and isinstance(target, (np.dtype, Items)):
                return known(getattr(target, name))
            if value is UNKNOWN:
                from .calls import member

                added = member(scope, target, name, method=False)
                return refuse() if added is None else added(frame, mask, [target], {})
            seen[id(target)] = target, fixed(scope, node, value)
        return seen[id(target)][1](frame, mask)

    def refuse() -> NoReturn:
        scope.refuse(
            node,
            f"the engine does not know the attribute {ast.unparse(node)}",
            f"Arrays have {', '.join(sorted(ATTRIBUTES))}.",
        )

    return read


def _bound_of(given: LaneValue, step: LaneValue, up: int, down: int) -> LaneValue:
    """A bound of a slice; one that is left out depends on the direction."""
    if given is not None:
        return given
    return np.where(np.greater_equal(_step_of(step), 0), np.int64(up), np.int64(down))[()]


def _step_of(step: LaneValue) -> LaneValue:
    return np.int64(1) if step is None else step


_MOST, _LEAST = np.iinfo(np.int64).max, np.iinfo(np.int64).min
_SLICE_ATTRIBUTES: dict[str, Callable[[slice], LaneValue]] = {
    "start": lambda part: _bound_of(part.start, part.step, 0, _MOST),
    "stop": lambda part: _bound_of(part.stop, part.step, _MOST, _LEAST),
    "step": lambda part: _step_of(part.step),
}

_NUMBER_ATTRIBUTES: dict[str, Callable[[Any], LaneValue]] = {
    "real": lambda value: value.real,
    "imag": lambda value: value.imag,
    "value": lambda value: value,  # of a member of an IntEnum, which is its number here
}


def tuple_display(scope: Scope, node: ast.Tuple) -> Expression:
    """The closure of a tuple that is written out."""
    items = [
        scope.expression(item.value if isinstance(item, ast.Starred) else item)
        for item in node.elts
    ]
    stars = [isinstance(item, ast.Starred) for item in node.elts]
    if not any(stars):
        return lambda frame, mask: tuple([item(frame, mask) for item in items])

    def run(frame: Frame, mask: Mask) -> LaneValue:
        found: list[LaneValue] = []
        for item, star in zip(items, stars, strict=True):
            value = item(frame, mask)
            found.extend(value) if star else found.append(value)
        return tuple(found)

    return run


def binary(scope: Scope, node: ast.BinOp) -> Expression:
    """The closure of an operator between two values."""
    literal = folded(node)
    if literal is not None:
        return _literal(scope, node, literal)
    left, right = scope.expression(node.left), scope.expression(node.right)
    exponent = literal_int(node.right)
    if isinstance(node.op, ast.Pow) and exponent is not None:
        return lambda frame, mask: static_power(left(frame, mask), exponent)
    symbol = SYMBOLS[type(node.op)]
    if scope.library.debug and symbol in _DIVISIONS:
        combine = operation(scope, node, node.op)
        return lambda frame, mask: combine(frame, mask, left(frame, mask), right(frame, mask))
    compute, general = PLAIN[symbol], operation(scope, node, node.op)

    def run(frame: Frame, mask: Mask) -> LaneValue:
        a, b = left(frame, mask), right(frame, mask)
        try:
            return compute(a, b)
        except (TypeError, AttributeError):
            return general(frame, mask, a, b)

    return run


def operation(scope: Scope, node: ast.AST, operator: ast.operator | ast.cmpop) -> Operation:
    """An operator as a closure of frame, mask and operands: optional values, zero divisors."""
    symbol = SYMBOLS[type(operator)]
    compute = BINARY.get(symbol) or COMPARISONS[symbol]
    checks = scope.library.debug and symbol in _DIVISIONS
    quick = symbol == "/" and scope.fast  # of float32, it asks for no zero divisor
    by_object = symbol in ("==", "!=") and scope.library.types is None
    wide = wide_dtype(scope, node) if isinstance(node, ast.AugAssign) else None

    def run(frame: Frame, mask: Mask, left: LaneValue, right: LaneValue) -> LaneValue:
        if not isinstance(left, NUMBERS) or not isinstance(right, NUMBERS):
            if by_object and (left is None or right is None):
                return compute(left, right)
            plain = [number(scope, node, frame, mask, side) for side in (left, right)]
            if all(isinstance(side, NUMBERS) for side in plain):
                left, right = plain
        if checks and isinstance(right, NUMBERS):
            zero = mask & np.equal(right, 0)
            if zero.any() and not (quick and left.dtype == right.dtype == np.float32):
                whole = all(side.dtype.kind in "biu" for side in (left, right))
                text = _DIVISIONS[symbol][0 if whole else 1]
                raise_in(scope, node, frame, zero, ZeroDivisionError, text)
        try:
            result = compute(left, right)
            return result if wide is None else cast(result, wide)
        except (TypeError, AttributeError) as error:
            scope.refuse(
                node,
                f"the engine does not run {ast.unparse(node)} on these values ({error})",
                "Take numbers on both sides.",
            )

    if not scope.library.flushes:
        return run
    return lambda frame, mask, left, right: flush(run(frame, mask, flush(left), flush(right)))


_DIVISIONS = {
    "/": ("division by zero", "division by zero"),
    "//": ("integer division by zero", "division by zero"),
    "%": ("integer modulo by zero", "modulo by zero"),
}
"""What Numba says of a zero divisor, of integers and of floats."""


def may_raise(scope: Scope, node: ast.expr) -> bool:
    """True if evaluating an expression may end lanes: calls, optional values, checks."""
    if scope.library.debug:
        return True
    return any(isinstance(part, (ast.Call, ast.BinOp, ast.Subscript)) for part in ast.walk(node))


def unary(scope: Scope, node: ast.UnaryOp) -> Expression:
    """The closure of an operator before a value."""
    literal = folded(node)
    if literal is not None:
        return _literal(scope, node, literal)
    operand, apply = scope.expression(node.operand), UNARY[type(node.op)]
    negates = isinstance(node.op, ast.Not)

    def run(frame: Frame, mask: Mask) -> LaneValue:
        value = operand(frame, mask)
        if not isinstance(value, NUMBERS):
            if negates:
                return np.logical_not(truth(value))
            value = number(scope, node, frame, mask, value)
        return value.mapped(apply) if hasattr(value, "mapped") else apply(value)

    return run


def compare(scope: Scope, node: ast.Compare) -> Expression:
    """The closure of a comparison, also a chained one."""
    first = scope.expression(node.left)
    rest = [
        (_comparison(scope, node, operator), _compared(scope, operator, item))
        for operator, item in zip(node.ops, node.comparators, strict=True)
    ]
    if len(rest) == 1:
        compare, second = rest[0]
        by_types = _with_none(scope, node)
        if len(by_types) == 1:
            return _decided(first, second, np.bool_(next(iter(by_types))))
        if by_types:  # called with None and with numbers: each call compares what it has
            equal = COMPARISONS[SYMBOLS[type(node.ops[0])]]
            return lambda frame, mask: equal(first(frame, mask), second(frame, mask))
        plain = PLAIN.get(SYMBOLS[type(node.ops[0])])
        if plain is None:
            return lambda frame, mask: compare(frame, mask, first(frame, mask), second(frame, mask))

        def run_one(frame: Frame, mask: Mask) -> LaneValue:
            a, b = first(frame, mask), second(frame, mask)
            try:
                return plain(a, b)
            except (TypeError, AttributeError):
                return compare(frame, mask, a, b)

        return run_one

    def run(frame: Frame, mask: Mask) -> LaneValue:
        left, result = first(frame, mask), np.True_
        for compare, item in rest:
            yes, _ = split(mask, result)
            if yes is NO_LANE:
                break
            right = item(frame, yes)
            result = result & compare(frame, yes, left, right)
            left = right
        return result

    return run


def _with_none(scope: Scope, node: ast.Compare) -> frozenset[bool]:
    """What a comparison with None comes to by types alone; empty where they do not say."""
    if scope.outer is not None or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return frozenset()
    return scope.library.with_none(scope.function, place_of(node))


def _decided(first: Expression, second: Expression, result: LaneValue) -> Expression:
    """A result that is known before both sides are computed; they are all the same."""

    def run(frame: Frame, mask: Mask) -> LaneValue:
        first(frame, mask)
        second(frame, mask)
        return result

    return run


def _comparison(scope: Scope, node: ast.Compare, operator: ast.cmpop) -> Operation:
    compare = COMPARISONS[SYMBOLS[type(operator)]]
    if isinstance(operator, (ast.In, ast.NotIn)):
        return _membership(scope, node, compare, wanted=isinstance(operator, ast.In))
    if not isinstance(operator, (ast.Is, ast.IsNot)):
        return operation(scope, node, operator)
    if scope.library.of_two_enums(scope.function, node.lineno):
        differ = np.bool_(isinstance(operator, ast.IsNot))
        return lambda frame, mask, left, right: differ
    return lambda frame, mask, left, right: compare(left, right)


def _membership(scope: Scope, node: ast.Compare, compare: Any, *, wanted: bool) -> Operation:
    """`in` and `not in`, of an array by loads of its elements."""
    site = scope.site(node, "load")
    library = scope.library
    decided_by_types = library.types is not None and library.optional(scope.function)

    def run(frame: Frame, mask: Mask, left: LaneValue, right: LaneValue) -> LaneValue:
        among = right if isinstance(right, tuple) and decided_by_types else ()
        if left is None and any(map(_may_be_none, among)):
            scope.refuse(
                node,
                f"{ast.unparse(node)} looks for None among values that are None in some threads",
                "Compare them one by one, with `is None`.",
            )
        if isinstance(right, KernelArray):
            found = contains(right, left, frame.batch, mask, site)
            return found if wanted else ~found
        return compare(left, right)

    return run


def _may_be_none(item: LaneValue) -> bool:
    return item is None or isinstance(item, Mixed)


def _compared(scope: Scope, operator: ast.cmpop, node: ast.expr) -> Expression:
    """The right side of a comparison; `in [1, 2]` is compiled by Python as a tuple."""
    if isinstance(operator, (ast.In, ast.NotIn)) and isinstance(node, ast.List):
        node = ast.copy_location(ast.Tuple(node.elts, ast.Load()), node)
    return scope.expression(node)


def bool_op(scope: Scope, node: ast.BoolOp) -> Expression:
    """The closure of `and` and `or`."""
    parts = [scope.expression(value) for value in node.values]
    is_and = isinstance(node.op, ast.And)
    settle = settlement(scope, node)

    def run(frame: Frame, mask: Mask) -> LaneValue:
        result = parts[0](frame, mask)
        for part in parts[1:]:
            yes, no = split(mask, truth(result))
            undecided = yes if is_and else no
            if undecided is NO_LANE:
                break
            value = part(frame, undecided)
            result = value if undecided is mask else joined(undecided, value, result)
        return settle(result)

    return run


def conditional(scope: Scope, node: ast.IfExp) -> Expression:
    """The closure of `a if c else b`."""
    test, body, orelse = (
        scope.condition(node.test),
        scope.expression(node.body),
        scope.expression(node.orelse),
    )
    settle = settlement(scope, node)
    separate = node in scope.apart

    def run(frame: Frame, mask: Mask) -> LaneValue:
        condition = truth(test(frame, mask))
        yes, no = split(mask, condition)
        if no is NO_LANE:
            return settle(body(frame, mask))
        if yes is NO_LANE:
            return settle(orelse(frame, mask))
        both = body(frame, yes), orelse(frame, no)
        two = apart(condition, *both) if separate else None
        return settle(joined(condition, *both)) if two is None else two

    return run


def named(scope: Scope, node: ast.NamedExpr) -> Expression:
    """The closure of `name := value`."""
    value, name = scope.expression(node.value), node.target.id
    followed = name in scope.followed

    def run(frame: Frame, mask: Mask) -> LaneValue:
        result = value(frame, mask)
        old = frame.values.get(name, NOTHING)
        plain = old is NOTHING or mask is frame.alive
        frame.values[name] = result if plain else joined(mask, result, old)
        if followed:
            frame.mark(name, mask)
        return result

    return run
