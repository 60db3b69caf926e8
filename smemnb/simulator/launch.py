"""A launch in the lockstep engine: checked as a driver checks it, typed by Numba, then run.

Order of events, as on a GPU: grid and block, shared memory, number and kinds of arguments, type
inference; then arrays are copied in, the kernel runs, and results are copied back. Whatever is
refused is refused before anything is written; a kernel that stops in the middle leaves host
arrays as they were.

The limits are those of `devices.cc()`. **Limits**: registers are not modelled, so a block that a
GPU refuses for want of registers is launched here; the engine's end of a launch is its call's
end, so streams order nothing.
"""

from __future__ import annotations

import inspect
import math
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import lockstep  # noqa: F401  (its package must load before `launch` is asked for)
from ..errors import KernelStopped, LaunchRefused, UnassignedVariable
from ..hardware import WARP_LANES, Limits, limits
from ..lockstep.batch import Launch
from ..lockstep.fibers.plan import Order
from ..lockstep.launch import launch as lockstep_launch
from . import devices
from .deadline import patience_left
from .transfers import Prepared

Dim3 = tuple[int, int, int]
DEFAULT_BLOCK = 256
"""Threads per block of `forall` where none are given (a GPU's driver would choose)."""
SLOW_AFTER_S, SLOW_VARIABLE = 60.0, "SMEMNB_SLOW_SECONDS"


@dataclass(frozen=True)
class Kernel:
    """What a launch needs to know of a kernel, whatever kind of object it is."""

    function: Callable[..., Any]
    options: dict[str, Any]
    signatures: tuple[tuple[tuple[Any, ...], Any], ...] = ()
    dispatcher: Any = None

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__


class DeviceFunctionRefused(LaunchRefused, RuntimeError):
    """A launch of a device function; Numba raises a RuntimeError."""


def kernel_of(kernel: Any) -> Kernel:
    """A numba.cuda dispatcher, a kernel of Numba's simulator, or a plain function.

    Raises:
        LaunchRefused: anything else, or a device function.
    """
    function = getattr(kernel, "py_func", None) or getattr(kernel, "fn", None) or kernel
    if not inspect.isfunction(function):
        raise LaunchRefused(
            f"an object of type {type(kernel).__name__} is no kernel: decorate a function"
        )
    options = dict(getattr(kernel, "targetoptions", None) or {})
    if options.get("device") or getattr(kernel, "_device", False):
        raise DeviceFunctionRefused(
            f"Cannot compile a device function as a kernel: {function.__name__} is a device"
            " function: it is called from kernels. A kernel has @cuda.jit without device=True"
        )
    if any(base.__name__ == "CPUDispatcher" for base in type(kernel).__mro__):
        raise LaunchRefused(f"{function.__name__} is compiled for the CPU: use @cuda.jit")
    if not hasattr(kernel, "_can_compile"):
        if getattr(kernel, "extensions", None):  # a kernel of Numba's simulator
            options["extensions"] = kernel.extensions
        return Kernel(function, options)
    from .inference import declared_signatures

    return Kernel(function, options, tuple(declared_signatures(kernel)), kernel)


def run(
    kernel: Any,
    grid: Any,
    block: Any,
    stream: Any,
    shared_bytes: Any,
    args: Sequence[Any],
    watchers: Sequence[Any] = (),
    *,
    patience_s: float | None = None,
    segments: Callable[[Dim3], Any] | None = None,
    order: Order | None = None,
    seed: int = 0,
    unheeded: int | None = None,
) -> None:
    """Launch a kernel in the lockstep engine.

    Args:
        kernel: a dispatcher, a kernel of Numba's simulator, or a plain function.
        grid: blocks, one number or up to three.
        block: threads, one number or up to three.
        stream: accepted and ignored.
        shared_bytes: dynamic shared memory per block.
        args: arrays (host or device), numbers, tuples, `cuda.In`, `cuda.Out`, `cuda.InOut`.
        watchers: `lockstep.watch.Watcher`s that listen in.
        patience_s: seconds after which loops are stopped, None to wait for ever.
        segments: which blocks of a grid run, and which of them are watched; None for all.
        order: of warps between barriers: None for lockstep, "reversed", "random" or "late".
        seed: of a random order.
        unheeded: a line of the kernel's text at whose `syncthreads()` nobody waits, None for none.

    Raises:
        LaunchRefused: a device would refuse the launch, or `SMEMNB_SLOW_SECONDS` is no number;
            nothing was launched.
        TypingRefused: Numba would refuse the kernel for these arguments.
        UnsupportedSyntax: the engine cannot run a construct of the kernel.
        KernelStopped: a loop never ends, or outlasts `patience_s`; host arrays are unchanged.
    """
    known = kernel_of(kernel)
    grid_dim, block_dim = launch_dimensions(kernel, grid, block)
    most = limits(devices.cc())
    check_limits(known, grid_dim, block_dim, most)
    _check_options(known)
    dynamic = _shared_bytes(known.name, shared_bytes, most)
    _check_stream(known.name, stream)
    prepared = _prepare(known, args, stream)
    types = None if devices.simulated_by_numba() else _infer(known, prepared)
    if types is not None:
        _check_static(known, types, dynamic, most)
    try:
        launched = lockstep_launch(
            known.function,
            grid_dim,
            block_dim,
            prepared.values,
            shared_bytes=dynamic,
            shared_limit=most.shared_per_block_optin if dynamic else most.shared_per_block,
            watchers=watchers,
            types=types,
            patience_s=patience_left(patience_s),
            slow_after_s=slow_after_s(),
            segments=None if segments is None else segments(grid_dim),
            order=order,
            seed=seed,
            residents=_residents(block_dim, most),
            unheeded=unheeded,
        )
    except KernelStopped as error:
        error.kernel = known.function
        raise
    _warn_of_unassigned(known.function, launched)
    prepared.finish()


def _warn_of_unassigned(function: Callable[..., Any], launched: Launch) -> None:
    """Warn of variables that threads read without a value, once for each line, as Python warns."""
    registry = function.__globals__.setdefault("__warningregistry__", {})
    for site, event in launched.unassigned.items():
        text = (
            f"{site.function}: thread {event.thread} of block {event.block} reads `{event.name}`"
            " and has assigned nothing to it, maybe others, too. A GPU goes on with whatever the"
            f" register holds: assign `{event.name}` on every way to this line."
        )
        warnings.warn_explicit(text, UnassignedVariable, site.file, site.line, registry=registry)


def slow_after_s() -> float | None:
    """Seconds after which a launch says where its time goes: `SMEMNB_SLOW_SECONDS`, else 60.

    None for "off".

    Raises:
        LaunchRefused: the variable holds no number above 0.
    """
    said = os.environ.get(SLOW_VARIABLE, "").strip()
    if not said:
        return SLOW_AFTER_S
    if said.lower() == "off":
        return None
    try:
        seconds = float(said)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise LaunchRefused(
            f"{SLOW_VARIABLE}={said!r} is no number of seconds. Set it to one above 0 or to off, or"
            f" unset it for {SLOW_AFTER_S:.0f}"
        )
    return seconds


# --- grid and block ----------------------------------------------------------------------------


def launch_dimensions(kernel: Any, grid: Any, block: Any) -> tuple[Dim3, Dim3]:
    """Grid and block as three positive ints each.

    >>> def copy(out, inp): ...
    >>> launch_dimensions(copy, 4, (32, 8))
    ((4, 1, 1), (32, 8, 1))

    Raises:
        LaunchRefused: not one to three positive whole numbers.
    """
    function = getattr(kernel, "py_func", None) or getattr(kernel, "fn", None) or kernel
    name = getattr(function, "__name__", "kernel")
    return _dim3(name, "grid", "blocks", grid), _dim3(name, "block", "threads", block)


class SizeRefused(LaunchRefused, TypeError):
    """A grid or block of something else than whole numbers; Numba raises a TypeError."""


def _dim3(name: str, which: str, unit: str, given: Any) -> Dim3:
    sizes = list(given) if isinstance(given, tuple | list) else [given]
    numba = f"{name}: wrong {which}: {which}dim must be a sequence of"  # its words come last
    if not 1 <= len(sizes) <= 3:
        raise LaunchRefused(
            f"{numba} 1, 2 or 3 integers, got {sizes} ({len(sizes)} numbers);"
            " the directions are x, y and z"
        )
    for size in sizes:
        if isinstance(size, float | np.floating):
            raise SizeRefused(
                f"{numba} integers, got {sizes}: it holds the float {size!r}; a number of {unit} is"
                " a whole number. `/` gives a float: write `//`, rounded up as (n + 31) // 32"
            )
        if isinstance(size, bool) or not isinstance(size, int | np.integer):
            raise SizeRefused(
                f"{numba} integers, got {sizes}: write whole numbers: {name}[grid, block](...)"
            )
        if size < 1:
            raise LaunchRefused(
                f"{name}: {which} {given!r} has {size} {unit} in one direction; the least is 1."
                " For empty data, leave the launch out"
            )
    x, y, z = (int(size) for size in (*sizes, 1, 1, 1)[:3])
    return x, y, z


def check_limits(kernel: Kernel, grid: Dim3, block: Dim3, most: Limits) -> None:
    """Raise LaunchRefused if the device or `launch_bounds` forbids this grid and block."""
    chip = f"compute capability {most.cc[0]}.{most.cc[1]}"
    threads = block[0] * block[1] * block[2]
    if threads > most.threads_per_block:
        swapped = 32 <= grid[0] * grid[1] * grid[2] <= most.threads_per_block  # whole warps
        hint = f" Grid and block may be swapped: {kernel.name}[grid, block]." if swapped else ""
        raise LaunchRefused(
            f"{kernel.name}: block {block} has {threads} threads; a block has at most"
            f" {most.threads_per_block} ({chip}). Use a smaller block and more blocks.{hint}"
        )
    rows = (("block", "threads", block, most.block_dim), ("grid", "blocks", grid, most.grid_dim))
    for which, unit, sizes, allowed in rows:
        for axis, size, limit in zip("xyz", sizes, allowed, strict=True):
            if size > limit:
                elsewhere = "Put the longest direction on x"
                cure = elsewhere if axis != "x" else "Use fewer blocks: let each thread do more"
                raise LaunchRefused(
                    f"{kernel.name}: {which} {sizes} has {size} {unit} along {axis}; at most"
                    f" {limit} ({chip}). {cure}"
                )
    bounds = kernel.options.get("launch_bounds")
    if isinstance(bounds, tuple) and len(bounds) > 3:
        raise LaunchRefused(
            f"{kernel.name}: Got {len(bounds)} launch bounds: {bounds}. A maximum of three are"
            " supported: (max_threads_per_block, min_blocks_per_sm, max_blocks_per_cluster)"
        )
    bound = bounds[0] if isinstance(bounds, tuple) else bounds
    if bound is not None and threads > bound:
        raise LaunchRefused(
            f"{kernel.name}: block {block} has {threads} threads; its launch_bounds promise at"
            f" most {bound}. Use a smaller block, or raise launch_bounds"
        )


def _shared_bytes(name: str, given: Any, most: Limits) -> int:
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 0:
        raise LaunchRefused(
            f"{name}: {given!r} is no number of bytes of dynamic shared memory;"
            " write a whole number, elements times itemsize"
        )
    if given > most.shared_per_block_optin:
        raise LaunchRefused(
            f"{name}: {given} bytes of dynamic shared memory; a block has at most"
            f" {most.shared_per_block_optin} (compute capability {most.cc[0]}.{most.cc[1]})."
            " Use a smaller tile"
        )
    return int(given)


def _check_stream(name: str, stream: Any) -> None:
    kinds = int | float | complex | str | bytes | np.generic | np.ndarray
    number = isinstance(stream, int | np.integer) and not isinstance(stream, bool)
    if stream is None or (number and 0 <= stream <= 2):
        return  # 1 and 2 name the default streams
    if isinstance(stream, kinds) or callable(stream) or hasattr(stream, "__len__"):
        lead = (
            f"{name}: the third entry of [grid, block, ...] is the stream, and {stream!r} is none."
        )
        cure = " Write 0 for the default stream, or pass what cuda.stream() gives"
        if number and stream > 2:
            cure = f" Bytes of shared memory are the fourth: {name}[grid, block, 0, {stream}]"
        raise LaunchRefused(lead + cure)


def _check_options(kernel: Kernel) -> None:
    if kernel.dispatcher is not None:
        from . import seam
        from .refusals.options import check_options

        check_options(kernel.name, kernel.options, seam.dispatcher_module._Kernel)


def _check_static(kernel: Kernel, types: Any, dynamic: int, most: Limits) -> None:
    """Refuse shared arrays that do not fit, which the engine would meet in the middle."""
    from .refusals.lowering import shared_bytes

    static = shared_bytes(types)
    limit = most.shared_per_block_optin if dynamic else most.shared_per_block
    if static + dynamic > limit:
        both = f" ({static:,} of its arrays, {dynamic:,} from the launch)" if dynamic else ""
        cure = (
            ""
            if dynamic
            else (
                ", or ask for it at the launch: cuda.shared.array(0, dtype) and"
                f" {kernel.name}[grid, block, 0, nbytes]"
            )
        )
        raise LaunchRefused(
            f"{kernel.name}: a block needs {static + dynamic:,} bytes of shared memory{both} and"
            f" may have {limit:,} (compute capability {most.cc[0]}.{most.cc[1]}). Make the tile"
            f" smaller{cure}"
        )


def _residents(block: Dim3, most: Limits) -> Callable[[int], int]:
    """How many such blocks the device holds at once, by the bytes of shared memory of one."""
    from .host.device import attribute

    sms, warps = attribute("MULTIPROCESSOR_COUNT"), -(-math.prod(block) // WARP_LANES)
    fitting = min(most.blocks_per_sm, most.warps_per_sm // warps)

    def residents(shared_bytes: int) -> int:
        taken = shared_bytes + most.shared_reserved_per_block
        return sms * min(fitting, most.shared_per_sm // taken if taken else fitting)

    return residents


def check_tasks(kernel: Any, tasks: Any, tpb: Any) -> None:
    """Raise LaunchRefused unless `kernel.forall(tasks, tpb)` can be launched."""
    function = getattr(kernel, "py_func", kernel)
    name, most = function.__name__, limits(devices.cc()).threads_per_block
    if isinstance(tasks, bool) or not isinstance(tasks, int | np.integer):
        raise LaunchRefused(
            f"{name}.forall: {tasks!r} is no number of tasks; write a whole number, 0 or more, as"
            f" in {name}.forall(out.size)"
        )
    if tasks < 0:
        raise LaunchRefused(f"Can't create ForAll with negative task count: {tasks}")
    whole = isinstance(tpb, int | np.integer) and not isinstance(tpb, bool)
    if not whole or not 0 <= tpb <= most:
        raise LaunchRefused(
            f"{name}.forall: tpb={tpb!r} is no number of threads per block; write 1 to {most}, or"
            " leave it out"
        )


def forall_block(kernel: Any) -> int:
    """Threads per block of `kernel.forall(n)`: 256, or fewer where `launch_bounds` says so."""
    bounds = (getattr(kernel, "targetoptions", None) or {}).get("launch_bounds")
    bound = bounds[0] if isinstance(bounds, tuple) else bounds
    return min(DEFAULT_BLOCK, bound or DEFAULT_BLOCK)


def forall_grid(kernel: Any, tasks: Any, tpb: Any = 0) -> tuple[int, int]:
    """Blocks and threads per block of `kernel.forall(tasks, tpb)`.

    Raises:
        LaunchRefused: `tasks` or `tpb` is no such number.
    """
    check_tasks(kernel, tasks, tpb)
    block = int(tpb) or forall_block(kernel)
    return -(-int(tasks) // block), block


# --- arguments and types -----------------------------------------------------------------------


def _prepare(kernel: Kernel, args: Sequence[Any], stream: Any) -> Prepared:
    parameters = inspect.signature(kernel.function).parameters
    names = list(parameters)
    kinds = {parameter.kind for parameter in parameters.values()}
    if inspect.Parameter.VAR_POSITIONAL not in kinds and len(args) != len(names):
        missing = ", ".join(names[len(args) :])
        what = f"missing: {missing}" if missing else f"{len(args) - len(names)} too many"
        raise LaunchRefused(
            f"{kernel.name}({', '.join(names)}) takes {len(names)} arguments and got"
            f" {len(args)}; {what}"
        )
    names += [f"{names[-1]}[{i}]" for i in range(len(args) - len(names))] if names else []
    prepared = Prepared()
    for name, value in zip(names, args, strict=True):
        for extension in reversed(kernel.options.get("extensions") or ()):
            _, value = extension.prepare_args(None, value, stream=stream, retr=prepared.write_back)
        prepared.add(name, value)
    return prepared


def _infer(kernel: Kernel, prepared: Prepared) -> Any:
    from .inference import argument_type, infer
    from .overloads import inferred_before, register
    from .signatures import fit

    types = tuple(argument_type(value) for value in prepared.seen)
    if kernel.signatures:
        types = fit(kernel.function, kernel.signatures, types)
        prepared.values = [_cast(v, t) for v, t in zip(prepared.values, types, strict=True)]
    found = inferred_before(kernel.dispatcher, types)
    if found is None:
        found = infer(kernel.function, types, kernel.options)
        if kernel.dispatcher is not None:
            register(kernel.dispatcher, types, found)
    return found


def _cast(value: Any, kind: Any) -> Any:
    """A number as the declared type holds it; arrays and tuples as they are."""
    from .inference import scalar_dtype

    wanted = scalar_dtype(kind)
    if wanted is None or not isinstance(value, np.generic):
        return value
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(wanted)[()]
