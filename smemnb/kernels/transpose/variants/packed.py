"""Transposes of elements of 1 or 2 bytes, 4 bytes at a time, for rows that begin anywhere.

Element by element, a byte costs as many instructions as a float32. Here a thread loads a word of
each of 4 rows (of 2, for elements of 2 bytes): the 2 words of memory that overlap it, and of these
the bytes that belong to it. Four words of 4 rows are turned in registers, by 8 permutations of
bytes, into four words of 4 columns. Those go to shared memory, a row of the output in a row of the
tile, and leave as words: again the bytes that belong together of 2 neighbours.

Rows of the output are cut where sectors begin, wherever that is in a row: a block's piece of one
begins up to a sector before its rows, where the piece of the block before ends. So the tile holds
the rows of one sector more than it covers, and inside a matrix every store is of whole words.

Row k of a group of 4 columns lies `across` rows of the tile further than row 0, and rows of the
tile are an odd number of words long, so that lanes that store neighbouring columns, and lanes that
read neighbouring words, all find banks of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any

from numba import cuda, uint32, uint64

from ....hardware import SECTOR_BYTES, WARP_LANES
from ...choices import Problem, no_block, no_residence, refuse, wrong_number
from ...ptx import load1, load4, misalignment, permuted, store1, store4
from ...unrolled import device, jit, named, smaller
from .order import bytes_of, tile_in_batch, tile_turned

WORD_BYTES = 4


@dataclass(frozen=True)
class Words:
    """How a tile is cut, in words of 4 bytes.

    Attributes:
        across: words of a row of the input that a block loads.
        down: words of a row of the output that its tile holds.
        threads: of a block.
        resident: blocks that a multiprocessor must hold at once.

    Raises:
        ValueError: a shape that the block's threads do not move in whole passes, or too large a
            one for elements of 2 bytes; `transpose_packed_of` refuses one for those of 1.
    """

    across: int
    down: int
    threads: int
    resident: int

    def __post_init__(self) -> None:
        refuse("Words", asdict(self), partial(_problem, 2))

    def tile(self, itemsize: int) -> tuple[int, int]:
        """Rows and columns that a block covers.

        >>> Words(32, 64, 512, 3).tile(1)
        (224, 128)
        """
        each = WORD_BYTES // itemsize
        return (self.down - SECTOR_BYTES // WORD_BYTES) * each, self.across * each


def _problem(itemsize: int, values: Mapping[str, Any]) -> Problem | None:
    """What is wrong with a shape."""
    least = {"across": WARP_LANES, "down": 1, "threads": WARP_LANES, "resident": 1}
    found = wrong_number(values, least)
    if found is not None:
        return found
    threads = values["threads"]
    if threads % WARP_LANES:
        return Problem("threads", f"whole warps are wanted: a multiple of {WARP_LANES}")
    for field in ("across", "down"):
        if values[field] % WARP_LANES:
            return Problem(field, f"a warp moves {WARP_LANES}: a multiple of it is wanted")
    if threads % values["across"] or values["across"] * values["down"] % threads:
        return Problem(
            "threads",
            f"{values['across']} x {values['down']} words are moved in passes of whole rows: a"
            f" multiple of {values['across']} that divides them is wanted",
        )
    each = WORD_BYTES // itemsize
    shared_bytes = values["across"] * each * (values["down"] + 1) * WORD_BYTES
    return no_block("threads", threads, "down", shared_bytes) or no_residence(
        "resident", values["resident"], threads, shared_bytes
    )


WORDS = {1: Words(32, 64, 512, 3), 2: Words(64, 64, 512, 3)}
"""Bytes of an element -> the shape of its tiles, 33 KB each."""


def _turned(each: int) -> Any:
    """A device function: words of `each` rows to words of `each` columns."""
    if each == 2:

        @device
        def two(rows):
            one, other = rows
            low = permuted(one, other, uint32(0x5410))
            return low, permuted(one, other, uint32(0x7632))

        return two

    @device
    def four(rows):
        first, second, third, fourth = rows
        low, high = (
            permuted(first, second, uint32(0x5140)),
            permuted(third, fourth, uint32(0x5140)),
        )
        low_more, high_more = (
            permuted(first, second, uint32(0x7362)),
            permuted(third, fourth, uint32(0x7362)),
        )
        return (
            permuted(low, high, uint32(0x5410)),
            permuted(low, high, uint32(0x7632)),
            permuted(low_more, high_more, uint32(0x5410)),
            permuted(low_more, high_more, uint32(0x7632)),
        )

    return four


def _word(itemsize: int) -> Any:
    """A device function: the word of a row that begins at a column, whatever its address is.

    Elements beyond the matrix are 0. What lies between rows is not read.
    """
    each, bits = WORD_BYTES // itemsize, 8 * itemsize

    @device
    def word(inp, row, col, beyond, joined):
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1])
        pitch = uint32(inp.strides[0] // itemsize)
        lowest, behind = uint32(row * pitch), uint32(row * pitch + cols)
        at, found = uint32(lowest + col), uint32(0)
        if row < rows and col < cols:
            if joined:
                lowest, behind = uint32(0), uint32(rows * cols)
            early = uint32(uint32(beyond + at) % uint32(each))
            first = uint32(at - early)
            last = uint32(first + uint32(each))  # the word behind it
            if early == 0 and last <= behind:
                found = load4(inp, at)
            elif at >= uint32(lowest + early) and uint32(last + uint32(each)) <= behind:
                taken = uint32(uint32(0x3210) + early * uint32(itemsize * 0x1111))
                found = permuted(load4(inp, first), load4(inp, last), taken)
            else:
                for part in range(each):
                    if uint32(col + uint32(part)) < cols:
                        value = uint32(load1(inp, uint32(at + uint32(part))))
                        found = uint32(found | uint32(value << uint32(part * bits)))
        return found

    return word


def _word_inside(itemsize: int) -> Any:
    """A device function: the same of a word that has its neighbours in the matrix's memory.

    Of a row beyond the matrix the word is any: two loads without a branch can begin early.
    """
    each = WORD_BYTES // itemsize

    @device
    def word(inp, row, col, beyond, instead):
        pitch = uint32(inp.strides[0] // itemsize)
        there = row if row < inp.shape[0] else instead
        at = uint32(there * pitch + col)
        early = uint32(uint32(beyond + at) % uint32(each))
        first = uint64(uint32(at - early))  # of 64 bits, so that the next word is 4 bytes further
        taken = uint32(uint32(0x3210) + early * uint32(itemsize * 0x1111))
        return permuted(load4(inp, first), load4(inp, uint64(first + uint64(each))), taken)

    return word


def _column_of_words(count: int, word: Any) -> Any:
    """A device function: words of `count` rows, one below the other, as a tuple."""
    before: Any = _column_of_words(count - 1, word) if count > 1 else None
    last = count - 1

    @device
    def one(inp, row, col, beyond, joined):
        return (word(inp, row, col, beyond, joined),)

    @device
    def several(inp, row, col, beyond, joined):
        upper = before(inp, row, col, beyond, joined)
        return upper + (word(inp, uint32(row + uint32(last)), col, beyond, joined),)  # noqa: RUF005

    return several if count > 1 else one


def _kept(count: int, across: int, pitch: int) -> Any:
    """A device function: words of `count` columns to their rows of the tile."""
    before: Any = _kept(count - 1, across, pitch) if count > 1 else None
    last = count - 1

    @device
    def keep(tile, words, at):
        if last:
            before(tile, words, at)
        store1(tile, uint32(at + uint32(last * across * pitch)), words[last])

    @device
    def keep_one(tile, words, at):
        store1(tile, at, words[0])

    return keep if last else keep_one


@cache
def transpose_packed_of(dtype: Any, words: Words | None = None, *, batched: bool = False) -> Any:
    """`transpose_packed` for elements of this Numba type.

    Args:
        dtype: uint8 or uint16.
        words: how tiles are cut; those of `WORDS` if None.
        batched: arrays have three dimensions, the first one that of the batch.

    Raises:
        ValueError: elements of another size.
    """
    itemsize = bytes_of(dtype)
    if itemsize not in WORDS:
        raise ValueError(f"dtype={dtype}, but elements of 1 or 2 bytes are packed into words")
    words = words or WORDS[itemsize]
    refuse("transpose_packed", asdict(words), partial(_problem, itemsize))
    across, down, threads = words.across, words.down, words.threads
    each, cut = WORD_BYTES // itemsize, SECTOR_BYTES // itemsize
    tile_rows, tile_cols = words.tile(itemsize)
    pitch = down + 1  # one pad word: an odd number of them
    size, passes = tile_cols * pitch, across * down // threads
    mask, bits = (1 << 8 * itemsize) - 1, 8 * itemsize
    load_some, load = (_column_of_words(each, one(itemsize)) for one in (_word, _word_inside))
    turn_round = _turned(each)
    keep = _kept(each, across, pitch)

    @device
    def cell(x, y):
        """Where word y of column x lies."""
        line = uint32(x % uint32(each) * uint32(across) + x // uint32(each))
        return uint32(line * uint32(pitch) + y)

    @device
    def is_inside(inp, row0, col0, joined):
        """Whether all words of a tile's rows, and one more, lie in the memory of the matrix."""
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1])
        pitch = uint32(inp.strides[0] // itemsize)
        if not joined:
            return col0 >= each and uint32(col0 + uint32(tile_cols + 2 * each)) <= cols
        top = uint32(row0 - smaller(row0, uint32(cut)))
        bottom = uint32(smaller(uint32(row0 + uint32(tile_rows)), rows) - uint32(1))
        behind = uint32(bottom * pitch + col0 + uint32(tile_cols + 2 * each))
        return uint32(top * pitch + col0) >= each and behind <= uint32(rows * cols)

    @device
    def store_some(out, tile, x, y, lowest, behind, start):
        """The elements of a word, from row y of the tile on, that lie in a row of the output."""
        for part in range(each):
            below = uint32(y + uint32(part))
            if below >= lowest and below < behind:
                word = load1(tile, cell(x, uint32(below // uint32(each))))
                value = uint32(word >> uint32(below % uint32(each) * uint32(bits)))
                to = uint32(start + below - uint32(cut))
                store1(out, to, dtype(uint32(value & uint32(mask))))

    @device
    def move(out, inp, tile, row0, col0):
        tid = uint32(cuda.threadIdx.x)
        joined = inp.strides[0] // itemsize == inp.shape[1]
        beyond = misalignment(inp)

        # 1. a word of each of `each` rows, turned     global: 4 or 5 sectors   shared: 1 wavefront
        x, y = uint32(tid % uint32(across)), uint32(tid // uint32(across))
        row = uint32(row0 + y * uint32(each) - uint32(cut))  # above the first: beyond the last
        col, to = uint32(col0 + x * uint32(each)), uint32(x * uint32(pitch) + y)
        if is_inside(inp, row0, col0, joined):
            for turn in range(passes):
                below = uint32(row + uint32(turn * (threads // across) * each))
                rows = load(inp, below, col, beyond, row0)
                keep(tile, turn_round(rows), uint32(to + uint32(turn * (threads // across))))
        else:
            for turn in range(passes):
                below = uint32(row + uint32(turn * (threads // across) * each))
                rows = load_some(inp, below, col, beyond, joined)
                keep(tile, turn_round(rows), uint32(to + uint32(turn * (threads // across))))
        cuda.syncthreads()  # the tile is full before anyone reads it

        # 2. a row of the output per warp, word by word    shared: 1 wavefront   global: 4 sectors
        warp, lane = uint32(tid // uint32(32)), uint32(tid % uint32(32))
        beyond, pitch_out = misalignment(out), uint32(out.strides[0] // itemsize)
        lowest = uint32(0) if row0 else uint32(cut)  # rows of the tile that the matrix has
        behind = uint32(uint32(cut) + smaller(uint32(tile_rows), uint32(inp.shape[0] - row0)))
        # nobody comes after the last tile, so it goes on to the rows' end
        most = uint32(down) if row0 + tile_rows >= inp.shape[0] else uint32(tile_rows // each)
        for col in range(warp, uint32(tile_cols), uint32(threads // 32)):
            if col0 + col < out.shape[0]:
                start = uint32(uint32(col0 + col) * pitch_out + row0)
                early = uint32(uint32(beyond + start) % uint32(cut))
                top = uint32(uint32(cut) - early)  # the row of the tile with which a sector begins
                taken = uint32(uint32(top - uint32(1)) % uint32(each) + uint32(1))  # 1 to `each`
                chosen = uint32(uint32(0x3210) + taken * uint32(itemsize * 0x1111))
                place = uint32(
                    cell(uint32(col), uint32(uint32(top - taken) // uint32(each))) + lane
                )
                for part in range(down // 32):
                    q = uint32(lane + uint32(32 * part))
                    y = uint32(top + q * uint32(each))
                    if q < most:
                        if y >= lowest and y + each <= behind:
                            lower = load1(tile, uint32(place + uint32(32 * part)))
                            upper = load1(tile, uint32(place + uint32(32 * part + 1)))
                            to = uint32(start - early + q * uint32(each))
                            store4(out, to, permuted(lower, upper, chosen))
                        elif y + each > lowest and y < behind:
                            store_some(out, tile, uint32(col), y, lowest, behind, start)

    @jit(launch_bounds=(threads, words.resident))
    def transpose_packed(out, inp):
        tile = cuda.shared.array(size, uint32)
        tile_row, tile_col = tile_turned()
        move(out, inp, tile, uint32(tile_row * tile_rows), uint32(tile_col * tile_cols))

    @jit(launch_bounds=(threads, words.resident))
    def transpose_packed_batched(out, inp):
        tile = cuda.shared.array(size, uint32)
        matrix, tile_row, tile_col = tile_in_batch(inp.shape[2], tile_cols)
        if matrix < inp.shape[0]:
            row0, col0 = uint32(tile_row * tile_rows), uint32(tile_col * tile_cols)
            move(out[matrix], inp[matrix], tile, row0, col0)

    return named(transpose_packed_batched if batched else transpose_packed, "transpose_packed")
