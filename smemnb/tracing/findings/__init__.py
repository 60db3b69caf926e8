"""What the watchers saw go wrong, in words: one cause, one cure, both with their lines.

A watcher hands over an `Observation` (sites, threads, a cell); a `Finding` says it in a sentence
that names the lines as they are written, the threads with their warps, and the cell, and in a
second sentence what to change. Words stand in one file per family: `races`, `barriers`, `memory`,
`indices`, `prices`; `dispatch` knows them all.

Taught in `01_shared_memory`. **Limits**: a finding is about the launch that was watched; another
grid or other data may show more.
"""

from .dispatch import findings_of
from .finding import SEVERITY, Finding, in_order

__all__ = ["SEVERITY", "Finding", "findings_of", "in_order"]
