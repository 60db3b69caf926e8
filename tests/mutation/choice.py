"""A seeded sample of faults over all rooms: large rooms give more, each room at least one."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from pathlib import Path

from .faults import Fault, faults

LEFT_OUT = {"workbook"}


def modules(root: Path) -> dict[str, list[Path]]:
    """The modules of the package by room; what stands beside the rooms is a room of its own."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in sorted((root / "smemnb").rglob("*.py")):
        parts = path.relative_to(root / "smemnb").parts
        if not LEFT_OUT & set(parts):
            found[parts[0] if len(parts) > 1 else "(hall)"].append(path)
    return dict(found)


def shares(lines: dict[str, int], count: int) -> dict[str, int]:
    """How many faults each room gets: in proportion to the root of its lines, at least one.

    >>> shares({"rules": 1900, "lockstep": 11500, "cli": 1800}, 6)
    {'lockstep': 3, 'rules': 2, 'cli': 1}
    """
    rooms = sorted(lines, key=lambda room: (-lines[room], room))
    whole = sum(math.sqrt(n) for n in lines.values())
    given = dict.fromkeys(rooms, 1)
    while sum(given.values()) < count:
        wanted = {room: count * math.sqrt(lines[room]) / whole - given[room] for room in rooms}
        given[max(rooms, key=lambda room: wanted[room])] += 1
    return given


def chosen(root: Path, seed: int, count: int) -> list[Fault]:
    """`count` faults, or one per room where that is more; no two on one line of a module."""
    rng = random.Random(seed)
    rooms = modules(root)
    lines = {
        room: sum(len(path.read_text("utf-8").split("\n")) for path in paths)
        for room, paths in rooms.items()
    }
    drawn: list[Fault] = []
    for room, share in shares(lines, count).items():
        places: dict[str, list[Fault]] = defaultdict(list)
        for path in rooms[room]:
            for fault in faults(path.read_text("utf-8"), path.relative_to(root).as_posix()):
                places[fault.kind].append(fault)
        taken: set[tuple[str, int]] = set()
        while len(taken) < share and any(places.values()):
            # by kind first: else constants and deleted statements would be most of the sample
            kind = rng.choice(sorted(kind for kind, left in places.items() if left))
            fault = places[kind].pop(rng.randrange(len(places[kind])))
            text = (root / fault.path).read_text("utf-8")
            if (fault.path, fault.line) not in taken and fault.parses(text):
                taken.add((fault.path, fault.line))
                drawn.append(fault)
    return drawn
