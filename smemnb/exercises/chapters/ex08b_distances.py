"""Squared distances between two sets of points: two tiles in the bytes that the launch brings."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered


@cuda.jit
def distances(out, a, b):
    """out[i, j] = the sum of (a[i] - b[j]) squared.  Blocks of n x n threads."""
    # FILL (about 20 lines)
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


@cuda.jit
def _distances_direct(out, a, b):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        acc = float32(0)
        for k in range(a.shape[1]):
            acc += (a[row, k] - b[col, k]) ** 2
        out[row, col] = acc


def _points(count, others, depth, unit, seed):
    """Coordinates above 0, so that a 0 that should not be there makes a difference.

    Larger by `unit`, they lie beyond what narrower tiles hold.
    """
    a = scattered((count, depth), seed=count + depth + seed, low=1, high=19)
    b = scattered((others, depth), seed=others + seed, low=1, high=19)
    return a * np.float32(unit), b * np.float32(unit)


def _case(count, others, depth, n, unit=1, seed=0, like=None, **asked):
    staged = 4 * (n * n + n * (n + 1))
    budget = Budget(shared_bytes=staged, **asked)
    inputs = partial(_points, count, others, depth, unit, seed)
    return Case(inputs, cover((others, count), (n, n)), (n, n), budget, staged, like)


def _cases():
    """Two full tiles in each of two blocks with their budget; ragged and flat ones."""
    yield _case(32, 64, 64, 32, sectors_per_request=4, requests={"a": 128, "b": 128})
    for count, others, depth, unit in ((40, 35, 33, 1), (70, 1, 3, 1), (1, 40, 70, 2.0**40)):
        yield _case(count, others, depth, 32, unit)
    yield _case(20, 37, 21, 16, extra=None)  # two rows per warp: the stores meet
    yield _case(9, 20, 11, 8, extra=None)


def _fresh(draw):
    """Full tiles, held to the budget of the first case; ragged ones of large numbers."""
    count, others = 32 * draw.size(1, 2), 32 * draw.size(1, 2)
    yield _case(count, others, 64, 32, seed=draw.numbers(), like=0)
    count, others, depth = (draw.size(1, 70) for _ in range(3))
    n = draw.one_of(8, 16, 32)
    unit, seed, like = 2.0**40, draw.numbers(), 1 if n == 32 else 4
    yield _case(count, others, depth, n, unit, seed, like)


EXERCISE = Exercise(
    name="ex08b_distances",
    chapter="43_checkpoint",
    title="Distances, in the bytes of the launch",
    specification=lambda a, b: ((a[:, None] - b[None]) ** 2).sum(axis=2),
    solution=distances,
    wrong=(
        Wrong(
            "The bytes of a pad are there, and no index uses them: a column of b's tile "
            "in one bank.",
            {"b_row, pitch =": "b_row, pitch = cuda.blockIdx.x * n + ty, n"},
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "The pad in the wrong tile: of a's, all lanes read one element.",
            {
                "a_tile, b_tile =": "a_tile, b_tile = whole[: n * pitch], whole[n * pitch :]",
                "a_tile[ty * n + tx] = 0": "a_tile[ty * pitch + tx] = 0",
                "b_tile[ty * pitch + tx] = 0": "b_tile[ty * n + tx] = 0",
                "a_tile[ty * n + tx] = a[": "a_tile[ty * pitch + tx] = a[row, k0 + tx]",
                "b_tile[ty * pitch + tx] = b[": "b_tile[ty * n + tx] = b[b_row, k0 + tx]",
                "apart =": "apart = a_tile[ty * pitch + k] - b_tile[tx * n + k]",
            },
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "A pad in both tiles: the last elements of b's lie beyond what the launch brings.",
            {
                "a_tile, b_tile =": "a_tile, b_tile = whole[: n * pitch], whole[n * pitch :]",
                "a_tile[ty * n + tx] = 0": "a_tile[ty * pitch + tx] = 0",
                "a_tile[ty * n + tx] = a[": "a_tile[ty * pitch + tx] = a[row, k0 + tx]",
                "apart =": "apart = a_tile[ty * pitch + k] - b_tile[tx * pitch + k]",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Two dynamic arrays, which begin at one byte.",
            {
                "whole =": "",
                "a_tile, b_tile =": (
                    "a_tile, b_tile = cuda.shared.array(0, float32), cuda.shared.array(0, float32)"
                ),
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Only the first n coordinates.",
            {"for k0": "for k0 in range(0, n, n):"},
            ("output", "wrong"),
        ),
        Wrong(
            "No barrier after staging.", {"cuda.syncthreads()  # both": ""}, ("findings", "race")
        ),
        Wrong(
            "No barrier at the end of the loop.",
            {"cuda.syncthreads()  # everyone": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Right, but with static tiles for the largest block, beside what the launch brings.",
            {
                "whole =": "",
                "a_tile, b_tile =": "a_tile = cuda.shared.array(1024, float32)\n"
                "b_tile = cuda.shared.array(1056, float32)",
            },
            ("shared", "16640 bytes of shared memory per block; budget 8320"),
        ),
        Wrong(
            "Beyond the depth the last coordinate again: its difference counts once for each "
            "element.",
            {
                "if row < a": "if row < a.shape[0]:",
                "a_tile[ty * n + tx] = a[": (
                    "a_tile[ty * n + tx] = a[row, min(k0 + tx, a.shape[1] - 1)]"
                ),
                "if b_row": "if b_row < b.shape[0]:",
                "b_tile[ty * pitch + tx] = b[": (
                    "b_tile[ty * pitch + tx] = b[b_row, min(k0 + tx, a.shape[1] - 1)]"
                ),
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Zeros in a's tile only: b's keeps what the tile before has left there.",
            {"b_tile[ty * pitch + tx] = 0": ""},
            ("output", "wrong"),
        ),
        Wrong(
            "Each lane loads a row of b of its own: 32 sectors, for a tile that lies turned.",
            {
                "if b_row": "if col < b.shape[0] and k0 + ty < b.shape[1]:",
                "b_tile[ty * pitch + tx] = b[": "b_tile[ty * pitch + tx] = b[col, k0 + ty]",
                "apart =": "apart = a_tile[ty * n + k] - b_tile[k * pitch + tx]",
            },
            ("sectors", "32 per request; budget 4"),
        ),
        Wrong(
            "b's tile is read along a row, as in a product: its elements are the wrong points'.",
            {"apart =": "apart = a_tile[ty * n + k] - b_tile[k * pitch + tx]"},
            ("output", "wrong"),
        ),
        Wrong("The sum starts as 0.0, a float64.", {"acc =": "acc = 0.0"}, ("findings", "float64")),
        Wrong(
            "Right, but without tiles: neighbouring lanes load from neighbouring rows of b.",
            _distances_direct,
            ("sectors", "16.5 per request; budget 4"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "It is a product of rows with rows, with a squared difference in place of a product. The "
        "launch brings n * n elements for one tile and n * (n + 1) for the other: which of them "
        "needs the pad? And what has to stand beyond the depth?",
        "Lane tx reads row tx of b's tile: that one has a pitch of n + 1. Of a's, a warp reads one "
        "element. Both tiles are parts of one dynamic array. A 0 in both beyond the depth adds "
        "nothing, in one of them it adds a square.",
        "Slice the whole at n * n. Per tile of the depth: 0 at ty * n + tx and at ty * pitch + "
        "tx; a guarded load of a's row, another of b's row n * blockIdx.x + ty; barrier; n times "
        "the difference of a's element ty * n + k and b's element tx * pitch + k, squared; "
        "barrier. Last, a guarded store.",
    ),
)
