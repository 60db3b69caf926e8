"""Row normalisation: softmax, its logarithm, layer norm and RMS norm, each row by itself.

An element of the result needs a maximum and a sum over its whole row, so a row is read, waits for
them, and is written: the ladder asks where it waits. Every rung is a file of `rungs/` that reads
from top to bottom, its numbers first:

    softmax_naive      one thread per row, three passes: 32 sectors per load
    softmax_block      one block per row, its threads side by side: 4 sectors
    softmax_online     maximum and sum in one pass: a row is read twice
    softmax_staged     the row waits in shared memory: read once
    softmax_shuffled   maxima and sums by shuffles, 2 barriers for 19
    softmax_held       the row waits in registers
    softmax_warps      one warp per row, for short rows: no barrier
    softmax_packed     8 lanes per row, for shorter ones
    softmax_wide       as softmax_held, 16 bytes per access
    softmax_split      long rows over several blocks, in two launches: read twice
    softmax_joined     in one launch, whose blocks wait for each other: read once
    softmax_trailing   whose blocks wait for earlier ones alone: read once, then from the cache
    log_softmax_wide   as softmax_wide, the logarithm of it
    layer_norm_wide    mean and variance in place of maximum and sum
    rms_norm_wide      the root of the mean of squares alone

ladder      the rungs in order with their launches
variants    the fast ones from factories: float32 and float64, rows of any length that begin
            anywhere, columns; nobody has to read them to understand a rung
choosing    which of them an array of some shape gets

`TUNING.md` says what was tried, predicted and measured.
"""
