"""Transposes made for elements of any size, for other tiles, and for rows that begin anywhere.

    turned   element by element: any rows; elements of 1, 2, 4 or 8 bytes
    wide     16 bytes per access: rows at multiples of 16 bytes
    shifted  16 bytes per access: rows that begin anywhere
    pairs    elements of 16 bytes, moved whole
    order    in which order blocks walk over the tiles

To understand the kernels read `..rungs`: the same ones for float32, with their numbers in them.
"""
