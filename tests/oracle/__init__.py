"""Slow second models, written differently, that the engine is compared with.

`inference` asks Numba's own CUDA type inference, `threads` runs a kernel thread by thread.
"""

from .threads import OracleReport, run

__all__ = ["OracleReport", "run"]
