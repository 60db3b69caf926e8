"""Copies of runs: what a transpose is where the last axis stays, or lies along rows already.

The transpose of a column-major matrix is its storage with contiguous rows; an array of which the
first two of three axes change places is one of runs in another order. Arrays have three dimensions,
`out[j, k] = inp[j, k]` for runs of neighbouring elements, any distances between them.

    by chunks   16 bytes at a time, where all runs begin and end at multiples of 16
    by units    elements of 4 or 8 bytes, one by one
    by words    elements of 1 or 2 bytes, 4 bytes at a time: words of the output, each put together
                from the two words of the input that overlap it
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, load4, load16, misalignment, permuted, store1, store4, store16
from ...unrolled import device, jit
from .order import bytes_of

THREADS = 256
EACH = 4
"""Pieces of a run that a thread moves: units, words or chunks."""


def grid(first: int, second: int, run: int, itemsize: int, chunks: bool) -> tuple[int, int]:
    """Blocks for first x second runs of so many elements, moved by chunks or not.

    >>> grid(1, 1000, 4096, 4, True), grid(10, 10, 3, 8, False)
    ((1000, 1), (4, 1))
    """
    each = per_piece(itemsize, chunks)
    run += (each - 1) * (not chunks)  # by words: a run may begin within one
    lanes, stretch = 8, EACH * each
    while lanes < min(THREADS, -(-run // stretch)):
        lanes *= 2
    return -(-first * second // (THREADS // lanes)) * -(-run // (lanes * stretch)), 1


@device
def _place(run, per_piece):
    """(number of this thread's run, its first piece, pieces to its next one)."""
    pieces = uint32((run + uint32(EACH * per_piece - 1)) // uint32(EACH * per_piece))
    lanes = uint32(8)
    while lanes < pieces and lanes < THREADS:
        lanes = uint32(lanes * uint32(2))
    stretch = uint32(lanes * uint32(EACH * per_piece))
    stretches = uint32((run + stretch - uint32(1)) // stretch)
    block, tid = uint32(cuda.blockIdx.x), uint32(cuda.threadIdx.x)
    number = uint32(block // stretches * uint32(uint32(THREADS) // lanes) + tid // lanes)
    piece = uint32(block % stretches * uint32(lanes * uint32(EACH)) + tid % lanes)
    return number, piece, lanes


@cache
def copy_runs_of(dtype: Any, *, chunks: bool = False) -> Any:
    """`copy_runs` for elements of a Numba type of 1, 2, 4 or 8 bytes; `chunks`: 16 bytes each."""
    itemsize = bytes_of(dtype)
    if chunks:
        return _by_chunks(16 // itemsize)
    return _by_words(itemsize) if itemsize < 4 else _by_units()


def per_piece(itemsize: int, chunks: bool) -> int:
    """Elements that a thread moves at a time.

    >>> per_piece(2, False), per_piece(8, False), per_piece(8, True)
    (2, 1, 2)
    """
    return 16 // itemsize if chunks else max(1, 4 // itemsize)


def _by_chunks(each: int) -> Any:
    @jit(launch_bounds=(THREADS, 1))
    def copy_runs(out, inp):
        """out = inp, 16 bytes at a time.  Blocks of 256 threads, as many as `grid` says."""
        second, run = uint32(out.shape[1]), uint32(out.shape[2])
        number, piece, lanes = _place(run, each)
        if number < out.shape[0] * second:
            to, source = out[number // second], inp[number // second]
            row = number % second
            to_row, from_row = to[row], source[row]
            for turn in range(EACH):
                at = uint32(uint32(piece + uint32(turn) * lanes) * uint32(each))
                if at < run:
                    store16(to_row, at, load16(from_row, at))

    return copy_runs


def _by_units() -> Any:
    @jit(launch_bounds=(THREADS, 1))
    def copy_runs(out, inp):
        """out = inp, element by element.  Blocks of 256 threads, as many as `grid` says."""
        second, run = uint32(out.shape[1]), uint32(out.shape[2])
        number, piece, lanes = _place(run, 1)
        if number < out.shape[0] * second:
            to, source = out[number // second], inp[number // second]
            row = number % second
            to_row, from_row = to[row], source[row]
            for turn in range(EACH):
                at = uint32(piece + uint32(turn) * lanes)
                if at < run:
                    store1(to_row, at, load1(from_row, at))

    return copy_runs


def _by_words(itemsize: int) -> Any:
    each = 4 // itemsize

    @jit(launch_bounds=(THREADS, 1))
    def copy_runs(out, inp):
        """out = inp by words of the output.  Blocks of 256 threads, as many as `grid` says."""
        second, run = uint32(out.shape[1]), uint32(out.shape[2])
        number, piece, lanes = _place(uint32(run + uint32(each - 1)), each)
        if number < out.shape[0] * second:
            to, source = out[number // second], inp[number // second]
            row = number % second
            to_row, from_row = to[row], source[row]
            early = uint32(misalignment(to_row) % uint32(each))
            for turn in range(EACH):
                # the word that begins up to three bytes before the run, and those behind it
                at = uint32(uint32(piece + uint32(turn) * lanes) * uint32(each) - early)
                if at < run and uint32(at + uint32(each)) <= run:
                    apart = uint32(uint32(misalignment(from_row) + at) % uint32(each))
                    first = uint32(at - apart)
                    behind = uint32(first + uint32(2 * each))
                    if apart == 0:
                        store4(to_row, at, load4(from_row, at))
                    elif first < run and behind <= run:
                        taken = uint32(uint32(0x3210) + apart * uint32(itemsize * 0x1111))
                        low = load4(from_row, first)
                        high = load4(from_row, uint32(first + uint32(each)))
                        store4(to_row, at, permuted(low, high, taken))
                    else:
                        for part in range(each):
                            one = uint32(at + uint32(part))
                            store1(to_row, one, load1(from_row, one))
                else:
                    for part in range(each):
                        one = uint32(at + uint32(part))
                        if one < run:  # before the run: beyond its end
                            store1(to_row, one, load1(from_row, one))

    return copy_runs
