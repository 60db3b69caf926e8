"""mma_tf32: float32 operands, rounded to tf32 on their way into the fragments.

As mma_banded, of float32: 16 columns of a and 16 rows of b are 64 bytes again, and an mma takes 8
of the depth. `ldmatrix` turns elements of 16 bits only, and b lies across the depth: its fragments
are read word by word, one word of each bank by another swizzle. The instruction would cut the last
13 bits of an operand off, so they are rounded before, to the nearest.

The whole kernel: a block of 128 threads makes 128x128 of out, 16 columns of a and 16 rows of b at a
time. Its 4 warps make 64x64 each, in mma of 16 x 8 over 8 of the depth. Which lane holds which
element of a fragment stands in `rules.tensor_core`.
"""

from __future__ import annotations

from numba import cuda, float32, uint32

from ...ptx import load1, load16, store16
from ...ptx.asynchronous import close_group, copy16, groups_awaited
from ...ptx.matrices import ldmatrix_x4
from ...ptx.tensor import cvt_rna_tf32, mma_m16n8k8_f32_tf32
from ...ptx.word_numbers import single_of, store2
from ...unrolled import device, jit

ROWS = 128  # of out, for a block
COLS = 128
DEPTH = 16  # columns of a and rows of b that are in shared memory at a time
A_TILE = ROWS * DEPTH  # chunk c of row m of a at place c ^ m // 2 % 4 of its 4
B_TILE = DEPTH * COLS  # chunk c of row k of b at place c ^ k % 4 * 2 of its 32
STAGE = A_TILE + B_TILE
STAGES = 3
TILES = STAGES * STAGE
BAND = 8  # tiles below each other that are made one after the other
PITCH = 64 + 8  # words from row to row of results on their way: 8 are a pad
OWN = 16 * PITCH  # of a warp

one_group_pending = groups_awaited(1)
no_group_pending = groups_awaited(0)


@device
def send(tiles, stage, a, b, row0, col0, k0):
    """Send this thread's copies of the tiles at depth k0: 4 x 16 bytes of each matrix."""
    tid = uint32(cuda.threadIdx.x)
    chunk = uint32(tid % uint32(4))
    for turn in range(4):
        line = uint32(tid // uint32(4) + turn * 32)
        row = uint32(row0 + line)
        k = uint32(k0 + chunk * 4)
        present = row < uint32(a.shape[0]) and k < uint32(a.shape[1])
        to = uint32(stage + line * DEPTH + (chunk ^ line // uint32(2) % uint32(4)) * 4)
        copy16(tiles, to, a, uint32(row * uint32(a.strides[0] // 4) + k), present)  # 16 sectors
    chunk = uint32(tid % uint32(32))
    for turn in range(4):
        line = uint32(tid // uint32(32) + turn * 4)
        k = uint32(k0 + line)
        col = uint32(col0 + chunk * 4)
        present = k < uint32(b.shape[0]) and col < uint32(b.shape[1])
        to = uint32(stage + A_TILE + line * COLS + (chunk ^ line % uint32(4) * uint32(2)) * 4)
        copy16(tiles, to, b, uint32(k * uint32(b.strides[0] // 4) + col), present)  # 16 sectors
    close_group()


@device
def read_fragments(half, k, tiles, stage, m0, n0, a_frag, b_frag):
    """Read this warp's 64 x 8 of a and 8 x 64 of b at depth 8 * k of a stage, as tf32."""
    lane = uint32(cuda.threadIdx.x % 32)
    for i in range(4):
        line = uint32(m0 + i * 16 + lane % uint32(16))
        chunk = uint32(k * 2 + lane // uint32(16))
        at = uint32(stage + line * DEPTH + (chunk ^ line // uint32(2) % uint32(4)) * 4)
        words = ldmatrix_x4(tiles, at)  # 4 wavefronts
        for part in range(4):
            a_frag[half, i, part] = cvt_rna_tf32(single_of(words[part]))
    for j in range(8):
        chunk = uint32(n0 // uint32(4) + j * 2 + lane // uint32(16))
        line = uint32(k * 8 + lane % uint32(4))
        swizzled = uint32(chunk ^ lane % uint32(4) * uint32(2))
        at = uint32(stage + A_TILE + line * COLS + swizzled * 4 + lane // uint32(4) % uint32(4))
        for part in range(2):
            word = load1(tiles, at + part * 4 * COLS)  # 1 wavefront
            b_frag[half, j, part] = cvt_rna_tf32(word)


@device
def multiply(half, acc, a_frag, b_frag):
    """Add the product of the fragments: 4 x 8 mma."""
    for i in range(4):
        for j in range(8):
            left = a_frag[half, i, 0], a_frag[half, i, 1], a_frag[half, i, 2], a_frag[half, i, 3]
            right = b_frag[half, j, 0], b_frag[half, j, 1]
            sums = acc[i, j, 0], acc[i, j, 1], acc[i, j, 2], acc[i, j, 3]
            sums = mma_m16n8k8_f32_tf32(left, right, sums)
            acc[i, j, 0] = sums[0]
            acc[i, j, 1] = sums[1]
            acc[i, j, 2] = sums[2]
            acc[i, j, 3] = sums[3]


@device
def store_rows(i, out, tiles, acc, row, col):
    """Store 16 rows of this warp's results: by pairs to shared memory, from there by 16 bytes."""
    lane = uint32(cuda.threadIdx.x % 32)
    own = uint32(cuda.threadIdx.x // 32 * OWN)
    for j in range(8):
        for half in range(2):
            to = uint32(own + (half * 8 + lane // uint32(4)) * PITCH + j * 8 + lane % uint32(4) * 2)
            store2(tiles, to, (acc[i, j, half * 2], acc[i, j, half * 2 + 1]))  # 2 wavefronts
    cuda.syncwarp()  # the rows are there before any lane takes them
    for turn in range(8):
        line = uint32(lane // uint32(16) + turn * 2)
        chunk = uint32(lane % uint32(16))
        quad = load16(tiles, uint32(own + line * PITCH + chunk * 4))  # 4 wavefronts
        down = uint32(row + i * 16 + line)
        aside = uint32(col + chunk * 4)
        if down < out.shape[0] and aside < out.shape[1]:
            at = uint32(down * (out.strides[0] // 4) + aside)
            store16(out, at, quad)  # 16 sectors
    cuda.syncwarp()  # they are taken before the next ones come


@jit(launch_bounds=(128, 2))
def mma_tf32(out, a, b):
    """out = a @ b.  As mma_banded, of float32 that is rounded to tf32."""
    tiles = cuda.shared.array(TILES, float32, alignment=128)
    acc = cuda.local.array((4, 8, 4), float32)
    a_frag = cuda.local.array((2, 4, 4), uint32)  # of two steps, in turns
    b_frag = cuda.local.array((2, 8, 2), uint32)

    # 1. where this block's tile of out begins: bands of 8 rows of tiles, each from left to right
    across = uint32(cuda.gridDim.x)
    tile = uint32(cuda.blockIdx.y * across + cuda.blockIdx.x)
    band = uint32(tile // uint32(across * BAND) * BAND)
    high = uint32(min(uint32(BAND), uint32(cuda.gridDim.y - band)))
    within = uint32(tile - band * across)
    row0 = uint32((band + within % high) * ROWS)
    col0 = uint32(within // high * COLS)

    # 2. within it this warp's 64x64
    warp = uint32(cuda.threadIdx.x // 32)
    m0 = uint32(warp // uint32(2) * 64)
    n0 = uint32(warp % uint32(2) * 64)
    for i in range(4):
        for j in range(8):
            for part in range(4):
                acc[i, j, part] = float32(0)

    k_size = uint32(a.shape[1])
    # 3. the first stages are under way, a group each; the first fragments are read
    send(tiles, uint32(0), a, b, row0, col0, uint32(0))
    send(tiles, uint32(STAGE), a, b, row0, col0, uint32(DEPTH))
    one_group_pending()
    cuda.syncthreads()  # the first tiles are full before anyone reads them
    read_fragments(0, 0, tiles, uint32(0), m0, n0, a_frag, b_frag)
    k0 = uint32(0)
    stage = uint32(0)
    ahead = uint32(2 * STAGE)
    while k0 < k_size:
        # 4. read the second step, send the stage after next, multiply the first step meanwhile
        read_fragments(1, 1, tiles, stage, m0, n0, a_frag, b_frag)
        send(tiles, ahead, a, b, row0, col0, uint32(k0 + uint32(2 * DEPTH)))
        multiply(0, acc, a_frag, b_frag)

        # 5. read the first step of the next stage, multiply the second step meanwhile
        ahead = stage
        stage = uint32((stage + uint32(STAGE)) % uint32(TILES))
        one_group_pending()
        cuda.syncthreads()  # the next tiles are full, and everyone has read these
        read_fragments(0, 0, tiles, stage, m0, n0, a_frag, b_frag)
        multiply(1, acc, a_frag, b_frag)
        k0 = uint32(k0 + uint32(DEPTH))

    # 6. store, where the tiles were
    no_group_pending()
    cuda.syncthreads()  # no copy is under way, and everyone has read
    row = uint32(row0 + m0)
    col = uint32(col0 + n0)
    store_rows(0, out, tiles, acc, row, col)
    store_rows(1, out, tiles, acc, row, col)
    store_rows(2, out, tiles, acc, row, col)
    store_rows(3, out, tiles, acc, row, col)
