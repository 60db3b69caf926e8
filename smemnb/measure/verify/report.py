"""The comparison as text: a table of the set, or all counts of one launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .compare import Compared

__all__ = ["launch", "origin", "whole"]


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
    """How many launches agree in each view, every difference with its cause, the counters.

    A launch agrees in the as-compiled view if every count of its machine code equals its counter.
    """
    ran = [one for one in found if any(row.compiled is not None for row in one.rows)]
    single = [one for one in found if one.one_to_one]
    copied = [one for one in found if one.as_many and one.unrolled]
    lines = [
        f"{len(found)} launches, {sum(len(one.rows) for one in found):,} counts compared",
        f"as compiled: {_equal(ran, 'compiled_differs')} of {len(ran)} launches equal the counters",
        f"source, one instruction per access: {_equal(single, 'source_differs')} of {len(single)}",
        "source, loops in several copies, as many requests:"
        f" {_equal(copied, 'source_differs')} of {len(copied)}",
    ]
    for one in found:
        for row in one.compiled_differs:
            lines.append(
                f"  {one.name}: {row.count} {row.measured:,} measured, {row.compiled:,} as compiled"
            )
    changed = [one for one in found if one.source_differs]
    if changed:
        lines.append(f"{len(changed)} launches that the compiler changed:")
    for one in changed:
        rows = "; ".join(
            f"{row.count} {row.measured:,} measured, {row.source:,} in the source"
            for row in one.source_differs
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
    metrics = {(row.count, row.metric): "" for one in found for row in one.rows}
    lines.append("counters of Nsight Compute:")
    return "\n".join(lines + [f"  {count:<26} {metric}" for count, metric in sorted(metrics)])


def launch(one: Compared) -> str:
    """All counts of a launch: the counter, the source view and the as-compiled view."""
    lines = [
        one.name,
        f"  {'count':<26}{'measured':>12}{'source':>12}{'as compiled':>13}  counter",
    ]
    for row in one.rows:
        source, compiled = _said(row.source), _said(row.compiled)
        mark = "  *" if row in one.source_differs else ""
        lines.append(
            f"  {row.count:<26}{row.measured:>12,}{source:>12}{compiled:>13}  {row.metric}{mark}"
        )
    if one.excluded:
        lines.append(f"  shared memory is not compared: {one.excluded}")
    if one.source_differs:
        lines.append("  * the source view differs:")
    return "\n".join(lines + [f"    {cause}" for cause in one.causes])


def _said(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _equal(found: Sequence[Compared], differs: str) -> int:
    return sum(not getattr(one, differs) for one in found)
