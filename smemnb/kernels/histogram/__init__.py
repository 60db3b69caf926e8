"""Histograms: how often each value occurs, from global atomics to counters that never meet.

Every rung is a file of `rungs/` that reads from top to bottom, its numbers first. Of bytes:

    histogram_global   each element adds 1 in global memory
    histogram_block    a block counts in shared memory, and adds its counts to the result once
    histogram_warps    a warp has counters of its own
    histogram_wide     as histogram_block, 16 bytes per load
    histogram_lanes    a lane has counters of its own, in its bank: 1 wavefront for any data
    histogram_joined   addresses of 4 instructions in place of 5
    histogram_paired   two loads of a thread under way at a time

ladder      the rungs in order with their launches
choosing    copies, blocks and groups of bins for any number of bins
variants    kernels for any type and any number of bins
TUNING.md   what was predicted, tried and measured
"""
