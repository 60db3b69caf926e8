"""The kernels of the project; nothing in here knows that they are traced."""

from numba import cuda, float32

TILE = 32
PITCH = TILE + 1


@cuda.jit
def turned(out, inp):
    """out = inp.T, through a tile of shared memory."""
    tile = cuda.shared.array((TILE, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        tile[ty, tx] = inp[row, col]
    cuda.syncthreads()
    out_row = cuda.blockIdx.x * TILE + ty
    out_col = cuda.blockIdx.y * TILE + tx
    if out_row < out.shape[0] and out_col < out.shape[1]:
        out[out_row, out_col] = tile[tx, ty]


@cuda.jit
def reversed_in_blocks(out, inp):
    """Each block's part of `inp` in reverse order."""
    part = cuda.shared.array(128, float32)
    tx, i = cuda.threadIdx.x, cuda.grid(1)
    part[tx] = inp[i]
    cuda.syncthreads()
    out[i] = part[127 - tx]
