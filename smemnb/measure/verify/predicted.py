"""The model's counts of a case, named as the counters that answer them: of a launch, and per line.

    counts     what the source asks for: `trace` of the launch
    lines      the same by source line

A line is (file name, line number) of the kernel: what a device function does counts for the line
that calls it, as profilers show it, because Numba's inlined device functions have no line numbers
of their own. Where several lines call one function, it counts for the first.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import defaultdict
from pathlib import PurePath
from types import FunctionType
from typing import Any

from ...tracing import AccessRow, Trace, trace
from .case import Case
from .ncu.counters import COUNTED_WITH, COUNTS

Line = tuple[str, int]


def traced(case: Case) -> Trace:
    """The case's launch under `trace`.

    Raises:
        SmemnbError: what a launch is refused for, or stopped by.
    """
    configured = trace(case.kernel)[case.grid, case.block, 0, case.shared_bytes]
    return configured(*case.arguments())


def counts(found: Trace) -> dict[str, int]:
    """The counts of `COUNTS` over the launch."""
    totals = dict.fromkeys(COUNTS, 0)
    for row in found.lines:
        for name, value in _of(row).items():
            count = COUNTED_WITH.get(name, name)
            if count in totals:
                totals[count] += value
    return totals


def lines(found: Trace, kernel: Any) -> dict[Line, dict[str, int]]:
    """The counts of each line of the kernel that touches memory, and the lanes ("..._lanes")."""
    totals: dict[Line, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    calls = calling_lines(kernel)
    for row in found.lines:
        place = PurePath(found.files.get(row.function, "")).name, row.line
        if row.function in calls:
            place = min(calls[row.function])
        for name, value in _of(row).items():
            totals[place][name] += value
    return {place: dict(found) for place, found in totals.items()}


def calling_lines(kernel: Any) -> dict[str, set[Line]]:
    """Of each device function that a kernel reaches, by name, the kernel's lines that do."""
    found: dict[str, set[Line]] = defaultdict(set)
    function = kernel.py_func
    file = PurePath(inspect.getfile(function)).name
    source, first = inspect.getsourcelines(function)
    around = names_around(function)
    for node in ast.walk(ast.parse(textwrap.dedent("".join(source)))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            for one in _reached(around.get(node.func.id), {}).values():
                found[one.__name__].add((file, first + node.lineno - 1))
    return dict(found)


def names_around(function: FunctionType) -> dict[str, Any]:
    """What a function sees: its globals, and what a factory gave it."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {**function.__globals__, **{name: cell.cell_contents for name, cell in cells}}


def _reached(called: Any, known: dict[int, FunctionType]) -> dict[int, FunctionType]:
    """A device function and those that it calls."""
    function = getattr(called, "py_func", None)
    if function is None or id(function) in known:
        return known
    known[id(function)] = function
    around = names_around(function)
    for name in {*function.__code__.co_names, *function.__code__.co_freevars}:
        _reached(around.get(name), known)
    return known


def _of(row: AccessRow) -> dict[str, int]:
    kind = row.rule if row.kind in ("load", "store") else "atomic"
    if row.copy:
        kind = "copy"
    unit, value = ("wavefronts", row.wavefronts)
    if row.space == "global":
        unit, value = ("sectors", row.sectors)
    what = f"{row.space}_{kind}"
    return {f"{what}_requests": row.requests, f"{what}_{unit}": value, f"{what}_lanes": row.lanes}
