"""Which device this process uses, and the plug that lets numba.cuda run without one.

Start reading at `hook` (when), then `plug` (what is replaced), `launch` (what a launch does),
`inference` (Numba's types). Importing this package imports neither Numba nor NumPy.
"""

from __future__ import annotations

from typing import Any

from .devices import cc, device, use

__all__ = ["cc", "device", "run", "use"]


def run(kernel: Any, *launch: Any, **options: Any) -> None:
    """As `simulator.launch.run`: a checked launch in the lockstep engine."""
    from .launch import run as run_now

    run_now(kernel, *launch, **options)
