"""Which tests are run: those of the first tier unless others are asked for, and that can run here.

`tests/tiers.py` says what the tiers are. What this machine lacks is skipped with the reason;
`SMEMNB_REQUIRE=toolchain` (or `gpu`, `browser`, `site`, or several with commas) turns the skip into
a failure, so that a build that ought to have it cannot pass by skipping.
"""

from __future__ import annotations

import gc
import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from tests import browser
from tests.tiers import SEED

REQUIRED = set(filter(None, os.environ.get("SMEMNB_REQUIRE", "").split(",")))
CURES = {
    "toolchain": 'no CUDA toolchain: pip install -e ".[cu13]"',
    "gpu": "no NVIDIA GPU that this process may use",
    "browser": "no browser: pip install playwright, and have a Chromium (SMEMNB_CHROMIUM names it)",
    "site": 'no Sphinx with myst-nb and furo: pip install -e ".[site]"',
}


def has_toolchain() -> bool:
    from smemnb.compiled import available

    return available()


def has_gpu() -> bool:
    from smemnb.cli.machine import gpu_count

    return gpu_count() > 0


def has_site() -> bool:
    from docs.build import missing

    return not missing()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A headless Chromium, of playwright's synchronous API."""
    # of one module: while it is open, nothing else of this process can run an event loop
    with browser.opened() as found:
        yield found


def pytest_configure(config: pytest.Config) -> None:
    """Let `--dist loadfile` take files in the order of their tests, not by their number."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    move_all_but_the_first(items)
    leave_out_rare(config, items)
    if hasattr(config, "workerinput"):
        heavy_files_first(items)
    probes = {
        "toolchain": has_toolchain,
        "gpu": has_gpu,
        "browser": browser.available,
        "site": has_site,
    }
    for mark, probe in probes.items():
        marked = [item for item in items if item.get_closest_marker(mark)]
        if not marked or mark in REQUIRED or probe():
            continue
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=CURES[mark]))


def pytest_collection_finish() -> None:
    """Keep Python's collector of garbage from looking at all tests and modules time and again."""
    gc.freeze()


def move_all_but_the_first(items: list[pytest.Item]) -> None:
    """Give the mark `exhaustive` to the cases of a test that `first(n)` does not keep.

    Drawn by the name of the test and the number of its cases, so alike in every process.
    """
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        rare = item.get_closest_marker("exhaustive") or item.get_closest_marker("nightly")
        if item.get_closest_marker("first") and not rare:
            cases[item.nodeid.partition("[")[0]].append(item)
    for name, found in cases.items():
        mark = found[0].get_closest_marker("first")
        assert mark is not None
        kept = random.Random(f"{SEED} {name}").sample(found, min(mark.args[0], len(found)))
        for item in found:
            if item not in kept:
                item.add_marker("exhaustive")


def leave_out_rare(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is `exhaustive` or `nightly`, unless `-m` speaks of that mark.

    A test that is named by `::` stays. A hook and not `-m` in `addopts`, which `-m toolchain` or
    `-m "not slow"` would replace.
    """
    marks = [mark for mark in ("exhaustive", "nightly") if mark not in config.option.markexpr]
    named = tuple(one.rpartition("/")[2] for one in config.args if "::" in one)
    rare = {
        item
        for item in items
        if any(map(item.get_closest_marker, marks))
        and not any(name in item.nodeid for name in named)
    }
    if rare:
        config.hook.pytest_deselected(items=[item for item in items if item in rare])
        items[:] = [item for item in items if item not in rare]


def heavy_files_first(items: list[pytest.Item]) -> None:
    """Sort for several processes, so that none is left alone with a long file at the end.

    A file weighs what its slow tests weigh; a chapter, which is one process after all, as much as
    the heaviest of them.
    """
    weights: Counter[str] = Counter()
    for item in items:
        heavy = item.path.suffix == ".ipynb" or item.get_closest_marker("slow")
        weights[str(item.path)] += 20 if heavy else 1
    items.sort(key=lambda item: (-weights[str(item.path)], str(item.path)))
