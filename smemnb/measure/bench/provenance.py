"""Where and when: the GPU, its driver and clocks, the packages, the command."""

from __future__ import annotations

import datetime
import platform
import shutil
import subprocess
from importlib import metadata
from typing import Any

from numba import cuda

from ..results.model import Clocks, Gpu, Results

__all__ = ["clocks", "gpu", "origin"]

PACKAGES = (
    "smemnb",
    "numba",
    "numba-cuda",
    "llvmlite",
    "numpy",
    "cuda-bindings",
    "nvidia-nvvm",
    "nvidia-nvjitlink",
)
ASKED = "clocks.sm,clocks.mem,temperature.gpu,power.draw"
L2_BYTES = 64 << 20  # where a device does not say


def gpu() -> Gpu:
    """The device of this process."""
    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
    major, minor = device.compute_capability
    return Gpu(
        name=name,
        cc=f"{major}.{minor}",
        multiprocessors=int(device.MULTIPROCESSOR_COUNT),
        memory_bytes=int(cuda.current_context().get_memory_info()[1]),
        l2_bytes=int(getattr(device, "L2_CACHE_SIZE", L2_BYTES)),
    )


def origin(command: str, libraries: dict[str, str], l2: str) -> Results:
    """Results without rows, of here and now."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    major, minor = cuda.cudadrv.driver.driver.get_version()
    return Results(
        gpu=gpu(),
        driver=(_asked("driver_version") or ["unknown"])[0],
        cuda=f"{major}.{minor}",
        versions=versions,
        libraries=libraries,
        date=datetime.datetime.now(datetime.UTC).replace(microsecond=0).isoformat(),
        command=command,
        l2=l2,
    )


def clocks(when: str) -> Clocks:
    """What nvidia-smi reads now; None for everything where it is not to be had."""
    read: list[float | None] = [_number(word) for word in _asked(ASKED)]
    sm, memory, temperature, power = read if len(read) == 4 else [None] * 4
    return Clocks(when, sm, memory, temperature, power)


def _asked(fields: str) -> list[str]:
    """Fields of this process's GPU from nvidia-smi; [] if it does not answer."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    command = [tool, f"--query-gpu={fields}", "--format=csv,noheader,nounits"]
    uuid = _uuid()
    try:
        done = subprocess.run(
            [*command, f"--id={uuid}"] if uuid else command,
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    lines = done.stdout.splitlines()
    return [word.strip() for word in lines[0].split(",")] if lines else []


def _uuid() -> str:
    found: Any = getattr(cuda.get_current_device(), "uuid", "")
    text = found.decode() if isinstance(found, bytes) else str(found)
    return text if text.startswith("GPU-") else ""


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
