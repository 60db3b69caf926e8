"""What the kernels compute, and what they may cost."""

import numpy as np
from kernels import TILE, reversed_in_blocks, turned


def test_turned(kernel_trace):
    """Free of bank conflicts; each row of 32 numbers is 4 sectors, read once and written once."""
    inp = np.arange(64 * 96, dtype=np.float32).reshape(64, 96)
    out = np.zeros((96, 64), np.float32)
    sectors = 2 * inp.nbytes // 32
    report = kernel_trace(turned, extra=0, ways=1, sectors=sectors)[(3, 2), (TILE, TILE)](out, inp)
    assert (out == inp.T).all()
    assert report.shared.wavefronts == 2 * 6 * 32  # a store and a load in 6 blocks of 32 warps


def test_reversed_in_blocks():
    """A test of values alone; with --smemnb its launch is watched all the same."""
    inp = np.arange(512, dtype=np.float32)
    out = np.zeros_like(inp)
    reversed_in_blocks[4, 128](out, inp)
    assert (out.reshape(4, 128) == inp.reshape(4, 128)[:, ::-1]).all()
