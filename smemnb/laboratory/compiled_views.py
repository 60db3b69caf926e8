"""A launch's machine code per source line, as text that was kept: `compiled_views.json`, cc 9.0.

    python -m smemnb.laboratory.compiled_views FILE

makes the file with NVIDIA's compiler libraries and nvdisasm, no GPU needed. It is shipped so that a
chapter can show what `smemnb.compiled.sass` and `trace(...).as_compiled()` say where they are not
installed: `compiled_view` gives the texts, `compiled_here` compares them with this machine's.

Line numbers are kept from the kernel's first line on, and shown as they are in its file today.

**Limits**: another version of Numba or of the compiler may make other code; the versions stand in
the file and in `CompiledView.made_with`.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from ..errors import SmemnbError

__all__ = ["CompiledView", "compiled_here", "compiled_view"]

FILE = "compiled_views.json"
CC = (9, 0)
MADE_WITH = ("numba", "numba-cuda", "nvidia-nvjitlink")
NOT_HERE = "No compiler libraries here: the recorded text stands."
_NUMBERED = re.compile(r"^([ \d]{4}\d)(?=  \S)", flags=re.MULTILINE)


@dataclass(frozen=True)
class CompiledView:
    """The machine code of a kernel in one launch, as text.

    Attributes:
        sass: source lines with their number of instructions, and those that touch memory.
        lines: what each line's accesses became: the rows of `trace(...).as_compiled()`.
        totals: its counters, one per line.
        made_with: versions of the compilers.
    """

    sass: str
    lines: str
    totals: str
    made_with: str


def compiled_view(name: str) -> CompiledView:
    """The recorded view of a kernel's launch.

    Raises:
        SmemnbError: none was recorded.

    >>> print(compiled_view("matmul_tiled").totals.splitlines()[1])
    shared load wavefronts: 18,432
    """
    kept = _file()["views"]
    if name not in kept:
        raise SmemnbError(f"no view of {name!r} was recorded; there are {', '.join(kept)}")
    kernel, *_ = _launches()[name]
    return _view(kept[name], kernel, _file()["versions"])


def compiled_here(name: str) -> str:
    """Whether the compilers of this machine make the recorded view; their lines if they do not."""
    from ..compiled import available

    recorded = compiled_view(name)
    if not available():
        return NOT_HERE
    try:
        kernel, *_ = _launches()[name]
        now = _view(_compiled(name), kernel, _versions())
    except SmemnbError as error:
        return f"Nothing was compiled, the recorded text stands: {error}"
    if (now.sass, now.lines, now.totals) == (recorded.sass, recorded.lines, recorded.totals):
        return f"Compiled now: the recorded text, line for line. By:\n{now.made_with}"
    text = f"{now.lines}\n{now.totals}"
    broken = "\n".join(_broken(line) for line in text.splitlines())
    return f"Compiled now, to other code. By:\n{now.made_with}\n{broken}"


def _broken(line: str) -> str:
    """A line of more than 72 letters as several, further in.

    >>> len(_broken("    " + 20 * "wavefronts ").splitlines())
    4
    """
    inside = " " * (len(line) - len(line.lstrip()) + 2)
    return fill(line, 72, subsequent_indent=inside)


def _launches() -> dict[str, tuple[Any, ...]]:
    """What is compiled: kernel, grid, block, arguments."""
    from ..kernels.matmul.rungs.matmul_tiled import matmul_tiled

    shapes = ((64, 64), (64, 96), (96, 64))
    matrices = [np.zeros(shape, np.float32) for shape in shapes]
    return {"matmul_tiled": (matmul_tiled, (4, 4), (16, 16), matrices)}


def _compiled(name: str) -> dict[str, str]:
    """The texts of a launch, compiled now, with lines numbered from the kernel's first."""
    from ..compiled import sass
    from ..tracing import trace

    kernel, grid, block, arguments = _launches()[name]
    view = repr(trace(kernel)[grid, block](*arguments).as_compiled(CC))
    lines, totals = view.split("\ntotals\n")
    return {
        "sass": _moved(repr(sass(kernel, tuple(arguments), CC)), 1 - _first(kernel)),
        "lines": _moved(lines, 1 - _first(kernel)),
        "totals": "\n".join(line.strip() for line in totals.splitlines()),
    }


def _view(kept: Mapping[str, str], kernel: Any, versions: Mapping[str, str]) -> CompiledView:
    by = ", ".join(f"{name} {number}" for name, number in versions.items())
    texts = {what: _moved(text, _first(kernel) - 1) for what, text in kept.items()}
    return CompiledView(**texts, made_with=by)


def _moved(text: str, by: int) -> str:
    """The text with its line numbers moved.

    >>> _moved("   41  tile = 0", 2), _moved("         1 load is 1 LDS", 2)
    ('   43  tile = 0', '         1 load is 1 LDS')
    """
    return _NUMBERED.sub(lambda found: f"{int(found[1]) + by:5}", text)


def _first(kernel: Any) -> int:
    return inspect.getsourcelines(kernel.py_func)[1]


def _versions() -> dict[str, str]:
    return {name: version(name) for name in MADE_WITH}


@cache
def _file() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (files("smemnb.measure.recorded") / FILE).read_text(encoding="utf-8")
    )
    return found


def _record(path: Path) -> None:
    made = {
        "cc": "9.0",
        "versions": _versions(),
        "command": f"python -m {__spec__.name} FILE",
        "views": {name: _compiled(name) for name in _launches()},
    }
    path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _record(Path(sys.argv[1]))
