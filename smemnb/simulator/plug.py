"""Replaces, in place, what numba.cuda cannot do without a GPU: launch, host API, eager compiling.

Decorators, their options, `@intrinsic`, type inference and `compile_ptx` stay Numba's own and
keep working in the same process. Signatures given to `@cuda.jit` are noted and not compiled; a
real compilation (`compile_ptx`, where the toolkit is installed) compiles them when it meets them.

With a usable GPU nothing is replaced. Everything that knows where Numba keeps these things is
here and in `seam`.
"""

from __future__ import annotations

import importlib
import inspect
import linecache
import os
from itertools import count
from math import prod
from typing import Any

from ..compiled import available
from ..errors import LaunchRefused, SmemnbError, shortened
from . import devices
from .launch import check_tasks, forall_block, launch_dimensions, run


def plug(cuda: Any) -> None:
    """Decide where launches go, and replace what must be replaced in `numba.cuda`.

    Raises:
        SmemnbError: SMEMNB_DEVICE has an unknown value, or this Numba is built otherwise.
    """
    choice = devices.choice()
    if devices.simulated_by_numba():
        _kernel_names(cuda)
        return
    if choice == "off":
        return
    _quiet()
    if choice != "lockstep" and cuda.is_available() and available():
        devices.set_launches("gpu")
        return
    try:
        if choice == "gpu":
            _refuse_launches(cuda)
        else:
            _replace(cuda)
    except (AttributeError, ImportError) as error:
        raise SmemnbError(
            f"smemnb does not know this version of numba.cuda ({error})."
            " Set SMEMNB_DEVICE=off to use Numba without smemnb's engine"
        ) from error


def _kernel_names(cuda: Any) -> None:
    """Names such as `cuda.grid`, which `numba.cuda` lacks while Numba simulates: traces need them.

    Numba's simulator puts its own module in the place of `cuda` while a kernel runs there.
    """
    from numba.cuda import intrinsics, stubs

    for module in (stubs, intrinsics):
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) == module.__name__ and not hasattr(cuda, name):
                setattr(cuda, name, value)


_MANY_BLOCKS = 128  # from here on Numba does not warn of few blocks
_WARNINGS = ("CUDA_LOW_OCCUPANCY_WARNINGS", "CUDA_WARN_ON_IMPLICIT_COPY")


def _quiet() -> None:
    """Small grids and NumPy arrays are the rule in a workbook: no warnings about either.

    NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS=1 and NUMBA_CUDA_WARN_ON_IMPLICIT_COPY=1 bring them back.
    """
    from numba.core import config

    configs = [config]
    try:
        from numba.cuda.core import config as own

        configs.append(own)
    except ImportError:  # the numba.cuda inside Numba
        pass
    for name in _WARNINGS:
        if f"NUMBA_{name}" not in os.environ:
            for one in configs:
                setattr(one, name, 0)


def _refuse_launches(cuda: Any) -> None:
    from . import seam

    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise SmemnbError(devices.no_gpu(cuda))

    seam.CUDADispatcher.configure = refuse
    seam.CUDADispatcher.forall = refuse
    devices.set_launches("no gpu")


class ConfiguredKernel:
    """A kernel with its launch configuration; calling it launches. It changes nothing else."""

    def __init__(
        self, dispatcher: Any, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: Any = 0
    ) -> None:
        self.dispatcher = dispatcher
        self.griddim, self.blockdim = launch_dimensions(dispatcher, griddim, blockdim)
        self.stream, self.sharedmem = stream, sharedmem
        blocks = prod(self.griddim)
        if blocks < _MANY_BLOCKS:
            from . import seam

            seam.warn(
                _WARNINGS[0],
                f"Grid size {blocks} will likely result in GPU under-utilization"
                " due to low occupancy.",
            )

    def __call__(self, *args: Any, **named: Any) -> None:
        """Launch: the lockstep engine runs the kernel to its end."""
        from .signatures import check_positional

        try:
            check_positional(self.dispatcher, named)
            run(self.dispatcher, self.griddim, self.blockdim, self.stream, self.sharedmem, args)
        except (SmemnbError, KeyboardInterrupt) as error:
            raise shortened(error) from error.__cause__


class ForAll:
    """A launch with at least `ntasks` threads in one dimension."""

    def __init__(
        self, dispatcher: Any, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0
    ) -> None:
        try:
            check_tasks(dispatcher, ntasks, tpb)
        except SmemnbError as error:
            raise shortened(error) from error.__cause__
        self._dispatcher, self._ntasks, self._tpb = dispatcher, ntasks, tpb
        self._stream, self._sharedmem = stream, sharedmem

    def __call__(self, *args: Any) -> None:
        """Launch, unless there is nothing to do."""
        if self._ntasks == 0:
            return
        block = self._tpb or forall_block(self._dispatcher)
        grid = -(-self._ntasks // block)
        try:
            ConfiguredKernel(self._dispatcher, grid, block, self._stream, self._sharedmem)(*args)
        except SmemnbError as error:
            raise shortened(error) from error.__cause__


def _replace(cuda: Any) -> None:
    from . import seam
    from .host import install
    from .overloads import compile_device, note_kernel

    install(cuda)
    _jit_without_toolkit(cuda)
    seam.dispatcher_module._LaunchConfiguration = ConfiguredKernel
    seam.dispatcher_module.ForAll = ForAll
    seam.CUDADispatcher.configure = _configure
    seam.CUDADispatcher.__getitem__ = _getitem
    seam.CUDADispatcher.__call__ = _call
    seam.CUDADispatcher.compile = note_kernel
    seam.CUDADispatcher.compile_device = compile_device
    seam.CUDADispatcher.disable_compile = _disable_compile
    seam.dispatcher_module._Kernel.bind = lambda self: None  # there is no device to load it into
    seam.CUDADispatcher.__init__ = _looking_for_source(seam.CUDADispatcher.__init__)
    _sources_kept(importlib.import_module("numba.cuda.deviceufunc"))
    devices.set_launches("lockstep")


def _jit_without_toolkit(cuda: Any) -> None:
    from .refusals.options import without_toolkit

    decorators: Any = importlib.import_module("numba.cuda.decorators")
    linker_there = getattr(decorators, "_have_nvjitlink", lambda: True)
    cuda.jit = decorators.jit = without_toolkit(decorators.jit, linker_there)


def _configure(self: Any, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: Any = 0) -> Any:
    return ConfiguredKernel(self, griddim, blockdim, stream, sharedmem)


def _getitem(self: Any, configuration: Any) -> ConfiguredKernel:
    """The launch that `kernel[grid, block]` describes.

    Raises:
        LaunchRefused: fewer than two or more than four entries, or bad dimensions.
    """
    name = self.py_func.__name__
    if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
        raise LaunchRefused(
            f"{name}[{configuration!r}] lacks a launch. Write {name}[grid, block](...);"
            " stream and bytes of dynamic shared memory may follow"
        )
    try:
        return ConfiguredKernel(self, *configuration)
    except SmemnbError as error:
        raise shortened(error) from error.__cause__


def _call(self: Any, *args: Any, **named: Any) -> Any:
    """Refused: a kernel needs a launch, and a device function a kernel.

    Raises:
        LaunchRefused: always.
    """
    name = self.py_func.__name__
    if self.targetoptions.get("device"):
        raise LaunchRefused(
            f"{name} is a device function: kernels call it, and the host cannot."
            f" Its Python function is {name}.py_func"
        )
    parameters = ", ".join(inspect.signature(self.py_func).parameters)
    raise LaunchRefused(
        f"Kernel launch configuration was not specified: {name} is a kernel."
        f" Use the syntax: {name}[blockspergrid, threadsperblock]({parameters})"
    )


def _looking_for_source(make: Any) -> Any:
    """`CUDADispatcher.__init__`, which also finds the text of a kernel made by `exec`.

    While the kernel is decorated, the program that wrote the text most likely still holds it.
    """
    from ..lockstep.source import look_for, needs_looking_for

    def __init__(self: Any, py_func: Any, *args: Any, **options: Any) -> None:
        make(self, py_func, *args, **options)
        if needs_looking_for(py_func):
            look_for(py_func)

    return __init__


def _sources_kept(module: Any) -> None:
    """Kernels that Numba writes as text (for `vectorize`) keep it: the engine reads it."""
    numbers = count(1)

    def kept(source: str, names: dict[str, Any]) -> None:
        place = f"<written by numba {next(numbers)}>"
        linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
        exec(compile(source, place, "exec"), names)

    module.exec = kept


def _disable_compile(self: Any, val: bool = True) -> None:  # noqa: FBT001, FBT002
    self._can_compile = not val
