"""Histograms: how often each value occurs, from global atomics to counters that never meet.

Every rung is a file of `rungs/` that reads from top to bottom, its numbers first. Of bytes:

    histogram_global   each element adds 1 in global memory
    histogram_block    a block counts in shared memory, and adds its counts to the result once
    histogram_warps    a warp has counters of its own
    histogram_wide     as histogram_block, 16 bytes per load
    histogram_lanes    a lane has counters of its own, in its bank: 1 wavefront for any data

ladder      the rungs in order with their launches
TUNING.md   what was predicted, tried and measured
"""
