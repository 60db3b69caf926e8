"""A right answer need not look like the solution: each docstring says what differs."""

import math

import pytest
from numba import cuda, float32, float64

from smemnb.exercises.chapters.ex07_ahead import fetch
from smemnb.exercises.chapters.ex07_walk import load, put
from smemnb.exercises.check import graded
from smemnb.exercises.registry import find
from smemnb.kernels.ptx import load16, store16

DEPTH, EDGE, TILE, WIDE, PITCH = 16, 64, 16, 32, 33
EIGHT, FOURS = 8, 260
TURNED = EIGHT * FOURS


@cuda.jit
def gram_rows_together(out, inp):
    """A thread's rows are neighbours; a cell of a tile is stored once, 0 or loaded."""
    down = cuda.shared.array((DEPTH, EDGE), float32)
    across = cuda.shared.array((DEPTH, EDGE), float32)
    acc, part = cuda.local.array(16, float32), cuda.local.array(4, float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    top, left = cuda.blockIdx.y * 4 * n, cuda.blockIdx.x * 4 * n
    for i in range(16):
        acc[i] = 0
    for k0 in range(0, inp.shape[0], DEPTH):
        for k in range(DEPTH):
            for m in range(ty * n + tx, 4 * n, n * n):
                there = k0 + k < inp.shape[0]
                if there and top + m < inp.shape[1]:
                    down[k, m] = inp[k0 + k, top + m]
                else:
                    down[k, m] = 0
                if there and left + m < inp.shape[1]:
                    across[k, m] = inp[k0 + k, left + m]
                else:
                    across[k, m] = 0
        cuda.syncthreads()
        for k in range(DEPTH):
            for j in range(4):
                part[j] = across[k, tx + n * j]
            for i in range(4):
                mine = down[k, 4 * ty + i]
                for j in range(4):
                    acc[4 * i + j] += mine * part[j]
        cuda.syncthreads()
    for i in range(4):
        for j in range(4):
            row, col = top + 4 * ty + i, left + tx + n * j
            if row < out.shape[0] and col < out.shape[1]:
                out[row, col] = acc[4 * i + j]


@cuda.jit
def distances_swizzled(out, a, b):
    """b's tile without a pad: columns and rows are exchanged by xor (n is a power of two)."""
    whole = cuda.shared.array(0, float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    other, base = cuda.blockIdx.x * n + ty, n * n
    acc = float32(0)
    for k0 in range(0, a.shape[1], n):
        ours, theirs = float32(0), float32(0)
        if row < a.shape[0] and k0 + tx < a.shape[1]:
            ours = a[row, k0 + tx]
        if other < b.shape[0] and k0 + tx < b.shape[1]:
            theirs = b[other, k0 + tx]
        whole[ty * n + tx] = ours
        whole[base + ty * n + (tx ^ ty)] = theirs
        cuda.syncthreads()
        for k in range(n):
            acc += (whole[ty * n + k] - whole[base + tx * n + (k ^ tx)]) ** 2
        cuda.syncthreads()
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit
def distances_in_parts(out, a, b):
    """Sums of squares and of products; 7 in both tiles beyond the depth, which add (7 - 7) ** 2."""
    whole = cuda.shared.array(0, float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    b_tile, a_tile = whole[: n * (n + 1)], whole[n * (n + 1) :]
    other = cuda.blockIdx.x * n + ty
    squares, products = float32(0), float32(0)
    for k0 in range(0, a.shape[1], n):
        a_tile[ty * n + tx] = 7
        b_tile[ty * (n + 1) + tx] = 7
        if row < a.shape[0] and k0 + tx < a.shape[1]:
            a_tile[ty * n + tx] = a[row, k0 + tx]
        if other < b.shape[0] and k0 + tx < b.shape[1]:
            b_tile[ty * (n + 1) + tx] = b[other, k0 + tx]
        cuda.syncthreads()
        for k in range(n):
            ours, theirs = a_tile[ty * n + k], b_tile[tx * (n + 1) + k]
            squares += ours * ours + theirs * theirs
            products += ours * theirs
        cuda.syncthreads()
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = squares - float32(2) * products


@cuda.jit
def products_begun_before(out, a, b):
    """The first tiles before the loop; pair and depth are counted on, not divided."""
    a_tile = cuda.shared.array((2, TILE, TILE), float32)
    b_tile = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    now, p, k0, acc = 0, 0, 0, float32(0)
    a_tile[0, ty, tx] = a[0, row, tx] if row < a.shape[1] and tx < a.shape[2] else float32(0)
    b_tile[0, ty, tx] = b[0, ty, col] if ty < b.shape[1] and col < b.shape[2] else float32(0)
    cuda.syncthreads()
    while p < a.shape[0]:
        k0 += n
        if k0 >= a.shape[2]:
            p, k0 = p + 1, 0
        of_a, of_b = float32(0), float32(0)
        if p < a.shape[0]:
            if row < a.shape[1] and k0 + tx < a.shape[2]:
                of_a = a[p, row, k0 + tx]
            if k0 + ty < b.shape[1] and col < b.shape[2]:
                of_b = b[p, k0 + ty, col]
        for k in range(n):
            acc += a_tile[now, ty, k] * b_tile[now, k, tx]
        if p < a.shape[0]:
            now = 1 - now
            a_tile[now, ty, tx] = of_a
            b_tile[now, ty, tx] = of_b
            cuda.syncthreads()
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit
def products_of_one_array(out, a, b):
    """One shared array of both tiles and buffers; the barrier stands between store and product."""
    tiles = cuda.shared.array((2, 2, TILE, TILE), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    now, acc = 0, float32(0)
    for p in range(a.shape[0]):
        for k0 in range(0, a.shape[2], n):
            tiles[now, 0, ty, tx] = 0
            tiles[now, 1, ty, tx] = 0
            if row < a.shape[1] and k0 + tx < a.shape[2]:
                tiles[now, 0, ty, tx] = a[p, row, k0 + tx]
            if k0 + ty < b.shape[1] and col < b.shape[2]:
                tiles[now, 1, ty, tx] = b[p, k0 + ty, col]
            cuda.syncthreads()
            for k in range(n):
                acc += tiles[now, 0, ty, k] * tiles[now, 1, k, tx]
            now = 1 - now
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit
def products_end_to_end(out, a, b):
    """One long product: each thread asks anew to which pair its own cell belongs."""
    tiles = cuda.shared.array((2, 2, TILE, TILE), float32)
    tx, ty, n, depth = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x, a.shape[2]
    col, row = cuda.grid(2)
    now, acc = 0, float32(0)
    for k0 in range(0, depth * a.shape[0] + n, n):
        of_a, of_b = float32(0), float32(0)
        if k0 + tx < depth * a.shape[0] and row < a.shape[1]:
            of_a = a[(k0 + tx) // depth, row, (k0 + tx) % depth]
        if k0 + ty < depth * a.shape[0] and col < b.shape[2]:
            of_b = b[(k0 + ty) // depth, (k0 + ty) % depth, col]
        if k0 > 0:
            for k in range(n):
                acc += tiles[now, 0, ty, k] * tiles[now, 1, k, tx]
        now = 1 - now
        tiles[now, 0, ty, tx], tiles[now, 1, ty, tx] = of_a, of_b
        cuda.syncthreads()
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit
def ahead_barrier_between(out, a, b):
    """The barrier stands between store and product, in the first pass, too: one for each tile."""
    a_tile = cuda.shared.array((2, TILE, TILE), float32)
    b_tile = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    now, acc = 0, float32(0)
    of_a, of_b = fetch(a, b, 0)
    for k0 in range(0, a.shape[1], n):
        a_tile[now, ty, tx], b_tile[now, ty, tx] = of_a, of_b
        cuda.syncthreads()
        of_a, of_b = fetch(a, b, k0 + n)
        for k in range(n):
            acc += a_tile[now, ty, k] * b_tile[now, k, tx]
        now = 1 - now
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit
def ahead_last_left_out(out, a, b):
    """Past the last tile nothing is stored, and nobody waits."""
    a_tile = cuda.shared.array((2, TILE, TILE), float32)
    b_tile = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    now, acc = 0, float32(0)
    a_tile[0, ty, tx], b_tile[0, ty, tx] = fetch(a, b, 0)
    cuda.syncthreads()
    for k0 in range(n, a.shape[1] + n, n):
        of_a, of_b = fetch(a, b, k0)
        for k in range(n):
            acc += a_tile[now, ty, k] * b_tile[now, k, tx]
        if k0 < a.shape[1]:
            now = 1 - now
            a_tile[now, ty, tx], b_tile[now, ty, tx] = of_a, of_b
            cuda.syncthreads()
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit
def walk_barrier_between(out, inp):
    """Put, wait, load the next, store this one: a barrier for each tile, none before the loop."""
    tile = cuda.shared.array((2, WIDE, PITCH), float32)
    held = cuda.local.array(8, float32)
    tx, ty, high = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.y
    row0, now = cuda.blockIdx.x * WIDE, 0
    load(inp, held, row0, 0)
    for col0 in range(0, inp.shape[1], WIDE):
        put(tile, now, held)
        cuda.syncthreads()
        load(inp, held, row0, col0 + WIDE)
        for i in range(ty, min(WIDE, inp.shape[1] - col0), high):
            if row0 + tx < out.shape[1]:
                out[col0 + i, row0 + tx] = tile[now, tx, i]
        now = 1 - now


@cuda.jit
def eights_around(out, inp):
    """The place of the next element is kept in a variable; loops go by the threads of the block."""
    tile = cuda.shared.array(512, float32)
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    start = 8 * cuda.blockIdx.x * n
    for j in range(tx, 8 * n, n):
        if start + j < inp.size:
            tile[j] = inp[start + j]
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < out.size:
        acc = float32(0)
        k = tx // 4 % 8
        for _ in range(8):
            acc += tile[8 * tx + k]
            k = (k + 1) % 8
        out[i] = acc


@cuda.jit
def running_in_place(out, inp):
    """A sum is kept in the tile alone, not in a variable."""
    tile = cuda.shared.array((32, 33), float32)
    tx, ty, high = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.y
    first = 32 * cuda.blockIdx.x
    last = min(first + 32, inp.shape[0])
    for row in range(first + ty, last, high):
        if tx < inp.shape[1]:
            tile[row - first, tx] = inp[row, tx]
    cuda.syncthreads()
    if ty == 0 and first + tx < last:
        for k in range(1, inp.shape[1]):
            tile[tx, k] += tile[tx, k - 1]
    cuda.syncthreads()
    for row in range(first + ty, last, high):
        if tx < inp.shape[1]:
            out[row, tx] = tile[row - first, tx]


@cuda.jit
def lengths_by_halves(out, inp):
    """Without loops: a lane reads one number, then the other one."""
    tile = cuda.shared.array(128, float64)
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    first = 2 * cuda.blockIdx.x * n
    if first + tx < inp.size:
        tile[tx] = inp[first + tx]
    if first + n + tx < inp.size:
        tile[n + tx] = inp[first + n + tx]
    cuda.syncthreads()
    i, turn = cuda.grid(1), tx // 8 % 2
    if i < out.size:
        one = tile[2 * tx + turn]
        other = tile[2 * tx + 1 - turn]
        out[i] = one * one + other * other


@cuda.jit
def dots_in_two_trees(out, a, b):
    """The sums of the warps are added by shuffles as well, in the first warp."""
    sums = cuda.shared.array(32, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    if row < out.shape[0]:
        acc = float32(0)
        for col in range(tx, a.shape[1], cuda.blockDim.x):
            acc += a[row, col] * b[row, col]
        acc = sum_of_a_warp(acc)
        if tx % 32 == 0:
            sums[tx // 32] = acc
        cuda.syncthreads()
        if tx < 32:
            acc = float32(0)
            if tx < cuda.blockDim.x // 32:
                acc = sums[tx]
            acc = sum_of_a_warp(acc)
            if tx == 0:
                out[row] = acc


@cuda.jit(device=True)
def sum_of_a_warp(value):
    for k in range(5):
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, 1 << k)
    return value


@cuda.jit
def running_by_shuffles(out, inp):
    """A warp takes rows in turn, and lanes add what lies below them: no tile."""
    lane, warps = cuda.threadIdx.x % 32, cuda.blockDim.x // 32
    for r in range(cuda.threadIdx.x // 32, cuda.blockDim.x, warps):
        row = cuda.blockIdx.x * cuda.blockDim.x + r
        inside = row < inp.shape[0] and lane < inp.shape[1]
        value = inp[row, lane] if inside else float32(0)
        step = 1
        while step < 32:
            below = cuda.shfl_up_sync(0xFFFFFFFF, value, step)
            if lane >= step:
                value += below
            step *= 2
        if inside:
            out[row, lane] = value


@cuda.jit
def woven_by_shuffles(out, a, b):
    """Lanes get both elements of a pair from another lane: no tile."""
    i, lane = cuda.grid(1), cuda.threadIdx.x % 32
    of_a = a[i] if i < a.shape[0] else float32(0)
    of_b = b[i] if i < a.shape[0] else float32(0)
    for half in range(2):
        even = cuda.shfl_sync(0xFFFFFFFF, of_a, 16 * half + lane // 2)
        odd = cuda.shfl_sync(0xFFFFFFFF, of_b, 16 * half + lane // 2)
        at = 2 * (i - lane) + 32 * half + lane
        if at < out.shape[0]:
            out[at] = odd if lane % 2 else even


@cuda.jit
def below_largest_of_all_warps(out, inp):
    """Begins below every number; each warp finds the largest of all warps by shuffles."""
    best = cuda.shared.array(32, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    if row >= inp.shape[0]:
        return
    most = float32(-math.inf)
    for col in range(tx, inp.shape[1], cuda.blockDim.x):
        most = max(most, inp[row, col])
    for k in range(5):
        most = max(most, cuda.shfl_xor_sync(0xFFFFFFFF, most, 1 << k))
    best[tx // 32] = most
    cuda.syncthreads()
    most = best[min(tx % 32, cuda.blockDim.x // 32 - 1)]
    for k in range(5):
        most = max(most, cuda.shfl_xor_sync(0xFFFFFFFF, most, 1 << k))
    for col in range(tx, inp.shape[1], cuda.blockDim.x):
        out[row, col] = inp[row, col] - most


@cuda.jit
def vector_filled(out, a, v):
    """Fills the tile with zeros and goes over all of it; the vector has a guard."""
    a_tile = cuda.shared.array(TURNED, float32, alignment=16)
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    row = cuda.blockIdx.x * 4 * n
    s0 = s1 = s2 = s3 = float32(0)
    for k0 in range(0, a.shape[1], EIGHT):
        for r in range(4 * n * EIGHT // n):
            m, k = (r * n + tx) // EIGHT, (r * n + tx) % EIGHT
            value = float32(0)
            if row + m < a.shape[0] and k0 + k < a.shape[1]:
                value = a[row + m, k0 + k]
            a_tile[k * FOURS + m] = value
        cuda.syncthreads()
        for k in range(EIGHT):
            if k0 + k < v.shape[0]:
                factor = v[k0 + k]
                quad = load16(a_tile, k * FOURS + 4 * tx)
                s0 += quad[0] * factor
                s1 += quad[1] * factor
                s2 += quad[2] * factor
                s3 += quad[3] * factor
        cuda.syncthreads()
    if row + 4 * tx < out.shape[0]:
        store16(out, row + 4 * tx, (s0, s1, s2, s3))


@cuda.jit
def centres_numbered(out, points, centres):
    """Centres staged by their numbers, 16 plain sums' arrays; points clamped to the last one."""
    near = cuda.shared.array(256, float32)
    ours, others = cuda.local.array(8, float32), cuda.local.array(8, float32)
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    depth, count = points.shape
    for at in range(tx, 8 * depth, n):
        near[at] = centres[at // depth, at % depth]
    cuda.syncthreads()
    one = cuda.blockIdx.x * 2 * n + tx
    two = one + n
    for c in range(8):
        ours[c] = 0
        others[c] = 0
    for k in range(depth):
        x, y = points[k, min(one, count - 1)], points[k, min(two, count - 1)]
        for c in range(8):
            centre = near[c * depth + k]
            ours[c] += (x - centre) ** 2
            others[c] += (y - centre) ** 2
    for c in range(8):
        if one < count:
            out[c, one] = ours[c]
        if two < count:
            out[c, two] = others[c]


OTHER_ANSWERS = {
    "ex14_eights": (eights_around,),
    "ex15_running": (running_in_place,),
    "ex16_lengths": (lengths_by_halves,),
    "ex17_dots": (dots_in_two_trees,),
    "ex18_above": (below_largest_of_all_warps,),
    "ex18_running": (running_by_shuffles,),
    "ex18_woven": (woven_by_shuffles,),
    "ex32_centres": (centres_numbered,),
    "ex33_vector": (vector_filled,),
    "ex07_ahead": (ahead_barrier_between, ahead_last_left_out),
    "ex07_walk": (walk_barrier_between,),
    "ex08b_gram": (gram_rows_together,),
    "ex08b_distances": (distances_swizzled, distances_in_parts),
    "ex08b_products": (
        products_begun_before,
        products_of_one_array,
        products_end_to_end,
    ),
}
EACH = [(name, kernel) for name, kernels in OTHER_ANSWERS.items() for kernel in kernels]


@pytest.mark.first(5)
@pytest.mark.parametrize(
    ("name", "kernel"), EACH, ids=[kernel.py_func.__name__ for _, kernel in EACH]
)
def test_accepted(name, kernel):
    """Other layouts, other loops, other bookkeeping: right, clean, within the budget."""
    verdict = graded(find(name), kernel)
    assert bool(verdict), repr(verdict)
