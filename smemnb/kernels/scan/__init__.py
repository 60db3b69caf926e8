"""Scans: running sums, by a ladder from one block to one launch for a whole array.

Every rung is a file of `rungs/` that reads from top to bottom. A block per row of up to 1024
elements:

    scan_hillis_steele     every thread adds what lies 1, 2, 4 ... before, between two buffers
    scan_blelloch          sums up a tree, prefixes down: fewer additions, up to 32-way
    scan_blelloch_padded   a pad word after each 32: 1 wavefront
    scan_shuffled          lanes of a warp scan by shuffles: one barrier
    scan_wide              four elements per lane, 16 bytes per access

Whole arrays:

    scan_three_launches    tiles, then their sums, then both together: elements move twice
    scan_lookback          one launch: a tile waits for the sums of those before it
    scan_deep              32 elements per lane: eight times fewer tiles
    scan_grouped           a tile looks back in two levels, in float64
    scan_early             a tile says its sum before it is scanned
    scan_broad             64 elements per lane: half as many tiles
    scan_waiting           tiles wait in shared memory, not in registers

ladder      the rungs in order, with their launches
combining   sums and largest values, in which types
lookback    how a tile of a row learns what lies before it
variants    kernels for any type, for rows and columns, out of factories
choosing    which of them scans which array
TUNING.md   what was tried, foretold and measured
"""
