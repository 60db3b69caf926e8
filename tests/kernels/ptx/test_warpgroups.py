"""Products of warpgroups: values by every layout that bulk copies bring, groups, refusals."""

from functools import cache

import numpy as np
import pytest
from numba import cuda, float32, int32, uint16, uint32, uint64

from smemnb.errors import KernelStopped
from smemnb.kernels.ptx.bulk import bulk_load
from smemnb.kernels.ptx.mbarriers import (
    mbarrier_arrive_expecting,
    mbarrier_init,
    mbarrier_init_fence,
    mbarrier_tried,
)
from smemnb.kernels.ptx.tensor_maps import TensorMap
from smemnb.kernels.ptx.warpgroups import (
    Matrix,
    descriptor_of,
    wgmma_awaited,
    wgmma_close,
    wgmma_fence,
    wgmma_of,
)
from smemnb.rules import tensor_core
from smemnb.simulator.seam import OUT_OF_TREE
from smemnb.tracing import trace

N = 32
SUMS = N // 2
TILE = 8192  # elements


@cache
def multiplied(
    span, a_turned=False, b_turned=False, kind="f16", fenced=True, rounds=1, early=False
):
    """out = a b for 64 x 16 and 16 x 32, each loaded as it lies; `rounds` times, added."""
    product = wgmma_of(N, kind, a_turned=a_turned, b_turned=b_turned)
    done = wgmma_awaited(0, SUMS)
    a_boxes, wide = (128 // span if a_turned else 1), span // 2
    b_boxes = max(1, 2 * N // span) if b_turned else 1
    size = 2 * wide * (16 * a_boxes if a_turned else 64)
    size += 2 * wide * (16 * b_boxes if b_turned else N)
    lead = 16 * wide  # elements of a box: 16 lines
    a_matrix = descriptor_of(span, 2 * lead if a_turned else 16, 8 * span)
    b_matrix = descriptor_of(span, 2 * lead if b_turned else 16, 8 * span)

    @cuda.jit(launch_bounds=(128, 1))
    def kernel(out, a_map, b_map):
        a_tile = cuda.shared.array(TILE, uint16, alignment=1024)
        b_tile = cuda.shared.array(TILE, uint16, alignment=1024)
        barriers = cuda.shared.array(1, uint64)
        acc = cuda.local.array(SUMS, float32)
        tid = uint32(cuda.threadIdx.x)
        if tid == 0:
            mbarrier_init(barriers, 0, uint32(1))
            mbarrier_init_fence()
        cuda.syncthreads()
        if tid == 0:
            mbarrier_arrive_expecting(barriers, 0, uint32(size))
            for box in range(a_boxes):
                bulk_load(a_tile, box * lead, a_map, (0, box * wide), barriers, 0)
            for box in range(b_boxes):
                bulk_load(b_tile, box * lead, b_map, (0, box * wide), barriers, 0)
        while not mbarrier_tried(barriers, 0, uint32(0)):
            pass
        for at in range(SUMS):
            acc[at] = float32(at + 16 * (tid % uint32(2)))
        if fenced:
            wgmma_fence()
        for _ in range(rounds):
            product(acc, a_matrix(a_tile, 0), b_matrix(b_tile, 0), int32(1))
        wgmma_close()
        if early:
            out[0, 0] = acc[3]
        done(acc)
        for at in range(SUMS):
            row = tid // uint32(32) * 16 + tid % uint32(32) // uint32(4) + at % 4 // 2 * 8
            out[row, at // 4 * 8 + tid % uint32(4) * 2 + at % 2] = acc[at]

    return kernel


def drawn(kind="f16", whole=True):
    """Bits of a, 64 x 16, and of b's columns, 32 x 16."""
    rng = np.random.default_rng(5)
    found = []
    for rows in (64, N):
        shape = (rows, 16)
        number = rng.integers(-9, 9, shape) if whole else rng.standard_normal(shape) * 2.0**-3
        number = number.astype(np.float32)
        half = number.astype(np.float16).view(np.uint16)
        found.append(half if kind == "f16" else (number.view(np.uint32) >> 16).astype(np.uint16))
    return found


def padded(bits, span, turned):
    """A matrix as it lies in global memory, and its map."""
    if turned:
        array, box = bits.T, (16, span // 2)
        wide = max(array.shape[1], span // 2)
    else:
        array, wide, box = bits, span // 2, (len(bits), span // 2)
    whole = np.zeros((array.shape[0], wide), np.uint16)
    whole[:, : array.shape[1]] = array
    return TensorMap(cuda.to_device(whole), box, swizzle=span)


def begun():
    """What the sums begin with."""
    row, col = np.ogrid[:64, :N]
    at = col // 8 * 4 + row % 16 // 8 * 2 + col % 2
    return (at + 16 * (col // 2 % 2)).astype(np.float32)


def product_of(span, whole=True, kind="f16", a_turned=False, b_turned=False, **how):
    """What the kernel makes of drawn numbers, and the trace."""
    a, b = drawn(kind, whole)
    maps = padded(a, span, a_turned), padded(b, span, b_turned)
    out = np.zeros((64, N), np.float32)
    kernel = multiplied(span, a_turned, b_turned, kind, **how)
    return a, b, out, trace(kernel)[1, 128](out, maps[0].words, maps[1].words)


@pytest.mark.first(3)
@pytest.mark.parametrize("span", [32, 64, 128])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True)])
def test_layouts(span, turned):
    """Exact products of whole numbers, whichever way a and b lie."""
    a, b, out, found = product_of(span, a_turned=turned[0], b_turned=turned[1])
    left, right = (x.view(np.float16).astype(np.float64) for x in (a, b))
    np.testing.assert_array_equal(out, left @ right.T + begun())
    assert [one.kind for one in found.findings if not one.price] == []


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_rounding(kind):
    """As the rule says, also where several products follow each other."""
    a, b, out, _ = product_of(128, whole=False, kind=kind, rounds=3)
    expected = begun()
    for _ in range(3):
        expected = tensor_core.multiplied(a, b.T, expected, kind=kind)
    np.testing.assert_array_equal(out, expected)


def test_sums_before_they_are_there():
    """Whoever reads them before the wait reads nothing; without a fence the product is refused."""
    *_, found = product_of(128, early=True)
    kinds = [one.kind for one in found.findings if not (one.price or one.race)]
    assert kinds == ["uninitialised"]
    with pytest.raises(KernelStopped, match="wgmma_fence"):
        product_of(128, fenced=False)


def test_descriptor():
    """Bits of the address, of both steps and of the swizzle, as PTX has them."""
    found = Matrix.decoded(0x40 | 0x200 << 16 | 0x10 << 32 | 3 << 62)
    assert found == Matrix(1024, 8192, 256, 32, 0, False)
    with pytest.raises(ValueError, match="lead=8"):
        descriptor_of(128, 8, 1024)
    with pytest.raises(ValueError, match="n=12"):
        wgmma_of(12, "f16")


@pytest.mark.toolchain
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
def test_instructions():
    """Each call is the instruction that it names."""
    kernel = multiplied(128, b_turned=True)
    kinds = (float32[:, ::1], uint64[::1], uint64[::1])
    ptx, _ = cuda.compile_ptx(kernel.py_func, kinds, cc=(9, 0, "a"), launch_bounds=(128, 1))
    wanted = {
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16": 1,
        "wgmma.fence.sync.aligned": 1,
        "wgmma.commit_group.sync.aligned": 1,
        "wgmma.wait_group.sync.aligned 0": 1,
    }
    assert {text: ptx.count(text) for text in wanted} == wanted
