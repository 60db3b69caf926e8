"""Copies under way in the replay: when they have arrived, what is drawn of them."""

import numpy as np
import pytest
from numba import cuda, float32

import smemnb
from smemnb.figures.replay.state import state
from smemnb.figures.replay.still import crosses, panels, still
from smemnb.kernels.ptx.asynchronous import close_group, copy4, groups_awaited

N, STAGES, ROUNDS = 64, 3, 4
but_one = groups_awaited(1)


@cuda.jit
def pipeline(out, inp):
    stages = cuda.shared.array((STAGES, N), float32)
    tx = cuda.threadIdx.x
    acc = float32(0)
    for s in range(STAGES - 1):
        copy4(stages, s * N + tx, inp, s * N + tx, True)
        close_group()
    for i in range(ROUNDS):
        but_one()
        cuda.syncthreads()
        ahead = i + STAGES - 1
        if ahead < ROUNDS:
            copy4(stages, ahead % STAGES * N + tx, inp, ahead * N + tx, True)
        close_group()
        acc += stages[i % STAGES, N - 1 - tx]
    out[tx] = acc


@pytest.fixture(scope="module")
def found():
    inp = np.arange(ROUNDS * N, dtype=np.float32)
    return smemnb.replay(pipeline)[1, N](np.zeros(N, np.float32), inp)


def test_stages_under_way(found):
    """At the end of each phase one stage is under way: the one sent last."""
    drawn = panels(found.runs[0])
    assert [panel.under_way.sum(axis=1).tolist() for panel in drawn] == [
        [0, N, 0],
        [0, 0, N],
        [N, 0, 0],
    ]
    assert [(panel.warps >= 0).sum() for panel in drawn] == [2 * N, 3 * N, 3 * N]


def test_crosses_of_a_flat_array(found):
    """Three rows of 64 are drawn high: a cross stands for 3 neighbours, or for what is left."""
    flat = panels(found.runs[0])[0]
    stale = ((0, 4), (0, 5), (0, 6), (0, 7), (0, 9), (1, 0))
    assert crosses(flat._replace(stale=stale)) == [(0, 4, 3), (0, 7, 1), (0, 9, 1), (1, 0, 1)]
    square = flat._replace(rows=32, cols=32, stale=stale)
    assert crosses(square) == [(row, col, 1) for row, col in stale]


def test_arrivals(found):
    """Each warp sends four stages; the last round waits for the last of them."""
    run = found.runs[0]
    sent = [at for at, one in enumerate(run.events) if one.copy and not one.reads]
    assert len(sent) == 2 * ROUNDS
    waited = {at: run.arrivals[at] for at in sent}
    assert all(later > at for at, later in waited.items())
    assert run.under_way(len(run.steps) - 1).size == 0
    assert run.under_way(-1).size == 0


def test_on_the_page(found):
    """The page has the arrivals of the copies, the text says how many elements are under way."""
    shown = state(found.runs, 0, pipeline.py_func, found.film)
    copies = shown["runs"][0]["copies"]
    assert len(copies) == 2 * ROUNDS
    assert all(shown["runs"][0]["events"][at][1] == "store" for at, _ in copies)
    assert repr(still(found.runs[0])).count("64 elements under way") == 3


def test_kernels_without_copies():
    """Nothing is said of copies where there are none."""

    @cuda.jit
    def plain(out, inp):
        tile = cuda.shared.array(N, float32)
        tx = cuda.threadIdx.x
        tile[tx] = inp[tx]
        cuda.syncthreads()
        out[tx] = tile[N - 1 - tx]

    found = smemnb.replay(plain)[1, N](np.zeros(N, np.float32), np.ones(N, np.float32))
    assert "copies" not in state(found.runs, 0, plain.py_func, found.film)["runs"][0]
    assert not any(panel.under_way.any() for panel in panels(found.runs[0]))


def test_late_landing():
    """A tail that waits for too few groups reads what was in its stage before."""

    @cuda.jit
    def with_tail(out, inp):
        stages = cuda.shared.array((STAGES, N), float32)
        tx = cuda.threadIdx.x
        acc = float32(0)
        for s in range(STAGES - 1):
            copy4(stages, s * N + tx, inp, s * N + tx, True)
            close_group()
        for i in range(ROUNDS):
            but_one()
            cuda.syncthreads()
            ahead = i + STAGES - 1
            if ahead < ROUNDS:
                copy4(stages, ahead % STAGES * N + tx, inp, ahead * N + tx, True)
                close_group()
            acc += stages[i % STAGES, N - 1 - tx]
        out[tx] = acc

    inp = np.arange(ROUNDS * N, dtype=np.float32)
    found = smemnb.replay(with_tail)[1, N](np.zeros(N, np.float32), inp)
    run = found.runs[0]
    assert (run.order, run.stale_count) == ("late", N)
    assert {(one.kind, one.index[0]) for one in run.stale} == {("older", 0)}
    right = smemnb.replay(pipeline)[1, N](np.zeros(N, np.float32), inp)
    assert right.runs[0].stale_count == 0
