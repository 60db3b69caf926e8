"""Transposes of narrow and flat matrices, and of batches of them, for rows that begin anywhere.

A tile of 64 columns stays almost empty where a matrix has 3. Here a block takes a strip instead: a
run of rows of a narrow matrix, whole, which is one span of memory where rows follow each other. It
goes into shared memory as it lies, 16 bytes per access; then each column of the strip is a run of a
row of the output, put together from elements `cols` apart and stored by 16 bytes. Runs are cut at
multiples of 16 bytes of the output's memory, so a strip holds up to a chunk of rows more than it
moves, and only a row's two ends go element by element. A flat matrix is the same backwards: runs of
its rows are loaded by 16 bytes and scattered, and the strip leaves as one span.

Lanes move chunks: 8 neighbouring chunks of a run, then 8 of the next run. Chunks of a run lie
`cols` chunks apart in the strip, so their banks differ where `cols` is odd. Where it is even, one
chunk is left out behind each `cols` of them.

Where rows do not follow each other, that side goes element by element.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, load16, misalignment, store1, store16
from ...unrolled import device, jit, named, smaller
from .order import bytes_of
from .wide import CHUNK_BYTES

FINE = 20
"""Bits behind the point of 1 / extent: enough for exact quotients of the chunks of a strip."""


@dataclass(frozen=True)
class Cut:
    """How much a block takes.

    Attributes:
        groups: of 8 chunks of 16 bytes that a strip holds.
        threads: of a block, in whole passes over them.
        least: columns of the narrowest matrix, 1 or 2 of any.
        most: columns of the widest one, not more than threads or groups.
        resident: blocks that a multiprocessor must hold at once.
    """

    groups: int
    threads: int
    least: int
    most: int
    resident: int

    @property
    def passes(self) -> int:
        """Chunks that a thread moves."""
        return self.groups * 8 // self.threads

    def strip(self, extent: int, itemsize: int) -> int:
        """Rows of a narrow matrix of so many columns that a block moves; columns of a flat one.

        >>> LARGE.strip(3, 4), LARGE.strip(64, 1)
        (1344, 256)
        """
        return self.groups // extent * 8 * (CHUNK_BYTES // itemsize)

    def filled(self, extent: int) -> float:
        """The share of a strip that a matrix of so many columns, or rows, fills."""
        return self.groups // extent * extent / self.groups


LARGE = Cut(128, 256, 2, 64, 6)
"""16 KB: 64 columns are runs of 256 bytes."""
WIDE = Cut(256, 512, 33, 128, 3)
"""32 KB: 128 columns are."""
MIDDLE = Cut(64, 128, 2, 64, 10)
"""8 KB."""
SMALL = Cut(32, 128, 2, 32, 12)
"""4 KB, so that a small matrix reaches all multiprocessors."""


class _Moves:
    """Device functions for elements of one size: `units` of their type make an element.

    Attributes:
        get: the element at a place, counted in elements.
        put: store it there.
        get_chunk: the 16 bytes from a place on.
        put_chunk: store them there.
        spread: where an element of the strip lies.
        place: where a column's element k lies, from where its first one lies.
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
        self.first = _first_of(self.per_chunk, even)
        self.place = _place_of(self.per_chunk, even)


@device
def _fraction(extent):
    """1 / extent, a little above it, with `FINE` bits."""
    return uint32(uint32(1 << FINE) // extent + uint32(1))


@device
def _quotient(number, fraction):
    """The number over the extent of a fraction."""
    return uint32(uint32(number * fraction) >> uint32(FINE))


def _spread(per_chunk: int, even: bool) -> Any:
    """A device function: where an element of the strip lies, chunks left out where runs need it."""

    @device
    def straight(at, fraction):
        return uint32(at)

    @device
    def loosened(at, fraction):
        left_out = _quotient(uint32(at // uint32(per_chunk)), fraction)
        return uint32(at + left_out * uint32(per_chunk))

    return loosened if even else straight


def _first_of(per_chunk: int, even: bool) -> Any:
    """A device function: where an element lies, and from which distance on a chunk is left out.

    It may lie before the strip, by less than `extent` chunks.
    """

    @device
    def straight(at, extent, fraction):
        return uint32(at), uint32(0)

    @device
    def loosened(at, extent, fraction):
        period = uint32(extent * uint32(per_chunk))
        later = uint32(at + period)
        periods = _quotient(uint32(later // uint32(per_chunk)), fraction)
        first = uint32(at + uint32(periods - uint32(1)) * uint32(per_chunk))
        return first, uint32(uint32(periods + uint32(1)) * period - later)

    return loosened if even else straight


def _place_of(per_chunk: int, even: bool) -> Any:
    """A device function: where the element at a distance, of at most a chunk's column, lies."""

    @device
    def straight(first, distance, until):
        return uint32(first + distance)

    @device
    def loosened(first, distance, until):
        more = uint32(per_chunk) if distance >= until else uint32(0)
        return uint32(uint32(first + distance) + more)

    return loosened if even else straight


def _held(cut: Cut, even: bool) -> int:
    """Chunks of shared memory: the strip and the rows beyond, one more as it begins anywhere."""
    chunks = cut.groups * 8 + cut.most + 1
    return chunks + (chunks // cut.least + 1) * even


def _gathered(moves: _Moves, count: int) -> Any:
    """A device function: `count` elements of the strip that are `apart`, as a tuple."""
    get, place, last = moves.get, moves.place, count - 1
    before: Any = _gathered(moves, last) if last else None

    @device
    def one(tile, first, apart, until):
        return (get(tile, first),)

    @device
    def several(tile, first, apart, until):
        value = get(tile, place(first, uint32(uint32(last) * apart), until))
        return before(tile, first, apart, until) + (value,)  # noqa: RUF005

    @device
    def whole(tile, first, apart, until):
        return get(tile, first)

    if moves.per_chunk == 1:
        return whole
    return several if last else one


def _scattered(moves: _Moves, count: int) -> Any:
    """A device function: the first `count` elements of a chunk into the strip, `apart`.

    Those of which the place in the run, from x on, is less than `held`.
    """
    put, place, last = moves.put, moves.place, count - 1
    before: Any = _scattered(moves, last) if last else None

    @device
    def several(tile, chunk, first, apart, until, x, held):
        if last:
            before(tile, chunk, first, apart, until, x, held)
        if uint32(x + uint32(last)) < held:
            put(tile, place(first, uint32(uint32(last) * apart), until), chunk[last])

    @device
    def one(tile, chunk, first, apart, until, x, held):
        if x < held:
            put(tile, first, chunk[0])

    @device
    def whole(tile, chunk, first, apart, until, x, held):
        if x < held:
            put(tile, first, chunk)

    if moves.per_chunk == 1:
        return whole
    return several if last else one


def _last_chunk(per_chunk: int) -> Any:
    """A device function: where the last whole chunk of memory begins that has `total` elements.

    Chunks beyond it are read there instead, and the one that memory holds in part once more, by
    its elements: so the loads of the last block need not wait for each other.
    """

    @device
    def last_chunk(beyond, total):
        part = uint32(uint32(beyond + total) % uint32(per_chunk))
        return uint32(uint32(total - part) - uint32(per_chunk))

    return last_chunk


@device
def _place(number, extent, fraction):
    """(run, chunk of it) of a lane's chunk: 8 chunks of a run, then 8 of the next one."""
    group = uint32(number // uint32(8))
    along = _quotient(group, fraction)
    return uint32(group - along * extent), uint32(along * uint32(8) + number % uint32(8))


def _chunks_read(moves: _Moves, cut: Cut, count: int) -> Any:
    """A device function: this thread's chunks of the input of the first `count` passes, a tuple.

    Beyond the last chunk it is the last one once more.
    """
    before: Any = _chunks_read(moves, cut, count - 1) if count > 1 else None
    per_chunk, get_chunk, ahead = moves.per_chunk, moves.get_chunk, (count - 1) * cut.threads

    @device
    def chunk_of(inp, first, tid, chunks, last):
        number = smaller(uint32(tid + uint32(ahead)), uint32(chunks - uint32(1)))
        return get_chunk(inp, smaller(uint32(first + number * uint32(per_chunk)), last))

    @device
    def one(inp, first, tid, chunks, last):
        return (chunk_of(inp, first, tid, chunks, last),)

    @device
    def several(inp, first, tid, chunks, last):
        found = before(inp, first, tid, chunks, last)
        return found + (chunk_of(inp, first, tid, chunks, last),)  # noqa: RUF005

    return several if count > 1 else one


def _chunks_kept(moves: _Moves, cut: Cut, count: int) -> Any:
    """A device function: those chunks into the strip."""
    before: Any = _chunks_kept(moves, cut, count - 1) if count > 1 else None
    per_chunk, put_chunk, spread = moves.per_chunk, moves.put_chunk, moves.spread
    last, ahead = count - 1, (count - 1) * cut.threads

    @device
    def keep(tile, found, tid, chunks, fraction):
        if last:
            before(tile, found, tid, chunks, fraction)
        number = uint32(tid + uint32(ahead))
        if number < chunks:
            put_chunk(tile, spread(uint32(number * uint32(per_chunk)), fraction), found[last])

    @device
    def keep_one(tile, found, tid, chunks, fraction):
        if tid < chunks:
            put_chunk(tile, spread(uint32(tid * uint32(per_chunk)), fraction), found[0])

    return keep if last else keep_one


def _span_loaded(moves: _Moves, cut: Cut) -> Any:
    """A device function: `chunks` of 16 bytes of the input from `first` on, as they lie.

    Those that do not lie whole in the input's `total` elements go element by element.
    """
    per_chunk, get, put = moves.per_chunk, moves.get, moves.put
    get_chunk, put_chunk, spread = moves.get_chunk, moves.put_chunk, moves.spread
    read, keep = (make(moves, cut, cut.passes + 1) for make in (_chunks_read, _chunks_kept))
    threads, last_chunk = cut.threads, _last_chunk(per_chunk)

    @device
    def one(inp, tile, first, number, total, fraction):
        at = uint32(first + number * uint32(per_chunk))
        to = uint32(number * uint32(per_chunk))
        if at < total and uint32(at + uint32(per_chunk)) <= total:
            put_chunk(tile, spread(to, fraction), get_chunk(inp, at))
        else:
            for part in range(per_chunk):
                if uint32(at + uint32(part)) < total:  # before the first one: beyond the last
                    one_value = get(inp, uint32(at + uint32(part)))
                    put(tile, spread(uint32(to + uint32(part)), fraction), one_value)

    @device
    def load(inp, tile, first, chunks, total, fraction):
        tid = uint32(cuda.threadIdx.x)
        behind = uint32(first + chunks * uint32(per_chunk))
        inside = first < total and total >= 2 * per_chunk
        last = total
        if inside:
            last = last_chunk(misalignment(inp), total)
            keep(tile, read(inp, first, tid, chunks, last), tid, chunks, fraction)
        if not inside or behind > total:
            number = tid
            while number < chunks:
                at = uint32(first + number * uint32(per_chunk))
                if not inside or (at > last and at < total):
                    one(inp, tile, first, number, total, fraction)
                number = uint32(number + uint32(threads))

    return load


@cache
def transpose_narrow_of(
    dtype: Any, even: bool, *, pairs: bool = False, batched: bool = False, cut: Cut = LARGE
) -> Any:
    """`transpose_narrow` for elements of this Numba type, of 1, 2, 4 or 8 bytes, any beginnings.

    Args:
        dtype: of an element, or of the half of one.
        even: whether the matrix has an even number of columns.
        pairs: whether an element is two of `dtype`, uint64: 16 bytes.
        batched: arrays have three dimensions, the first one that of the batch.
        cut: how much a block takes.
    """
    itemsize = bytes_of(dtype) * (1 + pairs)
    moves, units = _Moves(itemsize, even), 1 + pairs
    per_chunk, get, put = moves.per_chunk, moves.get, moves.put
    spread, first_of, put_chunk = moves.spread, moves.first, moves.put_chunk
    size = _held(cut, even) * per_chunk * units
    load, gathered = _span_loaded(moves, cut), _gathered(moves, per_chunk)
    groups, threads, passes = cut.groups, cut.threads, cut.passes

    @device
    def move(out, inp, tile, number):
        tid = uint32(cuda.threadIdx.x)
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1] // units)
        fraction = _fraction(cols)
        pitch_in = uint32(inp.strides[0] // itemsize)
        pitch = uint32(out.strides[0] // itemsize)
        most = uint32(uint32(groups) // cols * uint32(8 * per_chunk))
        row0 = uint32(number * most)
        left = uint32(rows - row0)
        held = smaller(uint32(most + uint32(per_chunk - 1)), left)

        # 1. the strip as it lies                  global: 16 sectors    shared: 4 wavefronts
        lead = uint32(0)  # elements of the first chunk that lie before the strip
        if pitch_in == cols:
            begin = uint32(row0 * cols)
            lead = uint32(uint32(misalignment(inp) + begin) % uint32(per_chunk))
            chunks = uint32((lead + held * cols + uint32(per_chunk - 1)) // uint32(per_chunk))
            load(inp, tile, uint32(begin - lead), chunks, uint32(rows * cols), fraction)
        else:
            for at in range(tid, uint32(held * cols), uint32(threads)):
                y = uint32(at // cols)
                there = uint32(uint32(row0 + y) * pitch_in + uint32(at - y * cols))
                put(tile, spread(uint32(at), fraction), get(inp, there))
        cuda.syncthreads()  # the strip is full before anyone reads it

        # 2. whole chunks of each run              global: 16 sectors
        beyond = misalignment(out)
        for turn in range(passes):
            col, chunk = _place(uint32(tid + uint32(turn * threads)), cols, fraction)
            to = uint32(col * pitch + row0)
            ahead = uint32(uint32(uint32(0) - uint32(beyond + to)) % uint32(per_chunk))
            y = uint32(ahead + chunk * uint32(per_chunk))
            inside = uint32(chunk * uint32(per_chunk)) < most
            if inside and uint32(y + uint32(per_chunk)) <= left:
                first, until = first_of(uint32(lead + y * cols + col), cols, fraction)
                put_chunk(out, uint32(to + y), gathered(tile, first, cols, until))

        # 3. both ends of a row of the output, at most a chunk less one element each
        if per_chunk > 1 and (row0 == 0 or uint32(most + uint32(per_chunk)) > left):
            for slot in range(tid, uint32(2 * per_chunk * cols), uint32(threads)):
                part = uint32(slot % uint32(per_chunk))
                col = uint32(slot // uint32(2 * per_chunk))
                to = uint32(col * pitch + row0)
                ahead = uint32(uint32(uint32(0) - uint32(beyond + to)) % uint32(per_chunk))
                y, behind = part, smaller(ahead, left)
                if slot // uint32(per_chunk) % uint32(2) == 0:
                    behind = behind if row0 == 0 else uint32(0)
                else:
                    behind = smaller(uint32(ahead + most), left)
                    whole = uint32(behind - ahead) // uint32(per_chunk) * uint32(per_chunk)
                    y = uint32(ahead + whole + part)
                    behind = behind if ahead < behind else uint32(0)
                if y < behind:
                    at = uint32(lead + y * cols + col)
                    put(out, uint32(to + y), get(tile, spread(at, fraction)))

    @jit(launch_bounds=(threads, cut.resident))
    def transpose_narrow(out, inp):
        tile = cuda.shared.array(size, dtype, alignment=16)
        number = uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)
        move(out, inp, tile, number)

    # one block in six less: with the matrix's own place, registers for all of them do not suffice
    @jit(launch_bounds=(threads, cut.resident * 5 // 6))
    def transpose_narrow_batched(out, inp):
        tile = cuda.shared.array(size, dtype, alignment=16)
        most = uint32(uint32(groups) // uint32(inp.shape[2] // units) * uint32(8 * per_chunk))
        strips = uint32((uint32(inp.shape[1]) + most - uint32(1)) // most)
        number = uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)
        matrix = uint32(number // strips)
        if matrix < inp.shape[0]:
            move(out[matrix], inp[matrix], tile, uint32(number % strips))

    return named(transpose_narrow_batched if batched else transpose_narrow, "transpose_narrow")


def _runs_read(moves: _Moves, cut: Cut, count: int) -> Any:
    """A device function: the last chunk of this lane's run, and its chunks of count - 1 passes."""
    before: Any = _runs_read(moves, cut, count - 1) if count > 1 else None
    get_chunk, ahead = moves.get_chunk, (count - 2) * cut.threads
    begins = _begins(moves)

    @device
    def chunk_of(inp, tid, col0, per_row, fraction, most):
        rows = uint32(inp.shape[0])
        number = smaller(uint32(tid + uint32(ahead)), uint32(per_row * rows - uint32(1)))
        row, chunk = _place(number, rows, fraction)
        return get_chunk(inp, smaller(begins(inp, row, chunk, col0)[0], most))

    @device
    def last_of(inp, tid, col0, per_row, most):
        row = smaller(tid, uint32(inp.shape[0] - 1))
        return get_chunk(inp, smaller(begins(inp, row, per_row, col0)[0], most))

    @device
    def last(inp, tid, col0, per_row, fraction, most):
        return (last_of(inp, tid, col0, per_row, most),)

    @device
    def several(inp, tid, col0, per_row, fraction, most):
        found = before(inp, tid, col0, per_row, fraction, most)
        return found + (chunk_of(inp, tid, col0, per_row, fraction, most),)  # noqa: RUF005

    return several if count > 1 else last


def _begins(moves: _Moves) -> Any:
    """A device function: (where a chunk of a row begins in memory, its place in the run)."""
    per_chunk = moves.per_chunk
    itemsize = CHUNK_BYTES // per_chunk

    @device
    def begins(inp, row, chunk, col0):
        pitch = uint32(inp.strides[0] // itemsize)
        start = uint32(row * pitch + col0)
        early = uint32(uint32(misalignment(inp) + start) % uint32(per_chunk))
        x = uint32(chunk * uint32(per_chunk) - early)  # before the run: beyond its end
        return uint32(start + x), x

    return begins


def _runs_kept(moves: _Moves, cut: Cut, count: int) -> Any:
    """A device function: those chunks, scattered into the strip."""
    before: Any = _runs_kept(moves, cut, count - 1) if count > 1 else None
    first_of, last, ahead = moves.first, count - 1, (count - 2) * cut.threads
    begins, scattered = _begins(moves), _scattered(moves, moves.per_chunk)

    @device
    def keep_at(tile, chunk, inp, row, number, col0, held, lead, fraction):
        rows = uint32(inp.shape[0])
        _, x = begins(inp, row, number, col0)
        first, until = first_of(uint32(lead + x * rows + row), rows, fraction)
        scattered(tile, chunk, first, rows, until, x, held)

    @device
    def keep_last(tile, found, inp, tid, col0, held, lead, per_row, fraction):
        if tid < inp.shape[0]:
            keep_at(tile, found[0], inp, tid, per_row, col0, held, lead, fraction)

    @device
    def keep(tile, found, inp, tid, col0, held, lead, per_row, fraction):
        before(tile, found, inp, tid, col0, held, lead, per_row, fraction)
        rows = uint32(inp.shape[0])
        row, number = _place(uint32(tid + uint32(ahead)), rows, fraction)
        if number < per_row:
            keep_at(tile, found[last], inp, row, number, col0, held, lead, fraction)

    return keep if last else keep_last


@cache
def transpose_flat_of(
    dtype: Any, even: bool, *, pairs: bool = False, batched: bool = False, cut: Cut = LARGE
) -> Any:
    """`transpose_flat` for elements of this Numba type; arguments as for `transpose_narrow_of`.

    `even` is that of the number of rows.
    """
    itemsize = bytes_of(dtype) * (1 + pairs)
    moves, units = _Moves(itemsize, even), 1 + pairs
    per_chunk, get, put = moves.per_chunk, moves.get, moves.put
    spread, first_of = moves.spread, moves.first
    get_chunk, put_chunk = moves.get_chunk, moves.put_chunk
    size = _held(cut, even) * per_chunk * units
    scattered, begins = _scattered(moves, per_chunk), _begins(moves)
    last_chunk = _last_chunk(per_chunk)
    read_all, keep_all = (make(moves, cut, cut.passes + 1) for make in (_runs_read, _runs_kept))
    groups, threads, passes = cut.groups, cut.threads, cut.passes
    resident = max(1, cut.resident * 2 // 3)  # a thread keeps its chunks and scatters them

    @device
    def take(inp, tile, row, chunk, col0, held, lead, fraction):
        """A chunk of a row, counted from its first multiple of 16 bytes, into the strip."""
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1] // units)
        pitch = uint32(inp.strides[0] // itemsize)
        at, x = begins(inp, row, chunk, col0)
        ahead = uint32(chunk * uint32(per_chunk))  # of the run and the elements before it
        if ahead < uint32(held + uint32(ahead - x)):
            lowest, behind = uint32(row * pitch), uint32(row * pitch + cols)
            if pitch == cols:
                lowest, behind = uint32(0), uint32(rows * cols)
            to = uint32(lead + x * rows + row)
            if at >= lowest and at < behind and uint32(at + uint32(per_chunk)) <= behind:
                first, until = first_of(to, rows, fraction)
                scattered(tile, get_chunk(inp, at), first, rows, until, x, held)
            else:
                for part in range(per_chunk):
                    if uint32(x + uint32(part)) < held:
                        value = get(inp, uint32(at + uint32(part)))
                        put(tile, spread(uint32(to + uint32(part) * rows), fraction), value)

    @device
    def move(out, inp, tile, number):
        tid = uint32(cuda.threadIdx.x)
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1] // units)
        fraction = _fraction(rows)
        pitch = uint32(out.strides[0] // itemsize)
        per_row = uint32(uint32(groups) // rows * uint32(8))
        most = uint32(per_row * uint32(per_chunk))
        col0 = uint32(number * most)
        held = smaller(most, uint32(cols - col0))
        begin, lead = uint32(col0 * rows), uint32(0)
        if pitch == rows:
            lead = uint32(uint32(misalignment(out) + begin) % uint32(per_chunk))

        # 1. runs of rows, scattered               global: 16 sectors
        pitch_in = uint32(inp.strides[0] // itemsize)
        behind = uint32(uint32(rows - uint32(1)) * pitch_in + col0 + most + uint32(8 * per_chunk))
        total, beyond = uint32(rows * cols), misalignment(inp)
        inside = pitch_in == cols and (col0 >= per_chunk or beyond == 0)
        inside = inside and total >= 2 * per_chunk
        last = total
        if inside:
            last = last_chunk(beyond, total)
            found = read_all(inp, tid, col0, per_row, fraction, last)
            keep_all(tile, found, inp, tid, col0, held, lead, per_row, fraction)
        if not inside or behind > total:
            number = tid
            while number < uint32(per_row * rows):
                row, chunk = _place(number, rows, fraction)
                if not inside or begins(inp, row, chunk, col0)[0] > last:
                    take(inp, tile, row, chunk, col0, held, lead, fraction)
                number = uint32(number + uint32(threads))
            if tid < rows:  # runs may begin within a chunk
                if not inside or begins(inp, tid, per_row, col0)[0] > last:
                    take(inp, tile, tid, per_row, col0, held, lead, fraction)
        cuda.syncthreads()  # the strip is full before anyone reads it

        # 2. the strip as it lies                  shared: 4 wavefronts  global: 16 sectors
        total = uint32(held * rows)
        if pitch == rows:
            for turn in range(passes + 1):
                first = uint32(uint32(tid + uint32(turn * threads)) * uint32(per_chunk))
                to = uint32(begin - lead + first)
                if first >= lead and uint32(first + uint32(per_chunk)) <= uint32(lead + total):
                    put_chunk(out, to, get_chunk(tile, spread(first, fraction)))
                elif first < uint32(lead + total):
                    for part in range(per_chunk):
                        at = uint32(first + uint32(part))
                        if at >= lead and at < uint32(lead + total):
                            put(out, uint32(to + uint32(part)), get(tile, spread(at, fraction)))
        else:
            for at in range(tid, total, uint32(threads)):
                x = uint32(at // rows)
                there = uint32(uint32(col0 + x) * pitch + uint32(at - x * rows))
                put(out, there, get(tile, spread(uint32(at), fraction)))

    @jit(launch_bounds=(threads, resident))
    def transpose_flat(out, inp):
        tile = cuda.shared.array(size, dtype, alignment=16)
        number = uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)
        move(out, inp, tile, number)

    @jit(launch_bounds=(threads, resident))
    def transpose_flat_batched(out, inp):
        tile = cuda.shared.array(size, dtype, alignment=16)
        most = uint32(uint32(groups) // uint32(inp.shape[1]) * uint32(8 * per_chunk))
        strips = uint32((uint32(inp.shape[2] // units) + most - uint32(1)) // most)
        number = uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)
        matrix = uint32(number // strips)
        if matrix < inp.shape[0]:
            move(out[matrix], inp[matrix], tile, uint32(number % strips))

    return named(transpose_flat_batched if batched else transpose_flat, "transpose_flat")
