"""Right answers to `empty_signature`, each cut into lines, names and tiles of its own."""

from numba import cuda, float32


@cuda.jit(device=True)
def add_up(cells, row, count):
    total = float32(0)
    for at in range(count):
        total += cells[row, at]
        cells[row, at] = total


@cuda.jit
def with_a_function(result, given):
    pieces = cuda.shared.array((32, 33), float32)
    lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
    high, wide = given.shape
    first, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for y in range(warp, 32, cuda.blockDim.y):
        if first + y < high and left + lane < wide:
            pieces[y, lane] = given[first + y, left + lane]
    cuda.syncthreads()
    if warp == 0 and first + lane < high:
        add_up(pieces, lane, min(32, wide - left))
    cuda.syncthreads()
    for y in range(warp, 32, cuda.blockDim.y):
        if first + y < high and left + lane < wide:
            result[first + y, left + lane] = pieces[y, lane]


@cuda.jit
def swizzled(out, inp):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    y = ty
    while y < 32:
        if top + y < rows and left + tx < cols:
            line = tile[y]
            line[tx ^ y] = inp[top + y, left + tx]
        y += cuda.blockDim.y
    cuda.syncthreads()
    if ty == 0 and top + tx < rows:
        acc = float32(0)
        for k in range(min(32, cols - left)):
            acc += tile[tx, k ^ tx]; tile[tx, k ^ tx] = acc  # fmt: skip  # noqa: E702
    cuda.syncthreads()
    for y in range(ty, 32, cuda.blockDim.y):
        if top + y < rows and left + tx < cols:
            out[top + y, left + tx] = tile[y, tx ^ y]


@cuda.jit
def added_in_place(out, inp):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for y in range(ty, 32, cuda.blockDim.y):
        inside = top + y < rows and left + tx < cols
        tile[y, tx] = inp[top + y, left + tx] if inside else float32(0)
    cuda.syncthreads()
    if ty == 0:
        for k in range(1, 32):
            tile[tx, k] += tile[tx, k - 1]
    cuda.syncthreads()
    for y in range(ty, 32, cuda.blockDim.y):
        if top + y < rows and left + tx < cols:
            out[top + y, left + tx] = tile[y, tx]


EACH = (with_a_function, swizzled, added_in_place)
