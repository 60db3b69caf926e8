"""Squared distances between two sets of points: two tiles in the bytes that the launch brings."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ....exercise import Budget, Case, Exercise, Wrong, cover, scattered

EDGE, PITCH = 32, 33


@cuda.jit
def distances_stub(out, a, b):
    """out[i, j] = the sum of (a[i] - b[j]) squared.  Blocks of n x n threads."""
    # FILL (about 20 lines)


@cuda.jit
def distances(out, a, b):
    """out[i, j] = the sum of (a[i] - b[j]) squared.  Blocks of n x n threads."""
    whole = cuda.shared.array(0, float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    b_row, pitch = cuda.blockIdx.x * n + ty, n + 1  # lanes read down b's tile, across a's
    a_tile, b_tile = whole[: n * n], whole[n * n :]
    acc = float32(0)
    for k0 in range(0, a.shape[1], n):
        a_tile[ty * n + tx] = 0
        b_tile[ty * pitch + tx] = 0
        if row < a.shape[0] and k0 + tx < a.shape[1]:
            a_tile[ty * n + tx] = a[row, k0 + tx]
        if b_row < b.shape[0] and k0 + tx < b.shape[1]:
            b_tile[ty * pitch + tx] = b[b_row, k0 + tx]
        cuda.syncthreads()  # both tiles are full before anyone reads them
        for k in range(n):
            apart = a_tile[ty * n + k] - b_tile[tx * pitch + k]
            acc += apart * apart  # beyond the depth 0 - 0
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit(device=True)
def _stage(a, b, k0, a_tile, b_tile, a_pitch, b_pitch):
    """A cell of each tile, 0 beyond the edge."""
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    row, b_row = cuda.blockIdx.y * n + ty, cuda.blockIdx.x * n + ty
    a_tile[ty * a_pitch + tx] = 0
    b_tile[ty * b_pitch + tx] = 0
    if row < a.shape[0] and k0 + tx < a.shape[1]:
        a_tile[ty * a_pitch + tx] = a[row, k0 + tx]
    if b_row < b.shape[0] and k0 + tx < b.shape[1]:
        b_tile[ty * b_pitch + tx] = b[b_row, k0 + tx]


@cuda.jit(device=True)
def _add(acc, a_tile, b_tile, a_pitch, b_pitch):
    for k in range(cuda.blockDim.x):
        apart = a_tile[cuda.threadIdx.y * a_pitch + k] - b_tile[cuda.threadIdx.x * b_pitch + k]
        acc += apart * apart
    return acc


@cuda.jit(device=True)
def _store(out, acc):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit(device=True)
def _distances(out, a, b, tiles, pitches, depth, first, second):
    """`distances` with any two flat tiles and pitches, over `depth`, with barriers or without."""
    a_tile, b_tile = tiles
    acc = float32(0)
    for k0 in range(0, depth, cuda.blockDim.x):
        _stage(a, b, k0, a_tile, b_tile, pitches[0], pitches[1])
        if first:
            cuda.syncthreads()
        acc = _add(acc, a_tile, b_tile, pitches[0], pitches[1])
        if second:
            cuda.syncthreads()
    _store(out, acc)


@cuda.jit
def distances_no_pad(out, a, b):
    """The bytes of a pad are there, and no index uses them: a column of b's tile in one bank."""
    whole, n = cuda.shared.array(0, float32), cuda.blockDim.x
    tiles = whole[: n * n], whole[n * n :]
    _distances(out, a, b, tiles, (n, n), a.shape[1], True, True)


@cuda.jit
def distances_pad_of_a(out, a, b):
    """The pad in the wrong tile: of a's, all lanes read one cell."""
    whole, n = cuda.shared.array(0, float32), cuda.blockDim.x
    tiles = whole[: n * n + n], whole[n * n + n :]
    _distances(out, a, b, tiles, (n + 1, n), a.shape[1], True, True)


@cuda.jit
def distances_both_pads(out, a, b):
    """A pad in both tiles: the last cells of b's lie beyond what the launch brings."""
    whole, n = cuda.shared.array(0, float32), cuda.blockDim.x
    tiles = whole[: n * n + n], whole[n * n + n :]
    _distances(out, a, b, tiles, (n + 1, n + 1), a.shape[1], True, True)


@cuda.jit
def distances_aliased(out, a, b):
    """Two dynamic arrays, which begin at one byte."""
    tiles, n = (cuda.shared.array(0, float32), cuda.shared.array(0, float32)), cuda.blockDim.x
    _distances(out, a, b, tiles, (n, n + 1), a.shape[1], True, True)


@cuda.jit
def distances_first_tile(out, a, b):
    """Only the first n coordinates."""
    whole, n = cuda.shared.array(0, float32), cuda.blockDim.x
    tiles = whole[: n * n], whole[n * n :]
    _distances(out, a, b, tiles, (n, n + 1), n, True, True)


@cuda.jit
def distances_no_first(out, a, b):
    """No barrier after staging."""
    whole, n = cuda.shared.array(0, float32), cuda.blockDim.x
    tiles = whole[: n * n], whole[n * n :]
    _distances(out, a, b, tiles, (n, n + 1), a.shape[1], False, True)


@cuda.jit
def distances_no_second(out, a, b):
    """No barrier at the end of the loop."""
    whole, n = cuda.shared.array(0, float32), cuda.blockDim.x
    tiles = whole[: n * n], whole[n * n :]
    _distances(out, a, b, tiles, (n, n + 1), a.shape[1], True, False)


@cuda.jit
def distances_static(out, a, b):
    """Right, but with static tiles for the largest block, beside what the launch brings."""
    a_tile = cuda.shared.array((EDGE, EDGE), float32)
    b_tile = cuda.shared.array((EDGE, PITCH), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    row, b_row = cuda.blockIdx.y * n + ty, cuda.blockIdx.x * n + ty
    acc = float32(0)
    for k0 in range(0, a.shape[1], n):
        a_tile[ty, tx] = 0
        b_tile[ty, tx] = 0
        if row < a.shape[0] and k0 + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, k0 + tx]
        if b_row < b.shape[0] and k0 + tx < b.shape[1]:
            b_tile[ty, tx] = b[b_row, k0 + tx]
        cuda.syncthreads()
        for k in range(n):
            acc += (a_tile[ty, k] - b_tile[tx, k]) ** 2
        cuda.syncthreads()
    _store(out, acc)


@cuda.jit
def distances_clamped(out, a, b):
    """Beyond the depth the last coordinate again: its difference counts once for each cell."""
    whole = cuda.shared.array(0, float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    a_tile, b_tile, pitch = whole[: n * n], whole[n * n :], n + 1
    a_row = min(cuda.blockIdx.y * n + ty, a.shape[0] - 1)
    b_row = min(cuda.blockIdx.x * n + ty, b.shape[0] - 1)
    acc = float32(0)
    for k0 in range(0, a.shape[1], n):
        a_tile[ty * n + tx] = a[a_row, min(k0 + tx, a.shape[1] - 1)]
        b_tile[ty * pitch + tx] = b[b_row, min(k0 + tx, a.shape[1] - 1)]
        cuda.syncthreads()
        acc = _add(acc, a_tile, b_tile, n, pitch)
        cuda.syncthreads()
    _store(out, acc)


@cuda.jit
def distances_one_fill(out, a, b):
    """Zeros in a's tile only: b's keeps what the tile before has left there."""
    whole = cuda.shared.array(0, float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    a_tile, b_tile, pitch = whole[: n * n], whole[n * n :], n + 1
    row, b_row = cuda.blockIdx.y * n + ty, cuda.blockIdx.x * n + ty
    acc = float32(0)
    for k0 in range(0, a.shape[1], n):
        a_tile[ty * n + tx] = 0
        if row < a.shape[0] and k0 + tx < a.shape[1]:
            a_tile[ty * n + tx] = a[row, k0 + tx]
        if b_row < b.shape[0] and k0 + tx < b.shape[1]:
            b_tile[ty * pitch + tx] = b[b_row, k0 + tx]
        cuda.syncthreads()
        acc = _add(acc, a_tile, b_tile, n, pitch)
        cuda.syncthreads()
    _store(out, acc)


@cuda.jit
def distances_own_row(out, a, b):
    """Each lane loads a row of b of its own: 32 sectors, for a tile that lies turned."""
    whole = cuda.shared.array(0, float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    a_tile, b_tile = whole[: n * n], whole[n * n :]
    acc = float32(0)
    for k0 in range(0, a.shape[1], n):
        a_tile[ty * n + tx] = 0
        b_tile[ty * n + tx] = 0
        if row < a.shape[0] and k0 + tx < a.shape[1]:
            a_tile[ty * n + tx] = a[row, k0 + tx]
        if col < b.shape[0] and k0 + ty < b.shape[1]:
            b_tile[ty * n + tx] = b[col, k0 + ty]
        cuda.syncthreads()
        for k in range(n):
            apart = a_tile[ty * n + k] - b_tile[k * n + tx]
            acc += apart * apart
        cuda.syncthreads()
    _store(out, acc)


@cuda.jit
def distances_as_product(out, a, b):
    """b's tile is read along a row, as in a product: its cells are the wrong points'."""
    whole = cuda.shared.array(0, float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    a_tile, b_tile = whole[: n * n], whole[n * n :]
    acc = float32(0)
    for k0 in range(0, a.shape[1], n):
        _stage(a, b, k0, a_tile, b_tile, n, n + 1)
        cuda.syncthreads()
        for k in range(n):
            apart = a_tile[ty * n + k] - b_tile[k * (n + 1) + tx]
            acc += apart * apart
        cuda.syncthreads()
    _store(out, acc)


@cuda.jit
def distances_double(out, a, b):
    """The sum starts as 0.0, a float64."""
    whole, n = cuda.shared.array(0, float32), cuda.blockDim.x
    a_tile, b_tile = whole[: n * n], whole[n * n :]
    acc = 0.0
    for k0 in range(0, a.shape[1], n):
        _stage(a, b, k0, a_tile, b_tile, n, n + 1)
        cuda.syncthreads()
        for k in range(n):
            at = cuda.threadIdx.x * (n + 1) + k
            acc += (a_tile[cuda.threadIdx.y * n + k] - b_tile[at]) ** 2
        cuda.syncthreads()
    _store(out, acc)


@cuda.jit
def distances_direct(out, a, b):
    """Right, but without tiles: neighbouring lanes load from neighbouring rows of b."""
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        acc = float32(0)
        for k in range(a.shape[1]):
            acc += (a[row, k] - b[col, k]) ** 2
        out[row, col] = acc


def _points(count, others, depth, unit):
    """Coordinates above 0, so that a 0 that should not be there makes a difference.

    Larger by `unit`, they lie beyond what narrower tiles hold.
    """
    a = scattered((count, depth), seed=count + depth, low=1, high=19)
    b = scattered((others, depth), seed=others, low=1, high=19)
    return a * np.float32(unit), b * np.float32(unit)


def _case(count, others, depth, n, unit=1, **asked):
    staged = 4 * (n * n + n * (n + 1))
    budget = Budget(shared_bytes=staged, **asked)
    inputs = partial(_points, count, others, depth, unit)
    return Case(inputs, cover((others, count), (n, n)), (n, n), budget, shared_bytes=staged)


def _cases():
    """Two full tiles in each of two blocks with their budget; ragged and flat ones."""
    yield _case(32, 64, 64, 32, sectors_per_request=4, requests={"a": 128, "b": 128})
    for count, others, depth, unit in ((40, 35, 33, 1), (70, 1, 3, 1), (1, 40, 70, 2.0**40)):
        yield _case(count, others, depth, 32, unit)
    yield _case(20, 37, 21, 16, extra=None)  # two rows per warp: the stores meet
    yield _case(9, 20, 11, 8, extra=None)


EXERCISE = Exercise(
    name="ex08b_distances",
    chapter="08b_checkpoint",
    title="Distances, in the bytes of the launch",
    specification=lambda a, b: ((a[:, None] - b[None]) ** 2).sum(axis=2),
    stub=distances_stub,
    solution=distances,
    wrong=(
        Wrong(distances_no_pad, "wavefronts", "32-way"),
        Wrong(distances_pad_of_a, "wavefronts", "32-way"),
        Wrong(distances_both_pads, "output", "wrong"),
        Wrong(distances_aliased, "output", "wrong"),
        Wrong(distances_first_tile, "output", "wrong"),
        Wrong(distances_no_first, "findings", "race"),
        Wrong(distances_no_second, "findings", "race"),
        Wrong(distances_static, "shared", "bytes of shared memory per block; budget 8320"),
        Wrong(distances_clamped, "output", "wrong"),
        Wrong(distances_one_fill, "output", "wrong"),
        Wrong(distances_own_row, "sectors", "32 per request; budget 4"),
        Wrong(distances_as_product, "output", "wrong"),
        Wrong(distances_double, "findings", "float64"),
        Wrong(distances_direct, "sectors", "16.5 per request; budget 4"),
    ),
    cases=tuple(_cases()),
    hints=(
        "It is a product of rows with rows, with a squared difference in place of a product. The "
        "launch brings n * n cells for one tile and n * (n + 1) for the other: which of them needs "
        "the pad? And what has to stand beyond the depth?",
        "Lane tx reads row tx of b's tile: that one has a pitch of n + 1. Of a's, a warp reads one "
        "cell. Both tiles are parts of one dynamic array. A 0 in both beyond the depth adds "
        "nothing, in one of them it adds a square.",
        "Slice the whole at n * n. Per tile of the depth: 0 at ty * n + tx and at ty * pitch + tx; "
        "a guarded load of a's row, another of b's row n * blockIdx.x + ty; barrier; n times the "
        "difference of a's cell ty * n + k and b's cell tx * pitch + k, squared; barrier. Last, "
        "a guarded store.",
    ),
)
