"""Instructions that Numba does not offer, each with two implementations: for a GPU, for the engine.

    accesses       loads and stores of an element, of 4 and of 16 bytes, by flat offset
    wide_words     16 bytes of words into an array of smaller elements
    word_numbers   numbers that are held as words; two elements stored at once
    relaxed        words through which blocks talk while they run
    hints          what caches need not keep; a fence before bulk copies
    mbarriers      barriers in shared memory, at which copies arrive, too
    tensor_maps    what the bulk engine (TMA) knows of an array
    bulk           copies of whole tiles by the bulk engine
    warpgroups     products by four warps, of matrices in shared memory (wgmma)
    roles          warps that do different things: elected lanes, their barriers and registers
    asynchronous   copies to shared memory that nobody waits for at once; kernels that begin early
    matrices       8 x 8 matrices between shared memory and the registers of a warp
    tensor         products of small matrices by the tensor cores, and the words that they take
    held           kernels that run these and hand out what each lane then holds
    held_tiles     the same of bulk copies and products by warpgroups
    warp_wide      what those instructions of a whole warp have in common

Most are one instruction of the GPU. In the engine the same call is counted and checked like any
other access, so a kernel that uses them is traced as it is. The names of `accesses` are importable
from here; the others stand in their modules.

To add one: an `@intrinsic` for the GPU and, below it, its `@lockstep_implementation`
(`smemnb.lockstep.protocol`). Inline PTX has to name the memory (`ld.global...`): of a generic
access nobody can count the sectors. Without a GPU, `trace(kernel)[...](...).as_compiled()` shows
whether it is the instruction that was meant.
"""

from .accesses import (
    WIDE_BYTES,
    WORD_BYTES,
    cycles,
    load1,
    load4,
    load16,
    misalignment,
    permuted,
    store1,
    store4,
    store16,
)

__all__ = [
    "WIDE_BYTES",
    "WORD_BYTES",
    "cycles",
    "load1",
    "load4",
    "load16",
    "misalignment",
    "permuted",
    "store1",
    "store4",
    "store16",
]
