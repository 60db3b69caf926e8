"""What `smemnb trace` and `smemnb sass` do: launch or compile, print or store what came of it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import LaunchRefused
from ..measure.rows import Row
from ..tracing import Trace, trace
from ..tracing.report.places import placed_findings
from ..tracing.report.sarif import sarif
from .argument_text import argument
from .kernel_file import KernelFile
from .launches import check_count, make
from .terminal import show_traces

if TYPE_CHECKING:
    from ..compiled.lines import Build, Sass


def traces(
    source: KernelFile,
    *,
    grid: str | None,
    block: str | None,
    shared_bytes: int = 0,
    texts: Sequence[str] | None = None,
    call: str | None = None,
    **watching: Any,
) -> list[Trace]:
    """The traces of one launch written out, or of all launches that a function makes.

    `watching` goes to `trace`: which blocks are watched, and what the others do.

    Raises:
        LaunchRefused: the command does not say how the kernel is launched, or not in this form.
    """
    traced = _Traced(source.kernel, watching)
    make(source, traced, grid=grid, block=block, shared_bytes=shared_bytes, texts=texts, call=call)
    return traced.found


def write(
    found: Sequence[Trace],
    *,
    json_file: str | None,
    html_file: str | None,
    sarif_file: str | None = None,
) -> None:
    """Print the reports, and store them where asked; JSON to the screen replaces the text."""
    lines = "".join(trace.to_json() + "\n" for trace in found)
    if json_file == "-":
        print(lines.rstrip("\n"))
    else:
        show_traces(found)
    if json_file not in (None, "-"):
        Path(str(json_file)).write_text(lines, encoding="utf-8")
    if html_file is not None:
        first, *more = found
        Path(html_file).write_text(first.page(more=more), encoding="utf-8")
    if sarif_file is not None:
        said = [one for trace in found for one in placed_findings(trace)]
        Path(sarif_file).write_text(sarif(said, Path.cwd()), encoding="utf-8")


def machine_code(source: KernelFile, options: argparse.Namespace) -> list[str]:
    """The machine code of a kernel per source line; of a launch, its counts as well: as lines.

    With `--json FILE` it is stored there, and the only line says so.

    Raises:
        SmemnbError: the compiler libraries or the disassembler are not installed.
        LaunchRefused: the command does not say what the kernel is compiled for.
    """
    from ..compiled.lines import sass_of

    values = _values(source, options.args)
    built, cc = _built(source.kernel, values, options.cc)
    found = sass_of(built, source.name)
    whole = {"sass": found.to_dict()}
    lines = sass_lines(found, whole=options.all)
    if (options.grid, options.block) != (None, None):
        (launched,) = traces(
            source,
            grid=options.grid,
            block=options.block,
            shared_bytes=options.shared,
            texts=options.args or [],
            checks=False,
        )
        view = launched.as_compiled(cc, built.elf)
        whole["as_compiled"] = view.to_dict()
        lines += ["", *repr(view).split("\n")]
    if options.json is None:
        return lines
    if options.json == "-":
        return [json.dumps(whole)]
    Path(options.json).write_text(json.dumps(whole) + "\n", encoding="utf-8")
    return [f"{options.json}: machine code of {source.name} for cc {options.cc}"]


def sass_lines(found: Sass, *, whole: bool = False) -> list[str]:
    """Machine code per source line; a source line, what touches memory in it, is a row of a table.

    Args:
        found: the machine code.
        whole: list every instruction, below its source line.
    """
    from ..compiled.lines import head, line_of

    lines: list[str] = head(found).split("\n")
    for one in found.lines:
        if whole:
            lines += line_of(one, whole=True).split("\n")
        elif one.memory:
            number = str(one.line) if one.line else "-"
            cells = number, one.source, str(one.count), one.said
            lines.append(Row(line_of(one), cells, SASS_COLUMNS))
    return lines


SASS_COLUMNS = "line", "source", "instructions", "of memory"


def _built(kernel: Any, values: Any, text: str) -> tuple[Build, tuple[int, int]]:
    from ..compiled.lines import built

    major, dot, minor = text.partition(".")
    if not (dot and major.isdecimal() and minor.isdecimal()):
        raise LaunchRefused(f"--cc {text}: write a compute capability such as 9.0")
    cc = int(major), int(minor)
    return built(kernel, values, cc), cc


def _values(source: KernelFile, texts: Sequence[str] | None) -> Any:
    """What the kernel is compiled for: the arguments, or the types that it declares."""
    declared = getattr(source.kernel, "signatures", None)
    if texts is None and declared:
        return tuple(declared[0])
    values = tuple(argument(text) for text in texts or ())
    check_count(source, len(values))
    return values


class _Traced:
    """A kernel whose launches leave their traces here; all else is the kernel's own."""

    def __init__(self, kernel: Any, watching: dict[str, Any]) -> None:
        self._kernel, self._watching = kernel, watching
        self.found: list[Trace] = []

    def __getitem__(self, configuration: Any) -> Any:
        configured = trace(self._kernel, **self._watching)[configuration]

        def launch(*args: Any) -> None:
            self.found.append(configured(*args))

        return launch

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Any:
        """The launch with enough threads for the tasks, none without a task."""
        from ..simulator.launch import forall_grid

        grid, block = forall_grid(self._kernel, ntasks, tpb)
        return self[grid, block, stream, sharedmem] if grid else lambda *args: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)
