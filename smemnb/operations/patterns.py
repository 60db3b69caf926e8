"""Operations of a few lines: arrays of any library in, launches of a ladder's kernels, array out.

An operation of a pattern (a sum, a scan, a histogram, a softmax) says what its result is and what
to launch for arrays of given shapes; `perform` does the rest of the contract: it reads arrays of
any library, refuses, makes the result in that library, launches on the caller's stream with a
workspace of that stream, copies arrays of the host there and back, and does a call like one before
without planning it anew. A worked example, `doubled(x)`:

    from ..kernels.step import Launch
    from .patterns import Call, Work, perform

    def doubled(x, out=None, stream=None):
        return perform("doubled", _plan, {"x": x}, (), out, stream)

    def _plan(call: Call) -> Work:
        x = call.contiguous("x")                      # a Laid: shape, strides, dtype, no address
        call.check_dtype("x", ("float32", "float64"))

        def launches(new, out):                       # both are Laid; `new` is a Workspace
            blocks = max(1, -(-x.size // 256))
            return [Launch(double, blocks, 256, (out.flat(), x.flat()))]

        return Work(x.shape, x.dtype, launches, f"doubled of {x.size} elements", "2 * x")

**What a plan may depend on.** On `call` and on the options, which are hashable and part of the key
under which a call is remembered: shapes, strides, dtypes, the last bits of addresses
(`Laid.aligned`), `call.processors`. Never on the elements of an array. It launches nothing.

**Launches** are `smemnb.kernels.step.Launch`: arrays first, then numbers, whose types are those
that Numba gives them (np.uint32(n) for an offset). Arrays are `Laid`s of the arguments
(`call["x"]`), of `out`, or of the workspace: `step.scratch(new, shape, dtype)` for memory that may
hold anything, `step.flags(new, shape, dtype)` for zeros that the launches leave as zeros,
`new(shape, dtype)` for zeros that a launch of its own sets. `step.launches(new, out.flat(),
x.flat())` of a ladder's step is all that most plans need. A `Laid` is looked at in another way by
`seen` and `flat`.

**Axes.** `axes_of(axis, ndim)` reads `axis`; `call.folded("x", axes)` sees the array as outer x
length x inner elements along these axes, wherever they lie, and puts its axes into that order by
the copy of `transpose` where its memory does not allow it; `reduced_shape` is what is left of a
shape.

**Limits.** One result. What an operation does through `call.packed` goes the whole way each time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Mapping, Sequence
from math import prod
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from ..errors import LaunchRefused, SmemnbError, shortened
from ..kernels.fill import fill, filling
from ..kernels.step import Launch
from ..simulator import device
from ..simulator.devices import launches as launched_by
from . import launching, prepared, workspace
from .backends.array_backend import ArrayBackend
from .backends.find import array_view, exact
from .backends.matrix_view import HOST, MatrixView, TypeRefused
from .backends.numba_arrays import _described, on_device, stream_of
from .choice import moved_as
from .contract import MAX_ELEMENTS, check_aligned, check_together, dtype_cure, handle_in
from .engine import check_time
from .laid import Folded, Laid, folded
from .overlap import share
from .repeated import MOST, _glanced
from .workspace import FLAGS, NOTHING, SCRATCH, SIGNALS, Needed, Workspace

OUT = "out"


class Work(NamedTuple):
    """What an operation does for arrays of given shapes.

    Attributes:
        shape: of the result.
        dtype: of the result, one of NumPy's.
        launches: `launches(new, out)`, asked once all is checked; `out` is the result, whole.
        words: what is done, for a refusal: "sum of 3 x 4 elements".
        instead: what to write without a GPU: "x.sum()".
        seconds: that it would take in the lockstep engine (`engine_seconds`).
        fill: the value of every element of the result, in place of launches: of empty arrays.
        own: dtype of the result in the caller's library, where `dtype` only has its bits.
        reads_out: whether `out` is read before it is written.
        gaps: whether `launches` take an `out` whose last axis alone is one of neighbours.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    launches: Callable[[Workspace, Laid], Sequence[Launch]]
    words: str
    instead: str
    seconds: float = 0.0
    fill: Any = None
    own: Any = None
    reads_out: bool = False
    gaps: bool = False


class Pack(NamedTuple):
    """A copy of an argument with its axes in another order, contiguous."""

    name: str
    order: tuple[int, ...]


class Call:
    """The arguments of a call, as a plan looks at them.

    Attributes:
        views: the arrays, by the names of their arguments.
        place: number of their device, or `HOST`.
        processors: multiprocessors of the device that works; `ENGINE` without one.
        packs: copies that come before the launches, by the source of what they make.
    """

    def __init__(self, views: Mapping[str, MatrixView]) -> None:
        self.views = dict(views)
        self.place = next(iter(self.views.values())).place
        self.processors = launching.processors(self.place)
        self.packs: dict[str, Pack] = {}
        self._laid = {name: _laid(view) for name, view in self.views.items()}

    def __getitem__(self, name: str) -> Laid:
        """An argument as it lies; one of the host lies contiguous in its copy on the device."""
        return self._laid[name]

    def __contains__(self, name: str) -> bool:
        return name in self._laid

    def check_dtype(
        self,
        name: str,
        allowed: Sequence[str],
        what: str = "this operation",
        *,
        by_parts: bool = False,
    ) -> None:
        """Raise TypeRefused unless an argument is of one of these dtypes of NumPy.

        `by_parts`: whether the operation on complex numbers is one on either part.
        """
        check_dtype(self.views[name], allowed, what, by_parts=by_parts)

    def contiguous(self, name: str) -> Laid:
        """The argument in the order of its rows, without gaps: as it lies, or a copy."""
        laid = self[name]
        return laid if laid.is_contiguous else self.packed(name, tuple(range(laid.ndim)))

    def packed(self, name: str, order: tuple[int, ...]) -> Laid:
        """A contiguous copy of an argument with its axes in this order, made by `transpose`.

        Raises:
            LaunchRefused: elements lie backwards.
        """
        view, laid = self.views[name], self[name]
        if any(step < 0 < n - 1 for step, n in zip(laid.strides, laid.shape, strict=True)):
            raise LaunchRefused(
                f"`{name}` has shape {laid.shape} and strides {laid.strides} bytes: a negative one"
                " walks backwards (a slice with step -1). Pass"
                f" {view.backend.contiguous.format(name=name)}"
            )
        source = f"{name} packed {order}"
        self.packs[source] = Pack(name, order)
        shape = tuple(laid.shape[axis] for axis in order)
        return Laid(source, (1,), (laid.itemsize,), laid.dtype).seen(shape)

    def folded(
        self, name: str, axes: tuple[int, ...], *, any_order: bool = False
    ) -> tuple[Laid, Folded]:
        """An argument's memory (`flat`) and its elements along axes; a copy where it must be.

        Offset `o * outer_step + k * length_step + i * inner_step` of the first is element k of the
        line (o, i), and lines are numbered `o * inner + i`, in the order of the other axes.
        """
        laid = self[name]
        found = folded(laid, axes, any_order=any_order)
        if found is None:
            others = tuple(at for at in range(laid.ndim) if at not in axes)
            laid = self.packed(name, others + axes)
            length = prod(laid.shape[len(others) :])
            found = Folded(laid.size // max(1, length), length, 1, length, 1, 0)
        return laid.flat(), found


def check_dtype(
    view: MatrixView, allowed: Sequence[str], what: str, *, by_parts: bool = False
) -> None:
    """Raise TypeRefused unless an array is of one of these dtypes of NumPy."""
    kind = view.backend.number_type(view.dtype)
    if kind is not None and kind.name in allowed and kind.isnative:
        return
    cure = dtype_cure(view, allowed, by_parts=by_parts)
    raise TypeRefused(f"`{view.name}` is {view.dtype}; {what} takes {', '.join(allowed)}. {cure}")


def engine_seconds(elements: int, launches: int = 1, per_element: float = 60e-9) -> float:
    """What launches over so many elements take in the lockstep engine, within a factor of two.

    >>> f"{engine_seconds(1 << 28):.0f} s"
    '16 s'
    """
    return launches * 10e-3 + elements * per_element


def host_number(value: Any) -> Any:
    """The only element of an array of any library, on the host: waits until it is there."""
    item = getattr(value, "item", None)
    return item() if item is not None else value.copy_to_host().item()


# --- a call --------------------------------------------------------------------------------------


def perform(
    name: str,
    plan: Callable[..., Work],
    arrays: Mapping[str, Any],
    options: tuple[Hashable, ...] = (),
    out: Any = None,
    stream: Any = None,
) -> Any:
    """The result of an operation.

    Args:
        name: of the operation.
        plan: `plan(call, *options)`: what to do for these arrays.
        arrays: what is read, by the names of the arguments; the first one says of which library
            the result is.
        options: all else that the plan depends on.
        out: where the result goes, or None.
        stream: as the caller said.

    Raises:
        LaunchRefused: an argument is not taken. Nothing was launched, and `out` is as it was.
    """
    try:
        return _performed(name, plan, arrays, options, out, stream)
    except SmemnbError as error:
        raise shortened(error) from error.__cause__


def _performed(
    name: str,
    plan: Callable[..., Work],
    arrays: Mapping[str, Any],
    options: tuple[Hashable, ...],
    out: Any,
    stream: Any,
) -> Any:
    operands = tuple(arrays.values())
    library = exact.get(type(operands[0]))
    if library is None or not prepared.usable():
        return _whole(plan, arrays, options, out, stream)[0]
    operation: Any = (name, plan, *arrays, options)
    glanced = _glanced(operation, library, operands, out, (), stream, None)
    if glanced is None:
        return _whole(plan, arrays, options, out, stream)[0]
    key, addresses, _, handle = glanced
    known = _known.get(key)
    if known is not None:
        done = _again(known, library, operands, out, addresses, handle)
        if done is not None:
            return done[0]
    result, ready = _whole(plan, arrays, options, out, stream)
    if known is None and ready is not None:
        found = _learned(library, tuple(arrays), operands, result, ready)
        if found is not None:
            if len(_known) >= MOST:
                _known.clear()
            _known[key] = found
    return result


_Start = prepared.Launch | prepared.Zeros


class Ready(NamedTuple):
    """A launch with all but the addresses of its arrays: their sources and bytes from there."""

    launch: Launch
    prepared: _Start
    sources: tuple[tuple[str, int], ...]
    numbers: tuple[Any, ...]


class _Plan(NamedTuple):
    """What a call came to."""

    launches: tuple[Ready, ...]
    new: Workspace
    place: int
    dtype: Any


def _whole(
    plan: Callable[..., Work],
    arrays: Mapping[str, Any],
    options: tuple[Hashable, ...],
    out: Any,
    stream: Any,
) -> tuple[Any, _Plan | None]:
    """The result, and what may be done again from addresses alone, if it may."""
    asked = handle_in(stream)
    views = {name: array_view(name, value, asked) for name, value in arrays.items()}
    into = None if out is None else array_view(OUT, out, asked)
    every = [*([] if into is None else [into]), *views.values()]
    check_together(every, whole=False)
    check_aligned(every)
    for view in every:
        _check_reach(view)
    call = Call(views)
    work = plan(call, *options)
    first = next(iter(views.values()))
    kind = first.backend.own_type(work.dtype) if work.own is None else work.own
    if into is not None:
        _check_out(into, work, list(views.values()))
    if not launching.on_gpu():
        launching.check_reachable(every)
        check_time(work.words, work.seconds, "by its measured rate", work.instead)

    count = prod(work.shape)
    if into is None:
        target = first.backend.empty(_like(first, kind, work.dtype.itemsize), 1, count, asked)
        target.name = OUT
    else:
        target = into
        target.backend.before_write(target)
    handle = first.backend.stream(first) if asked is None else asked
    on: Any = 0
    ready: _Plan | None = None
    if count:
        new, laid = Workspace(), _laid(target, work.dtype)
        if into is None or not work.gaps:
            laid = laid.seen(work.shape)
        if work.fill is not None and laid.is_contiguous:
            some: Sequence[Launch] = [filling(laid.flat(), work.dtype.type(work.fill))]
        else:
            some = work.launches(new, laid)
        some = [*(filling(zeros, np.uint32(0)) for zeros in new.zeroed), *some]
        on, made = _run(
            some, new, views, call.packs, target, laid, handle, reads_out=work.reads_out
        )
        if made is not None and not call.packs:
            ready = _Plan(made, new, first.place, kind)
    if into is not None:
        return out, ready
    return _shaped(first.backend.native(target, first, on), work.shape), ready


def _shaped(value: Any, shape: tuple[int, ...]) -> Any:
    """The result in its shape; of NumPy a number where it has no axes, as NumPy's own are."""
    made = value.reshape(shape)
    return made[()] if isinstance(made, np.ndarray) and not shape else made


def _like(view: MatrixView, dtype: Any, itemsize: int) -> MatrixView:
    """The view with another dtype: what `empty` looks at."""
    found = object.__new__(MatrixView)
    for name in MatrixView.__slots__:
        setattr(found, name, getattr(view, name))
    found.dtype, found.itemsize = dtype, itemsize
    return found


def _laid(view: MatrixView, dtype: np.dtype[Any] | None = None) -> Laid:
    kind = dtype or view.backend.number_type(view.dtype) or np.dtype(f"V{view.itemsize}")
    if view.place == HOST:
        return Laid(view.name, (1,), (kind.itemsize,), kind).seen(view.extents)
    return Laid(view.name, view.extents, view.steps, kind, 0, view.address % 128)


def _check_reach(view: MatrixView) -> None:
    elements = sum((n - 1) * abs(s) for n, s in zip(view.extents, view.steps, strict=True))
    if 0 not in view.extents and elements // max(1, view.itemsize) >= MAX_ELEMENTS:
        raise LaunchRefused(
            f"`{view.name}` of shape {view.extents} reaches over more than 2**31 = {MAX_ELEMENTS}"
            " elements, gaps counted, which is what the kernels address: pass the array in parts"
        )


def _check_out(out: MatrixView, work: Work, inputs: Sequence[MatrixView]) -> None:
    """Raise unless the result may be written to `out`."""
    if out.extents != work.shape:
        raise LaunchRefused(f"`out` has shape {out.extents}; the result has {work.shape}")
    kind = work.dtype if work.own is None else work.own
    found = out.backend.number_type(out.dtype) if work.own is None else out.dtype
    if found != kind:
        raise TypeRefused(f"`out` is {out.dtype}; the result is {kind}. Pass an `out` of {kind}")
    if out.readonly:
        raise LaunchRefused("`out` is read-only. Pass an array that may be written")
    own = "Leave `out` out, or pass an array of its own memory"
    steps = [(s, n) for s, n in zip(out.steps, out.extents, strict=True) if n > 1]
    behind = out.itemsize
    for step, extent in sorted(steps):
        if step < behind:
            raise LaunchRefused(
                f"`out` has shape {out.extents} and strides {out.steps} bytes: elements share"
                f" memory, or lie backwards. {own}"
            )
        behind = step * extent
    if out.place != HOST and work.gaps:
        if out.extents and out.extents[-1] > 1 and out.steps[-1] != out.itemsize:
            raise LaunchRefused(
                f"`out` has shape {out.extents} and strides {out.steps} bytes: elements of its last"
                f" axis must be neighbours, {out.itemsize} bytes apart. {own}"
            )
    elif out.place != HOST and not _laid(out).is_contiguous:
        raise LaunchRefused(
            f"`out` has shape {out.extents} and strides {out.steps} bytes; the result is written"
            " in the order of its rows, without gaps. Leave `out` out and copy the result, or pass"
            " a contiguous array"
        )
    for other in inputs:
        if share(out, other):
            raise LaunchRefused(
                f"`out` shares memory with `{other.name}`, which is read while `out` is written."
                f" {own}"
            )


# --- launches ------------------------------------------------------------------------------------

_putting = Lock()
"""Held while launches that share a workspace are put on a stream, so that no other thread's come
between them."""


def _run(
    some: Sequence[Launch],
    new: Workspace,
    views: Mapping[str, MatrixView],
    packs: Mapping[str, Pack],
    target: MatrixView,
    laid: Laid,
    handle: int,
    *,
    reads_out: bool = False,
) -> tuple[Any, tuple[Ready, ...] | None]:
    """Launch all; Numba's stream, and the launches if the driver can be called for them again."""
    if target.place == HOST:
        return _run_on_host(
            some, new, views, packs, target, laid, handle, reads_out=reads_out
        ), None
    place = target.place
    with on_device(place):
        stream = stream_of(handle, place)
        for view in (target, *views.values()):
            if view.stream is not None and view.stream != handle:
                launching._order(view, handle, stream)
        at = {name: view.address for name, view in views.items()} | {OUT: target.address}
        copies = []
        for source, pack in packs.items():
            copy = _packed(views[pack.name], pack.order, handle)
            copies.append(copy)
            at[source] = copy.address
        made = _put(some, new, at, place, handle, stream)
        launching._let_go([target, *views.values(), *copies], handle, stream)
    return stream, made


def _put(
    some: Sequence[Launch],
    new: Workspace,
    at: dict[str, int],
    place: int,
    handle: int,
    stream: Any,
) -> tuple[Ready, ...] | None:
    """Launch all on a device, from the addresses of their sources."""
    all_ready = [_ready(launch, place, handle) for launch in some]
    with _putting, workspace.memory(new.needed, place, handle) as (scratch, flags, signals):
        at |= {SCRATCH: scratch, FLAGS: flags, SIGNALS: signals}
        for launch, ready in zip(some, all_ready, strict=True):
            if ready is not None:
                places = [at[source] + offset for source, offset in ready.sources]
                ready.prepared.start(places, ready.numbers, handle)
            else:
                args = [_argument(one, at, place) for one in launch.args]
                launch._replace(args=tuple(args)).start(stream)
    found = tuple(ready for ready in all_ready if ready is not None)
    return found if len(found) == len(some) else None


def starting(
    some: Sequence[Launch], new: Workspace, at: Mapping[str, int], place: int, handle: int = 0
) -> Callable[[], None]:
    """A function that puts planned launches on a stream, each time with the same memory.

    Args:
        some: launches, whose arrays are `Laid`s.
        new: the workspace that they were planned with, without zeros.
        at: addresses of their sources, but for the workspace.
        place: number of the device.
        handle: of the stream.
    """
    with on_device(place):
        stream = stream_of(handle, place)
        every = [_ready(launch, place, handle) for launch in some]
    kept: list[Any] = []

    def start() -> None:
        if not kept:
            kept.append(_own_memory(new, place))
        places = {**at, SCRATCH: kept[0][1]}
        for launch, ready in zip(some, every, strict=True):
            if ready is not None:
                begins = [places[source] + offset for source, offset in ready.sources]
                ready.prepared.start(begins, ready.numbers, handle)
            else:
                args = [_argument(one, places, place) for one in launch.args]
                launch._replace(args=tuple(args)).start(stream)

    return start


def _own_memory(new: Workspace, place: int) -> tuple[Any, int]:
    """Memory for the scratch of a workspace, and its address."""
    from numba import cuda

    with on_device(place):
        held = cuda.device_array(max(16, new.bytes), np.uint8)
    return held, held.device_ctypes_pointer.value or 0


def _ready(launch: Launch, place: int, handle: int) -> Ready | None:
    """The launch for the driver; None if Numba has to make it."""
    arrays = [one for one in launch.args if isinstance(one, Laid)]
    numbers = launch.args[len(arrays) :]
    if any(isinstance(one, Laid) for one in numbers):
        name = launch.kernel.py_func.__name__
        raise TypeError(f"{name} takes a number before an array; arrays come first")
    lies = tuple(
        prepared.Lies(one.shape, one.strides, one.dtype, "C" if one.is_contiguous else "A")
        for one in arrays
    )
    places = tuple((one.source, one.at) for one in arrays)
    if launch.kernel is fill and not any(numbers[0].tobytes()):
        zeros = prepared.zeros(arrays[0].span, place)
        if zeros is not None:
            return Ready(launch, zeros, places, numbers)
    grid, block = _extents(launch.grid), _extents(launch.block)
    made = prepared.prepared(
        launch.kernel, grid, block, lies, numbers, (), place, handle, launch.shared_bytes
    )
    if made is None:
        return None
    return Ready(launch, made, places, prepared.one_by_one(numbers))


def _extents(given: int | tuple[int, ...]) -> tuple[int, ...]:
    return given if isinstance(given, tuple) else (given,)


def _argument(one: Any, at: Mapping[str, int], place: int) -> Any:
    if not isinstance(one, Laid):
        return one
    address = at[one.source] + one.at
    return _described(address, one.shape, one.strides, one.span, one.dtype, place)


def _packed(view: MatrixView, order: tuple[int, ...], handle: int) -> MatrixView:
    """A contiguous copy of an array of a device, its axes in this order."""
    from .transposing import transpose

    target = view.backend.empty(view, 1, prod(view.extents), handle)
    shape, steps = tuple(view.extents), tuple(view.steps)
    if len(shape) < 2:  # matrices are moved
        shape, steps, order = (*shape, 1), (*steps, view.itemsize), (0, 1)
    kind = moved_as(view.itemsize)
    found = _described(view.address, shape, steps, view.span, kind, view.place)
    turned = tuple(shape[axis] for axis in order)
    whole = Laid(OUT, (1,), (kind.itemsize,), kind).seen(turned)
    out = _described(target.address, turned, whole.strides, whole.span, kind, view.place)
    transpose(found, out=out, axes=order, stream=handle)
    return target


# --- arrays of the host --------------------------------------------------------------------------


def _host_array(view: MatrixView, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The memory of an array of the host as an array of NumPy."""
    if 0 in view.extents:
        return np.empty(view.extents, dtype)
    ends = [(n - 1) * step for n, step in zip(view.extents, view.steps, strict=True)]
    before = -sum(min(0, end) for end in ends)  # bytes of elements that lie backwards
    span = before + sum(max(0, end) for end in ends) + view.itemsize
    memory: Any = (ctypes.c_uint8 * span).from_address(view.address - before)
    return np.ndarray(view.extents, dtype, memory, before, view.steps)


def _moved(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype under which elements are copied: integers for those that have no buffer."""
    return np.dtype(f"u{dtype.itemsize}") if dtype.kind == "V" and dtype.itemsize <= 8 else dtype


def _run_on_host(
    some: Sequence[Launch],
    new: Workspace,
    views: Mapping[str, MatrixView],
    packs: Mapping[str, Pack],
    target: MatrixView,
    laid: Laid,
    handle: int,
    *,
    reads_out: bool,
) -> Any:
    """Copy to the device, launch there, copy the result back, which is awaited."""
    used = {one.source for launch in some for one in launch.args if isinstance(one, Laid)}
    arrays = {}
    for name, view in views.items():
        if name in used:
            arrays[name] = _host_array(view, _moved(_laid(view).dtype))
    for source, pack in packs.items():
        whole = _host_array(views[pack.name], _laid(views[pack.name]).dtype)
        arrays[source] = whole.transpose(pack.order)
    result = _host_array(target, laid.dtype)
    if launched_by() is None and device() == "numba simulator":
        copies = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        copies[OUT] = np.array(result).reshape(laid.shape)
        _run_in_simulator(some, new, copies)
        np.copyto(result, copies[OUT].reshape(result.shape))
        return 0
    from numba import cuda

    place = cuda.current_context().device.id
    stream = stream_of(handle, place)
    there = {n: cuda.to_device(np.ascontiguousarray(a), stream) for n, a in arrays.items()}
    if reads_out:
        there[OUT] = cuda.to_device(np.array(result).reshape(laid.shape), stream)
    else:
        there[OUT] = cuda.device_array(laid.shape, laid.dtype, stream=stream)
    at = {name: array.device_ctypes_pointer.value or 0 for name, array in there.items()}
    _put(some, new, at, place, handle, stream)
    copied = there[OUT].copy_to_host(stream=stream)
    if stream:
        stream.synchronize()
    np.copyto(result, copied.reshape(result.shape))
    return stream


def _run_in_simulator(
    some: Sequence[Launch], new: Workspace, copies: dict[str, np.ndarray[Any, Any]]
) -> None:
    """Launch on arrays of the host, in a process that runs Numba's simulator."""
    from ..simulator import run

    copies[SCRATCH] = np.zeros(new.bytes, np.uint8)
    copies[FLAGS] = np.zeros(new.words, np.uint32)
    copies[SIGNALS] = np.zeros(new.signal_words, np.uint32)
    raw = {name: array.reshape(-1).view(np.uint8) for name, array in copies.items()}
    for launch in some:
        args = [
            np.ndarray(one.shape, one.dtype, raw[one.source], one.at, one.strides)
            if isinstance(one, Laid)
            else one
            for one in launch.args
        ]
        run(launch.kernel, launch.grid, launch.block, 0, launch.shared_bytes, args)


# --- a call like one before ----------------------------------------------------------------------


class _Known(NamedTuple):
    """What a call of a key comes to; sources are numbers of addresses, those of the workspace last.

    Attributes:
        launches: prepared ones, where their arrays lie, and their numbers.
        spans: bytes that each operand reaches over.
        out_span: bytes that the result reaches over.
        shape: of the result.
        dtype: of the result, one of the library.
        beyond: bits of the result's address.
        needed: of the workspace.
        place: number of the device.
    """

    launches: tuple[tuple[_Start, tuple[tuple[int, int], ...], tuple[Any, ...]], ...]
    spans: tuple[int, ...]
    out_span: int
    shape: tuple[int, ...]
    dtype: Any
    beyond: int
    needed: Needed
    place: int


_known: dict[Any, _Known] = {}
_BEYOND = 127


def forget() -> None:
    """Drop all that is kept of calls."""
    _known.clear()


def _again(
    known: _Known,
    library: ArrayBackend,
    operands: tuple[Any, ...],
    out: Any,
    addresses: list[int],
    handle: int,
) -> tuple[Any] | None:
    """The result; None, with nothing launched, where memory does not lie as it has to."""
    if out is None:
        result = library.fresh(operands[0], known.shape, known.place, handle, known.dtype)
        try:
            target = library.address(result)
        except Exception:  # made by a mode of the library that gives no memory
            return None
        if not target or target & _BEYOND != known.beyond:
            return None
        addresses.append(target)
    else:
        target, end = addresses[-1], addresses[-1] + known.out_span
        for address, span in zip(addresses, known.spans, strict=False):
            if target < address + span and address < end:
                return None  # the ranges meet: whether elements do takes a closer look
        result = out
        library.wrote(out)
    if known.needed == NOTHING:
        addresses += 0, 0, 0  # of arrays without elements
        for launch, sources, numbers in known.launches:
            launch.start([addresses[at] + offset for at, offset in sources], numbers, handle)
        return (result,)
    with _putting:
        if prepared.capturing(handle):
            _captured(known, addresses, handle)
            return (result,)
        addresses += workspace.kept(known.needed, known.place, handle)
        for launch, sources, numbers in known.launches:
            launch.start([addresses[at] + offset for at, offset in sources], numbers, handle)
    return (result,)


def _captured(known: _Known, addresses: list[int], handle: int) -> None:
    """The same while the stream is captured, with memory of the graph."""
    with workspace.memory(known.needed, known.place, handle) as own:
        addresses += own
        for launch, sources, numbers in known.launches:
            launch.start([addresses[at] + offset for at, offset in sources], numbers, handle)


def _learned(
    library: ArrayBackend,
    names: tuple[str, ...],
    operands: tuple[Any, ...],
    result: Any,
    ready: _Plan,
) -> _Known | None:
    """What was done, if it can be done again from addresses alone; else None."""
    if exact.get(type(result)) is not library or not library.is_contiguous(result):
        return None
    numbered = {name: at for at, name in enumerate((*names, OUT, SCRATCH, FLAGS, SIGNALS))}
    launches = tuple(
        (
            one.prepared,
            tuple((numbered[source], offset) for source, offset in one.sources),
            one.numbers,
        )
        for one in ready.launches
    )
    return _Known(
        launches,
        tuple(library.span(array) for array in operands),
        library.span(result),
        tuple(result.shape),
        ready.dtype,
        library.address(result) & _BEYOND,
        ready.new.needed,
        ready.place,
    )
