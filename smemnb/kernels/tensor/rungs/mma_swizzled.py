"""mma_swizzled: chunks of 16 bytes change places within their lines.

A chunk's place is its number xor a number of its line, so that the eight chunks that ldmatrix reads
at once lie in different banks. Not a byte more is needed.

The whole kernel: a block of 128 threads makes 64x64 of out, 32 columns of a and 32 rows of b at a
time. Its 4 warps make 32x32 each, in mma of 16 x 8 over 16 of the depth. Which lane holds which
element of a fragment stands in `rules.tensor_core`.
"""

from __future__ import annotations

from numba import cuda, float32, uint32
from numba.types import float16

from ...ptx import store4
from ...ptx.asynchronous import close_group, copy16, groups_awaited
from ...ptx.matrices import ldmatrix_x4, ldmatrix_x4_trans
from ...ptx.tensor import cvt_rn_f16x2, mma_m16n8k16_f32_f16
from ...unrolled import device, jit

ROWS = 64  # of out, for a block
COLS = 64
DEPTH = 32  # columns of a and rows of b that are in shared memory at a time
A_TILE = ROWS * DEPTH  # chunk c of row m of a at place c ^ m // 2 % 4 of its 4
B_TILE = DEPTH * COLS  # chunk c of row k of b at place c ^ k % 8 of its 8
STAGE = A_TILE + B_TILE
TILES = STAGE

no_group_pending = groups_awaited(0)


@device
def send(tiles, stage, a, b, row0, col0, k0):
    """Send this thread's copies of the tiles at depth k0: 2 x 16 bytes of each matrix."""
    tid = uint32(cuda.threadIdx.x)
    chunk = uint32(tid % uint32(4))
    for turn in range(2):
        line = uint32(tid // uint32(4) + turn * 32)
        row = uint32(row0 + line)
        k = uint32(k0 + chunk * 8)
        present = row < uint32(a.shape[0]) and k < uint32(a.shape[1])
        to = uint32(stage + line * DEPTH + (chunk ^ line // uint32(2) % uint32(4)) * 8)
        copy16(tiles, to, a, uint32(row * uint32(a.strides[0] // 2) + k), present)  # 16 sectors
    chunk = uint32(tid % uint32(8))
    for turn in range(2):
        line = uint32(tid // uint32(8) + turn * 16)
        k = uint32(k0 + line)
        col = uint32(col0 + chunk * 8)
        present = k < uint32(b.shape[0]) and col < uint32(b.shape[1])
        to = uint32(stage + A_TILE + line * COLS + (chunk ^ line % uint32(8)) * 8)
        copy16(tiles, to, b, uint32(k * uint32(b.strides[0] // 2) + col), present)  # 16 sectors
    close_group()


@device
def read_fragments(k, tiles, stage, m0, n0, a_frag, b_frag):
    """Read this warp's 32 x 16 of a and 16 x 32 of b at depth 16 * k of a stage."""
    lane = uint32(cuda.threadIdx.x % 32)
    for i in range(2):
        line = uint32(m0 + i * 16 + lane % uint32(16))
        chunk = uint32(k * 2 + lane // uint32(16))
        at = uint32(stage + line * DEPTH + (chunk ^ line // uint32(2) % uint32(4)) * 8)
        words = ldmatrix_x4(tiles, at)  # 4 wavefronts (was 16)
        for part in range(4):
            a_frag[i, part] = words[part]
    for j in range(2):
        line = uint32(k * 16 + lane % uint32(16))
        chunk = uint32(n0 // uint32(8) + j * 2 + lane // uint32(16))
        at = uint32(stage + A_TILE + line * COLS + (chunk ^ line % uint32(8)) * 8)
        words = ldmatrix_x4_trans(tiles, at)  # 4 wavefronts (was 32)
        for part in range(4):
            b_frag[j * 2 + part // 2, part % 2] = words[part]


@device
def multiply(acc, a_frag, b_frag):
    """Add the product of the fragments: 2 x 4 mma."""
    for i in range(2):
        for j in range(4):
            left = a_frag[i, 0], a_frag[i, 1], a_frag[i, 2], a_frag[i, 3]
            right = b_frag[j, 0], b_frag[j, 1]
            sums = acc[i, j, 0], acc[i, j, 1], acc[i, j, 2], acc[i, j, 3]
            sums = mma_m16n8k16_f32_f16(left, right, sums)
            acc[i, j, 0] = sums[0]
            acc[i, j, 1] = sums[1]
            acc[i, j, 2] = sums[2]
            acc[i, j, 3] = sums[3]


@device
def store_rows(i, out, acc, row, col):
    """Store 16 rows of this warp's results, two neighbours at a time."""
    lane = uint32(cuda.threadIdx.x % 32)
    for j in range(4):
        for half in range(2):
            down = uint32(row + i * 16 + half * 8 + lane // uint32(4))
            aside = uint32(col + j * 8 + lane % uint32(4) * 2)
            if down < out.shape[0] and aside < out.shape[1]:
                at = uint32(down * (out.strides[0] // 2) + aside)
                pair = cvt_rn_f16x2(acc[i, j, half * 2], acc[i, j, half * 2 + 1])
                store4(out, at, pair)  # 8 sectors


@jit(launch_bounds=(128, 2))
def mma_swizzled(out, a, b):
    """out = a @ b.  As mma_unswizzled, chunks change places in their lines."""
    tiles = cuda.shared.array(TILES, float16, alignment=128)
    acc = cuda.local.array((2, 4, 4), float32)
    a_frag = cuda.local.array((2, 4), uint32)
    b_frag = cuda.local.array((4, 2), uint32)

    # 1. where this block's tile of out begins
    row0 = uint32(cuda.blockIdx.y * ROWS)
    col0 = uint32(cuda.blockIdx.x * COLS)

    # 2. within it this warp's 32x32
    warp = uint32(cuda.threadIdx.x // 32)
    m0 = uint32(warp // uint32(2) * 32)
    n0 = uint32(warp % uint32(2) * 32)
    for i in range(2):
        for j in range(4):
            for part in range(4):
                acc[i, j, part] = float32(0)

    k_size = uint32(a.shape[1])
    k0 = uint32(0)
    while k0 < k_size:
        # 3. fill the tiles, zeros where a and b have nothing
        send(tiles, uint32(0), a, b, row0, col0, k0)
        no_group_pending()
        cuda.syncthreads()  # the tiles are full before anyone reads them

        # 4. multiply: two steps of 16
        read_fragments(0, tiles, uint32(0), m0, n0, a_frag, b_frag)
        multiply(acc, a_frag, b_frag)
        read_fragments(1, tiles, uint32(0), m0, n0, a_frag, b_frag)
        multiply(acc, a_frag, b_frag)
        cuda.syncthreads()  # everyone has read before the next tiles come
        k0 = uint32(k0 + uint32(DEPTH))

    # 5. store
    row = uint32(row0 + m0)
    col = uint32(col0 + n0)
    store_rows(0, out, acc, row, col)
    store_rows(1, out, acc, row, col)
