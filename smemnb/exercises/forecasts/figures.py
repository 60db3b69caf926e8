"""What a learner has typed as a forecast, read and refused before anything runs."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from .accesses import Access, meant, nearest

Figures = dict[str, int | None]
"""Per column what is forecast; None where nothing is yet."""

COLUMNS = ("requests", "wavefronts", "sectors")


class Refused(Exception):
    """A forecast that cannot be read; the text says what is wrong with it, and how it is right."""


def check_form(name: str, kernel: str, given: Any) -> None:
    """Raise Refused if a forecast is no dict of names and whole numbers."""
    table = f'forecast("{name}", {kernel}) prints one to fill in'
    if not isinstance(given, Mapping):
        raise Refused(f"the forecast is a {type(given).__name__}, not a dict: {table}")
    for access, figures in given.items():
        if not isinstance(access, str):
            raise Refused(
                f"{str(access)[:40]} is no text: an access is named in quotes, as in"
                ' "load tile[tx, ty]"'
            )
        _check_figures(access, figures)


def _check_figures(access: str, figures: Any) -> None:
    if figures is None:
        return
    if isinstance(figures, Mapping):
        unknown = [column for column in figures if column not in COLUMNS]
        if unknown:
            raise Refused(
                f'"{access}": {str(unknown[0])[:40]} is no column; columns are'
                f" {', '.join(COLUMNS[:-1])} and {COLUMNS[-1]}"
            )
        each: Sequence[Any] = list(figures.values())
    else:
        each = _several(figures)
    for number in each:
        _check_number(access, number)


def _several(figures: Any) -> Sequence[Any]:
    """The numbers of a row: of a tuple, list or array its items, of a single number itself."""
    figures = figures.tolist() if hasattr(figures, "tolist") else figures
    return figures if isinstance(figures, (tuple, list)) else [figures]


def _check_number(access: str, number: Any) -> None:
    said = f'"{access}": {str(number)[:40]}'
    if number is None:
        return
    if isinstance(number, str):
        raise Refused(f"{said} is a text: write the number without quotes")
    if isinstance(number, bool) or not isinstance(number, numbers.Real):
        raise Refused(f"{said} is a {type(number).__name__}, not a number")
    if not isinstance(number, numbers.Integral) and (
        not math.isfinite(number) or number != math.floor(number)
    ):
        raise Refused(f"{said} is no whole number; what is counted here has no fractions")
    if number < 0:
        raise Refused(f"{said} is negative; the least that can be counted is 0")


def matched(accesses: Sequence[Access], given: Mapping[str, Any]) -> dict[str, Figures]:
    """What is forecast of each access, by its name.

    Raises:
        Refused: a name that is no access or several, two names of one access, or figures that do
            not fit the columns of their access.
    """
    found: dict[str, Figures] = {one.name: dict.fromkeys(one.columns) for one in accesses}
    said_as: dict[str, str] = {}
    for said, figures in given.items():
        one = _one(accesses, said)
        if one.name in said_as:
            raise Refused(f'"{said_as[one.name]}" and "{said}" are the same access: leave one out')
        said_as[one.name] = said
        found[one.name] |= _by_column(one, said, figures)
    return found


def _one(accesses: Sequence[Access], said: str) -> Access:
    found = meant(accesses, said)
    if len(found) == 1:
        return found[0]
    if found:
        names = " or ".join(f'"{one.name}"' for one in found[:4])
        raise Refused(f'"{said}" is not the only one of its name: write {names}')
    near = nearest(accesses, said)
    ask = " or ".join(f'"{name}"' for name in near)
    instead = f"did you mean {ask}?" if near else "the table lists those that there are"
    raise Refused(f'the launch comes to no access "{said}"; {instead}')


def _by_column(access: Access, said: str, figures: Any) -> Figures:
    columns = access.columns
    if figures is None:
        return {}
    if isinstance(figures, Mapping):
        for column in figures:
            if column not in columns:
                raise Refused(
                    f'"{said}" has no {column}: it touches {access.row.space} memory, and its'
                    f" columns are {' and '.join(columns)}"
                )
        return {column: _whole(number) for column, number in figures.items()}
    each = _several(figures)
    if len(each) != len(columns):
        order = ", ".join(columns) + ("," if len(columns) == 1 else "")
        raise Refused(f'"{said}" wants {len(columns)} figures: ({order}); here are {len(each)}')
    return {column: _whole(number) for column, number in zip(columns, each, strict=True)}


def _whole(number: Any) -> int | None:
    return None if number is None else int(number)
