"""Launches of Numba's kernels by the driver's own call, their arguments written in advance.

A launch by Numba types each argument, looks for the compiled kernel, flattens each array and wraps
each number, anew in every call. None of that depends on more than the kernel, the shapes and the
strides. So a `Launch` keeps the function's handle and a block of memory with all arguments; a call
writes where the arrays are, and calls `cuLaunchKernel` of `cuda.bindings.driver`.

**The arguments** are those of numba-cuda 0.30 (`_Kernel._prepare_args` and `_Kernel.launch` in
`numba/cuda/dispatcher.py`; the structure is that of `numba/core/datamodel/models.py`, `ArrayModel`,
each member a parameter of its own). An array of n axes is 5 + 2n parameters of 8 bytes:

    meminfo  parent  nitems  itemsize  data  shape[0] .. shape[n-1]  strides[0] .. strides[n-1]

meminfo and parent are 0, nitems counts elements, itemsize and strides are bytes, data is the
address. A number is one parameter of its own width. `cuLaunchKernel` takes an array of pointers,
one per parameter, and reads as many bytes behind each as the kernel has declared; here each
parameter has 8 bytes of its own. It has copied them when it returns, so the memory is then free for
the next launch. `tests/operations/test_prepared.py` holds the bytes to Numba's.

**Not prepared**, so launched by Numba as ever: where SMEMNB_PREPARED is 0 or there is no
numba-cuda with cuda-bindings (`usable`), and kernels for which Numba does more than launch
(`prepared`): `debug=True`, extensions, cooperative groups, code that depends on the launch
configuration.

**Contexts and threads.** A function belongs to the primary context of a device. That context is
made current for the launch where it is not: in a thread that has used no GPU yet, and where another
device is current. Threads never share the memory of arguments: each launch takes a block from
those that are free, and makes one if there is none.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from struct import Struct
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..errors import LaunchRefused
from ..simulator.devices import launches

VARIABLE = "SMEMNB_PREPARED"

WORD = 8
"""Bytes that each parameter has in a block of arguments."""
_DATA = 4
LAUNCHED_SHARED_BYTES = 48 * 1024
"""Shared memory that a launch may bring without a question to the driver."""
LEGACY = (0, 1)
"""Handles of the legacy default stream, which cannot be captured."""


class Lies(NamedTuple):
    """How an array lies, without where: shape, bytes between neighbours along each axis, dtype.

    `layout` is Numba's letter of its type: A takes any strides; C promises contiguous rows.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    layout: str = "A"


class Loaded:
    """A compiled kernel on a device.

    Attributes:
        function: its handle, for the driver.
        context: handle of the primary context of the device.
        keeps: Numba's object for the function; while it lives, the code stays loaded.
        launch: the driver's call that launches.
        current: its call that answers with the current context.
        shared_bytes: that a launch may bring; the driver is to be asked for more.
    """

    __slots__ = ("context", "current", "function", "keeps", "launch", "shared_bytes")

    def __init__(self, function: Any, context: Any, keeps: Any) -> None:
        self.function, self.context, self.keeps = function, context, keeps
        self.shared_bytes = LAUNCHED_SHARED_BYTES
        driver = _driver()
        self.launch, self.current = driver.cuLaunchKernel, driver.cuCtxGetCurrent


@cache
def _driver() -> Any:
    """cuda.bindings.driver if the installed numba.cuda launches by it, else None."""
    try:
        from cuda.bindings import driver  # type: ignore[import-not-found, import-untyped, unused-ignore]
        from numba.cuda.dispatcher import CUDADispatcher, LaunchConfig  # noqa: F401
    except ImportError:  # the numba.cuda inside numba
        return None
    return driver


@cache
def is_wanted() -> bool:
    """Whether SMEMNB_PREPARED is other than 0; read once, as reading it costs a microsecond."""
    return os.environ.get(VARIABLE) != "0"


def usable() -> bool:
    """Whether launches of this process are prepared: on a GPU, by numba-cuda.

    SMEMNB_PREPARED=0, set before the first call, leaves each launch to Numba, to tell whose a fault
    is. Nor are they prepared with SMEMNB_DEVICE=off, which leaves numba.cuda alone.
    """
    return is_wanted() and launches() == "gpu" and _driver() is not None


# --- what the arguments are ---------------------------------------------------------------------


def words_of(lies: Lies) -> list[int]:
    """An array's parameters, with 0 for its address.

    >>> words_of(Lies((2, 3), (12, 4), np.dtype(np.float32)))
    [0, 0, 6, 4, 0, 2, 3, 12, 4]
    """
    items = 1
    for extent in lies.shape:
        items *= extent
    return [0, 0, items, lies.dtype.itemsize, 0, *lies.shape, *lies.strides]


_LETTERS = {
    **{"float32": "f4x", "float64": "d", "int8": "b7x", "uint8": "B7x"},
    **{"int16": "h6x", "uint16": "H6x", "int32": "i4x", "uint32": "I4x"},
    **{"int64": "q", "uint64": "Q"},
}
"""How `struct` writes a number of a type of Numba's into a word; little-endian, as every host."""


@lru_cache(maxsize=256)
def _array_type(dtype: np.dtype[Any], ndim: int, layout: str) -> Any:
    from numba.cuda import types
    from numba.cuda.np.numpy_support import from_dtype

    return types.Array(from_dtype(dtype), ndim, layout)


def _scalar_type(value: Any) -> Any:
    from numba.cuda.typing.typeof import Purpose, typeof

    return typeof(value, Purpose.argument)


# --- a launch -----------------------------------------------------------------------------------


class _Block(NamedTuple):
    """Memory of the arguments of one launch, the array of pointers to them, and its address.

    `config` is the driver's description of a launch that overlaps; other launches have none.
    """

    words: Any
    pointers: Any
    at: int
    config: Any = None
    config_at: int = 0


class Launch:
    """A kernel with its grid and all arguments but addresses and numbers.

    Pointers may lead anywhere, so what changes stands first, and one call of `struct` writes it:
    addresses, numbers, then the words that stay.

    Args:
        loaded: the kernel on its device.
        grid: blocks in x, y and, if there is a third number, z.
        block: threads, likewise.
        arrays: how the arrays before the numbers lie.
        numbers: the name of each number's type, as float32.
        own: how the arrays after the numbers lie.
        shared_bytes: of shared memory that the launch brings.
        overlaps: the kernel may be brought to the GPU while the one before it in the stream still
            runs. It then waits by itself (`kernels.ptx.asynchronous.await_previous`).
    """

    __slots__ = (
        *("_at", "_by_config", "_context", "_extents", "_free", "_handle", "_launch", "_loaded"),
        *("_overlaps", "_template", "_write"),
    )

    def __init__(
        self,
        loaded: Loaded,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        arrays: Sequence[Lies],
        numbers: Sequence[str] = (),
        own: Sequence[Lies] = (),
        shared_bytes: int = 0,
        *,
        overlaps: bool = False,
    ) -> None:
        self._loaded, self._context = loaded, int(loaded.context)
        self._extents, self._overlaps = (*_three(grid), *_three(block)), overlaps
        self._by_config: Any = _launch_by_config() if overlaps else None
        self._handle = int(loaded.function) if overlaps else 0
        # what `cuLaunchKernel` takes before stream, arguments and `extra`
        extents = (*_three(grid), *_three(block))
        self._launch = partial(loaded.launch, loaded.function, *extents, shared_bytes)
        count = len(arrays) + len(own)
        kinds = "".join(_LETTERS[name] for name in numbers)
        self._write = Struct("=" + "q" * count + kinds).pack_into
        self._template = [0] * (count + len(numbers))
        self._at: list[int] = []  # of each parameter, the number of its word
        addresses = iter(range(count))
        for lies in arrays:
            self._add(lies, next(addresses))
        self._at += range(count, count + len(numbers))
        for lies in own:
            self._add(lies, next(addresses))
        self._free: list[_Block] = []

    def _add(self, lies: Lies, address: int) -> None:
        words = words_of(lies)
        first = len(self._template)
        self._template += words
        at = list(range(first, first + len(words)))
        at[_DATA] = address
        self._at += at

    def _new_block(self) -> _Block:
        words = (ctypes.c_int64 * len(self._template))(*self._template)
        begin, count = ctypes.addressof(words), len(self._at)
        pointers = (ctypes.c_void_p * count)(*(begin + WORD * at for at in self._at))
        at = ctypes.addressof(pointers)
        if not self._overlaps:
            return _Block(words, pointers, at)
        config = _overlapping(self._extents)
        return _Block(words, pointers, at, config, ctypes.addressof(config))

    def _put(self, block: _Block, handle: int) -> Any:
        if block.config is None:
            return self._launch(stream_object(handle), block.at, 0)[0]
        block.config.stream = handle
        return self._by_config(block.config_at, self._handle, block.at, 0)

    def start(self, addresses: Sequence[int], numbers: Sequence[Any], handle: int) -> None:
        """Put the launch on the stream of this handle.

        Args:
            addresses: of all arrays, those before the numbers first.
            numbers: as many as were said.
            handle: of a stream of the device; 0 for the default one.

        Raises:
            CudaAPIError: the driver refuses the launch.
        """
        try:
            # `pop` and `append` of a list are atomic, so no two threads get the same block, and
            # none waits for a lock while another one is in the driver.
            block = self._free.pop()
        except IndexError:
            block = self._new_block()
        self._write(block.words, 0, *addresses, *numbers)
        loaded = self._loaded
        if int(loaded.current()[1]) == self._context:
            error = self._put(block, handle)
        else:
            # Function, memory and stream are of one context, and the driver launches in the
            # current one.
            driver = _driver()
            _check(driver.cuCtxPushCurrent(loaded.context)[0])
            try:
                error = self._put(block, handle)
            finally:
                driver.cuCtxPopCurrent()
        self._free.append(block)
        if error:
            _check(error)


class _Attribute(ctypes.Structure):
    """`CUlaunchAttribute` of the driver: what a launch may do besides."""

    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_int * 16))


class _Config(ctypes.Structure):
    """`CUlaunchConfig` of the driver."""

    _fields_ = (
        ("extents", ctypes.c_uint * 6),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    )


_OVERLAPS = 6
"""`CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`."""


def _overlapping(extents: tuple[int, ...]) -> _Config:
    """A launch that need not wait for the one before it (programmatic stream serialization)."""
    wished = _Attribute(id=_OVERLAPS)
    wished.value[0] = 1
    return _Config((ctypes.c_uint * 6)(*extents), 0, None, ctypes.pointer(wished), 1)


@cache
def _launch_by_config() -> Any:
    """`cuLaunchKernelEx` of the driver's library, or None.

    Called by `ctypes`: cuda.bindings (13.0) takes 25 us to take its own description of a launch
    apart, more than all the rest of a call.
    """
    try:
        library = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
        found = library.cuLaunchKernelEx
    except (OSError, AttributeError):
        return None
    found.argtypes = (ctypes.c_void_p,) * 4
    return found


@lru_cache(maxsize=64)
def overlaps_on(place: int) -> bool:
    """Whether kernels of one stream may overlap on a device: from cc 9.0 on."""
    if _launch_by_config() is None:
        return False
    driver = _driver()
    asked = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
    error, found = driver.cuDeviceGetAttribute(asked, driver.CUdevice(place))
    return not error and int(found) >= 9


class Zeros:
    """Words of memory set to 0, in place of a launch.

    Args:
        words: of 4 bytes.
        context: handle of the primary context of the device.
    """

    __slots__ = ("_context", "_words")

    def __init__(self, words: int, context: Any) -> None:
        self._words, self._context = words, context

    def start(self, addresses: Sequence[int], numbers: Sequence[Any], handle: int) -> None:
        """Put it on the stream of this handle, as `Launch.start`; the only array is the memory.

        Raises:
            CudaAPIError: the driver refuses it.
        """
        driver = _driver()
        memory, stream = driver.CUdeviceptr(addresses[0]), stream_object(handle)
        if int(driver.cuCtxGetCurrent()[1]) == int(self._context):
            _check(driver.cuMemsetD32Async(memory, 0, self._words, stream)[0])
            return
        _check(driver.cuCtxPushCurrent(self._context)[0])
        try:
            error = driver.cuMemsetD32Async(memory, 0, self._words, stream)[0]
        finally:
            driver.cuCtxPopCurrent()
        _check(error)


def zeros(size: int, place: int) -> Zeros | None:
    """What sets so many bytes on a device to 0; None if a kernel has to."""
    if size % 4 or not usable():
        return None
    from numba import cuda

    context = cuda.gpus[place].get_primary_context().handle
    return Zeros(size // 4, _driver().CUcontext(int(context)))


def _three(extents: tuple[int, ...]) -> tuple[int, ...]:
    return (*(int(extent) for extent in extents), 1, 1)[:3]


@lru_cache(maxsize=1024)
def stream_object(handle: int) -> Any:
    """The driver's object for a handle: making one takes longer than looking it up."""
    return _driver().CUstream(handle)


def _check(error: Any) -> None:
    if not error:
        return
    from numba.cuda.cudadrv.driver import CudaAPIError

    raise CudaAPIError(int(error), getattr(error, "name", str(error)))


def one_by_one(scalars: Sequence[Any]) -> tuple[Any, ...]:
    """The numbers in the order of their parameters: a tuple has one for each of its elements.

    >>> one_by_one((1, (2.0, 3.0), 4))
    (1, 2.0, 3.0, 4)
    """
    each = (one if isinstance(one, tuple) else (one,) for one in scalars)
    return tuple(number for several in each for number in several)


# --- kernels, compiled and loaded ----------------------------------------------------------------


_loaded: WeakKeyDictionary[Any, dict[Any, Loaded]] = WeakKeyDictionary()
_loading = Lock()

Supply = Callable[[Any, tuple[Any, ...]], None]
"""Told a kernel and the types of its arguments before it is compiled; may add the overload."""
_supplies: list[Supply] = []


@contextmanager
def supplied(supply: Supply) -> Iterator[None]:
    """Within it, each kernel that is not loaded yet is told to `supply` before it is compiled."""
    _supplies.append(supply)
    try:
        yield
    finally:
        _supplies.remove(supply)


def prepared(
    kernel: Any,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    arrays: tuple[Lies, ...],
    scalars: tuple[Any, ...],
    own: tuple[Lies, ...],
    place: int,
    handle: int,
    shared_bytes: int = 0,
    *,
    overlaps: bool = False,
) -> Launch | None:
    """The launch of a kernel on arrays that lie so; None if Numba has to launch it.

    Args:
        kernel: the dispatcher.
        grid: blocks.
        block: threads.
        arrays: before the scalars.
        scalars: as they will be passed, tuples of numbers too; types count, values do not.
        own: arrays after the scalars.
        place: number of the device, which is the current one.
        handle: of the stream; while it captures, nothing is compiled or loaded.
        shared_bytes: of shared memory that the launch brings.
        overlaps: as `Launch` takes it; ignored where the device cannot.

    Raises:
        LaunchRefused: the kernel is not loaded, and the stream captures.
    """
    if not usable() or not _launches_only(kernel):
        return None
    kinds = tuple(map(_scalar_type, scalars))
    numbers = tuple(str(_scalar_type(one)) for one in one_by_one(scalars))
    if not all(kind in _LETTERS for kind in numbers):
        return None
    loaded = _load(kernel, _signature(arrays, kinds, own), place, handle)
    if loaded is None:
        return None
    if shared_bytes > loaded.shared_bytes:
        allow_shared(loaded, shared_bytes, place)
        loaded.shared_bytes = shared_bytes
    overlaps = overlaps and not shared_bytes and overlaps_on(place)
    return _launch(loaded, grid, block, arrays, numbers, own, shared_bytes, overlaps=overlaps)


def allow_shared(loaded: Loaded, shared_bytes: int, place: int) -> None:
    """Let a kernel be launched with so many bytes of shared memory beside its own arrays.

    Raises:
        CudaAPIError: a block of this device cannot have so many.
    """
    driver = _driver()
    most = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    handle = getattr(loaded.keeps, "handle", None)
    if isinstance(handle, driver.CUkernel):  # a kernel of a library, for whichever context
        device = driver.CUdevice(place)
        _check(driver.cuKernelSetAttribute(most, shared_bytes, handle, device)[0])
    else:
        _check(driver.cuFuncSetAttribute(loaded.function, most, shared_bytes)[0])


def allow_launches(kernel: Any, signature: tuple[Any, ...], shared_bytes: int) -> None:
    """Let Numba launch a kernel with so many bytes of dynamic shared memory, on the device at hand.

    Without a GPU there is nothing to allow.

    Raises:
        CudaAPIError: a block of this device cannot have so many.
    """
    if shared_bytes <= LAUNCHED_SHARED_BYTES or not usable():
        return
    from numba import cuda

    place = int(cuda.get_current_device().id)
    loaded = _load(kernel, signature, place, 0)
    if loaded is not None:
        allow_shared(loaded, shared_bytes, place)


@lru_cache(maxsize=1024)
def _launch(
    loaded: Loaded,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    arrays: tuple[Lies, ...],
    numbers: tuple[str, ...],
    own: tuple[Lies, ...],
    shared_bytes: int,
    *,
    overlaps: bool,
) -> Launch:
    return Launch(loaded, grid, block, arrays, numbers, own, shared_bytes, overlaps=overlaps)


@lru_cache(maxsize=1024)
def _signature(
    arrays: tuple[Lies, ...], scalars: tuple[Any, ...], own: tuple[Lies, ...]
) -> tuple[Any, ...]:
    before, after = (
        tuple(_array_type(one.dtype, len(one.shape), one.layout) for one in some)
        for some in (arrays, own)
    )
    return (*before, *scalars, *after)


def _launches_only(kernel: Any) -> bool:
    """Whether Numba would do no more than launch it."""
    from numba.cuda.dispatcher import CUDADispatcher

    if not isinstance(kernel, CUDADispatcher):
        return False
    options = kernel.targetoptions
    return not (options.get("debug") or options.get("extensions") or kernel.specialized)


def _load(kernel: Any, signature: tuple[Any, ...], place: int, handle: int) -> Loaded | None:
    kept = _loaded.get(kernel)
    if kept is None:
        with _loading:
            kept = _loaded.setdefault(kernel, {})
    if (signature, place) in kept:
        return kept[signature, place]
    if capturing(handle):
        raise LaunchRefused(
            f"{kernel.py_func.__name__} is not loaded on device {place} yet, and nothing can be"
            " loaded while a stream is captured into a CUDA graph. Call the operation once, with"
            " arrays of these shapes, before capturing"
        )
    for supply in _supplies:
        supply(kernel, signature)
    made = kernel.compile(signature)
    if made.cooperative or made.launch_config_sensitive or made.debug or made.extensions:
        return None
    # Numba keeps the function of each device, and asks for its attributes when it makes it: with
    # lazy loading its code is on the device from then on, before any capture begins.
    function = made.library.get_cufunc()
    from numba import cuda

    context = cuda.gpus[place].get_primary_context().handle
    driver = _driver()
    found = Loaded(
        driver.CUfunction(int(function.handle)), driver.CUcontext(int(context)), function
    )
    kept[signature, place] = found
    return found


# --- capture -------------------------------------------------------------------------------------


def capturing(handle: int) -> bool:
    """Whether work on a stream is captured into a CUDA graph; no error, no synchronisation."""
    driver = _driver()
    if handle in LEGACY or driver is None or launches() != "gpu":
        return False
    error, status = driver.cuStreamIsCapturing(stream_object(handle))
    return not error and int(status) != 0


def query_beside_captures() -> None:
    """Allow this thread to ask for events while another one captures.

    Else a question about an event would end a capture that was begun in the mode "global".
    """
    driver = _driver()
    if driver is not None and launches() == "gpu":
        relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        driver.cuThreadExchangeStreamCaptureMode(relaxed)


@lru_cache(maxsize=64)
def has_pools(place: int) -> bool:
    """Whether a device has memory pools, of which a graph's memory is taken."""
    driver = _driver()
    asked = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
    error, found = driver.cuDeviceGetAttribute(asked, driver.CUdevice(place))
    return not error and bool(found)


def graph_memory(handle: int, size: int) -> int:
    """Memory of the graph that a stream is captured into: the address that it has in each replay.

    To be given back by `graph_free` on the same stream, after the work that uses it.

    Raises:
        CudaAPIError: the device has no memory pools.
    """
    error, address = _driver().cuMemAllocAsync(size, stream_object(handle))
    _check(error)
    return int(address)


def graph_zeros(handle: int, words: int) -> int:
    """The same, of so many words of 4 bytes, all 0 at the beginning of each replay."""
    address = graph_memory(handle, 4 * words)
    clear(handle, address, words)
    return address


def clear(handle: int, address: int, words: int) -> None:
    """Set words of 4 bytes to 0 on a stream of the current context."""
    driver, stream = _driver(), stream_object(handle)
    _check(driver.cuMemsetD32Async(driver.CUdeviceptr(address), 0, words, stream)[0])


def lasting_zeros(words: int) -> int:
    """Words of 4 bytes on the current device, all 0, which are never given back.

    They can be had while streams are captured: nothing is put on those, and the thread's mode of
    capture is relaxed meanwhile.
    """
    driver = _driver()
    relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    error, mode = driver.cuThreadExchangeStreamCaptureMode(relaxed)
    _check(error)
    try:
        error, address = driver.cuMemAlloc(4 * words)
        _check(error)
        error, stream = driver.cuStreamCreate(int(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
        _check(error)
        _check(driver.cuMemsetD32Async(address, 0, words, stream)[0])
        _check(driver.cuStreamSynchronize(stream)[0])
        driver.cuStreamDestroy(stream)
    finally:
        driver.cuThreadExchangeStreamCaptureMode(mode)
    return int(address)


def graph_free(handle: int, addresses: Sequence[int]) -> None:
    """Give memory of a graph back to it, for what comes later in it."""
    driver = _driver()
    for address in addresses:
        _check(driver.cuMemFreeAsync(driver.CUdeviceptr(address), stream_object(handle))[0])
