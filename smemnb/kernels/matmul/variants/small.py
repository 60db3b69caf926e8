"""Products of few tiles: the warps of a block part the depth, and nothing waits twice for memory.

`matmul_small_of(tiling, ...)` makes the kernel `(out, a, b, alpha, beta, sums, flags)` of
out = alpha * a @ b + beta * out in float32; `out` is not read where beta is 0. What it does:

1. Send the first `stages - 1` chunks of both operands on their way to shared memory, by copies that
   nobody waits for. A chunk is `tiling.depth` steps of the depth. What lies beyond an edge is 0.
2. Chunk by chunk: wait for it, send the next one, multiply. Each slice, a group of threads that
   make the whole tile, takes its own steps of the chunk, 4 at a time.
3. Add up the slices through shared memory, in their order. Neighbouring threads then have
   neighbouring columns.
4. With several parts of the depth (grid y): put that into `sums`; the block that comes last to a
   tile adds up all parts, in their order. So the result is the same in every run.

Operands stay in shared memory as they lie in memory, along the depth or across it, and either way
a thread reads 4 elements at once.

**Limits**: flat offsets are 32 bits without a sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from numba import cuda, float32, uint32

from ...ptx import load1, load16, store1, store16
from ...ptx.asynchronous import (
    await_previous,
    close_group,
    copy4,
    copy16,
    groups_awaited,
)
from ...unrolled import device, jit, named, smaller, unroll

QUAD, WARP = 4, 32


@dataclass(frozen=True)
class SmallTiling:
    """The choices of a small product; all are powers of two.

    Attributes:
        rows: of the result per block.
        cols: of the result per block.
        depth: steps of the depth in a chunk.
        tall: rows of a thread.
        wide: columns of a thread.
        slices: groups of threads that part the depth of a chunk.
        stages: chunks in shared memory at once. With 1 a chunk is awaited as soon as it is sent,
            which suits a depth of one chunk.
        resident: blocks that a multiprocessor must hold at once.
    """

    rows: int
    cols: int
    depth: int
    tall: int = 4
    wide: int = 4
    slices: int = 1
    stages: int = 3
    resident: int = 1

    @property
    def workers(self) -> int:
        """Threads of a slice."""
        return self.rows // self.tall * (self.cols // self.wide)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.workers * self.slices

    @property
    def pitch(self) -> int:
        """Elements from line to line of a chunk whose lines lie along the depth."""
        return self.depth + QUAD

    def elems(self, extent: int, along_depth: bool) -> int:
        """Elements of a chunk of one operand in shared memory."""
        return extent * self.pitch if along_depth else self.depth * extent

    def shared_elems(self, a_deep: bool, b_deep: bool) -> int:
        """Elements of shared memory: of all stages, and later of the sums of slices."""
        chunk = self.elems(self.rows, a_deep) + self.elems(self.cols, b_deep)
        return max(self.stages * chunk, self.slices * self.rows * self.cols)


@cache
def matmul_small_of(
    tiling: SmallTiling,
    a_columns: bool = False,
    b_columns: bool = False,
    wide_a: bool = False,
    wide_b: bool = False,
    parted: bool = False,
    name: str = "matmul_small",
) -> Any:
    """The kernel, with the grid (tiles, parts).

    Args:
        tiling: the choices.
        a_columns: a lies by columns; the array passed is a.T, which lies by rows.
        b_columns: the same of b.
        wide_a: rows of the array passed begin at multiples of 16 bytes, and hold whole quads.
        wide_b: the same of b.
        parted: the depth may be cut over blocks; otherwise `sums` and `flags` are left out.
        name: of the kernel.
    """
    a_deep, b_deep = not a_columns, b_columns
    a_elems, b_elems = tiling.elems(tiling.rows, a_deep), tiling.elems(tiling.cols, b_deep)
    stages, chunk, threads = tiling.stages, tiling.depth, tiling.threads
    stage_elems, size = a_elems + b_elems, tiling.shared_elems(a_deep, b_deep)
    tall, wide = tiling.tall, tiling.wide
    send_a = _sent(tiling, tiling.rows, a_deep, wide_a)
    send_b = _sent(tiling, tiling.cols, b_deep, wide_b)
    multiply, finish = _multiplied(tiling, a_deep, b_deep), _finished(tiling, a_deep, b_deep)
    arrived, add_parts, a_axis = (
        groups_awaited(max(0, stages - 2)),
        _added_parts(tiling),
        0 if a_columns else 1,
    )
    tile_rows, tile_cols = tiling.rows, tiling.cols
    alone = stages == 1
    each, elems = max(1, tall * wide // tiling.slices), tile_rows * tile_cols

    @device
    def product(out, a, b, mine, shared):
        acc = cuda.local.array((tall, wide), float32)
        across = uint32(uint32(out.shape[1] + (tile_cols - 1)) // uint32(tile_cols))
        tile = uint32(cuda.blockIdx.x)
        row0 = uint32(tile // across * uint32(tile_rows))
        col0 = uint32(tile % across * uint32(tile_cols))
        depth = uint32(a.shape[a_axis])
        chunks = uint32(uint32(depth + uint32(chunk - 1)) // uint32(chunk))
        parts, part = uint32(cuda.gridDim.y), uint32(cuda.blockIdx.y)
        per, more = uint32(chunks // parts), uint32(chunks % parts)
        first = uint32(part * per + smaller(part, more))
        count = uint32(per + uint32(1)) if part < more else per
        begin = uint32(first * uint32(chunk))
        end = smaller(uint32(begin + count * uint32(chunk)), depth)
        rows, cols = uint32(out.shape[0] - row0), uint32(out.shape[1] - col0)
        await_previous()

        # 1.
        k = begin
        for stage in range(stages - 1):
            if k < end:
                send_a(a, shared, uint32(stage * stage_elems), row0, rows, k, end)
                send_b(b, shared, uint32(stage * stage_elems + a_elems), col0, cols, k, end)
            close_group()
            k = uint32(k + uint32(chunk))
        for i in range(tall):
            for j in range(wide):
                acc[i, j] = float32(0)

        # 2.
        now, free, left = uint32(0), uint32((stages - 1) * stage_elems), uint32(end - begin)
        for _ in range(count):
            if not alone:
                arrived()
            cuda.syncthreads()  # everyone's copies are there; everyone has read what is overwritten
            if k < end:
                send_a(a, shared, free, row0, rows, k, end)
                send_b(b, shared, uint32(free + uint32(a_elems)), col0, cols, k, end)
            close_group()
            k = uint32(k + uint32(chunk))
            if alone:
                arrived()
                cuda.syncthreads()  # everyone's copies are there
            multiply((shared, acc, now, left))
            left = uint32(left - uint32(chunk))
            if not alone:
                free = now
                now = uint32(now + uint32(stage_elems))
                if now == uint32(stages * stage_elems):
                    now = uint32(0)

        # 3.
        cuda.syncthreads()  # everyone has read before sums come
        finish(shared, acc, mine)
        return row0, col0, rows, cols

    @device
    def store(out, mine, row0, col0, rows, cols, scale, keep):
        tid = uint32(cuda.threadIdx.x)
        for at in range(each):
            place = uint32(tid + uint32(at * threads))
            i, j = uint32(place // uint32(tile_cols)), uint32(place % uint32(tile_cols))
            if place < uint32(elems) and i < rows and j < cols:
                to = uint32(uint32(row0 + i) * uint32(out.strides[0] // 4) + col0 + j)
                value = scale * mine[at]
                if keep != float32(0):
                    value += keep * load1(out, to)
                store1(out, to, value)

    if parted:

        @jit(launch_bounds=(threads, tiling.resident))
        def small_product_in_parts(out, a, b, alpha, beta, sums, flags):
            shared = cuda.shared.array(size, float32, alignment=16)
            final = cuda.shared.array(1, uint32)
            mine = cuda.local.array(each, float32)
            row0, col0, rows, cols = product(out, a, b, mine, shared)
            if add_parts(sums, flags, mine, final):
                store(out, mine, row0, col0, rows, cols, float32(alpha), float32(beta))

        return named(small_product_in_parts, name)

    @jit(launch_bounds=(threads, tiling.resident))
    def small_product(out, a, b, alpha, beta):
        shared = cuda.shared.array(size, float32, alignment=16)
        mine = cuda.local.array(each, float32)
        row0, col0, rows, cols = product(out, a, b, mine, shared)
        store(out, mine, row0, col0, rows, cols, float32(alpha), float32(beta))

    return named(small_product, name)


def _sent(tiling: SmallTiling, extent: int, along_depth: bool, wide: bool) -> Any:
    """Send a chunk of an operand: lines along the depth, or across it."""
    threads, moved = tiling.threads, QUAD if wide else 1
    length = tiling.depth if along_depth else extent
    pitch = tiling.pitch if along_depth else extent
    per_line = length // moved
    count = extent * tiling.depth // moved
    turns = -(-count // threads)
    copy = copy16 if wide else copy4

    @device
    def place_of(at):
        tid = uint32(cuda.threadIdx.x)
        if per_line <= threads:
            line = uint32(tid // uint32(per_line) + uint32(at * (threads // per_line)))
            return line, uint32(tid % uint32(per_line) * uint32(moved))
        line = uint32(at // (per_line // threads))
        return line, uint32(
            uint32(tid + uint32(at % (per_line // threads) * threads)) * uint32(moved)
        )

    @device
    def sure(at, array, shared, to, first, left, k, steps, pitch_of):
        line, place = place_of(at)
        if along_depth:
            at_array = uint32(uint32(first + line) * pitch_of + k + place)
        else:
            at_array = uint32(uint32(k + line) * pitch_of + first + place)
        if count % threads == 0 or cuda.threadIdx.x + at * threads < count:
            copy(shared, uint32(to + line * uint32(pitch) + place), array, at_array, True)

    @device
    def guarded(at, array, shared, to, first, left, k, steps, pitch_of):
        line, place = place_of(at)
        if along_depth:
            step, there = place, line < left and place < steps
            at_array = uint32(uint32(first + line) * pitch_of + k + place)
        else:
            step, there = line, place < left and line < steps
            at_array = uint32(uint32(k + line) * pitch_of + first + place)
        # what is read goes by 4 steps: of the last ones, those behind the end are 0
        needed = step < uint32(uint32(steps + uint32(QUAD - 1)) // uint32(QUAD) * uint32(QUAD))
        if needed and (count % threads == 0 or cuda.threadIdx.x + at * threads < count):
            to_tile = uint32(to + line * uint32(pitch) + place)
            copy(shared, to_tile, array, at_array if there else uint32(0), there)

    all_sure, all_guarded = unroll(turns, sure), unroll(turns, guarded)
    depth = tiling.depth

    @device
    def send(array, shared, to, first, left, k, end):
        steps, pitch_of = uint32(end - k), uint32(array.strides[0] // 4)
        if left >= uint32(extent) and steps >= uint32(depth):
            all_sure((array, shared, to, first, left, k, steps, pitch_of))
        else:
            all_guarded((array, shared, to, first, left, k, steps, pitch_of))

    return send


def _worker(tiling: SmallTiling) -> Any:
    """(place down, place across, slice) of a thread.

    The lowest bit of a lane is one of its place down, the next one of its place across. So for
    either operand every other lane, or every other pair, reads what its neighbour reads, and a read
    of 16 bytes takes 2 wavefronts.
    """
    across, workers = tiling.cols // tiling.wide, tiling.workers
    if across > 1 and workers > across:

        @device
        def in_pairs():
            tid = uint32(cuda.threadIdx.x)
            of_slice = uint32(tid % uint32(workers))
            rest = uint32(of_slice // uint32(4))
            down = uint32(rest // uint32(across // 2) * uint32(2) + of_slice % uint32(2))
            col = uint32(rest % uint32(across // 2) * uint32(2) + of_slice // uint32(2) % uint32(2))
            return down, col, uint32(tid // uint32(workers))

        return in_pairs

    @device
    def worker():
        tid = uint32(cuda.threadIdx.x)
        of_slice = uint32(tid % uint32(workers))
        down = uint32(of_slice // uint32(across))
        return down, uint32(of_slice % uint32(across)), uint32(tid // uint32(workers))

    return worker


def _multiplied(tiling: SmallTiling, a_deep: bool, b_deep: bool) -> Any:
    """Add the products of this slice's steps of a chunk."""
    tall, wide, slices = tiling.tall, tiling.wide, tiling.slices
    a_elems, worker = tiling.elems(tiling.rows, a_deep), _worker(tiling)
    turns = tiling.depth // (QUAD * slices)
    read_a = _read(tiling, tiling.rows, tall, a_deep)
    read_b = _read(tiling, tiling.cols, wide, b_deep)

    @device
    def four_steps(at, shared, acc, a_part, b_part, a_from, b_from, left):
        read_a(shared, a_part, a_from, at * slices * QUAD)
        read_b(shared, b_part, b_from, at * slices * QUAD)
        for u in range(QUAD):
            for i in range(tall):
                for j in range(wide):
                    acc[i, j] += a_part[i, u] * b_part[j, u]

    @device
    def some_steps(at, shared, acc, a_part, b_part, a_from, b_from, left):
        if uint32(at * slices * QUAD) < left:  # behind the end there is nothing
            four_steps(at, shared, acc, a_part, b_part, a_from, b_from, left)

    chunk, rest = tiling.depth, unroll(turns, some_steps)
    steps = unroll(turns, four_steps)
    a_line = tiling.pitch if a_deep else QUAD if tall % QUAD == 0 else 1
    b_line = tiling.pitch if b_deep else QUAD if wide % QUAD == 0 else 1
    a_step, b_step = 1 if a_deep else tiling.rows, 1 if b_deep else tiling.cols

    @device
    def multiply(args):
        shared, acc, now, left = args
        a_part = cuda.local.array((tall, QUAD), float32)
        b_part = cuda.local.array((wide, QUAD), float32)
        down, across, piece = worker()
        k = uint32(piece * uint32(QUAD))
        a_from = uint32(now + down * uint32(a_line) + k * uint32(a_step))
        b_from = uint32(now + uint32(a_elems) + across * uint32(b_line) + k * uint32(b_step))
        if left >= uint32(chunk):
            steps((shared, acc, a_part, b_part, a_from, b_from, left))
        else:
            left = uint32(left - k) if left > k else uint32(0)
            rest((shared, acc, a_part, b_part, a_from, b_from, left))

    return multiply


def _read(tiling: SmallTiling, extent: int, own: int, along_depth: bool) -> Any:
    """4 steps of a thread's `own` lines, from step `k` of its first on."""
    apart, pitch = extent // own, tiling.pitch

    @device
    def deep(shared, part, first, k):
        for i in range(own):
            quad = load16(shared, first + (i * apart * pitch + k))
            for u in range(QUAD):
                part[i, u] = quad[u]

    @device
    def across(shared, part, first, k):
        for u in range(QUAD):
            for more in range(own // QUAD):
                quad = load16(shared, first + ((k + u) * extent + more * QUAD * apart))
                for i in range(QUAD):
                    part[more * QUAD + i, u] = quad[i]

    @device
    def across_one_by_one(shared, part, first, k):
        for u in range(QUAD):
            for i in range(own):
                part[i, u] = load1(shared, first + ((k + u) * extent + i * apart))

    if along_depth:
        return deep
    return across if own % QUAD == 0 else across_one_by_one


def _finished(tiling: SmallTiling, a_deep: bool, b_deep: bool) -> Any:
    """Add the slices: thread t gets elements t, t + threads, ... of the tile, row by row."""
    tall, wide, slices, threads = tiling.tall, tiling.wide, tiling.slices, tiling.threads
    cols, size, worker = tiling.cols, tiling.rows * tiling.cols, _worker(tiling)
    down_apart = tiling.rows // tall
    rows_near = not a_deep and tall % QUAD == 0
    cols_near = not b_deep and wide % QUAD == 0
    across_apart, each = tiling.cols // wide, max(1, size // threads)

    @device
    def finish(shared, acc, mine):
        down, across, piece = worker()
        row = uint32(down * uint32(QUAD)) if rows_near else down
        col = uint32(across * uint32(QUAD)) if cols_near else across
        to = uint32(piece * uint32(size) + row * uint32(cols) + col)
        for i in range(tall):
            line = i // QUAD * QUAD * down_apart + i % QUAD if rows_near else i * down_apart
            if cols_near:
                for more in range(wide // QUAD):
                    j = more * QUAD
                    quad = acc[i, j], acc[i, j + 1], acc[i, j + 2], acc[i, j + 3]
                    store16(shared, uint32(to + (line * cols + j * across_apart)), quad)
            else:
                for j in range(wide):
                    store1(shared, uint32(to + (line * cols + j * across_apart)), acc[i, j])
        cuda.syncthreads()  # the sums of all slices are there
        tid = uint32(cuda.threadIdx.x)
        if size >= threads or tid < uint32(size):
            for at in range(each):
                mine[at] = float32(0)
                for other in range(slices):
                    mine[at] += load1(shared, uint32(tid + (at * threads + other * size)))

    return finish


def _added_parts(tiling: SmallTiling) -> Any:
    """Whether this thread has the sums of all parts: those of the block that came last have."""
    threads, size = tiling.threads, tiling.rows * tiling.cols
    each = max(1, size // threads)

    @device
    def add_parts(sums, flags, mine, final):
        parts, part = uint32(cuda.gridDim.y), uint32(cuda.blockIdx.y)
        tid, tile = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
        if parts == uint32(1):
            return True
        slot = uint32(tile * parts * uint32(size) + tid)
        if tid < uint32(size):
            for at in range(each):
                store1(sums, uint32(slot + part * uint32(size) + uint32(at * threads)), mine[at])
        cuda.threadfence()  # every thread's sums are in memory ...
        cuda.syncthreads()  # ... before one says so
        if tid == uint32(0):
            final[0] = uint32(cuda.atomic.inc(flags, tile, uint32(parts - uint32(1))))
        cuda.syncthreads()  # everyone knows who came before
        if final[0] != uint32(parts - uint32(1)):
            return False
        cuda.threadfence()
        for at in range(each):
            mine[at] = float32(0)
        if tid < uint32(size):
            for other in range(parts):
                for at in range(each):
                    mine[at] += load1(
                        sums, uint32(slot + uint32(other) * uint32(size) + uint32(at * threads))
                    )
        return True

    return add_parts
