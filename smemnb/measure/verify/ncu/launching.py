"""The launches of a set of cases in a process of their own, which a profiler looks into.

Each case is launched once, compiled with line numbers (which changes no instruction). A journal
says of each case, line by line as it happens, whether it was launched or why not, so that what a
profiler saw can be distinguished launch by launch, and a crash names the kernel it happened in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..case import Case

__all__ = ["launch_all", "read_journal", "with_lines"]


def with_lines(kernel: Any) -> Any:
    """The same kernel, compiled with line numbers; its options are kept."""
    options = {**kernel.targetoptions, "lineinfo": True}
    return type(kernel)(kernel.py_func, options)


def launch_all(
    cases: Iterable[Case],
    journal: Path,
    cubins: Path | None = None,
    *,
    compiled: Callable[[Any], Any] = with_lines,
) -> int:
    """Launch each case once on this process's device; how many could not be launched.

    Args:
        cases: in this order.
        journal: a file that is written: {"case", "kernel", "state", "error"} per line.
        cubins: a folder for the machine code of each kernel, `NUMBER.cubin` by its line.
        compiled: makes the kernel that is launched out of a case's.
    """
    failed = 0
    with journal.open("w", encoding="utf-8") as file:
        for number, case in enumerate(cases):
            said: dict[str, Any] = {"case": case.name, "kernel": case.kernel_name}

            def note(said: dict[str, Any] = said, **more: Any) -> None:
                file.write(json.dumps({**said, **more}) + "\n")
                file.flush()

            note(state="begun")
            try:
                kernel = compiled(case.kernel)
                _launch(kernel, case)
            except Exception as error:  # the others shall be read
                failed += 1
                note(state="failed", error=f"{type(error).__name__}: {error}"[:500])
                continue
            kept = None if cubins is None else _keep(kernel, cubins / f"{number}.cubin")
            note(state="launched", cubin=kept)
    return failed


def _launch(kernel: Any, case: Case) -> None:
    from numba import cuda

    args = [
        cuda.to_device(value) if isinstance(value, np.ndarray) else value
        for value in case.arguments()
    ]
    kernel[case.grid, case.block, 0, case.shared_bytes](*args)
    cuda.synchronize()


def _keep(kernel: Any, file: Path) -> str | None:
    """Write the machine code that was launched; its file's name, None where there is none."""
    try:
        (made,) = kernel.overloads.values()
        code = made._codelibrary.get_cubin()
        file.write_bytes(bytes(getattr(code, "code", code)))  # newer ones wrap the bytes
    except Exception:  # the engine compiles nothing; what Numba keeps is its own affair
        return None
    return file.name


def read_journal(file: Path) -> dict[str, dict[str, Any]]:
    """The last word on each case, in order."""
    found: dict[str, dict[str, Any]] = {}
    if file.is_file():
        for line in file.read_text(encoding="utf-8").splitlines():
            said = json.loads(line)
            found[said["case"]] = {**found.get(said["case"], {}), **said}
    return found
