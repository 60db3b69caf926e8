"""Shuffles, votes and bit functions against plain Python, with the dtypes of the type table."""

import numpy as np
import pytest
from numba import cuda

from smemnb import lockstep
from smemnb.lockstep.numbers.typing_rules import CALL_RESULTS, brev_dtype

FULL = 0xFFFFFFFF
X = np.random.default_rng(3).integers(0, 5, 32).astype(np.int32)


def run(kernel, dtype):
    out = np.zeros(32, dtype)
    lockstep.launch(kernel, (1, 1, 1), (32, 1, 1), (out, X))
    return out.tolist()


def down(out, x):
    t = cuda.threadIdx.x
    out[t] = cuda.shfl_down_sync(FULL, x[t], 5)


def up(out, x):
    t = cuda.threadIdx.x
    out[t] = cuda.shfl_up_sync(FULL, x[t], 5)


def flipped(out, x):
    t = cuda.threadIdx.x
    out[t] = cuda.shfl_xor_sync(FULL, x[t], 6)


def gathered(out, x):
    t = cuda.threadIdx.x
    out[t] = cuda.shfl_sync(FULL, x[t], (7 * t + 3) % 32)


def ballot(out, x):
    t = cuda.threadIdx.x
    out[t] = cuda.ballot_sync(0x0000FFFF, x[t] > 2)


def matched(out, x):
    t = cuda.threadIdx.x
    out[t] = cuda.match_any_sync(FULL, x[t])


def below(out, x):
    out[cuda.threadIdx.x] = cuda.lanemask_lt()


def active(out, x):
    t = cuda.threadIdx.x
    if x[t] > 2:
        out[t] = cuda.activemask()


def word(lanes):
    """A signed 32-bit word with these bits set."""
    value = sum(1 << lane for lane in lanes)
    return value - (1 << 32) if value >> 31 else value


@pytest.mark.parametrize(
    "kernel, expected",
    [
        (down, [X[t + 5] if t + 5 < 32 else X[t] for t in range(32)]),
        (up, [X[t - 5] if t >= 5 else X[t] for t in range(32)]),
        (flipped, [X[t ^ 6] for t in range(32)]),
        (gathered, [X[(7 * t + 3) % 32] for t in range(32)]),
        (ballot, [word(t for t in range(16) if X[t] > 2)] * 32),
        (matched, [word(u for u in range(32) if X[u] == X[t]) for t in range(32)]),
        (below, [(1 << t) - 1 for t in range(32)]),
        (active, [sum(1 << u for u in range(32) if X[u] > 2) * int(X[t] > 2) for t in range(32)]),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_warp(kernel, expected):
    """What each lane gets from its warp."""
    assert run(kernel, np.int64) == [int(value) for value in expected]


BITS = [0, 1, 2, 12, 255, 0x7FFFFFFF]


@pytest.mark.parametrize(
    "name, expected",
    [
        ("popc", lambda v: v.bit_count()),
        ("clz", lambda v: 32 - v.bit_length()),
        ("ffs", lambda v: (v & -v).bit_length()),
        ("brev", lambda v: int(f"{v:032b}"[::-1], 2)),
    ],
)
def test_bits(name, expected):
    """Bit functions of int32, lane by lane; ffs and brev give uint32."""
    from smemnb.lockstep.intrinsics.coordinates import IMPLEMENTATIONS

    value = np.array(BITS, np.int32)
    result = IMPLEMENTATIONS[name][0](None, None, None, value)
    assert result.tolist() == [expected(v) for v in BITS]
    special = {"ffs": CALL_RESULTS["ffs"], "brev": brev_dtype(value.dtype)}
    assert result.dtype == special.get(name, value.dtype)


def results(out, x):
    p = x[cuda.threadIdx.x] > 2
    observe("syncthreads_count", cuda.syncthreads_count(p))
    observe("syncthreads_and", cuda.syncthreads_and(p))
    observe("syncthreads_or", cuda.syncthreads_or(p))
    observe("all_sync", cuda.all_sync(FULL, p))
    observe("any_sync", cuda.any_sync(FULL, p))
    observe("eq_sync", cuda.eq_sync(FULL, p))
    observe("ballot_sync", cuda.ballot_sync(FULL, p))
    observe("match_any_sync", cuda.match_any_sync(FULL, x[0]))
    observe("activemask", cuda.activemask())
    observe("lanemask_lt", cuda.lanemask_lt())


def observe(name, value):
    """Stands for the call below."""


SEEN = {}


@lockstep.lockstep_implementation(observe)
def _(batch, mask, site, name, value):
    SEEN[name] = value


def test_result_types_and_block_votes():
    """The dtypes are those that Numba infers (compared in test_typing_rules), votes are counted."""
    run(results, np.int64)
    assert {name: value.dtype for name, value in SEEN.items()} == {
        name: CALL_RESULTS[name] for name in SEEN
    }
    votes = (X > 2).tolist()
    assert SEEN["syncthreads_count"].item() == sum(votes)
    assert SEEN["syncthreads_and"].item() == all(votes)
    assert SEEN["syncthreads_or"].item() == any(votes)
    assert [SEEN[n].item() for n in ("all_sync", "any_sync", "eq_sync")] == [
        all(votes),
        any(votes),
        len(set(votes)) == 1,
    ]
