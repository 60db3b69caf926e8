"""A launch as its machine code makes it: the same table, counted instruction by instruction.

`trace(kernel)[grid, block](*args).as_compiled(cc=(9, 0))` compiles the kernel for the types of that
launch and runs the machine code (`smemnb.compiled.warps`) with the arguments as they were before
it. What the compiler merged, dropped, forwarded, unrolled or split is counted as it is executed,
so the totals are those of a GPU's counters for this machine code:

- `requests` are warp instructions with an active lane, one per instruction and warp;
- `idle` are those whose predicate was off in all lanes, which move nothing: on an H200
  `smsp__inst_executed_op_shared_...` counts them, `l1tex__t_requests_...` does not;
- `wavefronts` of shared memory, `sectors` of global and of local memory follow the rules of
  `smemnb.rules`;
- `spill` marks what the compiler marks itself: instructions that store a register for want of
  room, and load it again. What else touches local memory are arrays.

`counters` names the totals as the trace does, kind by kind; None stands for what is not determined,
and `undetermined` says at which line and why. Needs NVIDIA's compiler libraries, no GPU.

Source: counters of an H200 (cc 9.0) equal these for the launches of `smemnb.measure.verify`.

**Limits**: machine code differs between versions of the compiler; what was compiled here is what
is counted. Results that depend on which thread comes first (atomics whose value is used, races)
are one possibility of several.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SmemnbError
from ..lockstep.texts import shown_line
from .model import LaunchInfo

if TYPE_CHECKING:
    from ..compiled.lines import Build
    from ..compiled.listing import Located
    from ..compiled.warps.parameters import Snapshot
    from ..compiled.warps.tally import Site
    from .timing.prediction import Prediction
    from .trace import Trace

CC = tuple[int, int]
Array = np.ndarray[Any, np.dtype[Any]]
SCHEMA = "smemnb.as_compiled/1"
KEPT_BYTES = 1 << 28
"""Most bytes of arguments that a trace keeps a copy of, for `as_compiled`."""

UNITS = (
    ("shared", "wavefronts", ("load", "store", "atomic")),
    ("global", "sectors", ("load", "store", "atomic", "reduction")),
    ("local", "sectors", ("load", "store")),
)
"""Of each memory, what its requests cost, and the kinds of access that are counted."""

LEAST_CC, MOST_CC = (7, 0), (9, 0)

KINDS = {"load": "load", "store": "store", "reduction": "reduction"}
"""Kind of an instruction -> its name in `counters`; all that is none of these is an atomic."""


@dataclass(frozen=True)
class MachineRow:
    """One memory instruction of the machine code, with its counts over the launch.

    Attributes:
        line: the kernel's source line it came from, 0 where the compiler did not say.
        inner: the line of a device function that was inlined there, as "file.py:12"; mostly "",
            because Numba's device functions have line numbers only with `lineinfo=True`.
        source: the text of the line.
        address: of the instruction, bytes from the kernel's first.
        instruction: its name with modifiers, such as "LDS.128".
        kind: "load", "store", "atomic_add", "atomic_increment", "atomic_cas", "atomic_retry", or
            "reduction" (an atomic of global memory that returns nothing).
        space: "shared", "global" or "local".
        width: bytes per lane.
        requests: executions with at least one active lane, counted per warp.
        idle: executions with none.
        lanes: active lanes of all executions.
        wavefronts, ideal, ways: of shared memory, as in `AccessRow`; 0 elsewhere.
        sectors, ideal_sectors: of global and local memory.
        spill: whether it stores a spilled register, or loads it again.
        unknown: why a count of this row is not determined; "" if all are.
    """

    line: int
    inner: str
    source: str
    address: int
    instruction: str
    kind: str
    space: str
    width: int
    requests: int
    idle: int
    lanes: int
    wavefronts: int = 0
    ideal: int = 0
    ways: int = 0
    sectors: int = 0
    ideal_sectors: int = 0
    unknown: str = ""
    spill: bool = False

    @property
    def generic(self) -> bool:
        """Whether the instruction finds out by the address which memory it reaches."""
        return self.instruction.split(".")[0] in ("LD", "ST")

    @property
    def counted_as(self) -> str:
        """The beginning of the names of its totals in `counters`, such as "shared_load"."""
        return f"{self.space}_{KINDS.get(self.kind, 'atomic')}"


@dataclass(frozen=True, repr=False)
class AsCompiled:
    """What the machine code of a launch does to memory.

    Attributes:
        launch: what was launched.
        cc: compute capability it was compiled for.
        lines: one row per memory instruction and memory, by line, then address.
        undetermined: what is not determined, each with its line and cause; empty if all is.
        source: the trace of the same launch, None where only the machine code was run.
        registers: of a thread.
        local_bytes: local memory of a thread: arrays that did not become registers, and spills.
        shared_bytes: static ones of a block.
        barriers: named barriers that the code uses.
        arrays: the array arguments afterwards, in order; no part of equality.
    """

    launch: LaunchInfo
    cc: CC
    lines: tuple[MachineRow, ...]
    undetermined: tuple[str, ...] = ()
    source: Trace | None = field(default=None, compare=False)
    registers: int = 0
    local_bytes: int = 0
    shared_bytes: int = 0
    barriers: int = 0
    arrays: tuple[Array, ...] = field(default=(), compare=False)

    @property
    def determined(self) -> bool:
        """Whether every count is."""
        return not self.undetermined

    @property
    def counters(self) -> dict[str, int | None]:
        """Totals by memory and kind; None for what is not determined.

        Keys: shared_{load,store,atomic}_{requests,wavefronts}, and
        {global_{load,store,atomic,reduction},local_{load,store}}_{requests,sectors}.
        """
        totals: dict[str, int | None] = {}
        for space, unit, kinds in UNITS:
            for kind in kinds:
                rows = [row for row in self.lines if row.counted_as == f"{space}_{kind}"]
                for name in ("requests", unit):
                    totals[f"{space}_{kind}_{name}"] = self._total(rows, name)
        return totals

    @property
    def spills(self) -> tuple[MachineRow, ...]:
        """Rows that store spilled registers or load them again; other local rows are of arrays."""
        return tuple(row for row in self.lines if row.spill)

    def line(self, number: int) -> tuple[MachineRow, ...]:
        """Rows of one source line."""
        return tuple(row for row in self.lines if row.line == number)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain numbers, texts, lists and dicts; keys as the attributes."""
        return {
            "schema": SCHEMA,
            "numbers": "model",
            "launch": asdict(self.launch),
            "cc": list(self.cc),
            "counters": self.counters,
            "lines": [asdict(row) for row in self.lines],
            "undetermined": list(self.undetermined),
            "registers": self.registers,
            "local_bytes": self.local_bytes,
            "shared_bytes": self.shared_bytes,
            "barriers": self.barriers,
        }

    def to_json(self) -> str:
        """`to_dict` as text, byte-identical for equal results."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def __repr__(self) -> str:
        from .report.as_compiled import text

        return text(self)

    def _repr_html_(self) -> str:
        from .report.view.machine import html

        return html(self)

    def _total(self, rows: Sequence[MachineRow], name: str) -> int | None:
        stopped = bool(self.undetermined) and not self.lines
        if stopped or any(row.unknown for row in rows):
            return None
        return sum(int(getattr(row, name)) for row in rows)


@dataclass(frozen=True)
class Relaunch:
    """What is needed to run a launch's machine code: the kernel, types, arguments as they were."""

    kernel: Any
    signature: tuple[Any, ...]
    arguments: Snapshot

    def types(self) -> tuple[Any, ...]:
        """The types that Numba compiles the kernel for."""
        return self.signature

    def as_compiled(
        self, cc: CC, launch: LaunchInfo, source: Trace | None, elf: bytes | None = None
    ) -> AsCompiled:
        """The machine code's view of a launch, compiled for `cc`, or of a cubin that is given.

        Raises:
            SmemnbError: a compute capability whose launches are not known here.
        """
        from ..compiled.lines import Build, built

        if not LEAST_CC <= tuple(cc) <= MOST_CC:
            raise SmemnbError(f"cc {cc}: machine code is run for compute capabilities 7.0 to 9.0")
        build = built(self.kernel, self.signature, cc) if elf is None else Build.of(elf, cc)
        return compiled_view(build, self, launch, source)

    def time(self, gpu: str, launch: LaunchInfo) -> Prediction:
        """The predicted time of the launch.

        Raises:
            SmemnbError: a GPU or a kernel that is not modelled.
        """
        from ..compiled.lines import built
        from ..compiled.warps.run import CodeLaunch
        from .timing.machine import machine
        from .timing.prediction import predicted

        build = built(self.kernel, self.signature, machine(gpu).chip.cc)
        code = CodeLaunch(
            build.elf,
            launch.grid,
            launch.block,
            launch.dynamic_shared_bytes,
            self.arguments,
            self.signature,
        )
        return predicted(build, code, launch.kernel, gpu)


def compiled_view(
    build: Build, again: Relaunch, launch: LaunchInfo, source: Trace | None
) -> AsCompiled:
    """Run machine code for a launch and put the counts into rows."""
    from ..compiled.image import spills
    from ..compiled.retries import retry_loops
    from ..compiled.warps.run import CodeLaunch, NotDetermined, run

    needs = build.resources
    view = AsCompiled(
        launch=launch,
        cc=build.cc,
        lines=(),
        source=source,
        registers=needs.registers,
        local_bytes=needs.local_bytes,
        shared_bytes=needs.shared_bytes,
        barriers=build.barriers,
    )
    machine = CodeLaunch(
        build.elf,
        launch.grid,
        launch.block,
        launch.dynamic_shared_bytes,
        again.arguments,
        again.signature,
    )
    try:
        ran = run(machine, build.code)
        other = run(replace(machine, backwards=True), build.code) if _asks(build.code) else ran
    except NotDetermined as error:
        return replace(view, undetermined=(str(error),))
    loops = retry_loops(build.code)
    alike = {_key(site): (site.counts, site.asked) for site in other.sites}
    spilled = spills(build.elf)
    found = [
        replace(
            _row(site, space, _unknown(site, space, loops, alike.get(_key(site)))),
            spill=site.located.address in spilled,
        )
        for site in ran.sites
        for space in site.counts
    ]
    rows = sorted(_with_lines(found, source), key=lambda row: (row.line, row.address))
    said = [f"line {row.line}, {row.instruction}: {row.unknown}" for row in rows if row.unknown]
    return replace(view, lines=tuple(rows), undetermined=tuple(said), arrays=tuple(ran.arrays))


def _key(site: Site) -> tuple[int, str]:
    return site.located.address, site.kind


def _asks(code: Sequence[Located]) -> bool:
    """Whether an atomic's result is used, which may depend on which thread comes first."""
    return any(
        one.name.startswith("ATOM") and not {"RZ", "URZ"} & set(one.operands[:2]) for one in code
    )


def _with_lines(rows: list[MachineRow], source: Trace | None) -> list[MachineRow]:
    """Rows without a line get it where all accesses of their kind stand in one line."""
    places: dict[str, set[tuple[str, int, str]]] = {}
    for access in source.lines if source is not None else ():
        kind = KINDS.get(access.kind, "atomic")
        places.setdefault(f"{access.space}_{kind}", set()).add(
            (access.function, access.line, access.source)
        )
    found = []
    for row in rows:
        here = places.get(row.counted_as.replace("reduction", "atomic"), set())
        if not row.line and len(here) == 1:
            ((function, line, text),) = here
            if source is not None and function == source.launch.kernel:
                row = replace(row, line=line, source=text)
        found.append(row)
    return found


def _row(site: Site, space: str, unknown: str) -> MachineRow:
    places = site.located.places
    last = places[-1] if places else None
    counts = site.counts[space]
    return MachineRow(
        line=last.line if last else 0,
        inner="" if len(places) < 2 else f"{PurePath(places[0].file).name}:{places[0].line}",
        source=shown_line(last.file, last.line) if last else "",
        address=site.located.address,
        instruction=site.located.name,
        kind=site.kind,
        space=space,
        width=site.width,
        requests=counts.get("executed", 0),
        idle=counts.get("idle", 0),
        lanes=counts.get("lanes", 0),
        wavefronts=counts.get("wavefronts", 0),
        ideal=counts.get("ideal", 0),
        ways=counts.get("ways", 0),
        sectors=counts.get("sectors", 0),
        ideal_sectors=counts.get("ideal_sectors", 0),
        unknown=unknown,
    )


def _unknown(
    site: Site, space: str, loops: list[tuple[int, int]], alike: tuple[dict[str, Any], int] | None
) -> str:
    """Why the counts of an instruction are not determined."""
    if any(first <= site.located.address <= last for first, last in loops):
        return "a loop that tries again until it succeeds has no fixed count"
    if alike != (site.counts, site.asked):
        return "it follows from which thread an atomic serves first"
    if site.located.name.startswith(("LD.", "ST.")) and space != "local":
        return f"a generic access, which reaches {space} memory, counts under another name"
    return ""


def keep(args: Sequence[Any]) -> Snapshot | None:
    """The arguments of a launch before it runs; None where they cannot be kept."""
    from ..compiled.warps.operands import Unknown
    from ..compiled.warps.parameters import Snapshot
    from ..simulator.transfers import on_host

    values = [_plain(value) for value in args]
    if sum(getattr(value, "nbytes", 0) for value in values) > KEPT_BYTES:
        return None
    try:
        return Snapshot([on_host(value) for value in values])
    except Unknown:
        return None


def relaunch(kernel: Any, args: Sequence[Any], kept: Snapshot | None) -> Relaunch | None:
    """A launch that has run, with what was kept of it."""
    from ..simulator import devices

    if kept is None or devices.simulated_by_numba():  # which has no types
        return None
    from ..simulator.inference import argument_type
    from ..simulator.launch import kernel_of
    from ..simulator.signatures import fit

    known = kernel_of(kernel)
    types = tuple(argument_type(_plain(value)) for value in args)
    if known.signatures:
        types = fit(known.function, known.signatures, types)
    return Relaunch(kernel, types, kept)


def _plain(value: Any) -> Any:
    """The array in `cuda.In`, `cuda.Out`, `cuda.InOut`; all else as it is."""
    return value.value if type(value).__name__ in ("In", "Out", "InOut") else value


def needs(again: Relaunch | None, kernel: str) -> Relaunch:
    """The launch that was kept.

    Raises:
        SmemnbError: the trace was read from a file, or its arguments were not kept, or Numba
            simulates and has no types.
    """
    if again is None:
        from ..simulator.devices import need_types

        need_types("the machine code of a trace")
        raise SmemnbError(
            f"this trace of {kernel} has not kept its launch (it was read from JSON, or its"
            f" arguments exceed {KEPT_BYTES >> 20} MB or hold objects): trace the kernel again,"
            " with less data"
        )
    return again
