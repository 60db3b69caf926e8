"""Tiles of bulk copies and warpgroup products: each finding in three kernels, and clean twins."""

import numpy as np
import pytest
from numba import cuda, float32, int32, uint16, uint32, uint64

from smemnb.kernels.ptx.bulk import bulk_awaited, bulk_close, bulk_load, bulk_read, bulk_store
from smemnb.kernels.ptx.hints import fence_async
from smemnb.kernels.ptx.mbarriers import (
    mbarrier_arrive,
    mbarrier_arrive_expecting,
    mbarrier_init,
    mbarrier_init_fence,
    mbarrier_tried,
)
from smemnb.kernels.ptx.roles import elected, meet
from smemnb.kernels.ptx.tensor_maps import TensorMap
from smemnb.kernels.ptx.warpgroups import (
    descriptor_of,
    wgmma_awaited,
    wgmma_close,
    wgmma_fence,
    wgmma_of,
)
from smemnb.tracing import trace

BOX = 1024  # elements: 16 rows of 64
STAGES = 2
TILES = STAGES * BOX
MATRIX = 4096  # elements: 64 rows of 64

all_stored, all_read = bulk_awaited(0), bulk_read(0)
product, all_done, all_but_one = wgmma_of(64, "f16"), wgmma_awaited(0, 32), wgmma_awaited(1, 32)
by_128, by_64 = descriptor_of(128, 16, 1024), descriptor_of(64, 16, 512)


def handed(fault=""):
    """One warp sends boxes through two stages, another one adds them up."""
    waits, wrong = fault != "no wait", int(fault == "other parity")
    expected = 0 if fault == "no byte" else 2 * BOX
    release, early = fault != "no release", fault == "early release"
    stores = fault == "stored over"

    @cuda.jit
    def kernel(out, words, count):
        tiles = cuda.shared.array(TILES, uint16, alignment=1024)
        full = cuda.shared.array(STAGES, uint64)
        empty = cuda.shared.array(STAGES, uint64)
        tx = uint32(cuda.threadIdx.x)
        if tx == 0:
            for at in range(STAGES):
                mbarrier_init(full, at, uint32(1))
                mbarrier_init(empty, at, uint32(1))
            mbarrier_init_fence()
        cuda.syncthreads()
        stage = uint32(0)
        parity = uint32(0)
        total = uint32(0)
        for turn in range(count):
            if tx < 32:
                if elected():
                    if release:
                        while not mbarrier_tried(empty, stage, uint32(parity ^ 1)):
                            pass
                    mbarrier_arrive_expecting(full, stage, uint32(expected))
                    bulk_load(tiles, stage * BOX, words, (turn * 16, 0), full, stage)
                    if stores:
                        tiles[stage * BOX] = uint16(1)
            else:
                if waits:
                    while not mbarrier_tried(full, stage, uint32(parity ^ wrong)):
                        pass
                if early and tx == 32:
                    mbarrier_arrive(empty, stage)
                for at in range(BOX // 32):
                    total = uint32(total + tiles[stage * BOX + at * 32 + tx % 32])
                cuda.syncwarp()
                if release and not early and tx == 32:
                    mbarrier_arrive(empty, stage)
            stage = uint32(stage + 1)
            if stage == STAGES:
                stage = uint32(0)
                parity = uint32(parity ^ 1)
        if tx >= 32:
            out[tx - 32] = total

    return kernel


def found_in(kernel, threads, *args):
    """The findings about tiles."""
    mine = ("read_before_arrival", "store_under_way", "overwritten_stage", "missing_async_fence",
            "wrong_swizzle")  # fmt: skip
    found = trace(kernel)[1, threads](*args)
    errors = [one for one in found.findings if not one.price]
    return {one.kind for one in errors if one.kind in mine}, errors


@pytest.mark.first(2)
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("", set()),
        ("no wait", {"read_before_arrival"}),
        ("other parity", {"read_before_arrival"}),
        ("no release", {"overwritten_stage"}),
        ("early release", {"overwritten_stage"}),
        ("stored over", {"store_under_way"}),
    ],
)
def test_boxes_handed_over(fault, kind):
    """A phase, an arrival, or a store too early."""
    inp = np.arange(64 * 64, dtype=np.uint16).reshape(64, 64)
    out, one = np.zeros(32, np.uint32), TensorMap(cuda.to_device(inp), (16, 64))
    found, errors = found_in(handed(fault), 64, out, one.words, 4)
    assert kind <= found if kind else errors == []
    if not fault:
        assert int(out.sum()) == int(inp.sum())


def test_limits():
    """A trace says that the tiles' own traffic is not in its counts."""
    one = TensorMap(cuda.to_device(np.ones((32, 64), np.uint16)), (16, 64))
    (said,) = trace(handed())[1, 64](np.zeros(32, np.uint32), one.words, 2).limits
    assert "traffic" in said


def squared(fault=""):
    """A matrix is brought, or stored by threads, and multiplied by itself."""
    bulk = fault not in ("no fence", "stored")
    waits, fence = fault != "no wait", fault != "no fence"
    taken = by_64 if fault == "other swizzle" else by_128
    waited = fault != "not done"
    again = fault in ("not done", "again")

    @cuda.jit(launch_bounds=(128, 1))
    def kernel(out, words, inp):
        tile = cuda.shared.array(MATRIX, uint16, alignment=1024)
        full = cuda.shared.array(1, uint64)
        acc = cuda.local.array(32, float32)
        tid = uint32(cuda.threadIdx.x)
        if tid == 0:
            mbarrier_init(full, 0, uint32(1))
            mbarrier_init_fence()
        cuda.syncthreads()
        if bulk:
            if tid == 0:
                mbarrier_arrive_expecting(full, 0, uint32(2 * MATRIX))
                bulk_load(tile, 0, words, (0, 0), full, 0)
            if waits:
                while not mbarrier_tried(full, 0, uint32(0)):
                    pass
        else:
            for turn in range(MATRIX // 128):
                tile[turn * 128 + tid] = inp[turn * 128 + tid]
            if fence:
                fence_async()
            cuda.syncthreads()
        wgmma_fence()
        product(acc, taken(tile, 0), taken(tile, 0), int32(0))
        wgmma_close()
        if waited:
            all_done(acc)
        if again:
            cuda.syncthreads()
            if tid == 0:
                mbarrier_arrive_expecting(full, 0, uint32(2 * MATRIX))
                bulk_load(tile, 0, words, (0, 0), full, 0)
            while not mbarrier_tried(full, 0, uint32(1)):
                pass
        if not waited:
            all_done(acc)
        out[tid] = acc[0]

    return kernel


@pytest.mark.first(3)
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("", set()),
        ("stored", set()),
        ("again", set()),
        ("no wait", {"read_before_arrival"}),
        ("other swizzle", {"wrong_swizzle"}),
        ("no fence", {"missing_async_fence"}),
        ("not done", {"overwritten_stage"}),
    ],
)
def test_products(fault, kind):
    """What a product reads has arrived, in its swizzle and fenced, and stays until it is done."""
    inp = np.ones((64, 64), np.float16).view(np.uint16)
    one = TensorMap(cuda.to_device(inp), (64, 64), swizzle=128)
    out = np.zeros(128, np.float32)
    found, errors = found_in(squared(fault), 128, out, one.words, inp.reshape(-1))
    assert found == kind
    assert kind or errors == []
    if not kind:
        np.testing.assert_array_equal(out, 16)


def sent(fault=""):
    """Threads of two warps fill a tile that a bulk store takes; then they fill it again."""
    fence, read = fault != "no fence", fault != "not read"
    by_one = fault == "one fence"

    @cuda.jit
    def kernel(words, count):
        tile = cuda.shared.array(BOX, uint16, alignment=1024)
        tx = uint32(cuda.threadIdx.x)
        for turn in range(count):
            for at in range(BOX // 64):
                tile[at * 64 + tx] = uint16(turn + 1)
            if fence and (not by_one or tx < 32):
                fence_async()
            meet(1, 64)
            if tx == 0:
                bulk_store(words, (turn * 16, 0), tile, 0)
                bulk_close()
                if read:
                    all_read()
            meet(1, 64)
        if tx == 0:
            all_stored()

    return kernel


@pytest.mark.first(2)
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("", set()),
        ("no fence", {"missing_async_fence"}),
        ("one fence", {"missing_async_fence"}),
        ("not read", {"overwritten_stage"}),
    ],
)
def test_tiles_sent(fault, kind):
    """Each thread that stored sets the fence; the tile changes when it has been read."""
    held = cuda.to_device(np.zeros((48, 64), np.uint16))
    one = TensorMap(held, (16, 64))
    found, errors = found_in(sent(fault), 64, one.words, 3)
    assert found == kind
    if not kind:
        assert errors == []
        np.testing.assert_array_equal(held.copy_to_host()[:, 0], np.repeat([1, 2, 3], 16))


@cuda.jit
def left_alone(words, stored):
    """A load that nobody waits for, and a store of which nobody knows that it has read."""
    tile = cuda.shared.array(TILES, uint16, alignment=1024)
    full = cuda.shared.array(1, uint64)
    tx = uint32(cuda.threadIdx.x)
    if tx == 0:
        mbarrier_init(full, 0, uint32(1))
        mbarrier_init_fence()
        mbarrier_arrive_expecting(full, 0, uint32(2 * BOX))
        bulk_load(tile, BOX, words, (0, 0), full, 0)
        if stored:
            bulk_store(words, (16, 0), tile, 0)
            bulk_close()


@pytest.mark.parametrize(("stored", "count"), [(0, 1), (1, 2)])
def test_ends_too_early(stored, count):
    """The kernel ends while they are under way."""
    one = TensorMap(cuda.to_device(np.ones((32, 64), np.uint16)), (16, 64))
    errors = [x for x in trace(left_alone)[1, 32](one.words, stored).findings if not x.price]
    assert [(x.kind, x.count) for x in errors] == [("missing_commit", BOX // 2)] * count


def through_another(heard):
    """Warp 0 finds the load there, and tells warp 1 through a barrier of both, or does not."""

    @cuda.jit
    def kernel(out, words):
        tile = cuda.shared.array(BOX, uint16, alignment=1024)
        full = cuda.shared.array(1, uint64)
        tx = uint32(cuda.threadIdx.x)
        if tx == 0:
            mbarrier_init(full, 0, uint32(1))
            mbarrier_init_fence()
        cuda.syncthreads()
        if tx == 0:
            mbarrier_arrive_expecting(full, 0, uint32(2 * BOX))
            bulk_load(tile, 0, words, (0, 0), full, 0)
        if tx < 32:
            while not mbarrier_tried(full, 0, uint32(0)):
                pass
        if heard:
            cuda.syncthreads()
        else:
            meet(1 + tx // 32, 32)
        out[tx] = tile[tx]

    return kernel


@pytest.mark.parametrize("heard", [True, False])
def test_who_hears_of_it(heard):
    """A barrier after the wait tells others; one of each warp alone tells nobody."""
    inp = np.ones((16, 64), np.uint16)
    one = TensorMap(cuda.to_device(inp), (16, 64))
    found, _ = found_in(through_another(heard), 64, np.zeros(64, np.uint16), one.words)
    assert found == (set() if heard else {"read_before_arrival"})
