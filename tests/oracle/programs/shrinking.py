"""A differing program made small: statements and parts of expressions go while it still differs."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import writing
from .comparing import Verdict
from .writing import Program


def shrunk(seed: int, gpu: bool = False, seconds: float = 90) -> str:
    """The differing program of a seed made small, with what differs."""
    if gpu:
        from . import gpu as way
    else:
        from . import checking as way  # type: ignore[no-redef]
    return shrunk_program(writing.program_of(seed), way.check_programs, seconds)


def shrunk_program(
    program: Program, check: Callable[[list[Program]], list[Verdict]], seconds: float
) -> str:
    """The program made small under this check, with what differs; stops when the time is over."""
    best, verdict = program, check([program])[0]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        candidates = [_with_source(best, text) for text in _smaller(best.source)]
        for start in range(0, len(candidates), 16):
            if time.monotonic() > end:
                break
            some = candidates[start : start + 16]
            found = [
                (candidate, seen)
                for candidate, seen in zip(some, check(some), strict=True)
                if seen.differences and not seen.refused
            ]
            if found:
                best, verdict = min(found, key=lambda pair: len(pair[0].source))
                break
        else:
            break
    return best.source + "".join(f"\n{said}" for said in verdict.differences[:3])


def _with_source(program: Program, source: str) -> Program:
    """The program with another body; its parameters stay, so its data do."""
    kept = copy.copy(program)
    kept.source = source
    return kept


def _smaller(source: str) -> Iterator[str]:
    """Programs that are one step smaller, the largest steps first."""
    tree = ast.parse(source)
    count = len(list(ast.walk(tree)))
    for number in range(count):
        for change in (_delete, _unwrap, _first_part, _second_part):
            copied = copy.deepcopy(tree)
            node = list(ast.walk(copied))[number]
            if change(copied, node):
                text = ast.unparse(ast.fix_missing_locations(copied)) + "\n"
                if len(text) < len(source):
                    yield text


def _place(tree: ast.AST, node: ast.AST) -> tuple[Any, str, int | None] | None:
    """Who holds a node: the owner, its field, the place in that field's list."""
    for owner in ast.walk(tree):
        for name, value in ast.iter_fields(owner):
            if value is node:
                return owner, name, None
            if isinstance(value, list) and any(item is node for item in value):
                return owner, name, [item is node for item in value].index(True)
    return None


def _replace(tree: ast.AST, node: ast.AST, new: list[Any]) -> bool:
    place = _place(tree, node)
    if place is None:
        return False
    owner, name, at = place
    if at is None:
        setattr(owner, name, new[0])
    else:
        getattr(owner, name)[at : at + 1] = new
    return True


def _delete(tree: ast.AST, node: ast.AST) -> bool:
    if not isinstance(node, ast.stmt) or isinstance(node, ast.FunctionDef):
        return False
    place = _place(tree, node)
    if place is not None and place[1] == "body" and len(place[0].body) == 1:
        return _replace(tree, node, [ast.Pass()]) if not isinstance(node, ast.Pass) else False
    return _replace(tree, node, [])


def _unwrap(tree: ast.AST, node: ast.AST) -> bool:
    if isinstance(node, (ast.If, ast.For, ast.While)):
        return _replace(tree, node, list(node.body))
    return False


def _parts(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.Name, ast.Attribute, ast.Constant, ast.Subscript)):
        return []
    if isinstance(node, ast.Call):
        return list(node.args)
    return [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]


def _first_part(tree: ast.AST, node: ast.AST) -> bool:
    parts = _parts(node) if isinstance(node, ast.expr) else []
    return bool(parts) and _replace(tree, node, parts[:1])


def _second_part(tree: ast.AST, node: ast.AST) -> bool:
    parts = _parts(node) if isinstance(node, ast.expr) else []
    return len(parts) > 1 and _replace(tree, node, parts[1:2])
