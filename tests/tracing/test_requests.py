"""Every request of an access: as the engine made it, adding up to what the trace counted."""

from dataclasses import replace

import numpy as np
import pytest
from numba import cuda, float32, int32

from smemnb.errors import SmemnbError
from smemnb.kernels.transpose import transpose_padded, transpose_tiled
from smemnb.rules import bank
from smemnb.tracing import Trace, trace
from smemnb.tracing.requests import MOST, requests_of
from tests.facts import facts


def transposed(kernel, **how):
    inp = np.arange(100 * 70, dtype=np.float32).reshape(100, 70)
    return trace(kernel, **how)[(3, 4), (32, 32)](np.zeros((70, 100), np.float32), inp)


def sums(one):
    """Requests and wavefronts of an access, by `rules.bank` from its addresses."""
    row = one.row
    each = [
        int(bank.wavefronts(r.address, width=row.width, active=r.active, kind=row.kind))
        for r in one.kept
    ]
    requests = one.others + sum(r.times for r in one.kept)
    wavefronts = sum(r.times * n for r, n in zip(one.kept, each, strict=True))
    return requests, one.others_wavefronts + wavefronts


@pytest.mark.parametrize("kernel", [transpose_tiled, transpose_padded])
def test_add_up_to_the_trace(kernel):
    """Requests and wavefronts of each line are those of its row, partial warps included."""
    report = transposed(kernel)
    found = requests_of(report)
    assert [one.row for one in found] == [row for row in report.lines if row.space == "shared"]
    assert [sums(one) for one in found] == [(one.row.requests, one.row.wavefronts) for one in found]
    assert [(one.others, one.why) for one in found] == [(0, ""), (0, "")]


def test_who_made_them():
    """Equal requests of many blocks are one, with the block and warp that came first."""
    store, load = requests_of(transposed(transpose_tiled))
    assert (store.shape, store.itemsize, store.base) == ((32, 32), 4, 0)
    whole, narrow = store.kept[5], store.kept[-1]
    assert whole.address == tuple(640 + 4 * lane for lane in range(32))
    # 2 of 3 columns of blocks are whole; of 4 rows of blocks the last has 4 rows of elements
    assert (whole.times, whole.block, whole.warp) == (2 * 3, (0, 0, 0), 5)
    assert (sum(narrow.active), narrow.times, narrow.block, narrow.warp) == (6, 3, (2, 0, 0), 31)
    assert load.kept[0].address == tuple(128 * lane for lane in range(32))


@pytest.mark.parametrize("place", [np.asarray, cuda.to_device], ids=["host", "device"])
def test_arguments_as_they_were(place):
    """The second run begins with what the first one found, and leaves the arrays alone."""

    @cuda.jit
    def shift(out):
        tile = cuda.shared.array(64, int32)
        tx = cuda.threadIdx.x
        tile[out[tx] % 64] = tx
        out[tx] = out[tx] + 1

    out = place(np.arange(32, dtype=np.int32))
    report = trace(shift)[1, 32](out)
    (one,) = requests_of(report)
    assert one.kept[0].address == tuple(4 * lane for lane in range(32))
    now = out if place is np.asarray else out.copy_to_host()
    assert now.tolist() == list(range(1, 33))
    assert one.row.array == "tile"


def test_prints_nothing(capsys):
    """What a kernel prints is printed by the trace alone."""

    @cuda.jit
    def loud(out):
        tile = cuda.shared.array(32, float32)
        tile[cuda.threadIdx.x] = 1
        if cuda.threadIdx.x == 0:
            print(7)
        out[cuda.threadIdx.x] = tile[cuda.threadIdx.x]

    report = trace(loud)[1, 32](np.zeros(32, np.float32))
    assert capsys.readouterr().out == "7\n"
    assert len(requests_of(report)) == 2
    assert capsys.readouterr().out == ""


@cuda.jit
def many(out):
    tile = cuda.shared.array(4096, int32)
    tx = cuda.threadIdx.x
    for i in range(400):
        tile[(i + tx * (i // 399 * 31 + 1)) % 4096] = i  # the last one has stride 32
    out[tx] = tile[tx]


def test_too_many():
    """Of an access with more than `MOST` requests the worst is kept, and the sums are exact."""
    report = trace(many)[1, 32](np.zeros(32, np.int32))
    store, load = requests_of(report)
    assert (len(store.kept), store.others, store.row.requests) == (MOST, 400 - MOST, 400)
    assert store.kept[-1].address == store.row.worst.address
    assert sums(store) == (400, store.row.wavefronts) == (400, 399 + 32)
    assert len(load.kept) == 1


def test_order_of_requests():
    """They come in the order of the run."""
    store, _ = requests_of(trace(many)[1, 32](np.zeros(32, np.int32)))
    assert [one.address[0] for one in store.kept[:-1]] == [4 * i for i in range(MOST - 1)]


def test_dynamic_shared_memory():
    """A launch with dynamic bytes runs again with them; `base` makes addresses offsets."""

    @cuda.jit
    def dynamic(out):
        tile = cuda.shared.array(0, float32)
        tile[cuda.threadIdx.x * 2] = 1
        out[cuda.threadIdx.x] = tile[cuda.threadIdx.x * 2]

    store, _ = requests_of(trace(dynamic)[1, 32, 0, 256](np.zeros(32, np.float32)))
    assert (store.shape, store.kept[0].address[1] - store.base) == ((64,), 8)


def test_atomics():
    """Atomics keep their kind; sums hold for them, too."""

    @cuda.jit
    def count(out):
        bins = cuda.shared.array(8, int32)
        cuda.atomic.add(bins, cuda.threadIdx.x % 4, 2)
        out[0] = bins[0]

    add = requests_of(trace(count, checks=False)[1, 64](np.zeros(1, np.int32)))[0]
    assert (add.row.kind, add.kept[0].times, sums(add)) == ("atomic_add", 2, (2, 16))


def of_some_blocks():
    return transposed(transpose_tiled, blocks=[0])


def from_json():
    return Trace.from_json(transposed(transpose_tiled).to_json())


@pytest.mark.parametrize(("made", "said"), [(of_some_blocks, ["1", "12"]), (from_json, [])])
def test_worst_alone(made, said):
    """Where the launch cannot run again as it was there is the worst request, and the reason."""
    report = made()
    for one in requests_of(report):
        assert [kept.address for kept in one.kept] == [one.row.worst.address]
        assert one.why and facts(one.why) == said
        assert sums(one) == (one.row.requests, one.row.wavefronts)


def test_other_course():
    """A second run that makes other requests than the trace counted is not passed off as it."""
    report = transposed(transpose_tiled)
    lines = tuple(replace(row, wavefronts=row.wavefronts + 1) for row in report.lines)
    found = requests_of(replace(report, lines=lines))
    assert [len(one.kept) for one in found] == [1, 1]
    assert "" not in [one.why for one in found]


def test_nothing_to_step_through():
    """A kernel without shared memory is refused with its name."""

    @cuda.jit
    def plain(out):
        out[cuda.threadIdx.x] = 1

    with pytest.raises(SmemnbError, match="plain has no counted shared-memory request"):
        requests_of(trace(plain)[1, 32](np.zeros(32, np.float32)))


def test_again_and_again():
    """A request that a loop makes again is the one it was, made more often."""

    @cuda.jit
    def round_and_round(out):
        tile = cuda.shared.array(64, int32)
        tx = cuda.threadIdx.x
        for i in range(10):
            tile[tx + i % 2 * 32] = i
        out[tx] = tile[tx]

    store, _ = requests_of(trace(round_and_round)[3, 32](np.zeros(32, np.int32)))
    assert [(one.address[0], one.times) for one in store.kept] == [(0, 15), (128, 15)]
