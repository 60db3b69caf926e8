"""The Python of a submission's file: one text of a .py file, or a text per code cell of a notebook.

Bytes come in, whatever they are; what cannot be read ends in `Unreadable`, with a reason and a
line. Nothing is executed, and nothing is imported but Python's own text encodings.
"""

from __future__ import annotations

import ast
import codecs
import io
import json
import re
import tokenize
import warnings
from dataclasses import dataclass
from typing import Any

LARGEST_LETTERS, MAX_CELLS = 1_000_000, 2000
"""Of the Python in one file or cell, and in number: a chapter has some 20,000 in 40 cells."""

_REPAIRED_LETTERS = 4_000_000  # parsed again for lines that only IPython reads
_MAGIC = re.compile(r"^(\s*)(?:[%!?]|\w+\s*=\s*[%!]|[\w.]+\?{1,2}\s*$).*$")
_PYTHON_CELLS = ("%%time", "%%timeit", "%%capture", "%%prun")
_ENCODINGS = re.compile(
    r"utf-8(-sig)?|ascii|us-ascii|(iso-?8859|latin|cp|windows|mac|koi8|gb|big5|euc|shift)[\w-]*"
)


class Unreadable(Exception):
    """A file, cell or text that is no Python; the reason, and the line where it is known."""

    def __init__(self, why: str, line: int | None = None) -> None:
        super().__init__(why if line is None else f"line {line}: {why}")


@dataclass(frozen=True)
class Cell:
    """The Python of a file or cell: `place` in words, its text, its number in the file."""

    place: str
    text: str
    number: int = 0


def cells_of(name: str, data: bytes) -> list[Cell]:
    """The texts of a file; lines of IPython's own are taken out, with their line kept.

    Raises:
        Unreadable: it is neither Python nor a notebook.
    """
    notebook = name.endswith(".ipynb")
    name = printable(name)
    if not notebook:
        return [Cell(name, _limited(_decoded(data)))]
    try:
        return [
            Cell(f"{name} cell {number}", without_magic(_limited(text)), number)
            for number, text in _code_of(json.loads(data.decode("utf-8-sig")))
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, MemoryError) as error:
        raise Unreadable(f"{name} is no notebook: {type(error).__name__}") from None


def printable(name: str) -> str:
    r"""A file's name in words: nothing in it moves a cursor or begins a line.

    >>> printable("k\n.py")
    'k?.py'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def _code_of(notebook: Any) -> list[tuple[int, str]]:
    cells = notebook["cells"]
    code = [(number, one) for number, one in enumerate(cells, 1) if one["cell_type"] == "code"]
    if len(code) > MAX_CELLS:
        raise Unreadable(f"a notebook of {len(code)} code cells: up to {MAX_CELLS} are read")
    return [(number, _plain_lines(_source(one["source"]))) for number, one in code]


def _source(source: Any) -> str:
    return source if isinstance(source, str) else "".join(source)


def _limited(text: str) -> str:
    if len(text) > LARGEST_LETTERS:
        said = f"{len(text)} letters of Python: up to {LARGEST_LETTERS} are read"
        raise Unreadable(said)
    return text


def _decoded(data: bytes) -> str:
    """A Python file as text: UTF-8, or what its coding line says."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if not _ENCODINGS.fullmatch(encoding):
            raise Unreadable(f"its coding line asks for {encoding[:40]}: save it as UTF-8")
        return _plain_lines(codecs.decode(data, encoding))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        why = f"byte {data[error.start]:#x} is no {error.encoding}: save the file as UTF-8, or"
        raise Unreadable(f"{why} begin it with its coding line", line) from None
    except (SyntaxError, LookupError, ValueError) as error:
        raise Unreadable(f"{str(error)[:100]}: save the file as UTF-8") from None


def _plain_lines(text: str) -> str:
    """All line ends as Python counts them, so that a line has one number everywhere."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def without_magic(text: str) -> str:
    r"""A cell as Python: IPython's own lines become `pass`, lines keep their numbers.

    >>> without_magic("%matplotlib inline\nx = 7 % 4\nfiles = !ls")
    'pass\nx = 7 % 4\npass'
    >>> without_magic("%%bash\nls")
    ''
    """
    first, *_ = text.lstrip().split("\n")
    if first.startswith("%%") and first.split()[0] not in _PYTHON_CELLS:
        return ""
    lines, room = text.split("\n"), _REPAIRED_LETTERS
    while room > 0 and (bad := _bad_line("\n".join(lines))) < len(lines):
        room -= len(text) + 1000
        instead = _MAGIC.sub(r"\1pass", lines[bad])
        if instead == lines[bad]:
            break
        lines[bad] = instead
    return "\n".join(lines)


def _bad_line(text: str) -> int:
    """Where Python cannot read on, counted from 0; the number of lines if it can read all."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        return (error.lineno or 1) - 1
    except (ValueError, RecursionError, MemoryError):
        pass
    return text.count("\n") + 1


def parsed(text: str) -> list[ast.stmt]:
    """The statements of a text.

    Raises:
        Unreadable: Python cannot read it; too deeply nested counts as that.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text).body
    except SyntaxError as error:
        raise Unreadable(str(error.msg)[:200], error.lineno) from None
    except (RecursionError, MemoryError):
        raise Unreadable("it is nested too deeply, or too large") from None
    except (ValueError, OverflowError) as error:
        raise Unreadable(str(error)[:200]) from None
