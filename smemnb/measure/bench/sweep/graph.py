"""Launches captured into a CUDA graph, by the driver's own calls.

The capture is relaxed: a library may ask for memory while it runs, as in any call of its own. A
graph that holds fewer nodes than there were launches is refused, as some then went to another
stream and would not be timed. CuPy (14) refuses its calls of cuBLAS in any capture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from .timing import NotCaptured

__all__ = ["Graph", "captured"]


class Graph:
    """An instantiated graph; its memory is given back with it."""

    def __init__(self, driver: Any, graph: Any, stream: int) -> None:
        self._driver, self._graph, self._stream = driver, graph, stream
        self._made = _called(driver.cuGraphInstantiate(graph, 0))

    def __call__(self) -> None:
        """Replay it on its stream; nothing is awaited."""
        _called(self._driver.cuGraphLaunch(self._made, self._stream))

    def __del__(self) -> None:
        if hasattr(self, "_made"):
            self._driver.cuGraphExecDestroy(self._made)
        self._driver.cuGraphDestroy(self._graph)


def captured(launches: Sequence[Callable[[], object]], stream: int) -> Graph:
    """What the launches put on a stream, as a graph; `stream` is its handle, not the default one.

    Raises:
        NotCaptured: a launch does what a capture forbids, or cuda-bindings are missing.
    """
    try:
        driver: Any = import_module("cuda.bindings.driver")
    except ImportError as error:
        raise NotCaptured(f"cuda-bindings cannot be imported: {error}") from None
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    _called(driver.cuStreamBeginCapture(stream, mode))
    reason: Exception | None = None
    try:
        for launch in launches:
            launch()
    except Exception as error:  # whatever a library raises when a capture forbids its call
        reason = error
    graph = None
    try:
        graph = _called(driver.cuStreamEndCapture(stream))
        nodes = int(_called(driver.cuGraphGetNodes(graph, 0), last=True))
    except NotCaptured as error:
        raise NotCaptured(_words(reason or error)) from None
    if reason is None and nodes >= len(launches):
        return Graph(driver, graph, stream)
    driver.cuGraphDestroy(graph)
    if reason is not None:
        raise NotCaptured(_words(reason))
    raise NotCaptured(f"{len(launches)} launches left {nodes} nodes: some went to another stream")


def _called(answer: tuple[Any, ...], *, last: bool = False) -> Any:
    """What a call of the driver returned beside its status.

    Raises:
        NotCaptured: the status is an error.
    """
    status, *found = answer
    if int(status) != 0:
        raise NotCaptured(str(status.name))
    return found[-1 if last else 0] if found else None


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
