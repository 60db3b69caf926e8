"""Findings with the files they are in, for reports that point into source trees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..findings import Finding

if TYPE_CHECKING:
    from ..trace import Trace


@dataclass(frozen=True)
class PlacedFinding:
    """A finding, the file of each of its lines ("" where there is none), and the launch.

    `waived` is the reason why it may stay, "" where it may not; `in_source` whether a comment of
    the source gives it.
    """

    finding: Finding
    file: str
    other_file: str
    launch: str
    waived: str = ""
    in_source: bool = False

    def to_json(self) -> str:
        """As JSON text."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, stored: str) -> PlacedFinding:
        """What `to_json` wrote."""
        whole = json.loads(stored)
        finding = {key: _tuples(value) for key, value in whole.pop("finding").items()}
        return cls(Finding(**finding), **whole)

    @property
    def message(self) -> str:
        """Launch, cause and cure in one line."""
        return f"{self.launch}: {self.finding.cause} {self.finding.cure}"


def placed_findings(trace: Trace) -> Iterator[PlacedFinding]:
    """The findings of a trace with their files, those that are waived last."""
    every = [(found, "", False) for found in trace.findings]
    every += [(one.finding, one.reason, one.in_source) for one in trace.waived]
    for finding, waived, in_source in every:
        other = finding.other_function
        yield PlacedFinding(
            finding,
            trace.files.get(finding.function, ""),
            trace.files.get(other, "") if other is not None else "",
            str(trace.launch),
            waived,
            in_source,
        )


def from_root(file: str, root: Path) -> str | None:
    """The path as it is written below `root`, with slashes; None for a file elsewhere."""
    try:
        return Path(file).resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return None


def _tuples(value: Any) -> Any:
    return tuple(_tuples(one) for one in value) if isinstance(value, list) else value
