"""What learners hand in: right, slow, racing, wrong, untouched and hostile kernels."""

IMPORTS = """import numpy as np
from numba import cuda, float32
from smemnb import check, trace
"""
SCALE = """
@cuda.jit
def scale(out, inp):
    i = cuda.grid(1)
    if i < inp.shape[0]:
        out[i] = 2 * inp[i]
"""
SCALE_WRONG = SCALE.replace("2 * inp[i]", "3 * inp[i]")
SCALE_STUB = """
@cuda.jit
def scale(out, inp):
    i = cuda.grid(1)
    # FILL (about 2 lines)
"""
PLACE = """
TILE = 128

@cuda.jit
def place(out, inp):
    tile = cuda.shared.array(TILE, float32)
    tx = cuda.threadIdx.x
    row = cuda.blockIdx.x
    if tx < inp.shape[1]:
        tile[tx] = inp[row, tx]
    cuda.syncthreads()
    if tx < out.shape[1]:
        smaller = 0
        for k in range(inp.shape[1]):
            if tile[k] < tile[tx]:
                smaller += 1
        out[row, tx] = smaller
"""
PLACE_RACE = PLACE.replace("    cuda.syncthreads()\n", "")
PITCH = """
PITCH = 25

@cuda.jit
def row_sums(out, inp):
    tile = cuda.shared.array((32, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    first = cuda.blockIdx.x * 32
    for r in range(ty, 32, cuda.blockDim.y):
        if first + r < inp.shape[0] and tx < 24:
            tile[r, tx] = inp[first + r, tx]
    cuda.syncthreads()
    if ty == 0 and first + tx < out.shape[0]:
        acc = float32(0)
        for c in range(24):
            acc += tile[tx, c]
        out[first + tx] = acc
"""
PITCH_CONFLICT = PITCH.replace("PITCH = 25", "PITCH = 24")
CHECKS = """
check("ex00_scale", scale)
check("ex01_place", place)
check("ex02_pitch", row_sums)
"""
THREE = ["ex00_scale", "ex01_place", "ex02_pitch"]
ANSWERS = IMPORTS + SCALE + PLACE + PITCH + CHECKS


def hostile(body):
    """A kernel file whose scale needs a constant that `body` is run for; the others are right."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    scale = SCALE.replace("2 * inp", "FACTOR * inp")
    made = f"\ndef made():\n{lines}\n    return 2\n\nFACTOR = made()\n"
    return IMPORTS + made + scale + PLACE + PITCH + CHECKS


FACTORY = (
    IMPORTS
    + """
def make(factor):
    @cuda.jit(device=True)
    def times(x):
        return float32(factor) * x

    @cuda.jit
    def scale(out, inp):
        i = cuda.grid(1)
        if i < inp.shape[0]:
            out[i] = times(inp[i])
    return scale

kernels = [make(factor) for factor in (1, 2, 3)]
check("ex00_scale", kernels[1])
"""
)
SPINNING = IMPORTS + SCALE.replace(
    "    if i <", "    while inp.shape[0] > 0:\n        i = 0\n    if i <"
)
