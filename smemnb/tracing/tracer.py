"""`trace(kernel)[grid, block](*args)`: a launch, run in the lockstep engine and watched.

The launch goes the way of every launch without a GPU (`smemnb.simulator`): same checks, same
types, results copied back to the arguments. Watchers count requests and look for races,
divergent barriers, uninitialised reads and bad indices; here their records become a `Trace`.

Taught in `10_threads`. **Limits**: kernels whose source cannot be read, and Python that Numba or
the engine refuses, are refused with their line.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from ..errors import KernelStopped, LaunchRefused, SmemnbError, shortened
from ..lockstep.fibers.plan import Order, check_order
from ..lockstep.texts import shown_line
from ..lockstep.watch import Site
from .as_compiled import keep, relaunch
from .callers import calls_into_numba
from .findings import Finding, findings_of, in_order
from .function_text import FunctionText
from .model import AccessRow, Dim3, LaunchInfo, LocalArray, Observation, SiteCounts
from .prices.local_arrays import local_arrays
from .sample import Blocks, Others, check_choice, check_watching, segments
from .trace import Trace
from .waivers import Waived, Waivers

if TYPE_CHECKING:
    from .watching import Watched


def trace(
    kernel: Any,
    *,
    counts: bool = True,
    checks: bool = True,
    patience_s: float | None = None,
    blocks: Blocks = "all",
    others: Others = "run",
    order: Order | None = None,
    seed: int = 0,
    waivers: bool = True,
) -> Tracer:
    """The kernel, to be launched and watched: `trace(kernel)[grid, block](*args)`.

    Args:
        kernel: what `@cuda.jit` returns, or the plain function.
        counts: whether to count requests, wavefronts and sectors.
        checks: whether to look for races, divergent barriers, reads of what nobody stored and
            indices out of range.
        patience_s: seconds after which the launch's loops are stopped, None to wait for ever.
        blocks: which blocks are watched: "all", "first", "last", "edges" (first, middle and last
            along each axis), a number of them spread over the grid, or a list of blocks. Totals
            are then estimates, and the trace says so.
        others: whether blocks that are not watched "run", so that results are whole, or are left
            out ("skip"), so that a few blocks of a large launch take a moment.
        order: how warps run between two barriers: together (None), one after the other with the
            last one first ("reversed"), or as drawn from `seed` ("random"), blocks likewise. A
            race may then also show as a wrong result, one in this order and another in that;
            without races nothing changes. "late" is "reversed" with asynchronous copies that land
            no sooner than their own thread waits for them; in all other orders they land at once.
        seed: of a random order.
        waivers: whether comments of the source may waive findings
            (`# smemnb: allow[kind] reason`, see `smemnb.tracing.waivers`).

    Raises:
        LaunchRefused: `kernel` is no kernel, `blocks` names none, or an unknown `order`.
    """
    try:
        check_choice(blocks, others)
        check_watching(counts, checks, waivers, patience_s)
        check_order(order, seed)
        watching = Watching(counts, checks, patience_s, blocks, others, order, seed, waivers)
        return Tracer(kernel, _python_function(kernel), watching)
    except SmemnbError as error:
        raise shortened(error) from error.__cause__


@dataclass(frozen=True)
class Watching:
    """How a launch is watched: what `trace` was given besides the kernel."""

    counts: bool = True
    checks: bool = True
    patience_s: float | None = None
    blocks: Blocks = "all"
    others: Others = "run"
    order: Order | None = None
    seed: int = 0
    waivers: bool = True


class Tracer:
    """A kernel that waits for its launch configuration, as a Numba kernel does."""

    def __init__(self, kernel: Any, function: FunctionType, watching: Watching) -> None:
        self._kernel, self._function, self._watching = kernel, function, watching

    def __getitem__(self, configuration: Any) -> Configured:
        """The kernel with grid, block, and if given stream and dynamic shared bytes.

        Raises:
            LaunchRefused: fewer than 2 or more than 4 entries.
        """
        name = self._function.__name__
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise LaunchRefused(
                f"trace({name})[{configuration!r}] lacks a launch: write trace({name})"
                "[grid, block](...), and stream and bytes of shared memory after them if needed"
            )
        grid, block, *rest = configuration
        return Configured(self, grid, block, *rest)

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Configured:
        """The kernel with enough blocks of `tpb` threads for `ntasks`, as `kernel.forall` has it.

        Where `tpb` is 0, a GPU's driver chooses the block; here it is that of a launch without one.

        Raises:
            LaunchRefused: `ntasks` is no number above 0, or `tpb` no size of a block.
        """
        from ..simulator.launch import forall_grid

        try:
            grid, block = forall_grid(self._kernel, ntasks, tpb)
            if grid == 0:
                raise LaunchRefused(f"{self._function.__name__}.forall(0) launches nothing")
        except SmemnbError as error:
            raise shortened(error) from error.__cause__
        return Configured(self, grid, block, stream, sharedmem)

    def __call__(self, *args: Any) -> Trace:
        """Refused: a kernel needs a launch configuration.

        Raises:
            LaunchRefused: always.
        """
        name = self._function.__name__
        raise LaunchRefused(f"{name} needs a launch: trace({name})[grid, block](...)")

    @property
    def kernel(self) -> tuple[str, tuple[str, ...]]:
        """Name and parameters of the kernel."""
        return self._function.__name__, tuple(inspect.signature(self._function).parameters)

    @property
    def function(self) -> FunctionType:
        """The kernel's Python function."""
        return self._function

    def __repr__(self) -> str:
        return f"trace({self._function.__name__}), to be launched with [grid, block](...)"

    def run(
        self, grid: Any, block: Any, stream: Any, shared_bytes: int, args: tuple[Any, ...]
    ) -> Trace:
        """The trace of one launch."""
        from ..simulator import launch
        from ..simulator.transfers import fresh_arguments
        from .watching import Watched

        how = self._watching
        names = tuple(inspect.signature(self._function).parameters)
        fresh = fresh_arguments(names, args) if how.blocks == "all" else ()
        seen = Watched(counts=how.counts, checks=how.checks, fresh=fresh)
        kept = keep(args)
        try:
            launch.run(
                self._kernel,
                grid,
                block,
                stream,
                shared_bytes,
                args,
                watchers=seen.all,
                patience_s=how.patience_s,
                segments=lambda grid: segments(grid, how.blocks, how.others),
                order=how.order,
                seed=how.seed,
            )
        except KernelStopped as error:
            seen.stopped()
            error.attach_trace(self._traced(seen, stopped=True))
            raise
        again = relaunch(self._kernel, args, kept)
        return replace(self._traced(seen), relaunch=again, barriers=seen.barriers)

    def _traced(self, seen: Watched, stopped: bool = False) -> Trace:
        """The trace of what the watchers have seen; `stopped` where the launch did not end."""
        from ..simulator import devices

        counts = seen.counts()
        untyped = (devices.WITHOUT_TYPES,) if devices.simulated_by_numba() else ()
        return trace_of(
            self._function,
            seen.launch.grid,
            seen.launch.block,
            (seen.launch.static_shared_bytes, seen.launch.shared_bytes),
            counts=counts,
            observations=seen.observations(counts),
            watched_blocks=seen.watched_blocks,
            limits=(*seen.limits(), *untyped),
            local_arrays=local_arrays(self._function, seen.launch.types),
            sites=seen.sites() if self._watching.waivers else None,
            ended=not stopped,
        )


class Configured:
    """A kernel with its launch configuration, as `kernel[grid, block]` is for Numba."""

    def __init__(
        self, tracer: Tracer, grid: Any, block: Any, stream: Any = 0, shared_bytes: int = 0
    ) -> None:
        self._tracer = tracer
        self._launch = (grid, block, stream, shared_bytes)

    @property
    def function(self) -> FunctionType:
        """The kernel's Python function."""
        return cast(FunctionType, self._tracer.function)

    def __call__(self, *args: Any, **named: Any) -> Trace:
        """The trace of this launch; arrays among the arguments are written as by the kernel."""
        from ..simulator.signatures import check_positional

        try:
            check_positional(self._tracer.function, named)
            return self._tracer.run(*self._launch, args)
        except (SmemnbError, KeyboardInterrupt) as error:
            raise shortened(error) from error.__cause__

    def __repr__(self) -> str:
        """What it waits for, as "add_one[8, 128], waiting for its arguments: (out, inp)"."""
        name, parameters = self._tracer.kernel
        grid, block, *_ = self._launch
        return f"{name}[{grid}, {block}], waiting for its arguments: ({', '.join(parameters)})"


def trace_of(
    kernel: FunctionType,
    grid: Dim3,
    block: Dim3,
    shared_bytes: tuple[int, int] = (0, 0),
    *,
    counts: Sequence[SiteCounts] | None = (),
    observations: Sequence[Observation] | None = (),
    watched_blocks: int | None = None,
    limits: tuple[str, ...] = (),
    local_arrays: tuple[LocalArray, ...] = (),
    sites: Iterable[Site] | None = (),
    ended: bool = True,
) -> Trace:
    """The trace that the watchers' records make; None where the watchers were left out.

    `shared_bytes` are the static and the dynamic ones of a block; `watched_blocks` is how many
    blocks the watchers saw, None for all; `limits` is what they did not examine; `local_arrays` are
    those of the source. `sites` are barriers and declarations that the launch came by, beside its
    accesses; None leaves the source's waivers unread. `ended` is False for a launch that stopped in
    the middle.
    """
    labels = _Labels(kernel)
    found = sorted(counts or (), key=lambda one: _order(one, labels))
    seen = _worth_saying(observations or ())
    rows = tuple(_row(one, labels) for one in found)
    blocks = math.prod(grid) if watched_blocks is None else watched_blocks

    def findings(of: Sequence[Observation]) -> tuple[Finding, ...]:
        return findings_of(kernel.__name__, block, labels.of, _source, of, calls)

    far = any("numba" in site.file for site in _sites(seen))  # perhaps a function of Numba's
    calls = calls_into_numba(kernel) if far else {}
    kept, waived = list(findings(seen)), list[Waived]()
    if sites is not None and observations is not None:
        met = [*(one.site for one in found), *_sites(seen), *sites]
        whole = counts is not None and blocks == math.prod(grid) and not limits and ended
        read = Waivers(met, labels.files, whole)
        kept, waived = read.settle(kept)
        kept = sorted([*kept, *findings(list(read.observations()))], key=in_order)
    return Trace(
        launch=LaunchInfo(
            kernel=kernel.__name__,
            grid=grid,
            block=block,
            static_shared_bytes=shared_bytes[0],
            dynamic_shared_bytes=shared_bytes[1],
            counted=counts is not None,
            checked=observations is not None,
            watched_blocks=blocks,
        ),
        lines=rows,
        findings=tuple(kept),
        waived=tuple(waived),
        files=labels.files,
        texts=labels.texts,
        limits=limits,
        local_arrays=local_arrays,
    )


def _sites(observations: Iterable[Observation]) -> Iterator[Site]:
    for one in observations:
        yield one.site
        if one.other is not None:
            yield one.other


def _worth_saying(observations: Sequence[Observation]) -> list[Observation]:
    """All but the notes on stores of equal values at lines that race in earnest anyway."""
    racing = {
        site
        for one in observations
        if one.kind in ("race", "lost_update", "race_in_warp", "race_between_blocks", "race_atomic")
        for site in (one.site, one.other)
    }
    return [
        one
        for one in observations
        if one.kind != "race_same_value" or not racing & {one.site, one.other}
    ]


class _Labels:
    """Names of functions in the report: two of one name from two files get different ones."""

    def __init__(self, kernel: FunctionType) -> None:
        self._kernel = kernel.__name__
        self._function = kernel
        self._given = {(kernel.__name__, kernel.__code__.co_filename): kernel.__name__}
        self._lines: dict[str, int] = {}

    def of(self, site: Site) -> str:
        key = (site.function, site.file)
        if key not in self._given:
            same = sum(name == site.function for name, _ in self._given)
            self._given[key] = f"{site.function} ({same + 1})" if same else site.function
            self._lines[self._given[key]] = site.line
        return self._given[key]

    @property
    def files(self) -> dict[str, str]:
        """The file of each function, by its name in the report."""
        return {label: file for (_, file), label in self._given.items()}

    @property
    def texts(self) -> dict[str, FunctionText]:
        """The text of each function, by its name in the report."""
        texts = {self._kernel: FunctionText.of_function(self._function)}
        for (name, file), label in self._given.items():
            if label != self._kernel:
                texts[label] = FunctionText.of(name, self._lines[label], file)
        return texts

    def is_kernel(self, site: Site) -> bool:
        return self.of(site) == self._kernel


def _order(one: SiteCounts, labels: _Labels) -> tuple[object, ...]:
    site = one.site
    in_kernel = labels.is_kernel(site)
    return (not in_kernel, labels.of(site), site.line, site.column, one.kind, one.array.name)


def _row(one: SiteCounts, labels: _Labels) -> AccessRow:
    return AccessRow(
        line=one.site.line,
        column=one.site.column,
        function=labels.of(one.site),
        source=_source(one.site),
        text=one.site.text,
        kind=one.kind,
        space=one.array.space,
        array=one.array.name,
        dtype=str(one.array.dtype),
        width=one.width,
        requests=one.requests,
        lanes=one.lanes,
        wavefronts=one.wavefronts,
        ideal=one.ideal,
        extra=one.extra,
        ways=one.ways,
        multicast=one.multicast,
        sectors=one.sectors,
        ideal_sectors=one.ideal_sectors,
        worst=one.worst,
        copy=one.copy,
        matrices=one.matrices,
    )


def _source(site: Site) -> str:
    """The source line of a site, or its expression where the file cannot be read any more."""
    return shown_line(site.file, site.line) or site.text


def _python_function(kernel: Any) -> FunctionType:
    """The Python function of a kernel: of a dispatcher, of Numba's simulator, or itself."""
    from ..simulator.launch import kernel_of

    if kernel is None:
        raise LaunchRefused(
            "None is no kernel. A launch returns None: if this one has run already, write "
            "trace(kernel)[grid, block](...) in its place"
        )
    if hasattr(kernel, "dispatcher"):
        raise LaunchRefused(
            "this is a kernel with its launch; trace wants the kernel alone: "
            "trace(kernel)[grid, block](...)"
        )
    return cast(FunctionType, kernel_of(kernel).function)
