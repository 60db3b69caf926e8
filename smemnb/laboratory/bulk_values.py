"""What a GPU's bulk copies and wgmma do, beside the rules that the engine goes by.

    python -m smemnb.laboratory.bulk_values FILE [loads] [stores] [products] [odd_loads]

runs on a Hopper GPU, the first three parts or those that are named (an error ends the process, and
the first of the odd loads does so on an H200 and in the engine). Bulk loads
fill a tile of shared memory that is handed out byte for byte, for each swizzle, inside of the array
and across its edges, and are compared with `rules.bulk_swizzle`; bulk stores the other way round.
Products of every kind of descriptor of `ptx.warpgroups` get their matrices as bytes that the rule
has placed, and each sum is compared with `rules.tensor_core`, bit by bit. It prints a line for each
case, and writes the counts to FILE. Without a GPU the same runs in the engine, which then is
compared with the rules.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from ..kernels.ptx.held_tiles import (
    IMAGE,
    THREADS,
    TILE_BYTES,
    Layout,
    loading_of,
    product_of,
    storing,
)
from ..kernels.ptx.tensor_maps import TensorMap
from ..kernels.ptx.warpgroups import Matrix
from ..rules import tensor_core
from ..rules.bulk_swizzle import SPANS, swizzled

Array = np.ndarray[Any, np.dtype[Any]]


class Compared(NamedTuple):
    """A case, how many elements were compared, and how many differ."""

    case: str
    elements: int
    different: int


CORNERS = ((0, 0), (5, 16), (-3, -8), (30, 80), (0, 96), (100, 0))
ODD = ((0, 97), (3, 4))  # whose first byte is not at a multiple of 16


def _box(swizzle: int) -> tuple[int, int]:
    return 16, (swizzle or 96) // 2


def _boxes(corners: Any) -> Iterator[tuple[int, tuple[int, int]]]:
    for swizzle in SPANS:
        for corner in corners:
            yield swizzle, corner


def _covered(array: Array, box: tuple[int, int], corner: tuple[int, int]) -> tuple[Any, Any, Any]:
    """Rows and columns of a box in the array, and which of its elements lie inside."""
    row = corner[0] + np.arange(box[0])[:, None]
    col = corner[1] + np.arange(box[1])[None, :]
    inside = (row >= 0) & (row < array.shape[0]) & (col >= 0) & (col < array.shape[1])
    return np.where(inside, row, 0), np.where(inside, col, 0), inside


def loads(corners: Any = CORNERS) -> Iterator[Compared]:
    """Bulk loads beside the rule."""
    array = np.arange(40 * 104, dtype=np.uint16).reshape(40, 104) + np.uint16(1)
    held = cuda.to_device(array)
    for swizzle, corner in _boxes(corners):
        box = _box(swizzle)
        tensor_map = TensorMap(held, box, swizzle=swizzle)
        out = cuda.to_device(np.zeros(TILE_BYTES, np.uint8))
        size = tensor_map.box_bytes
        loading_of(size)[1, THREADS](out, tensor_map.words, *map(np.int32, corner))
        row, col, inside = _covered(array, box, corner)
        expected = np.full(TILE_BYTES, 0xEE, np.uint8)
        brought = np.where(inside, array[row, col], 0).astype(np.uint16).view(np.uint8).reshape(-1)
        expected[swizzled(np.arange(size), swizzle)] = brought
        different = int((out.copy_to_host() != expected).sum())
        yield Compared(f"load, swizzle {swizzle}, box at {corner}", TILE_BYTES, different)


def stores() -> Iterator[Compared]:
    """Bulk stores beside the rule."""
    inp = np.random.default_rng(1).integers(0, 256, TILE_BYTES).astype(np.uint8)
    for swizzle, corner in _boxes(CORNERS):
        box = _box(swizzle)
        if min(corner) < 0:
            continue  # which a GPU refuses
        expected = np.full((40, 104), 7, np.uint16)
        held = cuda.to_device(expected)
        tensor_map = TensorMap(held, box, swizzle=swizzle)
        storing[1, THREADS](cuda.to_device(inp), tensor_map.words, *map(np.int32, corner))
        row, col, inside = _covered(expected, box, corner)
        lies = inp[swizzled(np.arange(tensor_map.box_bytes), swizzle)].view(np.uint16).reshape(box)
        expected[row[inside], col[inside]] = lies[inside]
        different = int((held.copy_to_host() != expected).sum())
        yield Compared(f"store, swizzle {swizzle}, box at {corner}", expected.size, different)


LAYOUTS = (
    Layout(0, 128, 256),
    Layout(0, 2048, 128),
    Layout(32, 16, 256),
    Layout(64, 16, 512),
    Layout(128, 16, 1024),
    Layout(128, 2048, 1024, turned=True),
    Layout(64, 1024, 512, turned=True),
    Layout(32, 512, 256, turned=True),
)


def _image(bits: Array, lies: Layout) -> Array:
    """A matrix, rows x 16, as it lies in shared memory."""
    matrix = Matrix(0, lies.lead, lies.stride, lies.swizzle, 0, dynamic=False)
    image = np.zeros(IMAGE, np.uint16)
    image[matrix.places(len(bits), turned=lies.turned) // 2] = bits
    return image


def _drawn(rng: Any, shape: tuple[int, ...], kind: str, spread: int) -> Array:
    """Bits of random numbers of either sign, up to `spread` binary places apart."""
    number = rng.standard_normal(shape) * 2.0 ** rng.integers(-spread, 1, shape)
    if kind == "f16":
        found: Array = number.astype(np.float16).view(np.uint16)
    else:
        found = (number.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return found


def multiplied(n: int, kind: str, a_lies: Layout, b_lies: Layout, spread: int) -> Compared:
    """One product beside the rule, bit by bit."""
    rng = np.random.default_rng(n + spread)
    a, b = _drawn(rng, (64, 16), kind, spread), _drawn(rng, (n, 16), kind, spread)
    c = rng.standard_normal((64, n)).astype(np.float32)
    expected = tensor_core.multiplied(a, b.T, c, kind=kind)
    at, thread = np.ogrid[: n // 2, :THREADS]
    row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (at % 4 // 2)
    col = 8 * (at // 4) + 2 * (thread % 4) + at % 2
    out = cuda.to_device(np.zeros((n // 2, THREADS), np.float32))
    product_of(n, kind, a_lies, b_lies)[1, THREADS](
        out,
        *(cuda.to_device(x) for x in (_image(a, a_lies), _image(b, b_lies), c[row, col])),
    )
    bits = [
        np.ascontiguousarray(x).view(np.uint32) for x in (out.copy_to_host(), expected[row, col])
    ]
    sides = ["turned " * one.turned + str(one[:3]) for one in (a_lies, b_lies)]
    case = f"wgmma n={n} {kind}, a {sides[0]}, b {sides[1]}, numbers 2**-{spread} to 1"
    return Compared(case, out.size, int((bits[0] != bits[1]).sum()))


def products() -> Iterator[Compared]:
    """Products of every layout beside the rule; both types and widths of the usual one."""
    usual = LAYOUTS[4]
    for lies in LAYOUTS:
        yield multiplied(64, "f16", lies, usual, 0)
        yield multiplied(64, "f16", usual, lies, 0)
    for kind in ("f16", "bf16"):
        for spread in (0, 6, 12):
            yield multiplied(64, kind, usual, LAYOUTS[5], spread)
    for n in (8, 24, 128):
        yield multiplied(n, "f16", usual, usual, 4)


def odd_loads() -> Iterator[Compared]:
    """Bulk loads of boxes whose rows begin between multiples of 16 bytes."""
    return loads(ODD)


PARTS = {one.__name__: one for one in (loads, stores, products, odd_loads)}
USUAL = ("loads", "stores", "products")


def main(arguments: list[str]) -> None:
    """Print a line for each case, and write them to a file."""
    file, *names = arguments
    found = []
    for name in names or USUAL:
        for one in PARTS[name]():
            found.append(one)
            print(f"{one.different:6,} of {one.elements:6,} differ   {one.case}", flush=True)
    print(f"{len(found)} cases, {sum(one.different > 0 for one in found)} with differences")
    text = json.dumps([one._asdict() for one in found], indent=1)
    Path(file).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
