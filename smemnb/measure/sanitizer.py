"""What compute-sanitizer's four tools say about a program, and about every rung of the ladders.

    python -m smemnb.measure.sanitizer --rungs

runs memcheck, racecheck, initcheck and synccheck over each rung, and over the kernels that the
operations choose, on a sweep of ragged shapes: a process per rung and tool, several at once. Only
the elements of the inputs are written before a launch, neither the result nor the gaps between
rows, so that initcheck sees every read beyond them. Values are compared in the same processes.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from ..errors import SmemnbError
from ..kernels.further import FURTHER
from .bench.case import CHOICE, ITEMSIZES, LADDERS, Case

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
AT_ONCE = 14

TRANSPOSES = (
    Case("transpose", (1, 1)),
    Case("transpose", (1, 70)),
    Case("transpose", (70, 1)),
    Case("transpose", (40, 35)),
    Case("transpose", (97, 3)),
    Case("transpose", (64, 128)),
    Case("transpose", (68, 132)),
    Case("transpose", (130, 257), spare=3),
    Case("transpose", (132, 260), spare=4),
)
PRODUCTS = (
    Case("matmul", (1, 1, 1)),
    Case("matmul", (17, 33, 5)),
    Case("matmul", (97, 3, 31)),
    Case("matmul", (128, 128, 16)),
    Case("matmul", (132, 260, 20)),
    Case("matmul", (129, 131, 17)),
    Case("matmul", (65, 130, 1)),
    Case("matmul", (136, 132, 12), spare=4),
    Case("matmul", (67, 129, 9), spare=3),
    Case("matmul", (256, 384, 24), spare=4),
)
LARGE = (
    Case("matmul", (1536, 1536, 24)),
    Case("matmul", (1537, 1539, 9)),
    Case("matmul", (1536, 1536, 136)),
    Case("matmul", (2310, 2190, 131)),
    Case("matmul", (64, 128, 64)),
)
"""Results with more tiles than multiprocessors, so that the choice takes its large tiles; depths at
which blocks share some, in one round and beside whole ones; a depth that is cut within a block."""


FURTHER_CASES: dict[str, tuple[Case, ...]] = {
    "transpose": (
        *TRANSPOSES,
        Case("transpose", (131, 517)),
        Case("transpose", (300, 253), spare=3),
    ),
    "matmul": (Case("matmul", (64, 64, 32)), Case("matmul", (128, 192, 96), spare=4)),
}
"""Of kernels that only large or whole shapes choose: tiles inside, too."""


@dataclass(frozen=True)
class Unit:
    """What one process launches: a rung, one of `FURTHER`, or the choice, on some cases."""

    name: str
    cases: tuple[Case, ...]
    further: bool = False

    @property
    def words(self) -> str:
        """As the table calls it."""
        first = self.cases[0]
        if self.name != CHOICE:
            return self.name + (f", {first.itemsize}-byte elements" if self.further else "")
        if first.operation == "transpose":
            return f"{CHOICE} transpose, {first.itemsize}-byte elements"
        return f"{CHOICE} matmul {'x'.join(map(str, first.shape))}, {first.spare} spare"


def findings(command: Sequence[str], tool: str) -> int:
    """How many errors and hazards one tool reports for a program.

    Raises:
        SmemnbError: compute-sanitizer is missing, or ended without a summary, or the program
            failed by itself.
    """
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None:
        raise SmemnbError("`compute-sanitizer` is not on the PATH; it comes with the CUDA toolkit")
    done = subprocess.run(
        [sanitizer, "--tool", tool, *command], capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    count, last = summary(said), (said.strip().splitlines() or ["no output"])[-1]
    if count is None:
        raise SmemnbError(f"compute-sanitizer {tool} ended without a summary: {last}")
    if count == 0 and done.returncode:
        reason = (done.stderr.strip().splitlines() or [last])[-1]
        raise SmemnbError(f"under {tool} the program failed by itself: {reason}")
    return count


def summary(said: str) -> int | None:
    """The number of findings in compute-sanitizer's last line; None if it is not there.

    >>> summary("========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)")
    2
    """
    found = re.search(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)", said)
    return None if found is None else int(found.group(1))


def units() -> tuple[Unit, ...]:
    """Every rung with its operation's sweep, and the choice: by element size, by shape."""
    found = []
    for operation, cases in (("transpose", TRANSPOSES), ("matmul", PRODUCTS)):
        found += [Unit(name, cases) for name in LADDERS[operation]]
    for (operation, size), rungs in FURTHER.items():
        sized = tuple(replace(case, itemsize=size) for case in FURTHER_CASES[operation])
        found += [Unit(rung.name, sized, further=True) for rung in rungs]
    for size in ITEMSIZES:
        found.append(Unit(CHOICE, tuple(replace(case, itemsize=size) for case in TRANSPOSES)))
    found += [Unit(CHOICE, (case,)) for case in PRODUCTS + LARGE]
    return tuple(found)


def launched(unit: Unit) -> Iterator[str]:
    """Launch a unit's cases on this process's device; a line for each, WRONG where values are.

    A case that the rung does not take (rows that begin elsewhere) is said to be left out.
    """
    from .bench import contenders
    from .bench.device import Judge

    for case in unit.cases:
        held = _bare(case)
        words = f"{unit.name} {case}"
        try:
            made = contenders.launch(case, unit.name, held.arrays)
        except SmemnbError as error:
            yield f"left out: {error}"
            continue
        made.starter()()
        judge = Judge(case, held)
        if case.operation == "transpose":
            right = judge.wrong_elements(held.out) == 0
        else:
            right = judge.error(held.out) < 1e-5
        yield f"{'right' if right else 'WRONG'}: {words}"


def _bare(case: Case) -> Any:
    """Matrices of a case of which only the inputs' elements were ever written."""
    from .bench.device import Matrices, placed

    out, *inputs = placed(case)
    return Matrices(out, tuple(inputs), (), ())


def examined(
    wanted: Sequence[Unit],
    tools: Sequence[str],
    processes: int,
    look: Callable[[Sequence[str], str], int] = findings,
) -> Iterator[tuple[Unit, dict[str, int | str]]]:
    """Of each unit, tool by tool, the number of findings, or in words why there is none."""
    numbers = {unit: number for number, unit in enumerate(units())}

    def one(unit: Unit, tool: str) -> int | str:
        command = [sys.executable, "-m", "smemnb.measure.sanitizer", "--launch"]
        try:
            return look([*command, str(numbers[unit])], tool)
        except SmemnbError as error:
            return str(error)

    with ThreadPoolExecutor(processes) as pool:
        coming = [(unit, {tool: pool.submit(one, unit, tool) for tool in tools}) for unit in wanted]
        for unit, answers in coming:
            yield unit, {tool: answer.result() for tool, answer in answers.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Examine the rungs and print a table; 0 without a finding, 1 with one or a failure."""
    parser = argparse.ArgumentParser(prog="python -m smemnb.measure.sanitizer")
    parser.add_argument("--rungs", action="store_true", help="examine all rungs and choices")
    parser.add_argument("--only", default="", help="those whose name holds this text")
    parser.add_argument("--tools", default=",".join(TOOLS), help="with commas")
    parser.add_argument("--processes", type=int, default=min(AT_ONCE, os.cpu_count() or 1))
    parser.add_argument("--launch", type=int, metavar="N", help="launch one, without a tool")
    options = parser.parse_args(argv)
    if options.launch is not None:
        return _launch(units()[options.launch])
    tools = options.tools.split(",")
    wanted = [unit for unit in units() if options.only in unit.words]
    if not options.rungs or not wanted or not set(tools) <= set(TOOLS):
        parser.error(f"say --rungs; --only names a part of a rung; tools are {', '.join(TOOLS)}")
    bad = 0
    print(f"{'':<44}" + "".join(f"{tool:>11}" for tool in tools), flush=True)
    for unit, answers in examined(wanted, tools, options.processes):
        cells = [str(found) if isinstance(found, int) else "failed" for found in answers.values()]
        print(f"{unit.words:<44}" + "".join(f"{cell:>11}" for cell in cells), flush=True)
        for tool, found in answers.items():
            bad += found != 0
            if isinstance(found, str):
                print(f"    {tool}: {found}", flush=True)
    print(f"{len(wanted)} examined, {bad} with findings or failures")
    return int(bad > 0)


def _launch(unit: Unit) -> int:
    wrong = 0
    for line in launched(unit):
        print(line)
        wrong += line.startswith("WRONG")
    if wrong:
        print(f"{wrong} wrong results", file=sys.stderr)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
