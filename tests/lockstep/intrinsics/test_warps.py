"""Shuffles, votes and matches of every type, and lanes that do not fit together."""

import numpy as np
import pytest
from numba import cuda

from smemnb import lockstep
from smemnb.lockstep.watch import Watcher
from smemnb.simulator import seam
from tests.lockstep.intrinsics.typed import CONTEXT, numba_type, run, run_alone

FULL = 0xFFFFFFFF
BUILT_IN = cuda.implementation == "Built-in"
LANES = range(32)


def idx(out, x, by):
    t = cuda.threadIdx.x
    out[t] = cuda.shfl_sync(FULL, x[t], by[t])


def up(out, x, by):
    t = cuda.threadIdx.x
    out[t] = cuda.shfl_up_sync(FULL, x[t], by[t])


def down(out, x, by):
    t = cuda.threadIdx.x
    out[t] = cuda.shfl_down_sync(FULL, x[t], by[t])


def xor(out, x, by):
    t = cuda.threadIdx.x
    out[t] = cuda.shfl_xor_sync(FULL, x[t], by[t])


SOURCES = {
    idx: lambda t, by: by % 32,
    up: lambda t, by: t - by % 32 if t >= by % 32 else t,
    down: lambda t, by: t + by % 32 if t + by % 32 < 32 else t,
    xor: lambda t, by: t ^ (by % 32),
}
"""Kernel -> the lane that PTX's shfl reads: five bits of the distance count."""


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("kernel", SOURCES, ids=lambda k: k.__name__)
def test_shuffles(kernel, dtype):
    """Each lane names its own source or distance; 33 counts as 1, -1 as 31."""
    x = np.random.default_rng(8).normal(size=32).astype(dtype) if dtype[0] == "f" else None
    if x is None:
        x = np.random.default_rng(8).integers(-(2**31), 2**31, 32).astype(dtype) * (
            2**33 + 1 if dtype == "int64" else 1
        )
    by = np.random.default_rng(9).integers(-40, 70, 32).astype(np.int32)
    out = np.zeros(32, dtype)
    run(kernel, out, x, by)
    assert out.tolist() == [x[SOURCES[kernel](t, int(by[t]))].item() for t in LANES]


@pytest.mark.parametrize(
    "dtype",
    [
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
        "bool",
    ],
)
def test_types(dtype):
    """What a shuffle hands back has the type Numba says, where Numba takes the value at all."""
    function = CONTEXT.resolve_value_type(cuda.shfl_sync)
    try:
        with seam.target_override("cuda"):
            found = function.get_call_type(
                CONTEXT, tuple(map(numba_type, ("int64", dtype, "int64"))), {}
            )
    except Exception:
        assert not BUILT_IN or dtype in ("uint64", "float16")
        return

    SEEN.clear()
    run_alone(noted, np.zeros(32, dtype))
    assert SEEN == [found.return_type]


def note(value):
    """Stands for the call in `noted`."""


SEEN = []


@lockstep.lockstep_implementation(note)
def _(batch, mask, site, moved):
    SEEN.append(numba_type(moved.dtype))


def noted(x):
    note(cuda.shfl_sync(FULL, x[cuda.threadIdx.x], 3))


def votes(out, p, mask):
    t = cuda.threadIdx.x
    m = mask[t // 32]
    if p[t] < 4:
        out[0, t] = cuda.all_sync(m, p[t] > 0)
        out[1, t] = cuda.any_sync(m, p[t] > 2)
        out[2, t] = cuda.eq_sync(m, p[t] > 0)
        out[3, t] = cuda.ballot_sync(m, p[t])
        out[4, t] = cuda.activemask()
        out[5, t] = cuda.lanemask_lt()


def word(bits):
    """A signed 32-bit word with these bits set."""
    value = sum(1 << bit for bit in bits)
    return value - (1 << 32) if value >> 31 else value


def test_votes_of_a_part():
    """Only active lanes that the mask names vote; each warp on its own."""
    p = np.random.default_rng(10).integers(0, 5, 64).astype(np.int32)
    mask, out = np.array([0x0FFF00F0, FULL]), np.zeros((6, 64), np.int64)
    run(votes, out, p, mask, block=64)
    for warp in (0, 1):
        active = [t for t in LANES if p[32 * warp + t] < 4]
        named = [t for t in active if int(mask[warp]) >> t & 1]
        values = {t: int(p[32 * warp + t]) for t in LANES}
        expected = [
            all(values[t] > 0 for t in named),
            any(values[t] > 2 for t in named),
            len({values[t] > 0 for t in named}) == 1,
            word(t for t in named if values[t]),
            sum(1 << t for t in active),
        ]
        for t in active:
            assert out[:5, 32 * warp + t].tolist() == expected
            assert out[5, 32 * warp + t] == (1 << t) - 1


def matches(out, x, same):
    t = cuda.threadIdx.x
    out[0, t] = cuda.match_any_sync(FULL, x[t])
    bits, agreed = cuda.match_all_sync(FULL, x[t])
    out[1, t] = bits
    out[2, t] = agreed
    bits, agreed = cuda.match_all_sync(FULL, same[t])
    out[3, t] = bits
    out[4, t] = agreed


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_matches(dtype):
    """Values are compared bit by bit: NaN matches itself, 0.0 does not match -0.0."""
    x = np.random.default_rng(11).integers(0, 3, 32).astype(dtype)
    if dtype.startswith("float"):
        x[3:7], x[9], x[11] = np.nan, 0.0, -0.0
    out, size = np.zeros((5, 32), np.int64), x.itemsize
    run(matches, out, x, np.full(32, x[5], dtype))
    bits = [x[t : t + 1].tobytes() for t in LANES]
    assert size == len(bits[0])
    assert out[0].tolist() == [word(u for u in LANES if bits[u] == bits[t]) for t in LANES]
    assert [set(row) for row in out[1:].tolist()] == [{0}, {0}, {-1}, {1}]


class Exchanges(Watcher):
    """(expression, strays, unnamed, missing) of every exchange that does not fit."""

    def __init__(self):
        self.seen = []

    def exchange(self, event):
        lanes = [
            np.broadcast_to(part, (1, 1, 32))[0, 0]
            for part in (event.strays, event.unnamed, event.missing)
        ]
        self.seen.append(
            (event.site.text.split("(")[0], *(np.flatnonzero(part).tolist() for part in lanes))
        )


def half_a_warp(out):
    t = cuda.threadIdx.x
    if t < 16:
        out[t] = cuda.shfl_down_sync(0xFFFF, t, 1)


def past_the_half(out):
    t = cuda.threadIdx.x
    if t < 16:
        out[t] = cuda.shfl_sync(FULL, t, t + 8)


def not_in_its_mask(out):
    t = cuda.threadIdx.x
    out[t] = cuda.shfl_xor_sync(0x0000FFFF, t, 16)


def own_masks(out):
    t = cuda.threadIdx.x
    half = 0xFFFF if t < 16 else 0xFFFF0000
    out[t] = cuda.shfl_xor_sync(half, t, 1) + cuda.shfl_xor_sync(half, t, 31)


def votes_of_some(out):
    t = cuda.threadIdx.x
    if t % 2 == 0:
        out[t] = cuda.ballot_sync(FULL, 1)


def after_return(out):
    t = cuda.threadIdx.x
    if t >= 24:
        return
    out[t] = cuda.shfl_down_sync(FULL, t, 4)


def whole(out):
    t = cuda.threadIdx.x
    v = t
    for k in range(5):
        v += cuda.shfl_xor_sync(FULL, v, 1 << k)
    out[t] = v


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (whole, []),
        (half_a_warp, [("cuda.shfl_down_sync", [15], [], [])]),
        (past_the_half, [("cuda.shfl_sync", list(range(8, 16)), [], list(range(16, 32)))]),
        (not_in_its_mask, [("cuda.shfl_xor_sync", list(range(16)), list(range(16, 32)), [])]),
        (own_masks, []),
        (votes_of_some, [("cuda.ballot_sync", [], [], list(range(1, 32, 2)))]),
        (after_return, [("cuda.shfl_down_sync", list(range(20, 24)), [], [])]),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_lanes_that_do_not_fit(kernel, expected):
    """Who reads a lane that takes no part, whose mask leaves it out, who is named and elsewhere."""
    watcher = Exchanges()
    run(kernel, np.zeros(32, np.int64), watchers=(watcher,))
    assert watcher.seen == expected
