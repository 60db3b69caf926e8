"""Rungs to try where all shapes are whole tiles.

smemnb bench matmul --sizes 512,1024,2048 --rungs fastest --also tests/kernels/tried/whole.py
"""

from dataclasses import replace

from smemnb.kernels.matmul.ladder import FASTEST, SLICED, SMALL
from smemnb.kernels.matmul.sliced import matmul_sliced_of
from smemnb.kernels.matmul.wide import matmul_of
from smemnb.kernels.rung import Rung


def rung(tiling, kernel):
    return Rung(kernel, "tried", (tiling.threads, 1), (tiling.rows, tiling.cols), 4, True)


def whole(tiling, name):
    return rung(tiling, matmul_of(tiling, True, True, True, name))


RUNGS = {
    "matmul": [
        whole(SMALL, "matmul_small"),
        whole(FASTEST, "matmul_large"),
        rung(SLICED, matmul_sliced_of(SLICED, "matmul_in_slices")),
        whole(replace(SMALL, resident=4), "matmul_small_resident4"),
        whole(replace(SMALL, resident=6), "matmul_small_resident6"),
    ]
}
