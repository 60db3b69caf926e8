"""Answers to questions on paper, kept away from the notebook, which would show how to get them."""

from __future__ import annotations

from ..hardware import WARP_LANES, Chip

FLOP = 2  # of a multiply-add


def reads_per_product(tall: int, wide: int) -> float:
    """Words a thread reads per multiply-add, if it makes `tall` x `wide` cells of a product.

    Without conflicts, and word by word, these are wavefronts per multiply-add of a warp.

    >>> reads_per_product(4, 4)
    0.5
    """
    return (tall + wide) / (tall * wide)


def allowed_tflops(chip: Chip, rows: int, cols: int, tall: int, wide: int) -> float:
    """TFLOP/s that DRAM, shared memory and arithmetic allow: the least of three.

    Args:
        chip: the GPU.
        rows: of the cells that a block makes; DRAM serves all of its loads of float32.
        cols: of the cells that a block makes.
        tall: rows of a thread's cells; it reads word by word, without conflicts.
        wide: columns of a thread's cells.

    >>> from smemnb.hardware import chip
    >>> f"{allowed_tflops(chip('H200'), 16, 16, 1, 1):.1f}"  # 4 FLOP/byte, 2 wavefronts: shared
    '8.4'
    >>> f"{allowed_tflops(chip('H200'), 8, 8, 8, 8):.1f}"  # 2 FLOP/byte: DRAM
    '9.6'
    >>> f"{allowed_tflops(chip('H200'), 128, 128, 16, 8):.1f}"  # 32 FLOP/byte: arithmetic
    '66.9'
    """
    from_dram = chip.dram_bytes_per_s * FLOP * rows * cols / (4 * (rows + cols))
    per_wavefront = FLOP * WARP_LANES / reads_per_product(tall, wide)
    from_tiles = chip.sms * chip.cycles_per_s * per_wavefront
    return min(from_dram, from_tiles, chip.flop_per_s) / 1e12
