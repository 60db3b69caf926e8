"""What stands in `kernel.overloads` for a compiled kernel, and eager signatures.

A kernel with signatures is checked by type inference where it is decorated, as Numba does; a
launch adds the types it came with. Code is made only when somebody looks at it (`inspect_asm`,
`get_regs_per_thread` ...), by Numba's own compiler, which needs NVIDIA's compiler libraries;
nothing of it is loaded or run.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

from ..compiled import available
from ..compiled.toolchain import INSTALL
from ..compiled.usage import Resources, resources
from ..errors import SmemnbError
from ..hardware import limits
from . import devices, seam

Types = tuple[Any, ...]


class Overload:
    """One signature of a kernel: its limits here, its code as soon as it is asked for.

    Numba holds the overloads of a kernel to the end of the process, or until the kernel is gone. So
    they hold nothing that leads back to it; what belongs to a signature is kept in the kernel.
    """

    entry_point = None
    """What Numba forgets when a kernel goes: as with its own kernels, there is nothing."""

    def __init__(self, dispatcher: Any, types: Types) -> None:
        self._kept_by = ref(dispatcher)
        self.argument_types = types
        self.signature = seam.typing.signature(seam.types.none, *types)

    @property
    def _dispatcher(self) -> Any:
        dispatcher = self._kept_by()
        if dispatcher is None:
            raise SmemnbError("the kernel of this overload is gone: keep the kernel itself")
        return dispatcher

    @property
    def _kernel(self) -> Any:
        """Numba's own compiled kernel, not loaded into any device."""
        kept = _kept(self._dispatcher, self.argument_types)
        if "kernel" not in kept:
            self._need("its code")
            options = dict(self._dispatcher.targetoptions)
            options.pop("extensions", None)
            with seam.compiler_lock:
                kept["kernel"] = seam.dispatcher_module._Kernel(
                    self._dispatcher.py_func, self.argument_types, **options
                )
        return kept["kernel"]

    @property
    def _resources(self) -> Resources:
        kept = _kept(self._dispatcher, self.argument_types)
        if "resources" not in kept:
            self._need("its registers")
            kept["resources"] = resources(self._dispatcher, self.argument_types, devices.cc())
        found: Resources = kept["resources"]
        return found

    def _need(self, what: str) -> None:
        if not available():
            name = self._dispatcher.py_func.__name__
            raise SmemnbError(
                f"{name} runs in the lockstep engine and was not compiled; {what} can be had"
                f" with NVIDIA's compiler libraries: {INSTALL}"
            )

    @property
    def regs_per_thread(self) -> int:
        """Registers per thread, compiled for the limits that are enforced."""
        return self._resources.registers

    @property
    def local_mem_per_thread(self) -> int:
        """Bytes of local memory per thread."""
        return self._resources.local_bytes

    @property
    def shared_mem_per_block(self) -> int:
        """Bytes of static shared memory per block."""
        return self._resources.shared_bytes

    @property
    def max_threads_per_block(self) -> int:
        """The most threads of a block: `launch_bounds`, or the device's."""
        bounds = self._dispatcher.targetoptions.get("launch_bounds")
        bound = bounds[0] if isinstance(bounds, tuple) else bounds
        return int(bound or limits(devices.cc()).threads_per_block)

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """Blocks that fit on the device at once by threads and shared memory, registers aside."""
        threads = 1
        for size in blockdim if isinstance(blockdim, tuple | list) else (blockdim,):
            threads *= size
        most = limits(devices.cc())
        per_sm = min(most.threads_per_sm // (-(-threads // 32) * 32), most.blocks_per_sm)
        if dynsmemsize:
            per_sm = min(per_sm, most.shared_per_sm // dynsmemsize)
        from .host.device import attribute

        return per_sm * attribute("MULTIPROCESSOR_COUNT")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_kept_by":
            raise AttributeError(name)
        return getattr(self._kernel, name)


def _kept(dispatcher: Any, types: Types) -> dict[str, Any]:
    """What is known of a kernel for these types: what was inferred, its code, its registers."""
    of_all: dict[Types, dict[str, Any]] = dispatcher.__dict__.setdefault("_smemnb_kept", {})
    return of_all.setdefault(types, {})


def note_kernel(self: Any, sig: Any) -> Any:
    """`CUDADispatcher.compile` without a device: type inference, and an `Overload`.

    Raises:
        TypingRefused: Numba would refuse the kernel for this signature.
        LaunchRefused: more than three `launch_bounds`.
    """
    from .inference import infer
    from .launch import check_limits, kernel_of

    if self.targetoptions.get("launch_bounds") is not None:
        check_limits(kernel_of(self), (1, 1, 1), (1, 1, 1), limits(devices.cc()))
    types, returns = seam.sigutils.normalize_signature(sig)
    types = tuple(types)
    if types not in self.overloads:
        found = infer(self.py_func, types, self.targetoptions)
        self.__dict__.setdefault("_smemnb_signatures", []).append((types, returns))
        register(self, types, found)
    return self.overloads[types]


def register(dispatcher: Any, types: Types, found: Any = None) -> None:
    """Note that a kernel has run with (or was declared for) these types, and what was inferred."""
    overloads = getattr(dispatcher, "overloads", None)
    if overloads is None or devices.launches() != "lockstep":  # those of a GPU are compiled
        return
    if types not in overloads:
        overloads[types] = Overload(dispatcher, types)
    if isinstance(overloads[types], Overload):
        _kept(dispatcher, types)["inferred"] = found


def inferred_before(dispatcher: Any, types: Types) -> Any:
    """What was inferred when a kernel first met these types, None if it has not.

    As a compiled kernel, it keeps the globals and closure values of that moment.
    """
    known = (getattr(dispatcher, "overloads", None) or {}).get(types)
    return _kept(dispatcher, types).get("inferred") if isinstance(known, Overload) else None


def compile_device(self: Any, args: Any, return_type: Any = None) -> Any:
    """`CUDADispatcher.compile_device`: Numba's own, its refusals in a learner's words.

    Raises:
        TypingRefused: Numba refuses the device function for these types.
    """
    from .refusals import refusal

    try:
        return seam.compile_device(self, tuple(args), return_type)
    except Exception as error:
        if getattr(error, "numba_message", None) or self.is_compiling:
            raise
        raise refusal(error, self.py_func, tuple(args)) from None
