"""Bulk copies: what lands where, what is refused, and machine code."""

import numpy as np
import pytest
from numba import cuda, int32, uint16, uint32, uint64

from smemnb.compiled import cubin
from smemnb.compiled.machine import instructions
from smemnb.errors import KernelStopped, LaunchRefused, MisalignedAddress
from smemnb.kernels.ptx.bulk import (
    bulk_awaited,
    bulk_close,
    bulk_load,
    bulk_prefetch,
    bulk_read,
    bulk_store,
)
from smemnb.kernels.ptx.hints import fence_async
from smemnb.kernels.ptx.mbarriers import (
    mbarrier_arrive_expecting,
    mbarrier_init,
    mbarrier_init_fence,
    mbarrier_tried,
)
from smemnb.kernels.ptx.tensor_maps import TensorMap
from smemnb.simulator import devices
from smemnb.simulator.seam import OUT_OF_TREE
from smemnb.tracing import trace

SIZE = 2048  # elements of the tile
all_stored = bulk_awaited(0)
all_read = bulk_read(0)


@cuda.jit
def moved(out_map, in_map, dump, to, bytes_, y, x, store):
    """A box into the tile, the tile into `dump`, and from there to the same box of out."""
    tile = cuda.shared.array(SIZE, uint16, alignment=1024)
    barriers = cuda.shared.array(1, uint64)
    tx = uint32(cuda.threadIdx.x)
    for turn in range(SIZE // 32):
        tile[turn * 32 + tx] = uint16(9)
    if tx == 0:
        mbarrier_init(barriers, 0, uint32(1))
        mbarrier_init_fence()
        bulk_prefetch(in_map)
    fence_async()
    cuda.syncthreads()
    if tx == 0:
        mbarrier_arrive_expecting(barriers, 0, uint32(bytes_))
        bulk_load(tile, uint32(to), in_map, (y, x), barriers, 0)
    while not mbarrier_tried(barriers, 0, uint32(0)):
        pass
    for turn in range(SIZE // 32):
        dump[turn * 32 + tx] = tile[turn * 32 + tx]
    if tx == 0 and store:
        bulk_store(out_map, (y, x), tile, uint32(to))
        bulk_close()
        all_read()
        all_stored()


def box_moved(swizzle, y, x, to=0, width=0, shape=(20, 88), store=True):
    """A box of 12 rows to the tile and to another array: array, tile, array."""
    width = width or (swizzle or 96) // 2
    inp = np.arange(1, 1 + shape[0] * shape[1], dtype=np.uint16).reshape(shape)
    held, out = cuda.to_device(inp), cuda.to_device(np.zeros(shape, np.uint16))
    maps = [TensorMap(one, (12, width), swizzle=swizzle) for one in (out, held)]
    dump = np.zeros(SIZE, np.uint16)
    numbers = (to, maps[0].box_bytes, y, x, store)
    found = trace(moved)[1, 32](maps[0].words, maps[1].words, dump, *map(np.int32, numbers))
    assert [one.kind for one in found.findings if not one.price] == []
    return inp, dump, out.copy_to_host(), width


@pytest.mark.first(4)
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize(("y", "x"), [(3, 16), (14, 80), (-2, -8)])
def test_boxes(swizzle, y, x):
    """Chunk c of row r goes to c ^ its line; outside is 0, and not stored."""
    inp, dump, out, width = box_moved(swizzle, y, x, store=min(x, y) >= 0)
    expected, stored = np.full(SIZE, 9), np.zeros_like(out)
    lines = max(1, 128 // (2 * width))  # rows in 128 bytes
    for row in range(12):
        for col in range(width):
            chunk = col // 8 ^ (row // lines % (swizzle // 16) if swizzle else 0)
            inside = 0 <= y + row < inp.shape[0] and 0 <= x + col < inp.shape[1]
            value = inp[y + row, x + col] if inside else 0
            expected[row * width + chunk * 8 + col % 8] = value
            if inside and min(x, y) >= 0:
                stored[y + row, x + col] = value
    np.testing.assert_array_equal(dump, expected)
    np.testing.assert_array_equal(out, stored)


def test_pattern_goes_by_addresses():
    """A tile that begins 128 bytes behind the pattern's beginning has its second line first."""
    inp, dump, _, _ = box_moved(128, 0, 0, to=64)
    np.testing.assert_array_equal(dump[64:72], inp[0, 8:16])  # chunk 0 ^ 1


def test_axes():
    """One to five coordinates, in the order of the array's axes."""

    @cuda.jit
    def cube(out, words):
        tile = cuda.shared.array(64, uint16, alignment=128)
        barriers = cuda.shared.array(1, uint64)
        tx = cuda.threadIdx.x
        if tx == 0:
            mbarrier_init(barriers, 0, uint32(1))
            mbarrier_init_fence()
            mbarrier_arrive_expecting(barriers, 0, uint32(64))
            bulk_load(tile, 0, words, (1, -1, 2, 8), barriers, 0)
        cuda.syncthreads()
        while not mbarrier_tried(barriers, 0, uint32(0)):
            pass
        out[tx] = tile[tx]

    inp = np.arange(2 * 3 * 4 * 16, dtype=np.uint16).reshape(2, 3, 4, 16)
    one = TensorMap(cuda.to_device(inp), (1, 2, 2, 8))
    out = np.zeros(32, np.uint16)
    cube[1, 32](out, one.words)
    expected = np.concatenate([np.zeros((2, 8)), inp[1, 0, 2:4, 8:]])
    np.testing.assert_array_equal(out.reshape(4, 8), expected)


@pytest.mark.parametrize(
    ("how", "error", "said"),
    [
        ({"to": 8}, MisalignedAddress, "128"),
        ({"to": SIZE - 64}, KernelStopped, "4,096"),
        ({"y": -1}, KernelStopped, "-1"),
        ({"x": 4}, KernelStopped, "is 8 bytes behind .* a multiple of 8$"),
        ({"x": -1, "store": False}, KernelStopped, "is 14 bytes behind"),
    ],
)
def test_refusals(how, error, said):
    """A tile or a box that a GPU stops at, by its place, its size or where it begins."""
    with pytest.raises(error, match=said):
        box_moved(**{"swizzle": 128, "y": 0, "x": 0, **how})


def test_words_of_no_map():
    """Words that nobody has made, and an older chip."""
    words, dump = cuda.to_device(np.zeros(16, np.uint64)), np.zeros(SIZE, np.uint16)
    numbers = [np.int32(one) for one in (0, 16, 0, 0, 1)]
    with pytest.raises(KernelStopped, match="words"):
        trace(moved)[1, 32](words, words, dump, *numbers)
    before = devices.cc()
    devices.use((8, 0))
    try:
        with pytest.raises(LaunchRefused, match=r"9\.0"):
            trace(moved)[1, 32](words, words, dump, *numbers)
    finally:
        devices.use(before)


@pytest.mark.toolchain
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
def test_instructions():
    """Each call is the instruction that it names, and the assembler takes them."""
    kinds = (uint64[::1], uint64[::1], uint16[::1], int32, int32, int32, int32, int32)
    ptx, _ = cuda.compile_ptx(moved.py_func, kinds, cc=(9, 0))
    wanted = {
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes": 1,
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group": 1,
        "cp.async.bulk.commit_group": 1,
        "cp.async.bulk.wait_group.read 0": 1,
        "cp.async.bulk.wait_group 0": 1,
        "prefetch.tensormap": 1,
        "fence.proxy.async.shared::cta": 1,
    }
    assert {text: ptx.count(text) for text in wanted} == wanted
    code = [one.name.split(".")[0] for one in instructions(cubin(moved, kinds))]
    assert [code.count(name) for name in ("UTMALDG", "UTMASTG", "UTMACCTL")] == [1, 1, 1]
