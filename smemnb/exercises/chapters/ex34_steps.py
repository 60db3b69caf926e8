"""Steps laid out one after the other, so that each knows its number while it is compiled."""

# mypy: disable-error-code="attr-defined"

from numba import cuda, float32, uint32

from ...kernels.ptx import load1, store1
from ..exercise import Budget, Exercise, MachineCode, Wrong
from .ex34_guards import fresh_cases, whole_cases
from .ex34_offsets import with_offsets

DEPTH, EDGE, PITCH = 8, 128, 132
A_TILE, B_TILE = DEPTH * PITCH, DEPTH * EDGE  # elements of the tiles


@cuda.jit(device=True)
def step(k, a_tile, b_tile, acc, a_part, b_part, m0, n0):
    """Add the products of column k of the tile of a and row k of the tile of b."""
    for i in range(8):
        a_part[i] = load1(a_tile, m0 + (k * PITCH + i))
    for j in range(8):
        b_part[j] = load1(b_tile, n0 + (k * EDGE + j * 16))
    for i in range(8):
        for j in range(8):
            acc[i, j] += a_part[i] * b_part[j]


@cuda.jit(launch_bounds=(256, 2))
def laid_out(out, a, b):
    """out = a @ b, of whole tiles.  Its 8 steps stand one after the other."""
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
        # FILL (about 8 lines)
        step(0, a_tile, b_tile, acc, a_part, b_part, m0, n0)
        step(1, a_tile, b_tile, acc, a_part, b_part, m0, n0)
        step(2, a_tile, b_tile, acc, a_part, b_part, m0, n0)
        step(3, a_tile, b_tile, acc, a_part, b_part, m0, n0)
        step(4, a_tile, b_tile, acc, a_part, b_part, m0, n0)
        step(5, a_tile, b_tile, acc, a_part, b_part, m0, n0)
        step(6, a_tile, b_tile, acc, a_part, b_part, m0, n0)
        step(7, a_tile, b_tile, acc, a_part, b_part, m0, n0)
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
        done = uint32(done + uint32(DEPTH))
        a_at = uint32(a_at + uint32(DEPTH))
        b_at = uint32(b_at + b_on)
    for i in range(8):
        for j in range(8):
            out[top + m0 + i, left + n0 + j * 16] = acc[i, j]


IN_A_LOOP = "for k in range(DEPTH):\n    step(k, a_tile, b_tile, acc, a_part, b_part, m0, n0)"
REST = tuple(f"step({k}," for k in range(1, 8))

EXERCISE = Exercise(
    name="ex34_steps",
    chapter="34_fast_code",
    title="Steps laid out",
    specification=lambda a, b: a @ b,
    solution=laid_out,
    written=(step,),
    wrong=(
        Wrong(
            "One step of the eight is missing.",
            {"step(5,": ""},
            ("output", "wrong"),
        ),
        Wrong(
            "One step twice, another one never.",
            {"step(6,": "step(5, a_tile, b_tile, acc, a_part, b_part, m0, n0)"},
            ("output", "wrong"),
        ),
        Wrong(
            "One step too many: it reads below the tiles.",
            {
                "step(7,": "step(7, a_tile, b_tile, acc, a_part, b_part, m0, n0)\n"
                "step(8, a_tile, b_tile, acc, a_part, b_part, m0, n0)"
            },
            ("findings", "out of range"),
        ),
        Wrong(
            "The offsets change places.",
            {"step(3,": "step(3, a_tile, b_tile, acc, a_part, b_part, n0, m0)"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but all threads wait after the fourth step.",
            {"step(3,": "step(3, a_tile, b_tile, acc, a_part, b_part, m0, n0)\ncuda.syncthreads()"},
            ("barriers", "passes 6 barriers; budget 4"),
        ),
    ),
    wrong_code=(
        Wrong(
            "The kernel of the exercise before, whose steps are a loop.",
            with_offsets,
            ("machine", "787 instructions for 512 multiply-adds"),
        ),
        Wrong(
            "Calls the step in a loop: the call is inlined, and the loop stays one.",
            {"step(0,": IN_A_LOOP, **dict.fromkeys(REST, "")},
            ("machine", "instructions for 512 multiply-adds"),
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
        "In a loop k is a number that changes while the kernel runs. Where a function is called "
        "with a number in the text, the compiler knows it. What does the loop over k do in each "
        "round? That is the body of the function.",
        "The function reads column k of a's tile from m0 + (k * PITCH + i) on, row k of b's from "
        "n0 + (k * EDGE + j * 16) on, and multiplies. Nothing moves on: k says where. It gets "
        "every array that it uses as an argument.",
        "One call for each k from 0 to 7, with the two tiles, the three local arrays and the two "
        "offsets: eight lines that differ in one number.",
    ),
    budget=Budget(shared_bytes=8320),
    machine_code=MachineCode(multiply_adds=512, turn=715),
)
