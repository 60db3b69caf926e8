"""Which tests of a function Numba decides before it types anything, and how.

`dead_branch_prune` replaces a branch by a jump where its test is a constant, or compares one with
None, and drops what is never reached. It runs several times on the way to type inference, so each
run is watched: a branch that was there before and is a jump afterwards was decided. Its condition
carries the offset of the jump in the bytecode; the instruction before the jump computes the test,
and Python keeps the place of that in the source. `jump if None` tests the value before it.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType
from typing import Any

from ...lockstep.language.pruning import Decided
from .. import seam
from .merges import FIRST, Place

_CONDITION = re.compile(r"\$(?:pred)?(\d+)(?:pred)?")
_BETWEEN = ("TO_BOOL", "COPY", "CACHE", "NOP", "EXTENDED_ARG", "NOT_TAKEN")
_LOG = "smemnb_decisions"


@contextmanager
def watched() -> Iterator[None]:
    """While this holds, compiler states note the branches that Numba prunes."""
    prune = seam.untyped_passes.DeadBranchPrune
    plain: Callable[..., Any] = prune.run_pass

    def run_pass(self: Any, state: Any) -> Any:
        before = {
            id(block): (block, block.body[-1])
            for block in state.func_ir.blocks.values()
            if isinstance(block.body[-1], seam.ir.Branch)
        }
        result = plain(self, state)
        log = state.metadata.setdefault(_LOG, {})
        for block in state.func_ir.blocks.values():
            known = before.get(id(block))
            if known is not None and isinstance(block.body[-1], seam.ir.Jump):
                branch, kept = known[1], block.body[-1].target
                log.setdefault(_condition(branch), set()).add(kept == branch.truebr)
        return result

    prune.run_pass = run_pass
    try:
        yield
    finally:
        prune.run_pass = plain


def decisions(code: CodeType, state: Any) -> dict[Place, Decided]:
    """The tests of a function that were decided, by their places in its source."""
    noted: dict[str, set[bool]] = state.metadata.pop(_LOG, {})
    if not noted:
        return {}
    tests, found = _tests(code), dict[Place, set[Decided | None]]()
    left = {_condition(block.body[-1]): None for block in state.func_ir.blocks.values()}
    for name, ways in [*noted.items(), *left.items()]:  # what is still a branch is not decided
        offset = _CONDITION.fullmatch(name)
        place, jump = tests.get(int(offset[1]) - FIRST if offset else -1, (None, ""))
        if place is not None:
            known = found.setdefault(place, set())
            known |= {Decided(way != ("IF_NONE" in jump), "NONE" in jump) for way in ways or ()}
            known |= {None} if ways is None else set()
    return {place: d for place, (d, *more) in found.items() if d is not None and not more}


def _condition(statement: Any) -> str:
    return getattr(getattr(statement, "cond", None), "name", "")


def agreed(found: list[Mapping[Place, Decided]]) -> Mapping[Place, Decided]:
    """What all of several inferences decided alike."""
    if not found:
        return {}
    first, *rest = found
    same = {p: d for p, d in first.items() if all(other.get(p) == d for other in rest)}
    return first if len(same) == len(first) else same


def _tests(code: CodeType) -> dict[int, tuple[Place | None, str]]:
    """By the offset of each conditional jump: the place of what it tests, and its name."""
    found: dict[int, tuple[Place | None, str]] = {}
    before: Place | None = None
    for step in dis.get_instructions(code):
        if "JUMP" in step.opname and "IF" in step.opname:
            found[step.offset] = before, step.opname
        elif step.opname not in _BETWEEN:
            at = step.positions
            whole = None if at is None or None in at else at
            before = whole and (
                whole.lineno or 0,
                whole.end_lineno or 0,
                whole.col_offset or 0,
                whole.end_col_offset or 0,
            )
    return found
