"""Two buffers of tiles and one barrier per tile; the next tiles wait in registers."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

TILE = 16


@cuda.jit(device=True)
def fetch(a, b, k0):
    """This thread's elements of the tiles at depth k0: one of a and one of b, 0 beyond the edge."""
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    of_a, of_b = float32(0), float32(0)
    if row < a.shape[0] and k0 + tx < a.shape[1]:
        of_a = a[row, k0 + tx]
    if k0 + ty < b.shape[0] and col < b.shape[1]:
        of_b = b[k0 + ty, col]
    return of_a, of_b


@cuda.jit
def ahead(out, a, b):
    """out = a @ b, one barrier per tile.  Blocks of n x n threads, one per element of out."""
    a_tile = cuda.shared.array((2, TILE, TILE), float32)
    b_tile = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    now, acc = 0, float32(0)
    a_tile[now, ty, tx], b_tile[now, ty, tx] = fetch(a, b, 0)
    cuda.syncthreads()  # the first tiles are full before anyone reads them
    for k0 in range(0, a.shape[1], n):
        # FILL (about 1 line)
        a_next, b_next = fetch(a, b, k0 + n)  # on their way during the product
        for k in range(n):
            acc += a_tile[now, ty, k] * b_tile[now, k, tx]
        # FILL (about 4 lines)
        now = 1 - now
        a_tile[now, ty, tx] = a_next
        b_tile[now, ty, tx] = b_next
        cuda.syncthreads()  # the next tiles are full, and everyone has read these
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit
def ahead_early(out, a, b):
    """out = a @ b.  As `ahead`, but the next tiles are stored before the product."""
    a_tile = cuda.shared.array((2, TILE, TILE), float32)
    b_tile = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    now, acc = 0, float32(0)
    a_tile[now, ty, tx], b_tile[now, ty, tx] = fetch(a, b, 0)
    cuda.syncthreads()  # the first tiles are full before anyone reads them
    for k0 in range(0, a.shape[1], n):
        a_tile[1 - now, ty, tx], b_tile[1 - now, ty, tx] = fetch(a, b, k0 + n)
        for k in range(n):
            acc += a_tile[now, ty, k] * b_tile[now, k, tx]
        now = 1 - now
        cuda.syncthreads()  # the next tiles are full, and everyone has read these
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit
def one_buffer(out, a, b):
    """out = a @ b.  One buffer of each, two barriers per tile: nothing is under way meanwhile."""
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    acc = float32(0)
    for k0 in range(0, a.shape[1], n):
        a_tile[ty, tx], b_tile[ty, tx] = fetch(a, b, k0)
        cuda.syncthreads()  # both tiles are full before anyone reads them
        for k in range(n):
            acc += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


def _factors(rows, depth, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    a = scattered((rows, depth), seed=rows + depth + seed, low=-9, high=9) * np.float32(unit)
    return a, scattered((depth, cols), seed=cols + seed, low=-9, high=9) * np.float32(unit)


def _cases():
    """Full tiles with their budget; ragged, flat and deep ones; blocks of 8 x 8."""
    # 8 warps in each of 6 blocks, 4 tiles; beyond the depth nothing is loaded
    once = Budget(
        sectors_per_request=4, requests={"a": 192, "b": 192}, shared_bytes=4096, barriers=5
    )
    yield Case(partial(_factors, 32, 64, 48), grid=(3, 2), block=(16, 16), budget=once)
    for rows, depth, cols in ((35, 40, 20), (1, 70, 33), (33, 17, 1), (40, 3, 35)):
        grid, budget = cover((cols, rows), (16, 16)), _waits(-(-depth // 16))
        data = partial(_factors, rows, depth, cols, 2.0**40 if depth == 3 else 1)
        yield Case(data, grid, (16, 16), budget)
    yield Case(partial(_factors, 20, 37, 12), grid=(2, 3), block=(8, 8), budget=_waits(5))


def _waits(tiles):
    """One barrier per tile, and one for the first."""
    return Budget(extra=None, shared_bytes=4096, barriers=tiles + 1)


def _fresh(draw):
    """Full tiles, held to the budget of the first case; a ragged product of large numbers."""
    rows, depth, cols = (16 * draw.size(2, 4) for _ in range(3))
    data = partial(_factors, rows, depth, cols, seed=draw.numbers())
    yield Case(data, (cols // 16, rows // 16), (16, 16), like=0)
    rows, depth, cols = (draw.size(1, 60) for _ in range(3))
    n = draw.one_of(8, 16)
    data = partial(_factors, rows, depth, cols, 2.0**40, draw.numbers())
    yield Case(data, cover((cols, rows), (n, n)), (n, n), like=1)


EXERCISE = Exercise(
    name="ex07_ahead",
    chapter="35_two_buffers",
    title="The next tiles in registers",
    specification=lambda a, b: a @ b,
    solution=ahead,
    wrong=(
        Wrong(
            "No barrier in the loop: a fast warp reads tiles that others have yet to store.",
            {"cuda.syncthreads()  # the next": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Always one buffer: the next tiles go where others still read, as with one "
            "barrier too few.",
            {"now = 1 - now": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Loads from k0 on, the tiles that are there already: each counts twice, the "
            "last never.",
            {"a_next, b_next =": "a_next, b_next = fetch(a, b, k0)"},
            ("output", "wrong"),
        ),
        Wrong(
            "Ends one tile early, for the last tiles need no loads: but they need their product.",
            {"for k0": "for k0 in range(0, a.shape[1] - n, n):"},
            ("output", "wrong"),
        ),
        Wrong(
            "Stores into the other buffer, but goes on in the first one.",
            {
                "now = 1 - now": "",
                "a_tile[now, ty, tx] = a_next": "a_tile[1 - now, ty, tx] = a_next",
                "b_tile[now, ty, tx] = b_next": "b_tile[1 - now, ty, tx] = b_next",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "The barrier before the stores: everyone has read, but nobody waits for what "
            "is stored.",
            {
                "now = 1 - now": "now = 1 - now\ncuda.syncthreads()",
                "cuda.syncthreads()  # the next": "",
            },
            ("findings", "race"),
        ),
        Wrong(
            "The next tiles begin 16 further, as if a block always had 16 x 16 threads.",
            {"a_next, b_next =": "a_next, b_next = fetch(a, b, k0 + 16)"},
            ("output", "block (8, 8)"),
        ),
        Wrong(
            "Right, but with a barrier before the stores, too: the second buffer is there "
            "to save it.",
            {"now = 1 - now": "cuda.syncthreads()\nnow = 1 - now"},
            ("barriers", "passes 9 barriers; budget 5"),
        ),
        Wrong(
            "Right, but with a third buffer, which nobody needs.",
            {
                "a_tile =": "a_tile = cuda.shared.array((3, TILE, TILE), float32)",
                "b_tile =": "b_tile = cuda.shared.array((3, TILE, TILE), float32)",
                "now = 1 - now": "now = (now + 1) % 3",
            },
            ("shared", "6144 bytes of shared memory per block; budget 4096"),
        ),
        Wrong(
            "Right, but the next tiles are loaded twice.",
            {
                "a_next, b_next =": "a_next, b_next = fetch(a, b, k0 + n)\n"
                "a_next, b_next = fetch(a, b, k0 + n)"
            },
            ("requests", "336 requests touch a; budget 192"),
        ),
        Wrong(
            "Right, but stored before the product: the store waits for the loads, and nothing "
            "is multiplied meanwhile.",
            {
                "a_next, b_next =": "a_tile[1 - now, ty, tx], b_tile[1 - now, ty, tx] = "
                "fetch(a, b, k0 + n)",
                "a_tile[now, ty, tx] = a_next": "",
                "b_tile[now, ty, tx] = b_next": "",
            },
            ("order", "line 22 of fetch loads, then line 40 stores, then line 42 reads"),
        ),
        Wrong(
            "Right, but loaded after the product: what was to come meanwhile is only asked for.",
            {
                "a_next, b_next =": "",
                "now = 1 - now": "a_next, b_next = fetch(a, b, k0 + n)\nnow = 1 - now",
            },
            ("order", "reads, then line 22 of fetch loads"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Two halves: before the product, ask for the elements of the next tiles; after it, put "
        "them into the buffer that nobody reads now. One barrier per pass is enough: where must "
        "it stand, so that the next pass finds those elements, and may overwrite these?",
        "`fetch` gives this thread's two elements of the tiles at any depth, zeros if there are "
        "none: the next tiles begin n further, and n may be less than 16. Keep both elements in "
        "variables. After the product the buffers change roles: 0 becomes 1, and 1 becomes 0.",
        "Above the product: a_next and b_next from fetch, at k0 plus n. Below: now becomes 1 "
        "minus itself; a_next goes into a_tile at [now, ty, tx], b_next into b_tile likewise; at "
        "last the one barrier.",
    ),
    budget=Budget(extra=None, shared_bytes=4096),
    overlap_case=0,
)
