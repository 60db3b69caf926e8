"""Runs the source of a CUDA kernel, whole warps of many blocks at a time, with NumPy alone.

A kernel is read as an abstract syntax tree, turned once into nested Python closures
(`language/`; what numba.cuda's own names do is in `intrinsics/`), and run over batches of blocks
(`launch`, `batch`). Every closure takes a frame and a mask and works on *lane values* (`lanes`):
arrays that broadcast to (blocks, warps, 32). A value that is the same for all blocks, warps or
lanes keeps length 1 on that axis, so the work that a whole batch shares is done once.

Start reading at `launch.py`, then `lanes.py`, `memory/`, `language/program.py`. What a watcher
is called with is in `watch.py`; how an intrinsic of one's own is added, in `protocol.py`.

Limits: lockstep order is one legal order among many. Races are therefore found by the watchers in
`smemnb.tracing`, never by looking at results.
"""

from .launch import launch
from .protocol import lockstep_implementation
from .watch import Access, ArrayInfo, Barrier, OutOfRange, Site, Watcher

__all__ = [
    "Access",
    "ArrayInfo",
    "Barrier",
    "OutOfRange",
    "Site",
    "Watcher",
    "launch",
    "lockstep_implementation",
]
