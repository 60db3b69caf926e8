"""Products with a tile of the result in each thread's registers, element by element.

    matmul_column          64x64 per block, 8 rows of one column per thread
    matmul_square          4x4 per thread: 8 reads for 16 products in place of 9 for 8
    matmul_8x8             128x128 per block, 8x8 per thread: 16 reads for 64 products
    matmul_turned          the tile of a turned: both reads go along a row; its store is 8-way
    matmul_turned_padded   4 pad words per row of it: the store takes 1 wavefront

They compute out = alpha * a @ b + beta * out in float32 for any shapes; `out` is not read where
beta is 0. A thread's rows are neighbours; its columns are as far apart as there are threads side
by side, so that a warp reads and stores neighbours.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, float32

from ..unrolled import device, jit, named, unroll


def _scalar(name: str, edges: tuple[int, int, int], thread: tuple[int, int], **layout: Any) -> Any:
    (rows, cols, depth), (tall, wide) = edges, thread
    across, threads = cols // wide, rows // tall * (cols // wide)
    (a_shape, put_a, take_a), b_shape = _layout_of_a(rows, depth, **layout), (depth, cols)
    fill = _filled(rows, cols, depth, threads, put_a)
    store = _stored(tall, wide, across)

    @jit(launch_bounds=(threads, 1))
    def matmul_by_element(out, a, b, alpha, beta):
        a_tile = cuda.shared.array(a_shape, float32)
        b_tile = cuda.shared.array(b_shape, float32)
        acc = cuda.local.array((tall, wide), float32)
        a_part = cuda.local.array(tall, float32)
        b_part = cuda.local.array(wide, float32)
        row0, col0 = cuda.blockIdx.y * rows, cuda.blockIdx.x * cols
        m0, n0 = cuda.threadIdx.x // across * tall, cuda.threadIdx.x % across
        for i in range(tall):
            for j in range(wide):
                acc[i, j] = float32(0)

        for k0 in range(0, a.shape[1], depth):
            fill(a, b, a_tile, b_tile, row0, col0, k0)
            cuda.syncthreads()  # both tiles are full before anyone reads them

            # at each k, a column of a against a row of b
            for k in range(depth):
                for i in range(tall):
                    a_part[i] = take_a(a_tile, m0 + i, k)
                for j in range(wide):
                    b_part[j] = b_tile[k, n0 + j * across]
                for i in range(tall):
                    for j in range(wide):
                        acc[i, j] += a_part[i] * b_part[j]
            cuda.syncthreads()  # everyone has read before the next tiles overwrite these

        store((out, acc, row0 + m0, col0 + n0, float32(alpha), float32(beta)))

    return named(matmul_by_element, name)


def _layout_of_a(rows: int, depth: int, turned: bool = False, pad: int = 0) -> Any:
    """Shape of the tile of a, and how element (m, k) is put there and read."""

    @device
    def put_straight(tile, m, k, value):
        tile[m, k] = value

    @device
    def take_straight(tile, m, k):
        return tile[m, k]

    @device
    def put_turned(tile, m, k, value):
        tile[k, m] = value

    @device
    def take_turned(tile, m, k):
        return tile[k, m]

    if turned:
        return (depth, rows + pad), put_turned, take_turned
    return (rows, depth), put_straight, take_straight


def _filled(rows: int, cols: int, depth: int, threads: int, put_a: Any) -> Any:
    """A device function that fills both tiles, with zeros beyond the edges."""

    @device
    def fill(a, b, a_tile, b_tile, row0, col0, k0):
        tid = cuda.threadIdx.x
        for line in range(rows * depth // threads):
            m, k = (tid + line * threads) // depth, tid % depth
            value = float32(0)
            if row0 + m < a.shape[0] and k0 + k < a.shape[1]:
                value = a[row0 + m, k0 + k]
            put_a(a_tile, m, k, value)
        for line in range(depth * cols // threads):
            k, n = (tid + line * threads) // cols, (tid + line * threads) % cols
            value = float32(0)
            if k0 + k < b.shape[0] and col0 + n < b.shape[1]:
                value = b[k0 + k, col0 + n]
            b_tile[k, n] = value

    return fill


def _stored(tall: int, wide: int, across: int) -> Any:
    """A device function that stores what of a thread's results lies inside."""

    @device
    def store_row(i, out, acc, row, col, scale, keep):
        for j in range(wide):
            if row + i < out.shape[0] and col + j * across < out.shape[1]:
                value = scale * acc[i, j]
                if keep != float32(0):
                    value += keep * out[row + i, col + j * across]
                out[row + i, col + j * across] = value

    return unroll(tall, store_row)


_SMALL, _LARGE = (64, 64, 8), (128, 128, 8)
matmul_column = _scalar("matmul_column", _SMALL, (8, 1))
matmul_square = _scalar("matmul_square", _SMALL, (4, 4))
matmul_8x8 = _scalar("matmul_8x8", _LARGE, (8, 8))
matmul_turned = _scalar("matmul_turned", _LARGE, (8, 8), turned=True)
matmul_turned_padded = _scalar("matmul_turned_padded", _LARGE, (8, 8), turned=True, pad=4)
