"""Registers, local and shared memory, read from machine code."""

import struct

import numpy as np
import pytest
from numba import cuda, float32

from smemnb.compiled import resources
from smemnb.compiled.usage import read_resources
from smemnb.simulator.seam import OUT_OF_TREE

A = np.zeros((64, 64), np.float32)


@cuda.jit
def tiled(out, inp):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = inp[ty, tx]
    cuda.syncthreads()
    out[ty, tx] = tile[tx, ty]


@cuda.jit
def local(out, inp):
    mine = cuda.local.array(64, float32)
    for i in range(inp.shape[0]):
        mine[(i * 7) % 64] = inp[i, 0]
    out[0, 0] = mine[int(inp[0, 1]) % 64]


@cuda.jit
def nothing(out, inp):
    pass


def elf(info, shared, reserved):
    """A 64-bit ELF file with the sections that are read, and no more."""
    names = ["", ".shstrtab", ".nv.info", ".nv.shared._k", ".nv.shared.reserved.0"]
    names = names if reserved else names[:-1]
    table = b"\0".join(name.encode() for name in names) + b"\0"
    starts = [table.index(b"\0" + name.encode() + b"\0") + 1 if name else 0 for name in names]
    body = table + info
    sizes = [(0, 0, 0), (3, 64, len(table)), (1, 64 + len(table), len(info)), (8, 0, shared)]
    sizes += [(8, 0, 0)]
    rows = b"".join(
        struct.pack("<IIQQQQIIQQ", start, kind, 0, 0, offset, size, 0, 0, 0, 0)
        for start, (kind, offset, size) in zip(starts, sizes, strict=False)
    )
    head = bytearray(64)
    struct.pack_into("<Q", head, 0x28, 64 + len(body))
    struct.pack_into("<HHH", head, 0x3A, 64, len(starts), 1)
    return bytes(head) + body + rows


@pytest.mark.parametrize(("reserved", "shared"), [(False, 4224), (True, 3200)])
def test_read_resources(reserved, shared):
    """Largest register count and frame; the system's 1 KB is taken off where it is listed."""
    info = b"".join(
        struct.pack("<BBHII", 4, attribute, 8, symbol, value)
        for attribute, symbol, value in [(0x2F, 1, 22), (0x2F, 2, 40), (0x11, 1, 256)]
    )
    info += struct.pack("<BBH", 1, 0x99, 0)  # an attribute without a value
    found = read_resources(elf(info, 4224, reserved), (9, 0))
    assert (found.registers, found.local_bytes, found.shared_bytes) == (40, 256, shared)


@pytest.mark.toolchain
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
@pytest.mark.parametrize("cc", [(8, 0), (9, 0)])
def test_resources(cc):
    """A 32 x 33 tile of float32 is 4224 bytes; an array indexed by data lies in local memory."""
    assert resources(tiled, (A, A), cc).shared_bytes == 4224
    assert resources(local, (A, A), cc).local_bytes == 256
    assert resources(local, (A, A), cc).shared_bytes == 0
    assert resources(nothing, (A, A), cc).local_bytes == 0
    assert resources(nothing, (A, A), cc).registers < resources(tiled, (A, A), cc).registers
