"""The IPython session, where there is one: cells that failed, and how a refusal is shown.

A notebook keeps what earlier cells defined. When the cell of a kernel fails, the name still means
the kernel of the run before, and `check` would grade that one. So two events of IPython are
listened to: before a cell it is kept what the names that the cell defines mean; after a cell that
failed, those that still mean the same are known as not defined (`failed_definition`).

A refusal is shown with the caller's frames only: frames of this package and of Numba are left out
(`users_frames`), in IPython, in plain Python, and where it is the cause of another error.

Nothing here imports IPython; in plain Python there are no cells, and nothing is listened to.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

PRINTED_COLUMNS = 72
"""What a printed line may have: JupyterLab breaks longer ones within words, on a page of 1024
pixels with the file browser beside it."""

_PACKAGE = os.path.dirname(__file__)  # noqa: PTH120  a prefix of names of files
_DECORATED = re.compile(r"^[ \t]*@")
_DEFINITION = re.compile(r"^([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)


def install() -> None:
    """Listen to the cells of IPython, or show refusals in plain Python; again does nothing."""
    if shell() is not None:
        watch_cells()
    elif not isinstance(sys.excepthook, _ShownShort):
        sys.excepthook = _ShownShort(sys.excepthook)


def shell() -> Any:
    """The running IPython shell, None in plain Python."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


@dataclass(frozen=True)
class FailedCell:
    """Why the cell that was to define a function did not: one line, and its source line if known.

    `name` is the function.
    """

    name: str
    why: str
    source: str = ""


class _Cells:
    """What the cells of a session failed to define, and what was said in the one that runs."""

    def __init__(self, running: Any) -> None:
        self.shell = running
        self._before: dict[int, dict[str, Any]] = {}
        self._failed: dict[str, tuple[Any, FailedCell]] = {}
        self.said: set[str] = set()

    def begin(self, info: Any) -> None:
        """Keep what the names mean that a cell is to define."""
        self.said.clear()
        names = defined_names(str(info.raw_cell))
        self._before[id(info)] = {name: self.shell.user_ns.get(name) for name in names}

    def end(self, result: Any) -> None:
        """Remember the names that a failed cell left as they were; forget those that are new."""
        if result is None:  # interrupted outside of its statements
            self._before.clear()
            return
        before = self._before.pop(id(result.info), {})
        error = result.error_before_exec or result.error_in_exec
        for name, meant in before.items():
            if meant is None or self.shell.user_ns.get(name) is not meant:
                self._failed.pop(name, None)
            elif error is not None:
                text = str(result.info.raw_cell)
                self._failed[name] = meant, _failed_cell(name, error, self._line(error), text)

    def _line(self, error: BaseException) -> int | None:
        """The line of a cell that an error passed through, outside of its functions."""
        if isinstance(error, SyntaxError):
            return error.lineno
        for part in _parts(raw_traceback(error)):
            frame = part.tb_frame
            if frame.f_globals is self.shell.user_global_ns and frame.f_code.co_name.startswith(
                "<"
            ):
                return part.tb_lineno
        return None

    def failed(self, function: Any) -> FailedCell | None:
        """The failed cell of a function, or of one that it calls."""
        for name, (meant, cell) in self._failed.items():
            if function is _function(meant) or (
                name in function.__code__.co_names and function.__globals__.get(name) is meant
            ):
                return cell
        return None


_cells: _Cells | None = None


def watch_cells() -> None:
    """Listen to the cells of the running IPython shell, if there is one and nobody listens yet."""
    global _cells
    running = shell()
    if running is None or (_cells is not None and _cells.shell is running):
        return
    _cells = _Cells(running)
    running.events.register("pre_run_cell", _cells.begin)
    running.events.register("post_run_cell", _cells.end)


def failed_definition(kernel: Any) -> FailedCell | None:
    """The newest cell that was to define this kernel anew, or what it calls, and failed."""
    function = _function(kernel)
    if _cells is None or not hasattr(function, "__code__"):
        return None
    return _cells.failed(function)


def _function(kernel: Any) -> Any:
    return getattr(kernel, "py_func", kernel)


def defined_names(text: str) -> set[str]:
    r"""The functions that the text of a cell defines at its top, also where it cannot be parsed.

    >>> sorted(defined_names("def load(x):\n    def inner(): pass\nif x:\n    def store(): 0"))
    ['load', 'store']
    >>> defined_names("@cuda.jit\ndef scale(out, inp:\n    out[0] = 1")
    {'scale'}
    """
    try:
        return set(_functions(ast.parse(text).body))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # or a magic
        pass
    found = _DEFINITION.findall(text)
    top = min((len(indent) for indent, _ in found), default=0)
    return {name for indent, name in found if len(indent) == top} | _below_decorators(text)


def _functions(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif not isinstance(node, ast.ClassDef):
            for field in ("body", "orelse", "finalbody"):
                yield from _functions(getattr(node, field, []))
            for handler in getattr(node, "handlers", []):
                yield from _functions(handler.body)


def _below_decorators(text: str) -> set[str]:
    """Words where a `def` belongs, as in "de scale(out, inp):"; some are no names of functions."""
    names: set[str] = set()
    decorated = False
    for line in text.splitlines():
        if decorated and line.strip() and not _DECORATED.match(line):
            names |= set(re.findall(r"[^\W\d]\w*", line.partition("(")[0])) - {"def"}
            decorated = False
        decorated |= bool(_DECORATED.match(line))
    return names


def _failed_cell(name: str, error: BaseException, line: int | None, text: str) -> FailedCell:
    lines = re.sub(r"\A(?:[ \t]*\n)+", "", text).splitlines()  # as IPython counts them
    source = lines[line - 1] if line is not None and 1 <= line <= len(lines) else ""
    if isinstance(error, SyntaxError):
        said, source = error.msg, error.text or source
    else:
        said = str(error).strip().split("\n")[0]
    why = f"{type(error).__name__}: {said}".rstrip(": ")
    return FailedCell(name, why, f"{line} | {source.strip()}" if source.strip() else "")


def users_frames(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of this package and of Numba; as it is, if none is left."""
    kept = [part for part in _parts(traceback) if not _is_inside(part.tb_frame)]
    users = None
    for part in reversed(kept):
        users = TracebackType(users, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return users or traceback


def _parts(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _is_inside(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    names = ("numba", "numba.cuda")
    numba = (getattr(sys.modules.get(name), "__file__", None) for name in names)
    folders = [_PACKAGE, *(os.path.dirname(found) for found in numba if found)]  # noqa: PTH120
    return any(file.startswith(folder + os.sep) for folder in folders)


def rendered(error: BaseException) -> list[str]:
    """The traceback of a refusal as IPython shows it, with the user's frames only.

    A refusal that a verdict has told in the same cell is not told again.
    """
    shown = error
    if _cells is not None and _plain(str(error)) in _cells.said and not whole():
        shown = type(error).__new__(type(error), TOLD)
    style = shell().InteractiveTB
    return list(style.structured_traceback(type(error), shown, error.__traceback__))


TOLD = "not launched; the verdict above says why"


def tell(refusal: BaseException) -> None:
    """Note that a verdict has this refusal's text, so that the cell does not show it twice."""
    if _cells is not None:
        _cells.said.add(_plain(str(refusal)))


def _plain(text: str) -> str:
    return re.sub(r"0x[0-9a-fA-F]+", "0x", text)


def whole() -> bool:
    """Whether SMEMNB_TRACEBACK=full asks for tracebacks with every frame."""
    return os.environ.get("SMEMNB_TRACEBACK") == "full"


def raw_traceback(error: BaseException) -> TracebackType | None:
    """The traceback with all of its frames, also of an error that shows the user's only."""
    kept: TracebackType | None = vars(BaseException)["__traceback__"].__get__(error)
    return kept


class _ShownShort:
    """A `sys.excepthook` that leaves frames out of refusals, and the rest to the hook before it."""

    def __init__(self, before: Callable[..., Any]) -> None:
        self._before = before

    def __call__(self, kind: type[BaseException], error: BaseException, traceback: Any) -> None:
        for one in _chained(error):
            # a refusal's own attribute has the user's frames; Python prints what lies below it
            one.with_traceback(one.__traceback__)
        self._before(kind, error, raw_traceback(error) or traceback)


def _chained(error: BaseException) -> list[BaseException]:
    """The error, and all that it came from."""
    found: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and not any(one is other for other in found):
            found.append(one)
            waiting += [one.__cause__, one.__context__]
    return found
