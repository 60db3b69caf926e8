"""The source text of a value in Numba's typed program, put together from what makes it.

`$` variables have no name in the source: they are spelt out as the operators, calls, elements and
literals that make them. Brackets stand where Python needs them. **Limits**: what is made in some
other way, as by a comprehension, is named by its type ("an int64"), and a text of more than
`LONGEST` characters inside a call or an index by an ellipsis.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

LONGEST = 60
_INPLACE: dict[Any, Any] = {
    operator.iadd: operator.add,
    operator.isub: operator.sub,
    operator.imul: operator.mul,
    operator.itruediv: operator.truediv,
    operator.ifloordiv: operator.floordiv,
    operator.imod: operator.mod,
    operator.ipow: operator.pow,
}
_SYMBOLS: dict[Any, tuple[str, int]] = {  # and how tightly it binds
    operator.lt: ("<", 1),
    operator.le: ("<=", 1),
    operator.gt: (">", 1),
    operator.ge: (">=", 1),
    operator.eq: ("==", 1),
    operator.ne: ("!=", 1),
    operator.or_: ("|", 2),
    operator.xor: ("^", 3),
    operator.and_: ("&", 4),
    operator.lshift: ("<<", 5),
    operator.rshift: (">>", 5),
    operator.add: ("+", 6),
    operator.sub: ("-", 6),
    operator.mul: ("*", 7),
    operator.truediv: ("/", 7),
    operator.floordiv: ("//", 7),
    operator.mod: ("%", 7),
    operator.neg: ("-", 8),
    operator.pos: ("+", 8),
    operator.invert: ("~", 8),
    operator.pow: ("**", 9),
}
_UNARY, _ATOM = 8, 10


class ExpressionText:
    """The texts of one function's values.

    Args:
        made: per variable, the right side of the assignment that makes it.
        typemap: per variable, its type.
    """

    def __init__(self, made: Mapping[str, Any], typemap: Mapping[str, Any]) -> None:
        self._made, self._typemap = made, typemap

    def of(self, variable: Any) -> str:
        """A variable by its name, or by what makes it if it has none in the source."""
        return self._variable(variable)[0]

    def of_value(self, value: Any) -> str:
        """The right side of an assignment; "" for one that cannot be spelt."""
        said = self._value(value)
        return "" if said is None else said[0]

    def _variable(self, variable: Any) -> tuple[str, int]:
        """Text of a variable, and how tightly it binds."""
        if not variable.name.startswith("$"):
            return str(variable.unversioned_name), _ATOM
        return self._value(self._made.get(variable.name)) or (self._typed(variable), _ATOM)

    def _value(self, value: Any) -> tuple[str, int] | None:
        kind = type(value).__name__
        if kind == "Var":
            return self._variable(value)
        if kind == "Const":
            text = repr(value.value)
            return text, _UNARY if text.startswith("-") else _ATOM
        if kind in ("Global", "FreeVar"):
            return str(value.name), _ATOM
        if kind != "Expr":
            return None
        if value.op in ("binop", "inplace_binop"):
            return self._binary(value)
        if value.op == "unary" and value.fn in _SYMBOLS:
            return _SYMBOLS[value.fn][0] + self._bound(value.value, _UNARY), _UNARY
        if value.op == "call" and not value.kws and value.vararg is None:
            return f"{self.of(value.func)}({self._inside(value.args)})", _ATOM
        if value.op in ("getitem", "typed_getitem"):
            return f"{self._bound(value.value, _ATOM)}[{self._index(value.index)}]", _ATOM
        if value.op == "static_getitem":
            index = repr(value.index) if value.index_var is None else self._index(value.index_var)
            return f"{self._bound(value.value, _ATOM)}[{index}]", _ATOM
        if value.op == "getattr":
            return f"{self._bound(value.value, _ATOM)}.{value.attr}", _ATOM
        if value.op == "build_tuple":
            end = ",)" if len(value.items) == 1 else ")"
            return f"({self._inside(value.items)}{end}", _ATOM
        return self._variable(value.value) if value.op in ("cast", "exhaust_iter") else None

    def _binary(self, value: Any) -> tuple[str, int] | None:
        function = value.immutable_fn if value.op == "inplace_binop" else value.fn
        if function not in _SYMBOLS:
            return None
        symbol, binds = _SYMBOLS[function]
        left, right = (binds + 1, binds) if function is operator.pow else (binds, binds + 1)
        return f"{self._bound(value.lhs, left)} {symbol} {self._bound(value.rhs, right)}", binds

    def _bound(self, variable: Any, least: int) -> str:
        """A text that binds at least so tightly, in brackets if it does not by itself."""
        text, binds = self._variable(variable)
        return text if binds >= least else f"({text})"

    def _index(self, variable: Any) -> str:
        made: Any = self._made.get(variable.name)
        if variable.name.startswith("$") and getattr(made, "op", "") == "build_tuple":
            return self._inside(made.items) if len(made.items) > 1 else self.of(variable)
        return _short(self.of(variable))

    def _inside(self, variables: Any) -> str:
        return _short(", ".join(map(self.of, variables)))

    def _typed(self, variable: Any) -> str:
        from ...simulator import seam

        name = str(seam.types.unliteral(self._typemap[variable.name]))
        return f"{'an' if name.startswith('i') else 'a'} {name}"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else "..."
