"""Dynamic shared memory, one piece that a launch sizes, divided between two arrays."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered


@cuda.jit
def parts(out, inp, weights):
    """out[i] = sum of weights[d] * inp[i + d].  The launch brings what is staged, no byte more."""
    whole = cuda.shared.array(0, float32)
    tx, n, m = cuda.threadIdx.x, cuda.blockDim.x, weights.shape[0]
    first, reach = cuda.blockIdx.x * n, n + m - 1  # elements of inp that a block needs
    # FILL (about 2 lines)
    near = whole[:reach]
    factors = whole[reach:]
    for i in range(tx, reach, n):
        # FILL (about 3 lines)
        near[i] = 0
        if first + i < inp.shape[0]:
            near[i] = inp[first + i]
    for i in range(tx, m, n):
        # FILL (about 1 line)
        factors[i] = weights[i]
    cuda.syncthreads()  # both parts are full before anyone reads them
    acc = float32(0)
    for d in range(m):
        # FILL (about 1 line)
        acc += factors[d] * near[tx + d]
    if first + tx < out.shape[0]:
        out[first + tx] = acc


def _sums(inp, weights):
    count = inp.shape[0] - weights.shape[0] + 1
    out = np.zeros(count, np.float32)
    for d, weight in enumerate(weights):
        out += weight * inp[d : d + count]
    return out


def _inputs(count, m, unit, seed):
    """Whole numbers; larger by `unit`, beyond what narrower parts hold."""
    inp = scattered(count + m - 1, seed=count + seed, low=-9, high=9) * np.float32(unit)
    return inp, scattered(m, seed=m + seed, low=-9, high=9) * np.float32(unit)


def _case(count, m, block, budget=None, unit=1, seed=0, like=None):
    staged = 4 * (block + m - 1 + m)
    asked = budget or Budget(shared_bytes=staged)
    inputs = partial(_inputs, count, m, unit, seed)
    return Case(inputs, cover((count,), (block,)), (block,), asked, staged, like)


def _cases():
    """Whole blocks with their budget; ragged ones, one weight, more weights than threads."""
    # 4 blocks: 8 warps, and 1 for the last 10 elements, load inp; 1 warp the weights
    once = Budget(requests={"inp": 36, "weights": 4}, shared_bytes=1108)
    yield _case(1024, 11, 256, once)
    for count, m, block in ((1000, 7, 128), (70, 1, 64), (1, 5, 32)):
        yield _case(count, m, block)
    yield _case(97, 40, 32, unit=2.0**40)


def _fresh(draw):
    """Whole blocks, held to the budget of the first case; a ragged line of large numbers."""
    m, block = draw.size(2, 16), draw.one_of(64, 128, 256)
    yield _case(block * draw.size(1, 5), m, block, seed=draw.numbers(), like=0)
    count, m, block = draw.size(2, 400), draw.size(1, 40), draw.one_of(32, 64, 128)
    yield _case(count, m, block, unit=2.0**40, seed=draw.numbers(), like=1)


EXERCISE = Exercise(
    name="ex08_parts",
    chapter="40_budgets",
    title="Dynamic memory in two parts",
    specification=_sums,
    solution=parts,
    wrong=(
        Wrong(
            "A dynamic array for each part: but all dynamic arrays of a kernel begin at "
            "the same byte.",
            {
                "near =": "near = cuda.shared.array(0, float32)",
                "factors =": "factors = cuda.shared.array(0, float32)",
                "whole =": "",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but with static arrays for the largest launch there may be.",
            {
                "near =": "near = cuda.shared.array(1024, float32)",
                "factors =": "factors = cuda.shared.array(64, float32)",
                "whole =": "",
            },
            ("shared", "5460 bytes of shared memory per block; budget 1108"),
        ),
        Wrong(
            "The weights begin behind the first n elements: where the last elements of inp are "
            "staged, too.",
            {"factors =": "factors = whole[n:]"},
            ("output", "of 1024 cells: 40 wrong"),
        ),
        Wrong(
            "The weights begin an element too late, and end beyond what the launch brings.",
            {"factors =": "factors = whole[reach + 1 :]"},
            ("output", "of 1024 cells: 978 wrong"),
        ),
        Wrong(
            "The part is cut off at a number of bytes, where elements are counted.",
            {"factors =": "factors = whole[4 * reach :]"},
            ("output", "of 1024 cells: 1021 wrong"),
        ),
        Wrong(
            "An element per thread is staged: the last threads read beyond what is there.",
            {"for i in range(tx, reach": "for i in range(tx, n, n):"},
            ("output", "no thread has stored"),
        ),
        Wrong(
            "No guard on the load of inp.",
            {"if first + i": "if True:"},
            ("findings", "out of range"),
        ),
        Wrong(
            "No barrier between staging and reading.",
            {"cuda.syncthreads()": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Right, but the weights are loaded by every thread anew.",
            {"acc +=": "acc += weights[d] * near[tx + d]"},
            ("requests", "356 requests touch weights; budget 4"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "`whole` is one array over all the bytes of the launch. A slice of it is an array as "
        "well: the first part takes as many elements as a block needs of inp, the second the rest.",
        "The parts meet at element `reach`. Stage 0, or where it exists the element of inp, whose "
        "index is i counted from the block's first one. Then the weights, at their own index.",
        "Two slices: up to reach, and from reach on. In the first loop: a 0, an if on first + i, "
        "the load. In the second: a weight. In the last: acc grows by factor d times the element d "
        "behind tx.",
    ),
    budget=Budget(),
)
