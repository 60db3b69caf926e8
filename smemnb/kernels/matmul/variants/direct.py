"""Products too small for tiles: every element of the result by a few lanes, straight from memory.

`matmul_direct_of(group, lanes, order)` makes the kernel `(out, a, b, alpha, beta)` of

    out[i, j] = alpha * sum over k of a[i, k] * b[k, j] + beta * out[i, j]

What a product of a few thousand elements costs is the way from memory, once, and little else. So
there are no tiles and no turns of a pipeline: `group` lanes share an element, each takes every
`group`-th step of the depth, and loads `AT_ONCE` steps before it multiplies the first. Lanes of a
group add up by shuffles, warps through shared memory, in an order that never changes.

What neighbouring lanes are is a choice, as it decides how many sectors a load takes:

    lanes="depth"      of one element: neighbours along the depth, for operands that lie so
    lanes="elements"   of neighbouring elements, at the same step of the depth; the group is spread
                       over warps

and the elements follow each other along the rows of the result (`order="rows"`) or its columns.

**Limits**: flat offsets are 32 bits without a sign.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, uint32

from ...ptx import load1, store1
from ...ptx.asynchronous import await_previous
from ...unrolled import device, jit, named

WARP, LEAST_THREADS = 32, 128
AT_ONCE = 8
"""Steps of the depth that a lane loads at once."""
GROUPS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
ALL = 0xFFFFFFFF


def threads_of(group: int) -> int:
    """Threads of a block."""
    return max(LEAST_THREADS, group)


@cache
def matmul_direct_of(
    group: int,
    lanes: str = "depth",
    order: str = "rows",
    a_columns: bool = False,
    b_columns: bool = False,
    name: str = "matmul_direct",
) -> Any:
    """The kernel; a block of `threads_of(group)` threads makes one element per group of them.

    Args:
        group: lanes that share an element, of `GROUPS`.
        lanes: "depth" or "elements".
        order: "rows" or "columns".
        a_columns: a lies by columns; the array passed is a.T, which lies by rows.
        b_columns: the same of b.
        name: of the kernel.
    """
    threads = threads_of(group)
    elements = threads // group
    add = _added_along_depth(group) if lanes == "depth" else _added_over_warps(group)
    by_rows, along = order == "rows", lanes == "depth"
    shared_size = threads // WARP if along else threads

    @device
    def place():
        tid = uint32(cuda.threadIdx.x)
        if along:
            return uint32(tid // uint32(group)), uint32(tid % uint32(group))
        return uint32(tid % uint32(elements)), uint32(tid // uint32(elements))

    @jit(launch_bounds=threads)
    def product_by_elements(out, a, b, alpha, beta):
        shared = cuda.shared.array(shared_size, float32)
        a_part = cuda.local.array(AT_ONCE, float32)
        b_part = cuda.local.array(AT_ONCE, float32)
        rows, cols = uint32(out.shape[0]), uint32(out.shape[1])
        depth = uint32(a.shape[0]) if a_columns else uint32(a.shape[1])
        element, share = place()
        at = uint32(cuda.blockIdx.x * uint32(elements) + element)
        there = at < rows * cols
        if by_rows:
            i = uint32(at // cols)
            j = uint32(at - i * cols)
        else:
            j = uint32(at // rows)
            i = uint32(at - j * rows)
        a_pitch, b_pitch = uint32(a.strides[0] // 4), uint32(b.strides[0] // 4)
        if a_columns:
            a_step, a_at = a_pitch, uint32(i + share * a_pitch)
        else:
            a_step, a_at = uint32(1), uint32(i * a_pitch + share)
        if b_columns:
            b_step, b_at = uint32(1), uint32(j * b_pitch + share)
        else:
            b_step, b_at = b_pitch, uint32(share * b_pitch + j)
        a_step, b_step = uint32(a_step * uint32(group)), uint32(b_step * uint32(group))
        await_previous()

        # 1. Whole turns: all loads, then their products
        acc, left = float32(0), uint32(0)
        if there and depth > share:
            left = uint32(uint32(depth - share + uint32(group - 1)) // uint32(group))
        while left >= uint32(AT_ONCE):
            for u in range(AT_ONCE):
                # smemnb: allow[uncoalesced] lines are read whole over the turns, from L1
                a_part[u] = load1(a, uint32(a_at + uint32(u) * a_step))
                # smemnb: allow[uncoalesced] as the load above
                b_part[u] = load1(b, uint32(b_at + uint32(u) * b_step))
            a_at = uint32(a_at + uint32(AT_ONCE) * a_step)
            b_at = uint32(b_at + uint32(AT_ONCE) * b_step)
            left = uint32(left - uint32(AT_ONCE))
            some, more = float32(0), float32(0)
            for u in range(0, AT_ONCE, 2):
                some += a_part[u] * b_part[u]
                more += a_part[u + 1] * b_part[u + 1]
            acc += some + more

        # 2. What is left of the last turn
        for u in range(AT_ONCE):
            a_part[u] = float32(0)
            b_part[u] = float32(0)
            if uint32(u) < left:
                # smemnb: allow[uncoalesced] as above
                a_part[u] = load1(a, uint32(a_at + uint32(u) * a_step))
                # smemnb: allow[uncoalesced] as above
                b_part[u] = load1(b, uint32(b_at + uint32(u) * b_step))
        for u in range(AT_ONCE):
            acc += a_part[u] * b_part[u]

        # 3. The lanes of an element
        acc = add(shared, acc)

        # 4. The result
        if there and share == uint32(0):
            at = uint32(i * uint32(out.strides[0] // 4) + j)
            value = float32(alpha) * acc
            if float32(beta) != float32(0):
                value += float32(beta) * load1(out, at)
            store1(out, at, value)

    return named(product_by_elements, name)


def _added_along_depth(group: int) -> Any:
    """The sum of a group of neighbouring lanes, in its first one."""
    in_warp, warps = min(group, WARP), group // WARP
    masks = tuple(1 << bit for bit in range(in_warp.bit_length() - 1))
    shuffles = _shuffles(masks)

    @device
    def of_lanes(shared, acc):
        return shuffles(acc)

    @device
    def of_warps(shared, acc):
        acc = shuffles(acc)
        tid = uint32(cuda.threadIdx.x)
        warp = uint32(tid // uint32(WARP))
        if tid % uint32(WARP) == uint32(0):
            store1(shared, warp, acc)
        cuda.syncthreads()  # the sums of all warps are there
        acc = float32(0)
        if tid % uint32(group) == uint32(0):
            for other in range(warps):
                acc += load1(shared, uint32(warp + uint32(other)))
        return acc

    return of_warps if warps > 1 else of_lanes


def _shuffles(masks: tuple[int, ...]) -> Any:
    if not masks:

        @device
        def nothing(acc):
            return acc

        return nothing
    mask, rest = masks[0], _shuffles(masks[1:])

    @device
    def added(acc):
        return rest(acc + cuda.shfl_xor_sync(ALL, acc, mask))

    return added


def _added_over_warps(group: int) -> Any:
    """The sum of the threads that are a block's elements apart, in the first of them."""
    elements = threads_of(group) // group
    if group == 1:

        @device
        def alone(shared, acc):
            return acc

        return alone

    @device
    def over_warps(shared, acc):
        tid = uint32(cuda.threadIdx.x)
        store1(shared, tid, acc)
        cuda.syncthreads()  # the sums of all shares are there
        acc = float32(0)
        if tid < uint32(elements):
            for other in range(group):
                acc += load1(shared, uint32(tid + uint32(other * elements)))
        return acc

    return over_warps
