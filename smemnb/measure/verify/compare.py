"""The comparison: what a GPU counted beside what the source asks for and what its code asks for.

Two views stand beside every counter. The source view is the plain trace: equal to the counter where
the machine code has one instruction per access of the source. The as-compiled view is the machine
code itself, run by `smemnb.compiled`: equal to the counter for every kernel. Nothing is rounded and
nothing tolerated. Where the source view differs, `Compared` names the lines and what
became of their accesses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from .case import Case
from .ncu.counters import COMPARED, COUNTED_WITH, COUNTS, readings
from .predicted import Line, counts, lines, traced
from .recording import Measured, Recorded

_INSTRUCTIONS = {
    ("shared", "load"): ("LDS",),
    ("shared", "store"): ("STS",),
    ("shared", "atomic"): ("ATOMS",),
    ("shared", "ldmatrix"): ("LDSM",),
    ("shared", "stmatrix"): ("STSM",),
    ("shared", "copy"): ("LDGSTS",),
    ("global", "copy"): ("LDGSTS",),
    ("global", "load"): ("LDG", "LD"),
    ("global", "store"): ("STG", "ST"),
    ("global", "atomic"): ("ATOMG", "ATOM", "RED", "REDG"),
}


@dataclass(frozen=True)
class Row:
    """One count of a launch: its counter, what the GPU read, and the two views of the model.

    `source` is None of local memory, of which the source does not decide; `compiled` is None where
    the as-compiled view was not computed.
    """

    count: str
    metric: str
    measured: int
    source: int | None
    compiled: int | None = None


@dataclass(frozen=True)
class Patched:
    """Wavefronts of a one-warp launch of which the patched counter and the hardware's differ."""

    count: str
    patched: int
    hardware: int
    model: int


@dataclass(frozen=True)
class Compared:
    """A case: its counts, and what the compiler did where the source view differs.

    Attributes:
        name: of the case.
        excluded: why shared memory is not compared, as in retry loops; "" if it is.
        rows: the counts that were compared.
        causes: a sentence per line whose accesses the machine code does not have one to one.
        patched: where the counter of patched code is itself off, beside the hardware's.
        unrolled: whether a line has several instructions of one name.
    """

    name: str
    excluded: str
    rows: tuple[Row, ...]
    causes: tuple[str, ...] = ()
    patched: tuple[Patched, ...] = ()
    unrolled: bool = False

    @property
    def as_many(self) -> bool:
        """Whether the machine code executes as many instructions as the source has requests.

        By what it is run to execute; without the as-compiled view, by what the GPU executed.
        """
        return all(
            row.source == (row.measured if row.compiled is None else row.compiled)
            for row in self.rows
            if row.count.endswith("_requests") and row.source is not None
        )

    @property
    def one_to_one(self) -> bool:
        """Whether the machine code also has one instruction per access of the source.

        If a line has several of one name (`unrolled`), lanes may come apart between them: that is
        not one to one.
        """
        return self.as_many and not self.unrolled

    @property
    def source_differs(self) -> tuple[Row, ...]:
        """The counts in which the source view is not the counter."""
        return tuple(row for row in self.rows if row.source not in (None, row.measured))

    @property
    def compiled_differs(self) -> tuple[Row, ...]:
        """The counts in which the as-compiled view is not the counter."""
        return tuple(row for row in self.rows if row.compiled not in (None, row.measured))


def compare_all(
    cases: Sequence[Case], found: Mapping[str, Recorded], *, with_causes: bool = True
) -> list[Compared]:
    """Every case that was read beside the model's counts of today, with causes if wanted."""
    made = []
    for case in cases:
        if case.name in found:
            trace = traced(case)
            where = lines(trace, case.kernel) if with_causes else None
            made.append(compared(case, found[case.name], counts(trace), where))
    return made


def compared(
    case: Case,
    found: Recorded,
    source: Mapping[str, int],
    where: Mapping[Line, Mapping[str, int]] | None = None,
) -> Compared:
    """A recorded case beside the model's counts of today.

    Args:
        case: of the set.
        found: what was read; its `compiled` is the as-compiled view.
        source: counts of the source view, of the launch.
        where: the same per line of the kernel; with it causes are reported.
    """
    answers = readings(found.counters, warps=case.warps)
    rows = [
        Row(
            count,
            answers[count].metric,
            answers[count].value,
            source.get(count),
            (found.compiled or {}).get(count),
        )
        for count in COMPARED
        if count in answers and not (case.retries and count.startswith("shared"))
    ]
    made = Compared(
        case.name, case.retries, tuple(rows), patched=_patched(case, found.counters, rows)
    )
    made = replace(made, unrolled=any(row.instructions > 1 for row in found.lines))
    if not made.source_differs or where is None:
        return made
    differs = frozenset(row.count for row in made.source_differs)
    return replace(made, causes=causes(where, found.lines, differs))


def _patched(case: Case, found: Mapping[str, int], rows: Sequence[Row]) -> tuple[Patched, ...]:
    """Where the two counters of wavefronts differ though nothing is arbitrated: in one warp."""
    off = []
    for row in rows if case.warps == 1 else ():
        patched, hardware = (found.get(f"{row.count}_{by}") for by in ("patched", "hardware"))
        if patched is not None and hardware is not None and patched != hardware:
            model = row.compiled if row.compiled is not None else row.source or 0
            off.append(Patched(row.count, patched, hardware, model))
    return tuple(off)


def causes(
    where: Mapping[Line, Mapping[str, int]],
    measured: tuple[Measured, ...],
    differs: Set[str] = frozenset(COUNTS),
) -> tuple[str, ...]:
    """What became of the accesses of each line whose executed instructions are others.

    Or which lanes they have together: where as many were executed, and one of the counts that
    differ is their wavefronts or sectors.

    >>> one = Measured("a.py", 5, "LDS.128", 2, 8, 256, 16, 0, 0)
    >>> causes({("a.py", 5): {"shared_load_requests": 32}}, (one,))
    ('a.py:5: 32 shared loads in the source, executed as 8 LDS.128: merged',)
    """
    said = []
    for (file, line), wanted in sorted(where.items()):
        here = [row for row in measured if (row.file, row.line) == (file, line)]
        for (space, kind), names in _INSTRUCTIONS.items():
            asked = wanted.get(f"{space}_{kind}_requests", 0)
            done = [row for row in here if row.name.split(".")[0] in names]
            executed = sum(row.executed for row in done)
            if asked == executed:
                unit = "wavefronts" if space == "shared" else "sectors"
                count = f"{space}_{kind}_{unit}"
                took = sum(getattr(row, unit) for row in done)
                if COUNTED_WITH.get(count, count) in differs and took != wanted.get(count, 0):
                    said.append(
                        f"{file}:{line}: {_several(asked, space, kind)} take"
                        f" {wanted.get(count, 0):,} {unit} in the source, {took:,} as executed:"
                        f" {_grouped(done)}"
                    )
                continue
            parts = ", ".join(f"{row.executed:,} {row.name}" for row in done) or "nothing"
            asked_for = _several(asked, space, kind)
            why = _why(asked, executed, done, wanted.get(f"{space}_{kind}_lanes", 0))
            said.append(f"{file}:{line}: {asked_for} in the source, executed as {parts}: {why}")
    return tuple(said)


def _several(count: int, space: str, kind: str) -> str:
    """How many accesses of a kind.

    >>> _several(1, "shared", "load"), _several(0, "global", "copy")
    ('1 shared load', '0 global copies')
    """
    several = {"copy": "copies", "ldmatrix": "ldmatrix", "stmatrix": "stmatrix"}
    named = kind if count == 1 else several.get(kind, f"{kind}s")
    return f"{count:,} {space} {named}"


def _grouped(done: list[Measured]) -> str:
    """Why as many instructions move their lanes' cells otherwise."""
    copies = max(row.instructions for row in done)
    if copies > 1:
        return f"lanes meet in other rounds, as the loop has {copies} copies of the access"
    return "other lanes of a warp together"


def _why(asked: int, executed: int, done: list[Measured], lanes: int) -> str:
    """What the compiler or the hardware did, in a few words; `lanes` are those of the source."""
    if executed < asked:
        wide = any(part in ("64", "128") for row in done for part in row.name.split("."))
        return "merged" if wide else "kept in registers or moved to another line"
    if sum(row.threads for row in done) == lanes:  # each lane once, and warps more often
        return "by warps with all lanes off, or lanes of a warp apart"
    return "in parts"
