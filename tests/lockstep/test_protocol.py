"""An intrinsic of one's own: declared once, then run, counted and checked like any other."""

import numpy as np
from numba import cuda, float32

from smemnb import lockstep
from smemnb.lockstep.watch import Access
from smemnb.tracing.watchers.counting import Counting
from smemnb.tracing.watchers.initialisation import Initialisation
from smemnb.tracing.watchers.races import Races


def ld4(array, index):
    """Four neighbours at once; a GPU would run PTX here."""
    raise NotImplementedError


@lockstep.lockstep_implementation(ld4)
def _(batch, mask, site, array, index):
    offset, active = array.place(batch, (index,), mask, site)
    batch.report_access(Access(site, array, "load", offset, active, elements=4))
    return tuple(array.store.read(batch, offset + at) for at in range(4))


def sums(out, inp):
    tile = cuda.shared.array(128, float32)
    tx = cuda.threadIdx.x
    for k in range(4):
        tile[tx + 32 * k] = inp[tx + 32 * k]
    cuda.syncwarp()
    a, b, c, d = ld4(tile, 4 * tx)
    out[tx] = a + b + c + d


def unsynchronised(out, inp):
    tile = cuda.shared.array(128, float32)
    tx = cuda.threadIdx.x
    for k in range(3):
        tile[tx + 32 * k] = inp[tx + 32 * k]
    a, b, c, d = ld4(tile, 4 * tx)
    out[tx] = a + b + c + d


def run(kernel):
    inp, out = np.arange(128, dtype=np.float32), np.zeros(32, np.float32)
    watchers = Counting(), Races(), Initialisation()
    lockstep.launch(kernel, (1, 1, 1), (32, 1, 1), (out, inp), watchers=watchers)
    return out, watchers


def test_wide_access_is_counted_by_its_width():
    """16 bytes per lane in a row: four wavefronts, none of them extra; no finding."""
    out, (counting, races, initialisation) = run(sums)
    np.testing.assert_array_equal(out, np.arange(128).reshape(32, 4).sum(axis=1))
    (wide,) = [count for count in counting.counts() if count.width == 16]
    assert (wide.site.text, wide.requests, wide.wavefronts, wide.ideal) == (
        "ld4(tile, 4 * tx)",
        1,
        4,
        4,
    )
    assert races.observations() == initialisation.observations() == []


def test_wide_access_is_checked_cell_by_cell():
    """The cells that others stored race, the last 32 that nobody stored are uninitialised."""
    _, (_, races, initialisation) = run(unsynchronised)
    (race,) = races.observations()
    # thread c % 32 stored cell c, thread c // 4 loads it
    strangers = sum(cell % 32 != cell // 4 for cell in range(96))
    assert (race.kind, race.count) == ("race_in_warp", strangers)
    (early,) = initialisation.observations()
    assert (early.index, early.count, early.detail["cells"]) == ((96,), 32, 32)
