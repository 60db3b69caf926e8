"""The house: which room may import which, and names that say nothing.

`house_problems(package)` reads every module of a package tree with `ast`, imports nothing, and
says in words what breaks a rule. Imports under `TYPE_CHECKING` and inside functions count too.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FLOORS = {
    "errors": 0,
    "hardware": 0,
    "session": 0,
    "version": 0,
    "rules": 1,
    "kernels": 3,
    "lockstep": 2,
    "compiled": 2,
    "simulator": 3,
    "tracing": 3,
    "figures": 4,
    "operations": 4,
    "exercises": 5,
    "measure": 5,
    "testing": 5,
    "grading": 6,
    "laboratory": 6,
    "cli": 7,
}
# rooms of one floor do not know each other, but for these (who, whom)
NEIGHBOURS = {("hardware", "errors"), ("errors", "session"), ("tracing", "simulator")}
NUMPY_ONLY = {"errors", "hardware", "session", "version", "rules", "lockstep"}
BANNED = {"utils", "util", "helpers", "helper", "common", "core", "base", "misc"}


@dataclass(frozen=True)
class Import:
    """One import: the module it is in, its line, and the dotted name it asks for."""

    where: str
    line: int
    target: str


def house_problems(package: Path) -> list[str]:
    """Every breach of the house's rules, one sentence each."""
    problems: list[str] = []
    for path in sorted(package.rglob("*.py")):
        if "workbook" in path.relative_to(package).parts:
            continue
        problems += _file_problems(path, package)
    for folder in sorted(path for path in package.rglob("*") if path.is_dir()):
        problems += _room_problems(folder, package)
    return problems


def imports(path: Path, package: Path) -> Iterator[Import]:
    """The imports of one module, relative ones resolved; `from . import x` asks for x."""
    parts = [package.name, *path.relative_to(package).with_suffix("").parts]
    home = parts[:-1]  # of a module its folder, of an __init__ the folder it stands for
    where = path.relative_to(package.parent).as_posix()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield Import(where, node.lineno, name.name)
        elif isinstance(node, ast.ImportFrom):
            start = home[: len(home) - node.level + 1] if node.level else []
            base = [*start, *(node.module.split(".") if node.module else [])]
            if len(base) == 1 and base[0] == package.name:
                for name in node.names:
                    yield Import(where, node.lineno, f"{base[0]}.{name.name}")
            else:
                yield Import(where, node.lineno, ".".join(base))


def _file_problems(path: Path, package: Path) -> Iterator[str]:
    where = path.relative_to(package.parent).as_posix()
    if path.stem in BANNED:
        yield f"{where}: the name {path.stem} says nothing of what is inside"
    room = path.relative_to(package).with_suffix("").parts[0]
    if room in ("__init__", "__main__"):
        return
    if room not in FLOORS:
        yield f"{where} is on no floor; FLOORS in tests/house/floors.py names them"
        return
    for asked in imports(path, package):
        yield from _import_problems(room, asked, package)


def _import_problems(room: str, asked: Import, package: Path) -> Iterator[str]:
    here = f"{asked.where}:{asked.line}"
    top, *rest = asked.target.split(".")
    if top != package.name:
        allowed = {"numpy", *sys.stdlib_module_names}
        if room in NUMPY_ONLY and top not in allowed:
            yield f"{here} imports {top}; {room} imports NumPy only"
        return
    if not rest or rest[0] not in FLOORS:
        yield f"{here} imports {asked.target}: the package root is for users only"
        return
    other = rest[0]
    if other == room or (room, other) in NEIGHBOURS:
        return
    if FLOORS[other] > FLOORS[room]:
        yield f"{here} imports {other}, on floor {FLOORS[other]}, from floor {FLOORS[room]}"
    elif FLOORS[other] == FLOORS[room]:
        yield f"{here} imports {other}, its neighbour on floor {FLOORS[room]}"


def _room_problems(folder: Path, package: Path) -> Iterator[str]:
    inside = folder.relative_to(package).parts
    if "__pycache__" in inside or "workbook" in inside:
        return
    where = folder.relative_to(package.parent).as_posix()
    if folder.name in BANNED:
        yield f"{where}: the name {folder.name} says nothing of what is inside"
