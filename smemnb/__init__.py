"""CUDA shared memory, taught with real numba.cuda kernels, and memory reports for any of them.

    from numba import cuda
    import smemnb

    smemnb.trace(kernel)[grid, block](out, inp)      # counts per source line, races, findings
    smemnb.check("ex00_scale", kernel)               # right? conflict-free? what to change?

Importing smemnb plugs numba.cuda, in either order: without a usable GPU, kernels run in the
lockstep engine (`smemnb.simulator`). `dir(smemnb)` lists the names; each loads what it needs
when it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .session import install as _listen
from .simulator.hook import install as _install
from .version import VERSION as __version__

_HOMES = {
    "trace": "tracing.tracer",
    "Trace": "tracing.trace",
    "check": "exercises.check",
    "Verdict": "exercises.grading.verdict",
    "forecast": "exercises.forecast",
    "hint": "exercises.hints",
    "solution": "exercises.hints",
    "progress": "exercises.progress",
    "predict": "exercises.predict",
    "show_change": "exercises.source",
    "show_source": "exercises.source",
    "bank_map": "figures",
    "tile_map": "figures",
    "grid_map": "figures",
    "reuse_map": "figures",
    "sector_map": "figures",
    "staging_map": "figures",
    "product_map": "figures",
    "register_map": "figures",
    "occupancy_map": "figures",
    "phase_map": "figures",
    "explore": "figures.explorer",
    "replay": "figures.replay",
    "transpose": "operations.transposing",
    "matmul": "operations.multiplying",
    "convolve": "operations.convolving",
    "sum": "operations.reducing",
    "mean": "operations.reducing",
    "min": "operations.reducing",
    "max": "operations.reducing",
    "argmin": "operations.reducing",
    "argmax": "operations.reducing",
    "softmax": "operations.normalising",
    "log_softmax": "operations.normalising",
    "layer_norm": "operations.normalising",
    "rms_norm": "operations.normalising",
    "bincount": "operations.histograms",
    "histogram": "operations.histograms",
    "cumsum": "operations.scanning",
    "cummax": "operations.scanning",
}
_ROOMS = (
    "compiled errors exercises figures hardware kernels lockstep measure operations rules"
    " simulator tracing"
).split()

if TYPE_CHECKING:
    from .exercises.check import check
    from .exercises.forecast import forecast
    from .exercises.grading.verdict import Verdict
    from .exercises.hints import hint, solution
    from .exercises.predict import predict
    from .exercises.progress import progress
    from .exercises.source import show_change, show_source
    from .figures.explorer import explore
    from .figures.replay import replay
    from .operations.convolving import convolve
    from .operations.histograms import bincount, histogram
    from .operations.multiplying import matmul
    from .operations.normalising import layer_norm, log_softmax, rms_norm, softmax
    from .operations.reducing import argmax, argmin, max, mean, min, sum
    from .operations.scanning import cummax, cumsum
    from .operations.transposing import transpose
    from .tracing.trace import Trace
    from .tracing.tracer import trace

__all__ = [
    "Trace",
    "Verdict",
    "__version__",
    "argmax",
    "argmin",
    "bank_map",
    "bincount",
    "check",
    "convolve",
    "cummax",
    "cumsum",
    "explore",
    "forecast",
    "grid_map",
    "hint",
    "histogram",
    "layer_norm",
    "log_softmax",
    "matmul",
    "max",
    "mean",
    "min",
    "occupancy_map",
    "phase_map",
    "predict",
    "product_map",
    "progress",
    "register_map",
    "replay",
    "reuse_map",
    "rms_norm",
    "sector_map",
    "show_change",
    "show_source",
    "softmax",
    "solution",
    "staging_map",
    "sum",
    "tile_map",
    "trace",
    "transpose",
]


def __getattr__(name: str) -> Any:
    """A public name, from the module that has it; or a room of the house."""
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"smemnb has no {name!r}; public are: {', '.join(__all__)}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names and rooms."""
    return sorted({*__all__, *_ROOMS})


_install()
_listen()
