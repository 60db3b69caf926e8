"""Kernels for the tests of `trace`; the golden text names their lines."""

from numba import cuda, float32, int32


@cuda.jit
def turn_tiled(out, inp):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        tile[ty, tx] = inp[row, col]
    cuda.syncthreads()
    if col < out.shape[0] and row < out.shape[1]:
        out[col, row] = tile[ty, tx]


@cuda.jit
def turn_unsynced(out, inp):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = inp[ty, tx]
    out[ty, tx] = tile[tx, ty]


@cuda.jit(device=True)
def doubled(cells, i):
    return 2 * cells[i]


@cuda.jit
def double(out, inp):
    i = cuda.grid(1)
    staged = cuda.shared.array(0, int32)
    staged[cuda.threadIdx.x] = inp[i]
    out[i] = doubled(staged, cuda.threadIdx.x)


@cuda.jit
def idle(out):
    i = cuda.grid(1)
    if i < 0:
        out[i] = i
