"""Transposes of elements of 1 and 2 bytes by words, for rows that begin anywhere.

Rows of the input go into shared memory as they lie, 16 bytes per access, each cut at multiples of
16 bytes of its memory. From there a lane takes a word of each of 4 rows (of 2 rows for 2 bytes): the
2 words that overlap it, and of these the bytes that belong to it. Words of 4 rows are turned in
registers, by 8 permutations of bytes, into words of 4 columns, and go to a second tile, where a
row of the output lies in a line. Lines leave by 16 bytes, from the first multiple of 16 bytes of
the output's memory on, put together from 5 words. So a tile holds up to 16 bytes of rows more than
it moves, and only a row's two ends go element by element.

    transpose_words          tiles
    transpose_words_narrow   a run of rows of a narrow matrix, whole: one span of memory
    transpose_words_flat     a run of columns of a flat matrix, whole: one span of the output

Column x of a group of 4 lies `groups` lines further than column x - 1, and lines are an odd number
of words long, so that lanes that store neighbouring words, and lanes that read neighbouring chunks
of 4 columns, find banks of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from numba import cuda, uint32, uint64

from ...ptx import load1, load4, load16, misalignment, permuted, store1, store16
from ...unrolled import device, jit, named, smaller
from ..ptx_words import store_words
from .order import bytes_of, chunk_of_column, tile_in_batch, tile_turned
from .packed import WORD_BYTES, _turned
from .strips import _fraction, _last_chunk, _place, _quotient
from .wide import CHUNK_BYTES


@dataclass(frozen=True)
class Shape:
    """How a tile is cut; lengths are bytes.

    Attributes:
        down: of a row of the output that a block moves, a multiple of 16.
        across: of a row of the input, likewise.
        threads: of a block.
        resident: blocks that a multiprocessor must hold at once.
    """

    down: int
    across: int
    threads: int
    resident: int

    def tile(self, itemsize: int) -> tuple[int, int]:
        """Rows and columns that a block covers."""
        return self.down // itemsize, self.across // itemsize


@dataclass(frozen=True)
class Run:
    """How much of a narrow or flat matrix a block takes.

    Attributes:
        groups: of 128 bytes of whole words that a block moves.
        threads: of a block.
        most: columns of the widest matrix, at most `groups`.
        resident: blocks that a multiprocessor must hold at once.
    """

    groups: int
    threads: int
    most: int
    resident: int

    def run(self, extent: int, itemsize: int) -> int:
        """Rows of a narrow matrix of so many columns that a block moves; columns of a flat one.

        >>> LONG.run(5, 1), LONG.run(5, 2)
        (2048, 1344)
        """
        each = WORD_BYTES // itemsize
        return self.groups // (-(-extent // each) * each) * 8 * (CHUNK_BYTES // itemsize)


LONG, SHORT = Run(128, 256, 64, 5), Run(32, 128, 32, 12)
LARGE = {1: Shape(128, 128, 256, 5), 2: Shape(256, 128, 256, 5)}
SMALL = {1: Shape(64, 64, 128, 12), 2: Shape(128, 64, 128, 12)}


def _word_of(itemsize: int) -> Any:
    """A device function: the word from an element of the tile on, whatever its address is."""
    each = WORD_BYTES // itemsize

    @device
    def word(raw, at):
        apart = uint32(at % uint32(each))
        first = uint64(uint32(at - apart))  # of 64 bits: the next word is 4 bytes further
        chosen = uint32(uint32(0x3210) + apart * uint32(itemsize * 0x1111))
        low, high = load4(raw, first), load4(raw, uint64(first + uint64(each)))
        return permuted(low, high, chosen)

    return word


def _words_of(count: int, word: Any, place: Any) -> Any:
    """A device function: words of `count` rows, one below the other, as a tuple."""
    before: Any = _words_of(count - 1, word, place) if count > 1 else None
    last = count - 1

    @device
    def one(raw, y, x, start, pitch):
        return (word(raw, place(y, x, start, pitch)),)

    @device
    def several(raw, y, x, start, pitch):
        upper = before(raw, y, x, start, pitch)
        return upper + (word(raw, place(uint32(y + uint32(last)), x, start, pitch)),)  # noqa: RUF005

    return several if count > 1 else one


def _kept(count: int) -> Any:
    """A device function: words of `count` columns to their lines, `apart` words from each other."""
    before: Any = _kept(count - 1) if count > 1 else None
    last = count - 1

    @device
    def keep(lines, words, at, apart):
        before(lines, words, at, apart)
        # of 64 bits, so that all lie at fixed distances from the first one
        store1(lines, uint64(uint64(at) + uint64(uint64(last) * uint64(apart))), words[last])

    @device
    def keep_one(lines, words, at, apart):
        store1(lines, uint64(at), words[0])

    return keep if last else keep_one


@device
def _chunk_of(lines, at, chosen):
    """4 words from a place between two words on."""
    at = uint64(at)  # of 64 bits: the others are 4, 8, 12 and 16 bytes further
    first, second = load1(lines, at), load1(lines, uint64(at + uint64(1)))
    third, fourth = load1(lines, uint64(at + uint64(2))), load1(lines, uint64(at + uint64(3)))
    fifth = load1(lines, uint64(at + uint64(4)))
    return (
        permuted(first, second, chosen),
        permuted(second, third, chosen),
        permuted(third, fourth, chosen),
        permuted(fourth, fifth, chosen),
    )


class _Sizes:
    """Numbers of elements of one size, and the device functions of both ends of a row."""

    def __init__(self, dtype: Any) -> None:
        self.itemsize = bytes_of(dtype)
        if self.itemsize > 2:
            raise ValueError(f"dtype={dtype}, but elements of 1 or 2 bytes are moved by words")
        self.each, self.per_chunk = WORD_BYTES // self.itemsize, CHUNK_BYTES // self.itemsize
        each, bits, mask = self.each, 8 * self.itemsize, (1 << 8 * self.itemsize) - 1
        per_chunk, itemsize = self.per_chunk, self.itemsize

        @device
        def element(lines, line, y):
            """Element y of a line that begins at a word."""
            word = load1(lines, uint32(line + y // uint32(each)))
            return dtype(uint32(word >> uint32(y % uint32(each) * uint32(bits))) & uint32(mask))

        @device
        def store_chunk(out, lines, line, y, to):
            """16 bytes of a line from element y on."""
            chosen = uint32(uint32(0x3210) + y % uint32(each) * uint32(itemsize * 0x1111))
            store_words(out, to, _chunk_of(lines, uint32(line + y // uint32(each)), chosen))

        @device
        def end_of(slot, first_block, ahead, most, left):
            """(element of a run, whether it is there) of the slot-th at both ends of a row.

            The run has `left` elements from its block on, of which this block moves `most` from
            `ahead` on, in whole chunks; slots 0 to 15 lie before these, the others behind.
            """
            part = uint32(slot % uint32(per_chunk))
            if slot < per_chunk:
                return part, first_block and part < smaller(ahead, left)
            behind = smaller(uint32(ahead + most), left)
            whole = uint32(uint32(behind - ahead) // uint32(per_chunk) * uint32(per_chunk))
            y = uint32(ahead + whole + part)
            return y, ahead < behind and y < behind

        @device
        def put_zeros(raw, at):
            zero = uint32(0)
            store_words(raw, at, (zero, zero, zero, zero))

        self.element, self.store_chunk = element, store_chunk
        self.end_of, self.put_zeros = end_of, put_zeros


def _chunks_read(count: int, threads: int, chunk: Any) -> Any:
    """A device function: this thread's chunks of the first `count` passes, as a tuple."""
    before: Any = _chunks_read(count - 1, threads, chunk) if count > 1 else None
    ahead = (count - 1) * threads

    @device
    def one(inp, tid, chunks, start, pitch):
        return (chunk(inp, smaller(tid, uint32(chunks - uint32(1))), start, pitch),)

    @device
    def several(inp, tid, chunks, start, pitch):
        number = smaller(uint32(tid + uint32(ahead)), uint32(chunks - uint32(1)))
        found = before(inp, tid, chunks, start, pitch)
        return found + (chunk(inp, number, start, pitch),)  # noqa: RUF005

    return several if count > 1 else one


def _chunks_kept(count: int, threads: int, per_chunk: int) -> Any:
    """A device function: those chunks into the tile, one behind the other."""
    before: Any = _chunks_kept(count - 1, threads, per_chunk) if count > 1 else None
    last, ahead = count - 1, (count - 1) * threads

    @device
    def keep(raw, found, tid, chunks):
        before(raw, found, tid, chunks)
        number = uint32(tid + uint32(ahead))
        if number < chunks:
            store16(raw, uint32(number * uint32(per_chunk)), found[last])

    @device
    def keep_one(raw, found, tid, chunks):
        if tid < chunks:
            store16(raw, uint32(tid * uint32(per_chunk)), found[0])

    return keep if last else keep_one


def _some_of_chunk(dtype: Any, per_chunk: int) -> Any:
    """A device function: a chunk of which some elements lie outside of what may be read: 0."""

    @device
    def some(inp, raw, to, at, lowest, behind):
        if at >= lowest and at < behind and uint32(at + uint32(per_chunk)) <= behind:
            store16(raw, to, load16(inp, at))
        else:
            for part in range(per_chunk):
                here, value = uint32(at + uint32(part)), dtype(0)
                # before the first element: beyond the last one
                if here >= lowest and here < behind:
                    value = load1(inp, here)
                store1(raw, uint32(to + uint32(part)), value)

    return some


@cache
def transpose_words_of(dtype: Any, shape: Shape | None = None, *, batched: bool = False) -> Any:
    """`transpose_words` for elements of this Numba type.

    Args:
        dtype: uint8 or uint16.
        shape: how tiles are cut; that of `LARGE` if None.
        batched: arrays have three dimensions, the first one that of the batch.

    Raises:
        ValueError: elements of another size.
    """
    sizes = _Sizes(dtype)
    itemsize, each, per_chunk = sizes.itemsize, sizes.each, sizes.per_chunk
    shape = shape or LARGE[itemsize]
    threads = shape.threads
    tile_rows, tile_cols = shape.tile(itemsize)
    held = tile_rows + per_chunk  # rows that a tile holds
    per_row = shape.across // CHUNK_BYTES + 1  # chunks of a row: it may begin within one
    line = per_row * per_chunk
    most_chunks = held * per_row
    passes = -(-most_chunks // threads)
    words, groups = tile_cols // each, held // each
    pitch = groups + 1 if groups % 2 == 0 else groups  # of a line: an odd number of words
    apart = -(-words * pitch // 32) * 32 + 1  # words from a column to the next: a bank further
    lines_size, raw_size = each * apart, most_chunks * per_chunk
    chunks_across = shape.down // CHUNK_BYTES
    spot = chunk_of_column(chunks_across)
    element, store_chunk, end_of = sizes.element, sizes.store_chunk, sizes.end_of

    @device
    def chunk_at(number, start, pitch_in):
        """Where a chunk of the tile begins: `start` is that of its first row, with misalignment."""
        y, q = uint32(number // uint32(per_row)), uint32(number % uint32(per_row))
        first = uint32(start + y * pitch_in)
        return uint32(first - first % uint32(per_chunk) + q * uint32(per_chunk))

    @device
    def chunk(inp, number, start, more):
        pitch_in, last = more
        at = uint32(chunk_at(number, start, pitch_in) - misalignment(inp))
        return load16(inp, smaller(at, last))

    @device
    def place(y, x, start, pitch_in):
        """Where element x of row y lies in the tile."""
        early = uint32(uint32(start + y * pitch_in) % uint32(per_chunk))
        return uint32(y * uint32(line) + early + x)

    read, keep = _chunks_read(passes, threads, chunk), _chunks_kept(passes, threads, per_chunk)
    some, turn_round = _some_of_chunk(dtype, per_chunk), _turned(each)
    put_zeros, last_chunk = sizes.put_zeros, _last_chunk(per_chunk)
    take, keep_words = _words_of(each, _word_of(itemsize), place), _kept(each)

    @device
    def move(out, inp, raw, lines, row0, col0):
        tid = uint32(cuda.threadIdx.x)
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1])
        pitch_in, pitch_out = (
            uint32(inp.strides[0] // itemsize),
            uint32(out.strides[0] // itemsize),
        )
        beyond, left = misalignment(inp), uint32(rows - row0)
        high = smaller(uint32(held), left)
        chunks = uint32(high * uint32(per_row))
        begin = uint32(row0 * pitch_in + col0)
        start = uint32(beyond + begin)

        # 1. rows as they lie                      global: 16 sectors    shared: 4 wavefronts
        total = uint32(uint32(rows - uint32(1)) * pitch_in + cols)
        behind = uint32(begin + uint32(high - uint32(1)) * pitch_in + uint32(line))
        inside = (begin >= per_chunk or beyond == 0) and total >= 2 * per_chunk
        if pitch_in != cols:
            inside = col0 >= per_chunk and uint32(col0 + uint32(line)) <= cols
        last = total
        if inside:
            last = last_chunk(beyond, total)
            keep(raw, read(inp, tid, chunks, start, (pitch_in, last)), tid, chunks)
        if not inside or behind > total:
            number = tid
            while number < chunks:
                at = uint32(chunk_at(number, start, pitch_in) - beyond)
                if not inside or (at > last and at < total):
                    lowest, most = uint32(0), total
                    if pitch_in != cols:
                        lowest = uint32(uint32(row0 + number // uint32(per_row)) * pitch_in)
                        most = uint32(lowest + cols)
                    some(inp, raw, uint32(number * uint32(per_chunk)), at, lowest, most)
                number = uint32(number + uint32(threads))
        if high < held:
            number = uint32(chunks + tid)
            while number < uint32(most_chunks):
                put_zeros(raw, uint32(number * uint32(per_chunk)))
                number = uint32(number + uint32(threads))
        cuda.syncthreads()  # the rows are there before anyone reads them

        # 2. words of 4 rows, turned: 2 reads each shared: 1 wavefront
        number = tid
        while number < uint32(groups * words):
            group = uint32(number // uint32(words))
            x = uint32(number % uint32(words))
            y = uint32(group * uint32(each))
            taken = take(raw, y, uint32(x * uint32(each)), start, pitch_in)
            to = uint32(x * uint32(pitch) + group)
            keep_words(lines, turn_round(taken), to, uint32(apart))
            number = uint32(number + uint32(threads))
        cuda.syncthreads()  # the lines are full before anyone reads them

        # 3. 16 bytes of a row of the output       shared: 5 wavefronts  global: 16 sectors
        beyond = misalignment(out)
        number = tid
        while number < uint32(chunks_across * tile_cols):
            x, q = spot(uint32(number))
            to = uint32(uint32(col0 + x) * pitch_out + row0)
            ahead = uint32(uint32(uint32(0) - uint32(beyond + to)) % uint32(per_chunk))
            y = uint32(ahead + q * uint32(per_chunk))
            if col0 + x < cols and uint32(y + uint32(per_chunk)) <= left:
                at = uint32(x % uint32(each) * uint32(apart) + x // uint32(each) * uint32(pitch))
                store_chunk(out, lines, at, y, uint32(to + y))
            number = uint32(number + uint32(threads))

        # 4. both ends of a row of the output, at most a chunk less one element each
        if row0 == 0 or uint32(tile_rows + per_chunk) > left:
            number = tid
            while number < uint32(2 * per_chunk * tile_cols):
                x = uint32(number // uint32(2 * per_chunk))
                to = uint32(uint32(col0 + x) * pitch_out + row0)
                ahead = uint32(uint32(uint32(0) - uint32(beyond + to)) % uint32(per_chunk))
                slot = uint32(number % uint32(2 * per_chunk))
                y, there = end_of(slot, row0 == 0, ahead, uint32(tile_rows), left)
                if there and col0 + x < cols:
                    at = uint32(
                        x % uint32(each) * uint32(apart) + x // uint32(each) * uint32(pitch)
                    )
                    store1(out, uint32(to + y), element(lines, at, y))
                number = uint32(number + uint32(threads))

    @jit(launch_bounds=(threads, shape.resident))
    def transpose_words(out, inp):
        raw = cuda.shared.array(raw_size, dtype, alignment=16)
        lines = cuda.shared.array(lines_size, uint32)
        tile_row, tile_col = tile_turned()
        row0, col0 = uint32(tile_row * tile_rows), uint32(tile_col * tile_cols)
        move(out, inp, raw, lines, row0, col0)

    @jit(launch_bounds=(threads, shape.resident))
    def transpose_words_batched(out, inp):
        raw = cuda.shared.array(raw_size, dtype, alignment=16)
        lines = cuda.shared.array(lines_size, uint32)
        matrix, tile_row, tile_col = tile_in_batch(inp.shape[2], tile_cols)
        if matrix < inp.shape[0]:
            row0, col0 = uint32(tile_row * tile_rows), uint32(tile_col * tile_cols)
            move(out[matrix], inp[matrix], raw, lines, row0, col0)

    return named(transpose_words_batched if batched else transpose_words, "transpose_words")


@cache
def transpose_words_narrow_of(dtype: Any, run: Run = LONG, *, batched: bool = False) -> Any:
    """`transpose_words_narrow` for elements of this Numba type; rows follow each other in memory.

    Args:
        dtype: uint8 or uint16.
        run: how much a block takes.
        batched: arrays have three dimensions, the first one that of the batch.
    """
    sizes = _Sizes(dtype)
    itemsize, each, per_chunk = sizes.itemsize, sizes.each, sizes.per_chunk
    most_groups, threads = run.groups, run.threads
    passes = most_groups * 8 // threads
    # the run, a chunk of rows more, one as it begins anywhere, and two that its last word touches
    raw_size = (most_groups * 8 + run.most + 3) * per_chunk
    lines_size = most_groups * 32 + (per_chunk // each + 1) * run.most + 33 * each
    element, store_chunk, end_of = sizes.element, sizes.store_chunk, sizes.end_of
    put_zeros, some = sizes.put_zeros, _some_of_chunk(dtype, per_chunk)
    last_chunk = _last_chunk(per_chunk)

    @device
    def chunk(inp, number, first, last):
        return load16(inp, smaller(uint32(first + number * uint32(per_chunk)), last))

    @device
    def place(y, x, lead, cols):
        return uint32(lead + y * cols + x)

    read = _chunks_read(passes + 1, threads, chunk)
    keep = _chunks_kept(passes + 1, threads, per_chunk)
    turn_round = _turned(each)
    take, keep_words = _words_of(each, _word_of(itemsize), place), _kept(each)

    @device
    def move(out, inp, raw, lines, block):
        tid = uint32(cuda.threadIdx.x)
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1])
        words = uint32((cols + uint32(each - 1)) // uint32(each))
        many = uint32(uint32(most_groups) // uint32(words * uint32(each)))  # 8 chunks of a column
        most = uint32(many * uint32(8 * per_chunk))
        groups = uint32((most + uint32(per_chunk)) // uint32(each))
        pitch = uint32(groups + uint32(1))  # of a line: an odd number of words
        apart = uint32((words * pitch + uint32(31)) // uint32(32) * uint32(32) + uint32(1))
        row0 = uint32(block * most)
        left = uint32(rows - row0)
        high = smaller(uint32(most + uint32(per_chunk)), left)
        begin, total = uint32(row0 * cols), uint32(rows * cols)
        lead = uint32(uint32(misalignment(inp) + begin) % uint32(per_chunk))
        first = uint32(begin - lead)
        spare = uint32(2 * each + per_chunk - 1)  # the words that overlap the last one
        chunks = uint32((lead + high * cols + spare) // uint32(per_chunk))

        # 1. the rows as they lie                  global: 16 sectors    shared: 4 wavefronts
        behind = uint32(first + chunks * uint32(per_chunk))
        inside = first < total and total >= 2 * per_chunk
        last = total
        if inside:
            last = last_chunk(misalignment(inp), total)
            keep(raw, read(inp, tid, chunks, first, last), tid, chunks)
        if not inside or behind > total:
            number = tid
            while number < chunks:
                to = uint32(number * uint32(per_chunk))
                at = uint32(first + to)
                if not inside or (at > last and at < total):
                    some(inp, raw, to, at, uint32(0), total)
                number = uint32(number + uint32(threads))
            wanted = uint32((lead + (most + uint32(per_chunk)) * cols + spare) // uint32(per_chunk))
            number = uint32(chunks + tid)
            while number < wanted:
                put_zeros(raw, uint32(number * uint32(per_chunk)))
                number = uint32(number + uint32(threads))
        cuda.syncthreads()  # the rows are there before anyone reads them

        # 2. words of 4 rows, turned: 2 reads each
        per_word = _fraction(words)
        number = tid
        while number < uint32(groups * words):
            group = _quotient(uint32(number), per_word)
            x = uint32(number - group * words)
            y, at = uint32(group * uint32(each)), uint32(x * uint32(each))
            taken = take(raw, y, at, lead, cols)
            keep_words(lines, turn_round(taken), uint32(x * pitch + group), apart)
            number = uint32(number + uint32(threads))
        cuda.syncthreads()  # the lines are full before anyone reads them

        # 3. 16 bytes of a row of the output       shared: 5 wavefronts  global: 16 sectors
        beyond, per_col = misalignment(out), _fraction(cols)
        pitch_out = uint32(out.strides[0] // itemsize)
        number = tid
        while number < uint32(many * cols * uint32(8)):
            x, q = _place(uint32(number), cols, per_col)
            to = uint32(x * pitch_out + row0)
            ahead = uint32(uint32(uint32(0) - uint32(beyond + to)) % uint32(per_chunk))
            y = uint32(ahead + q * uint32(per_chunk))
            if uint32(y + uint32(per_chunk)) <= left:
                at = uint32(x % uint32(each) * apart + x // uint32(each) * pitch)
                store_chunk(out, lines, at, y, uint32(to + y))
            number = uint32(number + uint32(threads))

        # 4. both ends of a row of the output, at most a chunk less one element each
        if row0 == 0 or uint32(most + uint32(per_chunk)) > left:
            number = tid
            while number < uint32(uint32(2 * per_chunk) * cols):
                x = uint32(number // uint32(2 * per_chunk))
                to = uint32(x * pitch_out + row0)
                ahead = uint32(uint32(uint32(0) - uint32(beyond + to)) % uint32(per_chunk))
                slot = uint32(number % uint32(2 * per_chunk))
                y, there = end_of(slot, row0 == 0, ahead, most, left)
                if there:
                    at = uint32(x % uint32(each) * apart + x // uint32(each) * pitch)
                    store1(out, uint32(to + y), element(lines, at, y))
                number = uint32(number + uint32(threads))

    @jit(launch_bounds=(threads, run.resident))
    def transpose_words_narrow(out, inp):
        raw = cuda.shared.array(raw_size, dtype, alignment=16)
        lines = cuda.shared.array(lines_size, uint32)
        move(out, inp, raw, lines, uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x))

    @jit(launch_bounds=(threads, run.resident))
    def transpose_words_narrow_batched(out, inp):
        raw = cuda.shared.array(raw_size, dtype, alignment=16)
        lines = cuda.shared.array(lines_size, uint32)
        words = uint32((uint32(inp.shape[2]) + uint32(each - 1)) // uint32(each))
        many = uint32(uint32(most_groups) // uint32(words * uint32(each)))
        most = uint32(many * uint32(8 * per_chunk))
        runs = uint32((uint32(inp.shape[1]) + most - uint32(1)) // most)
        number = uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)
        matrix = uint32(number // runs)
        if matrix < inp.shape[0]:
            move(out[matrix], inp[matrix], raw, lines, uint32(number % runs))

    made = transpose_words_narrow_batched if batched else transpose_words_narrow
    return named(made, "transpose_words_narrow")


@cache
def transpose_words_flat_of(dtype: Any, run: Run = LONG, *, batched: bool = False) -> Any:
    """`transpose_words_flat`; arguments as for `transpose_words_narrow_of`.

    Rows of the output follow each other in memory, from a multiple of 16 bytes on; the matrix has
    at least as many rows as a word has elements.
    """
    sizes = _Sizes(dtype)
    itemsize, each, per_chunk = sizes.itemsize, sizes.each, sizes.per_chunk
    most_groups, threads = run.groups, run.threads
    passes = most_groups * 8 // threads
    bits = 8 * itemsize
    raw_size = (most_groups * 8 + run.most + 1) * per_chunk
    # columns of 2 words lie 3 apart
    lines_size = most_groups * 32 * 3 // 2 + 33 * each
    element, put_zeros, some = sizes.element, sizes.put_zeros, _some_of_chunk(dtype, per_chunk)
    last_chunk = _last_chunk(per_chunk)

    @device
    def chunk_at(number, start, pitch_in, per_row, fraction):
        y = _quotient(number, fraction)
        first = uint32(start + y * pitch_in)
        q = uint32(number - y * per_row)
        return uint32(first - first % uint32(per_chunk) + q * uint32(per_chunk))

    @device
    def chunk(inp, number, start, more):
        pitch_in, per_row, fraction, last = more
        at = chunk_at(number, start, pitch_in, per_row, fraction)
        return load16(inp, smaller(uint32(at - misalignment(inp)), last))

    @device
    def place(y, x, start, more):
        pitch_in, per_row, _, _ = more
        early = uint32(uint32(start + y * pitch_in) % uint32(per_chunk))
        return uint32(uint32(y * per_row * uint32(per_chunk)) + early + x)

    read = _chunks_read(passes + 1, threads, chunk)
    keep = _chunks_kept(passes + 1, threads, per_chunk)
    turn_round = _turned(each)
    take, keep_words = _words_of(each, _word_of(itemsize), place), _kept(each)

    @device
    def move(out, inp, raw, lines, block):
        tid = uint32(cuda.threadIdx.x)
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1])
        pitch_in = uint32(inp.strides[0] // itemsize)
        words = uint32((rows + uint32(each - 1)) // uint32(each))  # of a column
        many = uint32(uint32(most_groups) // uint32(words * uint32(each)))
        most = uint32(many * uint32(8 * per_chunk))
        pitch = uint32(words | uint32(1))  # of a column: an odd number of words
        apart = uint32(uint32(most // uint32(each)) * pitch)
        apart = uint32((apart + uint32(31)) // uint32(32) * uint32(32) + uint32(1))
        col0 = uint32(block * most)
        held = smaller(most, uint32(cols - col0))
        per_row = uint32(many * uint32(8) + uint32(1))  # chunks of a row: it may begin within one
        beyond = misalignment(inp)
        start = uint32(beyond + col0)
        chunks = uint32(rows * per_row)

        # 1. rows as they lie                      global: 16 sectors    shared: 4 wavefronts
        line = uint32(per_row * uint32(per_chunk))
        total = uint32(uint32(rows - uint32(1)) * pitch_in + cols)
        behind = uint32(uint32(rows - uint32(1)) * pitch_in + col0 + line)
        inside = (col0 >= per_chunk or beyond == 0) and total >= 2 * per_chunk
        if pitch_in != cols:
            inside = col0 >= per_chunk and uint32(col0 + line) <= cols
        fraction, last = _fraction(per_row), last_chunk(beyond, total)
        more = (pitch_in, per_row, fraction, last)
        if inside:
            keep(raw, read(inp, tid, chunks, start, more), tid, chunks)
        if not inside or behind > total:
            number = tid
            while number < chunks:
                at = uint32(chunk_at(number, start, pitch_in, per_row, fraction) - beyond)
                if not inside or (at > last and at < total):
                    lowest, ends = uint32(0), total
                    if pitch_in != cols:
                        lowest = uint32(number // per_row * pitch_in)
                        ends = uint32(lowest + cols)
                    some(inp, raw, uint32(number * uint32(per_chunk)), at, lowest, ends)
                number = uint32(number + uint32(threads))
        wanted = uint32(words * uint32(each) * per_row)
        number = uint32(chunks + tid)
        while number < wanted:
            put_zeros(raw, uint32(number * uint32(per_chunk)))
            number = uint32(number + uint32(threads))
        cuda.syncthreads()  # the rows are there before anyone reads them

        # 2. words of 4 rows, turned: 2 reads each shared: 1 wavefront
        per_many, lane = _fraction(many), uint32(tid % uint32(32))
        number = uint32(tid // uint32(32))
        while number < uint32(words * many):
            group = _quotient(uint32(number), per_many)
            x = uint32(uint32(uint32(number - group * many) * uint32(32)) + lane)
            for half in range(per_chunk // each // 4):
                here = uint32(x + uint32(half) * many * uint32(32))
                y, at = uint32(group * uint32(each)), uint32(here * uint32(each))
                taken = take(raw, y, at, start, more)
                keep_words(lines, turn_round(taken), uint32(here * pitch + group), apart)
            number = uint32(number + uint32(threads // 32))
        cuda.syncthreads()  # the columns are full before anyone reads them

        # 3. columns, one behind the other         global: 16 sectors
        begin, total = uint32(col0 * rows), uint32(held * rows)  # of the output
        per_col = _fraction(rows)
        number = tid
        while number < uint32((total + uint32(per_chunk - 1)) // uint32(per_chunk)):
            at = uint32(number * uint32(per_chunk))
            x = _quotient(at, per_col)
            r = uint32(at - x * rows)
            if uint32(at + uint32(per_chunk)) <= total:
                found = four(lines, x, r, rows, pitch, apart, words)
                store_words(out, uint32(begin + at), found)
            else:
                for part in range(at, total):
                    x = _quotient(uint32(part), per_col)
                    line = uint32(x % uint32(each) * apart + x // uint32(each) * pitch)
                    value = element(lines, line, uint32(part - x * rows))
                    store1(out, uint32(begin + part), value)
            number = uint32(number + uint32(threads))

    @device
    def joined_word(lines, x, r, rows, pitch, apart, words):
        """The word from row r of column x on, and from the next column where this one ends."""
        line = uint32(x % uint32(each) * apart + x // uint32(each) * pitch)
        at = uint32(r // uint32(each))
        chosen = uint32(uint32(0x3210) + r % uint32(each) * uint32(itemsize * 0x1111))
        after = smaller(uint32(at + uint32(1)), uint32(words - uint32(1)))
        found = permuted(
            load1(lines, uint32(line + at)), load1(lines, uint32(line + after)), chosen
        )
        there = uint32(rows - r)
        if there < each:
            x = uint32(x + uint32(1))
            line = uint32(x % uint32(each) * apart + x // uint32(each) * pitch)
            kept = uint32(uint32(uint32(1) << uint32(there * uint32(bits))) - uint32(1))
            added = uint32(load1(lines, line) << uint32(there * uint32(bits)))
            found = uint32(uint32(found & kept) | added)
        return found

    @device
    def following(x, r, rows):
        r = uint32(r + uint32(each))
        if r >= rows:
            return uint32(x + uint32(1)), uint32(r - rows)
        return x, r

    @device
    def four(lines, x, r, rows, pitch, apart, words):
        first = joined_word(lines, x, r, rows, pitch, apart, words)
        x, r = following(x, r, rows)
        second = joined_word(lines, x, r, rows, pitch, apart, words)
        x, r = following(x, r, rows)
        third = joined_word(lines, x, r, rows, pitch, apart, words)
        x, r = following(x, r, rows)
        return first, second, third, joined_word(lines, x, r, rows, pitch, apart, words)

    @jit(launch_bounds=(threads, run.resident))
    def transpose_words_flat(out, inp):
        raw = cuda.shared.array(raw_size, dtype, alignment=16)
        lines = cuda.shared.array(lines_size, uint32)
        move(out, inp, raw, lines, uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x))

    @jit(launch_bounds=(threads, run.resident))
    def transpose_words_flat_batched(out, inp):
        raw = cuda.shared.array(raw_size, dtype, alignment=16)
        lines = cuda.shared.array(lines_size, uint32)
        words = uint32((uint32(inp.shape[1]) + uint32(each - 1)) // uint32(each))
        many = uint32(uint32(most_groups) // uint32(words * uint32(each)))
        most = uint32(many * uint32(8 * per_chunk))
        runs = uint32((uint32(inp.shape[2]) + most - uint32(1)) // most)
        number = uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)
        matrix = uint32(number // runs)
        if matrix < inp.shape[0]:
            move(out[matrix], inp[matrix], raw, lines, uint32(number % runs))

    made = transpose_words_flat_batched if batched else transpose_words_flat
    return named(made, "transpose_words_flat")
