"""Offsets that are kept: computed once, then moved on by a sum."""

# mypy: disable-error-code="attr-defined"

from numba import cuda, float32, uint32

from ...kernels.ptx import load1, store1
from ..exercise import Budget, Exercise, MachineCode, Wrong
from .ex34_guards import fresh_cases, unguarded, whole_cases

DEPTH, EDGE, PITCH = 8, 128, 132
A_TILE, B_TILE = DEPTH * PITCH, DEPTH * EDGE  # elements of the tiles


@cuda.jit(launch_bounds=(256, 2))
def with_offsets(out, a, b):
    """out = a @ b, of whole tiles.  Flat offsets without a sign, kept from turn to turn."""
    a_tile = cuda.shared.array(A_TILE, float32)  # element (m, k) at k * PITCH + m
    b_tile = cuda.shared.array(B_TILE, float32)  # element (k, n) at k * EDGE + n
    acc = cuda.local.array((8, 8), float32)
    a_part, b_part = cuda.local.array(8, float32), cuda.local.array(8, float32)
    tid = cuda.threadIdx.x
    top, left = cuda.blockIdx.y * EDGE, cuda.blockIdx.x * EDGE
    m0, n0 = uint32(tid // 16 * 8), uint32(tid % 16)
    for i in range(8):
        for j in range(8):
            acc[i, j] = 0
    a_to, b_to = uint32(tid % 8 * PITCH + tid // 8), uint32(tid // 128 * EDGE + tid % 128)
    a_step, b_step = uint32(32 * a.shape[1]), uint32(2 * b.shape[1])
    # FILL (about 3 lines)
    a_at = uint32((top + tid // 8) * a.shape[1] + tid % 8)
    b_at = uint32(tid // 128 * b.shape[1] + left + tid % 128)
    b_on = uint32(DEPTH * b.shape[1])
    depth, done = uint32(a.shape[1]), uint32(0)
    while done < depth:
        # FILL (about 4 lines)
        for line in range(4):
            store1(a_tile, a_to + line * 32, load1(a, uint32(a_at + line * a_step)))
        for line in range(4):
            store1(b_tile, b_to + line * 2 * EDGE, load1(b, uint32(b_at + line * b_step)))
        cuda.syncthreads()  # both tiles are full before anyone reads them
        a_from, b_from = m0, n0
        for _ in range(DEPTH):
            # FILL (about 6 lines)
            for i in range(8):
                a_part[i] = load1(a_tile, a_from + i)
            for j in range(8):
                b_part[j] = load1(b_tile, b_from + j * 16)
            a_from = uint32(a_from + uint32(PITCH))
            b_from = uint32(b_from + uint32(EDGE))
            for i in range(8):
                for j in range(8):
                    acc[i, j] += a_part[i] * b_part[j]
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
        done = uint32(done + uint32(DEPTH))
        # FILL (about 2 lines)
        a_at = uint32(a_at + uint32(DEPTH))
        b_at = uint32(b_at + b_on)
    for i in range(8):
        for j in range(8):
            out[top + m0 + i, left + n0 + j * 16] = acc[i, j]


@cuda.jit(launch_bounds=(256, 2))
def computed_anew(out, a, b):
    """As with_offsets, but every read of a tile computes its offset from k, and casts it."""
    a_tile = cuda.shared.array(A_TILE, float32)
    b_tile = cuda.shared.array(B_TILE, float32)
    acc = cuda.local.array((8, 8), float32)
    a_part, b_part = cuda.local.array(8, float32), cuda.local.array(8, float32)
    tid = cuda.threadIdx.x
    top, left = cuda.blockIdx.y * EDGE, cuda.blockIdx.x * EDGE
    m0, n0 = uint32(tid // 16 * 8), uint32(tid % 16)
    for i in range(8):
        for j in range(8):
            acc[i, j] = 0
    a_to, b_to = uint32(tid % 8 * PITCH + tid // 8), uint32(tid // 128 * EDGE + tid % 128)
    a_step, b_step = uint32(32 * a.shape[1]), uint32(2 * b.shape[1])
    a_at = uint32((top + tid // 8) * a.shape[1] + tid % 8)
    b_at = uint32(tid // 128 * b.shape[1] + left + tid % 128)
    b_on = uint32(DEPTH * b.shape[1])
    depth, done = uint32(a.shape[1]), uint32(0)
    while done < depth:
        for line in range(4):
            store1(a_tile, a_to + line * 32, load1(a, uint32(a_at + line * a_step)))
        for line in range(4):
            store1(b_tile, b_to + line * 2 * EDGE, load1(b, uint32(b_at + line * b_step)))
        cuda.syncthreads()  # both tiles are full before anyone reads them
        for k in range(DEPTH):
            for i in range(8):
                a_part[i] = load1(a_tile, uint32(m0 + k * PITCH + i))
            for j in range(8):
                b_part[j] = load1(b_tile, uint32(n0 + k * EDGE + j * 16))
            for i in range(8):
                for j in range(8):
                    acc[i, j] += a_part[i] * b_part[j]
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
        a_at = uint32(a_at + uint32(DEPTH))
        b_at = uint32(b_at + b_on)
        done = uint32(done + uint32(DEPTH))
    for i in range(8):
        for j in range(8):
            out[top + m0 + i, left + n0 + j * 16] = acc[i, j]


EXERCISE = Exercise(
    name="ex34_offsets",
    chapter="34_fast_code",
    title="Offsets that are kept",
    specification=lambda a, b: a @ b,
    solution=with_offsets,
    wrong=(
        Wrong(
            "The offset in the tile of b moves on by the pitch of the other tile.",
            {"b_from =": "b_from = uint32(b_from + uint32(PITCH))"},
            ("output", "wrong"),
        ),
        Wrong(
            "The tile of a does not move on: the first 8 columns of a, again and again.",
            {"a_at = uint32(a_at": ""},
            ("output", "wrong"),
        ),
        Wrong(
            "The offset in b moves on by 8 elements, as that in a, in place of 8 rows.",
            {"b_on =": "b_on = uint32(DEPTH)"},
            ("output", "wrong"),
        ),
        Wrong(
            "Leaves the block's rows out of the first offset: right for one row of blocks.",
            {"a_at = uint32((": "a_at = uint32(tid // 8 * a.shape[1] + tid % 8)"},
            ("output", "grid (1, 2)"),
        ),
        Wrong(
            "Columns of b that are neighbours: half of the reads meet in banks.",
            {
                "b_part[j] =": "b_part[j] = load1(b_tile, b_from + j)",
                "m0, n0 =": "m0, n0 = uint32(tid // 16 * 8), uint32(tid % 16 * 8)",
                "out[top": "out[top + m0 + i, left + n0 + j] = acc[i, j]",
            },
            ("wavefronts", "budget 0"),
        ),
        Wrong(
            "Right, but moves on after a third barrier.",
            {"a_at = uint32(a_at": "cuda.syncthreads()\na_at = uint32(a_at + uint32(DEPTH))"},
            ("barriers", "budget 4"),
        ),
    ),
    wrong_code=(
        Wrong(
            "The kernel of the exercise before: indices of row and column, computed in each turn.",
            unguarded,
            ("machine", "1031 instructions for 512 multiply-adds"),
        ),
        Wrong(
            "Computes the offset of each read from k, and casts each sum.",
            computed_anew,
            ("machine", "1099 instructions for 512 multiply-adds"),
        ),
    ),
    cases=tuple(
        whole_cases(
            Budget(
                sectors_per_request=4,
                requests={"out": 512, "a": 64, "b": 64},
                shared_bytes=8320,
                shared_requests=2176,
                barriers=4,
            )
        )
    ),
    fresh=fresh_cases,
    hints=(
        "Where does this thread's first element lie, counted from the first one of the matrix? "
        "Row times the elements of a row, plus column. After each turn it lies 8 columns further "
        "in a, and 8 rows further in b.",
        "`load1(array, offset)` reads one element. Into the multiplication you take a_from and "
        "b_from, the offsets of this step's first elements: the others lie 1 apart in a's tile and "
        "16 apart in b's. The next step is a row of the tile further, PITCH or EDGE elements.",
        "Before the loop: a_at for row top + tid // 8 and column tid % 8; b_at for row tid // 128 "
        "and column left + tid % 128; b_on, 8 rows of b. In a turn: two loops of four loads, each "
        "a_step or b_step further, into the tiles from a_to and b_to on. In a step: two loops of "
        "load1, then both from-offsets move on. Then a_at and b_at. Each sum that is kept goes "
        "through uint32, with a constant as uint32, too.",
    ),
    budget=Budget(shared_bytes=8320),
    machine_code=MachineCode(multiply_adds=512, turn=860),
)
