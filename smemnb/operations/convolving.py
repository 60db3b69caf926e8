"""`convolve(x, weights)`: as scipy.ndimage.convolve, by the kernels of `smemnb.kernels.stencil`."""

from __future__ import annotations

from math import prod
from numbers import Real
from typing import Any

import numpy as np

from ..errors import LaunchRefused, SmemnbError, shortened
from ..kernels.stencil.choosing import TYPES, Geometry, Window, convolution
from ..kernels.stencil.variants.edges import MODES
from ..kernels.step import Launch
from .backends.matrix_view import TypeRefused
from .laid import Laid
from .patterns import Call, Work, engine_seconds, perform
from .workspace import Workspace

ALSO = {"grid-mirror": "reflect", "grid-constant": "constant", "grid-wrap": "wrap"}
"""Other names that scipy.ndimage has for modes."""
_OF_NUMPY = ("full", "same", "valid")
SECONDS, MORE = 22e-9, 8
"""In the lockstep engine, for an element and each of its weights and so many more."""


def convolve(
    x: Any,
    weights: Any,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int | tuple[int, ...] = 0,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """The convolution of an array with one or two axes of weights, as scipy.ndimage.convolve.

    >>> import numpy as np
    >>> convolve(np.float32([1, 2, 3, 5]), [1, 0, -1])
    array([1., 2., 3., 2.], dtype=float32)

    Args:
        x: an array of float32, float64, or whole numbers of 1 to 8 bytes: of NumPy, Numba, CuPy,
            PyTorch or JAX, or of any library with `__cuda_array_interface__` or `__dlpack__`. It
            has as many axes as the weights, or more: then each of the arrays along its last axes is
            convolved.
        weights: of one or two axes, at least one weight along each, in host memory: an array of
            NumPy, nested lists. They are arguments of the kernel, which the host has to know. For
            each shape of weights a kernel is compiled, at its first call, which takes seconds.
        mode: what stands beyond an edge: "reflect" (d c b a | a b c d | d c b a), "constant"
            (`cval`), "nearest" (a a a a | a b c d | d d d d), "mirror" (d c b | a b c d | c b a),
            "wrap" (a b c d | a b c d | a b c d); scipy's "grid-mirror", "grid-constant" and
            "grid-wrap" are the first, second and last.
        cval: the value beyond the edges of mode "constant".
        origin: how far the window is moved towards higher indices, along all axes of the weights
            or along each.
        out: where the result goes (of the same library, device, shape and dtype, contiguous,
            sharing no memory with x); None for a new array.
        stream: on which the work is put: a stream of Numba, CuPy or PyTorch, or a handle. None
            takes that of the caller.

    Returns:
        `out`, or a new array of the library, the device and the dtype of x.

        float32 is summed in float32, in which weights are rounded first: with n weights the error
        is at most (n + 2) * 2**-24 times the sum of |weight * element| over the window (scipy sums
        in float64). More than 60 weights for it that are a column times a row, each within
        2**-21 of its value, are applied as such: rows first, then columns; then the error is at
        most (rows + columns + 12) * 2**-24 times that sum. float64 and whole numbers are summed in
        float64 and, of whole numbers, cut towards 0, as scipy does; a sum that the type does not
        hold comes out as any number. NaN and infinities go where the window takes them, also by a
        weight of 0 (scipy leaves weights below 2.3e-16 out). The same call gives the same bits.

    Raises:
        LaunchRefused: an argument is not what is said above, or `x` reaches over more than 2**31
            elements; without a GPU, the engine would take longer than `SMEMNB_ENGINE_SECONDS` (60).
            Nothing was launched, and `out` is as it was.
    """
    try:
        values = _weights(weights)
        origins = _origins(origin, values.shape)
        options = values.tobytes(), values.shape, _mode(mode), _cval(cval), origins
    except SmemnbError as error:
        raise shortened(error) from error.__cause__
    return perform("convolve", _plan, {"x": x}, options, out, stream)


def _plan(
    call: Call,
    weights: bytes,
    size: tuple[int, ...],
    mode: str,
    cval: bytes,
    origins: tuple[int, ...],
) -> Work:
    call.check_dtype("x", tuple(TYPES), "convolve", by_parts=True)
    x = call.contiguous("x")
    if x.ndim < len(size):
        raise LaunchRefused(
            f"`weights` has shape {size}, {len(size)} axes, and `x` has shape {call['x'].shape}."
            " Pass weights with no more axes than x"
        )
    values = np.frombuffer(weights).reshape(size)
    # a window reads elements in the order of memory, a convolution takes weights backwards
    turned = np.atleast_2d(np.flip(values))
    up, left = (0, *befores(size, origins))[-2:]
    shape = _geometry(x.shape, len(size))
    window = Window(turned, up, left, mode, float(np.frombuffer(cval)[0]))

    def launches(new: Workspace, out: Laid) -> list[Launch]:
        return list(convolution(new, out.flat(), x.flat(), shape, window, call.processors))

    words = f"convolution of {x.size} elements with {values.size} weights"
    instead = f'scipy.ndimage.convolve(x, weights, mode="{mode}")'
    seconds = engine_seconds(x.size * (values.size + MORE), 1, SECONDS)
    return Work(x.shape, x.dtype, launches, words, instead, seconds)


def befores(size: tuple[int, ...], origins: tuple[int, ...]) -> tuple[int, ...]:
    """Elements of a window before the one that it belongs to, along each axis.

    >>> befores((5, 4), (0, 0)), befores((5,), (-2,))
    ((2, 1), (4,))
    """
    pairs = zip(size, origins, strict=True)
    return tuple(n // 2 - origin - (n % 2 == 0) for n, origin in pairs)


def _geometry(shape: tuple[int, ...], axes: int) -> Geometry:
    if axes == 1:  # rows have nothing to do with each other
        return Geometry(1, prod(shape[:-1]), shape[-1])
    return Geometry(prod(shape[:-2]), shape[-2], shape[-1])


def _weights(weights: Any) -> np.ndarray[Any, Any]:
    """The weights in float64.

    Raises:
        TypeRefused: they are no numbers, or not in host memory.
        LaunchRefused: a shape that is not taken.
    """
    if hasattr(weights, "__cuda_array_interface__"):
        raise TypeRefused(
            f"`weights` is a {type(weights).__module__}.{type(weights).__qualname__} in a GPU's"
            " memory. The kernel takes weights as arguments, which the host has to know: pass them"
            " as an array of NumPy, copied once (weights.get() of CuPy, weights.cpu() of PyTorch)"
        )
    try:
        values = np.asarray(weights)
        if values.dtype.kind not in "fiub":
            raise TypeError(f"they are of dtype {values.dtype}")
        values = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeRefused(
            f"`weights` are no real numbers in host memory: {error}. Pass an array of NumPy or"
            " nested lists"
        ) from None
    if values.ndim not in (1, 2) or not values.size:
        raise LaunchRefused(
            f"`weights` has shape {values.shape}. Pass weights of one or two axes, at least one"
            " along each"
        )
    return values


def _mode(mode: Any) -> str:
    known = ALSO.get(mode, mode) if isinstance(mode, str) else None
    if known not in MODES:
        why = (
            ", which np.convolve has: this is scipy.ndimage.convolve, whose result has the shape of"
            " `x` and whose modes say what lies beyond an edge"
        )
        raise LaunchRefused(
            f"`mode` is {mode!r}{why if mode in _OF_NUMPY else ''}. Pass one of"
            f" {', '.join(map(repr, (*MODES, *ALSO)))}"
        )
    return known


def _cval(cval: Any) -> bytes:
    """The value as bytes of float64, by which calls can be told apart, NaN too."""
    if isinstance(cval, bool) or not isinstance(cval, Real):
        raise TypeRefused(f"`cval` is {cval!r}, no real number. Pass one, such as 0.0")
    return np.float64(cval).tobytes()


def _origins(origin: Any, size: tuple[int, ...]) -> tuple[int, ...]:
    several = tuple(origin) if isinstance(origin, tuple | list) else (origin,) * len(size)
    whole = (int, np.integer)
    if not all(isinstance(one, whole) and not isinstance(one, bool) for one in several):
        raise TypeRefused(f"`origin` is {origin!r}: no whole number, nor a tuple of such")
    if len(several) != len(size):
        raise LaunchRefused(
            f"`origin` is {origin!r}, and `weights` has shape {size}. Pass a whole number, or one"
            " for each axis of the weights"
        )
    for one, before, extent in zip(several, befores(size, several), size, strict=True):
        if not 0 <= before < extent:
            most = one + before
            raise LaunchRefused(
                f"`origin` of {one} moves the window of {extent} elements off the element that it"
                f" belongs to. Pass one of {most - extent + 1} to {most}"
            )
    return tuple(int(one) for one in several)
