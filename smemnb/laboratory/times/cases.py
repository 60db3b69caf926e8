"""Each kernel with its launch and its arguments, at the size that is timed and at a small one.

Sizes are such that a launch takes from a tenth of a millisecond to some milliseconds on a large
GPU, and that arrays that stream are larger than its L2 cache. `wanted` computes the result in
NumPy, of arguments as they were before the launch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..latency.measuring import ring
from .kernels import computing, sharing, streaming

__all__ = ["CASES", "NAMES", "Case"]

Array = np.ndarray[Any, np.dtype[Any]]
Arguments = tuple[Any, ...]
NAMES = "timed_"
"""A regular expression for the names of all kernels here."""


@dataclass(frozen=True)
class Case:
    """A kernel and how it is launched.

    Attributes:
        kernel: launched as `kernel[grid, block](*arguments)`.
        block: threads.
        full, small: scale of the launch that is timed, and of one that an engine can run.
        launch: scale -> (grid, arguments), seeded.
        wanted: arguments -> what the first argument holds afterwards, as far as it is compared.
        close: relative tolerance of a comparison; 0 for equal numbers.
        odd: share of elements that may be otherwise, because a rounding decides about them.
    """

    kernel: Any
    block: tuple[int, ...]
    full: int
    small: int
    launch: Callable[[int], tuple[tuple[int, ...], Arguments]]
    wanted: Callable[..., Any]
    close: float = 0.0
    odd: float = 0.0

    @property
    def name(self) -> str:
        """The kernel's name."""
        return str(self.kernel.__name__)


def _random(seed: int = 20) -> np.random.Generator:
    return np.random.default_rng(seed)


def _floats(*shape: int) -> Any:
    """Small whole numbers, so that sums in any order are equal."""
    return _random().integers(1, 8, shape).astype(np.float32)


def _line(scale: int, *more: Any, per_thread: int = 1, threads: int = 256) -> tuple[Any, Arguments]:
    """One element of out and inp per thread."""
    inp = _floats(scale)
    grid = (scale // (threads * per_thread),)
    return grid, (np.zeros(scale, np.float32), inp, *more)


def _misaligned(scale: int) -> tuple[Any, Arguments]:
    return (scale // 256,), (np.zeros(scale, np.float32), _floats(scale + 1))


def _gather(scale: int) -> tuple[Any, Arguments]:
    places = _random().integers(0, scale, scale).astype(np.int32)
    return (scale // 256,), (np.zeros(scale, np.float32), _floats(scale), places)


def _saxpy(scale: int) -> tuple[Any, Arguments]:
    return (max(1, scale // 4096),), (_floats(scale), _floats(scale), np.float32(2))


def _picture(scale: int, block: tuple[int, int], *more: Any) -> tuple[Any, Arguments]:
    grid = (-(-scale // block[0]), -(-scale // block[1]))
    return grid, (np.zeros((scale, scale), np.float32), _floats(scale, scale), *more)


def _five(out: Array, inp: Array) -> Any:
    wanted = np.zeros_like(inp)
    around = inp[:-2, 1:-1] + inp[2:, 1:-1] + inp[1:-1, :-2] + inp[1:-1, 2:]
    wanted[1:-1, 1:-1] = np.float32(0.25) * around
    return wanted


def _space(scale: int) -> tuple[Any, Arguments]:
    inp = _floats(scale // 4, scale, scale)
    return (-(-scale // 32), -(-scale // 8)), (np.zeros_like(inp), inp)


def _seven(out: Array, inp: Array) -> Any:
    here, wanted = inp[1:-1, 1:-1, 1:-1], np.zeros_like(inp)
    beside = inp[1:-1, :-2, 1:-1] + inp[1:-1, 2:, 1:-1] + inp[1:-1, 1:-1, :-2]
    beside = beside + inp[1:-1, 1:-1, 2:] + inp[:-2, 1:-1, 1:-1] + inp[2:, 1:-1, 1:-1]
    wanted[1:-1, 1:-1, 1:-1] = here + np.float32(0.1) * (beside - 6 * here)
    return wanted


def _window(out: Array, inp: Array) -> Any:
    wide = np.pad(inp, streaming.RADIUS)
    return np.sum([wide[n : n + inp.size] for n in range(2 * streaming.RADIUS + 1)], axis=0)


def _rows(scale: int, cols: int, threads: int, out: Array | None = None) -> tuple[Any, Arguments]:
    """A block per row, or a warp where `threads` is 32 of a block of 256."""
    inp = _floats(scale, cols)
    grid = (scale if threads > 32 else scale * 32 // 256,)
    return grid, (np.zeros_like(inp) if out is None else out, inp)


def _sums(scale: int, blocks: int, dtype: Any = np.float32) -> tuple[Any, Arguments]:
    return (blocks,), (np.zeros(blocks, dtype), _floats(scale).astype(dtype))


def _strides(scale: int, blocks: int) -> tuple[Any, Arguments]:
    """The same, with as many elements as all threads together take in whole rounds."""
    return _sums(scale // (blocks * 256) * blocks * 256, blocks)


def _strided(inp: Array, blocks: int) -> Any:
    """Sums per block of a grid-stride loop of blocks of 256."""
    return inp.reshape(-1, blocks, 256).sum(axis=(0, 2))


def _bytes(scale: int, blocks: int) -> tuple[Any, Arguments]:
    values = _random().integers(0, sharing.BINS, scale)
    return (blocks,), (np.zeros(sharing.BINS, np.int32), values.astype(np.uint8))


def _values(scale: int) -> tuple[Any, Arguments]:
    values = _random().integers(0, 1 << 16, scale).astype(np.int32)
    return (scale // 256,), (np.zeros(1 << 16, np.int32), values)


def _convolved(out: Array, inp: Array, weights: Array) -> Any:
    parts = [
        weights[down, across] * inp[down : down + len(out), across : across + out.shape[1]]
        for down in range(sharing.TAPS)
        for across in range(sharing.TAPS)
    ]
    return np.sum(parts, axis=0)


def _convolution(scale: int) -> tuple[Any, Arguments]:
    edge = scale - sharing.TAPS + 1
    grid = (-(-edge // sharing.EDGE), -(-edge // sharing.EDGE))
    weights = _floats(sharing.TAPS, sharing.TAPS)
    return grid, (np.zeros((edge, edge), np.float32), _floats(scale, scale), weights)


def _softmax(out: Array, inp: Array) -> Any:
    each = np.exp(inp - inp.max(axis=1, keepdims=True))
    return each / each.sum(axis=1, keepdims=True)


def _rms(out: Array, inp: Array, epsilon: float) -> Any:
    return inp / np.sqrt((inp * inp).mean(axis=1, keepdims=True) + epsilon)


def _rms_rows(scale: int) -> tuple[Any, Arguments]:
    grid, arrays = _rows(scale, 1024, 32)
    return grid, (*arrays, np.float32(1e-5))


def _matrix_vector(scale: int) -> tuple[Any, Arguments]:
    matrix = _floats(scale, 4096)
    return (scale * 32 // 256,), (np.zeros(scale, np.float32), matrix, _floats(4096))


def _products(scale: int) -> tuple[Any, Arguments]:
    a, b = (_random(n).integers(-9, 9, (scale, scale)).astype(np.int32) for n in (1, 2))
    return (scale // 16, scale // 16), (np.zeros_like(a), a, b)


def _bodies(scale: int) -> tuple[Any, Arguments]:
    bodies = _random().random((scale, 4)).astype(np.float32)
    return (scale // 128,), (np.zeros((scale, 3), np.float32), bodies)


def _pull(out: Array, bodies: Array) -> Any:
    place = bodies[:, :3].astype(np.float64)
    apart = place[None] - place[:, None]
    near = (apart**2).sum(axis=2) + 0.01
    return ((bodies[:, 3] / near**1.5)[..., None] * apart).sum(axis=1)


def _doubles(scale: int) -> tuple[Any, Arguments]:
    return (scale // 1024,), (np.zeros(scale), _random().random(scale))


def _horner(out: Array, inp: Array) -> Any:
    found = np.ones_like(inp)
    for step in range(computing.ROUNDS):
        found = found * inp + step * 0.001
    return found


def _dots(scale: int) -> tuple[Any, Arguments]:
    grid, (out, a) = _sums(scale, max(1, scale // 8192), np.float64)
    return grid, (out, a, a[::-1].copy())


def _words(scale: int, dtype: Any) -> tuple[Any, Arguments]:
    words = _random().integers(1, 1 << 31, scale).astype(dtype)
    return (scale // 256,), (np.zeros(scale, dtype), words)


def _shifted(out: Array, inp: Array) -> Any:
    word = inp.copy()
    for _ in range(computing.ROUNDS):
        word ^= word << np.uint32(13)
        word ^= word >> np.uint32(17)
        word ^= word << np.uint32(5)
    return word


def _multiplied(out: Array, inp: Array) -> Any:
    word = inp.copy()
    for _ in range(computing.ROUNDS):
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word


def _plane(scale: int) -> tuple[Any, Arguments]:
    step = np.float32(3 / scale)
    arguments = (np.zeros((scale, scale), np.int32), np.float32(-2.25), np.float32(-1.5), step)
    return (scale // 32, scale // 8), arguments


def _escaped(out: Array, left: Any, top: Any, step: Any) -> Any:
    edge = np.arange(len(out), dtype=np.float32)
    re, im = np.broadcast_arrays(left + edge[None] * step, top + edge[:, None] * step)
    x, y, count = np.zeros_like(re), np.zeros_like(re), np.zeros(re.shape, np.int32)
    for _ in range(computing.STEPS):
        inside = x * x + y * y < 4
        count += inside
        x, y = (
            np.where(inside, x * x - y * y + re, x),
            np.where(inside, 2 * x * y + im, y),
        )
    return count


def _three_n(scale: int) -> tuple[Any, Arguments]:
    return (scale // 256,), (np.zeros(scale, np.int32), 1_000_001)


def _halvings(out: Array, first: int) -> Any:
    number, count = first + np.arange(out.size), np.zeros(out.size, np.int32)
    while (number > 1).any():
        count += number > 1
        stepped = np.where(number % 2, 3 * number + 1, number // 2)
        number = np.where(number > 1, stepped, number)
    return count


def _walk(scale: int) -> tuple[Any, Arguments]:
    steps = 256 if scale > 1 << 16 else 8
    blocks = 264 if scale > 1 << 16 else 2
    return (blocks,), (np.zeros(blocks * 256, np.uint32), ring(scale, 1), steps)


def _walked(out: Array, places: Array, steps: int = computing.ROUNDS * 4) -> Any:
    at = np.arange(out.size) if steps < 256 or places.size > computing.WORDS else None
    at = np.tile(np.arange(256), out.size // 256) if at is None else at
    for _ in range(steps):
        at = places[at]
    return at


def _tile_walk(scale: int) -> tuple[Any, Arguments]:
    return (scale,), (np.zeros(scale * 256, np.uint32), ring(computing.WORDS, 1))


def _search(scale: int) -> tuple[Any, Arguments]:
    keys = _random().integers(0, 4 * scale, scale).astype(np.int32)
    among = np.sort(_random(2).integers(0, 4 * scale, scale).astype(np.int32))
    return (scale // 256,), (np.zeros(scale, np.int32), keys, among)


def _functions(out: Array, inp: Array) -> Any:
    at = inp[:, None].astype(np.float64) + np.arange(computing.ROUNDS)
    return (np.sin(at) + np.exp(-at) + np.log(at) + np.sqrt(at)).sum(axis=1)


def _ways(scale: int) -> tuple[Any, Arguments]:
    return (scale,), (np.zeros(scale * 256, np.float32), _floats(computing.WORDS))


def _apart(ways: int) -> Callable[..., Any]:
    def wanted(out: Array, inp: Array) -> Any:
        lanes = np.tile(np.arange(256), out.size // 256)[:, None] * ways
        return inp[(lanes + np.arange(computing.ROUNDS * 4)) % computing.WORDS].sum(axis=1)

    return wanted


LINE = (256,)
WIDE = (32, 8)
SQUARE = (16, 16)
M = 1 << 20

CASES: tuple[Case, ...] = (
    Case(streaming.timed_saxpy, LINE, 32 * M, 8192, _saxpy, lambda out, inp, by: out + by * inp),
    Case(streaming.timed_misaligned, LINE, 32 * M, 512, _misaligned, lambda out, inp: inp[1:]),
    Case(streaming.timed_gather, LINE, 8 * M, 1024, _gather, lambda out, inp, at: inp[at]),
    Case(
        streaming.timed_field,
        LINE,
        8 * M,
        512,
        lambda n: ((n // 256,), (np.zeros(n, np.float32), _floats(n, streaming.FIELDS))),
        lambda out, records: records[:, 2],
    ),
    Case(streaming.timed_window, LINE, 32 * M, 1024, _line, _window),
    Case(streaming.timed_five_points, WIDE, 4096, 40, lambda n: _picture(n, (32, 8)), _five),
    Case(streaming.timed_seven_points, WIDE, 512, 40, _space, _seven, 1e-5),
    Case(
        streaming.timed_matrix_vector,
        LINE,
        8192,
        16,
        _matrix_vector,
        lambda out, matrix, vector: matrix @ vector,
    ),
    Case(
        sharing.timed_sum_tree,
        LINE,
        32 * M,
        4096,
        lambda n: _strides(n, 1056 if n > M else 4),
        lambda out, inp: _strided(inp, out.size),
    ),
    Case(
        sharing.timed_sum_shuffles,
        LINE,
        32 * M,
        4096,
        lambda n: ((n // 1024,), (np.zeros(n // 128, np.float32), _floats(n))),
        lambda out, inp: inp.reshape(-1, 128).sum(axis=1),
    ),
    Case(
        sharing.timed_largest,
        LINE,
        8192,
        3,
        lambda n: _rows(n, 4096, 256, np.zeros(n, np.float32)),
        lambda out, inp: inp.max(axis=1),
    ),
    Case(
        sharing.timed_running_sums,
        LINE,
        16 * M,
        512,
        _line,
        lambda out, inp: inp.reshape(-1, 256).cumsum(axis=1).ravel(),
    ),
    Case(
        sharing.timed_counts_shared,
        LINE,
        64 * M,
        2048,
        lambda n: _bytes(n, 1056 if n > M else 2),
        lambda counts, inp: np.bincount(inp, minlength=sharing.BINS),
    ),
    Case(
        sharing.timed_counts_global,
        LINE,
        8 * M,
        512,
        _values,
        lambda counts, inp: np.bincount(inp, minlength=counts.size),
    ),
    Case(
        sharing.timed_sorted_blocks,
        LINE,
        4 * M,
        512,
        lambda n: _words(n, np.uint32),
        lambda out, inp: np.sort(inp.reshape(-1, 256), axis=1).ravel(),
    ),
    Case(sharing.timed_convolution, SQUARE, 4096, 40, _convolution, _convolved),
    Case(sharing.timed_softmax, LINE, 8192, 2, lambda n: _rows(n, 2048, 256), _softmax, 1e-5),
    Case(sharing.timed_rms_rows, LINE, 32768, 8, _rms_rows, _rms, 1e-5),
    Case(sharing.timed_int_product, SQUARE, 1024, 32, _products, lambda out, a, b: a @ b),
    Case(computing.timed_bodies_tiled, (128,), 16384, 256, _bodies, _pull, 1e-3),
    Case(computing.timed_bodies_global, (128,), 16384, 256, _bodies, _pull, 1e-3),
    Case(computing.timed_polynomial64, LINE, 4 * M, 1024, _doubles, _horner, 1e-12),
    Case(
        computing.timed_dot64,
        LINE,
        16 * M,
        8192,
        _dots,
        lambda out, a, b: _strided(a * b, out.size),
    ),
    Case(computing.timed_shift_hash, LINE, 8 * M, 512, lambda n: _words(n, np.uint32), _shifted),
    Case(
        computing.timed_product_hash,
        LINE,
        4 * M,
        512,
        lambda n: _words(n, np.uint64),
        _multiplied,
    ),
    Case(computing.timed_escape, WIDE, 2048, 32, _plane, _escaped, odd=0.02),
    Case(computing.timed_three_n, LINE, 1 * M, 256, _three_n, _halvings),
    Case(computing.timed_walk_global, LINE, 8 * M, 4096, _walk, _walked),
    Case(computing.timed_walk_shared, LINE, 1056, 1, _tile_walk, _walked),
    Case(
        computing.timed_search,
        LINE,
        4 * M,
        512,
        _search,
        lambda out, keys, among: np.searchsorted(among, keys),
    ),
    Case(computing.timed_functions, LINE, 2 * M, 256, _line, _functions, 1e-4),
    Case(computing.timed_ways_2, LINE, 1056, 2, _ways, _apart(2)),
    Case(computing.timed_ways_8, LINE, 1056, 2, _ways, _apart(8)),
    Case(computing.timed_ways_32, LINE, 1056, 2, _ways, _apart(32)),
)
"""All of them, those that stream first."""
