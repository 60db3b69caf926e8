"""Races around fences and atomics: the watcher names what vector clocks of single lanes name."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from oracle import random_signals, releases
from smemnb.lockstep import launch
from smemnb.tracing.watchers.races import Races

THREADS = 40


def site_key(site: Any) -> Any:
    kind = site.kind if site.kind in ("load", "store") else "atomic"
    return site.line, site.column, kind


def told(watcher: Races) -> dict[Any, int]:
    cells: dict[Any, int] = defaultdict(int)
    for one in watcher.observations():
        assert one.other is not None
        cells[one.kind, frozenset((site_key(one.site), site_key(one.other)))] += one.count
    return dict(cells)


SLOW = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(40, 60)]


@pytest.mark.first(15)
@pytest.mark.parametrize("seed", [*range(40), *SLOW])
def test_random_signals(seed: int) -> None:
    """The same pairs of lines, kinds and numbers of cells."""
    blocks = random_signals.blocks_of(seed)
    inp = np.random.default_rng(seed).permutation(blocks * THREADS).astype(np.float32)
    data = np.zeros(random_signals.CELLS, np.float32)
    args = np.zeros_like(inp), data, np.zeros(random_signals.COUNTS, np.int32), inp
    listener, watcher = releases.Listener(), Races()
    kernel = random_signals.kernel_of(seed)
    launch(kernel, (blocks, 1, 1), (THREADS, 1, 1), args, watchers=[listener, watcher])
    assert told(watcher) == releases.races(listener)
