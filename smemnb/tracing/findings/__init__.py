"""What the watchers saw go wrong, in words: one cause, one cure, both with their lines.

A watcher hands over an `Observation` (sites, threads, an element); a `Finding` says it in a
sentence that names the lines as they are written, the threads with their warps, and the element,
and in a second sentence what to change. `kinds` lists every kind of finding with its severity, unit
and words; the words stand in one file per family: `races`, `signals`, `barriers`, `memory`,
`indices`, `prices`, `waivers`.

Taught in `13_races`. **Limits**: a finding is about the launch that was watched; another
grid or other data may show more.
"""

from .dispatch import findings_of
from .finding import Finding, in_order
from .kinds import KINDS, SEVERITIES, Kind, kind_of

__all__ = ["KINDS", "SEVERITIES", "Finding", "Kind", "findings_of", "in_order", "kind_of"]
