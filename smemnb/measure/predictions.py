"""Predicted times of both ladders beside their recorded ones: how far the model is off.

    python -m smemnb.measure.predictions [--only WORD] [--quick] [--out FILE.json]

Needs NVIDIA's compiler libraries, no GPU. Recorded times are those of `BENCHES`, issue and stall
reasons those of `h200_ladder_stalls.json`. No constant of the model was fitted to any of them.

A product runs one tile of its result at two depths; the time grows by as much with each further
step. A transpose runs blocks of a smaller matrix, as many as the recorded one has.

The comparison that comes with the package is of edges 4096 and 16384 and was made with `--quick`:
every rung is predicted once, its range is the model's own error, and no cause is withheld.

**Limits**: the file that ships was put together from the rows that three runs of this command
printed (times of three decimals, ranges of 15 % to either side), not by `--out`. Stall reasons
were recorded at half of the edge (2048, 8192) and are predicted at the size whose time is recorded.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..compiled.lines import Build, built
from ..compiled.toolchain import types_of
from ..compiled.warps.parameters import Snapshot
from ..compiled.warps.run import CodeLaunch
from ..errors import SmemnbError
from ..hardware import limits
from ..kernels.matmul.ladder import LADDER as PRODUCTS
from ..kernels.rung import Rung
from ..kernels.transpose.ladder import LADDER as TRANSPOSES
from .rows import head
from .rows import row as row_of
from .stalls import IDLE, ladder

if TYPE_CHECKING:
    from ..tracing.timing import Prediction

__all__ = ["Row", "errors", "predicted_product", "predicted_transpose", "rows", "table"]

CC: Final = (9, 0)
DEPTHS: Final = (256, 512)
EDGE: Final = 2048
BENCHES: Final = ("h200_bench.json", "h200_ladder_2048.json")
SHIPPED: Final = "predicted_ladders.json"
NEAR: Final = 0.05
"""Steps of the ladder below this are too small to have a sign."""


@dataclass(frozen=True)
class Row:
    """One rung, predicted and recorded.

    Attributes:
        operation: "matmul" or "transpose".
        size: edge of the matrices.
        ms, low_ms, high_ms: predicted.
        measured_ms: recorded.
        issue, measured_issue: share of cycles in which a scheduler issues; None if not recorded.
        cause, measured_cause: the largest reason; "" if withheld, None if not recorded.
        largest: the largest reason of the model, also where it is withheld.
    """

    name: str
    operation: str
    size: int
    ms: float
    low_ms: float
    high_ms: float
    measured_ms: float
    issue: float
    measured_issue: float | None
    cause: str
    largest: str
    measured_cause: str | None

    @property
    def error(self) -> float:
        """Predicted over recorded, less 1."""
        return self.ms / self.measured_ms - 1


@dataclass(frozen=True)
class Errors:
    """How far predictions are off.

    Attributes:
        count: of rungs.
        mean, worst: of the relative errors without their signs.
        ranks: correlation of ranks (Spearman).
        steps, right: neighbouring rungs whose times differ by 5 % or more, and those predicted with
            the right sign.
        inside: rungs whose recorded time lies in the predicted range.
        issues, near: rungs with a recorded share of issuing cycles, and those within 0.1.
        causes, same, withheld: rungs with recorded reasons, those whose largest is the model's
            largest, and those for which the model withholds it.
    """

    count: int
    mean: float
    worst: float
    ranks: float
    steps: int
    right: int
    inside: int
    issues: int
    near: int
    causes: int
    same: int
    withheld: int


@cache
def recorded_ms() -> dict[tuple[str, int], float]:
    """(rung, edge) -> recorded milliseconds, of square float32 matrices."""
    found = {}
    for name in BENCHES:
        text = (files("smemnb.measure.recorded") / name).read_text(encoding="utf-8")
        for row in json.loads(text)["rows"]:
            square = len(set(row["shape"])) == 1 and row["itemsize"] == 4 and not row["spare"]
            if row["role"] == "rung" and square and row["ms"]:
                found[row["kernel"], row["shape"][0]] = row["ms"]
    return found


def predicted_product(rung: Rung, size: int, *, quick: bool = False) -> Prediction:
    """The time of a square product of this edge.

    Raises:
        SmemnbError: the rung is not modelled, or the compiler libraries are missing.
    """
    from ..tracing.timing.prediction import whole_launch

    high, wide = rung.tile
    blocks = (size // high) * (size // wide)
    found = []
    for depth in DEPTHS:
        a = np.ones((high, depth), np.float32)
        b, out = np.ones((depth, size), np.float32), np.zeros((high, size), np.float32)
        scales = (np.float32(1), np.float32(0)) if rung.scaled else ()
        build, launch = _launch(rung, (out, a, b, *scales))
        begins = [start for start, _ in launch.args.extents()]
        arrays = [(start, 4 * size * size) for start in begins]
        fits, made = _streams(build, launch, [0], blocks * size / depth, arrays)
        grid, last = rung.grid(size, size), depth == DEPTHS[-1] and not quick
        found.append(
            whole_launch(
                build, made[0], made[1], fits, rung.name, grid, rung.block, blocks, doubting=last
            )
        )
    return _deeper(found[0], found[1], size)


def predicted_transpose(rung: Rung, size: int, *, quick: bool = False) -> Prediction:
    """The time of a transpose of a square float32 matrix of this edge.

    Raises:
        SmemnbError: as `predicted_product`.
    """
    from ..tracing.timing.prediction import whole_launch
    from ..tracing.timing.streams import sampled

    inp, out = np.ones((EDGE, EDGE), np.float32), np.zeros((EDGE, EDGE), np.float32)
    build, launch = _launch(rung, (out, inp), rung.grid(EDGE, EDGE))
    grid = rung.grid(size, size)
    blocks = grid[0] * grid[1]
    arrays = [(start, 4 * size * size) for start, _ in launch.args.extents()]
    few = rung.grid(EDGE, EDGE)
    chosen = sampled(few[0] * few[1])[:3]
    fits, (made, known) = _streams(build, launch, chosen, blocks, arrays)
    return whole_launch(
        build, made, known, fits, rung.name, grid, rung.block, blocks, doubting=not quick
    )


def _launch(
    rung: Rung, arguments: tuple[Any, ...], grid: tuple[int, int] = (1, 1)
) -> tuple[Build, CodeLaunch]:
    build = _built(rung.name, len(arguments))
    types = types_of(arguments)
    kept = Snapshot(arguments)
    return build, CodeLaunch(build.elf, (*grid, 1), (*rung.block, 1), 0, kept, types)


@cache
def _built(name: str, arguments: int) -> Build:
    rung = next(one for one in (*PRODUCTS, *TRANSPOSES) if one.name == name)
    matrices = 3 if rung in PRODUCTS else 2
    types = ["float32[:, ::1]"] * matrices + ["float32"] * (arguments - matrices)
    return built(rung.kernel, f"void({', '.join(types)})", CC)


def _streams(
    build: Build,
    launch: CodeLaunch,
    chosen: Sequence[int],
    times: float,
    arrays: list[tuple[int, int]],
) -> tuple[Any, tuple[Any, Any]]:
    from ..tracing.timing.machine import machine
    from ..tracing.timing.prediction import fits_of
    from ..tracing.timing.streams import streams

    fits = fits_of(build, launch)
    l1 = (limits(CC).l1_and_shared_per_sm - fits.carveout) // fits.blocks
    made = streams(build, launch, l1, chosen=chosen, times=times, arrays=arrays)
    return fits, (made, machine("H200"))


def _deeper(shallow: Prediction, deep: Prediction, size: int) -> Prediction:
    """A prediction at the whole depth, from those at the two of `DEPTHS`."""
    first, second = DEPTHS
    further = (size - second) / (second - first)

    def reached(one: float, two: float) -> float:
        return two + (two - one) * further

    cycles = reached(shallow.cycles, deep.cycles)
    issued = reached(shallow.issue * shallow.cycles, deep.issue * deep.cycles)
    waits = {
        name: reached(
            shallow.waits.get(name, 0) * shallow.issue * shallow.cycles,
            deep.waits[name] * deep.issue * deep.cycles,
        )
        / issued
        for name in deep.waits
    }
    longer = cycles / deep.cycles
    return replace(
        deep,
        cycles=cycles,
        issue=issued / cycles,
        waits=waits,
        ms=deep.ms * longer,
        low_ms=deep.low_ms * longer,
        high_ms=deep.high_ms * longer,
        doubts={name: each * longer for name, each in deep.doubts.items()},
    )


def rows(
    only: str = "", say: Callable[[str], None] = lambda line: None, *, quick: bool = False
) -> list[Row]:
    """All rungs whose time is recorded, predicted; `quick` without the model's doubts."""
    found = []
    for operation, rungs, predict in (
        ("matmul", PRODUCTS, predicted_product),
        ("transpose", TRANSPOSES, predicted_transpose),
    ):
        edges = sorted({edge for name, edge in recorded_ms() for one in rungs if name == one.name})
        for size, rung in product(edges, rungs):
            if (rung.name, size) not in recorded_ms() or only not in rung.name:
                continue
            try:
                found.append(_row(operation, rung, size, predict(rung, size, quick=quick)))
            except SmemnbError as error:
                say(f"{rung.name}: {error}")
                continue
            say(shown(found[-1]))
    return found


def _row(operation: str, rung: Rung, size: int, one: Prediction) -> Row:
    waits = ladder().get(rung.name)
    standing = {name: each for name, each in one.waits.items() if name not in IDLE}
    return Row(
        name=rung.name,
        operation=operation,
        size=size,
        ms=one.ms,
        low_ms=one.low_ms,
        high_ms=one.high_ms,
        measured_ms=recorded_ms()[rung.name, size],
        issue=one.issue,
        measured_issue=waits.issue if waits else None,
        cause=one.causes[0] if one.causes else "",
        largest=max(standing, key=lambda name: standing[name], default=""),
        measured_cause=waits.largest[0][0] if waits else None,
    )


def errors(found: Sequence[Row]) -> Errors:
    """How far these rows are off.

    Raises:
        SmemnbError: there are none.
    """
    if not found:
        raise SmemnbError("no rung whose time is recorded was predicted")
    off = [abs(row.error) for row in found]
    steps = [
        (after.ms / before.ms, after.measured_ms / before.measured_ms)
        for before, after in pairwise(found)
        if (before.operation, before.size) == (after.operation, after.size)
        and abs(after.measured_ms / before.measured_ms - 1) >= NEAR
    ]
    issues = [row for row in found if row.measured_issue is not None]
    causes = [row for row in found if row.measured_cause is not None]
    return Errors(
        count=len(found),
        mean=statistics.fmean(off),
        worst=max(off),
        ranks=_ranks([row.ms for row in found], [row.measured_ms for row in found]),
        steps=len(steps),
        right=sum((one > 1) == (two > 1) for one, two in steps),
        inside=sum(row.low_ms <= row.measured_ms <= row.high_ms for row in found),
        issues=len(issues),
        near=sum(abs(row.issue - float(row.measured_issue or 0)) <= 0.1 for row in issues),
        causes=len(causes),
        same=sum(row.largest == row.measured_cause for row in causes),
        withheld=sum(not row.cause for row in causes),
    )


def _ranks(one: Sequence[float], two: Sequence[float]) -> float:
    if len(one) < 2:
        return 1.0
    first, second = (np.argsort(np.argsort(each)) for each in (one, two))
    return float(np.corrcoef(first, second)[0, 1])


def shown(one: Row) -> str:
    """A row as a line of text."""
    issue = "" if one.measured_issue is None else f"{one.measured_issue:.2f}"
    return row_of(
        f"{one.name:22}",
        f"{one.size:>6}",
        f"{one.ms:>9.3f}",
        f"{one.measured_ms:>9.3f}",
        f"{one.error:>+8.1%}",
        f"{one.issue:>7.2f}",
        f"{issue:>5}",
        f"  {one.cause or one.largest + ' (withheld)'} / {one.measured_cause or 'not recorded'}",
    )


def table(found: Iterable[Row]) -> str:
    """All rows, and the errors of each ladder."""
    return "\n".join(table_lines(found))


def table_lines(found: Iterable[Row]) -> list[str]:
    """The lines of `table`, of which a terminal makes a table."""
    kept = list(found)
    names = f"{'rung':22}", f"{'edge':>6}", f"{'model':>9}", f"{'H200':>9}", f"{'error':>8}"
    lines: list[str] = [
        head(*names, f"{'issue':>7}", f"{'H200':>5}", "  largest wait: model / H200"),
        *map(shown, kept),
    ]
    for operation, size in dict.fromkeys((each.operation, each.size) for each in kept):
        one = errors([each for each in kept if (each.operation, each.size) == (operation, size)])
        lines.append(
            f"{operation} {size}: {one.count} rungs, mean error {one.mean:.1%},"
            f" worst {one.worst:.1%}, ranks {one.ranks:.3f}, steps {one.right} of {one.steps},"
            f" in range {one.inside}, issue within 0.1 {one.near} of {one.issues},"
            f" largest wait {one.same} of {one.causes} ({one.withheld} withheld)"
        )
    return lines


def load() -> list[Row]:
    """The comparison that comes with the package."""
    text = (files("smemnb.measure.recorded") / SHIPPED).read_text(encoding="utf-8")
    return [Row(**row) for row in json.loads(text)["rows"]]


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m smemnb.measure.predictions")
    parser.add_argument("--only", default="", help="rungs whose name holds this word")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="once each: the range is the model's own error, and no cause is withheld",
    )
    parser.add_argument("--shipped", action="store_true", help="show what comes with the package")
    parser.add_argument("--out", type=Path, help="where to write the rows")
    options = parser.parse_args(argv)
    found = load() if options.shipped else rows(options.only, _say, quick=options.quick)
    print(table(found))
    if options.out:
        whole = {
            "command": "python -m smemnb.measure.predictions"
            + (" --quick" if options.quick else "")
            + " --out FILE",
            "numbers": "model beside measured (NVIDIA H200)",
            "rows": [
                {
                    key: round(value, 4) if isinstance(value, float) else value
                    for key, value in asdict(row).items()
                }
                for row in found
            ],
        }
        options.out.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
