"""Answers to questions on paper, kept away from the notebook, which would show how to get them."""

from __future__ import annotations

from ..hardware import WARP_LANES, Chip

FLOP = 2  # of a multiply-add
REGISTERS = 65_536  # of a multiprocessor


def reads_per_product(tall: int, wide: int) -> float:
    """Words a thread reads per multiply-add, if it makes `tall` x `wide` elements of a product.

    Without conflicts, and word by word, these are wavefronts per multiply-add of a warp.

    >>> reads_per_product(4, 4)
    0.5
    """
    return (tall + wide) / (tall * wide)


def allowed_tflops(chip: Chip, rows: int, cols: int, tall: int, wide: int) -> float:
    """TFLOP/s that DRAM, shared memory and arithmetic allow: the least of three.

    Args:
        chip: the GPU.
        rows: of the elements that a block makes; DRAM serves all of its loads of float32.
        cols: of the elements that a block makes.
        tall: rows of a thread's elements; it reads word by word, without conflicts.
        wide: columns of a thread's elements.

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


def idle_threads(grid: tuple[int, int], block: tuple[int, int], shape: tuple[int, int]) -> int:
    """Threads of a launch that have no element of a matrix, if x is the column.

    >>> idle_threads((2, 3), (4, 2), (5, 7))
    13

    Args:
        grid: blocks along x and y; they cover the matrix.
        block: threads along x and y.
        shape: rows and columns of the matrix.
    """
    return grid[0] * grid[1] * block[0] * block[1] - shape[0] * shape[1]


def tree_requests(threads: int) -> int:
    """Requests of the second element of each sum, in a tree whose first half takes in the second.

    >>> tree_requests(256)  # 4 + 2 and six times 1
    12

    Args:
        threads: of the block, a power of two; each brings one element.
    """
    half, requests = threads // 2, 0
    while half > 0:
        requests += -(-half // WARP_LANES)
        half //= 2
    return requests


def step_additions(elements: int) -> int:
    """Additions of a scan in steps of 1, 2, 4 ...: each step adds wherever something lies before.

    >>> step_additions(8)  # 7 + 6 + 4
    17

    Args:
        elements: of the row, a power of two.
    """
    step, additions = 1, 0
    while step < elements:
        additions += elements - step
        step *= 2
    return additions


def held_elements(threads: int, blocks: int, others: int) -> int:
    """Elements of 4 bytes that wait in the registers of a block, if so many blocks are resident.

    >>> held_elements(1024, 1, 24)  # 64 registers for a thread
    40960

    Args:
        threads: of a block, a power of two, so that registers divide without a rest.
        blocks: that are to be resident on a multiprocessor.
        others: registers that a thread needs for everything else.
    """
    return (REGISTERS // (threads * blocks) - others) * threads


def staged_elements(block: tuple[int, int], window: int) -> int:
    """Elements that the windows of a block reach: its own, and a halo on all four sides.

    >>> staged_elements((16, 16), window=3)
    324

    Args:
        block: threads along x and y, a result for each.
        window: rows and columns of a window, an odd number.
    """
    return (block[0] + window - 1) * (block[1] + window - 1)


def window_products(window: int) -> tuple[int, int]:
    """Multiply-adds of a result: of all weights of a window at once, and rows before columns.

    >>> window_products(3)
    (9, 6)
    """
    return window * window, window + window
