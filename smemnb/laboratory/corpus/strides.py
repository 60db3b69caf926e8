"""Loads and stores of shared memory by stride, by width, in part of a warp.

Every kernel fills a piece of shared memory along its lanes, waits, and reads or writes it by the
pattern under test, once per thread, so that the machine code has one instruction per access.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float32, from_dtype

from ...measure.verify.case import Case, empty, numbers

SIZE = 1056
STRIDES = (0, 1, 2, 3, 4, 8, 16, 31, 32, 33)
DTYPES = (np.int8, np.uint16, np.int32, np.float64, np.int64, np.complex64, np.complex128)


@cuda.jit
def strided_load(out, inp, stride):
    """Lane i reads word i * stride."""
    tile = cuda.shared.array(SIZE, float32)
    tx = cuda.threadIdx.x
    for at in range(tx, SIZE, cuda.blockDim.x):
        tile[at] = inp[at]
    cuda.syncthreads()  # the tile is full before anyone reads it
    out[tx] = tile[tx * stride]


@cuda.jit
def strided_store(out, inp, stride):
    """Lane i writes word i * stride."""
    tile = cuda.shared.array(SIZE, float32)
    tx = cuda.threadIdx.x
    for at in range(tx, SIZE, cuda.blockDim.x):
        tile[at] = inp[at]
    cuda.syncthreads()  # no one writes before the tile is full
    tile[tx * stride] = inp[tx]
    cuda.syncthreads()  # everyone has written
    for at in range(tx, SIZE, cuda.blockDim.x):
        out[at] = tile[at]


@cuda.jit
def masked_load(out, inp, place, active):
    """Of a warp, the lanes that `active` names read the words of `place`."""
    tile = cuda.shared.array(SIZE, float32)
    tx = cuda.threadIdx.x
    for at in range(tx, SIZE, cuda.blockDim.x):
        tile[at] = inp[at]
    cuda.syncthreads()  # the tile is full before anyone reads it
    if active[tx] != 0:
        out[tx] = tile[place[tx]]


@cache
def typed(dtype: Any) -> Any:
    """A kernel that reads element i * stride of a tile of this type."""
    kind = from_dtype(np.dtype(dtype))

    @cuda.jit
    def typed_load(out, inp, stride):
        tile = cuda.shared.array(128, kind)
        tx = cuda.threadIdx.x
        for at in range(tx, 128, cuda.blockDim.x):
            tile[at] = inp[at]
        cuda.syncthreads()  # the tile is full before anyone reads it
        out[tx] = tile[tx * stride]

    name = f"typed_load_{np.dtype(dtype).name}"
    typed_load.py_func.__name__ = typed_load.__name__ = name
    return typed_load


def _strided(kernel: Any, stride: int) -> Case:
    result = SIZE if kernel is strided_store else 32
    return Case(
        f"{kernel.__name__} stride {stride}",
        kernel,
        (1,),
        (32,),
        lambda random: (empty(result), numbers(random, SIZE), np.int64(stride)),
    )


def _typed(dtype: Any, stride: int) -> Case:
    return Case(
        f"typed_load {np.dtype(dtype).name} stride {stride}",
        typed(dtype),
        (1,),
        (32,),
        lambda random: (
            empty(32, dtype=dtype),
            numbers(random, 128, dtype=dtype),
            np.int64(stride),
        ),
    )


def _masked(said: str, lanes: Any, place: Any) -> Case:
    active = np.zeros(32, np.int32)
    active[lanes] = 1
    return Case(
        f"masked_load {said}",
        masked_load,
        (1,),
        (32,),
        lambda random: (empty(32), numbers(random, SIZE), np.array(place, np.int64), active),
    )


_LANES = np.arange(32)
CASES = (
    *(_strided(strided_load, stride) for stride in STRIDES),
    *(_strided(strided_store, stride) for stride in (2, 8, 32, 33)),
    *(_typed(dtype, stride) for dtype in DTYPES for stride in (1, 2)),
    _masked("even lanes, 32-way", _LANES[::2], _LANES * 32),
    _masked("first half", _LANES[:16], _LANES * 2),
    _masked("one lane", [13], _LANES * 32),
    _masked("pairs share a word", _LANES, _LANES // 2 * 32),
    _masked("scattered", _LANES, _LANES * 37 % 101 * 7),
)
