"""Rungs to try at ragged shapes; a product has at least 128 x 128 elements.

smemnb bench transpose --sizes 16383x16381,8191x8193 --itemsizes 4,2,1 --rungs fastest \
    --also tests/kernels/tried/ragged.py
smemnb bench matmul --sizes 4095x4097x4099 --rungs fastest --also tests/kernels/tried/ragged.py
"""

from dataclasses import replace

from numba import float32, uint8, uint16

from smemnb.kernels.matmul.ladder import FASTEST
from smemnb.kernels.matmul.wide import matmul_of
from smemnb.kernels.rung import Rung
from smemnb.kernels.transpose.shaped import transpose_turned_of
from smemnb.kernels.transpose.snapped import TILES, transpose_snapped_of


def snapped(dtype, size):
    return Rung(transpose_snapped_of(dtype), "tried", (32, 16), TILES[size])


def turned(dtype):
    return Rung(transpose_turned_of(dtype), "tried", (32, 16), (64, 64))


def product(tiling, name):
    kernel = matmul_of(tiling, False, False, False, name)
    return Rung(kernel, "tried", (tiling.threads, 1), (tiling.rows, tiling.cols), 1, True)


RUNGS = {
    "transpose": [turned(float32), snapped(float32, 4)],
    ("transpose", 2): [turned(uint16), snapped(uint16, 2)],
    ("transpose", 1): [turned(uint8), snapped(uint8, 1)],
    "matmul": [
        product(FASTEST, "matmul_ragged"),
        product(replace(FASTEST, grouped=True), "matmul_grouped"),
    ],
}
