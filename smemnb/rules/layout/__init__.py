"""Where a tile keeps its cell (row, column): row-major, padded, swizzled.

A layout is a one-to-one map from cells to element offsets, with its inverse. A warp that walks
along a row of a row-major float32 tile visits 32 banks; one that walks down a column of 32
words visits one bank 32 times. Every other layout here mends the column and keeps the row.

    layout     offset of (row, col)                              use it when
    RowMajor   row * cols + col                                  nobody walks a column
    Padded     row * (cols + pad_elems) + col                    scalar accesses, bytes to spare
    Xor        col ^ row within 32 (or all, if narrower)         2^n columns, no byte to spare
    XorChunks  the same, on chunks of 16 bytes                   float4, cp.async, ldmatrix
    Rotated    (col + row) % 32 within 32                        as Xor, if xor is hard to explain
    Swizzle    offset ^ (some higher bits of offset)             TMA and CUTLASS: bits, base, shift

A tile with fewer than 32 columns holds several rows per 32 elements; those keep one shift, so
narrow `Xor` is `col ^ ((row // (32 // cols)) % cols)`. The rules are exact for 4-byte elements;
for others ask `row_wavefronts` and `column_wavefronts`, which count with `rules.bank`.

Which of them to take: `pattern` says an access as it stands in a kernel, `solve` finds the smallest
layout in which all accesses of a tile are clean, `prove` counts them in any layout.

A pad that is odd in bytes or halves is clean in some columns only: uint8 [32][33] reads columns
0, 4, 8 ... in 1 wavefront and the others in 2; pad whole words. Padding also moves rows off
16-byte boundaries, which a vector access does not forgive. Taught in
`15_rows_and_columns` (the pad) and `22_swizzle`.
"""

from .patterns import Pattern, pattern
from .places import CHUNK_BYTES, Layout, Padded, Rotated, RowMajor, Swizzle, Xor, XorChunks
from .solver import Proof, Solution, Tried, prove, solve

__all__ = [
    "CHUNK_BYTES",
    "Layout",
    "Padded",
    "Pattern",
    "Proof",
    "Rotated",
    "RowMajor",
    "Solution",
    "Swizzle",
    "Tried",
    "Xor",
    "XorChunks",
    "pattern",
    "prove",
    "solve",
]
