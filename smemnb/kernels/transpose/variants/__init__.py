"""Transposes made for elements of any size, for other tiles, and for rows that begin anywhere.

    turned   element by element: any rows; elements of 1, 2, 4 or 8 bytes
    wide     16 bytes per access: rows at multiples of 16 bytes
    shifted  16 bytes per access: rows that begin anywhere
    pairs    elements of 16 bytes, moved whole
    direct   elements of 16 bytes without a tile: whole sectors on both sides
    packed   elements of 1 byte, by words of 4: rows that begin anywhere
    words    elements of 2 bytes, likewise, loaded and stored by 16 bytes
    line     one row or one column: a copy
    strips   narrow and flat matrices, whole rows or columns of the narrow side in a block
    units    elements of any size up to 16 bytes, wherever they lie
    runs     no transpose: runs of neighbours in another order, a column-major matrix by rows
    order    in which order blocks walk over the tiles

To understand the kernels read `..rungs`: the same ones for float32, with their numbers in them.
"""
