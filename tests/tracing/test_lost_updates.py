"""Updates that lanes of one request lose, and those that only look like it."""

import importlib
import itertools

import numpy as np
import pytest
from numba import cuda, float32, int32

from smemnb.tracing import trace

LANES = np.arange(32, dtype=np.int32)
numbers = itertools.count()


def kernel_of(body, folder, monkeypatch):
    """A kernel of this body, with the parameters `out` and `x`, from a module of its own."""
    name = f"updates{next(numbers)}"
    source = f"from numba import cuda\n@cuda.jit\ndef kernel(out, x):\n    {body}\n"
    (folder / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(folder)
    return importlib.import_module(name).kernel


def found(kernel, *args, grid=1, block=32):
    """Kind, count and element of each race and each lost update."""
    findings = trace(kernel)[grid, block](*args).findings
    return [(one.kind, one.count, one.index) for one in findings if not one.price]


@cuda.jit
def added(out, x):
    out[x[cuda.grid(1)]] += 1


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (LANES, []),
        (LANES[::-1].copy(), []),
        (LANES % 4, [("lost_update", 28, (0,))]),
        (LANES * 0 + 5, [("lost_update", 31, (5,))]),
        (np.r_[LANES[:31], 30], [("lost_update", 1, (30,))]),
    ],
)
def test_count_and_element(cells, expected):
    """One update of each element is kept; the first element that loses some is named."""
    assert found(added, np.zeros(32, np.int32), cells) == expected


def test_threads_and_cure():
    """The first two lanes of the element; all errors name what loses nothing."""
    report = trace(added)[1, 32](np.zeros(4, np.int32), (LANES + 3) // 8 % 4)
    (one,) = report.races
    assert one.kind == "lost_update"
    assert (one.severity, one.threads, one.index) == ("error", ((0, 0, 0), (1, 0, 0)), (0,))
    assert "cuda.atomic.add" in one.cure


def test_only_active_lanes():
    """Lanes that are elsewhere lose nothing."""

    @cuda.jit
    def eighth(out, x):
        tx = cuda.threadIdx.x
        if tx % 8 == 0:
            out[x[tx]] += 1

    assert found(eighth, np.zeros(4, np.int32), LANES // 8) == []
    assert found(eighth, np.zeros(4, np.int32), LANES // 16) == [("lost_update", 2, (0,))]


STATEMENTS = [
    ("out[0] = out[0] + x[tx]", "+"),
    ("out[0] = x[tx] + out[0]", "+"),
    ("out[0] -= x[tx]", "-"),
    ("out[0] *= x[tx]", "*"),
    ("out[0] ^= x[tx]", "^"),
    ("out[0] |= x[tx]", "|"),
    ("out[0] = max(out[0], x[tx])", "max"),
    ("out[0] = min(x[tx], out[0])", "min"),
]


@pytest.mark.parametrize(("text", "update"), STATEMENTS)
def test_statements(text, update, tmp_path, monkeypatch):
    """Whatever the operator, and written out."""
    kernel = kernel_of(f"tx = cuda.threadIdx.x\n    {text}", tmp_path, monkeypatch)
    (one,) = trace(kernel)[1, 32](np.zeros(1, np.int32), LANES - 16).findings
    assert one.kind == "lost_update"
    assert one.count == (31 if update not in ("max", "min") else one.count)


@pytest.mark.parametrize("text", ["out[0] |= 4", "out[0] = max(out[0], 7)"])
def test_all_bring_the_same(text, tmp_path, monkeypatch):
    """Nothing is lost then; that the lanes race is said as before."""
    kernel = kernel_of(text, tmp_path, monkeypatch)
    kinds = [one.kind for one in trace(kernel)[1, 32](np.zeros(1, np.int32), LANES).findings]
    assert kinds == ["race_in_warp"]


@pytest.mark.parametrize("text", ["out[0] = out[1] + x[0]", "out[0] = x[0] - out[0]"])
def test_other_statements(text, tmp_path, monkeypatch):
    """What is no update of the element that is stored is a race as before."""
    kernel = kernel_of(text, tmp_path, monkeypatch)
    kinds = {one.kind for one in trace(kernel)[1, 32](np.zeros(2, np.int32), LANES).findings}
    assert "lost_update" not in kinds


def test_several_rounds():
    """Lanes that come to an element in different rounds race, and lose nothing in a request."""

    @cuda.jit
    def turned(out):
        for k in range(2):
            out[(cuda.threadIdx.x + k) % 32] += 1

    kinds = {kind for kind, *_ in found(turned, np.zeros(32, np.int32))}
    assert kinds == {"race_in_warp"}


def test_worse_races_of_the_statement():
    """Where warps or blocks race at the statement, that alone is said."""
    assert [kind for kind, *_ in found(added, np.zeros(4, np.int32), LANES % 4, block=16)] == [
        "lost_update"
    ]
    twice = np.r_[LANES % 4, LANES % 4]
    assert [kind for kind, *_ in found(added, np.zeros(4, np.int32), twice, grid=2)] == [
        "race_between_blocks"
    ]
    assert [kind for kind, *_ in found(added, np.zeros(4, np.int32), twice, block=64)] == ["race"]


def test_behind_a_lock():
    """Lanes that take a lock one after the other lose nothing."""

    @cuda.jit
    def locked(out, lock):
        done = False
        while not done:
            if cuda.atomic.cas(lock, 0, 0, 1) == 0:
                cuda.threadfence()
                out[0] += 1
                cuda.threadfence()
                cuda.atomic.exch(lock, 0, 0)
                done = True

    out = np.zeros(1, np.int32)
    assert found(locked, out, np.zeros(1, np.int32)) == []
    assert out[0] == 32


def test_fields_and_shared_memory():
    """A field of a record, and a tile of each block."""

    @cuda.jit
    def field(out):
        out[0].n += 1

    @cuda.jit
    def summed(out):
        total = cuda.shared.array(1, float32)
        total[0] = 0
        cuda.syncwarp()
        total[0] += cuda.threadIdx.x
        cuda.syncwarp()
        out[cuda.blockIdx.x] = total[0]

    records = np.zeros(1, np.dtype([("k", np.int32), ("n", np.int32)]))
    assert [kind for kind, *_ in found(field, records)] == ["lost_update"]
    lost = [
        one for one in found(summed, np.zeros(3, np.float32), grid=3) if one[0] == "lost_update"
    ]
    assert lost == [("lost_update", 93, (0,))]


def test_own_elements():
    """An element per thread, in local memory too."""

    @cuda.jit
    def own(out, x):
        acc = cuda.local.array(2, int32)
        acc[0] = 0
        acc[0] += x[cuda.grid(1)]
        out[cuda.grid(1)] += acc[0]

    assert found(own, np.zeros(64, np.int32), np.arange(64), grid=2) == []
