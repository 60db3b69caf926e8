"""A launch watched: exact counts per source line, and what is wrong with it, in words.

Begin with `trace` in `tracer.py`. Watchers (`counting`, `races`, `initialisation`, `barriers`,
`bounds`) listen to the engine and leave the records of `model.py`; `findings/` puts them into
words, `waivers.py` takes out those that the source allows, `trace.py` holds the result, `report/`
prints it. To import this package costs NumPy only; Numba comes with the first launch.
"""

from .findings import Finding
from .model import AccessRow, GlobalTotals, LaunchInfo, SharedTotals, WorstRequest
from .report.bank_map import BankMap
from .trace import SCHEMA, Trace
from .tracer import Tracer, trace
from .waivers import Waived

__all__ = [
    "SCHEMA",
    "AccessRow",
    "BankMap",
    "Finding",
    "GlobalTotals",
    "LaunchInfo",
    "SharedTotals",
    "Trace",
    "Tracer",
    "Waived",
    "WorstRequest",
    "trace",
]
