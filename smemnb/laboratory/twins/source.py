"""The twins of a kernel: its source with one barrier less, or with one moved by a statement.

A twin is a file of its own with the changed function in it, so that line numbers mean something; a
name that the function takes from around it (a global, or what a factory gave it) is given to it. Of
a kernel whose barrier stands in a device function that it calls, the device function is changed.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

from ...measure.verify.case import Case
from ...measure.verify.predicted import names_around

BARRIER = "cuda.syncthreads()"
_LEAVES = (ast.Return, ast.Break, ast.Continue)


@dataclass(frozen=True)
class Twin:
    """A case whose kernel lacks a barrier.

    Attributes:
        name: "CASE: CHANGE", such as "sum_halving 2 x 128: barrier 1 removed".
        case: the case with the twin as its kernel.
        change: "removed", or moved "after" or "before" its neighbour statement.
        function: in which the barrier stood, of the twin's file.
        file: the twin's source.
    """

    name: str
    case: Case
    change: str
    function: str
    file: Path


def twins(case: Case, folder: Path) -> list[Twin]:
    """All twins of a case's kernel, their files written to the folder.

    A twin's function is named after the kernel, the folder and the change, so that reports on twins
    of several kernels of one name can be distinguished.
    """
    made: list[Twin] = []
    function = case.kernel.py_func
    for owner, tree in _owners(function):
        for number, change, changed in _changes(tree):
            name = f"{function.__name__}_{folder.name}_{len(made) + 1}_{change}"
            kernel, file = _built(case.kernel, owner, changed, name, folder)
            twin = Case(
                f"{case.name}: barrier {number}{f' of {owner}' if owner else ''} {change}",
                kernel,
                case.grid,
                case.block,
                case.make,
                case.shared_bytes,
                case.retries,
            )
            made.append(Twin(twin.name, twin, change, changed.name, file))
    return made


def barriers(function: FunctionType) -> int:
    """How many barriers the source of a kernel has, with those of its device functions."""
    return sum(len(list(_places(tree))) for _, tree in _owners(function))


def _owners(function: FunctionType) -> list[tuple[str, ast.FunctionDef]]:
    """The kernel ("") and the device functions it names, those with a barrier in their source."""
    found = [("", _tree(function))]
    around = names_around(function)
    for name in sorted({*function.__code__.co_names, *function.__code__.co_freevars}):
        part = getattr(around.get(name), "py_func", None)
        if part is not None:
            found.append((name, _tree(part)))
    return [(name, tree) for name, tree in found if any(_places(tree))]


def _tree(function: FunctionType) -> ast.FunctionDef:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(tree, ast.FunctionDef)
    tree.decorator_list = []
    return tree


def _places(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    """Each barrier: the statements it stands among, and which of them it is."""
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            among = getattr(node, field, None)
            if isinstance(among, list):
                for at, one in enumerate(among):
                    if isinstance(one, ast.Expr) and ast.unparse(one) == BARRIER:
                        yield among, at


def _changes(tree: ast.FunctionDef) -> Iterator[tuple[int, str, ast.FunctionDef]]:
    """Number of the barrier, what was done to it, and the function after that."""
    whole = ast.unparse(tree)
    for number in range(len(list(_places(tree)))):
        for change in ("removed", "moved"):
            (made,) = ast.parse(whole).body
            assert isinstance(made, ast.FunctionDef)
            among, at = list(_places(made))[number]
            said = _change(among, at, change)
            if said:
                ast.fix_missing_locations(made)
                yield number + 1, said, made


def _change(among: list[ast.stmt], at: int, change: str) -> str:
    """Take the barrier out, or let it trade places with a neighbour; what was done, or ""."""
    if change == "removed":
        among[at] = ast.Pass()
        return "removed"
    for there, said in ((at + 1, "after"), (at - 1, "before")):
        if 0 <= there < len(among) and _may_be_passed(among[there]):
            among[at], among[there] = among[there], among[at]
            return said
    return ""


def _may_be_passed(statement: ast.stmt) -> bool:
    """Whether a barrier may trade places with it: it touches an array, no thread leaves in it."""
    inside = list(ast.walk(statement))
    leaves = any(isinstance(one, _LEAVES) for one in inside)
    barrier = any(isinstance(one, ast.Expr) and ast.unparse(one) == BARRIER for one in inside)
    touches = any(isinstance(one, (ast.Subscript, ast.Call)) for one in inside)
    return touches and not leaves and not barrier


def _built(
    kernel: Any, owner: str, changed: ast.FunctionDef, name: str, folder: Path
) -> tuple[Any, Path]:
    """The kernel with one of its functions changed, and the file of that function."""
    function = kernel.py_func
    if not owner:
        changed.name = name
        made, file = _written(changed, names_around(function), folder / f"{name}.py")
        return type(kernel)(made, {**kernel.targetoptions, "lineinfo": True}), file
    device = names_around(function)[owner]
    part, file = _written(changed, names_around(device.py_func), folder / f"{name}_{owner}.py")
    around = {**names_around(function), owner: type(device)(part, dict(device.targetoptions))}
    tree = _tree(function)
    tree.name = name
    made, _ = _written(tree, around, folder / f"{name}.py")
    return type(kernel)(made, {**kernel.targetoptions, "lineinfo": True}), file


def _written(
    tree: ast.FunctionDef, around: dict[str, Any], file: Path
) -> tuple[FunctionType, Path]:
    """A function of its own file, with these names around it."""
    text = ast.unparse(tree) + "\n"
    file.write_text(text, encoding="utf-8")
    names = dict(around)
    exec(compile(text, str(file), "exec"), names)
    made: FunctionType = names[tree.name]
    return made, file
