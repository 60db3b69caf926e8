"""What is measured: an operation at a shape, and which kernels of its ladder.

The plan without further wishes: every rung at the first shape, and at all shapes the choice, which
is the kernel that the operation takes there.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

from ...errors import SmemnbError
from ...kernels.matmul import ladder as products
from ...kernels.matmul.staged import STAGED
from ...kernels.rung import Rung
from ...kernels.transpose import ladder as transposes

__all__ = ["CHOICE", "ITEMSIZES", "OPERATIONS", "Case", "plan", "shape", "tried"]

CHOICE = "fastest"
OPERATIONS = ("transpose", "matmul")
ITEMSIZES = (1, 2, 4, 8, 16)
LADDERS = {
    "transpose": tuple(rung.name for rung in transposes.LADDER),
    "matmul": tuple(rung.name for rung in products.LADDER),
}
ASIDE = {"transpose": (), "matmul": tuple(rung.name for rung in STAGED)}
"""Rungs beside the ladders, which are measured where they are named."""


@dataclass(frozen=True)
class Case:
    """One operation at one shape; all its contenders are timed in the same rounds.

    Attributes:
        operation: one of `OPERATIONS`.
        shape: rows and columns of the input; of a product rows, columns and depth.
        itemsize: bytes per element; 4 for a product.
        spare: elements between the end of a row and the next row.
        rungs: names of the ladder, and `CHOICE`.
        tries: further rungs, under names of their own that `rungs` may name.
    """

    operation: str
    shape: tuple[int, ...]
    itemsize: int = 4
    spare: int = 0
    rungs: tuple[str, ...] = (CHOICE,)
    tries: tuple[tuple[str, Rung], ...] = ()

    @property
    def key(self) -> tuple[str, tuple[int, ...], int, int]:
        """As `Row.case` of its rows."""
        return self.operation, self.shape, self.itemsize, self.spare


TRANSPOSES = (
    Case("transpose", (16384, 16384)),
    Case("transpose", (8192, 8192)),
    Case("transpose", (4096, 16384)),
    Case("transpose", (16383, 16381)),
    Case("transpose", (8192, 8192), spare=4),
    Case("transpose", (8192, 8192), itemsize=1),
    Case("transpose", (16384, 8192), itemsize=2),
    Case("transpose", (8192, 8192), itemsize=2),
    Case("transpose", (8192, 8192), itemsize=8),
    Case("transpose", (8192, 8192), itemsize=16),
)
PRODUCTS = (
    Case("matmul", (4096, 4096, 4096)),
    Case("matmul", (8192, 8192, 8192)),
    Case("matmul", (2048, 2048, 2048)),
    Case("matmul", (1024, 1024, 1024)),
    Case("matmul", (4095, 4097, 4099)),
    Case("matmul", (4096, 4096, 4096), spare=4),
    Case("matmul", (8192, 1024, 8192)),
    Case("matmul", (1024, 8192, 8192)),
)
WHOLE: dict[str, tuple[Case, ...]] = {"transpose": TRANSPOSES, "matmul": PRODUCTS}
QUICK: dict[str, tuple[Case, ...]] = {
    "transpose": (Case("transpose", (8192, 8192)),),
    "matmul": (Case("matmul", (2048, 2048, 2048)),),
}


def plan(
    operations: Sequence[str],
    *,
    sizes: Sequence[str] = (),
    itemsizes: Sequence[int] = (),
    rungs: Sequence[str] = (),
    also: str = "",
    quick: bool = False,
) -> tuple[Case, ...]:
    """The cases in the order in which they are measured.

    >>> [case.shape for case in plan(["matmul"], sizes=["64", "8x4x2"], rungs=["fastest"])]
    [(64, 64, 64), (8, 4, 2)]

    Args:
        operations: of `OPERATIONS`.
        sizes: such as "4096", "4096x16384", "4095x4097x4099"; in place of those of the plan.
        itemsizes: bytes per element of transposes with sizes; 4 if none are given.
        rungs: names of the ladder, "fastest" for the choice, or "all"; at every shape.
        also: a file of rungs that are tried out beside these, as `tried` reads it.
        quick: one shape per operation.

    Raises:
        SmemnbError: a size, an itemsize or a rung that is not one, or a bad file of rungs.
    """
    _known(operations, rungs)
    bad = [size for size in itemsizes if size not in ITEMSIZES]
    if bad:
        raise SmemnbError(f"--itemsizes {bad[0]}: elements have 1, 2, 4, 8 or 16 bytes")
    if itemsizes and not sizes:
        raise SmemnbError("--itemsizes goes with --sizes, such as --sizes 8192 --itemsizes 2,8")
    found: list[Case] = []
    for operation in operations:
        cases = (QUICK if quick else WHOLE)[operation]
        if sizes:
            each = (itemsizes or (4,)) if operation == "transpose" else (4,)
            cases = tuple(
                Case(operation, shape(text, operation), size) for text in sizes for size in each
            )
        ladder = next((case for case in cases if case.itemsize == 4), None)
        for case in cases:
            case = _with_rungs(case, rungs, first=case is ladder)
            more = tried(also).get((operation, case.itemsize), ()) if also else ()
            names = tuple(f"{also}:{rung.name}" for rung in more)
            found.append(replace(case, rungs=case.rungs + names))
    return tuple(found)


@cache
def tried(path: str) -> dict[tuple[str, int], tuple[Rung, ...]]:
    """Rungs that are tried out, by operation and bytes per element: `RUNGS` of a Python file.

    The file says, for instance, `RUNGS = {"matmul": [Rung(kernel, "what changed", ...)]}`; an
    operation alone means elements of 4 bytes, `("transpose", 2)` others.

    Raises:
        SmemnbError: no such file, or not such rungs in it.
    """
    if not Path(path).is_file():
        raise SmemnbError(f"--also {path}: there is no such file")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise SmemnbError(f"--also {path}: it is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rungs = getattr(module, "RUNGS", None)
    if not _are_rungs(rungs):
        raise SmemnbError(
            f'--also {path}: it needs RUNGS = {{"matmul": [Rung(...)], ("transpose", 2): [...]}},'
            " each as in the ladders of smemnb.kernels"
        )
    return {(key, 4) if isinstance(key, str) else key: tuple(some) for key, some in rungs.items()}


def shape(text: str, operation: str) -> tuple[int, ...]:
    """The shape that a word names; one number is all extents.

    Raises:
        SmemnbError: the word is not such a shape.
    """
    extents = 2 if operation == "transpose" else 3
    words = text.lower().split("x")
    if all(word.isdecimal() and int(word) > 0 for word in words):
        numbers = tuple(int(word) for word in words)
        if len(numbers) == 1:
            return numbers * extents
        if len(numbers) == extents:
            return numbers
    example = "4096x16384" if extents == 2 else "4095x4097x4099 (rows, columns, depth)"
    raise SmemnbError(f"--sizes {text}: a size of a {operation} is 4096 or {example}")


def _are_rungs(found: Any) -> TypeGuard[dict[str | tuple[str, int], Sequence[Rung]]]:
    known = {*OPERATIONS, ("matmul", 4), *(("transpose", size) for size in ITEMSIZES)}
    return (
        isinstance(found, dict)
        and set(found) <= known
        and all(isinstance(one, Rung) for some in found.values() for one in some)
    )


def _known(operations: Sequence[str], rungs: Sequence[str]) -> None:
    there = [name for one in operations for name in (*LADDERS[one], *ASIDE[one])]
    for name in rungs:
        if name not in (CHOICE, "all", *there):
            raise SmemnbError(
                f"--rungs {name}: no rung has this name; known are"
                f" {', '.join(('all', CHOICE, *there))}"
            )


def _aside(case: Case, rungs: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in ASIDE[case.operation] if name in rungs)


def _with_rungs(case: Case, rungs: Sequence[str], *, first: bool) -> Case:
    """The case with the rungs that are wished for and move elements of its size."""
    ladder = LADDERS[case.operation]
    wished = ladder if "all" in rungs or (first and not rungs) else rungs
    named = *(name for name in ladder if name in wished), *_aside(case, rungs)
    names = named if case.itemsize == 4 else ()
    choice = (CHOICE,) if not rungs or {"all", CHOICE} & set(rungs) or not names else ()
    return replace(case, rungs=names + choice)
