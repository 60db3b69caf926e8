"""The hooks and the fixture of the pytest plugin.

What a test traced travels to the end of the session on its report (`report.smemnb`, plain
strings), so that it survives worker processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ..errors import LaunchRefused, SmemnbError
from ..tracing import Finding, Trace, trace
from ..tracing.report import github, sarif
from ..tracing.report.places import PlacedFinding, from_root, placed_findings
from ..tracing.waivers import Allowed, check_allowed, unused
from .budget import Budget, failing

NOTHING: Allowed = {}
Fails = Callable[[Sequence[Finding]], list[Finding]]
"""Which findings of a trace fail its test."""
Seen = Callable[[Trace, Allowed], None]
"""Takes a trace, and what was allowed for it."""
_SEEN = pytest.StashKey[list[PlacedFinding]]()
_NEEDED = pytest.StashKey[dict[str, bool]]()
_TRACED = pytest.StashKey["KernelTrace"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The plugin's options."""
    group = parser.getgroup("smemnb", "traces of numba.cuda kernels")
    group.addoption(
        "--smemnb",
        action="store_true",
        help="trace every kernel launch; errors and warnings fail the test that launched it",
    )
    group.addoption(
        "--smemnb-allow",
        metavar="KIND[@PLACE]: REASON",
        action="append",
        default=[],
        help="findings that --smemnb lets pass, and why: of a kind, or only of those at a line's"
        " number, in a part of its source, or in a function (may be given several times)",
    )
    group.addoption(
        "--smemnb-prices",
        action="store_true",
        help="--smemnb fails tests also for what only costs time, such as uncoalesced accesses",
    )
    group.addoption("--smemnb-sarif", metavar="FILE", help="store all findings as SARIF 2.1.0")
    group.addoption(
        "--smemnb-annotations",
        choices=["auto", "always", "never"],
        default="auto",
        help="print findings as GitHub annotations (auto: under GitHub Actions)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Gather findings; refuse --smemnb where launches go to a GPU."""
    config.pluginmanager.register(Gathered(), "smemnb-gathered")
    try:
        allowed(config.getoption("smemnb_allow"))
    except SmemnbError as error:
        raise pytest.UsageError(f"--smemnb-allow: {error}") from None
    if config.getoption("smemnb"):
        from ..simulator import devices

        if devices.device() != "lockstep":
            simulated = devices.simulated_by_numba()
            cure = "Unset NUMBA_ENABLE_CUDASIM" if simulated else "Set SMEMNB_DEVICE=lockstep"
            raise pytest.UsageError(
                f"--smemnb watches launches in the lockstep engine; here they go to"
                f" {devices.device()}. {cure}"
            )


class KernelTrace:
    """`kernel_trace(kernel, **budget)[grid, block](*args)`: a trace that has to keep a budget."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._made: list[Budgeted] = []

    def __call__(
        self,
        kernel: Any = ...,
        *,
        allow: Allowed = NOTHING,
        severity: str | None = "warning",
        prices: bool = False,
        watching: dict[str, Any] | None = None,
        **budget: int | None,
    ) -> Budgeted:
        """The kernel, to be launched with `[grid, block](*args)`.

        Args:
            kernel: what `@cuda.jit` returns, or the plain function.
            allow: findings that may be there, with their reasons: {kind: reason}, or
                {(kind, place): reason} for a line's number, a part of its source, or the name of a
                function. They are listed with those that the source waives.
            severity: findings of this severity or worse fail the test; None for none.
            prices: whether findings that only cost something fail it too.
            watching: more for `smemnb.trace`, such as {"blocks": "edges"}.
            budget: the most of `wavefronts`, `extra`, `ways`, `sectors`, `extra_sectors`,
                `shared_bytes` (see `Budget`).

        Raises:
            SmemnbError: an unknown budget or severity, something allowed without a reason, or
                `kernel` is none or left out.
        """
        if kernel is ...:
            given = ", ".join(["kernel", *(f"{unit}={most}" for unit, most in budget.items())])
            raise SmemnbError(
                f"the kernel comes first: write kernel_trace({given})[grid, block](...)"
            )
        unknown = sorted(set(budget) - set(Budget.__dataclass_fields__))
        if unknown:
            known = ", ".join(Budget.__dataclass_fields__)
            raise SmemnbError(f"there is no budget for {unknown[0]!r}; there are: {known}")
        failing((), severity)
        check_allowed(allow)
        tracer = trace(kernel, **(watching or {}))
        fails = partial(failing, severity=severity, prices=prices)
        made = Budgeted(tracer, Budget(**budget), fails, self._seen, allow)
        self._made.append(made)
        return made

    def forgotten(self) -> list[str]:
        """A sentence for each kernel that was handed over and not launched."""
        return [
            f"{made.name} was never launched, so nothing was traced: write {made.call}"
            for made in self._made
            if not made.launched
        ]


class Budgeted:
    """A kernel that waits for its launch, and what the launch may cost."""

    def __init__(
        self,
        tracer: Any,
        budget: Budget,
        fails: Fails,
        seen: Seen,
        allow: Allowed,
    ) -> None:
        self._tracer, self._budget, self._fails, self._seen = tracer, budget, fails, seen
        self._allow = allow
        self.launched = False
        """Whether a launch was tried; one that was refused has said so."""

    @property
    def name(self) -> str:
        """The kernel's name."""
        name: str = self._tracer.kernel[0]
        return name

    @property
    def call(self) -> str:
        """What to write: `kernel_trace(scale, extra=0)[grid, block](out, inp)`."""
        name, parameters = self._tracer.kernel
        asked = asdict(self._budget).items()
        given = [name, *(f"{unit}={most}" for unit, most in asked if most is not None)]
        return f"kernel_trace({', '.join(given)})[grid, block]({', '.join(parameters)})"

    def __call__(self, *args: Any) -> Trace:
        """Refused: a kernel needs a launch configuration.

        Raises:
            LaunchRefused: always.
        """
        self.launched = True
        raise LaunchRefused(f"{self.name} needs a launch: {self.call}")

    def __getitem__(self, configuration: Any) -> Callable[..., Trace]:
        """The launch: call it with the kernel's arguments and get its trace."""
        try:
            configured = self._tracer[configuration]
        except SmemnbError:
            self.launched = True
            raise

        def launch(*args: Any, **named: Any) -> Trace:
            __tracebackhide__ = True
            self.launched = True
            report: Trace = configured(*args, **named).waive(self._allow)
            self._seen(report, self._allow)
            said = complaint(report, self._budget, self._fails)
            if said:
                pytest.fail(said, pytrace=False)
            return report

        return launch


def complaint(report: Trace, budget: Budget, fails: Fails) -> str:
    """Why a trace does not pass, with source lines and the whole report; "" if it does."""
    over, bad = list(budget.excess(report)), fails(report.findings)
    if not over and not bad:
        return ""
    head = "over its budget" if over else "findings that fail the test"
    file = report.files.get(report.launch.kernel, "")
    parts = [f"{report.launch}: {head} (model)", *([f"in {file}"] if file else [])]
    parts += [f"  {line}" for line in over]
    for found in bad:
        parts += [f"  {line}" for line in str(found).splitlines()]
        lines = {found.line: found.source, found.other_line: found.other_source}
        parts += [f"    line {line}: {source}" for line, source in lines.items() if line]
    return "\n".join([*parts, "", repr(report)])


@pytest.fixture
def kernel_trace(request: pytest.FixtureRequest) -> KernelTrace:
    """Trace a kernel and hold it to a budget: `kernel_trace(kernel, extra=0)[grid, block](...)`."""
    traced = KernelTrace(_collector(request.node))
    request.node.stash[_TRACED] = traced
    return traced


def _collector(item: Any) -> Seen:
    kept: list[PlacedFinding] = item.stash.setdefault(_SEEN, [])
    needed: dict[str, bool] = item.stash.setdefault(_NEEDED, {})

    def seen(report: Trace, allow: Allowed) -> None:
        kept.extend(one for one in placed_findings(report) if one not in kept)
        left = unused(allow, report.waived, report.launch.kernel)
        for key in map(repr, allow):
            said = f"{key} of {report.launch.kernel}"
            needed[said] = needed.get(said, False) or key not in left

    return seen


def allowed(texts: Iterable[str]) -> dict[str | tuple[str, int | str], str]:
    """What `--smemnb-allow` was given, as `Trace.waive` wants it.

    >>> allowed(["race: benign", "uncoalesced@14: small"])
    {'race': 'benign', ('uncoalesced', 14): 'small'}

    Raises:
        SmemnbError: a text without a reason, or an unknown kind.
    """
    found: dict[str | tuple[str, int | str], str] = {}
    for text in texts:
        what, _, reason = text.partition(": ")
        kind, at, place = what.rstrip(": ").partition("@")
        where = int(place) if place.isdecimal() else place
        found[(kind, where) if at else kind] = reason
    check_allowed(found)
    return found


@contextmanager
def watched_launches(seen: Callable[[Trace], None]) -> Iterator[None]:
    """Every launch of this process is traced while this holds, and its trace handed over."""
    from ..simulator import plug

    plain = plug.ConfiguredKernel.__call__

    def traced(self: Any, *args: Any) -> None:
        seen(
            trace(self.dispatcher)[self.griddim, self.blockdim, self.stream, self.sharedmem](*args)
        )

    plug.ConfiguredKernel.__call__ = traced  # type: ignore[method-assign]
    try:
        yield
    finally:
        plug.ConfiguredKernel.__call__ = plain  # type: ignore[method-assign]


def _watched(item: pytest.Item) -> Generator[None, Any, Any]:
    """A phase of a test with its launches watched; it fails for their findings."""
    if not item.config.getoption("smemnb"):
        return (yield)
    options = item.config.getoption
    allow = allowed(options("smemnb_allow"))
    reports: list[Trace] = []
    with watched_launches(lambda report: reports.append(report.waive(allow))):
        try:
            result = yield
        finally:
            collect = _collector(item)
            for report in reports:
                collect(report, NOTHING)
    fails = partial(failing, severity="warning", prices=options("smemnb_prices"))
    said = [complaint(report, Budget(), fails) for report in reports]
    if any(said):
        pytest.fail("\n\n".join(dict.fromkeys(filter(None, said))), pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """With --smemnb: fixtures run with their launches watched."""
    return (yield from _watched(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test that has a kernel traced and never launches it.

    With --smemnb: the test runs with its launches watched.
    """
    result = yield from _watched(item)
    traced = item.stash.get(_TRACED, None)
    forgotten = traced.forgotten() if traced is not None else []
    if forgotten:
        pytest.fail("\n".join(forgotten), pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    """Put what the test traced on its report."""
    report = yield
    if call.when == "teardown":
        report.smemnb = [one.to_json() for one in item.stash.get(_SEEN, [])]
        needed = item.stash.get(_NEEDED, {})
        report.smemnb_unused = [
            f"allowed, not found: {key} in {item.nodeid}" for key in needed if not needed[key]
        ]
    return report


def _waived(one: PlacedFinding, root: Path) -> str:
    """A waived finding in one line: file, line, severity, kind, reason."""
    found = one.finding
    file = (from_root(one.file, root) or one.file) if one.file else found.function
    kind = found.kind.replace("_", " ")
    return f"waived: {file}:{found.line}: {found.severity}, {kind}: {one.waived}"


class Gathered:
    """The findings of all tests, those of worker processes too, until the session ends."""

    def __init__(self) -> None:
        self._reported: dict[str, PlacedFinding] = {}
        self._unused: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep what a test's report carries."""
        for stored in getattr(report, "smemnb", ()):
            self._reported.setdefault(stored, PlacedFinding.from_json(stored))

        self._unused += getattr(report, "smemnb_unused", ())

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        """List what is waived, store the SARIF file, print the annotations."""
        found, root = list(self._reported.values()), Path(config.rootpath)
        target = config.getoption("smemnb_sarif")
        if target:
            Path(target).write_text(sarif.sarif(found, root), encoding="utf-8")
            terminalreporter.write_line(f"smemnb: {len(found)} findings in {target}")
        waived = sorted({_waived(one, root) for one in found if one.waived})
        for line in [*waived, *sorted(set(self._unused))]:
            terminalreporter.write_line(f"smemnb: {line}")
        asked = config.getoption("smemnb_annotations")
        if asked == "always" or (asked == "auto" and os.environ.get("GITHUB_ACTIONS") == "true"):
            for line in github.commands(found, root):
                terminalreporter.write_line(line)
