"""Which tests this machine can run, and why the others are skipped.

`SMEMNB_REQUIRE=toolchain` (or `gpu`, or both with a comma) turns the skip into a failure, so that
a build that ought to have them cannot pass by skipping.
"""

from __future__ import annotations

import os

import pytest

REQUIRED = set(filter(None, os.environ.get("SMEMNB_REQUIRE", "").split(",")))
CURES = {
    "toolchain": 'no CUDA toolchain: pip install -e ".[cu13]"',
    "gpu": "no NVIDIA GPU that this process may use",
}


def has_toolchain() -> bool:
    from smemnb.compiled import available

    return available()


def has_gpu() -> bool:
    from smemnb.cli.machine import gpu_count

    return gpu_count() > 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    probes = {"toolchain": has_toolchain, "gpu": has_gpu}
    for mark, probe in probes.items():
        marked = [item for item in items if item.get_closest_marker(mark)]
        if not marked or mark in REQUIRED or probe():
            continue
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=CURES[mark]))
