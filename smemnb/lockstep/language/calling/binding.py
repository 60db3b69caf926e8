"""Arguments of a call: positional, named, starred; and how a function's parameters take them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ....errors import LaunchRefused
from ...lanes import LaneValue, Mask
from ..scope import Expression, Frame, Scope

Named = list[tuple[str, Expression]]


def _starred(scope: Scope, node: ast.Starred) -> Expression:
    value = scope.expression(node.value)

    def run(frame: Frame, mask: Mask) -> LaneValue:
        items = value(frame, mask)
        if not isinstance(items, tuple):
            scope.refuse(node, f"{ast.unparse(node)} spreads what is no tuple", "Name every value.")
        return items

    return run


class Arguments:
    """The closures of a call's arguments."""

    def __init__(self, scope: Scope, node: ast.Call) -> None:
        self.items: list[Expression] = []
        self.spread: list[bool] = []
        for argument in node.args:
            star = isinstance(argument, ast.Starred)
            self.spread.append(star)
            self.items.append(
                _starred(scope, argument)
                if isinstance(argument, ast.Starred)
                else scope.expression(argument)
            )
        self.named: Named = []
        for keyword in node.keywords:
            if keyword.arg is None:
                scope.refuse(node, "a call with **arguments", "Name every argument.")
            self.named.append((keyword.arg, scope.expression(keyword.value)))
        self.starred = any(self.spread)
        self.plain = not self.starred and not self.named

    def values(self, frame: Frame, mask: Mask) -> list[LaneValue]:
        """The positional arguments, tuples with a star spread out."""
        if not self.starred:
            return [item(frame, mask) for item in self.items]
        found: list[LaneValue] = []
        for item, star in zip(self.items, self.spread, strict=True):
            value = item(frame, mask)
            found.extend(value) if star else found.append(value)
        return found

    def keywords(self, frame: Frame, mask: Mask) -> dict[str, LaneValue]:
        """The named arguments."""
        return {name: value(frame, mask) for name, value in self.named}


class Parameters:
    """The parameters of one function: names, the name of `*rest`, defaults."""

    def __init__(
        self, function: str, names: Sequence[str], rest: str, defaults: Mapping[str, LaneValue]
    ) -> None:
        self.function, self.names, self.rest, self.defaults = function, names, rest, defaults

    def bound(
        self, arguments: Sequence[LaneValue], named: Mapping[str, LaneValue]
    ) -> dict[str, LaneValue]:
        """Name and value of every parameter.

        Raises:
            TypeError: the call and the parameters do not fit.
        """
        values = dict(self.defaults)
        values.update(zip(self.names, arguments, strict=False))
        if self.rest:
            values[self.rest] = tuple(arguments[len(self.names) :])
        elif len(arguments) > len(self.names):
            raise TypeError(self._misfit(len(arguments)))
        values.update(named)
        expected = len(self.names) + bool(self.rest)
        if len(values) != expected:
            raise TypeError(self._misfit(len(arguments) + len(named)))
        return values

    def _misfit(self, count: int) -> str:
        listed = ", ".join([*self.names, *([f"*{self.rest}"] if self.rest else [])])
        return f"{self.function}({listed}) was called with {count} arguments"

    def named(self, count: int) -> list[str]:
        """What to call each of `count` positional arguments."""
        more = range(count - len(self.names))
        return [*self.names[:count], *(f"{self.rest}[{at}]" for at in more)]

    def check_count(self, count: int) -> None:
        """Raise LaunchRefused unless a launch may give this many arguments."""
        least = len(self.names) - len(self.defaults)
        if least <= count and (self.rest or count <= len(self.names)):
            return
        raise LaunchRefused(
            f"{self.function} takes {len(self.names)} arguments "
            f"({', '.join(self.names)}), but the launch gives {count}."
        )
