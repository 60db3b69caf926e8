"""Records of eight fields to eight planes: a narrow tile."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

MOST = 128  # records of a block


@cuda.jit
def fields(out, inp):
    """Eight planes: out = inp.T; inp has a row of 8 elements per record.  A record per thread."""
    tile = cuda.shared.array((MOST, 8), float32)
    tx, n = cuda.threadIdx.x, cuda.blockDim.x  # n threads have n records
    first = cuda.blockIdx.x * n  # the block's first record
    # 1. stage 8 * n elements: neighbouring lanes load neighbouring elements of memory
    for k in range(tx, 8 * n, n):
        r, f = k // 8, k % 8  # record and field
        if first + r < inp.shape[0]:
            # FILL (about 1 line)
            tile[r, f ^ (r // 4 % 8)] = inp[first + r, f]
    cuda.syncthreads()  # all records are staged
    # 2. lanes along a row of out
    if first + tx < inp.shape[0]:
        for f in range(8):
            # FILL (about 1 line)
            out[f, first + tx] = tile[tx, f ^ (tx // 4 % 8)]


def _records(count, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    return (scattered((count, 8), seed=count + seed) * np.float32(unit),)


def _cases():
    """Four full blocks with their budget; one record, ragged counts, smaller blocks."""
    clean = Budget(sectors_per_request=4, requests={"inp": 128, "out": 128}, shared_bytes=4096)
    yield Case(partial(_records, 512), (4,), (MOST,), budget=clean)
    for count, threads in [(1, 128), (129, 128), (300, 128), (300, 64), (97, 32)]:
        data = partial(_records, count, 2.0**64 if count == 97 else 1)
        yield Case(data, cover((count,), (threads,)), (threads,))


def _fresh(draw):
    """Full blocks, held to the budget of the first case; a ragged number of large records."""
    blocks, threads = draw.size(2, 6), draw.one_of(32, 64, 128)
    data = partial(_records, blocks * threads, seed=draw.numbers())
    yield Case(data, (blocks,), (threads,), like=0)
    count, threads = draw.size(2, 400), draw.one_of(32, 64, 96, 128)
    data = partial(_records, count, 2.0**64, draw.numbers())
    yield Case(data, cover((count,), (threads,)), (threads,))


EXERCISE = Exercise(
    name="ex04_fields",
    chapter="23_layouts",
    title="Records of eight fields in planes",
    specification=lambda inp: np.ascontiguousarray(inp.T),
    solution=fields,
    wrong=(
        Wrong(
            "Elements where they would be anyway: 8 words from record to record.",
            {
                "tile[r": "tile[r, f] = inp[first + r, f]",
                "out[f": "out[f, first + tx] = tile[tx, f]",
            },
            ("wavefronts", "8-way"),
        ),
        Wrong(
            "f ^ (r % 8): four records fill the banks once, so four neighbours should "
            "share a shift.",
            {
                "tile[r": "tile[r, f ^ (r % 8)] = inp[first + r, f]",
                "out[f": "out[f, first + tx] = tile[tx, f ^ (tx % 8)]",
            },
            ("wavefronts", "4-way"),
        ),
        Wrong(
            "Stored with the xor, but read without it.",
            {"out[f": "out[f, first + tx] = tile[tx, f]"},
            ("output", "wrong"),
        ),
        Wrong(
            "f ^ (r // 4) without % 8: from record 32 on, it leaves the row of 8.",
            {
                "tile[r": "tile[r, f ^ (r // 4)] = inp[first + r, f]",
                "out[f": "out[f, first + tx] = tile[tx, f ^ (tx // 4)]",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "A pitch of 9 is odd and cleans the read, but the store meets itself across "
            "four records.",
            {
                "tile =": "tile = cuda.shared.array((MOST, 9), float32)",
                "tile[r": "tile[r, f] = inp[first + r, f]",
                "out[f": "out[f, first + tx] = tile[tx, f]",
            },
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "Right, but each lane loads its own record: 8 elements apart, eight times over.",
            {"out[f": "out[f, first + tx] = inp[first + tx, f]"},
            ("sectors", "18 per request; budget 4"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Write down the banks of field 0 of records 0 to 7, 8 words apart. Which records share a "
        "bank? They need different shifts; the others may have one shift together.",
        "Records 0, 4, 8 ... share a bank, 0 to 3 do not: so the shift counts r // 4. A shift of 8 "
        "or more would leave the record: go round after 8.",
        "Store to the tile's row r, at f xor the shift of r, which is r // 4, modulo 8. Read from "
        "row tx, at f xor the shift of tx, into row f of out.",
    ),
    budget=Budget(shared_bytes=4096),
)
