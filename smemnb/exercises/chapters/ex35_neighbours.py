"""How many numbers are near each of others: pieces that come while the piece before is read."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32, int32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

MOST = 128
FAR = np.float32(np.inf)


@cuda.jit
def neighbours(out, a, b, reach):
    """out[i] = how many elements of b are at most reach away from a[i].

    Blocks of n threads, at most 128; a thread has one element of a.  b comes in pieces of n.
    """
    # FILL (about 24 lines)
    piece = cuda.shared.array((2, MOST), float32)
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    i = cuda.grid(1)
    mine = float32(0)
    if i < a.shape[0]:
        mine = a[i]
    now, count = 0, int32(0)
    following = FAR
    if tx < b.shape[0]:
        following = b[tx]
    piece[0, tx] = following
    cuda.syncthreads()  # the first piece is full before anyone reads it
    for start in range(0, b.shape[0], n):
        following = FAR
        if start + n + tx < b.shape[0]:
            following = b[start + n + tx]  # under way while this piece is read
        for k in range(n):
            if abs(mine - piece[now, k]) <= reach:
                count += 1
        now = 1 - now
        piece[now, tx] = following
        cuda.syncthreads()  # the next piece is full, and everyone has read this one
    if i < out.shape[0]:
        out[i] = count


def _points(count, others, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower types hold."""
    unit = np.float32(unit)
    a = scattered(count, seed=count + seed, low=-999, high=999) * unit
    return a, scattered(others, seed=others + seed + 1, low=-999, high=999) * unit, 200 * unit


def _near(a, b, reach):
    return (np.abs(a[:, None] - b[None, :]) <= reach).sum(axis=1).astype(np.int32)


def _waits(pieces):
    """One barrier per piece, and one for the first."""
    return Budget(shared_bytes=1024, barriers=pieces + 1)


def _cases():
    """Whole pieces with their budget; ragged ones, one element on either side, other blocks."""
    once = Budget(
        sectors_per_request=4,
        requests={"out": 4, "a": 4, "b": 16},
        shared_bytes=1024,
        shared_requests=1044,  # 4 warps: 256 reads, and a store for each piece and one past the end
        barriers=5,
    )
    yield Case(partial(_points, 128, 256), grid=(2,), block=(64,), budget=once)
    for count, others, threads in ((100, 75, 32), (1, 70, 64), (70, 1, 64), (97, 130, 128)):
        budget = _waits(-(-others // threads))
        data = partial(_points, count, others, 2.0**40 if others == 130 else 1)
        yield Case(data, cover((count,), (threads,)), (threads,), budget)


def _fresh(draw):
    """Whole pieces, held to the budget of the first case; a ragged case of large numbers."""
    threads = draw.one_of(32, 64)
    count, others = threads * draw.size(1, 3), threads * draw.size(2, 5)
    data = partial(_points, count, others, seed=draw.numbers())
    yield Case(data, (count // threads,), (threads,), like=0)
    count, others = draw.size(2, 150), draw.size(2, 150)
    threads = draw.one_of(32, 64, 96)
    data = partial(_points, count, others, 2.0**40, draw.numbers())
    yield Case(data, cover((count,), (threads,)), (threads,), like=1)


EXERCISE = Exercise(
    name="ex35_neighbours",
    chapter="35_two_buffers",
    title="How many are near",
    specification=_near,
    solution=neighbours,
    wrong=(
        Wrong(
            "Zeros beyond the end of b: they may be near, and are counted.",
            {"following = FAR": "following = float32(0)"},
            ("output", "wrong"),
        ),
        Wrong(
            "Beyond the end of b a thread keeps its element of the piece before.",
            {
                "if start": "if start + n + tx >= b.shape[0]:\n"
                "    following = piece[now, tx]\n"
                "else:",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "What is exactly at the reach is left out.",
            {"if abs": "if abs(mine - piece[now, k]) < reach:"},
            ("output", "wrong"),
        ),
        Wrong(
            "The difference with its sign, not the distance.",
            {"if abs": "if mine - piece[now, k] <= reach:"},
            ("output", "wrong"),
        ),
        Wrong(
            "No barrier in the loop: a fast warp reads a piece that others have yet to store.",
            {"cuda.syncthreads()  # the next": ""},
            ("findings", "race"),
        ),
        Wrong(
            "No barrier for the first piece.",
            {"cuda.syncthreads()  # the first": ""},
            ("findings", "race"),
        ),
        Wrong(
            "One buffer and one barrier: the next piece goes where others still read.",
            {"now = 1 - now": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Ends one piece early: the last one is staged and never read.",
            {"for start": "for start in range(0, b.shape[0] - n, n):"},
            ("output", "wrong"),
        ),
        Wrong(
            "The next pieces begin 64 further, whatever the block.",
            {
                "if start": "if start + 64 + tx < b.shape[0]:",
                "following = b[start": "following = b[start + 64 + tx]",
            },
            ("output", "block 32"),
        ),
        Wrong(
            "Nobody asks whether the thread has an element of a.",
            {"if i < a": "if True:"},
            ("findings", "out of range"),
        ),
        Wrong(
            "Right, but with one buffer and two barriers: nothing comes while a piece is read.",
            {"now = 1 - now": "cuda.syncthreads()"},
            ("barriers", "passes 9 barriers; budget 5"),
        ),
        Wrong(
            "Right, but with a third buffer, which nobody needs.",
            {
                "piece =": "piece = cuda.shared.array((3, MOST), float32)",
                "now = 1 - now": "now = (now + 1) % 3",
            },
            ("shared", "1536 bytes of shared memory per block; budget 1024"),
        ),
        Wrong(
            "Right, but stored before the piece is read: the store waits for the load.",
            {
                "for k in": "piece[1 - now, tx] = following\nfor k in range(n):",
                "piece[now, tx]": "",
            },
            ("order", "then line"),
        ),
        Wrong(
            "Right, but loaded after the piece was read: the store waits for the whole load.",
            {
                "if start": "if False:",
                "now = 1 - now": "now = 1 - now\n"
                "if start + n + tx < b.shape[0]:\n"
                "    following = b[start + n + tx]",
            },
            ("order", "reads, then line"),
        ),
        Wrong(
            "Right, but every thread loads every element of b.",
            {
                "if abs": "if start + k < b.shape[0] and abs(mine - b[start + k]) <= reach:",
            },
            ("requests", "1040 requests touch b; budget 16"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Every thread of a block needs every element of b: stage b in pieces, as tiles of a "
        "product are staged, and let all read them. What may stand beyond the end of b, so that "
        "it is never near?",
        "The loop is that of the product with loads ahead: ask for the element of the next piece, "
        "read this piece, change the buffer, store, wait. `FAR` is further away than every reach; "
        "a variable that is loaded under a condition wants it first.",
        "Ahead of the loop: an element of a in a variable, the first piece in a buffer, a barrier. "
        "In it: a variable that is `FAR`, or the element n further if there is one; then all n "
        "elements of the buffer, each compared by its absolute difference; then the other buffer.",
    ),
    budget=Budget(shared_bytes=1024),
    overlap_case=0,
)
