"""The comparison as text: a table of the set, or all counts of one launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..rows import Row, head, row
from .compare import Compared

__all__ = ["launch", "launch_lines", "origin", "whole", "whole_lines"]


def origin(found: Mapping[str, Any]) -> str:
    """Where and when counters were read, in a line."""
    versions = found.get("versions", {})
    named = [
        f"{name} {versions[name]}" for name in ("ncu", "numba", "numba-cuda") if name in versions
    ]
    gpu = f"{found.get('gpu', 'unknown GPU')} (cc {found.get('compute_capability', '?')})"
    when = str(found.get("date", ""))[:10]
    return ", ".join([gpu, f"driver {found.get('driver', '?')}", *named, *([when] if when else [])])


def whole(found: Sequence[Compared], missing: Mapping[str, str]) -> str:
    """The lines of `whole_lines` as one text."""
    return "\n".join(whole_lines(found, missing))


def whole_lines(found: Sequence[Compared], missing: Mapping[str, str]) -> list[str]:
    """How many launches agree in each view, every difference with its cause, the counters.

    A launch agrees in the as-compiled view if every count of its machine code equals its counter.
    """
    ran = [one for one in found if any(row.compiled is not None for row in one.rows)]
    single = [one for one in found if one.one_to_one]
    copied = [one for one in found if one.as_many and one.unrolled]
    lines: list[str] = [
        f"{len(found)} launches, {sum(len(one.rows) for one in found):,} counts compared",
        f"as compiled: {_equal(ran, 'compiled_differs')} of {len(ran)} launches equal the counters",
        f"source, one instruction per access: {_equal(single, 'source_differs')} of {len(single)}",
        "source, loops in several copies, as many requests:"
        f" {_equal(copied, 'source_differs')} of {len(copied)}",
    ]
    for one in found:
        for seen in one.compiled_differs:
            values = f"{seen.measured:,} measured, {seen.compiled:,} as compiled"
            lines.append(f"  {one.name}: {seen.count} {values}")
    changed = [one for one in found if one.source_differs]
    if changed:
        lines.append(f"{len(changed)} launches that the compiler changed:")
    for one in changed:
        rows = "; ".join(
            f"{seen.count} {seen.measured:,} measured, {seen.source:,} in the source"
            for seen in one.source_differs
        )
        lines += [f"  {one.name}: {rows}", *(f"    {cause}" for cause in one.causes)]
    off = [(one.name, seen) for one in found for seen in one.patched]
    if off:
        lines.append(f"{len(off)} one-warp counts in which the patched counter is off:")
    lines += [
        f"  {name}: {seen.count} {seen.patched:,} patched, {seen.hardware:,} hardware,"
        f" {seen.model:,} model"
        for name, seen in off
    ]
    for one in found:
        if one.excluded:
            lines.append(f"not compared in shared memory: {one.name} ({one.excluded})")
    lines += [f"not read: {name}: {why}" for name, why in missing.items()]
    metrics = {(seen.count, seen.metric): "" for one in found for seen in one.rows}
    lines.append("counters of Nsight Compute:")
    return lines + [
        Row(f"  {count:<26} {metric}", (count, metric), ("count", "metric"))
        for count, metric in sorted(metrics)
    ]


def launch(one: Compared) -> str:
    """The lines of `launch_lines` as one text."""
    return "\n".join(launch_lines(one))


def launch_lines(one: Compared) -> list[str]:
    """All counts of a launch: the counter, the source view and the as-compiled view."""
    lines: list[str] = [
        one.name,
        head(
            f"  {'count':<26}",
            f"{'measured':>12}",
            f"{'source':>12}",
            f"{'as compiled':>13}",
            "  counter",
        ),
    ]
    for one_count in one.rows:
        source, compiled = _said(one_count.source), _said(one_count.compiled)
        mark = "  *" if one_count in one.source_differs else ""
        left = f"  {one_count.count:<26}", f"{one_count.measured:>12,}"
        lines.append(row(*left, f"{source:>12}", f"{compiled:>13}", f"  {one_count.metric}{mark}"))
    if one.excluded:
        lines.append(f"  shared memory is not compared: {one.excluded}")
    if one.source_differs:
        lines.append("  * the source view differs:")
    return lines + [f"    {cause}" for cause in one.causes]


def _said(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _equal(found: Sequence[Compared], differs: str) -> int:
    return sum(not getattr(one, differs) for one in found)
