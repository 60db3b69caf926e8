"""Sixteen planes to records: a narrow tile that is stored by columns and read by rows."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

RECORDS = 128  # of a block, at most


@cuda.jit
def gather(out, inp):
    """Records of 16 numbers: out = inp.T; inp has 16 rows, the planes.  A record per thread."""
    # FILL (about 11 lines)
    tile = cuda.shared.array((RECORDS, 16), float32)
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    first = cuda.blockIdx.x * n  # the block's first record
    if first + tx < out.shape[0]:
        for f in range(16):  # lanes along a plane
            tile[tx, f ^ (tx // 2 % 16)] = inp[f, first + tx]
    cuda.syncthreads()  # all records are staged
    for k in range(tx, 16 * n, n):  # elements in the order of memory
        r, f = k // 16, k % 16
        if first + r < out.shape[0]:
            out[first + r, f] = tile[r, f ^ (r // 2 % 16)]


def _planes(count, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    return (scattered((16, count), seed=count + seed) * np.float32(unit),)


def _cases():
    """Four full blocks with their budget; one record, ragged counts, smaller blocks."""
    clean = Budget(sectors_per_request=4, requests={"inp": 256, "out": 256}, shared_bytes=8192)
    yield Case(partial(_planes, 512), (4,), (RECORDS,), budget=clean)
    for count, threads in [(1, 128), (129, 128), (300, 128), (300, 64), (97, 32)]:
        data = partial(_planes, count, 2.0**64 if count == 97 else 1)
        yield Case(data, cover((count,), (threads,)), (threads,))


def _fresh(draw):
    """Full blocks, held to the budget of the first case; a ragged number of large records."""
    blocks, threads = draw.size(2, 6), draw.one_of(32, 64, 128)
    data = partial(_planes, blocks * threads, seed=draw.numbers())
    yield Case(data, (blocks,), (threads,), like=0)
    count, threads = draw.size(2, 400), draw.one_of(32, 64, 96, 128)
    data = partial(_planes, count, 2.0**64, draw.numbers())
    yield Case(data, cover((count,), (threads,)), (threads,))


EXERCISE = Exercise(
    name="ex24_gather",
    chapter="24_checkpoint",
    title="Sixteen planes in records",
    specification=lambda inp: np.ascontiguousarray(inp.T),
    solution=gather,
    wrong=(
        Wrong(
            "Elements where they would be anyway: 16 words from record to record.",
            {
                "tile[tx": "tile[tx, f] = inp[f, first + tx]",
                "out[first": "out[first + r, f] = tile[r, f]",
            },
            ("wavefronts", "16-way"),
        ),
        Wrong(
            "The shift changes with each record, although two records fill the banks once.",
            {
                "tile[tx": "tile[tx, f ^ (tx % 16)] = inp[f, first + tx]",
                "out[first": "out[first + r, f] = tile[r, f ^ (r % 16)]",
            },
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "The shift of records of eight numbers.",
            {
                "tile[tx": "tile[tx, f ^ (tx // 4 % 8)] = inp[f, first + tx]",
                "out[first": "out[first + r, f] = tile[r, f ^ (r // 4 % 8)]",
            },
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "Stored with the xor, but read without it.",
            {"out[first": "out[first + r, f] = tile[r, f]"},
            ("output", "wrong"),
        ),
        Wrong(
            "A pad of one word cleans the store, but the read meets itself across two records.",
            {
                "tile =": "tile = cuda.shared.array((RECORDS, 17), float32)",
                "tile[tx": "tile[tx, f] = inp[f, first + tx]",
                "out[first": "out[first + r, f] = tile[r, f]",
            },
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "128 threads are taken for granted: a smaller block leaves elements out.",
            {"tx, n =": "tx, n = cuda.threadIdx.x, RECORDS"},
            ("output", "block 64"),
        ),
        Wrong(
            "Right, but each lane stores its own record: 16 elements apart.",
            {"tile[tx": "out[first + tx, f] = inp[f, first + tx]", "out[first": "pass"},
            ("sectors", "per request; budget 4"),
        ),
        Wrong(
            "Nobody waits until all records are staged.",
            {"cuda.syncthreads()": ""},
            ("findings", "race"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "It is the way back from planes to records, with 16 numbers in place of 8. On which side "
        "does each thread have a record of its own, and on which does it not?",
        "Load along the planes: neighbouring threads, neighbouring records. Store in the order of "
        "memory. The store into the tile goes down a column of 16 words per row: how many rows "
        "fill the banks once, and which rows therefore need shifts of their own?",
        "Two rows fill the banks, so the shift of a row is half of its number, modulo 16. Both the "
        "store into the tile and the load from it take the field xor the shift of their row. In "
        "the second loop, number k is field k % 16 of record k // 16.",
    ),
    budget=Budget(shared_bytes=8192),
)
