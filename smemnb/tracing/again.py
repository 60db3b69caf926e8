"""A traced launch, run once more for somebody who wants to see more of it than a trace keeps.

The arguments are as they were before the launch. **Limits**: a trace that was read from JSON has
not kept its launch, and of one that watched some blocks only the others are not known; `run_again`
then says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..errors import SmemnbError
from ..lockstep.intrinsics.printing import unshown
from ..lockstep.watch import Access, Watcher
from .model import AccessRow

if TYPE_CHECKING:
    from .trace import Trace

PATIENCE_S = 20.0
"""Seconds that the second run may take."""


class AccessKey(NamedTuple):
    """What tells an access from the others, in a trace and in the engine."""

    file: str
    line: int
    column: int
    kind: str
    array: str
    width: int

    @classmethod
    def of(cls, row: AccessRow, trace: Trace) -> AccessKey:
        """The key of a row of a trace."""
        file = trace.files.get(row.function, "")
        return cls(file, row.line, row.column, row.kind, row.array, row.width)

    @classmethod
    def of_event(cls, event: Access) -> AccessKey:
        """The key of what the engine tells a watcher."""
        site = event.site
        return cls(site.file, site.line, site.column, event.kind, event.array.name, event.width)


def run_again(trace: Trace, watcher: Watcher) -> str:
    """Run a launch for a watcher; why it cannot run again, "" if it did."""
    from ..simulator import launch

    again, how = trace.relaunch, trace.launch
    if again is None:
        return "the trace has not kept its launch"
    if trace.estimated:
        return f"the trace watched {how.watched_blocks:,} of {how.blocks:,} blocks"
    args = again.arguments.values()
    try:
        with unshown():
            launch.run(
                again.kernel,
                how.grid,
                how.block,
                0,
                how.dynamic_shared_bytes,
                args,
                watchers=(watcher,),
                patience_s=PATIENCE_S,
            )
    except SmemnbError as error:
        return f"the launch cannot run again ({str(error).splitlines()[0]})"
    return ""
