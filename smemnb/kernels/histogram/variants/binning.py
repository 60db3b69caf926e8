"""How many elements fall between each two neighbouring edges, counted in shared memory.

The counters are those of `counting`. What differs is the bin of a value, that of NumPy to the last
bit: bin k holds edges[k] <= value < edges[k + 1], the last one its upper edge as well.

    even      edges at equal distances: the bin is computed, and looked up in the edges where the
              computed place lies within `margin` of one, as rounding may have moved either
    any       cells at equal distances say between which edges to search: `cells[c]` is the number
              of inner edges in cells before c, so a value of cell c lies in bin cells[c] to
              cells[c + 1]; both ends by one formula, which never falls as the value grows

Values outside of the edges, and NaN, are not counted. A single block with counters in shared memory
stores what it has counted; else `out` holds zeros before.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numba import cuda, float32, float64, uint32

from ...ptx import load1, load16, misalignment
from ...unrolled import device, jit, named


def place_of(compared: Any) -> Any:
    """The type in which the place of a value among the edges is computed."""
    return float32 if compared == float32 else float64


def even_of(compared: Any) -> Any:
    """The device function of edges at equal distances."""
    place = place_of(compared)

    @device
    def even(value, edges, cells, bins, low, scale, margin):
        t = (place(value) - low) * scale
        k = min(uint32(t), uint32(bins - uint32(1)))
        apart = t - place(k)
        if apart < margin or apart > place(1) - margin:  # beside an edge: ask the edges
            while k > uint32(0) and value < load1(edges, k):
                k = uint32(k - uint32(1))
            while uint32(k + uint32(1)) < bins and value >= load1(edges, uint32(k + uint32(1))):
                k = uint32(k + uint32(1))
        return k

    return even


def any_of(compared: Any) -> Any:
    """The device function of any edges."""
    place = place_of(compared)

    @device
    def anywhere(value, edges, cells, bins, low, scale, margin):
        t = (place(value) - low) * scale
        cell = uint32(0)
        if t > place(0):
            cell = uint32(min(t, margin))  # margin: the number of the last cell
        k = uint32(load1(cells, cell))
        last = uint32(load1(cells, uint32(cell + uint32(1))))
        while k < last:
            middle = uint32(uint32(k + last) >> uint32(1))
            if load1(edges, uint32(middle + uint32(1))) <= value:
                k = uint32(middle + uint32(1))
            else:
                last = middle
        return k

    return anywhere


@device
def put_in_shared(part, out, k, shift, copy):
    """Count an element of bin k in the block's counters."""
    cuda.atomic.add(part, uint32((k << shift) + copy), 1)


@device
def put_in_global(part, out, k, shift, copy):
    """Count it in the result: there are more bins than counters in shared memory."""
    cuda.atomic.add(out, k, 1)


@lru_cache(maxsize=64)
def binning_of(
    dtype: Any, compared: Any, even: bool, threads: int, resident: int, *, shared: bool = True
) -> Any:
    """The kernel `(out, x, edges, cells, bins, shift, low, scale, margin)` of elements of a type.

    It is launched with 4 bytes of shared memory for each of the `bins << shift` counters.

    Args:
        dtype: of Numba, of x: 1, 2, 4 or 8 bytes.
        compared: the type of `edges`, as which values are compared: float32, float64 or int64.
        even: whether the edges have equal distances.
        threads: of a block.
        resident: blocks on a multiprocessor.
        shared: whether the counters are in shared memory; else elements are counted in `out`.
    """
    counted = 1 if shared else 0
    put = put_in_shared if shared else put_in_global
    chunk_size = 16 // (dtype.bitwidth // 8)
    bin_of = even_of(compared) if even else any_of(compared)

    @device
    def add(elements, part, out, edges, cells, numbers):
        bins, shift, low, scale, margin, least, most, copy = numbers
        for element in elements:
            value = compared(element)
            if least <= value and value <= most:
                k = bin_of(value, edges, cells, bins, low, scale, margin)
                put(part, out, k, shift, copy)

    @jit(launch_bounds=(threads, resident))
    def binning(out, x, edges, cells, bins, shift, low, scale, margin):
        part = cuda.shared.array(0, uint32)
        tx = uint32(cuda.threadIdx.x)
        copies = uint32(uint32(1) << shift)
        copy = uint32(tx & uint32(copies - uint32(1)))
        least = load1(edges, uint32(0))
        most = load1(edges, bins)
        numbers = (bins, shift, low, scale, margin, least, most, copy)

        # 1. all counters begin at 0
        at = tx
        counters = uint32(uint32(bins * uint32(counted)) << shift)
        while at < counters:
            part[at] = 0
            at = uint32(at + uint32(threads))
        cuda.syncthreads()  # all counters are 0 before anyone adds

        # 2. whole chunks of 16 bytes, two of a thread under way at a time
        n = uint32(x.size)
        before = min(n, uint32(uint32(chunk_size - misalignment(x)) % uint32(chunk_size)))
        chunks = uint32(uint32(n - before) // uint32(chunk_size))
        first = uint32(cuda.blockIdx.x * uint32(threads) + tx)
        step = uint32(cuda.gridDim.x * uint32(threads))
        chunk = first
        while uint32(chunk + step) < chunks:
            at = uint32(before + chunk * uint32(chunk_size))
            one = load16(x, at)
            two = load16(x, uint32(at + step * uint32(chunk_size)))
            add(one, part, out, edges, cells, numbers)
            add(two, part, out, edges, cells, numbers)
            chunk = uint32(chunk + uint32(step * uint32(2)))
        if chunk < chunks:
            at = uint32(before + chunk * uint32(chunk_size))
            add(load16(x, at), part, out, edges, cells, numbers)

        # 3. what is before and behind the chunks
        if first < before:
            add((load1(x, first),), part, out, edges, cells, numbers)
        at = uint32(before + uint32(chunks * uint32(chunk_size)) + first)
        if at < n:
            add((load1(x, at),), part, out, edges, cells, numbers)
        cuda.syncthreads()  # all have added before anyone reads

        # 4. a thread adds the copies of a bin, from its own lane's on
        k = tx
        while k < uint32(bins * uint32(counted)):
            acc = uint32(0)
            for turn in range(copies):
                lane = uint32(uint32(k + turn) & uint32(copies - uint32(1)))
                acc = uint32(acc + part[uint32((k << shift) + lane)])
            if cuda.gridDim.x == 1:
                out[k] = acc
            elif acc > uint32(0):
                cuda.atomic.add(out, k, acc)
            k = uint32(k + uint32(threads))

    return named(binning, f"binning_{dtype}_{'even' if even else 'any'}")
