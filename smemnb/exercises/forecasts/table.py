"""The table that a learner fills in, as Python for a cell, and the launch that it is of."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...session import PRINTED_COLUMNS
from ..exercise import Case
from .accesses import SPACES, Access

WIDTH = PRINTED_COLUMNS - 2
"""Less than what is printed may have: in a cell of code, line numbers stand beside it."""


def launch_text(case: Case, parameters: Sequence[str], args: Sequence[Any]) -> str:
    """A launch in words: grid, block, and each argument by the kernel's own name for it."""
    said = [f"grid {_extent(case.grid)}", f"block {_extent(case.block)}"]
    if case.shared_bytes:
        said.append(f"{case.shared_bytes:,} bytes of dynamic shared memory")
    for name, value in zip(parameters, args, strict=True):
        if isinstance(value, np.ndarray):
            shape = " x ".join(str(extent) for extent in value.shape)
            said.append(f"{name} {shape} {value.dtype}")
        else:
            said.append(f"{name} {value}")
    return ", ".join(said)


def table_text(name: str, kernel: str, launch: str, accesses: Sequence[Access]) -> str:
    """The call of `forecast` with a row for each access, and None for each figure."""
    lines = textwrap.wrap(
        launch, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )
    lines.append(f'forecast("{name}", {kernel}, {{')
    for space in SPACES:
        for columns in sorted({one.columns for one in accesses if one.row.space == space}):
            lines.append(f"    # {space} memory: ({', '.join(columns)}{',' * (len(columns) == 1)})")
            here = [one for one in accesses if (one.row.space, one.columns) == (space, columns)]
            blank = "(" + ", ".join(["None"] * len(columns)) + "," * (len(columns) == 1) + ")"
            lines += [_line(one, blank) for one in here]
    return "\n".join([*lines, "})"])


def _line(access: Access, blank: str) -> str:
    """A row; a name too long for one line has its figures below it."""
    key = repr(access.name) if '"' in access.name else f'"{access.name}"'
    line = f"    {key}: {blank},"
    return line if len(line) <= WIDTH else f"    {key}:\n        {blank},"


def _extent(extent: tuple[int, ...]) -> str:
    return str(extent[0]) if len(extent) == 1 else str(extent)
