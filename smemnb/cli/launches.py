"""The launches that a command line means, kept so that a tool can make them again on a GPU."""

from __future__ import annotations

import argparse
import inspect
from typing import Any

import numpy as np

from ..errors import LaunchRefused, SmemnbError
from ..measure.verify.case import Case
from ..tracing import Trace, trace
from .arguments import argument, extent
from .kernel_file import KernelFile, functions, load, where


def launches(options: argparse.Namespace) -> tuple[list[Case], list[Trace]]:
    """Each launch with its arguments as they were before it, and its trace.

    Raises:
        LaunchRefused: the command does not say how the kernel is launched, or not in this form.
    """
    source = load(options.kernel)
    if not hasattr(source.kernel, "py_func"):
        raise LaunchRefused(f"{source.name} is a plain function; tools need a kernel of cuda.jit")
    seen = _Seen(source.kernel)
    if options.call is None:
        if options.grid is None or options.block is None:
            known = ", ".join(functions(source.module))
            hint = f" (it has: {known})" if known else ""
            raise LaunchRefused(
                f"how is {source.name} launched? Add --grid 4,4 --block 32,8 --args ..., or"
                f" --call FUNCTION with a function of {source.path.name} that launches it{hint}"
            )
        grid, block = extent(options.grid, "--grid"), extent(options.block, "--block")
        values = [argument(text) for text in options.args or ()]
        wanted = list(inspect.signature(source.kernel.py_func).parameters)
        if len(values) != len(wanted):
            raise LaunchRefused(
                f"{source.name}({', '.join(wanted)}) takes {len(wanted)} arguments, --args gives"
                f" {len(values)}; write one for each, such as float32[128,128]"
            )
        seen[grid, block, 0, options.shared](*values)
    else:
        if (options.grid, options.block, options.args) != (None, None, None):
            raise LaunchRefused("--call launches by itself: leave --grid, --block and --args out")
        _call(source, options.call, seen)
    return seen.cases, seen.traces


def _call(source: KernelFile, call: str, seen: _Seen) -> None:
    """Run a function of the file with the kernel's name bound to what keeps its launches."""
    function = getattr(source.module, call, None)
    if not callable(function):
        known = ", ".join(functions(source.module)) or "none"
        raise LaunchRefused(f"{source.path.name} has no function {call}; it has: {known}")
    setattr(source.module, source.name, seen)
    try:
        function()
    except SmemnbError:
        raise
    except Exception as error:
        raise LaunchRefused(
            f"{call}() raised{where(error, source.path)}: {type(error).__name__}: {error}"
        ) from error
    finally:
        setattr(source.module, source.name, source.kernel)
    if not seen.cases:
        raise LaunchRefused(f"{call}() came back and had not launched {source.name}")


class _Seen:
    """A kernel whose launches are traced, and kept with their arguments."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self.cases: list[Case] = []
        self.traces: list[Trace] = []

    def __getitem__(self, configuration: Any) -> Any:
        def launch(*args: Any) -> None:
            before = tuple(map(_copied, args))
            self.traces.append(trace(self._kernel)[configuration](*args))
            what = self.traces[-1].launch
            number = len(self.traces)
            name = str(what) if number == 1 else f"{what}, launch {number}"
            shared_bytes = int((*configuration, 0, 0)[3])

            def make(random: np.random.Generator) -> tuple[Any, ...]:
                return tuple(map(_copied, before))

            self.cases.append(Case(name, self._kernel, what.grid, what.block, make, shared_bytes))

        return launch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


def _copied(value: Any) -> Any:
    """An argument as it is now: host memory for arrays, with their strides where they matter."""
    if hasattr(value, "copy_to_host"):
        return value.copy_to_host()
    return value.copy(order="K") if isinstance(value, np.ndarray) else value
