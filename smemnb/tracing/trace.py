"""A watched launch as data: counts per source line and access, totals, findings.

`Trace` is what `trace(kernel)[grid, block](*args)` returns. All of its numbers come from the
model (the lockstep engine and the rules of `smemnb.rules`), none is measured. Everything in it
is frozen, holds plain ints and strings, and says nothing of the machine, the day or a path, so
that two equal launches give equal traces and equal text.

Taught in `10_threads`. **Limits**: counts are those of the source as it is written; a compiler
may merge or drop accesses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..errors import SmemnbError
from .as_compiled import AsCompiled, Relaunch, needs
from .findings import Finding, in_order
from .function_text import FunctionText
from .model import (
    AccessRow,
    GlobalTotals,
    LaunchInfo,
    LocalAccess,
    LocalArray,
    LocalTotals,
    SharedTotals,
    WorstRequest,
)
from .report.bank_map import BankMap
from .report.text import text
from .report.view import html
from .report.view.page import page
from .waivers import Allowed, Waived, check_allowed, waive

if TYPE_CHECKING:
    from .timing.prediction import Prediction

SCHEMA = "smemnb.trace/1"
"""Name of the JSON form; the number rises when a key changes its meaning or goes away."""


@dataclass(frozen=True, repr=False)
class Trace:
    """The report of one watched launch, in the model's numbers.

    `lines` has one `AccessRow` per access expression and array, kernel first, then by line and
    column; `findings` are sorted by severity, line and other line. `waived` are those that may
    stay, each with its reason (see `smemnb.tracing.waivers`). `files` are the source files of
    the functions, for tools that point into them, `texts` their sources for the view in a notebook;
    both are no part of the text, the JSON and of equality.
    `limits` says what was not examined, because a launch had too much of it; nearly always empty.
    `relaunch` holds the arguments as they were, for `as_compiled`. `barriers` are the `syncthreads`
    that a block passes, of the block that passes the most. `local_arrays` are those of the kernel's
    source, each with where it lies.

    A notebook displays it as its source with the counts beside it; `page()` is that as a page.
    """

    launch: LaunchInfo
    lines: tuple[AccessRow, ...]
    findings: tuple[Finding, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict, compare=False)
    limits: tuple[str, ...] = ()
    relaunch: Relaunch | None = field(default=None, compare=False)
    barriers: int = 0
    local_arrays: tuple[LocalArray, ...] = ()
    waived: tuple[Waived, ...] = ()
    texts: Mapping[str, FunctionText] = field(default_factory=dict, compare=False)

    def waive(self, allow: Allowed) -> Trace:
        """This trace with findings waived by whoever traces, beside those that its source waives.

            report.waive({"uncoalesced": "the input is small"})

        Args:
            allow: kinds of findings to their reasons. For one place in place of the whole launch, a
                pair (kind, place): the number of a line, a part of its source, or the name of a
                function or of the kernel.

        Raises:
            SmemnbError: an unknown kind, a place that is none, or no reason.
        """
        check_allowed(allow)
        kept, waived = waive(self.findings, allow, self.launch.kernel)
        return replace(self, findings=tuple(kept), waived=(*self.waived, *waived))

    def as_compiled(self, cc: tuple[int, int] = (9, 0), elf: bytes | None = None) -> AsCompiled:
        """The same launch as the machine code for `cc` makes it, without a GPU.

        Args:
            cc: compute capability to compile for, from 7.0 to 9.0.
            elf: a cubin to take in place of compiling, such as one that ran on a GPU.

        Raises:
            SmemnbError: the compiler libraries are not installed, or the launch was not kept (a
                trace from JSON, arguments of more than 256 MB).
        """
        again = needs(self.relaunch, self.launch.kernel)
        return again.as_compiled(cc, self.launch, self, elf)

    def time(self, gpu: str = "H200") -> Prediction:
        """The predicted time of the same launch on a GPU, and what its warps wait for, by line.

            trace(kernel)[grid, block](*args).time()

        The machine code of some blocks is executed, and a multiprocessor is modelled cycle by
        cycle (`smemnb.tracing.timing`). The prediction has a range; two that overlap have no order.

        Args:
            gpu: whose constants are taken; "H200" is known.

        Raises:
            SmemnbError: a GPU, kernel or launch that is not modelled (tensor cores, asynchronous
                copies, blocks that wait for each other), the compiler libraries are not installed,
                or the launch was not kept.
        """
        return needs(self.relaunch, self.launch.kernel).time(gpu, self.launch)

    def line(self, number: int, function: str | None = None) -> tuple[AccessRow, ...]:
        """Rows of one source line; `function` tells apart lines of different files or cells."""
        return tuple(
            row for row in self.lines if row.line == number and function in (None, row.function)
        )

    @property
    def shared(self) -> SharedTotals:
        """Totals of shared memory."""
        rows = [row for row in self.lines if row.space == "shared"]
        return SharedTotals(
            requests=sum(row.requests for row in rows),
            lanes=sum(row.lanes for row in rows),
            wavefronts=sum(row.wavefronts for row in rows),
            ideal=sum(row.ideal for row in rows),
            extra=sum(row.extra for row in rows),
            ways=max((row.ways for row in rows), default=0),
            multicast=sum(row.multicast for row in rows),
        )

    @property
    def global_(self) -> GlobalTotals:
        """Totals of global memory."""
        rows = [row for row in self.lines if row.space == "global"]
        return GlobalTotals(
            requests=sum(row.requests for row in rows),
            lanes=sum(row.lanes for row in rows),
            sectors=sum(row.sectors for row in rows),
            ideal_sectors=sum(row.ideal_sectors for row in rows),
        )

    @property
    def local(self) -> LocalTotals:
        """The local arrays of the source, in bytes per thread by where they lie."""
        sums = dict.fromkeys(("registers", "local memory", "open"), 0)
        for array in self.local_arrays:
            sums[array.lies] += array.bytes
        return LocalTotals(
            arrays=len(self.local_arrays),
            bytes=sum(sums.values()),
            registers=sums["registers"],
            local_memory=sums["local memory"],
            open=sums["open"],
        )

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """The findings, waived or not, worst first."""
        every = [*self.findings, *(one.finding for one in self.waived)]
        return tuple(sorted(every, key=in_order))

    @property
    def races(self) -> tuple[Finding, ...]:
        """The findings that are races, of any severity."""
        return tuple(found for found in self.findings if found.race)

    @property
    def estimated(self) -> bool:
        """Whether totals are estimates, because only some blocks were watched."""
        return self.launch.estimated

    @property
    def ok(self) -> bool:
        """True if no finding is an error, but for waived ones. Extra wavefronts are a price.

        Raises:
            SmemnbError: the launch was traced with `checks=False`, nobody looked.
        """
        if not self.launch.checked:
            raise SmemnbError("this trace was made with checks=False: trace again with checks=True")
        return all(found.severity != "error" for found in self.findings)

    def bank_map(self, line: int, array: str | None = None) -> BankMap:
        """The shared-memory request of a line with the highest n-way.

        `smemnb.figures.bank_map` draws it.

        Args:
            line: source line.
            array: which array, where the line touches several; otherwise the worst one.

        Raises:
            SmemnbError: the line makes no shared-memory request, or asynchronous copies alone,
                which banks do not decide (`rules.async_copy`); the text says which lines do.
        """
        kept = [
            (row, row.worst)
            for row in self.lines
            if row.space == "shared" and row.modelled and not row.copy
            if row.worst is not None and array in (None, row.array)
        ]
        here = [one for one in kept if one[0].line == line]
        if not here:
            which = "" if array is None else f" on {array}"
            if any(row.copy and row.line == line for row in self.lines):
                which += " but asynchronous copies, which banks alone do not decide"
            known = ", ".join(str(n) for n in sorted({row.line for row, _ in kept})) or "none"
            raise SmemnbError(
                f"line {line} of {self.launch.kernel} makes no shared-memory request{which}; "
                f"lines that do: {known}"
            )
        return BankMap.of(*max(here, key=lambda one: (one[0].ways, one[0].extra)))

    def page(self, title: str = "", more: Sequence[Trace] = ()) -> str:
        """The report as a page of HTML, the one that `smemnb trace --html` writes.

        It loads nothing and holds no path: `Path("t.html").write_text(report.page(), "utf-8")`.

        Args:
            title: of the page; "" for the name of the kernel.
            more: further traces that follow on the page.
        """
        views = [one._repr_html_() for one in (self, *more)]
        return page(title or f"Trace of {self.launch.kernel}", "\n".join(views))

    def to_json(self) -> str:
        """The trace as JSON text, schema `smemnb.trace/1`.

        Keys: `schema`; `numbers`, always "model"; `launch` (kernel, grid, block, dynamic and
        static shared bytes per block, counted, checked, watched_blocks); `shared` and `global`,
        the totals; `lines`, one object per `AccessRow` with its worst request (32 byte addresses,
        active lanes, block, warp); `findings`, one object per `Finding`; `waived`, one per finding
        that may stay (`finding`, `reason`, `line` of the comment or null); `limits`, what was not
        examined; `barriers` of a block; `local`, the totals of local arrays; `local_arrays`, one
        object per `LocalArray` with its accesses. Byte-identical for equal traces.
        """
        whole = {
            "schema": SCHEMA,
            "numbers": "model",
            "launch": asdict(self.launch),
            "shared": asdict(self.shared),
            "global": asdict(self.global_),
            "lines": [asdict(row) for row in self.lines],
            "findings": [asdict(found) for found in self.findings],
            "waived": [asdict(one) for one in self.waived],
            "limits": list(self.limits),
            "barriers": self.barriers,
            "local": asdict(self.local),
            "local_arrays": [_without_files(asdict(array)) for array in self.local_arrays],
        }
        return json.dumps(whole, ensure_ascii=False)

    @classmethod
    def from_json(cls, stored: str) -> Trace:
        """The trace that `to_json` wrote.

        Raises:
            SmemnbError: the text is not JSON of this schema.
        """
        try:
            whole = json.loads(stored)
            schema = whole["schema"]
            if schema != SCHEMA:
                raise SmemnbError(f"schema {schema!r} is not {SCHEMA!r}: trace the kernel again")
            return cls(
                launch=LaunchInfo(**_frozen(whole["launch"])),
                lines=tuple(_row(one) for one in whole["lines"]),
                findings=tuple(Finding(**_frozen(one)) for one in whole["findings"]),
                limits=tuple(whole.get("limits", ())),
                barriers=whole.get("barriers", 0),
                local_arrays=tuple(_local_array(one) for one in whole.get("local_arrays", ())),
                waived=tuple(_waived(one) for one in whole.get("waived", ())),
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            raise SmemnbError(f"this is not JSON of the schema {SCHEMA!r}") from None

    def __repr__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)


def _row(stored: dict[str, Any]) -> AccessRow:
    worst = stored["worst"]
    kept = None if worst is None else WorstRequest(**_frozen(worst))
    return AccessRow(**{**_frozen(stored), "worst": kept})


def _local_array(stored: dict[str, Any]) -> LocalArray:
    accesses = tuple(LocalAccess(**one) for one in stored["accesses"])
    by = stored["decided_by"]
    kept = {**_frozen(stored), "accesses": accesses}
    return LocalArray(**{**kept, "decided_by": None if by is None else LocalAccess(**by)})


def _without_files(stored: dict[str, Any]) -> dict[str, Any]:
    """The record as it is kept: paths are no part of a report."""
    kept = {key: value for key, value in stored.items() if key != "file"}
    kept["accesses"] = [_without_file(one) for one in kept["accesses"]]
    by = kept["decided_by"]
    return {**kept, "decided_by": None if by is None else _without_file(by)}


def _without_file(stored: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in stored.items() if key != "file"}


def _waived(stored: dict[str, Any]) -> Waived:
    return Waived(**{**stored, "finding": Finding(**_frozen(stored["finding"]))})


def _frozen(stored: dict[str, Any]) -> dict[str, Any]:
    """The same keys with tuples for lists, as the frozen records hold them."""
    return {key: _tuples(value) for key, value in stored.items()}


def _tuples(value: Any) -> Any:
    return tuple(_tuples(one) for one in value) if isinstance(value, list) else value
