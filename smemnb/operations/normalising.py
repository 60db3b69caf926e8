"""`softmax(x)`, `log_softmax(x)`, `layer_norm(x)` and `rms_norm(x)`, by `smemnb.kernels.rows`.

Each row of the result depends on its whole row of x and on no other. Rows lie along the last axis;
softmax and its logarithm also go along any other.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from ..errors import LaunchRefused, SmemnbError, shortened
from ..kernels.rows.choosing import column_launches, row_launches
from ..kernels.rows.variants.pieces import Form
from ..kernels.step import Launch
from .backends.matrix_view import TypeRefused
from .laid import Laid, folded, one_axis
from .patterns import Call, Work, engine_seconds, perform
from .workspace import Workspace

FLOATS = ("float32", "float64")


def softmax(x: Any, axis: int = -1, out: Any = None, stream: Any = None) -> Any:
    """exp(x) divided by its sum along an axis, as `torch.softmax` gives it.

    >>> import numpy as np
    >>> softmax(np.array([[0, 0, -np.inf, -np.inf]], np.float32))
    array([[0.5, 0.5, 0. , 0. ]], dtype=float32)

    An element of -inf gives 0. A row with +inf or NaN, and one of nothing but -inf, gives NaN
    throughout. What is added up goes by a tree in the dtype of x, so equal calls give equal bits;
    of standard normal float32 numbers an element is as near to the true one as PyTorch's, which
    `smemnb/kernels/rows/TUNING.md` states.

    Args:
        x: an array of float32 or float64, of one axis or more: of NumPy, Numba, CuPy, PyTorch or
            JAX, or of any library with `__cuda_array_interface__` or `__dlpack__`. Contiguous rows
            are read once where they lie; what lies otherwise is copied first.
        axis: along which the sum is 1.
        out: where the result goes (of the same library, device, shape and dtype, contiguous,
            sharing no memory with x); None for a new array.
        stream: on which the work is put, as for `transpose`; None takes that of the caller.

    Returns:
        `out`, or a new array of the library of x, on its device, in row-major order.

    Raises:
        LaunchRefused: an argument is not what is said above, x has more than 2**31 elements;
            without a GPU, the engine would take longer than `SMEMNB_ENGINE_SECONDS` (60). Nothing
            was launched, and `out` is as it was.
    """
    return perform("softmax", _along, {"x": x}, ("softmax", _hashable(axis)), out, stream)


def log_softmax(x: Any, axis: int = -1, out: Any = None, stream: Any = None) -> Any:
    """The logarithm of `softmax(x, axis)`, without its loss of small ones.

    >>> import numpy as np
    >>> log_softmax(np.array([[0, 0, -200]], np.float32))
    array([[  -0.6931472,   -0.6931472, -200.69315  ]], dtype=float32)

    An element of -inf gives -inf. A row with +inf or NaN, and one of nothing but -inf, gives NaN
    throughout. Arguments, result and refusals are those of `softmax`.
    """
    return perform("log_softmax", _along, {"x": x}, ("log_softmax", _hashable(axis)), out, stream)


def layer_norm(
    x: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """(x - mean) / sqrt(variance + eps) * weight + bias, along the last axis.

    >>> import numpy as np
    >>> layer_norm(np.array([[1, 3], [-5, 5]], np.float64), eps=0)
    array([[-1.,  1.],
           [-1.,  1.]])

    `torch.nn.functional.layer_norm` with a `normalized_shape` of the last axis alone: for several
    axes, reshape x. The variance is the mean of squared differences from the mean, which are taken
    after the mean is known, and what the mean was rounded off by is taken out again: a row of one
    number repeated gives `bias`, however large it is. A row with inf or NaN gives NaN throughout;
    so does one whose sum is too large for its dtype, where PyTorch may have the quotients.

    Args:
        x: as for `softmax`.
        weight: an array of x's dtype and library, one element for each place along the last axis;
            None for ones.
        bias: likewise; None for zeros.
        eps: added to the variance, a real number.
        out: as for `softmax`.
        stream: as for `softmax`.

    Returns:
        As `softmax`.

    Raises:
        LaunchRefused: as of `softmax`; `weight` or `bias` has another shape than (x.shape[-1],).
    """
    return _normalised("layer_norm", x, weight, bias, eps, out, stream)


def rms_norm(
    x: Any, weight: Any = None, eps: float | None = None, out: Any = None, stream: Any = None
) -> Any:
    """x / sqrt(mean of x squared + eps) * weight, along the last axis.

    >>> import numpy as np
    >>> rms_norm(np.array([[3, 4, 0, 0]], np.float64), eps=0)
    array([[1.2, 1.6, 0. , 0. ]])

    `torch.nn.functional.rms_norm` with a `normalized_shape` of the last axis alone. A row with NaN
    gives NaN throughout; one with inf gives 0, and NaN in place of the inf, as PyTorch has it of
    float32. A row whose squares are too large for its dtype gives 0.

    Args:
        x: as for `softmax`.
        weight: as for `layer_norm`.
        eps: added to the mean; None for the spacing of x's dtype at 1, as PyTorch takes it.
        out: as for `softmax`.
        stream: as for `softmax`.

    Returns:
        As `softmax`.

    Raises:
        LaunchRefused: as of `layer_norm`.
    """
    return _normalised("rms_norm", x, weight, None, eps, out, stream)


def _normalised(what: str, x: Any, weight: Any, bias: Any, eps: Any, out: Any, stream: Any) -> Any:
    arrays = {"x": x}
    if weight is not None:
        arrays["weight"] = weight
    if bias is not None:
        arrays["bias"] = bias
    try:
        options = (what, _number("eps", eps))
    except SmemnbError as error:
        raise shortened(error) from error.__cause__
    return perform(what, _scaled, arrays, options, out, stream)


def _hashable(axis: Any) -> Any:
    """The axis as part of a key; what is no number is refused when the call is planned."""
    if isinstance(axis, np.integer):
        return int(axis)
    try:
        hash(axis)
    except TypeError:
        return repr(axis)
    return axis


def _number(name: str, value: Any) -> float | None:
    """A real number, or None.

    Raises:
        TypeRefused: it is none.
    """
    if value is None and name == "eps":
        return None
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real | np.floating | np.integer):
        raise TypeRefused(f"`{name}` is {value!r}, no real number. Pass a float")
    return float(value)


# --- plans ---------------------------------------------------------------------------------------


def _along(call: Call, what: str, axis: Any) -> Work:
    """Softmax, or its logarithm, along any axis."""
    x = call["x"]
    call.check_dtype("x", FLOATS, what)
    number = one_axis(axis, x.ndim)
    length = x.shape[number]
    outer, inner = math.prod(x.shape[:number]), math.prod(x.shape[number + 1 :])
    form = Form(what)
    if inner == 1:
        return _rows(call, form, f"dim={number}", outer, length)
    source = call.contiguous("x")

    def launches(new: Workspace, out: Laid) -> list[Launch]:
        return column_launches(
            form, new, out.flat(), source.flat(), outer, length, inner, call.processors
        )

    return _work(x, form, f"dim={number}", launches)


def _scaled(call: Call, what: str, eps: float | None) -> Work:
    """Layer norm or RMS norm along the last axis."""
    x = call["x"]
    call.check_dtype("x", FLOATS, what)
    if not x.ndim:
        raise LaunchRefused(
            "`x` is a single number without axes. Pass an array of one axis or more"
        )
    length = x.shape[-1]
    for name in ("weight", "bias"):
        if name not in call:
            continue
        call.check_dtype(name, (x.dtype.name,), f"{what} of {x.dtype.name}")
        if call[name].shape != (length,):
            raise LaunchRefused(
                f"`{name}` has shape {call[name].shape}, and the last axis of `x` {length}"
                f" elements. Pass one of shape {(length,)}"
            )
    if eps is None:
        eps = float(np.finfo(x.dtype).eps)
    form = Form(what, "weight" in call, "bias" in call)
    return _rows(call, form, f"({length},)", x.size // max(1, length), length, eps)


def _rows(call: Call, form: Form, words: str, outer: int, length: int, eps: float = 0.0) -> Work:
    """Rows along the last axis, or along one with nothing behind it."""
    x = call["x"]
    source = _as_rows(call, outer, length)
    more = [call.contiguous(name).flat() for name in ("weight", "bias") if name in call]

    def launches(new: Workspace, out: Laid) -> list[Launch]:
        rows = out.seen((outer, length))
        weight = more[0] if form.weighted else None
        bias = more[-1] if form.biased else None
        return row_launches(form, new, rows, source, weight, bias, eps, call.processors)

    return _work(x, form, words, launches)


def _as_rows(call: Call, outer: int, length: int) -> Laid:
    """x as a matrix of rows, as they lie if their elements are neighbours; else a copy."""
    x = call["x"]
    axis = next((at for at in range(x.ndim - 1, -1, -1) if x.shape[at] != 1), x.ndim - 1)
    found = folded(x, (axis,)) if x.size and x.shape[axis] == length else None
    whole = found is not None and (found.outer, found.inner, found.length_step) == (outer, 1, 1)
    if found is None or not whole or (outer > 1 and found.outer_step < length):
        return call.contiguous("x").seen((outer, length))
    size = x.itemsize
    return x.seen((outer, length), (max(length, found.outer_step) * size, size))


def _work(x: Laid, form: Form, words: str, launches: Any) -> Work:
    shape = " x ".join(map(str, x.shape))
    return Work(
        x.shape,
        x.dtype,
        launches,
        f"{form.what} of {shape} elements",
        f"torch.{form.what}(x, {words})"
        if form.is_softmax
        else f"torch.nn.functional.{form.what}(x, {words})",
        engine_seconds(x.size, 2, 200e-9),
    )
