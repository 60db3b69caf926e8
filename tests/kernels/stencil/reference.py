"""A convolution by definition: an element at a time is chosen for each weight. Slow."""

import numpy as np


def places(size, shift, mode):
    """Which element of a row stands `shift` behind each of its places; -1 for the constant."""
    at = np.arange(size) + shift
    if mode == "constant":
        return np.where((at >= 0) & (at < size), at, -1)
    if mode == "nearest":
        return at.clip(0, size - 1)
    # to and fro: each end twice (reflect) or once (mirror); or from the beginning again
    there = np.arange(size)
    back = {"reflect": there[::-1], "mirror": there[-2:0:-1], "wrap": there[:0]}[mode]
    around = np.concatenate([there, back])
    return around[at % len(around)]


def weighed(x, weights, befores, mode="reflect", cval=0.0):
    """The sum of weights[k] * x[at + k - before] along the last axes, in float64."""
    weights, result = np.asarray(weights, np.float64), np.zeros(x.shape)
    first = x.ndim - weights.ndim
    for k in np.ndindex(*weights.shape):
        chosen, outside = x.astype(np.float64), np.zeros(x.shape, bool)
        for axis, (one, before) in enumerate(zip(k, befores, strict=True)):
            size = x.shape[first + axis]
            at = places(size, one - before, mode)
            chosen = chosen.take(np.maximum(at, 0), first + axis)
            shape = [size if other == first + axis else 1 for other in range(x.ndim)]
            outside |= (at < 0).reshape(shape)
        result += weights[k] * np.where(outside, cval, chosen)
    return result


def convolved(x, weights, mode="reflect", cval=0.0, origin=0):
    """scipy.ndimage.convolve by its definition: out[i] = the sum of weights[k] * x[i + n // 2 - k].

    `origin` moves the result along.
    """
    weights = np.asarray(weights, np.float64)
    origins = origin if isinstance(origin, tuple) else (origin,) * weights.ndim
    befores = [
        n - 1 - n // 2 - one for n, one in zip(weights.shape, origins, strict=True)
    ]  # of the weights turned around
    found = weighed(x, np.flip(weights), befores, mode, cval)
    return found.astype(x.dtype) if x.dtype.kind == "f" else np.trunc(found).astype(x.dtype)
