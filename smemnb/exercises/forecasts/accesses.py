"""The accesses of a kernel as a learner names them, and what is counted of each.

A name is the text of the access, as the report of a trace shows it: "load tile[tx, ty]". It does
not change with the lines around it. Where one text stands several times in a kernel, the names end
in "#1", "#2" and so on, in the order of the source.

The accesses are those that the stated launch comes to, found by running it: so a view of an array,
the parameter of a device function and an intrinsic that touches memory are named as the report
names them, whatever Python they are written in. Who asks for names is shown no counts.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ...tracing.model import AccessRow
from ...tracing.trace import Trace

SPACES = ("global", "shared")


@dataclass(frozen=True)
class Access:
    """One access of a kernel: its name, and its row in the trace of the stated launch."""

    name: str
    row: AccessRow

    @property
    def columns(self) -> tuple[str, ...]:
        """What is forecast of it: requests, and what its memory counts them in."""
        if not self.row.modelled:
            return ("requests",)
        return "requests", "wavefronts" if self.row.space == "shared" else "sectors"

    def counted(self, column: str) -> int:
        """What the trace counted."""
        return int(getattr(self.row, column))


def accesses_of(trace: Trace) -> tuple[Access, ...]:
    """The accesses of global and shared memory of a launch, in the order of its report."""
    rows = [row for row in trace.lines if row.space in SPACES]
    times = Counter(row.access for row in rows)
    met: dict[str, int] = defaultdict(int)
    found = []
    for row in rows:
        met[row.access] += 1
        number = f" #{met[row.access]}" if times[row.access] > 1 else ""
        found.append(Access(row.access + number, row))
    return tuple(found)


def meant(accesses: Sequence[Access], said: str) -> list[Access]:
    """The accesses that a learner's name may stand for: spaces do not count, nor does the kind.

    One of them is what it stands for; none and several are questions to ask back.
    """
    asked = _squeezed(said)
    whole = [one for one in accesses if asked == _squeezed(one.name)]
    if whole:
        return whole
    return [one for one in accesses if asked in map(_squeezed, _shorter(one))]


def _shorter(access: Access) -> tuple[str, str, str]:
    """An access without its kind, without its number, and without either."""
    return access.name.partition(" ")[2], access.row.access, access.row.text


def nearest(accesses: Sequence[Access], said: str) -> list[str]:
    """Names of up to three accesses that are most like what was said."""
    asked = _squeezed(said)
    texts = {_squeezed(name): one for one in accesses for name in (one.row.text, one.name)}
    of_array = {name: one for name, one in texts.items() if f"{one.row.array}[" in asked}
    near = difflib.get_close_matches(asked, of_array or texts, n=3, cutoff=0.3 if of_array else 0.5)
    return list(dict.fromkeys(texts[name].name for name in near))


def _squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)
