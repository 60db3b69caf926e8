"""Reductions: a ladder for the sum of an array, and kernels for any operation and layout.

Every rung is a file of `rungs/` that reads from top to bottom:

    sum_divergent     pairs of neighbours: half of the lanes of every warp idle, then more
    sum_conflicting   neighbouring threads take the pairs: up to 8 lanes on one bank
    sum_sequential    the halves of the tile are added: no extra wavefronts
    sum_first_add     two elements per thread are added as they are loaded
    sum_shuffled      lanes of a warp add by shuffles: one barrier is left
    sum_wide          16 bytes per load, four under way, a grid that walks over the array
    sum_one_launch    the block that ends last adds the parts: no second launch

ladder      the rungs in order, with their launches
combining   sum, mean, min, max, argmin, argmax as functions of two accumulators
variants    kernels for any of these, any dtype and layout, out of factories
choosing    which of them reduces which array
TUNING.md   what was tried, foretold and measured
"""
