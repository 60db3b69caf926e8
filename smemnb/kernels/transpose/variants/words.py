"""Transposes of elements of 1 and 2 bytes by words, for rows that begin anywhere.

Rows of the input go into shared memory as they lie, 16 bytes per access, each cut at multiples of
16 bytes of its memory. From there a lane takes a word of each of 4 rows (of 2 for 2 bytes): the 2
words that overlap it, and of these the bytes that belong to it. Words of 4 rows are turned in
registers, by 8 permutations of bytes, into words of 4 columns, and go to a second tile, where a row
of the output lies in a line. Lines leave by 16 bytes, from the first multiple of 16 bytes of the
output's memory on, put together from 5 words. So a tile holds up to 16 bytes of rows more than it
moves, and only a row's two ends go element by element.

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
from ...ptx.wide_words import store_words
from ...unrolled import device, jit, named, smaller
from .order import bytes_of, chunk_of_column, tile_in_batch, tile_turned
from .packed import WORD_BYTES, _turned
from .strips import _last_chunk
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


SHAPES = {1: Shape(128, 128, 384, 4), 2: Shape(128, 128, 256, 5)}
"""Bytes of an element -> the shape of its tiles."""


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
        def end_of(behind_it, part, ahead, most, left):
            """(element of a run, whether it is there) of the 16 bytes at an end of a row.

            The run has `left` elements from its block on, of which this block moves `most` from
            `ahead` on, in whole chunks; asked for is what lies behind these, or what lies before.
            """
            if not behind_it:
                return part, part < smaller(ahead, left)
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
        shape: how tiles are cut; that of `SHAPES` if None.
        batched: arrays have three dimensions, the first one that of the batch.

    Raises:
        ValueError: elements of another size.
    """
    sizes = _Sizes(dtype)
    itemsize, each, per_chunk = sizes.itemsize, sizes.each, sizes.per_chunk
    shape = shape or SHAPES[itemsize]
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
        for behind_it in range(2):
            number = tid
            if behind_it:
                if uint32(tile_rows + per_chunk) <= left:
                    number = uint32(per_chunk * tile_cols)
            elif row0:
                number = uint32(per_chunk * tile_cols)
            while number < uint32(per_chunk * tile_cols):
                x, part = uint32(number // uint32(per_chunk)), uint32(number % uint32(per_chunk))
                to = uint32(uint32(col0 + x) * pitch_out + row0)
                ahead = uint32(uint32(uint32(0) - uint32(beyond + to)) % uint32(per_chunk))
                y, there = end_of(behind_it, part, ahead, uint32(tile_rows), left)
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
