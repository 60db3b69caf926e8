"""A program in the engine, compared with Numba's compiled code: types and values.

The engine runs each program twice: by its own typing rules, and with the types that Numba's
inference hands in. By its own rules it cannot know the type of a variable that has another type
on a path no lane took, so programs in which a variable has several types count as `several` and
their first run is not compared.

Results of functions that are right to a few units in the last place (`rough`) may differ by `ULPS`
units. Of what unit: of the result's last place, or, where it is the difference of larger terms or
computed in a narrower type, of theirs (`_UNITS`). The engine notes those when it meets the call.
"""

from __future__ import annotations

import ast
import cmath
import contextlib
import linecache
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import cuda

from smemnb.lockstep import launch
from smemnb.lockstep.language.nodes import EXPRESSIONS

from . import vocabulary as words
from .writing import LENGTH, Program

BLOCK = 32
ULPS = 16


@dataclass
class Verdict:
    """What came of one program."""

    seed: int
    source: str
    refused: str = ""  # why Numba, or this oracle, does not take it
    differences: list[str] = field(default_factory=list)
    optimised: list[str] = field(default_factory=list)  # differences an optimiser makes
    types: int = 0  # expressions whose types were compared
    exact: int = 0  # outputs compared bit by bit
    rough: int = 0  # outputs compared with a tolerance
    undefined: int = 0  # threads left out
    several: bool = False


def function_of(source: str, name: str = "kernel") -> Any:
    """The function of a source, readable by inspect."""
    from numba import types

    file = f"<program {abs(hash(source))}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"cuda": cuda, "np": np, "math": math, "cmath": cmath}
    names.update({dtype: getattr(types, dtype) for dtype in words.SCALARS if dtype != "bool"})
    exec(compile(source, file, "exec"), names)
    return names[name]


def arguments_of(program: Program) -> list[np.ndarray[Any, Any]]:
    """Fresh arguments, scalars as arrays without axes."""
    made = [words.array(d, LENGTH, program.seed + 7) for d in program.outputs.values()]
    for at, dtype in enumerate(program.inputs.values()):
        made.append(words.array(dtype, LENGTH, program.seed + 100 * at))
    for dtype in program.scalars.values():
        made.append(words.array(dtype, 1, program.seed).reshape(()).copy())
    return made


def as_given(arguments: list[Any]) -> tuple[Any, ...]:
    """The arguments as a launch takes them."""
    return tuple(a if a.ndim else a[()] for a in arguments)


@dataclass
class Notes:
    """What the engine notes of the lines of a kernel while it runs."""

    types: dict[tuple[int, int, int, int], set[str]] = field(default_factory=dict)
    units: dict[int, Any] = field(default_factory=dict)  # by line: per thread, see `_UNITS`


def _unit_of_lgamma(value: Any, x: Any) -> Any:
    """The last place of the terms that CPython's lgamma sums, which cancel near 1, 2 and below -2.

    Lanczos: log(sum) - g + (a - 1/2) (log(a + g - 1/2) - 1) with g = 6.02 and a = |x|; below 0
    log(pi / (a |sin(pi a)|)) less that. NVIDIA, too, gives no bound between -23.0001 and -2.2637.
    """
    a = np.abs(np.asarray(x, np.float64))
    with np.errstate(all="ignore"):
        lanczos = 6.03 + np.abs(a - 0.5) * np.abs(np.log(a + 5.53) - 1)
        reflected = (
            math.log(math.pi) + np.abs(np.log(a)) + np.abs(np.log(np.abs(np.sin(np.pi * a))))
        )
        terms = 2 * lanczos + np.where(np.asarray(x) < 0, reflected, 0)
        return np.spacing(terms.astype(value.dtype))


def _unit_of_rect(value: Any, radius: Any, angle: Any) -> Any:
    """The last place of the result in the angle's type: sine and cosine are computed in that."""
    with np.errstate(all="ignore"):
        return np.spacing(np.abs(value).astype(angle.dtype))


_UNITS = {math.lgamma: _unit_of_lgamma, cmath.rect: _unit_of_rect}


@contextlib.contextmanager
def noting_types(notes: Notes) -> Iterator[None]:
    """While this holds, compiled expressions of a kernel note the dtypes they give."""
    kept = dict(EXPRESSIONS)
    for kind in (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Subscript):
        EXPRESSIONS[kind] = _noting(kept[kind], notes.types)
    EXPRESSIONS[ast.Call] = _noting_units(EXPRESSIONS[ast.Call], notes.units)
    try:
        yield
    finally:
        EXPRESSIONS.update(kept)


def _noting_units(build: Any, units: dict[int, Any]) -> Any:
    def built(scope: Any, node: Any) -> Any:
        closure, target = build(scope, node), scope.static(node.func)
        unit = next((unit for function, unit in _UNITS.items() if function is target), None)
        if unit is None:
            return closure
        given = [scope.expression(argument) for argument in node.args]
        noted = units.setdefault(node.lineno, np.zeros(LENGTH))

        def run(frame: Any, mask: Any) -> Any:
            value, batch = closure(frame, mask), frame.batch
            one = unit(value, *[argument(frame, mask) for argument in given])
            one = np.where(mask & np.isfinite(one), one, 0)
            place = slice(batch.first * BLOCK, batch.first * BLOCK + math.prod(batch.shape))
            noted[place] = np.maximum(noted[place], np.broadcast_to(one, batch.shape).ravel())
            return value

        return run

    return built


def _noting(build: Any, notes: dict[Any, set[str]]) -> Any:
    def built(scope: Any, node: Any) -> Any:
        closure = build(scope, node)
        if scope.tree.name != "kernel" or (isinstance(node, ast.Compare) and len(node.ops) > 1):
            return closure
        place = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)

        def run(frame: Any, mask: Any) -> Any:
            value = closure(frame, mask)
            if isinstance(value, (np.ndarray, np.generic)):
                notes.setdefault(place, set()).add(str(value.dtype))
            return value

        return run

    return built


def run_engine(function: Any, arguments: list[Any], types: Any, notes: Notes) -> None:
    """One launch in the engine; arrays among the arguments are written."""
    with noting_types(notes):
        grid = (LENGTH // BLOCK, 1, 1)
        launch(function, grid, (BLOCK, 1, 1), as_given(arguments), types=types, patience_s=20)


def type_differences(
    source: str, found: dict[Any, set[str]], wanted: dict[Any, set[str]]
) -> list[str]:
    """Expressions to which the engine gave a dtype that Numba did not infer."""
    lines = source.splitlines()
    said = []
    for place, dtypes in sorted(found.items()):
        numba = {kind for kind in wanted.get(place, ()) if kind in words.SCALARS + words.DATES}
        if numba and not dtypes <= numba:
            text = lines[place[0] - 1][place[2] : place[3]]
            said.append(f"type of `{text}`: Numba {sorted(numba)}, engine {sorted(dtypes)}")
    return said


def value_differences(
    program: Program, got: list[Any], wanted: list[Any], use: Any, whose: str, notes: Notes
) -> list[str]:
    """Outputs that differ in any thread of `use`."""
    said, lines = [], program.source.splitlines()
    for name, mine, other in zip(program.outputs, got, wanted, strict=False):
        wrong = ~_equal(mine, other, name in program.rough) & use
        for line, unit in notes.units.items():
            if name in program.rough and lines[line - 1].strip().startswith(f"{name}[i]"):
                with np.errstate(all="ignore"):
                    wrong &= ~(np.abs(mine - other) <= ULPS * unit)
        if wrong.any():
            at = int(np.argmax(wrong))
            said.append(f"{name}[{at}]: Numba {other[at]!r}, engine {mine[at]!r} ({whose})")
    return said


def _equal(mine: Any, other: Any, rough: bool) -> Any:
    if mine.dtype.kind == "c":
        same = _equal(mine.real, other.real, rough) & _equal(mine.imag, other.imag, rough)
        return same | _near_by_size(mine, other) if rough else same
    if mine.dtype.kind in "mM":
        return mine.view(np.int64) == other.view(np.int64)  # NaT is one of them
    same = mine == other
    if mine.dtype.kind == "f":
        same |= np.isnan(mine) & np.isnan(other)
        if rough:
            same |= _near(mine, other) | _close_as_float32(mine, other)
    return same


def _near(mine: Any, other: Any) -> Any:
    """Within a few units in the last place, of which infinity is one past the largest number."""
    most = np.finfo(mine.dtype).max
    a, b = np.clip(mine, -most, most), np.clip(other, -most, most)
    with np.errstate(all="ignore"):
        return np.abs(a - b) <= ULPS * np.spacing(np.maximum(np.abs(a), np.abs(b)))


def _near_by_size(mine: Any, other: Any) -> Any:
    """Complex numbers within a few units in the last place of the whole, not of each part."""
    with np.errstate(all="ignore"):
        apart, size = np.abs(mine - other), np.abs(other)
        small = (mine.astype("F") == mine) & (other.astype("F") == other)
        step = np.where(small, np.spacing(size.astype("f")), np.spacing(size))
        return apart <= ULPS * step


def _close_as_float32(mine: Any, other: Any) -> Any:
    """Where both are float32 values in a wider type, and close as such."""
    with np.errstate(all="ignore"):
        a, b = mine.astype(np.float32), other.astype(np.float32)
    return (a == mine) & (b == other) & _near(a, b)
