"""The command that runs many programs; `python -m tests.oracle.programs --help`."""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import multiprocessing
import sys
import time
from pathlib import Path
from typing import Any

from . import chunks as work

CHUNK = 20
GROUP = 40  # chunks per process


class _Totals:
    """What is shown at the end, and kept between runs."""

    def __init__(self) -> None:
        self.count: collections.Counter[str] = collections.Counter()
        self.refusals: collections.Counter[str] = collections.Counter()
        self.differing: list[tuple[int, str]] = []
        self.optimised: list[tuple[int, str]] = []

    def add(self, verdicts: list[dict[str, Any]]) -> None:
        for verdict in verdicts:
            if verdict["refused"]:
                self.count["refused"] += 1
                self.refusals[verdict["refused"][:100]] += 1
                continue
            self.count["programs"] += 1
            for name in ("types", "exact", "rough", "undefined", "several"):
                self.count[name] += verdict[name]
            if verdict.get("optimised"):
                self.optimised.append((verdict["seed"], verdict["optimised"][0]))
            said = verdict["differences"] or verdict.get("optimised")
            if said:
                print(f"  seed {verdict['seed']}: {said[0]}", file=sys.stderr, flush=True)
            if verdict["differences"]:
                self.count["differing"] += 1
                self.differing.append((verdict["seed"], verdict["differences"][0]))

    def line(self) -> str:
        c = self.count
        return (
            f"{c['programs']:,} programs, {c['differing']} differ, {len(self.optimised)} more when "
            f"optimised; {c['types']:,} types and "
            f"{c['exact']:,} outputs equal bit by bit, {c['rough']:,} within a few ulp; "
            f"{c['several']:,} with variables of several types; "
            f"{c['undefined']:,} threads left out (undefined in C); "
            f"{c['refused']:,} refused by Numba"
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.programs", description=__doc__)
    parser.add_argument("--seeds", default="0:200", help="FIRST:LAST (without LAST) or one seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--gpu", action="store_true", help="compare with a real GPU")
    parser.add_argument("--state", help="a file of chunks done, to go on after a stop")
    parser.add_argument("--show", type=int, default=20, help="differing programs to name")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many minutes")
    parser.add_argument("--no-shrink", action="store_true", help="print the difference as it is")
    return parser.parse_args()


def main() -> int:
    options = _arguments()
    first, _, last = options.seeds.partition(":")
    chunks = [
        (at, min(at + CHUNK, int(last or int(first) + 1)))
        for at in range(int(first), int(last or int(first) + 1), CHUNK)
    ]
    totals, done, state = _Totals(), set(), Path(options.state) if options.state else None
    if state and state.exists():
        for line in state.read_text().splitlines():
            chunk, verdicts = json.loads(line)
            done.add(tuple(chunk))
            totals.add(verdicts)
    _run([c for c in chunks if c not in done], options, totals, state)
    for text, count in totals.refusals.most_common(options.show if options.show > 20 else 0):
        print(f"  refused {count}: {text}")
    for seed, text in sorted(totals.differing)[: options.show]:
        print(f"  seed {seed}: {text}")
    for seed, text in sorted(totals.optimised)[: options.show]:
        print(f"  seed {seed}, when optimised: {text}")
    if totals.differing and not options.no_shrink:
        from .shrinking import shrunk

        seed = min(totals.differing)[0]
        print(f"\nseed {seed}, made small:\n\n{shrunk(seed, gpu=options.gpu)}")
    print(totals.line())
    return 1 if totals.differing else 0


def _run(chunks: list[Any], options: Any, totals: _Totals, state: Path | None) -> None:
    """Chunks in groups: each has processes of its own, as memory of compiled code is not freed.

    (`max_tasks_per_child` is not used: with it an executor of Python 3.11 comes to a standstill.)
    """
    began = time.monotonic()
    clock = {"began": began, "shown": began, "end": began + options.minutes * 60}
    for at in range(0, len(chunks), GROUP * options.jobs):
        if time.monotonic() < clock["end"]:
            group = chunks[at : at + GROUP * options.jobs]
            _run_group(group, options, totals, state, clock)


def _run_group(
    chunks: list[Any], options: Any, totals: _Totals, state: Path | None, clock: dict[str, float]
) -> None:
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        waiting = {pool.submit(work.check, *chunk, options.gpu): chunk for chunk in chunks}
        for future in concurrent.futures.as_completed(waiting):
            chunk = waiting[future]
            try:
                verdicts = future.result()
            except concurrent.futures.CancelledError:
                continue
            except Exception as error:
                verdicts = [
                    {"seed": chunk[0], "refused": "", "differences": [f"chunk {chunk}: {error!r}"],
                     "types": 0, "exact": 0, "rough": 0, "undefined": 0, "several": False}
                ]  # fmt: skip
            totals.add(verdicts)
            if state:
                for verdict in verdicts:
                    verdict["source"] = ""
                with state.open("a") as file:
                    file.write(json.dumps([chunk, verdicts]) + "\n")
            now = time.monotonic()
            if now - clock["shown"] > 30:
                clock["shown"] = now
                print(f"{now - clock['began']:.0f} s: {totals.line()}", file=sys.stderr, flush=True)
            if now > clock["end"]:
                pool.shutdown(wait=False, cancel_futures=True)


if __name__ == "__main__":
    raise SystemExit(main())
