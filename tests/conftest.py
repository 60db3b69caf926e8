"""Which tests this machine can run, and why the others are skipped.

`SMEMNB_REQUIRE=toolchain` (or `gpu`, or both with a comma) turns the skip into a failure, so that
a build that ought to have them cannot pass by skipping.
"""

from __future__ import annotations

import os
from importlib import metadata

import pytest

REQUIRED = set(filter(None, os.environ.get("SMEMNB_REQUIRE", "").split(",")))
NVVM = ("nvidia-nvvm", "nvidia-cuda-nvcc-cu12")
CURES = {
    "toolchain": 'no CUDA toolchain wheels: pip install -e ".[cu13]" nvidia-cuda-nvdisasm',
    "gpu": "no NVIDIA GPU that this process may use",
}


def installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def has_toolchain() -> bool:
    return any(installed(name) for name in NVVM) and any(
        installed(name) for name in ("nvidia-cuda-nvdisasm", "nvidia-cuda-nvdisasm-cu12")
    )


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
