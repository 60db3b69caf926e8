"""Tiles of bulk copies and products of warpgroups: a fence or a swizzle that is not theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, float32, int32, uint16, uint32, uint64

from ....kernels.ptx.bulk import bulk_awaited, bulk_close, bulk_load, bulk_store
from ....kernels.ptx.hints import fence_async
from ....kernels.ptx.mbarriers import (
    mbarrier_arrive_expecting,
    mbarrier_init,
    mbarrier_init_fence,
    mbarrier_tried,
)
from ....kernels.ptx.tensor_maps import TensorMap
from ....kernels.ptx.warpgroups import (
    descriptor_of,
    wgmma_awaited,
    wgmma_close,
    wgmma_fence,
    wgmma_of,
)
from ....kernels.unrolled import jit
from ..experiment import Array, Experiment

GROUP, EDGE, SUMS = 128, 64, 32
MATRIX = EDGE * EDGE
product, all_done, all_stored = wgmma_of(EDGE, "f16"), wgmma_awaited(0, SUMS), bulk_awaited(0)
unswizzled, by_64, by_128 = (
    descriptor_of(span, lead, stride)
    for span, lead, stride in ((0, 128, 1024), (64, 16, 512), (128, 16, 1024))
)


@jit(launch_bounds=(GROUP, 1))
def multiplied_without_a_fence(out, x):
    """Threads store a matrix, a barrier follows, and a product takes it."""
    tile = cuda.shared.array(MATRIX, uint16, alignment=1024)
    acc = cuda.local.array(SUMS, float32)
    tid = uint32(cuda.threadIdx.x)
    for turn in range(MATRIX // GROUP):
        tile[turn * GROUP + tid] = x[turn * GROUP + tid]
    cuda.syncthreads()
    wgmma_fence()
    product(acc, unswizzled(tile, 0), unswizzled(tile, 0), int32(0))
    wgmma_close()
    all_done(acc)
    out[tid] = int32(acc[0])


@cuda.jit
def sent_without_a_fence(out_map, x):
    """Threads fill a tile, a barrier follows, and a bulk store sends it."""
    tile = cuda.shared.array(MATRIX, uint16, alignment=1024)
    tid = uint32(cuda.threadIdx.x)
    for turn in range(MATRIX // GROUP):
        tile[turn * GROUP + tid] = x[turn * GROUP + tid]
    cuda.syncthreads()
    if tid == 0:
        bulk_store(out_map, (0, 0), tile, 0)
        bulk_close()
        all_stored()


@cuda.jit
def fenced_by_one_thread(out_map, x):
    """The thread that sends the tile sets the fence, for stores of all the others."""
    tile = cuda.shared.array(MATRIX, uint16, alignment=1024)
    tid = uint32(cuda.threadIdx.x)
    for turn in range(MATRIX // GROUP):
        tile[turn * GROUP + tid] = x[turn * GROUP + tid]
    cuda.syncthreads()
    if tid == 0:
        fence_async()
        bulk_store(out_map, (0, 0), tile, 0)
        bulk_close()
        all_stored()


def _multiplied(name: str, says: str, matrix: Any) -> Any:
    """A kernel that multiplies what a bulk load with 128-byte swizzle brought."""

    def kernel(out, x_map):
        tile = cuda.shared.array(MATRIX, uint16, alignment=1024)
        full = cuda.shared.array(1, uint64)
        acc = cuda.local.array(SUMS, float32)
        tid = uint32(cuda.threadIdx.x)
        if tid == 0:
            mbarrier_init(full, 0, uint32(1))
            mbarrier_init_fence()
        cuda.syncthreads()
        if tid == 0:
            mbarrier_arrive_expecting(full, 0, uint32(2 * MATRIX))
            bulk_load(tile, 0, x_map, (0, 0), full, 0)
        while not mbarrier_tried(full, 0, uint32(0)):
            pass
        wgmma_fence()
        product(acc, matrix(tile, 0), matrix(tile, 0), int32(0))
        wgmma_close()
        all_done(acc)
        out[tid] = int32(acc[0])

    kernel.__name__, kernel.__qualname__, kernel.__doc__ = name, name, says
    return jit(launch_bounds=(GROUP, 1))(kernel)


taken_unswizzled = _multiplied(
    "taken_unswizzled", "The map swizzles, the descriptor does not.", unswizzled
)
taken_by_64 = _multiplied("taken_by_64", "The map swizzles 128 bytes, the descriptor 64.", by_64)
taken_right = _multiplied("taken_right", "The map and the descriptor swizzle 128 bytes.", by_128)


@jit(launch_bounds=(GROUP, 1))
def loaded_plain(out, x_map):
    """The map has no swizzle, and the descriptor that of 64 bytes."""
    tile = cuda.shared.array(MATRIX, uint16, alignment=1024)
    full = cuda.shared.array(1, uint64)
    acc = cuda.local.array(SUMS, float32)
    tid = uint32(cuda.threadIdx.x)
    if tid == 0:
        mbarrier_init(full, 0, uint32(1))
        mbarrier_init_fence()
    cuda.syncthreads()
    if tid == 0:
        mbarrier_arrive_expecting(full, 0, uint32(MATRIX))
        bulk_load(tile, 0, x_map, (0, 0), full, 0)
    while not mbarrier_tried(full, 0, uint32(0)):
        pass
    wgmma_fence()
    product(acc, by_64(tile, 0), by_64(tile, 0), int32(0))
    wgmma_close()
    all_done(acc)
    out[tid] = int32(acc[0])


def _numbers(seed: int) -> Array:
    """Small whole numbers as float16's bits, 64 x 64."""
    drawn = np.random.default_rng(seed).integers(0, 4, (EDGE, EDGE))
    return drawn.astype(np.float16).view(np.uint16)


def _sums(bits: Array) -> Array:
    """What the first sum of each thread is, of the first 16 columns."""
    x = bits.view(np.float16)[:, :16].astype(np.int64)
    thread = np.arange(GROUP)
    row, col = thread // 32 * 16 + thread % 32 // 4, thread % 4 * 2
    found: Array = (x @ x.T)[row, col]
    return found


def _as_cores(bits: Array) -> Array:
    """64 x 64 as cores of 8 rows of 16 bytes: along a row of cores, then the next eight rows."""
    return np.ascontiguousarray(bits.reshape(8, 8, 8, 8).swapaxes(1, 2)).reshape(-1)


def _as_it_was(_: Any, x: Array) -> Array:
    return x.reshape(EDGE, EDGE)


def _zeros() -> Array:
    return np.zeros(GROUP, np.int32)


def _map(bits: Array, box: tuple[int, int], swizzle: int) -> TensorMap:
    from numba import cuda

    return TensorMap(cuda.to_device(bits), box, swizzle=swizzle)


def _loaded(swizzle: int, cols: int) -> Any:
    return lambda seed: (_zeros(), _map(_numbers(seed), (EDGE, cols), swizzle))


def _sent(seed: int) -> tuple[Any, ...]:
    return _map(np.zeros((EDGE, EDGE), np.uint16), (EDGE, EDGE), 0), _numbers(seed).reshape(-1)


HIDES = "what was stored may have arrived by then"


def _right(_: Any, x_map: TensorMap) -> Array:
    return _sums(x_map.array.copy_to_host())


def _right_of_cores(_: Any, x: Array) -> Array:
    return _sums(x.reshape(8, 8, 8, 8).swapaxes(1, 2).reshape(EDGE, EDGE))


def _experiment(kind: str, kernel: Any, make: Any, right: Any, hides: str = "") -> Experiment:
    return Experiment(kind, kernel, make, right, (1,), (GROUP,), hides)


FENCE, SWIZZLE = "missing_async_fence", "wrong_swizzle"
EXPERIMENTS: tuple[Experiment, ...] = (
    _experiment(
        FENCE,
        multiplied_without_a_fence,
        lambda seed: (_zeros(), _as_cores(_numbers(seed))),
        _right_of_cores,
        HIDES,
    ),
    _experiment(FENCE, sent_without_a_fence, _sent, _as_it_was, HIDES),
    _experiment(FENCE, fenced_by_one_thread, _sent, _as_it_was, HIDES),
    _experiment(SWIZZLE, taken_unswizzled, _loaded(128, 64), _right),
    _experiment(SWIZZLE, taken_by_64, _loaded(128, 64), _right),
    _experiment(SWIZZLE, loaded_plain, _loaded(0, 32), _right),
    _experiment("", taken_right, _loaded(128, 64), _right, "a control: nothing is wrong with it"),
)
