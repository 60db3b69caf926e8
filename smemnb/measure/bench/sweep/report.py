"""A sweep as text: where, what the ratios come to, the worst, errors, what was not timed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter

from ...results.table import clock_words, origin_lines
from ...rows import head, row
from .model import Reading, Sweep
from .summary import groups, summary, worst

__all__ = ["ERROR_LIMIT", "lines"]

ERROR_LIMIT = 2.0
"""Times the library's error; what is beyond is named."""
MARKS = (0.7, 0.9, 1.0)
COPY_MARKS = (0.7, 0.85, 0.9)
"""Ratios whose shares the tables give."""
MOST_LISTED = 20
_OF_LIBRARIES: Callable[[Reading], float | None] = attrgetter("ratio")
_OF_COPY: Callable[[Reading], float | None] = attrgetter("copy_ratio")


def lines(sweep: Sweep) -> Iterator[str]:
    """All of it, a line at a time."""
    yield from origin_lines(sweep)
    yield f"  {clock_words(sweep.clocks)}"
    done = len(sweep.readings)
    yield f"  {sweep.operation}: {done} of {sweep.count} problems of seed {sweep.seed}" + (
        "" if sweep.finished else "; the sweep ended early (--resume goes on)"
    )
    yield from _ratios(sweep)
    for name, readings in groups(sweep).items():
        if name.startswith(("above", "up to")):
            yield from _worst(f"{name}, beside the libraries", readings, _OF_LIBRARIES)
            if sweep.operation == "transpose":
                yield from _worst(f"{name}, beside the copy", readings, _OF_COPY)
    yield from _errors(sweep.readings)
    yield from _not_timed(sweep.readings)
    yield from _notes(sweep.readings)


def _ratios(sweep: Sweep) -> Iterator[str]:
    """A table for the faster library, one for each library, and for transposes one for the copy."""
    found = groups(sweep)
    yield from _table("time of the fastest library over ours", found, _OF_LIBRARIES)
    names = sorted({name for one in sweep.readings for name in one.libraries})
    for name in names if len(names) > 1 else ():
        yield from _table(f"time of {name} over ours", found, _beside(name), only=3)
    if any(one.copy_ms is not None for one in sweep.readings):
        yield from _table("time of the copy over ours", found, _OF_COPY, marks=COPY_MARKS)


def _beside(name: str) -> Callable[[Reading], float | None]:
    def ratio(one: Reading) -> float | None:
        other = one.libraries.get(name)
        return None if one.ms is None or other is None else other / one.ms

    return ratio


def _table(
    title: str,
    found: dict[str, tuple[Reading, ...]],
    ratio: Callable[[Reading], float | None],
    *,
    only: int | None = None,
    marks: Sequence[float] = MARKS,
) -> Iterator[str]:
    rows = list(found.items())[:only]
    summaries = [(name, summary(map(ratio, readings), marks)) for name, readings in rows]
    if not any(one for _, one in summaries):
        return
    yield ""
    yield f"{title} (above 1 ours is faster)"
    yield head(
        " " * 18,
        *(f"{'problems':>9}", f"{'timed':>7}", f"{'geo.mean':>10}", f"{'least':>8}"),
        *(f"{'quartile':>10}", f"{'median':>8}", f"{'quartile':>10}"),
        *(f"{f'>= {mark:g}':>9}" for mark in marks),
    )
    for name, one in summaries:
        if one is None:
            yield row(f"  {name:<16}", f"{len(found[name]):>9}", f"{0:>7}")
            continue
        yield row(
            f"  {name:<16}",
            *(f"{one.problems:>9}", f"{one.timed:>7}", f"{one.mean:>10.3f}", f"{one.least:>8.3f}"),
            *(f"{one.low:>10.3f}", f"{one.median:>8.3f}", f"{one.high:>10.3f}"),
            *(f"{share:>9.1%}" for share in one.shares),
        )


def _worst(
    name: str, readings: Sequence[Reading], ratio: Callable[[Reading], float | None]
) -> Iterator[str]:
    found = worst(readings, ratio)
    if not found:
        return
    yield ""
    yield f"the worst {len(found)} {name}"
    libraries = sorted({name for one in found for name in one.libraries})
    copied = any(one.copy_ms is not None for one in found)
    wide = max(len(str(one.problem)) for one in found) + 2
    times = [f"{name:>11}" for name in ("us", *libraries, *(["copy"] if copied else []))]
    yield head(f"  {'ratio':>6}", f"  {'':<{wide}}", *times)
    for one in found:
        parts = [f"  {ratio(one):>6.3f}", f"  {one.problem!s:<{wide}}", _us(one.ms)]
        parts += [_us(one.libraries.get(name)) for name in libraries]
        parts += [_us(one.copy_ms)] if copied else []
        yield row(*parts, *([f"  {one.plan}"] if one.plan else []))


def _us(ms: float | None) -> str:
    return f"{'-' if ms is None else format(ms * 1000, '.2f'):>11}"


def _errors(readings: Sequence[Reading]) -> Iterator[str]:
    """Errors over torch's, and each that is more than `ERROR_LIMIT` times that."""
    known = [(one, one.error_ratio) for one in readings if one.status == "timed"]
    ratios = [(ratio, one) for one, ratio in known if ratio is not None]
    if not ratios:
        return
    beyond = sorted((pair for pair in ratios if pair[0] > ERROR_LIMIT), key=lambda pair: -pair[0])
    yield ""
    yield (
        f"errors against float64 over torch's: at most {max(ratio for ratio, _ in ratios):.2f},"
        f" more than {ERROR_LIMIT:g} times in {len(beyond)} of {len(ratios)}"
    )
    yield from _listed(
        f"{ratio:>8.2f}  {one.problem}: {one.error:.2g}, {one.roundings or 0:.2g} roundings of the"
        f" largest value; torch {one.torch_error:.2g}"
        for ratio, one in beyond
    )


def _not_timed(readings: Sequence[Reading]) -> Iterator[str]:
    found = [one for one in readings if one.status != "timed"]
    if not found:
        return
    said = ", ".join(f"{count} {status}" for status, count in Counter(map(_status, found)).items())
    yield ""
    yield f"not timed: {said}"
    yield from _listed(f"{one.status}: {one.problem}: {one.reason}" for one in found)


def _status(one: Reading) -> str:
    return one.status


def _notes(readings: Sequence[Reading]) -> Iterator[str]:
    """Libraries left out, launches that no graph could hold, results that do not repeat."""
    changing = [one for one in readings if one.repeats is False]
    if changing:
        yield ""
        yield f"not the same bits when launched again: {len(changing)}"
        yield from _listed(str(one.problem) for one in changing)
    for title, found in (
        ("not timed beside ours", _counted(one.left_out for one in readings)),
        ("not held by a CUDA graph", _counted(one.not_captured for one in readings)),
    ):
        if found:
            yield ""
            yield title
            yield from _listed(
                f"{name}, {count} times: {reason}" for (name, reason), count in found.most_common()
            )


def _counted(notes: Iterable[dict[str, str]]) -> Counter[tuple[str, str]]:
    return Counter(item for note in notes for item in note.items())


def _listed(found: Iterable[str]) -> Iterator[str]:
    every = list(found)
    yield from (f"  {one}" for one in every[:MOST_LISTED])
    if len(every) > MOST_LISTED:
        yield f"  and {len(every) - MOST_LISTED} more"
