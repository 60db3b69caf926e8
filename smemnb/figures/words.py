"""How the figures write numbers: plurals, and lists short enough for a line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

__all__ = ["counted", "listed"]

FEW = 6  # numbers or runs written out


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "wavefront"), counted(32, "wavefront")
    ('1 wavefront', '32 wavefronts')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(noun: str, numbers: Sequence[int]) -> str:
    """Ascending numbers after their noun: steps and runs drawn together, long lists cut.

    >>> listed("lane", [7]), listed("lane", range(32)), listed("lane", range(0, 32, 2))
    ('lane 7', 'lanes 0-31', 'lanes 0, 2, ..., 30')
    >>> listed("lane", [0, 1, 2, 3, 16, 17, 18, 19, 30])
    'lanes 0-3, 16-19, 30'
    >>> listed("lane", [0, 1, 3, 7, 9, 12, 15, 19, 20])
    'lanes 0-1, 3, 7, 9, 12, 15, ... (9 in all)'
    """
    if len(numbers) == 1:
        return f"{noun} {numbers[0]}"
    steps = {after - before for before, after in pairwise(numbers)}
    if len(steps) == 1 and steps != {1} and len(numbers) > 4:
        return f"{noun}s {numbers[0]}, {numbers[1]}, ..., {numbers[-1]}"
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    said = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    if len(said) > FEW:
        said = [*said[:FEW], f"... ({len(numbers)} in all)"]
    return f"{noun}s {', '.join(said)}"
