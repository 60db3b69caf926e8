"""The whole product: a square per thread, a turned tile, wide reads, two buffers, loads ahead."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32, uint32

from ...kernels.ptx import load1, load16, store1, store16
from ..exercise import Budget, Case, Exercise, Wrong, scattered

DEPTH, EDGE, PITCH = 8, 128, 132
A_TILE, B_TILE = DEPTH * PITCH, DEPTH * EDGE  # elements of a buffer
A_BOTH, B_BOTH = 2 * A_TILE, 2 * B_TILE


@cuda.jit(device=True)
def put4(registers, first, quad):
    """Put four neighbours into a local array, from place `first` on."""
    registers[first], registers[first + 1] = quad[0], quad[1]
    registers[first + 2], registers[first + 3] = quad[2], quad[3]


@cuda.jit(device=True)
def step(k, a_tile, b_tile, acc, a_part, b_part, m0, n0):
    """Add the products at depth k: two quads of rows, 8 apart; two of columns, 64 apart."""
    for half in range(2):
        put4(a_part, half * 4, load16(a_tile, m0 + (k * PITCH + half * 8)))
    for half in range(2):
        put4(b_part, half * 4, load16(b_tile, n0 + (k * EDGE + half * 64)))
    for i in range(8):
        for j in range(8):
            acc[i, j] += a_part[i] * b_part[j]


@cuda.jit(device=True)
def stage(a_tile, b_tile, a_next, b_next, a_to, b_to):
    """Store two quads into the tiles, that of a turned."""
    for part in range(4):
        store1(a_tile, a_to + part * PITCH, a_next[part])
    store16(b_tile, b_to, b_next)


@cuda.jit(launch_bounds=(256, 2))
def product(out, a, b):
    """out = a @ b, of whole tiles: 128 rows, 128 columns, a depth of 8, or multiples of them.

    A block of 256 threads makes 128 x 128 elements of out.
    """
    # FILL (about 39 lines)
    a_tile = cuda.shared.array(A_BOTH, float32, alignment=16)  # (m, k) at k * PITCH + m
    b_tile = cuda.shared.array(B_BOTH, float32, alignment=16)  # (k, n) at k * EDGE + n
    acc = cuda.local.array((8, 8), float32)
    a_part, b_part = cuda.local.array(8, float32), cuda.local.array(8, float32)
    tid = cuda.threadIdx.x
    top, left = cuda.blockIdx.y * EDGE, cuda.blockIdx.x * EDGE
    warp, lane = tid // 32, tid % 32  # a warp makes 16 rows: 2 lanes down, 16 across
    m0, n0 = uint32(warp * 16 + lane // 16 * 4), uint32(lane % 16 * 4)
    for i in range(8):
        for j in range(8):
            acc[i, j] = 0
    a_to, b_to = uint32(tid % 2 * 4 * PITCH + tid // 2), uint32(tid // 32 * EDGE + tid % 32 * 4)
    a_at = uint32((top + tid // 2) * a.shape[1] + tid % 2 * 4)
    b_at = uint32(tid // 32 * b.shape[1] + left + tid % 32 * 4)
    b_on = uint32(DEPTH * b.shape[1])
    a_now, b_now = uint32(0), uint32(0)
    a_next, b_next = load16(a, a_at), load16(b, b_at)
    stage(a_tile, b_tile, a_next, b_next, a_to, b_to)
    cuda.syncthreads()  # the first tiles are full before anyone reads them
    for k0 in range(0, a.shape[1], DEPTH):
        a_from, b_from = uint32(a_now + m0), uint32(b_now + n0)
        a_now, b_now = uint32(A_TILE - a_now), uint32(B_TILE - b_now)
        if k0 + DEPTH < a.shape[1]:
            a_at, b_at = uint32(a_at + uint32(DEPTH)), uint32(b_at + b_on)
            a_next, b_next = load16(a, a_at), load16(b, b_at)  # under way during the product
        step(0, a_tile, b_tile, acc, a_part, b_part, a_from, b_from)
        step(1, a_tile, b_tile, acc, a_part, b_part, a_from, b_from)
        step(2, a_tile, b_tile, acc, a_part, b_part, a_from, b_from)
        step(3, a_tile, b_tile, acc, a_part, b_part, a_from, b_from)
        step(4, a_tile, b_tile, acc, a_part, b_part, a_from, b_from)
        step(5, a_tile, b_tile, acc, a_part, b_part, a_from, b_from)
        step(6, a_tile, b_tile, acc, a_part, b_part, a_from, b_from)
        step(7, a_tile, b_tile, acc, a_part, b_part, a_from, b_from)
        stage(a_tile, b_tile, a_next, b_next, uint32(a_now + a_to), uint32(b_now + b_to))
        cuda.syncthreads()  # the next tiles are full, and everyone has read these
    for i in range(8):
        row = top + m0 + i // 4 * 8 + i % 4
        for j in range(8):
            out[row, left + n0 + j // 4 * 64 + j % 4] = acc[i, j]


@cuda.jit(launch_bounds=(256, 2))
def one_buffer(out, a, b):
    """out = a @ b.  As `product`, with one buffer and two barriers."""
    a_tile = cuda.shared.array(A_TILE, float32, alignment=16)
    b_tile = cuda.shared.array(B_TILE, float32, alignment=16)
    acc = cuda.local.array((8, 8), float32)
    a_part, b_part = cuda.local.array(8, float32), cuda.local.array(8, float32)
    tid = cuda.threadIdx.x
    top, left = cuda.blockIdx.y * EDGE, cuda.blockIdx.x * EDGE
    warp, lane = tid // 32, tid % 32
    m0, n0 = uint32(warp * 16 + lane // 16 * 4), uint32(lane % 16 * 4)
    for i in range(8):
        for j in range(8):
            acc[i, j] = 0
    a_to, b_to = uint32(tid % 2 * 4 * PITCH + tid // 2), uint32(tid // 32 * EDGE + tid % 32 * 4)
    for k0 in range(0, a.shape[1], DEPTH):
        a_at = uint32((top + tid // 2) * a.shape[1] + k0 + tid % 2 * 4)
        b_at = uint32((k0 + tid // 32) * b.shape[1] + left + tid % 32 * 4)
        stage(a_tile, b_tile, load16(a, a_at), load16(b, b_at), a_to, b_to)
        cuda.syncthreads()
        for k in range(DEPTH):
            step(k, a_tile, b_tile, acc, a_part, b_part, m0, n0)
        cuda.syncthreads()
    for i in range(8):
        row = top + m0 + i // 4 * 8 + i % 4
        for j in range(8):
            out[row, left + n0 + j // 4 * 64 + j % 4] = acc[i, j]


@cuda.jit(device=True)
def _single_step(k, a_tile, b_tile, acc, a_part, b_part, m0, n0):
    """`step` with 4 bytes per read."""
    for i in range(8):
        a_part[i] = load1(a_tile, m0 + (k * PITCH + i // 4 * 8 + i % 4))
    for j in range(8):
        b_part[j] = load1(b_tile, n0 + (k * EDGE + j // 4 * 64 + j % 4))
    for i in range(8):
        for j in range(8):
            acc[i, j] += a_part[i] * b_part[j]


def _factors(rows, depth, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    a = scattered((rows, depth), seed=rows + depth + seed, low=-9, high=9) * np.float32(unit)
    return a, scattered((depth, cols), seed=cols + seed, low=-9, high=9) * np.float32(unit)


def _cases():
    """One block of three turns with its budget; several blocks, more turns, large numbers."""
    held = Budget(
        requests={"a": 24, "b": 24},
        shared_bytes=16640,
        shared_requests=8 * (24 * 4 + 4 * 5),  # 8 warps: 24 steps, and one stage more than turns
        barriers=4,
    )
    yield Case(partial(_factors, EDGE, 24, EDGE), grid=(1, 1), block=(256,), budget=held)
    for rows, depth, cols in ((128, 8, 256), (256, 16, 128)):
        data = partial(_factors, rows, depth, cols, 2.0**40 if depth == 16 else 1)
        yield Case(data, (cols // EDGE, rows // EDGE), (256,))


def _fresh(draw):
    """A size held to the budget of the first case; another one of large numbers."""
    depth = 8 * draw.size(2, 4)
    rows, cols = draw.one_of((128, 128), (256, 128), (128, 256))
    data = partial(_factors, rows, depth, cols, seed=draw.numbers())
    yield Case(data, (cols // EDGE, rows // EDGE), (256,), like=0)
    rows, cols = draw.one_of((128, 256), (256, 128), (128, 384))
    data = partial(_factors, rows, 8 * draw.size(1, 3), cols, 2.0**40, draw.numbers())
    yield Case(data, (cols // EDGE, rows // EDGE), (256,))


EXERCISE = Exercise(
    name="ex36_product",
    chapter="36_beside_the_library",
    title="The whole product",
    specification=lambda a, b: a @ b,
    solution=product,
    written=(stage,),
    wrong=(
        Wrong(
            "No barrier for the first tiles.",
            {"cuda.syncthreads()  # the first": ""},
            ("findings", "race"),
        ),
        Wrong(
            "No barrier in the loop.",
            {"cuda.syncthreads()  # the next": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Both buffers of a are one: the next tile goes where others still read.",
            {"a_now, b_now = uint32(A": "b_now = uint32(B_TILE - b_now)"},
            ("findings", "race"),
        ),
        Wrong(
            "The last tiles are loaded, staged and never multiplied.",
            {"for k0": "for k0 in range(0, a.shape[1] - DEPTH, DEPTH):"},
            ("output", "wrong"),
        ),
        Wrong(
            "One step of the eight is missing.",
            {"step(5,": ""},
            ("output", "wrong"),
        ),
        Wrong(
            "The quads of a go on by a row of a, not by the depth of a tile.",
            {"a_at, b_at =": "a_at, b_at = uint32(a_at + uint32(a.shape[1])), uint32(b_at + b_on)"},
            ("output", "wrong"),
        ),
        Wrong(
            "The quads of a are stored along m: the tile is not turned.",
            {
                "a_to, b_to =": "a_to = uint32(tid % 2 * 4 + tid // 2 * 4)\n"
                "b_to = uint32(tid // 32 * EDGE + tid % 32 * 4)"
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Results are stored as if a thread had eight rows side by side.",
            {"row = top": "row = top + m0 + i"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but with one buffer: two barriers for each tile.",
            one_buffer,
            ("barriers", "passes 6 barriers; budget 4"),
        ),
        Wrong(
            "Right, but 4 bytes per read of a tile: lanes whose columns are 32 apart meet.",
            {
                f"step({k},": f"_single_step({k}, a_tile, b_tile, acc, a_part, b_part, "
                "a_from, b_from)"
                for k in range(8)
            },
            ("wavefronts", "of _single_step is 2-way"),
        ),
        Wrong(
            "Right, but stored before the product: the stores wait for the loads.",
            {
                "step(0,": "stage(a_tile, b_tile, a_next, b_next, uint32(a_now + a_to), "
                "uint32(b_now + b_to))\n"
                "step(0, a_tile, b_tile, acc, a_part, b_part, a_from, b_from)",
                "stage(a_tile, b_tile, a_next, b_next, uint32": "",
            },
            ("order", "of stage stores, then line 29 of step reads"),
        ),
        Wrong(
            "Right, but loaded after the product: nothing is under way during it.",
            {
                "if k0": "if False:",
                "step(7,": "step(7, a_tile, b_tile, acc, a_part, b_part, a_from, b_from)\n"
                "if k0 + DEPTH < a.shape[1]:\n"
                "    a_at, b_at = uint32(a_at + uint32(DEPTH)), uint32(b_at + b_on)\n"
                "    a_next, b_next = load16(a, a_at), load16(b, b_at)",
            },
            ("order", "reads, then line"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "All of it has been on the table: 8 x 8 results of a thread, a turned tile of a with a "
        "pad, quads, eight steps, two buffers. Begin with the launch: which quad of a and which "
        "of b does thread `tid` load, and where do they go?",
        "A tile of a has 128 rows of 8: two threads to a row, a quad each. A tile of b has 8 rows "
        "of 128: 32 threads to a row. The quad of a is turned while it is stored, element by "
        "element, a pitch apart. `step` wants the places where this thread's rows and columns "
        "begin in the buffer that is read.",
        "Before the loop: load two quads, stage them, a barrier. In it: note where the present "
        "buffers begin and go over to the other ones; if there are more tiles, move both offsets "
        "on and load; eight steps; stage; a barrier. A thread's rows are two quads 8 apart, its "
        "columns two quads 64 apart, in the store as in `step`.",
    ),
    budget=Budget(shared_bytes=16640),
    overlap_case=0,
)
