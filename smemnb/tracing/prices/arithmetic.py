"""Float64 arithmetic in a kernel whose arrays are float32 or smaller.

Read from Numba's typed program: every operator and function of math that takes or gives a float64
or a complex128, with the reason on its own line: a literal, an integer, a variable that began as
one, an argument. Where another line made an operand float64, a literal beside it is no reason.
What the compiler works out from constants alone (-math.inf, float("inf"), 2 * np.pi) is no
operation: it is a constant, and named where a kernel computes with it.
What the compiler computes in float32 anyway is left out: a sum, difference, product or quotient of
float32 values and constants that float32 holds exactly, if nothing but a float32 array takes the
result, and a comparison of such values (checked in PTX).

An array of float64 that is only read, in a kernel of float32 arrays else, is named once, at the
first line that computes with it or stores it into a float32 array: such arrays are mostly
what `np.random.rand` gave.

A kernel that names float64 means it and is left alone; what Numba's own functions do, as those of
cuda.random, is theirs. **Limits**: `count` is the operations of
the line as it is written, not how often they run.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...lockstep.watch import Site
from ..callers import is_from_numba
from ..model import Observation
from .expression_text import ExpressionText

_SUM = {operator.add, operator.sub}
_NARROWED = _SUM | {operator.mul, operator.truediv}
_WORKED_OUT = {float, complex, abs, min, max, pow, round}
_COMPARED = {operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne}
_MODULES = ("math", "numpy", "builtins")


_known: WeakKeyDictionary[Any, list[Observation]] = WeakKeyDictionary()


@dataclass(frozen=True)
class _Operation:
    """One operation in float64: its line, how it is said, and what makes it float64."""

    line: int
    said: str
    reasons: tuple[tuple[str, str], ...]  # (what is float64, what to write instead)


def double_arithmetic(types: Any) -> list[Observation]:
    """The lines that compute in float64 without need; none unless the kernel is a float32 one."""
    if types is None:
        return []
    if types not in _known:
        _known[types] = _doubled(types)
    return _known[types]


def _doubled(types: Any) -> list[Observation]:
    every = list(types.typed())
    functions = [
        _Function(*parts, kernel=number == 0)  # the kernel is typed first
        for number, parts in enumerate(every)
        if not is_from_numba(parts[0])
    ]
    if not _single(types.argument_types):
        return list(_of_double_arrays(functions))
    if any(function.names_double() for function in functions):
        return []
    lines = [_Lines.of(function.__code__) for function, _, _ in every]
    return [seen for function in functions for seen in _observed(function, lines)]


@dataclass(frozen=True)
class _Lines:
    """The lines of a function, those of the functions inside it too."""

    file: str
    first: int
    last: int

    @classmethod
    def of(cls, code: CodeType) -> _Lines:
        inside = [cls.of(part).last for part in code.co_consts if isinstance(part, CodeType)]
        last = max([line for *_, line in code.co_lines() if line is not None] + inside)
        return cls(code.co_filename, code.co_firstlineno, last)

    def has(self, where: Any) -> bool:
        """Whether a place of Numba's is in here."""
        return bool(self.file == where.filename and self.first <= where.line <= self.last)


def _observed(function: _Function, known: Sequence[_Lines]) -> Iterator[Observation]:
    lines: dict[int, list[_Operation]] = defaultdict(list)
    for operation in function.operations(known):
        lines[operation.line].append(operation)
    for line, operations in sorted(lines.items()):
        reasons = dict(reason for one in operations for reason in one.reasons)
        if not reasons:
            continue  # it only goes on with what another line made float64
        first = next(one for one in operations if one.reasons)
        code = function.code
        yield Observation(
            kind="float64_arithmetic",
            site=Site(code.co_name, code.co_filename, line, 0, first.said, "arithmetic"),
            block=(0, 0, 0),
            thread=(0, 0, 0),
            warp=0,
            count=len(operations),
            detail={"why": _listed(list(reasons)), "instead": _listed(list(reasons.values()))},
        )


def _of_double_arrays(functions: Sequence[_Function]) -> Iterator[Observation]:
    """The first line that each float64 input makes float64, in a kernel of float32 else.

    Such an input is only read, and nothing in the kernel says float64.
    """
    if any(function.means_double() for function in functions):
        return
    if not any(function.has_single() for function in functions):
        return
    seen: set[str] = set()
    for function in functions:
        code = function.code
        for line, array, said, does, kind in function.from_double_arrays():
            if array in seen:
                continue
            seen.add(array)
            yield Observation(
                kind="float64_array",
                site=Site(code.co_name, code.co_filename, line, 0, said, "arithmetic"),
                block=(0, 0, 0),
                thread=(0, 0, 0),
                warp=0,
                count=1,
                detail={"array": array, "does": does, "dtype": kind},
            )


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def _single(arguments: Any) -> bool:
    """Whether the arrays among the arguments have floats, and none of more than 32 bits."""
    found = [_dtype(kind) for kind in _flat(arguments) if hasattr(kind, "dtype")]
    floats = [kind for kind in found if kind is not None and kind.kind in "fc"]
    return bool(floats) and all(kind.itemsize <= (4 if kind.kind == "f" else 8) for kind in floats)


def _flat(kinds: Any) -> Iterator[Any]:
    for kind in kinds:
        yield from _flat(kind) if hasattr(kind, "__iter__") else [kind]


def _dtype(kind: Any) -> np.dtype[Any] | None:
    """NumPy dtype of a scalar type, or of an array's elements."""
    from ...simulator.inference import scalar_dtype

    return scalar_dtype(getattr(kind, "dtype", kind))


class _Function:
    """The typed program of one function."""

    def __init__(self, function: Any, blocks: Any, typemap: Any, *, kernel: bool) -> None:
        self.code, self._typemap, self._kernel = function.__code__, typemap, kernel
        self._statements = [s for block in blocks.values() for s in block.body]
        self._made: dict[str, Any] = {}
        self._versions: dict[str, list[Any]] = defaultdict(list)
        self._uses: dict[str, list[Any]] = defaultdict(list)
        for statement in self._statements:
            kind = type(statement).__name__
            if kind == "Assign":
                self._made[statement.target.name] = statement.value
                self._versions[statement.target.unversioned_name].append(statement.value)
                value = statement.value
                used = [value] if type(value).__name__ == "Var" else _variables(value)
            else:
                used = [] if kind == "Del" else statement.list_vars()
            for variable in used:
                self._uses[variable.name].append(statement)

        self._text = ExpressionText(self._made, typemap)

    def names_double(self) -> bool:
        """Whether the function asks for float64 by name, or has an array of it."""
        for kind in self._typemap.values():
            named = getattr(kind, "instance_type", None) or (
                getattr(kind, "dtype", None) if type(kind).__name__ == "DType" else None
            )
            if str(named) in _WIDE or (hasattr(kind, "ndim") and str(kind.dtype) in _WIDE):
                return True
        return False

    def means_double(self) -> bool:
        """Whether it asks for float64 by name, declares an array of it, or stores into one."""
        arguments = {name for name, value in self._made.items() if type(value).__name__ == "Arg"}
        for name, kind in self._typemap.items():
            named = getattr(kind, "instance_type", None) or (
                getattr(kind, "dtype", None) if type(kind).__name__ == "DType" else None
            )
            if str(named) in _WIDE:
                return True
            made: Any = self._made.get(name)
            if _double_array(kind) and _op(made) == "call" and name not in arguments:
                return True
        for statement in self._statements:
            if type(statement).__name__ in ("SetItem", "StaticSetItem"):
                if _double_array(self._typemap[statement.target.name]):
                    return True
            if type(statement).__name__ == "Assign" and _op(statement.value) == "call":
                given = [self._typemap[one.name] for one in statement.value.args]
                device = hasattr(self._typemap[statement.value.func.name], "dispatcher")
                if any(map(_double_array, given)) and not device:
                    return True  # an atomic, or whatever may store into it
        return False

    def has_single(self) -> bool:
        """Whether it has arrays of float32 or casts to it."""
        for kind in self._typemap.values():
            array = hasattr(kind, "ndim") and str(kind.dtype) in _SINGLE
            if array or str(getattr(kind, "instance_type", None)) in _SINGLE:
                return True
        return False

    def from_double_arrays(self) -> Iterator[tuple[int, str, str, str, str]]:
        """What takes an element of a float64 array into arithmetic or into a float32 array.

        Line, array, the text of what happens, "computes" or "stores", and the dtype.
        """
        for statement in self._statements:
            made = type(statement).__name__
            if made == "Assign" and _op(statement.value) in _READ:
                used, does = self._operands(statement.value), "computes"
                said = self._text.of_value(statement.value)
            elif made in ("SetItem", "StaticSetItem"):
                if not _short(getattr(self._typemap[statement.target.name], "dtype", None)):
                    continue
                used, does = [statement.value], "stores"
                said = self._text.of(statement.value)
            else:
                continue
            for one in used:
                array = self._element_of(one)
                if array:
                    dtype = str(_plain(self._typemap[one.name]))
                    yield statement.loc.line, array, said, does, dtype

    def _element_of(self, operand: Any) -> str:
        """The float64 array that a variable is an element of, "" if it is none."""
        made: Any = self._made.get(operand.name)
        if type(made).__name__ == "Var":
            return self._element_of(made)
        if _op(made) not in ("getitem", "static_getitem") or not _wide(self._typemap[operand.name]):
            return ""
        return self._text.of(made.value) if _double_array(self._typemap[made.value.name]) else ""

    def operations(self, known: Sequence[_Lines]) -> Iterator[_Operation]:
        """Its operations in float64; what Numba put in from a `known` function is told there."""
        own = _Lines.of(self.code)
        for statement in self._statements:
            if type(statement).__name__ != "Assign":
                continue
            if not own.has(statement.loc) and any(one.has(statement.loc) for one in known):
                continue
            expression = statement.value
            if _op(expression) not in _READ or self._constant_value(expression) is not None:
                continue  # what has constants alone is worked out by the compiler
            operands = self._operands(expression)
            kinds = [self._typemap[one.name] for one in operands]
            result = self._typemap[statement.target.name]
            doubled = any(_wide(kind) for kind in [*kinds, result])
            if not doubled or self._kept_short(statement, expression, operands):
                continue
            yield _Operation(
                statement.loc.line,
                self._text.of_value(expression),
                tuple(self._reasons(expression, operands, kinds)),
            )

    def _operands(self, expression: Any) -> list[Any]:
        if expression.op == "call":
            key = getattr(self._typemap[expression.func.name], "typing_key", None)
            known = getattr(key, "__module__", "") in _MODULES and not isinstance(key, type)
            return list(expression.args) if known else []
        return self._parts(expression)

    def _kept_short(self, statement: Any, expression: Any, operands: list[Any]) -> bool:
        """Whether the compiler computes it in float32, as nobody could tell the difference."""
        if not operands:
            return True
        if expression.op == "call":
            return False
        exact = all(self._fits_short(one) for one in operands)
        inplace = expression.op == "inplace_binop"
        function = expression.immutable_fn if inplace else expression.fn
        if function in _COMPARED or expression.op == "unary":
            return exact
        narrowed = (
            _NARROWED if not _is(self._typemap[statement.target.name], "complex128") else _SUM
        )
        return exact and function in narrowed and self._only_stored_short(statement.target.name)

    def _fits_short(self, operand: Any) -> bool:
        kind = self._typemap[operand.name]
        if _short(kind):
            return True
        value = self._constant(operand)
        if value is None:
            return False
        with np.errstate(over="ignore"):
            return bool(complex(np.complex64(value)) == value or value != value)

    def _constant(self, operand: Any) -> Any:
        """The number that a variable always holds, None if it is none."""
        return self._constant_value(self._made.get(operand.name))

    def _constant_value(self, value: Any) -> Any:
        """The number that the right side of an assignment always is, None if it is none."""
        if type(value).__name__ == "Var":
            return self._constant(value)
        if _op(value) == "static_getitem":
            item = self._item(value)
            return None if item is None else self._constant(item)
        if _op(value) in _READ:
            return self._worked_out(value)
        found = None
        if _op(value) == "getattr":  # of a module, as math.pi
            found = getattr(
                getattr(self._typemap[value.value.name], "pymod", None), value.attr, None
            )
        elif type(value).__name__ in _CONSTANT:
            found = value.value
        return found if isinstance(found, int | float | complex) else None

    def _item(self, value: Any) -> Any:
        """What an element of a tuple is made of, as in now, acc = 0, 0.0; None if unknown."""
        items: Any = self._made.get(value.value.name)
        if _op(items) == "exhaust_iter":
            items = self._made.get(items.value.name)
        return items.items[value.index] if _op(items) == "build_tuple" else None

    def _worked_out(self, value: Any) -> Any:
        """The float that an operation has if all its operands are constants, else None.

        An integer that is made of integers is none.
        """
        operands = self._parts(value)
        if value.op == "call":
            function = getattr(self._typemap[value.func.name], "typing_key", None)
            if value.kws or getattr(function, "__module__", "") not in _MODULES:
                return None
            if function.__module__ == "builtins" and function not in _WORKED_OUT:
                return None  # a cast to another type, or what does more than give a number
            made: Any = self._made.get(operands[0].name) if len(operands) == 1 else None
            if function is float and type(made).__name__ == "Const":
                return _result(float, [made.value])  # a number, or float("-inf")
        else:
            function = value.immutable_fn if value.op == "inplace_binop" else value.fn
        constants = [self._constant(one) for one in operands]
        if not constants or any(one is None for one in constants) or function in _COMPARED:
            return None
        return _result(function, constants)

    def _parts(self, value: Any) -> list[Any]:
        if value.op == "unary":
            return [value.value]
        return list(value.args) if value.op == "call" else [value.lhs, value.rhs]

    def _is_float(self, value: Any) -> bool:
        """Whether it is a call of Python's float, which makes a float64."""
        if _op(value) != "call":
            return False
        return getattr(self._typemap[value.func.name], "typing_key", None) is float

    def _sources(self, value: Any, seen: frozenset[str] = frozenset()) -> Iterator[Any]:
        """What a value without a name of its own may be: both sides of `a if b else c`."""
        if type(value).__name__ == "Var" and value.name.startswith("$"):
            if value.name not in seen and value.name in self._made:
                yield from self._sources(self._made[value.name], seen | {value.name})
        elif _op(value) == "phi":
            for one in value.incoming_values:
                if type(one).__name__ == "Var" and one.name.startswith("$"):
                    yield from self._sources(one, seen)
        else:
            yield value

    def _only_stored_short(self, name: str) -> bool:
        uses = self._uses[name]
        if len(uses) != 1:
            return False
        (use,) = uses
        if type(use).__name__ in ("SetItem", "StaticSetItem"):
            element = getattr(self._typemap[use.target.name], "dtype", None)
            return use.value.name == name and _short(element)
        if type(use).__name__ != "Assign":
            return False
        if type(use.value).__name__ == "Var":
            return self._only_stored_short(use.target.name)
        if _op(use.value) == "call":
            cast = getattr(self._typemap[use.value.func.name], "instance_type", None)
            return _short(cast)
        return False

    def _reasons(
        self, expression: Any, operands: list[Any], kinds: list[Any]
    ) -> Iterator[tuple[str, str]]:
        """What makes an operation float64, operand by operand."""
        wide = [one for one, kind in zip(operands, kinds, strict=True) if _wide(kind)]
        given = [one for one in wide if not self._is_literal(one)]
        found = [self._origin(one, self._text.of(one)) for one in given or wide]
        origins = [reason for reasons in found for reason in reasons]
        yield from origins
        if given and not origins and not any(map(self._is_made_double, given)):
            return  # another line made it float64
        for operand, kind in zip(operands, kinds, strict=True):
            word, plain = self._text.of(operand), _plain(kind)
            if str(plain).startswith(("int", "uint")):
                if self._constant(operand) is None:
                    yield f"{word} is {plain}", f"float32({word}) for {word}"
                elif any(_short(other) for other in kinds):
                    yield f"{word} is an integer beside a float32", f"float32({word}) for {word}"

    def _is_made_double(self, operand: Any) -> bool:
        """Whether an operation inside the same expression makes it float64."""
        made: Any = self._made.get(operand.name)
        if not operand.name.startswith("$") or _op(made) not in _READ:
            return False
        operands = self._operands(made)
        kinds = [self._typemap[one.name] for one in operands]
        return any(True for _ in self._reasons(made, operands, kinds))

    def _is_literal(self, operand: Any) -> bool:
        """Whether it is a constant without a name of its own in the function."""
        return self._constant(operand) is not None and bool(operand.name.startswith("$"))

    def _origin(self, operand: Any, word: str) -> Iterator[tuple[str, str]]:
        """Where a float64 or complex128 operand comes from, and what to write instead."""
        made: Any = self._made.get(operand.name)
        kind = _plain(self._typemap[operand.name])
        cast = "complex64" if str(kind) == "complex128" else "float32"
        if self._is_literal(operand):
            what = "literal" if type(made).__name__ == "Const" else "constant"
            yield f"the {what} {word} is {kind}", f"{cast}({word}) for {word}"
            return
        if operand.name.startswith("$"):
            if self._is_float(made):
                yield f"{word} is {kind}", f"{self._cast(made, cast)} for {word}"
            elif _op(made) == "phi":
                yield from self._constant_sides(made, cast, kind)
            elif type(made).__name__ == "Var":
                yield from self._origin(made, word)
            elif _op(made) == "getattr" and str(_plain(self._typemap[made.value.name])) in _WIDE:
                yield from self._origin(made.value, self._text.of(made.value))
            return
        for value in self._versions[operand.unversioned_name]:
            name = operand.unversioned_name
            if type(value).__name__ == "Arg":
                cure = (
                    f"np.{cast}({name}) in the launch"
                    if self._kernel
                    else (f"{cast}(...) for {name} in the call")
                )
                yield f"the argument {name} is {kind}", cure
                return
            for source in self._sources(value):
                constant = self._constant_value(source)
                if constant is None and not self._is_float(source):
                    continue
                if isinstance(constant, int) and source is not value:
                    continue  # the other side of `a if b else c` makes it a float
                said, cure = self._spelt(source), self._cast(source, cast)
                if source is value:
                    said, cure = f"{name} = {said}", f"{name} = {cure}"
                yield f"{said} makes {word} {kind}", f"{cure} for {said}"
                return

    def _constant_sides(self, value: Any, cast: str, kind: Any) -> Iterator[tuple[str, str]]:
        """The constants that `a if b else c` may be, and what to write instead."""
        for source in self._sources(value):
            if isinstance(self._constant_value(source), float | complex):
                said = self._spelt(source)
                yield f"the constant {said} is {kind}", f"{self._cast(source, cast)} for {said}"

    def _spelt(self, value: Any) -> str:
        """The text of a constant in the source."""
        item = self._item(value) if _op(value) == "static_getitem" else None
        if item is not None:
            return self._text.of(item)
        return self._text.of_value(value) or repr(self._constant_value(value))

    def _cast(self, value: Any, cast: str) -> str:
        """What to write in place of a constant: float32(n) for float(n), else float32 of it."""
        said = self._spelt(value)
        if self._is_float(value) and "'" not in said:
            return cast + said.removeprefix("float")
        return f"{cast}({said})"


_WIDE = ("float64", "complex128")
_SINGLE = ("float32", "complex64")


def _double_array(kind: Any) -> bool:
    return hasattr(kind, "ndim") and str(kind.dtype) in _WIDE


def _wide(kind: Any) -> bool:
    return any(_is(kind, name) for name in _WIDE)


def _short(kind: Any) -> bool:
    return any(_is(kind, name) for name in ("float16", "float32", "complex64"))


def _result(function: Any, operands: Sequence[Any]) -> float | complex | None:
    """What a function makes of constants, if that is a float or a complex number."""
    try:
        with np.errstate(all="ignore"):
            found = function(*operands)
    except Exception:  # whatever a function refuses is for Numba to say
        return None
    return found if isinstance(found, float | complex) else None


_READ = ("binop", "inplace_binop", "unary", "call")
_CONSTANT = ("Const", "Global", "FreeVar")


def _op(value: Any) -> str:
    return str(value.op) if type(value).__name__ == "Expr" else ""


def _variables(value: Any) -> list[Any]:
    return list(value.list_vars()) if hasattr(value, "list_vars") else []


def _plain(kind: Any) -> Any:
    from ...simulator import seam

    return seam.types.unliteral(kind)


def _is(kind: Any, name: str) -> bool:
    return kind is not None and str(_plain(kind)) == name
