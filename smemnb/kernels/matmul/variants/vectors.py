"""Products of a few vectors and a large matrix: the matrix is read once, by all threads at once.

`vector_product_of(tiling)` makes the kernel `(out, small, large, alpha, beta, sums, flags)` of

    out[i, j] = alpha * sum over k of small[i, k] * large[k, j] + beta * out[i, j]

where `small` holds the vectors. Either operand of a product can be the small one, and either can
lie by rows or by columns, so each array is passed as it lies in memory, its neighbours along the
last axis, and the kernel is made for that. What it does:

1. Bring a chunk of the vectors into shared memory; the first loads of the matrix are under way.
2. Multiply what was loaded, load the next: a thread has 4 columns, and at each turn `loads` steps
   of the depth (neighbours along the columns), or for each of 4 columns `loads` elements along the
   depth. It adds the products of a turn first, and then that sum to what it has.
3. Add up what lanes and warps have: lanes by shuffles, each time giving away half of their sums,
   warps through shared memory.
4. Where the depth is cut over blocks, put that into `sums`. The block that comes last to a piece of
   the result adds up all parts, its own as well, in the order of the parts. So the result is the
   same in every run, whoever was last.

Nothing that is loaded is guarded, as loads behind branches begin one after the other: what would
lie beyond an edge is loaded from the edge, and then not stored, or replaced by 0.

**Limits**: flat offsets are 32 bits without a sign.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import cuda, float32, uint32

from ...ptx import load1, load16, store1
from ...ptx.asynchronous import await_previous
from ...unrolled import device, jit, named, smaller, unroll
from .loads import put
from .vector_tiling import PART, QUAD, THREADS, WARP, VectorTiling

ALL = 0xFFFFFFFF
TOGETHER = 8
"""Repetitions that stand in one loop, which the compiler still lays out."""


@cache
def vector_product_of(
    tiling: VectorTiling, small_columns: bool = False, out_turned: bool = False, name: str = ""
) -> Any:
    """The kernel `(out, small, large, alpha, beta, sums, flags)` for a tiling.

    Launched with the grid of `vector_plan`, or of `launched`. `out` is not read where beta is 0.
    With several parts of the depth (grid z), `sums` has room for `tiling.slot` float32 for each
    block, and `flags` for a uint32 for each piece of the result, all 0; they are 0 again at the
    end. With one part neither is touched.

    Args:
        tiling: the choices. `large` has the shape (depth, columns) where its neighbours lie along
            the columns, and (columns, depth) where they lie along the depth.
        small_columns: `small` has the shape (depth, vectors); otherwise (vectors, depth).
        out_turned: `out` has the shape (columns, vectors); otherwise (vectors, columns).
        name: of the kernel.
    """
    count, loads, chunk, step = tiling.count, tiling.loads, tiling.chunk, tiling.step
    size, results, by_columns = tiling.shared_elems, QUAD * count, tiling.along == "columns"
    place, first_step, first_column = _place(tiling), _first_step(tiling), _first_column(tiling)
    pitch = chunk + (tiling.pad if small_columns else 0)
    fetch, clear, multiply = _fetched(tiling), _cleared(tiling), _multiplied(tiling, pitch)
    stage, part_of = _staged(tiling, pitch, small_columns), _part_of
    add_lanes, add_slices = _added_lanes(tiling), _added_slices(tiling, tiling.slices // 2)
    give, take = _parts(tiling)
    store = _stored(tiling, out_turned)

    @jit(launch_bounds=(THREADS, tiling.resident))
    def vectors_times_matrix(out, small, large, alpha, beta, sums, flags):
        shared = cuda.shared.array(size, float32, alignment=16)
        final = cuda.shared.array(1, uint32)
        acc = cuda.local.array(results, float32)
        ahead = cuda.local.array((loads, 4), float32)
        lane, group, piece, x, y = place()
        vector, vectors = uint32(cuda.blockIdx.y * count), uint32(small.shape[0])
        length, depth = uint32(large.shape[0]), uint32(large.shape[1])
        if small_columns:
            vectors = uint32(small.shape[1])
        if by_columns:
            length, depth = depth, length
        col = first_column(group, x)
        begin, end = part_of(depth)
        for at in range(results):
            acc[at] = float32(0)
        await_previous()

        # 1. and 2., chunk by chunk
        if begin < end:
            k = uint32(begin + first_step(piece, y))
            fetch(large, ahead, col, k, length, end)
            while begin < end:
                stop = smaller(uint32(begin + chunk), end)
                stage((small, shared, vector, vectors, begin, stop))
                cuda.syncthreads()  # the vectors are there before anyone reads them
                while k < stop:
                    clear(ahead, k, end)
                    multiply((shared, ahead, acc, uint32(k - begin)))
                    k = uint32(k + step)
                    if k < end:
                        fetch(large, ahead, col, k, length, end)
                begin = uint32(begin + chunk)
                cuda.syncthreads()  # everyone has read before other vectors, or sums, come

        # 3.
        add_lanes(acc, lane)
        add_slices(shared, acc, group, piece, lane)

        # 4.
        parts, stored = uint32(cuda.gridDim.z), True
        if parts > uint32(1):
            tile = uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)
            if piece == uint32(0):
                give((sums, acc, uint32(tile * parts + cuda.blockIdx.z), group, lane))
            cuda.threadfence()  # every thread's sums are in memory ...
            cuda.syncthreads()  # ... before one says so
            if cuda.threadIdx.x == 0:  # back to 0 by the last one
                final[0] = uint32(cuda.atomic.inc(flags, tile, uint32(parts - uint32(1))))
            cuda.syncthreads()  # everyone knows who came before
            stored = final[0] == uint32(parts - uint32(1))
            if stored:
                cuda.threadfence()
                take(sums, acc, tile, parts, group, piece, lane)
                add_slices(shared, acc, group, piece, lane)
        if stored and piece == uint32(0):
            store((out, acc, vector, vectors, col, length, y, float32(alpha), float32(beta)))

    return named(vectors_times_matrix, name)


@device
def _part_of(depth):
    """The block's part of the depth: (its first step, the one behind its last)."""
    parts = uint32(cuda.gridDim.z)
    part = uint32(uint32(depth + uint32(parts - uint32(1))) // parts)
    part = uint32(uint32(part + uint32(PART - 1)) // uint32(PART) * uint32(PART))
    begin = smaller(uint32(part * cuda.blockIdx.z), depth)
    return begin, smaller(uint32(begin + part), depth)


def _laid_out(count: int, body: Callable[..., Any]) -> Any:
    """`unroll(count, body)` in fewer functions: `TOGETHER` repetitions stand in a loop."""
    if count <= TOGETHER:
        return unroll(count, body)

    @device
    def row(line, args):
        for at in range(TOGETHER):
            body(line * TOGETHER + at, *args)

    rows = unroll(count // TOGETHER, row)

    @device
    def all_rows(args):
        rows((args,))

    return all_rows


# --- where a thread works ------------------------------------------------------------------------


def _place(tiling: VectorTiling) -> Any:
    """(lane, group of its warp, slice of its warp, place across, place along the depth).

    Neighbouring lanes take neighbours of the matrix in memory.
    """
    across, deep, groups = tiling.across, tiling.lanes_deep, tiling.groups

    @device
    def warps():
        tid = uint32(cuda.threadIdx.x)
        warp = uint32(tid // uint32(WARP))
        group, piece = uint32(warp % uint32(groups)), uint32(warp // uint32(groups))
        return uint32(tid % uint32(WARP)), group, piece

    @device
    def along_columns():
        lane, group, piece = warps()
        return lane, group, piece, uint32(lane % uint32(across)), uint32(lane // uint32(across))

    @device
    def along_depth():
        lane, group, piece = warps()
        return lane, group, piece, uint32(lane // uint32(deep)), uint32(lane % uint32(deep))

    return along_columns if tiling.along == "columns" else along_depth


def _quads_across(tiling: VectorTiling) -> bool:
    """Whether a thread's 4 columns are neighbours; otherwise they are `across` apart."""
    return tiling.wide and tiling.along == "columns"


def _first_column(tiling: VectorTiling) -> Any:
    columns, across = tiling.columns, tiling.across
    apart = QUAD if _quads_across(tiling) else 1

    @device
    def first_column(group, x):
        within = uint32(group * uint32(QUAD * across) + x * uint32(apart))
        return uint32(cuda.blockIdx.x * columns + within)

    return first_column


def _first_step(tiling: VectorTiling) -> Any:
    """The first step of the depth of a thread, from the beginning of a chunk on."""
    span = tiling.span
    apart = tiling.loads if tiling.along == "columns" else QUAD if tiling.wide else 1

    @device
    def first_step(piece, y):
        return uint32(piece * uint32(span) + y * uint32(apart))

    return first_step


# --- the matrix ----------------------------------------------------------------------------------


def _fetched(tiling: VectorTiling) -> Any:
    """All loads of a turn, into registers; beyond an edge, the last that lies inside.

    Along the columns `ahead[u, q]` is step u of column q; along the depth `ahead[4 * u + q, e]` is
    element e of quad u of column q.
    """
    loads, across, deep = tiling.loads, tiling.across, tiling.lanes_deep

    @device
    def quads_of_columns(large, ahead, col, k, length, end):
        pitch, last = uint32(large.strides[0] // 4), uint32(end - uint32(1))
        first = smaller(col, uint32(length - uint32(QUAD)))
        for line in range(loads):
            row = smaller(uint32(k + line), last)
            put(ahead, line, 0, load16(large, uint32(row * pitch + first)))

    @device
    def columns(large, ahead, col, k, length, end):
        pitch, last = uint32(large.strides[0] // 4), uint32(end - uint32(1))
        for line in range(loads):
            row = uint32(smaller(uint32(k + line), last) * pitch)
            for quarter in range(4):
                this = smaller(uint32(col + quarter * across), uint32(length - uint32(1)))
                ahead[line, quarter] = load1(large, uint32(row + this))

    @device
    def quads_of_depth(large, ahead, col, k, length, end):
        pitch, last = uint32(large.strides[0] // 4), uint32(end - uint32(QUAD))
        for quarter in range(4):
            row = smaller(uint32(col + quarter * across), uint32(length - uint32(1)))
            for quad in range(loads // 4):
                at = smaller(uint32(k + quad * QUAD * deep), last)
                put(ahead, quad * 4 + quarter, 0, load16(large, uint32(row * pitch + at)))

    @device
    def depth(large, ahead, col, k, length, end):
        pitch, last = uint32(large.strides[0] // 4), uint32(end - uint32(1))
        for quarter in range(4):
            row = smaller(uint32(col + quarter * across), uint32(length - uint32(1)))
            row = uint32(row * pitch)
            for quad in range(loads // 4):
                for part in range(4):
                    at = smaller(uint32(k + (quad * QUAD + part) * deep), last)
                    ahead[quad * 4 + quarter, part] = load1(large, uint32(row + at))

    if tiling.along == "columns":
        return quads_of_columns if tiling.wide else columns
    return quads_of_depth if tiling.wide else depth


def _cleared(tiling: VectorTiling) -> Any:
    """What was loaded for steps beyond the end becomes 0: it may be infinite where it stands."""
    loads, deep, wide = tiling.loads, tiling.lanes_deep, tiling.wide
    apart = 1 if wide else deep
    reach = (loads // 4 - 1) * QUAD * deep + 3 * apart

    @device
    def columns(ahead, k, end):
        if k + (loads - 1) >= end:
            for line in range(loads):
                if k + line >= end:
                    put(ahead, line, 0, (float32(0), float32(0), float32(0), float32(0)))

    @device
    def depth(ahead, k, end):
        if k + reach >= end:
            for quad in range(loads // 4):
                for part in range(4):
                    if k + (quad * QUAD * deep + part * apart) >= end:
                        for quarter in range(4):
                            ahead[quad * 4 + quarter, part] = float32(0)

    return columns if tiling.along == "columns" else depth


# --- the vectors ---------------------------------------------------------------------------------


def _staged(tiling: VectorTiling, pitch: int, small_columns: bool) -> Any:
    """Bring steps `begin` to `stop` of the vectors into shared memory, and 0 behind them.

    Neighbouring threads load neighbours, 8 loads each before the first is stored.
    """
    count, span = tiling.count, tiling.span
    per_thread, per_line = count * tiling.chunk // THREADS, THREADS // count

    @device
    def from_rows(at, tid):
        return uint32(at % count), uint32(at // count * THREADS + tid)

    @device
    def from_columns(at, tid):
        return uint32(tid % uint32(count)), uint32(at * per_line + tid // uint32(count))

    place = from_columns if small_columns else from_rows
    together = min(TOGETHER, per_thread)

    @device
    def some(turn, small, shared, vector, vectors, begin, stop):
        values = cuda.local.array(together, float32)
        pitch_small, tid = uint32(small.strides[0] // 4), uint32(cuda.threadIdx.x)
        size, left = uint32(stop - begin), uint32(vectors - vector)
        _, first = place(turn * together, uint32(0))
        if first < size + span:
            for at in range(together):
                i, k = place(turn * together + at, tid)
                row = uint32(vector + smaller(i, uint32(left - uint32(1))))
                col = uint32(begin + smaller(k, uint32(size - uint32(1))))
                if small_columns:
                    row, col = col, row
                values[at] = load1(small, uint32(row * pitch_small + col))
            for at in range(together):
                i, k = place(turn * together + at, tid)
                # an infinite one behind the end would be NaN times the 0 that stands there
                store1(shared, uint32(i * pitch + k), values[at] if k < size else float32(0))

    return unroll(per_thread // together, some)


def _multiplied(tiling: VectorTiling, pitch: int) -> Any:
    """Add the products of what was loaded and each vector, from step `at` of the chunk on."""
    loads, deep = tiling.loads, tiling.lanes_deep

    @device
    def columns(i, shared, ahead, acc, at):
        part = cuda.local.array(4, float32)
        for q in range(4):
            part[q] = float32(0)
        for quad in range(loads // 4):
            v = load16(shared, uint32(at + (i * pitch + quad * QUAD)))
            for q in range(4):
                part[q] += v[0] * ahead[quad * 4, q]
                part[q] += v[1] * ahead[quad * 4 + 1, q]
                part[q] += v[2] * ahead[quad * 4 + 2, q]
                part[q] += v[3] * ahead[quad * 4 + 3, q]
        for q in range(4):
            acc[i * 4 + q] += part[q]

    @device
    def four(shared, at):
        return load16(shared, at)

    @device
    def one_by_one(shared, at):
        return (
            load1(shared, at),
            load1(shared, uint32(at + deep)),
            load1(shared, uint32(at + 2 * deep)),
            load1(shared, uint32(at + 3 * deep)),
        )

    read = four if tiling.wide else one_by_one

    @device
    def depth(i, shared, ahead, acc, at):
        part = cuda.local.array(4, float32)
        for q in range(4):
            part[q] = float32(0)
        for quad in range(loads // 4):
            v = read(shared, uint32(at + (i * pitch + quad * QUAD * deep)))
            for q in range(4):
                part[q] += v[0] * ahead[quad * 4 + q, 0]
                part[q] += v[1] * ahead[quad * 4 + q, 1]
                part[q] += v[2] * ahead[quad * 4 + q, 2]
                part[q] += v[3] * ahead[quad * 4 + q, 3]
        for q in range(4):
            acc[i * 4 + q] += part[q]

    return unroll(tiling.count, columns if tiling.along == "columns" else depth)


# --- adding up -----------------------------------------------------------------------------------


def _added_lanes(tiling: VectorTiling) -> Any:
    """Add up what the lanes of a warp have that part the depth.

    Of two lanes each gives half of its sums away and adds what it gets to the other half. So with
    each exchange the sums of a lane are half as many, and each of twice as many steps: of n sums
    lane y of `deep` ends with `values` of them, from y * values on. A sum that is left alone is
    added by both, and lanes hold it in common.
    """
    apart = tiling.across if tiling.along == "columns" else 1
    bit = tiling.lanes_deep // 2
    masks = []
    while bit:
        masks.append(bit * apart)
        bit //= 2
    return _exchanges(QUAD * tiling.count, tuple(masks))


def _exchanges(sums: int, masks: tuple[int, ...]) -> Any:
    if not masks:

        @device
        def nothing(acc, lane):
            pass

        return nothing

    mask, half = masks[0], sums // 2
    rest = _exchanges(max(1, half), masks[1:])

    @device
    def give_one(at, acc, upper):
        given = acc[at] if upper else acc[at + half]
        kept = acc[at + half] if upper else acc[at]
        acc[at] = kept + cuda.shfl_xor_sync(ALL, given, mask)

    give_half = _laid_out(max(1, half), give_one)

    @device
    def halves(acc, lane):
        give_half((acc, lane & uint32(mask) != 0))
        rest(acc, lane)

    @device
    def alone(acc, lane):
        acc[0] += cuda.shfl_xor_sync(ALL, acc[0], mask)
        rest(acc, lane)

    return halves if half else alone


def _added_slices(tiling: VectorTiling, half: int) -> Any:
    """Add up what the slices of a block have: half of them hand over to the others, and so on."""
    if not half:

        @device
        def nothing(shared, acc, group, piece, lane):
            pass

        return nothing

    values, groups = tiling.values, tiling.groups
    rest = _added_slices(tiling, half // 2)

    @device
    def give_one(at, shared, acc, to):
        store1(shared, uint32(to + at * WARP), acc[at])  # 1 wavefront

    @device
    def take_one(at, shared, acc, to):
        acc[at] += load1(shared, uint32(to + at * WARP))

    give, take = _laid_out(values, give_one), _laid_out(values, take_one)

    @device
    def add(shared, acc, group, piece, lane):
        slot = uint32(uint32(piece % uint32(half)) * uint32(groups) + group)
        to = uint32(slot * uint32(values * WARP) + lane)
        if piece >= uint32(half) and piece < uint32(2 * half):
            give((shared, acc, to))
        cuda.syncthreads()  # the sums are there before they are added
        if piece < uint32(half):
            take((shared, acc, to))
        cuda.syncthreads()  # and read before others come
        rest(shared, acc, group, piece, lane)

    return add


def _parts(tiling: VectorTiling) -> tuple[Any, Any]:
    """Put a block's results into `sums`, and add up those of all parts, a few at a time."""
    values, groups, slices = tiling.values, tiling.groups, tiling.slices
    together = max(1, 16 // values)

    @device
    def place(block, group, lane):
        return uint32(uint32(block * uint32(groups) + group) * uint32(values * WARP) + lane)

    @device
    def give_one(at, sums, acc, block, group, lane):
        store1(sums, uint32(place(block, group, lane) + at * WARP), acc[at])

    @device
    def take_one(at, sums, acc, first, part, parts, group, lane):
        for other in range(together):
            this = uint32(part + other * slices)
            block = uint32(first + smaller(this, uint32(parts - uint32(1))))
            value = load1(sums, uint32(place(block, group, lane) + at * WARP))
            acc[at] += value if this < parts else float32(0)

    take_some = _laid_out(values, take_one)

    @device
    def take(sums, acc, tile, parts, group, piece, lane):
        first, part = uint32(tile * parts), piece
        for at in range(values):
            acc[at] = float32(0)
        while part < parts:
            take_some((sums, acc, first, part, parts, group, lane))
            part = uint32(part + together * slices)

    return _laid_out(values, give_one), take


def _stored(tiling: VectorTiling, out_turned: bool) -> Any:
    """Store alpha * acc + beta * out, what lies inside."""
    values, deep, sums = tiling.values, tiling.lanes_deep, QUAD * tiling.count
    sharers = max(1, deep // sums)  # lanes that hold the same sum
    apart = 1 if _quads_across(tiling) else tiling.across

    @device
    def store_one(at, out, acc, vector, vectors, col, length, y, scale, keep):
        which = uint32(y // uint32(sharers) * uint32(values) + at)
        i = uint32(vector + which // uint32(QUAD))
        j = uint32(col + which % uint32(QUAD) * uint32(apart))
        if y % uint32(sharers) == 0 and i < vectors and j < length:
            place = uint32(i * uint32(out.strides[0] // 4) + j)
            if out_turned:
                place = uint32(j * uint32(out.strides[0] // 4) + i)
            value = scale * acc[at]
            if keep != float32(0):
                # smemnb: allow[uncoalesced, interleaved] once per result: lanes lie as the loads of
                # the matrix want it, which take the time
                value += keep * load1(out, place)
            # smemnb: allow[uncoalesced] as the load above
            store1(out, place, value)

    return _laid_out(values, store_one)
