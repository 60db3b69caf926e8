"""A table of readings: billions of bytes per second, and ours beside the faster library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from ..libraries import NAMES
from .model import COPY, OURS, PatternReading, PatternResults

__all__ = ["lines"]


def lines(results: PatternResults) -> Iterator[str]:
    """All that a file has."""
    gpu = results.gpu
    yield f"{results.room} on {gpu.name}, driver {results.driver}; GB/s of bytes to be moved"
    yield f"{results.date}  {results.command}"
    yield ""
    chosen = [one for one in results.readings if not one.seed]
    drawn = [one for one in results.readings if one.seed]
    yield from _table(chosen)
    for one in chosen:
        yield from _rungs(one)
    if drawn:
        yield ""
        yield from _summary(drawn)
    if not results.finished:
        yield "the run ended early: what is above was measured, the rest is missing"


def _table(readings: Sequence[PatternReading]) -> Iterator[str]:
    heads = (OURS, *NAMES, COPY)
    yield f"  {'case':<34}" + "".join(f"{head:>9}" for head in heads) + f"{'beside':>9}"
    for one in readings:
        case = f"{one.operation} {one.words}"
        speeds = "".join(f"{_speed(one.gb_per_s(head)):>9}" for head in heads)
        ratio = one.beside(*NAMES)
        yield f"  {case:<34}{speeds}{'' if ratio is None else f'{ratio:9.3f}'}"
        for name, why in one.left_out.items():
            yield f"      {name}: {why}"


def _speed(found: float | None) -> str:
    return "" if found is None else f"{found:.0f}" if found >= 10 else f"{found:.2g}"


def _rungs(one: PatternReading) -> Iterator[str]:
    names = [name for name in one.times if name not in (OURS, *NAMES, COPY)]
    if names:
        yield ""
        yield f"  {one.operation} {one.words}"
        for name in names:
            time = one.times[name]
            yield f"    {name:<40}{time.ms:>10.4f} ms{_speed(one.gb_per_s(name)):>9}"


def _summary(readings: Sequence[PatternReading]) -> Iterator[str]:
    """Ratios over drawn cases, by operation, and the worst of them."""
    for operation in sorted({one.operation for one in readings}):
        some = [one for one in readings if one.operation == operation]
        ratios = [(ratio, one) for one in some if (ratio := one.beside(*NAMES)) is not None]
        if not ratios:
            yield f"  {operation}: {len(some)} drawn, none stands beside a library"
            continue
        found = sorted(ratio for ratio, _ in ratios)
        below = len([ratio for ratio in found if ratio < 0.8])
        yield (
            f"  {operation}: {len(some)} drawn, beside the faster library {found[0]:.2f} at least,"
            f" {median(found):.2f} in the middle, {below} below 0.80"
        )
        for ratio, one in sorted(ratios, key=lambda pair: pair[0])[:5]:
            us = 1e3 * one.times[OURS].ms
            yield f"      {ratio:5.2f}  {one.words:<40}{us:>10.1f} us"
        for one in some:
            if OURS in one.left_out:
                yield f"      {one.words}: {one.left_out[OURS]}"
