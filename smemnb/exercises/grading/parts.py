"""The parts of a verdict that are read from traces: findings, and counts against the budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...tracing.findings import Finding
from ...tracing.model import AccessRow
from ..exercise import Budget, Exercise
from ..source import parameters
from .advice import PLAIN, on_barriers, on_requests, on_shared_requests, on_wavefronts
from .observe import Run
from .verdict import Part

FOLLOW_A_WRAPPED_INDEX = {"wrapped_index", "stale", "uninitialised", "race_between_blocks"}
"""Kinds of findings that a store or load at the wrong end of an axis brings about."""


MOST_SECTORS = 6
"""Per request: what 32 neighbouring elements of 4 bytes move, wherever they begin, and one more."""


@dataclass(frozen=True)
class LineCounts:
    """The counts of one source line in one launch, in one memory space."""

    line: int
    function: str
    source: str
    run: Run
    requests: int
    extra: int
    ways: int
    sectors: int
    rows: tuple[AccessRow, ...] = ()

    @property
    def shown(self) -> str:
        """The line as the report shows it: number, bar, source."""
        return f"{self.line} | {self.source}"

    @property
    def name(self) -> str:
        """Its number, with the name of the function if that is not the kernel."""
        of = "" if self.function == self.run.trace.launch.kernel else f" of {self.function}"
        return f"line {self.line}{of}"


def findings_part(runs: Sequence[Run]) -> tuple[Part, Finding | None]:
    """Report the first error, or else warning, of the largest launch and count its others."""
    seen = [
        (run, found)
        for run in runs
        for found in run.trace.findings
        if found.severity in ("error", "warning")
        # a budget judges what has a price; of these, nothing but the finding counts float64
        and (not found.price or found.kind == "float64_arithmetic")
    ]
    if not seen:
        return Part("findings", "none", ok=True), None
    # what others follow from is reported before them
    leading = [one for one in seen if one[1].leads] or seen
    errors = [one for one in leading if one[1].severity == "error"] or leading
    # what an index that went to the other end does elsewhere is reported by these as well
    wrapped = [one for one in seen if one[1].kind == "wrapped_index"]
    if wrapped and all(found.kind in FOLLOW_A_WRAPPED_INDEX for _, found in errors):
        errors = wrapped
    run, first = max(errors, key=lambda one: one[0].elements)  # a launch of some size shows more
    others = len({(f.kind, f.line, f.other_line) for r, f in seen if r is run}) - 1
    more = f" ({others} more)" if others else ""
    text = f"{first.kind.replace('_', ' ')}: {first.cause}{more}\n{first.line} | {first.source}"
    return Part("findings", f"{text.rstrip()}\n({run.title})", ok=False), first


def count_parts(exercise: Exercise, runs: Sequence[Run]) -> list[Part]:
    """Compare the counts of all runs with the budget."""
    graded = [_wavefronts(exercise, runs), _sectors(exercise, runs)]
    graded += [_requests(exercise, runs), _shared_bytes(exercise, runs), _barriers(exercise, runs)]
    return [part for part in graded if part is not None]


def budget_of(exercise: Exercise, run: Run) -> Budget:
    """The budget that holds for a run: the case's own, or else the exercise's."""
    return run.case.budget or exercise.budget


def lines(runs: Iterable[Run], space: str) -> list[LineCounts]:
    """The counts of each source line in each run, in "shared" or "global" memory."""
    found = []
    for run in runs:
        by_line: dict[tuple[str, int], list[AccessRow]] = {}
        for row in run.trace.lines:
            if row.space == space:
                by_line.setdefault((row.function, row.line), []).append(row)
        found += [_line(run, rows) for rows in by_line.values()]
    return found


def _line(run: Run, rows: list[AccessRow]) -> LineCounts:
    return LineCounts(
        line=rows[0].line,
        function=rows[0].function,
        source=rows[0].source.strip(),
        run=run,
        requests=sum(row.requests for row in rows),
        extra=sum(row.extra for row in rows),
        ways=max(row.ways for row in rows),
        sectors=sum(row.sectors for row in rows),
        rows=tuple(rows),
    )


def _wavefronts(exercise: Exercise, runs: Sequence[Run]) -> Part | None:
    seen = lines(runs, "shared")
    if not seen:
        return None
    bad = []
    for line in seen:
        allowed = budget_of(exercise, line.run)
        over_extra = allowed.extra is not None and line.extra > allowed.extra
        over_ways = allowed.ways is not None and line.ways > allowed.ways
        if over_extra or over_ways:
            bad.append((line, allowed, over_extra))
    if not bad:
        return Part("wavefronts", _extra(exercise, seen), ok=True)
    line, allowed, over_extra = max(bad, key=lambda one: (one[0].extra, one[0].ways))
    asked = f"{allowed.extra}" if over_extra else f"{allowed.ways}-way"
    text = f"{line.name} is {line.ways}-way, {line.extra} extra wavefronts; budget {asked}"
    hint = on_wavefronts(list(line.rows))
    return Part("wavefronts", f"{text}\n{line.shown}\n({line.run.title})", hint, ok=False)


def _extra(exercise: Exercise, seen: Sequence[LineCounts]) -> str:
    """Extra wavefronts of the worst line; where launches have other budgets, of both."""
    free = [line for line in seen if budget_of(exercise, line.run).extra is None]
    held = [line for line in seen if budget_of(exercise, line.run).extra is not None]
    worst = max(held or free, key=lambda line: (line.extra, line.ways))
    said = f"{worst.extra} extra on the worst line"
    if not held:
        return f"{said}, no budget"
    other = max(free, key=lambda line: line.extra, default=worst)
    if other.extra > worst.extra:
        return f"{said} of the launches with a budget\n{_elsewhere(other, f'{other.extra} extra')}"
    return said


def _elsewhere(line: LineCounts, said: str) -> str:
    return f"({said} in a launch that may take more: {line.run.title})"


def _shared_requests(exercise: Exercise, runs: Sequence[Run]) -> Part | None:
    """Refuse the first run that goes to shared memory too often; None if there is none."""
    for run in runs:
        budget = budget_of(exercise, run)
        for seen, allowed, does, kinds in (
            (shared_requests_of(run), budget.shared_requests, "go to", None),
            (shared_loads_of(run), budget.shared_loads, "load from", "load"),
        ):
            if allowed is None or seen <= allowed:
                continue
            of_kind = [
                line
                for line in lines([run], "shared")
                if kinds is None or any(row.kind == kinds for row in line.rows)
            ]
            most = max(of_kind, key=lambda line: line.requests)
            text = (
                f"{seen} requests {does} shared memory; budget {allowed} ({most.requests} of them "
                f"in {most.name})\n{most.shown}\n({run.title})"
            )
            return Part("requests", text, on_shared_requests(run, seen - allowed), ok=False)
    return None


def shared_requests_of(run: Run) -> int:
    """Warp-wide loads and stores of shared memory in a run."""
    return sum(row.requests for row in run.trace.lines if row.space == "shared")


def shared_loads_of(run: Run) -> int:
    """Warp-wide loads of shared memory in a run."""
    rows = [row for row in run.trace.lines if row.space == "shared" and row.kind == "load"]
    return sum(row.requests for row in rows)


def sectors_of(run: Run, name: str) -> int:
    """Sectors that all requests of one parameter move in a run."""
    rows = [row for row in run.trace.lines if row.space == "global" and row.array == name]
    return sum(row.sectors for row in rows)


def _sectors_in_all(exercise: Exercise, runs: Sequence[Run]) -> Part | None:
    """Refuse the first run that moves too many sectors of a parameter; None if there is none."""
    position = {name: i for i, name in enumerate(parameters(exercise.solution))}
    for run in runs:
        for asked, allowed in budget_of(exercise, run).sectors.items():
            name = run.names[position[asked]]
            seen = sectors_of(run, name)
            if seen > allowed:
                through = [one for one in lines([run], "global") if one.rows[0].array == name]
                most = max(through, key=lambda line: line.sectors)
                text = (
                    f"{seen} sectors of {name} are moved; budget {allowed} ({most.sectors} of them "
                    f"in {most.name}, {_mean(most)} per request)\n{most.shown}\n({run.title})"
                )
                apart = most.sectors > MOST_SECTORS * most.requests
                hint = PLAIN["sectors"] if apart else on_requests(exercise, run, name, 0)
                return Part("sectors", text, hint, ok=False)
    return None


def _sectors(exercise: Exercise, runs: Sequence[Run]) -> Part | None:
    seen = [line for line in lines(runs, "global") if line.requests]
    if not seen:
        return None
    too_many = _sectors_in_all(exercise, runs)
    if too_many is not None:
        return too_many
    bad = []
    for line in seen:
        allowed = budget_of(exercise, line.run).sectors_per_request
        if allowed is not None and line.sectors > allowed * line.requests:
            bad.append((line, allowed))
    if not bad:
        return Part("sectors", _per_request(exercise, seen), ok=True)
    line, asked = max(bad, key=lambda one: one[0].sectors / one[0].requests)
    text = (
        f"{line.name} takes {line.sectors} sectors in {line.requests} requests, "
        f"{_mean(line)} per request; budget {asked}"
    )
    return Part("sectors", f"{text}\n{line.shown}\n({line.run.title})", ok=False)


def _per_request(exercise: Exercise, seen: Sequence[LineCounts]) -> str:
    """Sectors per request of the worst line where the least is allowed, and of the worst of all."""

    def allowed(line: LineCounts) -> float:
        budget = budget_of(exercise, line.run).sectors_per_request
        return float("inf") if budget is None else budget

    def mean(line: LineCounts) -> float:
        return line.sectors / line.requests

    least = min(map(allowed, seen))
    worst = max((line for line in seen if allowed(line) == least), key=mean)
    said = f"{_mean(worst)} per request on the worst line"
    if least == float("inf"):
        return said
    said, other = f"{said}, within the budget", max(seen, key=mean)
    if mean(other) > mean(worst):
        return f"{said}\n{_elsewhere(other, _mean(other))}"
    return said


def _mean(line: LineCounts) -> str:
    return f"{line.sectors / line.requests:.2f}".rstrip("0").rstrip(".")


def _requests(exercise: Exercise, runs: Sequence[Run]) -> Part | None:
    checked = 0
    position = {name: i for i, name in enumerate(parameters(exercise.solution))}
    for run in runs:
        for asked, allowed in budget_of(exercise, run).requests.items():
            checked += 1
            name = run.names[position[asked]]
            seen = requests_of(run, name)
            if seen > allowed:
                text = f"{seen} requests touch {name}; budget {allowed}\n({run.title})"
                hint = on_requests(exercise, run, name, allowed)
                return Part("requests", text, hint, ok=False)
    too_many = _shared_requests(exercise, runs)
    if too_many is not None:
        return too_many
    for budget in (budget_of(exercise, run) for run in runs):
        checked += budget.shared_requests is not None or budget.shared_loads is not None
    return Part("requests", "within the budget", ok=True) if checked else None


def requests_of(run: Run, name: str) -> int:
    """Warp-wide loads and stores of one parameter in a run."""
    rows = [row for row in run.trace.lines if row.space == "global" and row.array == name]
    return sum(row.requests for row in rows)


def shared_bytes_of(run: Run) -> int:
    """Bytes of shared memory per block in a run, static and dynamic."""
    return run.trace.launch.static_shared_bytes + run.trace.launch.dynamic_shared_bytes


def _shared_bytes(exercise: Exercise, runs: Sequence[Run]) -> Part | None:
    most = 0
    for run in runs:
        seen, allowed = shared_bytes_of(run), budget_of(exercise, run).shared_bytes
        most = max(most, seen)
        if allowed is not None and seen > allowed:
            text = f"{seen} bytes of shared memory per block; budget {allowed}\n({run.title})"
            hint = PLAIN["shared" if allowed else "none_shared"]
            return Part("shared", text, hint, ok=False)
    return Part("shared", f"{most} bytes per block", ok=True) if most else None


def _barriers(exercise: Exercise, runs: Sequence[Run]) -> Part | None:
    budgets = [(run, budget_of(exercise, run).barriers) for run in runs]
    asked = [(run, allowed) for run, allowed in budgets if allowed is not None]
    for run, allowed in asked:
        if run.trace.barriers > allowed:
            text = f"a block passes {run.trace.barriers} barriers; budget {allowed}\n({run.title})"
            return Part("barriers", text, on_barriers(exercise), ok=False)
    return Part("barriers", "within the budget", ok=True) if asked else None
