"""`sum`, `mean`, `min`, `max`, `argmin`, `argmax`: by the kernels of `smemnb.kernels.reduction`.

An array is folded to outer x length x inner elements and takes one launch (`choosing` says of which
kernel). Axes that lie apart in memory, as the first and last of a batch of images, are reduced one
group after the other, each to an array in the workspace; where an order matters (argmin, argmax),
or nothing else helps, axes are put in order by a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..errors import LaunchRefused
from ..kernels.reduction import choosing
from ..kernels.reduction.combining import DTYPES, Combining, combining
from ..kernels.step import Launch, scratch
from .choice import ENGINE
from .laid import Folded, Laid, axes_of, folded, one_axis, reduced_shape
from .patterns import Call, Work, engine_seconds, perform
from .workspace import Workspace

TAKEN = (*DTYPES, "bool")


def sum(
    x: Any, axis: Any = None, *, keepdims: bool = False, out: Any = None, stream: Any = None
) -> Any:
    """The sum of elements along axes, as `numpy.sum`.

    >>> import numpy as np
    >>> x = np.arange(6, dtype=np.int32).reshape(2, 3)
    >>> sum(x), sum(x, axis=0)
    (np.int64(15), array([3, 5, 7]))

    Integers and bools are added in 64 bits and give int64, unsigned ones uint64 (int64 for PyTorch,
    as its own sum). Floats stay what they are: a thread adds elements of a turn, 16 float32 say,
    pairwise and then to what it has, and threads and blocks are added pairwise, in an order that
    depends on shape and device alone. So repeated calls agree bit by bit, and a sum is off by at
    most (k + 30) * eps * sum(abs(x)), where k counts a thread's turns: n / 2**21 for n elements of
    a whole array, at most n / 4 for lines of n along an axis, and mostly a hundredth of that. The
    sum of no element is 0.

    Args:
        x: an array of float32, float64, a kind of integer or bool, of NumPy, Numba, CuPy, PyTorch
            or JAX, or of any library with `__cuda_array_interface__` or `__dlpack__`; of any number
            of axes and any strides that do not lie backwards.
        axis: a number, several of them, or None for all elements; negative ones count from the end.
        keepdims: whether the axes stay, with one element each.
        out: where the result goes: of the same library and device, contiguous, sharing no memory
            with x; None for a new array.
        stream: on which the work is put: a stream of Numba, CuPy or PyTorch, or a handle. None
            takes that of the caller.

    Returns:
        `out`, or a new array of the library of x, on its device. Arrays on a GPU stay there, and
        nothing waits for them; results of host arrays are complete. NumPy gives a number where no
        axis is left, the others an array without axes.

    Raises:
        LaunchRefused: an argument is not what is said above; without a GPU, the engine would take
            longer than `SMEMNB_ENGINE_SECONDS` (60). Nothing was launched, and `out` is as it was.
    """
    return _reduced("sum", x, axis, keepdims, out, stream)


def mean(
    x: Any, axis: Any = None, *, keepdims: bool = False, out: Any = None, stream: Any = None
) -> Any:
    """The mean of elements along axes, as `numpy.mean`.

    >>> import numpy as np
    >>> mean(np.array([1, 2, 4], np.uint8))
    np.float64(2.3333333333333335)

    Floats stay what they are, and are added as `sum` adds them; integers and bools are added in
    float64, and give it. The mean of no element is NaN. Arguments are those of `sum`.
    """
    return _reduced("mean", x, axis, keepdims, out, stream)


def min(
    x: Any, axis: Any = None, *, keepdims: bool = False, out: Any = None, stream: Any = None
) -> Any:
    """The smallest element along axes, as `numpy.min`; NaN where there is one.

    >>> import numpy as np
    >>> min(np.array([[3, 1], [2, 5]], np.float32), axis=1)
    array([1., 2.], dtype=float32)

    Arguments are those of `sum`. Without elements there is none, which is refused.
    """
    return _reduced("min", x, axis, keepdims, out, stream)


def max(
    x: Any, axis: Any = None, *, keepdims: bool = False, out: Any = None, stream: Any = None
) -> Any:
    """The largest element along axes, as `numpy.max`; NaN where there is one.

    >>> import numpy as np
    >>> max(np.array([[3, 1], [2, 5]], np.float32), axis=0)
    array([3., 5.], dtype=float32)

    Arguments are those of `sum`. Without elements there is none, which is refused.
    """
    return _reduced("max", x, axis, keepdims, out, stream)


def argmin(
    x: Any, axis: int | None = None, *, keepdims: bool = False, out: Any = None, stream: Any = None
) -> Any:
    """The place of the smallest element along an axis, as `numpy.argmin`, in int64.

    >>> import numpy as np
    >>> argmin(np.array([4, 2, 2], np.uint8))
    np.int64(1)

    It is the first of equal ones, and the first NaN where there is one. Without an axis places
    count all elements, in the order of rows. Other arguments are those of `sum`.
    """
    return _reduced("argmin", x, axis, keepdims, out, stream)


def argmax(
    x: Any, axis: int | None = None, *, keepdims: bool = False, out: Any = None, stream: Any = None
) -> Any:
    """The place of the largest element along an axis, as `numpy.argmax`, in int64.

    >>> import numpy as np
    >>> argmax(np.array([[3, 1], [2, 5]], np.float32), axis=1)
    array([0, 1])

    It is the first of equal ones, and the first NaN where there is one. Without an axis places
    count all elements, in the order of rows. Other arguments are those of `sum`.
    """
    return _reduced("argmax", x, axis, keepdims, out, stream)


def _reduced(name: str, x: Any, axis: Any, keepdims: Any, out: Any, stream: Any) -> Any:
    if isinstance(axis, list):
        axis = tuple(axis)
    if axis is not None and type(axis) is not int and type(axis) is not tuple:
        axis = _Said(axis)
    return perform(name, _plan, {"x": x}, (name, axis, bool(keepdims)), out, stream)


class _Said:
    """An axis of another type than most, read when the call is planned; no key is like it."""

    def __init__(self, axis: Any) -> None:
        self.axis = axis


class _Stage(NamedTuple):
    """One launch: of what, to an array of this shape and dtype."""

    of: Combining
    x: Laid
    fold: Folded
    shape: tuple[int, ...]


def _plan(call: Call, name: str, axis: Any, keepdims: Any) -> Work:
    call.check_dtype("x", TAKEN, name, by_parts=name in ("sum", "mean"))
    x, said = call["x"], axis.axis if isinstance(axis, _Said) else axis
    ordered = name.startswith("arg")
    if ordered and said is not None:
        axes: tuple[int, ...] = (one_axis(said, x.ndim),)
    else:
        axes = axes_of(said, x.ndim)
    shape = reduced_shape(x.shape, axes, keepdims=keepdims)
    out = _out_type(name, x.dtype, unsigned=call.views["x"].backend.unsigned_sums)
    words = f"{name} of {' x '.join(map(str, x.shape)) or '1'} elements"
    instead = f"np.{name}(x{'' if said is None else f', {said}'})"
    count, lines = prod([x.shape[at] for at in axes]), prod(shape)
    if count == 0 and lines and name not in ("sum", "mean"):
        raise LaunchRefused(
            f"`x` has shape {x.shape}: there is no element along axis {said}, and so no {name}."
            " Pass an array with elements"
        )
    fill = None if count else 0 if name == "sum" else np.nan
    if ordered and count == 1:
        fill = 0  # the only element of a line is the first one
    stages = _stages(call, name, axes, ordered=ordered) if count and lines else []
    processors = 1 if call.processors == ENGINE else call.processors

    def launches(new: Workspace, target: Laid) -> Sequence[Launch]:
        made: list[Launch] = []
        between = None
        for at, (of, laid, fold, left) in enumerate(stages, 1):
            inp = laid if between is None else between
            whole = at == len(stages)
            between = target.flat(of.out) if whole else scratch(new, (prod(left),), of.out)
            made += choosing.launches(of, new, between, inp, _lie(inp, fold), processors)
        return made

    seconds = engine_seconds(x.size, len(stages), 350e-9 if ordered else 150e-9)
    return Work(shape, out, launches, words, instead, seconds, fill)


def _out_type(name: str, dtype: np.dtype[Any], *, unsigned: bool) -> np.dtype[Any]:
    """The dtype of a result for elements of this one."""
    if dtype.kind == "b":
        kind = {"sum": np.int64, "min": np.bool_, "max": np.bool_}
        return np.dtype(kind[name]) if name in kind else combining(name, "uint8").out
    out = combining(name, dtype.name).out
    return np.dtype(np.int64) if name == "sum" and out.kind == "u" and not unsigned else out


def _stages(call: Call, name: str, axes: tuple[int, ...], *, ordered: bool) -> list[_Stage]:
    """The launches one after the other; an array between two of them is contiguous."""
    x = call["x"]
    if x.dtype.kind == "b":
        x = x.seen(x.shape, x.strides, np.uint8)
    found: list[_Stage] = []
    while True:
        of = combining(name, x.dtype.name)
        fold = folded(x, axes, any_order=not ordered)
        if fold is not None:
            return [*found, _Stage(of, x.flat(), fold, reduced_shape(x.shape, axes))]
        group = None if ordered else _group(x, axes)
        if group is None:
            kind = x.dtype
            flat, fold = call.folded("x", axes, any_order=not ordered)
            whole = flat.seen((flat.size,), dtype=kind)
            return [_Stage(of, whole, fold, reduced_shape(x.shape, axes))]
        some, fold = group
        left = reduced_shape(x.shape, some)
        found.append(_Stage(of, x.flat(), fold, left))
        axes = tuple(at - _before(some, at) for at in axes if at not in some)
        x = Laid("between", (1,), (1,), np.dtype(np.uint8)).seen(left, dtype=of.out)


def _before(axes: tuple[int, ...], at: int) -> int:
    return len([axis for axis in axes if axis < at])


def _group(x: Laid, axes: tuple[int, ...]) -> tuple[tuple[int, ...], Folded] | None:
    """The axes next to each other that one launch can reduce, whose elements are closest."""
    found = None
    for at, first in enumerate(axes):
        for end in range(at + 1, len(axes) + 1):
            some = axes[at:end]
            if some != tuple(range(first, first + len(some))) or len(some) == len(axes):
                continue
            fold = folded(x, some, any_order=True)
            if fold is None or fold.length == 1:
                continue
            if found is None or (fold.length_step, -len(some)) < (
                found[1].length_step,
                -len(found[0]),
            ):
                found = some, fold
    return found


def _lie(x: Laid, fold: Folded) -> choosing.Lie:
    return choosing.Lie(*fold, x.beyond % 16)
