"""Squared distances to eight centres: what is read serves the results of two points."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered


@cuda.jit
def to_centres(out, points, centres):
    """out[c, p] = squared distance of centre c (a row, one of 8) and point p (a column).

    At most 32 coordinates.  Blocks of n threads, n at least 32, take 2 n points, a thread two.
    """
    # FILL (about 23 lines)
    near = cuda.shared.array((8, 32), float32)
    acc, part = cuda.local.array((8, 2), float32), cuda.local.array(2, float32)
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    depth, count = points.shape
    first = cuda.blockIdx.x * 2 * n + tx  # the other point is n further on
    for c in range(8):
        acc[c, 0] = 0
        acc[c, 1] = 0
        if tx < depth:
            near[c, tx] = centres[c, tx]
    cuda.syncthreads()  # all centres are staged before anyone reads them
    for k in range(depth):
        for p in range(2):
            at = first + p * n
            part[p] = points[k, at] if at < count else float32(0)
        for c in range(8):
            centre = near[c, k]
            for p in range(2):
                acc[c, p] += (part[p] - centre) * (part[p] - centre)
    for c in range(8):
        for p in range(2):
            if first + p * n < count:
                out[c, first + p * n] = acc[c, p]


@cuda.jit
def _point_by_point(out, points, centres):
    near = cuda.shared.array((8, 32), float32)
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    depth, count = points.shape
    for c in range(8):
        if tx < depth:
            near[c, tx] = centres[c, tx]
    cuda.syncthreads()
    for p in range(cuda.blockIdx.x * 2 * n + tx, min(count, (cuda.blockIdx.x + 1) * 2 * n), n):
        for c in range(8):
            acc = float32(0)
            for k in range(depth):
                acc += (points[k, p] - near[c, k]) * (points[k, p] - near[c, k])
            out[c, p] = acc


def _squares(points, centres):
    return ((points - centres[:, :, None]) ** 2).sum(axis=1, dtype=np.float32)


def _places(depth, count, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower arrays hold."""
    points = scattered((depth, count), seed=depth + count + seed, low=-9, high=9)
    centres = scattered((8, depth), seed=count + seed + 1, low=-9, high=9)
    return points * np.float32(unit), centres * np.float32(unit)


def _cases():
    """Two full blocks with their budget; ragged, one point, one coordinate, other blocks."""
    once = Budget(
        sectors_per_request=4,
        requests={"points": 256, "centres": 16, "out": 64},
        shared_bytes=1024,
        shared_requests=1040,  # 4 warps, 32 coordinates, 8 reads; 2 blocks stage 8 rows
    )
    yield Case(partial(_places, 32, 256), grid=(2,), block=(64,), budget=once)
    for depth, count, n in ((5, 150, 64), (32, 1, 32), (1, 97, 32), (17, 70, 96)):
        yield Case(partial(_places, depth, count), cover((count,), (2 * n,)), (n,))
    yield Case(partial(_places, 12, 130, 2.0**40), grid=(3,), block=(32,))


def _fresh(draw):
    """Full blocks, held to the budget of the first case; a ragged number of large points."""
    blocks, n = draw.size(1, 3), draw.one_of(32, 64)
    data = partial(_places, 32, 2 * n * blocks, seed=draw.numbers())
    yield Case(data, (blocks,), (n,), like=0)
    depth, count, n = draw.size(2, 31), draw.size(2, 250), draw.one_of(32, 64, 96)
    data = partial(_places, depth, count, 2.0**40, draw.numbers())
    yield Case(data, cover((count,), (2 * n,)), (n,))


EXERCISE = Exercise(
    name="ex32_centres",
    chapter="32_register_tiles",
    title="Distances to eight centres",
    specification=_squares,
    solution=to_centres,
    wrong=(
        Wrong(
            "A thread's two points are neighbours: the lanes of a request lie two apart.",
            {
                "first =": "first = 2 * (cuda.blockIdx.x * n + tx)",
                "if first": "if first + p < count:",
                "at =": "at = first + p",
                "out[c": "out[c, first + p] = acc[c, p]",
            },
            ("sectors", "8 per request; budget 4"),
        ),
        Wrong(
            "Right, but a centre's coordinate is read again for each of the two points.",
            {
                "centre =": "",
                "acc[c, p] +=": "acc[c, p] += (part[p] - near[c, k]) * (part[p] - near[c, k])",
            },
            ("requests", "4112 requests go to shared memory; budget 1040"),
        ),
        Wrong(
            "Right, but the points come anew for each centre.",
            _point_by_point,
            ("requests", "4096 requests touch points; budget 256"),
        ),
        Wrong(
            "Right, but every warp reads the centres from global memory.",
            {"centre =": "centre = centres[c, k]"},
            ("requests", "1040 requests touch centres; budget 16"),
        ),
        Wrong(
            "No barrier after staging: other warps read what is not there yet.",
            {"cuda.syncthreads": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Nobody asks whether the points are there.",
            {"if first": "if True:"},
            ("findings", "out of range"),
        ),
        Wrong(
            "Asks for the first point only.",
            {"if first": "if first < count:"},
            ("findings", "out of range"),
        ),
        Wrong(
            "Threads without a point leave, and stage nothing for the others.",
            {"first =": "first = cuda.blockIdx.x * 2 * n + tx\nif first >= count:\n    return"},
            ("output", "no thread has stored"),
        ),
        Wrong(
            "One sum for both points of a thread.",
            {
                "acc[c, p] +=": "acc[c, 0] += (part[p] - centre) * (part[p] - centre)",
                "out[c": "out[c, first + p * n] = acc[c, 0]",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Blocks begin n points apart, as with one point per thread.",
            {"first =": "first = cuda.blockIdx.x * n + tx"},
            ("output", "not written"),
        ),
        Wrong(
            "Sums of differences, without the square.",
            {"acc[c, p] +=": "acc[c, p] += part[p] - centre"},
            ("output", "wrong"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "A thread keeps 16 sums: 8 centres, 2 points. At each coordinate it needs 2 numbers of its "
        "points and 8 of the centres, and each of these ten serves several sums. All threads of a "
        "block want the same centres.",
        "Stage the centres in shared memory, each as a row. Then one loop over the coordinates: "
        "first take the two points' numbers into variables of the thread, then go over the "
        "centres, and take each centre's number once for both points. Which two points does a "
        "thread take, so that neighbouring lanes load neighbours?",
        "Thread tx of a block takes the points tx and n + tx of the block's 2 n. While staging, a "
        "thread whose x is below the number of coordinates brings that coordinate of all 8 "
        "centres; no thread may leave before the barrier. Each point has a guard of its own, for "
        "the loads and again for the stores.",
    ),
    budget=Budget(shared_bytes=1024),
)
