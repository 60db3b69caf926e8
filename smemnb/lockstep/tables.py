"""Tables of what the engine knows, put together from the tables of several modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


def union(*tables: Mapping[Key, Value]) -> dict[Key, Value]:
    """All entries of the tables.

    >>> union({"clz": 1}, {"ffs": 2})
    {'clz': 1, 'ffs': 2}

    Raises:
        ValueError: two tables have the same key, so that one entry would hide the other.
    """
    whole: dict[Key, Value] = {}
    for table in tables:
        twice = whole.keys() & table.keys()
        if twice:
            names = sorted(getattr(key, "__name__", str(key)) for key in twice)
            raise ValueError(f"{', '.join(names)}: in two tables that are to be one")
        whole.update(table)
    return whole
