"""Transposes of narrow and flat matrices, and of batches of them, for rows that begin anywhere.

A tile of 64 columns stays almost empty where a matrix has 3. Here a block takes a strip instead: a
run of rows of a narrow matrix, whole, which is one span of memory where rows follow each other. It
goes into shared memory as it lies, 16 bytes per access; then each column of the strip is a run of a
row of the output, put together from elements `cols` apart and stored by 16 bytes, from the run's
first multiple of 16 bytes on. A flat matrix is the same backwards: runs of its rows are loaded by
16 bytes and scattered, and the strip leaves as one span.

Lanes move chunks: 8 neighbouring chunks of a run, then 8 of the next run. Chunks of a run lie
`cols` chunks apart in the strip, so their banks differ where `cols` is odd. Where it is even, one
chunk in 8 is left out, and one more in 64.

Where rows do not follow each other, that side goes element by element.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, load16, misalignment, store1, store16
from ...unrolled import device, jit, named, smaller
from .order import bytes_of
from .wide import CHUNK_BYTES

GROUPS = 128
"""Of 8 chunks that a strip holds: 16 KB."""
MOST = 64
"""Rows or columns of the narrowest matrix for which a strip's runs are shorter than 256 bytes."""
THREADS, RESIDENT = 256, 6
RESIDENT_FLAT = {1: 3, 2: 4, 4: 4, 8: 4, 16: 4}
"""Bytes of an element -> blocks of a flat matrix: a thread keeps 4 chunks and scatters them."""


def strip(extent: int, itemsize: int) -> int:
    """Rows of a narrow matrix of so many columns that a block takes; columns of a flat one.

    >>> strip(3, 4), strip(64, 1)
    (1344, 256)
    """
    return GROUPS // extent * 8 * (CHUNK_BYTES // itemsize)


class _Moves:
    """Device functions for elements of one size: `units` of their type make an element.

    Attributes:
        get: the element at a place, counted in elements.
        put: store it there.
        get_chunk: the 16 bytes from a place on.
        put_chunk: store them there.
        spread: where an element of the strip lies.
    """

    def __init__(self, itemsize: int, even: bool) -> None:
        self.per_chunk = CHUNK_BYTES // itemsize
        units = max(1, itemsize // 8)

        @device
        def get_chunk(array, at):
            return load16(array, uint32(at * uint32(units)))

        @device
        def put_chunk(array, at, chunk):
            store16(array, uint32(at * uint32(units)), chunk)

        @device
        def get_one(array, at):
            return load1(array, at)

        @device
        def put_one(array, at, value):
            store1(array, at, value)

        self.get_chunk, self.put_chunk = get_chunk, put_chunk
        self.get, self.put = (get_one, put_one) if units == 1 else (get_chunk, put_chunk)
        self.spread = _spread(self.per_chunk, even)


def _spread(per_chunk: int, even: bool) -> Any:
    """A device function: where an element of the strip lies, chunks left out where runs need it."""

    @device
    def straight(at):
        return uint32(at)

    @device
    def loosened(at):
        chunk = uint32(at // uint32(per_chunk))
        left_out = uint32(chunk // uint32(8) + chunk // uint32(64))
        return uint32(at + left_out * uint32(per_chunk))

    return loosened if even else straight


def _held(even: bool) -> int:
    """Chunks of shared memory: the strip, one more as it begins anywhere, those left out."""
    chunks = GROUPS * 8 + 1
    return chunks + (chunks // 8 + chunks // 64) * even


def _gathered(moves: _Moves, count: int) -> Any:
    """A device function: `count` elements of the strip that are `apart`, as a tuple."""
    get, spread, last = moves.get, moves.spread, count - 1
    before: Any = _gathered(moves, last) if last else None

    @device
    def one(tile, at, apart):
        return (get(tile, spread(at)),)

    @device
    def several(tile, at, apart):
        value = get(tile, spread(uint32(at + uint32(last) * apart)))
        return before(tile, at, apart) + (value,)  # noqa: RUF005

    @device
    def whole(tile, at, apart):
        return get(tile, spread(at))

    if moves.per_chunk == 1:
        return whole
    return several if last else one


def _scattered(moves: _Moves, count: int) -> Any:
    """A device function: the first `count` elements of a chunk into the strip, `apart`.

    Those of which the place in the run, from x on, is less than `held`.
    """
    put, spread, last = moves.put, moves.spread, count - 1
    before: Any = _scattered(moves, last) if last else None

    @device
    def several(tile, chunk, at, apart, x, held):
        if last:
            before(tile, chunk, at, apart, x, held)
        if uint32(x + uint32(last)) < held:
            put(tile, spread(uint32(at + uint32(last) * apart)), chunk[last])

    @device
    def one(tile, chunk, at, apart, x, held):
        if x < held:
            put(tile, spread(at), chunk[0])

    @device
    def whole(tile, chunk, at, apart, x, held):
        if x < held:
            put(tile, spread(at), chunk)

    if moves.per_chunk == 1:
        return whole
    return several if last else one


PASSES = GROUPS * 8 // THREADS


def _span_loaded(moves: _Moves) -> Any:
    """A device function: `chunks` of 16 bytes of the input from `first` on, as they lie.

    Those that do not lie whole in the input's `total` elements go element by element.
    """
    per_chunk, get, put = moves.per_chunk, moves.get, moves.put
    get_chunk, put_chunk, spread = moves.get_chunk, moves.put_chunk, moves.spread

    @device
    def one(inp, tile, first, number, total):
        at = uint32(first + number * uint32(per_chunk))
        to = uint32(number * uint32(per_chunk))
        if at < total and uint32(at + uint32(per_chunk)) <= total:
            put_chunk(tile, spread(to), get_chunk(inp, at))
        else:
            for part in range(per_chunk):
                if uint32(at + uint32(part)) < total:  # before the first one: beyond the last
                    one_value = get(inp, uint32(at + uint32(part)))
                    put(tile, spread(uint32(to + uint32(part))), one_value)

    @device
    def load(inp, tile, first, chunks, total):
        tid = uint32(cuda.threadIdx.x)
        behind = uint32(first + uint32((GROUPS * 8 + 1) * per_chunk))
        if first < total and first < behind and behind <= total:
            for turn in range(PASSES):
                number = uint32(tid + uint32(turn * THREADS))
                at = uint32(first + number * uint32(per_chunk))
                chunk = get_chunk(inp, at)
                put_chunk(tile, spread(uint32(number * uint32(per_chunk))), chunk)
            if tid == 0 and chunks > GROUPS * 8:
                one(inp, tile, first, uint32(GROUPS * 8), total)
        else:
            for number in range(tid, chunks, uint32(THREADS)):
                one(inp, tile, first, uint32(number), total)

    return load


@device
def _place(number, extent):
    """(run, chunk of it) of a lane's chunk: 8 chunks of a run, then 8 of the next one."""
    group = uint32(number // uint32(8))
    run = uint32(group % extent)
    return run, uint32(group // extent * uint32(8) + number % uint32(8))


@cache
def transpose_narrow_of(
    dtype: Any, even: bool, *, pairs: bool = False, batched: bool = False
) -> Any:
    """`transpose_narrow` for elements of this Numba type, of 1, 2, 4 or 8 bytes, any beginnings.

    Args:
        dtype: of an element, or of the half of one.
        even: whether the matrix has an even number of columns.
        pairs: whether an element is two of `dtype`, uint64: 16 bytes.
        batched: arrays have three dimensions, the first one that of the batch.
    """
    itemsize = bytes_of(dtype) * (1 + pairs)
    moves, units = _Moves(itemsize, even), 1 + pairs
    per_chunk, get, put = moves.per_chunk, moves.get, moves.put
    spread, put_chunk = moves.spread, moves.put_chunk
    size = _held(even) * per_chunk * units
    load, gathered = _span_loaded(moves), _gathered(moves, per_chunk)

    @device
    def move(out, inp, tile, number):
        tid = uint32(cuda.threadIdx.x)
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1] // units)
        pitch_in = uint32(inp.strides[0] // itemsize)
        pitch = uint32(out.strides[0] // itemsize)
        most = uint32(uint32(GROUPS) // cols * uint32(8 * per_chunk))
        row0 = uint32(number * most)
        held = smaller(most, uint32(rows - row0))

        # 1. the strip as it lies                  global: 16 sectors    shared: 4 wavefronts
        lead = uint32(0)  # elements of the first chunk that lie before the strip
        if pitch_in == cols:
            begin = uint32(row0 * cols)
            lead = uint32(uint32(misalignment(inp) + begin) % uint32(per_chunk))
            chunks = uint32((lead + held * cols + uint32(per_chunk - 1)) // uint32(per_chunk))
            load(inp, tile, uint32(begin - lead), chunks, uint32(rows * cols))
        else:
            for at in range(tid, uint32(held * cols), uint32(THREADS)):
                y, x = uint32(at // cols), uint32(at % cols)
                there = uint32(uint32(row0 + y) * pitch_in + x)
                put(tile, spread(uint32(at)), get(inp, there))
        cuda.syncthreads()  # the strip is full before anyone reads it

        # 2. whole chunks of each run              global: 16 sectors
        beyond = misalignment(out)
        for turn in range(PASSES):
            col, chunk = _place(uint32(tid + uint32(turn * THREADS)), cols)
            to = uint32(col * pitch + row0)
            ahead = uint32(uint32(uint32(0) - uint32(beyond + to)) % uint32(per_chunk))
            y = uint32(ahead + chunk * uint32(per_chunk))
            if uint32(y + uint32(per_chunk)) <= held:
                values = gathered(tile, uint32(lead + y * cols + col), cols)
                put_chunk(out, uint32(to + y), values)

        # 3. what is left of it at both ends, at most a chunk less one element
        for end in range(tid, uint32(2 * cols), uint32(THREADS)):
            col = uint32(end // uint32(2))
            to = uint32(col * pitch + row0)
            ahead = uint32(uint32(uint32(0) - uint32(beyond + to)) % uint32(per_chunk))
            ahead = smaller(ahead, held)
            first, behind = uint32(0), ahead
            if end % uint32(2) == 1:
                first = uint32(held - uint32(held - ahead) % uint32(per_chunk))
                behind = held
            for y in range(first, behind):
                at = uint32(lead + uint32(y) * cols + col)
                put(out, uint32(to + uint32(y)), get(tile, spread(at)))

    @jit(launch_bounds=(THREADS, RESIDENT))
    def transpose_narrow(out, inp):
        tile = cuda.shared.array(size, dtype, alignment=16)
        number = uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)
        move(out, inp, tile, number)

    @jit(launch_bounds=(THREADS, RESIDENT))
    def transpose_narrow_batched(out, inp):
        tile = cuda.shared.array(size, dtype, alignment=16)
        most = uint32(uint32(GROUPS) // uint32(inp.shape[2] // units) * uint32(8 * per_chunk))
        strips = uint32((uint32(inp.shape[1]) + most - uint32(1)) // most)
        number = uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)
        matrix = uint32(number // strips)
        if matrix < inp.shape[0]:
            move(out[matrix], inp[matrix], tile, uint32(number % strips))

    return named(transpose_narrow_batched if batched else transpose_narrow, "transpose_narrow")


@cache
def transpose_flat_of(dtype: Any, even: bool, *, pairs: bool = False, batched: bool = False) -> Any:
    """`transpose_flat` for elements of this Numba type; arguments as for `transpose_narrow_of`.

    `even` is that of the number of rows.
    """
    itemsize = bytes_of(dtype) * (1 + pairs)
    moves, units = _Moves(itemsize, even), 1 + pairs
    per_chunk, get, put = moves.per_chunk, moves.get, moves.put
    spread, get_chunk, put_chunk = moves.spread, moves.get_chunk, moves.put_chunk
    size = _held(even) * per_chunk * units
    scattered = _scattered(moves, per_chunk)

    @device
    def first_of(inp, row, chunk, col0):
        """(where a chunk of a row begins in memory, its place in the run)."""
        pitch = uint32(inp.strides[0] // itemsize)
        start = uint32(row * pitch + col0)
        early = uint32(uint32(misalignment(inp) + start) % uint32(per_chunk))
        x = uint32(chunk * uint32(per_chunk) - early)  # before the run: beyond its end
        return uint32(start + x), x

    def read_of(count: int) -> Any:
        """A device function: this lane's chunks of the first `count` passes, as a tuple."""
        before: Any = read_of(count - 1) if count > 1 else None
        last = count - 1

        @device
        def chunk_of(inp, tid, rows, col0):
            row, chunk = _place(uint32(tid + uint32(last * THREADS)), rows)
            at, _ = first_of(inp, row, chunk, col0)
            return get_chunk(inp, at)

        @device
        def one(inp, tid, rows, col0):
            return (chunk_of(inp, tid, rows, col0),)

        @device
        def several(inp, tid, rows, col0):
            return before(inp, tid, rows, col0) + (chunk_of(inp, tid, rows, col0),)  # noqa: RUF005

        return several if count > 1 else one

    def spread_of(count: int) -> Any:
        """A device function: those chunks into the strip."""
        before: Any = spread_of(count - 1) if count > 1 else None
        last = count - 1

        @device
        def keep(tile, chunks, inp, tid, rows, col0, held, lead, per_row):
            if last:
                before(tile, chunks, inp, tid, rows, col0, held, lead, per_row)
            row, chunk = _place(uint32(tid + uint32(last * THREADS)), rows)
            _, x = first_of(inp, row, chunk, col0)
            if chunk < per_row:
                scattered(tile, chunks[last], uint32(lead + x * rows + row), rows, x, held)

        @device
        def keep_one(tile, chunks, inp, tid, rows, col0, held, lead, per_row):
            row, chunk = _place(tid, rows)
            _, x = first_of(inp, row, chunk, col0)
            if chunk < per_row:
                scattered(tile, chunks[0], uint32(lead + x * rows + row), rows, x, held)

        return keep if last else keep_one

    read_all, keep_all = read_of(PASSES), spread_of(PASSES)

    @device
    def take(inp, tile, row, chunk, col0, held, lead):
        """A chunk of a row, counted from its first multiple of 16 bytes, into the strip."""
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1] // units)
        pitch = uint32(inp.strides[0] // itemsize)
        at, x = first_of(inp, row, chunk, col0)
        ahead = uint32(chunk * uint32(per_chunk))  # of the run and the elements before it
        if ahead < uint32(held + uint32(ahead - x)):
            lowest, behind = uint32(row * pitch), uint32(row * pitch + cols)
            if pitch == cols:
                lowest, behind = uint32(0), uint32(rows * cols)
            to = uint32(lead + x * rows + row)
            if at >= lowest and at < behind and uint32(at + uint32(per_chunk)) <= behind:
                scattered(tile, get_chunk(inp, at), to, rows, x, held)
            else:
                for part in range(per_chunk):
                    if uint32(x + uint32(part)) < held:
                        value = get(inp, uint32(at + uint32(part)))
                        put(tile, spread(uint32(to + uint32(part) * rows)), value)

    @device
    def move(out, inp, tile, number):
        tid = uint32(cuda.threadIdx.x)
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1] // units)
        pitch = uint32(out.strides[0] // itemsize)
        per_row = uint32(uint32(GROUPS) // rows * uint32(8))
        most = uint32(per_row * uint32(per_chunk))
        col0 = uint32(number * most)
        held = smaller(most, uint32(cols - col0))
        begin, lead = uint32(col0 * rows), uint32(0)
        if pitch == rows:
            lead = uint32(uint32(misalignment(out) + begin) % uint32(per_chunk))

        # 1. runs of rows, scattered               global: 16 sectors
        pitch_in = uint32(inp.strides[0] // itemsize)
        behind = uint32(uint32(rows - uint32(1)) * pitch_in + col0 + most + uint32(8 * per_chunk))
        if pitch_in == cols and col0 >= per_chunk and behind <= uint32(rows * cols):
            chunks = read_all(inp, tid, rows, col0)
            keep_all(tile, chunks, inp, tid, rows, col0, held, lead, per_row)
        else:
            for number in range(tid, uint32(per_row * rows), uint32(THREADS)):
                row, chunk = _place(uint32(number), rows)
                take(inp, tile, row, chunk, col0, held, lead)
        for row in range(tid, rows, uint32(THREADS)):  # runs may begin within a chunk
            take(inp, tile, uint32(row), per_row, col0, held, lead)
        cuda.syncthreads()  # the strip is full before anyone reads it

        # 2. the strip as it lies                  shared: 4 wavefronts  global: 16 sectors
        total = uint32(held * rows)
        if pitch == rows:
            for turn in range(PASSES + 1):
                first = uint32(uint32(tid + uint32(turn * THREADS)) * uint32(per_chunk))
                to = uint32(begin - lead + first)
                if first >= lead and uint32(first + uint32(per_chunk)) <= uint32(lead + total):
                    put_chunk(out, to, get_chunk(tile, spread(first)))
                elif first < uint32(lead + total):
                    for part in range(per_chunk):
                        at = uint32(first + uint32(part))
                        if at >= lead and at < uint32(lead + total):
                            put(out, uint32(to + uint32(part)), get(tile, spread(at)))
        else:
            for at in range(tid, total, uint32(THREADS)):
                x, row = uint32(at // rows), uint32(at % rows)
                there = uint32(uint32(col0 + x) * pitch + row)
                put(out, there, get(tile, spread(uint32(at))))

    @jit(launch_bounds=(THREADS, RESIDENT_FLAT[itemsize]))
    def transpose_flat(out, inp):
        tile = cuda.shared.array(size, dtype, alignment=16)
        number = uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)
        move(out, inp, tile, number)

    @jit(launch_bounds=(THREADS, RESIDENT_FLAT[itemsize]))
    def transpose_flat_batched(out, inp):
        tile = cuda.shared.array(size, dtype, alignment=16)
        most = uint32(uint32(GROUPS) // uint32(inp.shape[1]) * uint32(8 * per_chunk))
        strips = uint32((uint32(inp.shape[2] // units) + most - uint32(1)) // most)
        number = uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)
        matrix = uint32(number // strips)
        if matrix < inp.shape[0]:
            move(out[matrix], inp[matrix], tile, uint32(number % strips))

    return named(transpose_flat_batched if batched else transpose_flat, "transpose_flat")
