"""Findings as workflow commands, which GitHub Actions shows at their lines of a change.

    ::error file=kernels.py,line=12,title=race in transpose_tiled::...

Source: the workflow commands of GitHub Actions and their escapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from .places import PlacedFinding, from_root

_LEVEL = {"error": "error", "warning": "warning", "note": "notice"}


def commands(findings: Iterable[PlacedFinding], root: Path) -> Iterator[str]:
    """One line per finding that is not waived; in files outside `root` they carry no place."""
    for one in findings:
        if one.waived:
            continue
        found = one.finding
        path = from_root(one.file, root) if one.file else None
        place = [f"file={_property(path)}", f"line={found.line}"] if path else []
        title = _property(found.kind.replace("_", " ") + " in " + found.function)
        parts = ",".join([*place, f"title={title}"])
        yield f"::{_LEVEL[found.severity]} {parts}::{_data(one.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
