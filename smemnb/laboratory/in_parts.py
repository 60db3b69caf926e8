"""Long recordings in several processes: each takes a part, and one at a time uses the GPU.

    part("2/8", items)        every eighth item, from the second on
    with held(lock): ...      while no other process holds this file
    merged(paths)             what the processes wrote, as one file

Kernels are compiled and data made side by side; only what is timed waits for its turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ..errors import SmemnbError

__all__ = ["held", "merged", "part"]

Item = TypeVar("Item")


def part(share: str, items: Sequence[Item]) -> list[Item]:
    """A process's share of the items, said as "number/processes", counted from 1.

    >>> part("2/3", "abcdefgh")
    ['b', 'e', 'h']

    Raises:
        SmemnbError: the share is none.
    """
    number, slash, of = share.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise SmemnbError(f"part is {share!r}; wanted is a number of as many, such as '2/8'")
    return list(items[int(number) - 1 :: int(of)])


@contextmanager
def held(lock: Path | None) -> Iterator[None]:
    """Hold a file (`flock`), which other processes then wait for; None holds nothing."""
    if lock is None:
        yield
        return
    import fcntl

    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def merged(paths: Sequence[Path], keys: Sequence[str]) -> dict[str, Any]:
    """The files' objects as one, with the entries of all under each of `keys`.

    Raises:
        SmemnbError: a file cannot be read, or there is none.
    """
    whole: dict[str, Any] = {}
    for path in paths:
        try:
            one = json.loads(path.read_text(encoding="utf-8"))
            entries = {key: {**whole.get(key, {}), **one.get(key, {})} for key in keys}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise SmemnbError(f"{path} cannot be merged: {error}") from None
        whole = {**one, **entries}
    if not whole:
        raise SmemnbError("no files to merge")
    return whole
