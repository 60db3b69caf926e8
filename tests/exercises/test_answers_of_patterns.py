"""Answers to the exercises of part 5: right ones of another design, and wrong ones in words."""

import math

import numpy as np
import pytest
from numba import cuda, float32, int32

from smemnb.exercises.check import check, graded
from smemnb.exercises.registry import find
from smemnb.exercises.variants import edited

BINS, LANES = 64, 32


@cuda.jit
def smooth_two_lines(out, inp):
    """A line is filled while others still read the one before: one barrier for each row."""
    lines = cuda.shared.array((2, 130), float32)
    tx, col = cuda.threadIdx.x, cuda.grid(1)
    rows, cols = inp.shape
    row0 = cuda.blockIdx.y * 16
    above, here = float32(0), float32(0)
    now = 0
    for y in range(row0 - 1, min(row0 + 16, rows) + 1):
        for x in range(tx, cuda.blockDim.x + 2, cuda.blockDim.x):
            from_col = col - tx + x - 1
            value = float32(0)
            if 0 <= y < rows and 0 <= from_col < cols:
                value = inp[y, from_col]
            lines[now, x] = value
        cuda.syncthreads()
        three = lines[now, tx] + lines[now, tx + 1] + lines[now, tx + 2]
        if y > row0 and col < cols:
            out[y - 1, col] = above + here + three
        above, here = here, three
        now = 1 - now


@cuda.jit
def smooth_with_two_ifs(out, inp):
    """The first thread loads the left neighbour, the last one the right one."""
    line = cuda.shared.array(130, float32)
    tx, col, n = cuda.threadIdx.x, cuda.grid(1), cuda.blockDim.x
    rows, cols = inp.shape
    row0 = cuda.blockIdx.y * 16
    above, here = float32(0), float32(0)
    for y in range(row0 - 1, min(row0 + 16, rows) + 1):
        inside = 0 <= y and y < rows
        line[tx + 1] = inp[y, col] if inside and col < cols else float32(0)
        if tx == 0:
            line[0] = inp[y, col - 1] if inside and 0 < col <= cols else float32(0)
        if tx == n - 1:
            line[n + 1] = inp[y, col + 1] if inside and col + 1 < cols else float32(0)
        cuda.syncthreads()
        three = line[tx] + line[tx + 1] + line[tx + 2]
        if y > row0 and col < cols:
            out[y - 1, col] = above + here + three
        above, here = here, three
        cuda.syncthreads()


@cuda.jit
def grown_by_number(out, inp):
    """Threads go over the tile as over one row: full requests that begin anywhere."""
    tile = cuda.shared.array((10, 34), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    rows, cols = inp.shape
    wide, threads = cuda.blockDim.x + 2, cuda.blockDim.x * cuda.blockDim.y
    for i in range(ty * cuda.blockDim.x + tx, wide * (cuda.blockDim.y + 2), threads):
        y, x = i // wide, i % wide
        from_row = min(max(row - ty + y - 1, 0), rows - 1)
        from_col = min(max(col - tx + x - 1, 0), cols - 1)
        tile[y, x] = inp[from_row, from_col]
    cuda.syncthreads()
    if row < out.shape[0] and col < out.shape[1]:
        best = tile[ty, tx]
        for i in range(3):
            for j in range(3):
                best = max(best, tile[ty + i, tx + j])
        out[row, col] = best


@cuda.jit
def total_by_the_whole_block(out, total, ticket, inp):
    """A flag in shared memory says that the block is the last, and all its threads add."""
    tile = cuda.shared.array(256, float32)
    last = cuda.shared.array(1, int32)
    tx, row, rows = cuda.threadIdx.x, cuda.blockIdx.x, cuda.gridDim.x
    acc = float32(0)
    for col in range(tx, inp.shape[1], cuda.blockDim.x):
        acc += inp[row, col]
    tile[tx] = acc
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if tx < half:
            tile[tx] += tile[tx + half]
        cuda.syncthreads()
        half //= 2
    if tx == 0:
        out[row] = tile[0]
        cuda.threadfence()
        last[0] = cuda.atomic.add(ticket, 0, 1)
    cuda.syncthreads()
    if last[0] == rows - 1:
        cuda.threadfence()
        acc = float32(0)
        for k in range(tx, rows, cuda.blockDim.x):
            acc += out[k]
        tile[tx] = acc
        cuda.syncthreads()
        half = cuda.blockDim.x // 2
        while half > 0:
            if tx < half:
                tile[tx] += tile[tx + half]
            cuda.syncthreads()
            half //= 2
        if tx == 0:
            total[0] = tile[0]
            ticket[0] = 0


@cuda.jit
def copies_by_warps(out, inp):
    """A warp takes a number, a lane its copy, and shuffles add them up."""
    part = cuda.shared.array(2048, int32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    if row < out.shape[0]:
        for i in range(tx, BINS * LANES, cuda.blockDim.x):
            part[i] = 0
        cuda.syncthreads()
        for col in range(tx, inp.shape[1], cuda.blockDim.x):
            cuda.atomic.add(part, inp[row, col] * LANES + tx % LANES, 1)
        cuda.syncthreads()
        for k in range(tx // LANES, BINS, cuda.blockDim.x // LANES):
            acc = part[k * LANES + tx % LANES]
            for step in (16, 8, 4, 2, 1):
                acc += cuda.shfl_down_sync(0xFFFFFFFF, acc, step)
            if tx % LANES == 0:
                out[row, k] = acc


@cuda.jit
def once_pairs_joined(out, inp):
    """Maximum and sum go through the exchange together."""
    lane = cuda.threadIdx.x
    row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if row < out.shape[0]:
        top, acc = float32(-3e38), float32(0)
        for col in range(lane, inp.shape[1], 32):
            value = inp[row, col]
            new = max(top, value)
            acc = acc * math.exp(top - new) + math.exp(value - new)
            top = new
        for mask in (16, 8, 4, 2, 1):
            other_top = cuda.shfl_xor_sync(0xFFFFFFFF, top, mask)
            other = cuda.shfl_xor_sync(0xFFFFFFFF, acc, mask)
            new = max(top, other_top)
            acc = acc * math.exp(top - new) + other * math.exp(other_top - new)
            top = new
        if lane == 0:
            out[row] = top + math.log(acc)


RIGHT = [
    ("ex50_total", total_by_the_whole_block),
    ("ex52_grown", grown_by_number),
    ("ex52_smooth", smooth_two_lines),
    ("ex52_smooth", smooth_with_two_ifs),
    ("ex53_copies", copies_by_warps),
    ("ex54_once", once_pairs_joined),
]


@pytest.mark.first(6)
@pytest.mark.parametrize("seed", [None, 1, 2, 3])
@pytest.mark.parametrize(("name", "kernel"), RIGHT, ids=[one.py_func.__name__ for _, one in RIGHT])
def test_accepted(name, kernel, seed):
    """Right, clean, within the budget, in published cases and in fresh ones."""
    verdict = graded(find(name), kernel, seed=seed)
    assert bool(verdict), repr(verdict)


SPINS = """if row == 0:
    while cuda.atomic.add(ticket, 0, 0) != rows:
        pass
if row == 0:"""


@pytest.mark.parametrize(
    ("name", "edits", "reason", "words"),
    [
        ("ex50_peak", {"top = float32(0)": "top = -np.inf"}, "findings", "float32(-np.inf)"),
        ("ex51_peaks", {"peak = inp[row, 0]": "peak = float('-inf')"}, "findings", "float32(float"),
        (
            "ex50_total",
            {
                "cuda.threadfence()  # the sum": "cuda.atomic.add(total, 0, tile[0])\n"
                "cuda.threadfence()",
                "for k": "for k in range(0):",
                "total[0] = acc": "pass",
            },
            "requests",
            "put them together first",
        ),
        (
            "ex50_total",
            {"if before": "if before == rows:"},
            "output",
            "No thread stores that element in this launch",
        ),
        (
            "ex50_total",
            {"acc += out[k]": "total[0] += out[k]", "total[0] = acc": "pass"},
            "requests",
            "Keep in a variable",
        ),
        (
            "ex50_total",
            {
                "before = cuda": "before = rows - 1 - row\ncuda.atomic.add(ticket, 0, 1)",
                "if before": SPINS,
            },
            "requests",
            "may not have begun",
        ),
        ("ex50_total", {"ticket[0] = 0": ""}, "output", "nothing to be stored"),
        ("ex50_peak", {"ticket[0] = 0": ""}, "output", "nothing to be stored"),
        (
            "ex53_copies",
            {
                "part[i] = 0": "if i < BINS:\n    cuda.atomic.add(out, (row, i), 0)",
                "cuda.atomic": "cuda.atomic.add(out, (row, inp[row, col]), 1)",
                "for k in": "for k in range(0):",
            },
            "output",
            "hold no zeros",
        ),
        (
            "ex53_copies",
            {"for k in": "for k in range(BINS if tx == 0 else 0):"},
            "requests",
            "one lane uses part at a time",
        ),
        (
            "ex53_bins",
            {
                "cuda.atomic": "cuda.atomic.add(part, below - 1, 1)",
                "for turn": "for turn in range(1):",
                "acc += part": "acc += part[k]",
            },
            "wavefronts",
            "which both lie in bank",
        ),
        ("ex54_once", {"top, acc =": "top, acc = inp[row, 0], float32(0)"}, "output", ""),
        (
            "ex54_once",
            {
                "own = top": "own = top\nheld = cuda.shared.array(512, float32)\n"
                "held[cuda.threadIdx.y * 32 + lane] = top",
            },
            "shared",
            "by shuffles",
        ),
        (
            "ex54_unit",
            {"out[row, col]": "out[row, col] = inp[row, col] / top"},
            "requests",
            "into a local array",
        ),
        (
            "ex54_unit",
            {"cuda.syncthreads()": "cuda.syncthreads()\ncuda.syncthreads()"},
            "barriers",
            "Which one stands between neither?",
        ),
    ],
)
def test_refused(name, edits, reason, words):
    """A wrong answer gets the reason and a hint that fits the task."""
    kernel = edited(find(name).solution, edits)
    verdict = check(name, kernel)
    assert (bool(verdict), verdict.reason) == (False, reason), repr(verdict)
    assert words in verdict.hint


def test_a_masked_row():
    """A row that begins with -inf, as a mask makes it, has a sum; one of nothing else has -inf."""
    once = find("ex54_once")
    inp = np.ones((2, 64), np.float32)
    inp[0, :40], inp[1] = -np.inf, -np.inf
    assert once.specification(inp) == pytest.approx([1 + math.log(24), -math.inf])


def test_updates_of_one_word():
    """Increments by a constant are merged, whatever else is added is served lane by lane."""
    bins = find("ex53_bins")
    one_by_one = {
        "cuda.atomic": "cuda.atomic.add(part, below - 1, min(below, 1))",
        "for turn": "for turn in range(1):",
        "acc += part": "acc += part[k]",
    }
    assert "one after the other" in check("ex53_bins", edited(bins.solution, one_by_one)).hint


def test_no_launch_before_was_right_where_lanes_were_missing():
    """A finding in launches whose values are right is not contradicted."""
    once = find("ex54_once")
    text = {
        "for mask in": "for mask in (16, 8, 4, 2, 1):\n    if lane >= inp.shape[1]:\n        break"
    }
    verdict = check("ex54_once", edited(once.solution, text))
    assert verdict.part("findings").text.startswith("missing lane")
    assert "(output 13" in verdict.part("findings").text
    assert "was right" not in verdict.hint


def test_no_number_in_place_of_block_dim():
    """A kernel without such a number is not asked for it; one that has it is."""
    grown = find("ex52_grown")
    leaves = {"rows, cols =": "rows, cols = inp.shape\nif row >= rows or col >= cols:\n    return"}
    said = check("ex52_grown", edited(grown.solution, leaves)).hint
    assert "blockDim" not in said
    eight = {"for y in": "for y in range(ty, 10, 8):"}
    assert "blockDim" in check("ex52_grown", edited(grown.solution, eight)).hint


def test_a_missing_atomic_is_no_missing_barrier():
    """Where lanes store one counter, no barrier helps: the hint does not speak of the budget's."""
    lost = {"cuda.atomic": "part[(below - 1) * LANES + tx % LANES] += 1"}
    hint = check("ex53_bins", edited(find("ex53_bins").solution, lost)).hint
    assert "cuda.atomic.add" in hint and "barriers" not in hint
