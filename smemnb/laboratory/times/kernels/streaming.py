"""Kernels that read and write global memory: in rows, apart, by index, with neighbours."""

from __future__ import annotations

from numba import cuda, float32

FIELDS = 4
RADIUS = 4
SPAN = 256
HALO = SPAN + 2 * RADIUS


@cuda.jit
def timed_saxpy(out, inp, factor):
    """out += factor * inp, a grid-stride loop."""
    for at in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[at] += factor * inp[at]


@cuda.jit
def timed_misaligned(out, inp):
    """out = inp from its second element on: requests that begin in the middle of a sector."""
    at = cuda.grid(1)
    if at < out.size:
        out[at] = inp[at + 1]


@cuda.jit
def timed_gather(out, inp, places):
    """out = inp at places in no order."""
    at = cuda.grid(1)
    if at < out.size:
        out[at] = inp[places[at]]


@cuda.jit
def timed_field(out, records):
    """out = the third field of records of four: a quarter of each sector is wanted."""
    at = cuda.grid(1)
    if at < out.size:
        out[at] = records[at, 2]


@cuda.jit
def timed_window(out, inp):
    """out = sums of nine neighbours along a row, staged in shared memory with its halo."""
    tile = cuda.shared.array(HALO, float32)
    tx = cuda.threadIdx.x
    first = cuda.blockIdx.x * SPAN
    for place in range(tx, HALO, SPAN):
        at = first + place - RADIUS
        tile[place] = inp[at] if 0 <= at < inp.size else float32(0)
    cuda.syncthreads()
    acc = float32(0)
    for step in range(2 * RADIUS + 1):
        acc += tile[tx + step]
    if first + tx < out.size:
        out[first + tx] = acc


@cuda.jit
def timed_five_points(out, inp):
    """out = the mean of the four neighbours of each inner element of a picture."""
    col, row = cuda.grid(2)
    if 0 < row < inp.shape[0] - 1 and 0 < col < inp.shape[1] - 1:
        around = inp[row - 1, col] + inp[row + 1, col] + inp[row, col - 1] + inp[row, col + 1]
        out[row, col] = float32(0.25) * around


@cuda.jit
def timed_seven_points(out, inp):
    """out = a step of diffusion in three dimensions, a thread per column of planes."""
    col, row = cuda.grid(2)
    if 0 < row < inp.shape[1] - 1 and 0 < col < inp.shape[2] - 1:
        below, here = inp[0, row, col], inp[1, row, col]
        for plane in range(1, inp.shape[0] - 1):
            above = inp[plane + 1, row, col]
            beside = inp[plane, row - 1, col] + inp[plane, row + 1, col]
            beside += inp[plane, row, col - 1] + inp[plane, row, col + 1]
            out[plane, row, col] = here + float32(0.1) * (
                beside + below + above - float32(6) * here
            )
            below, here = here, above


@cuda.jit
def timed_matrix_vector(out, matrix, vector):
    """out = matrix times vector, a warp per row, its lanes' sums joined by shuffles."""
    lane = cuda.threadIdx.x % 32
    row = cuda.grid(1) // 32
    if row < matrix.shape[0]:
        acc = float32(0)
        for col in range(lane, matrix.shape[1], 32):
            acc += matrix[row, col] * vector[col]
        for apart in (16, 8, 4, 2, 1):
            acc += cuda.shfl_down_sync(0xFFFFFFFF, acc, apart)
        if lane == 0:
            out[row] = acc
