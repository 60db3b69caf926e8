"""What is paid for nothing: sectors, wavefronts, float64, shared memory, barriers."""

import math

import numpy as np
from numba import complex64, cuda, float32, float64, uint16, uint32

from smemnb.kernels.ptx import load4, store4
from smemnb.kernels.ptx.matrices import ldmatrix_x4
from tests.corpus.pairs import buggy, clean, floats, matrices, vectors, zeros

N = 64


# float64 in a float32 kernel


@buggy("float64_arithmetic", 1, 1, N, args=lambda: (zeros(64), floats(64, 8)))  # the sum
def row_sums(out, inp):
    i = cuda.grid(1)
    acc = 0.0
    for k in range(8):
        acc += inp[k, i] if i < 8 else inp[i, k]  # (1)
    out[i] = acc


@clean
def row_sums_in_float32(out, inp):
    tile = cuda.shared.array((64, 9), float32)
    tx = cuda.threadIdx.x
    for k in range(8):
        tile[k * 8 + tx // 8, tx % 8] = inp[k * 8 + tx // 8, tx % 8]
    cuda.syncthreads()
    acc = float32(0)
    for k in range(8):
        acc += tile[tx, k]
    out[tx] = acc


@buggy("float64_arithmetic", 1, 2, N, args=vectors(128))  # one product
def scaled(out, inp):
    i = cuda.grid(1)
    out[i] = inp[i] * 0.1  # (1)


@clean
def scaled_in_float32(out, inp):
    i = cuda.grid(1)
    out[i] = inp[i] * float32(0.1)


@buggy("float64_arithmetic", 1, 2, N, args=vectors(128))  # the maximum
def rectified(out, inp):
    i = cuda.grid(1)
    out[i] = max(inp[i], 0.0)  # (1)


@clean
def rectified_by_comparison(out, inp):
    i = cuda.grid(1)
    value = inp[i]
    out[i] = value if value > 0.0 else float32(0)


@buggy("float64_arithmetic", 1, 2, N, args=lambda: (zeros(128),))  # the quotient of two integers
def positions(out):
    i = cuda.grid(1)
    out[i] = i / out.size  # (1)


@clean
def positions_in_float32(out):
    i = cuda.grid(1)
    out[i] = float32(i) / float32(out.size)


@buggy("float64_arithmetic", 1, 2, N, args=lambda: (zeros(128),))  # the root of an integer
def roots(out):
    i = cuda.grid(1)
    out[i] = math.sqrt(i)  # (1)


@clean
def roots_in_float32(out):
    i = cuda.grid(1)
    out[i] = math.sqrt(float32(i))


@buggy("float64_arithmetic", 2, 2, N, args=lambda: (floats(128), floats(128), 2.3))
def saxpy(y, x, a):  # product and sum
    i = cuda.grid(1)
    y[i] = a * x[i] + y[i]  # (1)


@clean
def saxpy_in_float32(y, x, a):
    i = cuda.grid(1)
    y[i] = float32(a) * x[i] + y[i]


@buggy("float64_arithmetic", 2, 2, N, args=vectors(128))  # product and sum of complex128
def squared_and_moved(out, inp):
    i = cuda.grid(1)
    z = 0j
    for _ in range(3):
        z = z * z + inp[i]  # (1)
    out[i] = z.real


@clean
def squared_and_moved_in_complex64(out, inp):
    i = cuda.grid(1)
    z = complex64(0j)
    for _ in range(3):
        z = z * z + inp[i]
    out[i] = z.real


@buggy("float64_arithmetic", 2, 2, N, args=vectors(128))  # product and sum
def weighted_by_index(out, inp):
    i = cuda.grid(1)
    out[i] = inp[i] * cuda.threadIdx.x + inp[i]  # (1)


@clean
def halved(out, inp):
    i = cuda.grid(1)
    out[i] = inp[i] * 0.5  # the compiler keeps this one in float32


# rows of a matrix in the same banks


def halves(*shape):
    """A tile of bfloat16, and words for it."""
    return lambda: (np.zeros((4, 32), np.uint32), np.zeros(shape, np.uint16))


@buggy("matrix_conflict", 28, 1, 32, args=halves(32, 64))  # rows of 128 bytes: 4 times 7
def rows_of_fragments(out, inp):
    tile = cuda.shared.array(32 * 64, uint16, alignment=16)
    tx = cuda.threadIdx.x
    for row in range(32):
        store4(tile, uint32(row * 64 + 2 * tx), load4(inp, uint32(row * 64 + 2 * tx)))
    cuda.syncthreads()
    words = ldmatrix_x4(tile, uint32(tx * 64))  # (1)
    for at in range(4):
        out[at, tx] = words[at]


@clean
def rows_of_fragments_swizzled(out, inp):
    tile = cuda.shared.array(32 * 64, uint16, alignment=16)
    tx = cuda.threadIdx.x
    for row in range(32):
        place = uint32(row * 64 + (tx // 4 ^ (row % 8)) * 8 + tx % 4 * 2)
        store4(tile, place, load4(inp, uint32(row * 64 + 2 * tx)))
    cuda.syncthreads()
    words = ldmatrix_x4(tile, uint32(tx * 64 + (tx % 8) * 8))
    for at in range(4):
        out[at, tx] = words[at]


@buggy("matrix_conflict", 4, 1, 32, args=halves(32, 16))  # rows of 32 bytes: 4 times 1
def narrow_rows(out, inp):
    tile = cuda.shared.array(32 * 16, uint16, alignment=16)
    tx = cuda.threadIdx.x
    for at in range(8):
        store4(tile, uint32(at * 64 + 2 * tx), load4(inp, uint32(at * 64 + 2 * tx)))
    cuda.syncthreads()
    words = ldmatrix_x4(tile, uint32(tx * 16))  # (1)
    for at in range(4):
        out[at, tx] = words[at]


@clean
def narrow_rows_padded(out, inp):
    tile = cuda.shared.array(32 * 24, uint16, alignment=16)
    tx = cuda.threadIdx.x
    for at in range(8):
        place = uint32((at * 4 + tx // 8) * 24 + tx % 8 * 2)
        store4(tile, place, load4(inp, uint32(at * 64 + 2 * tx)))
    cuda.syncthreads()
    words = ldmatrix_x4(tile, uint32(tx * 24))
    for at in range(4):
        out[at, tx] = words[at]


# padding that does nothing


@buggy("phantom_padding", 992, 1, (32, 32), args=matrices(32, 32))  # 32 requests, 31 extra each
def turn_padded_below(out, inp):
    tile = cuda.shared.array((33, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = inp[ty, tx]
    cuda.syncthreads()
    out[ty, tx] = tile[tx, ty]  # (1)


@clean
def turn_padded(out, inp):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = inp[ty, tx]
    cuda.syncthreads()
    out[ty, tx] = tile[tx, ty]


@buggy("phantom_padding", 992, 1, (32, 32), args=matrices(32, 32))
def turn_flat(out, inp):
    tile = cuda.shared.array(32 * 33, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty * 32 + tx] = inp[ty, tx]
    cuda.syncthreads()
    out[ty, tx] = tile[tx * 32 + ty]  # (1)


@clean
def turn_flat_padded(out, inp):
    tile = cuda.shared.array(32 * 33, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty * 33 + tx] = inp[ty, tx]
    cuda.syncthreads()
    out[ty, tx] = tile[tx * 33 + ty]


@buggy("phantom_padding", 292, 1, (32, 32), args=matrices(32, 32))
def turn_padded_and_swizzled(out, inp):  # bank (tx + (ty ^ tx)) % 32: 292 extra over all ty
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx ^ ty] = inp[ty, tx]
    cuda.syncthreads()
    out[ty, tx] = tile[tx, ty ^ tx]  # (1)


@clean
def turn_swizzled(out, inp):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx ^ ty] = inp[ty, tx]
    cuda.syncthreads()
    out[ty, tx] = tile[tx, ty ^ tx]


@buggy("phantom_padding", 240, 1, (32, 16), args=lambda: (zeros(32, 16), floats(16, 32)))
def turn_half_padded_below(out, inp):  # 16 requests, 16-way: two columns of 16 rows
    tile = cuda.shared.array((18, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = inp[ty, tx]
    cuda.syncthreads()
    tid = ty * 32 + tx
    out[tid // 16, tid % 16] = tile[tid % 16, tid // 16]  # (1)


@clean
def halo_of_two(out, inp):
    tile = cuda.shared.array((18, 34), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for y in range(ty, 18, 16):
        for x in range(tx, 34, 32):
            tile[y, x] = inp[min(max(y - 1, 0), 15), min(max(x - 1, 0), 31)]
    cuda.syncthreads()
    if ty < 16:
        total = tile[ty, tx + 1] + tile[ty + 2, tx + 1] + tile[ty + 1, tx] + tile[ty + 1, tx + 2]
        out[(ty * 32 + tx) // 16, (ty * 32 + tx) % 16] = total


# sectors


@buggy("uncoalesced", 896, 1, (32, 32), args=matrices(32, 32))  # 32 requests of 32, 4 would do
def turn_naive(out, inp):
    col, row = cuda.grid(2)
    out[col, row] = inp[row, col]  # (1)


@clean
def turn_tiled(out, inp):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = inp[ty, tx]
    cuda.syncthreads()
    out[ty, tx] = tile[tx, ty]


def _product():
    return zeros(32, 32), floats(32, 32), floats(32, 32)


@buggy("uncoalesced", 896, 1, (32, 32), args=_product)  # 32 stores of 32 sectors, 4 would do
def product_of_rows(out, a, b):
    row, col = cuda.grid(2)
    acc = float32(0)
    for k in range(32):
        acc += a[row, k] * b[k, col]
    out[row, col] = acc  # (1)


@clean
def product_of_columns(out, a, b):
    col, row = cuda.grid(2)
    acc = float32(0)
    for k in range(32):
        acc += a[row, k] * b[k, col]
    out[row, col] = acc


@buggy("uncoalesced", 48, 2, N, args=lambda: (zeros(128), floats(512)))  # 4 requests of 16, not 4
def first_of_four_fields(out, points):
    i = cuda.grid(1)
    out[i] = points[4 * i]  # (1)


@clean
def first_field_alone(out, points):
    i = cuda.grid(1)
    out[i] = points[i]


@buggy("uncoalesced", 1792, 1, N, args=lambda: (zeros(64), floats(64, 32)))  # 2 * 32 of 32, not 4
def sum_along_rows(out, inp):
    i = cuda.grid(1)
    acc = float32(0)
    for k in range(32):
        acc += inp[i, k]  # (1)
    out[i] = acc


@clean
def sum_along_columns(out, inp):
    i = cuda.grid(1)
    acc = float32(0)
    for k in range(32):
        acc += inp[k, i % 32]
    out[i] = acc


@buggy("uncoalesced", 16, 2, N, args=lambda: (zeros(128), floats(256)))  # 4 requests of 8, not 4
def pairs_apart(out, inp):
    i = cuda.grid(1)
    out[i] = inp[2 * i]  # (1)


@clean
def pairs_together(out, inp):
    i = cuda.grid(1)
    out[i] = inp[i] + inp[i + out.size]


@buggy("interleaved", 16, 1, N, args=lambda: (zeros(64), floats(64, 3)))  # 2 requests of 12, not 4
def lengths_of_points(out, points):
    i = cuda.grid(1)
    x = points[i, 0]  # (1)
    y = points[i, 1]
    z = points[i, 2]
    out[i] = math.sqrt(x * x + y * y + z * z)


@clean
def lengths_by_fields(out, points):
    i = cuda.grid(1)
    x = points[0, i % 3]
    y = points[1, i % 3]
    z = points[2, i % 3]
    out[i] = math.sqrt(x * x + y * y + z * z)


def _gather():
    return zeros(64), floats(4096), (np.arange(64) ** 2 % 4096).astype(np.int32)


@buggy("scattered", 54, 1, N, args=_gather)
def gathered(out, inp, chosen):  # squares: 30 and 32 sectors, 4 would do
    i = cuda.grid(1)
    out[i] = inp[chosen[i]]  # (1)


@clean
def gathered_in_order(out, inp, chosen):
    i = cuda.grid(1)
    out[i] = inp[i] + float32(chosen[i])


@buggy("misaligned", 32, 16, N, args=lambda: (zeros(1024), floats(1030)))  # 32 requests, 1 each
def shifted_by_three(out, inp):
    i = cuda.grid(1)
    out[i] = inp[i + 3]  # (1)


@clean
def shifted_by_a_sector(out, inp):
    i = cuda.grid(1)
    out[i] = inp[min(i, 1020)]


# shared memory


@buggy("shared_occupancy", 49152, 2, N, args=vectors(128))  # 4 blocks of 2 warps on an SM
def tile_of_48_kb(out, inp):
    tile = cuda.shared.array(12288, float32)  # (1)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[N - 1 - tx]


@clean
def tile_of_256_bytes(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[N - 1 - tx]


@buggy("unused_shared", 1024, 2, N, args=vectors(128))  # 256 elements of 4 bytes
def tile_left_over(out, inp):
    tile = cuda.shared.array(N, float32)
    rest = cuda.shared.array(256, float32)  # (1)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()
    if tile[0] < 0 and rest.size < 0:
        rest[tx] = 0
    out[cuda.grid(1)] = tile[N - 1 - tx]


@clean
def one_tile(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[N - 1 - tx]


# barriers


@buggy("unused_barrier", 2, 2, N, args=vectors(128))  # once in each of 2 blocks
def own_cell(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()  # (1)
    out[cuda.grid(1)] = tile[tx]


@clean
def another_cell(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[tx ^ 1]


@buggy("unused_barrier", 2, 2, N, args=vectors(128))
def two_barriers(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()  # (1)
    value = tile[tx]
    cuda.syncthreads()
    out[cuda.grid(1)] = value + tile[tx ^ 1]


@clean
def barrier_for_the_next_pass(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    acc = float32(0)
    for k in range(3):
        tile[tx] = inp[(cuda.grid(1) + k) % inp.size]
        cuda.syncthreads()
        acc += tile[tx ^ 1]
        cuda.syncthreads()
    out[cuda.grid(1)] = acc


@buggy("unused_barrier", 3, 3, N, args=vectors(192))
def barrier_at_the_end(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[tx ^ 1]
    cuda.syncthreads()  # (1)


@clean
def barrier_before_reuse(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()
    value = tile[tx ^ 1]
    cuda.syncthreads()
    tile[tx] = value
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[N - 1 - tx]


def _with_ticket():
    return zeros(128), floats(128), np.zeros(1, np.int32)


@buggy("unused_barrier", 8, 2, N, args=_with_ticket)  # 4 rounds of 2 blocks
def barrier_in_a_private_loop(out, inp, ticket):
    tx = cuda.threadIdx.x
    acc = float32(0)
    for k in range(4):
        acc += inp[(cuda.grid(1) + k) % inp.size]
        cuda.syncthreads()  # (1)
    out[cuda.grid(1)] = acc + float32(tx)


@clean
def publish_before_ticket(out, inp, ticket):
    i = cuda.grid(1)
    out[i] = inp[i]
    cuda.threadfence()
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(ticket, 0, 1)


@buggy("float64_array", 1, 2, 32, args=lambda: (zeros(64), floats(64).astype(np.float64)))
def halved_of_float64(out, inp):
    i = cuda.grid(1)
    out[i] = float32(0.5) * inp[i]  # (1)


@clean
def halved_in_float64(out, inp):
    i = cuda.grid(1)
    out[i] = float64(0.5) * inp[i]
