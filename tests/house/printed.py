"""Run printed code and record every kernel that type inference sees, with what it says.

    python -m tests.house.printed [--ptx] FILE.json     cells as a JSON list of strings

runs the cells in an IPython shell of a fresh process and prints a JSON list of records. With
`--ptx` each accepted kernel is compiled to PTX as well (needs the toolchain wheels, no GPU).
`record_in_shell` does the recording in the process of a notebook.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import inspect
import io
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Seen:
    """One kernel as inferred for one set of types; `refused` and `ptx_error` are "" if well."""

    name: str
    source: str
    types: str
    refused: str
    ptx_error: str


def kernels_in(source: str) -> Iterator[tuple[str, str]]:
    """Name and normal form of each kernel that a cell defines, device functions aside."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            marks = [ast.unparse(mark) for mark in node.decorator_list]
            if any("cuda.jit" in mark and "device=True" not in mark for mark in marks):
                yield node.name, normal_form(node)


def normal_form(node: ast.FunctionDef) -> str:
    """The function without decorators, comments and layout."""
    bare = ast.FunctionDef(**{**dict(ast.iter_fields(node)), "decorator_list": []})
    return ast.unparse(ast.fix_missing_locations(bare))


def problems(cells: list[str], seen: list[Seen], refused: Collection[int] = ()) -> list[str]:
    """What is wrong with the kernels of these cells; Numba is to refuse those of `refused`."""
    said = []
    for number, cell in enumerate(cells):
        for name, source in kernels_in(cell):
            records = [record for record in seen if record.source == source]
            refusals = [record.refused for record in records if record.refused]
            if not records:
                said.append(f"{name} is never launched")
            elif number in refused and not refusals:
                said.append(f"{name} is tagged typing-refused, and Numba accepts it")
            elif number not in refused:
                said += [f"{name}: {refusal}" for refusal in refusals]
            said += [f"{name}: {r.ptx_error}" for r in records if r.ptx_error]
    return said


def run_cells(cells: list[str], *, ptx: bool = False) -> list[Seen]:
    """What type inference saw while the cells ran in a process of their own.

    Raises:
        RuntimeError: a cell raised; cells that are to raise must not be among them.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cells.json"
        path.write_text(json.dumps(cells), encoding="utf-8")
        command = [sys.executable, "-m", "tests.house.printed", *(["--ptx"] * ptx), str(path)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=300,
            cwd=Path(__file__).resolve().parents[2],
            env={**os.environ, "MPLBACKEND": "agg", "PYTHONUTF8": "1"},
        )
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-4000:])
    return [Seen(**record) for record in json.loads(done.stdout)]


def _main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ptx", action="store_true")
    parser.add_argument("cells", type=Path)
    options = parser.parse_args(argv)
    cells = json.loads(options.cells.read_text(encoding="utf-8"))
    seen: list[Seen] = []
    with _recording(seen, _to_ptx if options.ptx else None):
        error = _in_shell(cells)
    if error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps([vars(record) for record in seen]))
    return 0


def _in_shell(cells: list[str]) -> str:
    """Run the cells as a notebook would, silently; what a cell raised, or ""."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    for number, cell in enumerate(cells):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            result = shell.run_cell(cell, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            return f"code cell {number} raised {type(error).__name__}: {error}"
    return ""


IN_SHELL: list[Seen] = []


def record_in_shell() -> None:
    """Record inferences of this IPython shell from the cell on that finds smemnb imported."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()  # type: ignore[no-untyped-call]

    def begin() -> None:
        if "smemnb.simulator.launch" in sys.modules:
            shell.events.unregister("pre_execute", begin)
            _record(IN_SHELL, None)

    shell.events.register("pre_execute", begin)


def recorded_in_shell() -> str:
    """What was recorded in this shell, as JSON."""
    return json.dumps([vars(record) for record in IN_SHELL])


@contextlib.contextmanager
def _recording(seen: list[Seen], compiled: Callable[..., str] | None) -> Iterator[None]:
    """Record inferences within the block."""
    from numba import cuda  # before smemnb, as in a notebook

    from smemnb.simulator import launch

    assert cuda and launch  # imported so that every holder of `infer` exists
    end = _record(seen, compiled)
    try:
        yield
    finally:
        end()


def _record(seen: list[Seen], compiled: Callable[..., str] | None) -> Callable[[], None]:
    """Stand before `infer` wherever a module of smemnb holds it; what is returned ends it."""
    from smemnb.simulator import inference

    original = inference.infer

    def infer(function: Any, args: Any, options: Any = None) -> Any:
        refused = ptx_error = ""
        types = tuple(inference.argument_type(value) for value in args)
        try:
            return original(function, args, options)
        except Exception as error:
            refused = f"{type(error).__name__}: {error}"
            raise
        finally:
            if compiled is not None and not refused:
                ptx_error = compiled(function, types)
            node = _definition(function)
            record = Seen(
                function.__name__,
                normal_form(node) if node else "",
                str(types),
                refused,
                ptx_error,
            )
            if record not in seen:
                seen.append(record)

    holders: list[Any] = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith("smemnb") and getattr(module, "infer", None) is original
    ]

    def hold(function: Any) -> None:
        for module in holders:
            module.infer = function

    hold(infer)
    return lambda: hold(original)


def _definition(function: Any) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    return next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)), None)


def _to_ptx(function: Any, types: tuple[Any, ...]) -> str:
    """Compile the kernel; what Numba or NVVM said against it, or ""."""
    from smemnb import compiled

    try:
        code = compiled.ptx(function, types)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "" if ".entry" in code else "no entry point in the PTX"


if __name__ == "__main__":
    sys.exit(_main())
