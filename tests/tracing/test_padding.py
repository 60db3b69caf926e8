"""Pads that free nothing: whether they cost wavefronts, and which access is reported."""

import numpy as np
import pytest
from numba import cuda, float32, int32

from smemnb.tracing import trace
from tests.facts import facts


def findings(kernel, block, rows, cols):
    """Findings of a launch of one block on an array of rows x cols, out of the same shape."""
    inp = np.arange(rows * cols, dtype=np.float32).reshape(rows, cols)
    return trace(kernel)[1, block](np.zeros_like(inp), inp).findings


def test_pad_that_makes_conflicts():
    """Two rows of 16 beside each other are 32 banks; 17 apart, words 0 and 32 are one bank's."""

    @cuda.jit
    def mirrored(out, inp):
        tile = cuda.shared.array((16, 17), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        tile[ty, tx] = inp[ty, tx]
        cuda.syncthreads()
        out[ty, tx] = tile[ty, 15 - tx]

    (found,) = findings(mirrored, (16, 16), 16, 16)
    assert (found.kind, found.count) == ("phantom_padding", 8 + 8)  # a word too many in each warp
    assert found.cause.startswith(
        "The pad of tile, shape (16, 17), frees nothing and makes conflicts: line "
    )
    assert found.cause.endswith(
        " stores tile[ty, tx] 2-way, a request in 2 wavefronts; with rows of 16 it would take 1."
    )
    assert found.cure.startswith("Leave the pad away: with rows of 16, ")


def test_pad_that_changes_nothing():
    """Every other cell of one row: 2-way wherever the row begins."""

    @cuda.jit
    def even_cells(out, inp):
        tile = cuda.shared.array((8, 65), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        for x in range(tx, 64, 32):
            tile[ty, x] = inp[ty, x]
        cuda.syncthreads()
        out[ty, tx] = tile[ty, 2 * tx]

    (found,) = findings(even_cells, (32, 8), 8, 64)
    assert (found.kind, found.count) == ("phantom_padding", 8)
    assert found.cause.startswith("The pad of tile, shape (8, 65), frees nothing: line ")
    assert found.cause.endswith(
        " loads tile[ty, 2 * tx] 2-way, a request in as many wavefronts as with rows of 64."
    )


def test_the_access_that_the_pad_makes_worse_is_told():
    """8 extra wavefronts with or without the pad, and 1 because of it: that one is named."""

    @cuda.jit
    def both(out, inp):
        tile = cuda.shared.array((8, 65), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        for x in range(tx, 64, 32):
            tile[ty, x] = inp[ty, x]
        cuda.syncthreads()
        out[ty, tx] = tile[ty, 2 * tx]
        if ty == 0:  # half a row and the other half of the next: 32 banks, if 64 apart
            out[ty, 32 + tx] = tile[tx // 16, tx]

    (found,) = findings(both, (32, 8), 8, 64)
    assert (found.kind, found.count) == ("phantom_padding", 8 + 1)
    assert found.cause.endswith(
        " loads tile[tx // 16, tx] 2-way, a request in 2 wavefronts; with rows of 64 it would take "
        "1."
    )


def test_pad_that_costs_bytes_alone():
    """No extra wavefront with the pad: nothing is reported, though its bytes are for nobody."""

    @cuda.jit
    def rows_only(out, inp):
        tile = cuda.shared.array((32, 33), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        tile[ty, tx] = inp[ty, tx]
        cuda.syncthreads()
        out[ty, tx] = tile[ty, 31 - tx]

    assert findings(rows_only, (32, 32), 32, 32) == ()


@pytest.mark.parametrize(("pitch", "room", "count"), [(32, 33, 31 * 32), (33, 33, 0), (32, 32, 0)])
def test_room_for_a_pad_in_dynamic_memory(pitch, room, count):
    """Rows of 32 where the launch pays for 33: the pad is paid for and not used."""

    @cuda.jit
    def turned(out, inp):
        tile = cuda.shared.array(0, float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        tile[ty * pitch + tx] = inp[ty, tx]
        cuda.syncthreads()
        out[ty, tx] = tile[tx * pitch + ty]

    inp = np.arange(32 * 32, dtype=np.float32).reshape(32, 32)
    report = trace(turned)[1, (32, 32), 0, 4 * 32 * room](np.zeros_like(inp), inp)
    found = [one for one in report.findings if one.kind == "phantom_padding"]
    assert [one.count for one in found] == ([count] if count else [])
    if count:
        assert (found[0].array, found[0].line) == ("tile", report.bank_map(found[0].line).line)
        assert {"32", "33"} <= set(facts(found[0].cause))


def test_dynamic_memory_of_two_types_is_left_alone():
    """What is the pad of which, nobody can say."""

    @cuda.jit
    def turned(out, inp):
        tile = cuda.shared.array(0, float32)
        head = cuda.shared.array(0, int32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        tile[ty * 32 + tx] = inp[ty, tx]
        cuda.syncthreads()
        out[ty, tx] = tile[tx * 32 + ty] + float32(head[0] * 0)

    inp = np.arange(32 * 32, dtype=np.float32).reshape(32, 32)
    report = trace(turned)[1, (32, 32), 0, 4 * 32 * 33](np.zeros_like(inp), inp)
    assert "phantom_padding" not in {one.kind for one in report.findings}
