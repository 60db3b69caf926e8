"""Kernel arguments written on a command line.

    >>> argument("float32[2,3]")
    array([[0., 1., 2.],
           [3., 4., 5.]], dtype=float32)
    >>> argument("int64(5)"), argument("2.5"), argument("(1, 2)")
    (np.int64(5), 2.5, (1, 2))

Contents are the same in every run: 0, 1, 2, ... in the order of memory, one number, or random
numbers of a fixed seed: floats from 0 to below 1, whole numbers below 100 or below the number that
is written (`=random:64`). Nothing written here is executed.
"""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import LaunchRefused

ARRAY = re.compile(r"(?P<dtype>[a-z]+\d*)\[(?P<shape>[^\]]*)\](?P<order>F?)(?:=(?P<fill>.+))?")
SCALAR = re.compile(r"(?P<dtype>[a-z]+\d*)\((?P<value>[^()]*)\)")
MAX_BYTES = 2**31


def argument(text: str) -> Any:
    """The value that one ARG means.

    Raises:
        LaunchRefused: the text is none of the forms that `smemnb trace --help` lists.
    """
    text = text.strip()
    if text.startswith("@"):
        return _saved(Path(text[1:]))
    if (match := ARRAY.fullmatch(text)) is not None:
        return _array(text, match)
    if (match := SCALAR.fullmatch(text)) is not None:
        dtype = _dtype(text, match["dtype"])
        value = _literal(text, match["value"])
        if isinstance(value, tuple) and all(type(one) is int and one >= 0 for one in value):
            shape = ",".join(map(str, value))
            raise LaunchRefused(
                f'"{text}": round brackets hold one number; an array of this shape is written'
                f" {match['dtype']}[{shape}]"
            )
        return _filled(text, value, 1, dtype)[0]
    return _literal(text, text)


def extent(text: str, option: str) -> tuple[int, ...]:
    """The numbers of `--grid` or `--block`.

    >>> extent("32,8", "--block"), extent("32x8", "--block")
    ((32, 8), (32, 8))

    Raises:
        LaunchRefused: not one to three whole numbers.
    """
    parts = re.split("[,xX]", text.replace(" ", "").strip("()"))
    if not 1 <= len(parts) <= 3 or not all(part.isdecimal() for part in parts):
        raise LaunchRefused(f'{option} {text}: write one to three whole numbers, such as "32,8"')
    return tuple(int(part) for part in parts)


def _array(text: str, match: re.Match[str]) -> Any:
    dtype = _dtype(text, match["dtype"])
    parts = [part.strip() for part in re.split("[,xX]", match["shape"]) if part.strip()]
    if not parts or not all(part.isdecimal() for part in parts):
        raise LaunchRefused(f'"{text}": write the shape as whole numbers, such as float32[40,35]')
    shape = tuple(int(part) for part in parts)
    if math.prod(shape) * dtype.itemsize > MAX_BYTES:
        raise LaunchRefused(f'"{text}" would take more than 2 GiB; trace a smaller one')
    order = "F" if match["order"] else "C"
    flat = _contents(text, match["fill"], math.prod(shape), dtype)
    return flat.reshape(shape, order=order)


def _contents(text: str, fill: str | None, size: int, dtype: np.dtype[Any]) -> Any:
    if fill is None:
        # counted up to what the type holds exactly, then from 0 again
        return (np.arange(size) % min(_most(dtype), 2**53)).astype(dtype)
    if fill.strip() == "random":
        rng = np.random.default_rng(0)
        if dtype.kind in "fc":
            return rng.random(size).astype(dtype)
        return rng.integers(0, 2 if dtype.kind == "b" else 100, size).astype(dtype)
    start, colon, below = fill.partition(":")
    if colon and start.strip() == "random":
        return _random_below(text, below.strip(), size, dtype)
    return _filled(text, _literal(text, fill), size, dtype)


def _random_below(text: str, below: str, size: int, dtype: np.dtype[Any]) -> Any:
    if dtype.kind not in "iu":
        raise LaunchRefused(
            f'"{text}": random:{below} is for whole numbers; {dtype} takes =random alone'
        )
    if not below.isdecimal() or not 1 <= int(below) <= _most(dtype):
        raise LaunchRefused(
            f'"{text}": write a whole number from 1 to {_most(dtype)} after random:, such as'
            " random:64"
        )
    rng = np.random.default_rng(0)
    return rng.integers(0, int(below), size, dtype=np.uint64).astype(dtype)


def _filled(text: str, value: Any, size: int, dtype: np.dtype[Any]) -> Any:
    if isinstance(value, tuple):
        raise LaunchRefused(f'"{text}": write one number, not a tuple')
    cut = isinstance(value, float) and dtype.kind in "iu" and not value.is_integer()
    if cut or (isinstance(value, complex) and dtype.kind != "c"):
        raise LaunchRefused(f'"{text}": {value} is no number of {dtype}')
    # asked here: NumPy before 2.1 wraps a whole number, and every NumPy a float
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        raise LaunchRefused(f'"{text}": {value} does not fit into {dtype}')
    try:
        return np.full(size, value, dtype)
    except OverflowError:  # a whole number that no float of this type holds
        raise LaunchRefused(f'"{text}": {value} does not fit into {dtype}') from None


def _most(dtype: np.dtype[Any]) -> int:
    """How many whole numbers from 0 the type holds exactly."""
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max) + 1
    return 2 if dtype.kind == "b" else int(2 ** (np.finfo(dtype).nmant + 1))


def _dtype(text: str, name: str) -> np.dtype[Any]:
    try:
        dtype = np.dtype(name)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind not in "biufc":
        raise LaunchRefused(f'"{text}": {name} is no number type; float32, int32, uint8 ... are')
    return dtype


def _saved(path: Path) -> Any:
    if not path.is_file():
        raise LaunchRefused(f"{path} is not there; @ names a file written by numpy.save")
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, OSError) as error:
        raise LaunchRefused(f"{path} is not an array written by numpy.save: {error}") from error


def _literal(text: str, value: str) -> Any:
    try:
        found = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        found = None
    single = found if isinstance(found, tuple) else (found,)
    if not single or not all(isinstance(one, (int, float, complex)) for one in single):
        raise LaunchRefused(
            f'"{text}" is no argument; write "float32[128,128]" for an array, 5 for a number '
            "(smemnb trace --help lists all forms)"
        )
    return found
