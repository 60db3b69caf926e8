"""The launches that a command line means: made on a stand-in for the kernel, which sees them."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import LaunchRefused, SmemnbError
from ..tracing import Trace, trace
from .argument_text import argument, extent
from .kernel_file import KernelFile, functions, kernels, load, where

if TYPE_CHECKING:
    from ..measure.verify.case import Case


def launches(options: argparse.Namespace) -> tuple[list[Case], list[Trace]]:
    """Each launch with its arguments as they were before it, for a tool to make it again on a GPU.

    Its trace comes beside it.

    Raises:
        LaunchRefused: the command does not say how the kernel is launched, or not in this form.
    """
    source = load(options.kernel)
    if not hasattr(source.kernel, "py_func"):
        raise LaunchRefused(f"{source.name} is a plain function; tools need a kernel of cuda.jit")
    seen = _Seen(source.kernel)
    make(
        source,
        seen,
        grid=options.grid,
        block=options.block,
        shared_bytes=options.shared,
        texts=options.args,
        call=options.call,
    )
    return seen.cases, seen.found


def make(
    source: KernelFile,
    stand_in: Any,
    *,
    grid: str | None,
    block: str | None,
    shared_bytes: int = 0,
    texts: Sequence[str] | None = None,
    call: str | None = None,
) -> None:
    """Make the one launch that is written out, or those of a function of the file.

    `stand_in` is launched in place of the kernel, and keeps what came of it in `found`.

    Raises:
        LaunchRefused: the command does not say how the kernel is launched, or not in this form.
    """
    if call is not None:
        if (grid, block, texts) != (None, None, None):
            raise LaunchRefused("--call launches by itself: leave --grid, --block and --args out")
        _call(source, call, stand_in)
        return
    if grid is None or block is None:
        known = ", ".join(functions(source.module))
        hint = f" (it has: {known})" if known else ""
        lacks = "Add --grid 4,4 --block 32,8"
        if grid is not None:
            lacks = f"--block, threads of a block, is missing: write --grid {grid} --block 32,8"
        elif block is not None:
            lacks = f"--grid, the number of blocks, is missing: write --grid 4,4 --block {block}"
        raise LaunchRefused(
            f"how is {source.name} launched? {lacks} --args ..., or "
            f"--call FUNCTION with a function of {source.path.name} that launches it{hint}"
        )
    values = [argument(text) for text in texts or ()]
    check_count(source, len(values))
    stand_in[extent(grid, "--grid"), extent(block, "--block"), 0, shared_bytes](*values)


def check_count(source: KernelFile, given: int) -> None:
    """Raise LaunchRefused unless the kernel takes this many arguments."""
    function = getattr(source.kernel, "py_func", source.kernel)
    names = list(inspect.signature(function).parameters)
    if given != len(names):
        plural = "" if len(names) == 1 else "s"
        raise LaunchRefused(
            f"{source.name}({', '.join(names)}) takes {len(names)} argument{plural},"
            f" --args gives {given}; write one for each, such as float32[128,128]"
            " (smemnb trace --help)"
        )


def _call(source: KernelFile, call: str, stand_in: Any) -> None:
    """Run a function of the file with the kernel's name bound to a stand-in."""
    function = getattr(source.module, call, None)
    if not callable(function):
        known = ", ".join(functions(source.module)) or "none"
        raise LaunchRefused(f"{source.path.name} has no function {call}; it has: {known}")
    if call == source.name:
        raise LaunchRefused(_no_kernel(source))
    setattr(source.module, source.name, stand_in)
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
    if not stand_in.found:
        if not hasattr(source.kernel, "py_func"):
            raise LaunchRefused(_no_kernel(source))
        raise LaunchRefused(f"{call}() came back and had not launched {source.name}")


def _no_kernel(source: KernelFile) -> str:
    """The sentence for a name that no function of the file launches."""
    if hasattr(source.kernel, "py_func"):
        known = ", ".join(functions(source.module)) or "none"
        return f"{source.name} is the kernel; --call takes a function that launches it: {known}"
    known = ", ".join(kernels(source.module)) or "none"
    return (
        f"{source.name} is no kernel; the file has: {known}. Write {source.path.name}:KERNEL, the"
        " kernel that is launched"
    )


class _Seen:
    """A kernel whose launches are traced, and kept with their arguments."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self.cases: list[Case] = []
        self.found: list[Trace] = []

    def __getitem__(self, configuration: Any) -> Any:
        from ..measure.verify.case import Case

        def launch(*args: Any) -> None:
            before = tuple(map(_copied, args))
            self.found.append(trace(self._kernel)[configuration](*args))
            what = self.found[-1].launch
            number = len(self.found)
            name = str(what) if number == 1 else f"{what}, launch {number}"
            shared_bytes = int((*configuration, 0, 0)[3])

            def make(random: np.random.Generator) -> tuple[Any, ...]:
                return tuple(map(_copied, before))

            self.cases.append(Case(name, self._kernel, what.grid, what.block, make, shared_bytes))

        return launch

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Any:
        """The launch with enough threads for the tasks, none without a task."""
        from ..simulator.launch import forall_grid

        grid, block = forall_grid(self._kernel, ntasks, tpb)
        return self[grid, block, stream, sharedmem] if grid else lambda *args: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


def _copied(value: Any) -> Any:
    """An argument as it is now: host memory for arrays, with their strides where they matter."""
    if hasattr(value, "copy_to_host"):
        return value.copy_to_host()
    return value.copy(order="K") if isinstance(value, np.ndarray) else value
