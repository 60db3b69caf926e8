"""16 bytes at a time: from global memory into registers, and from the tiles."""

# mypy: disable-error-code="attr-defined"

from numba import cuda, float32, uint32

from ...kernels.ptx import load1, load16, store1, store16  # noqa: F401  load1: a wrong answer
from ..exercise import Budget, Exercise, MachineCode, Wrong
from .ex34_guards import fresh_cases, whole_cases
from .ex34_steps import laid_out

DEPTH, EDGE, PITCH = 8, 128, 132
A_TILE, B_TILE = DEPTH * PITCH, DEPTH * EDGE  # elements of the tiles


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


@cuda.jit(launch_bounds=(256, 2))
def by_quads(out, a, b):
    """out = a @ b, of whole tiles: 128 rows, 128 columns, a depth of 8, or multiples of them.

    A block of 256 threads makes 128 x 128 of out. Matrices and tiles are read 16 bytes at a time.
    """
    # FILL (about 38 lines)
    a_tile = cuda.shared.array(A_TILE, float32, alignment=16)  # element (m, k) at k * PITCH + m
    b_tile = cuda.shared.array(B_TILE, float32, alignment=16)  # element (k, n) at k * EDGE + n
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
    depth, done = uint32(a.shape[1]), uint32(0)
    while done < depth:
        quad = load16(a, a_at)
        for part in range(4):
            store1(a_tile, a_to + part * PITCH, quad[part])
        store16(b_tile, b_to, load16(b, b_at))
        cuda.syncthreads()  # both tiles are full before anyone reads them
        step(0, a_tile, b_tile, acc, a_part, b_part, m0, n0)
        step(1, a_tile, b_tile, acc, a_part, b_part, m0, n0)
        step(2, a_tile, b_tile, acc, a_part, b_part, m0, n0)
        step(3, a_tile, b_tile, acc, a_part, b_part, m0, n0)
        step(4, a_tile, b_tile, acc, a_part, b_part, m0, n0)
        step(5, a_tile, b_tile, acc, a_part, b_part, m0, n0)
        step(6, a_tile, b_tile, acc, a_part, b_part, m0, n0)
        step(7, a_tile, b_tile, acc, a_part, b_part, m0, n0)
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
        a_at = uint32(a_at + uint32(DEPTH))
        b_at = uint32(b_at + b_on)
        done = uint32(done + uint32(DEPTH))
    for i in range(8):
        row = top + m0 + i // 4 * 8 + i % 4
        for j in range(8):
            out[row, left + n0 + j // 4 * 64 + j % 4] = acc[i, j]


LOCAL = "a_tile, b_tile, acc, a_part, b_part"

EXERCISE = Exercise(
    name="ex34_quads",
    chapter="34_fast_code",
    title="16 bytes at a time",
    specification=lambda a, b: a @ b,
    solution=by_quads,
    written=(put4, step),
    wrong=(
        Wrong(
            "The kernel of the exercise before: 4 bytes per read.",
            laid_out,
            ("requests", "64 requests touch a; budget 16"),
        ),
        Wrong(
            "Both half warps begin 8 rows apart: they make some rows twice, and others not at all.",
            {"m0, n0 =": "m0, n0 = uint32(warp * 16 + lane // 16 * 8), uint32(lane % 16 * 4)"},
            ("output", "was not written"),
        ),
        Wrong(
            "Rows that are neighbours by eight: a quad of lanes reads the wrong rows.",
            {"row =": "row = top + m0 + i"},
            ("output", "wrong"),
        ),
        Wrong(
            "Columns as before: 16 apart.",
            {"out[row": "out[row, left + n0 + j * 16] = acc[i, j]"},
            ("output", "wrong"),
        ),
        Wrong(
            "The four elements of a lie side by side in the tile: they are of one row of a.",
            {"store1(a_tile": "store1(a_tile, a_to + part, quad[part])"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but a is loaded element by element.",
            {
                "quad =": "",
                "store1(a_tile": "store1(a_tile, a_to + part * PITCH, load1(a, a_at + part))",
            },
            ("requests", "budget 16"),
        ),
        Wrong(
            "No pad: lanes that hold other columns of a store to the same banks.",
            {
                "a_tile =": "a_tile = cuda.shared.array(1024, float32, alignment=16)",
                "a_to, b_to =": "a_to = uint32(tid % 2 * 4 * EDGE + tid // 2)\n"
                "b_to = uint32(tid // 32 * EDGE + tid % 32 * 4)",
                "store1(a_tile": "store1(a_tile, a_to + part * EDGE, quad[part])",
                **{
                    f"step({k},": f"step({k}, {LOCAL}, m0 - {4 * k}, n0)"  # k * EDGE in all
                    for k in range(8)
                },
            },
            ("wavefronts", "budget 0"),
        ),
    ),
    wrong_code=(
        Wrong(
            "The steps in a loop.",
            {
                "step(0,": f"for k in range(DEPTH):\n    step(k, {LOCAL}, m0, n0)",
                **dict.fromkeys([f"step({k}," for k in range(1, 8)], ""),
            },
            ("machine", "instructions for 512 multiply-adds"),
        ),
    ),
    cases=tuple(
        whole_cases(
            Budget(
                sectors_per_request=16,
                requests={"out": 512, "a": 16, "b": 16},
                shared_bytes=8320,
                shared_requests=592,
                barriers=4,
            )
        )
    ),
    fresh=fresh_cases,
    hints=(
        "Begin with your kernel of the exercise before. 16 bytes are four neighbours of a row: of "
        "a row of a, of a row of b, and of rows of both tiles. Which four rows and which four "
        "columns does a thread then take, and which 16 bytes does each of 256 threads load?",
        "`load16(array, offset)` returns four elements, `store16` takes four. A row of a's part "
        "is two quads wide, a row of b's 32. Four neighbours of a row of a stand in one column of "
        "the turned tile: four single stores, PITCH apart. A warp makes 16 rows: two lanes down, 4 "
        "rows each, twice; 16 lanes across, 4 columns each, twice.",
        "m0 is 16 per warp and 4 per half warp; n0 is 4 per lane of it. In the step two load16 per "
        "tile: the second one 8 rows, or 64 columns, further. Lane tid loads row tid // 2 of a "
        "from column 4 * (tid % 2) on, and row tid // 32 of b from column 4 * (tid % 32) on. At "
        "the end, sum i belongs to row i // 4 * 8 + i % 4 below m0, sum j likewise with 64.",
    ),
    budget=Budget(sectors_per_request=16, shared_bytes=8320),
    machine_code=MachineCode(multiply_adds=512, turn=600, each={"LDS": 0, "LDG": 0}),
)
