"""Run chapters in this process and compare what they print with what is stored.

    python tests/notebooks_compare.py                       all chapters
    SMEMNB_DEVICE=gpu python tests/notebooks_compare.py 20_transpose

For machines without Jupyter, such as one with a GPU: nbval does the same, and more, where it is
installed. Text alone is compared; cells with the tag nbval-ignore-output (times) run, and are
reported apart. The exit code is the number of chapters that differ.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import io
import json
import linecache
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
ENVIRONMENT = {
    "SMEMNB_PROGRESS": "off",
    "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0",
    "MPLBACKEND": "agg",
}


def printed(source: str, name: str, space: dict[str, Any]) -> str:
    """What a cell prints, with the value of its last expression, or its traceback's last line."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            exec(compile(tree, name, "exec"), space)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), name, "eval"), space)
                if value is not None and not source.rstrip().endswith(";"):
                    print(repr(value))
        except Exception:
            said.write(traceback.format_exc().strip().splitlines()[-1])
    return said.getvalue().strip()


def stored(cell: dict[str, Any]) -> str:
    """The text that a stored cell shows."""
    parts = []
    for output in cell["outputs"]:
        if output["output_type"] == "error":
            parts.append(f"{output['ename']}: {output['evalue']}")
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        parts.append("".join(text).strip())
    return "\n".join(parts).strip()


def compare(path: Path) -> bool:
    """Run one chapter, print its differences; whether there are none."""
    space: dict[str, Any] = {"__name__": "__main__"}
    code = [c for c in json.loads(path.read_text("utf-8"))["cells"] if c["cell_type"] == "code"]
    began, timed, differ = time.perf_counter(), 0, 0
    for number, cell in enumerate(code, start=1):
        now = printed("".join(cell["source"]), f"<{path.stem} {number}>", space)
        if "nbval-ignore-output" in cell["metadata"].get("tags", []):
            timed += 1
            print(f"{path.stem} [{number}] timed here:\n{now}")
        elif now != stored(cell):
            differ += 1
            lines = difflib.unified_diff(
                stored(cell).splitlines(), now.splitlines(), "stored", "here", lineterm="", n=0
            )
            print(f"{path.stem} [{number}] differs:", *lines, sep="\n")
    seconds = time.perf_counter() - began
    equal = len(code) - timed - differ
    print(
        f"{path.stem}: {equal} of {len(code) - timed} cells equal, {timed} timed, {seconds:.0f} s"
    )
    return differ == 0


if __name__ == "__main__":
    os.environ.update(ENVIRONMENT)
    sys.path.insert(0, str(ROOT))
    names = sys.argv[1:] or sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    sys.exit(sum(not compare(NOTEBOOKS / f"{name}.ipynb") for name in names))
