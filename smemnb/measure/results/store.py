"""The file of results: one JSON object with a format's name and a version.

Read with reasons: what is missing or of the wrong kind is named by its place in the file. Written
beside the old file and moved over it, so that nobody ever sees half a file.
"""

from __future__ import annotations

import json
import os
import tempfile
import types
import typing
from dataclasses import MISSING, asdict, fields, is_dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, TypeVar

from ...errors import SmemnbError
from .model import ROLES, Results

__all__ = ["FORMAT", "VERSION", "decode", "encode", "load", "reserve", "save", "shipped"]
__all__ += ["read_fields", "read_object", "read_text", "save_text"]

FORMAT: Final = "smemnb bench"
VERSION: Final = 1
SHIPPED: Final = "h200_bench.json"
MAKE = "smemnb bench all --out FILE.json"

T = TypeVar("T")


def encode(results: Results) -> str:
    """The text of the file."""
    head = {"format": FORMAT, "version": VERSION}
    return json.dumps(head | asdict(results), indent=1, allow_nan=False) + "\n"


def decode(text: str, name: str) -> Results:
    """Results from the text of a file.

    Raises:
        SmemnbError: not a file of results, of a newer version, or a field that is not as it was
            written. `name` is how the message calls the file.
    """
    found = read_object(text, name, FORMAT, VERSION, MAKE)
    results = read_fields(Results, found, name)
    for number, row in enumerate(results.rows):
        _sound(row, f"{name}: rows[{number}]")
    return results


def read_object(text: str, name: str, form: str, version: int, make: str) -> dict[str, Any]:
    """The fields of a file whose head names its format and version.

    Args:
        text: of the file.
        name: how messages call it.
        form: the name of the format that its head has to give.
        version: the version that it has to give.
        make: the command that makes such a file, for messages.

    Raises:
        SmemnbError: not JSON, another format, or another version.
    """
    try:
        found = json.loads(text)
    except ValueError as error:
        raise SmemnbError(f"{name} is not JSON ({error}); {make} makes such a file") from None
    if not isinstance(found, dict) or found.pop("format", None) != form:
        raise SmemnbError(
            f'{name} is JSON, but not a file of results: it has no "format": "{form}";'
            f" {make} makes such a file"
        )
    said = found.pop("version", None)
    if said != version:
        raise SmemnbError(
            f"{name} has version {said!r}; this smemnb reads version {version}."
            " Use the smemnb that wrote it, or measure again"
        )
    return found


def load(path: str | Path) -> Results:
    """The results of a file.

    Raises:
        SmemnbError: there is no such file, or it is not one of results (the message says why).
    """
    return decode(read_text(path), str(path))


def read_text(path: str | Path) -> str:
    """The text of a file.

    Raises:
        SmemnbError: it cannot be read (the message says why).
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise SmemnbError(f"{path} cannot be read: {reason}") from None


def shipped() -> Results:
    """The results that come with the package.

    Raises:
        SmemnbError: none come with it.
    """
    source = files(__package__.rpartition(".")[0] + ".recorded") / SHIPPED
    if not source.is_file():
        raise SmemnbError(
            f"no results for these kernels are shipped; measure some on a GPU: {MAKE}"
        )
    return decode(source.read_text(encoding="utf-8"), f"the shipped {SHIPPED}")


def reserve(path: Path, *, force: bool) -> None:
    """Make sure, before anything is measured, that results can be written here.

    Raises:
        SmemnbError: the file is there already and `force` is not given, or cannot be written.
    """
    try:
        with path.open("a" if force else "x", encoding="utf-8"):
            return
    except FileExistsError:
        raise SmemnbError(
            f"--out {path}: the file is there already; take another name, or add --force"
        ) from None
    except OSError as error:
        raise SmemnbError(f"--out {path} cannot be written: {error.strerror}") from None


def save(results: Results, path: Path) -> None:
    """Write the file at once: until it is whole, what was there stays."""
    save_text(encode(results), path)


def save_text(text: str, path: Path) -> None:
    """Write a text at once: until the file is whole, what was there stays."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        if path.exists():
            Path(name).chmod(path.stat().st_mode & 0o777)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _sound(row: Any, where: str) -> None:
    """What types alone do not say of a row."""
    extents = {"transpose": 2, "matmul": 3}
    if row.operation not in extents:
        raise SmemnbError(f"{where}.operation is {row.operation!r}, not transpose or matmul")
    if len(row.shape) != extents[row.operation]:
        raise SmemnbError(f"{where}.shape is {row.shape}, not {extents[row.operation]} extents")
    if row.role not in ROLES:
        raise SmemnbError(f"{where}.role is {row.role!r}, not one of {', '.join(ROLES)}")
    if row.ms is None and row.failed is None:
        raise SmemnbError(f"{where} has neither a time (ms) nor a reason (failed)")
    if row.ms is not None and not (row.low_ms and row.high_ms and row.ms > 0):
        raise SmemnbError(f"{where} has a time without its quartiles (low_ms, high_ms), or 0 ms")


def read_fields(kind: type[T], found: Any, where: str) -> T:
    """A dataclass from a JSON object; `where` is its place in the file."""
    if not isinstance(found, dict):
        raise SmemnbError(f"{where} is {_called(found)}, not an object")
    hints = typing.get_type_hints(kind)
    assert is_dataclass(kind)
    unknown = sorted(set(found) - set(hints))
    if unknown:
        raise SmemnbError(f"{where}.{unknown[0]} is not a field; known are {', '.join(hints)}")
    values = {}
    for one in fields(kind):
        if one.name in found:
            values[one.name] = _value(hints[one.name], found[one.name], f"{where}.{one.name}")
        elif one.default is MISSING:
            raise SmemnbError(f"{where}.{one.name} is missing")
    return kind(**values)


def _value(hint: Any, found: Any, where: str) -> Any:
    """A JSON value as a type asks for it."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if is_dataclass(hint):
        return read_fields(typing.cast(type, hint), found, where)
    if origin is tuple:
        if not isinstance(found, list):
            raise SmemnbError(f"{where} is {_called(found)}, not a list")
        return tuple(_value(inner[0], one, f"{where}[{at}]") for at, one in enumerate(found))
    if origin is dict:
        if not isinstance(found, dict):
            raise SmemnbError(f"{where} is {_called(found)}, not an object")
        return {name: _value(inner[1], one, f"{where}.{name}") for name, one in found.items()}
    choices = inner if origin is types.UnionType else (hint,)
    for choice in choices if found is not None else ():  # an object or a list, where null may stand
        if type(found) in (dict, list) and typing.get_origin(choice) in (dict, tuple):
            return _value(choice, found, where)
    if float in choices and type(found) is int:
        return float(found)
    if type(found) not in choices:
        wanted = " or ".join(_WORDS[choice] for choice in choices)
        raise SmemnbError(f"{where} is {_called(found)}, not {wanted}")
    return found


_WORDS = {int: "an integer", float: "a number", str: "text", bool: "true or false"}
_WORDS |= {type(None): "null", list: "a list", dict: "an object"}


def _called(found: Any) -> str:
    said = json.dumps(found)
    return f"{_WORDS[type(found)]} ({said if len(said) < 40 else said[:37] + '...'})"
