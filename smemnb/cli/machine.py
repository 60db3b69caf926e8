"""What this machine has, found without starting Numba: packages, driver, Jupyter kernel.

`look` gathers it once; `doctor.examine` judges it. The driver is asked by `ctypes`, because a
process without a GPU has the lockstep engine in the place of Numba's own answer.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

PACKAGES = (
    "numpy",
    "numba",
    "numba-cuda",
    "matplotlib",
    "rich",
    "jupyterlab",
    "ipykernel",
    "anywidget",
)
CUDA_12 = ("nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvrtc-cu12", "nvidia-nvjitlink-cu12")
CUDA_13 = ("nvidia-nvvm", "nvidia-cuda-nvrtc", "nvidia-nvjitlink")


@dataclass(frozen=True)
class Driver:
    """NVIDIA's driver: `cuda` is the newest CUDA it runs; `error` is its own code, 0 if well."""

    found: bool
    cuda: tuple[int, int] | None = None
    gpus: int = 0
    error: int = 0


@dataclass(frozen=True)
class Machine:
    """Everything that the doctor judges."""

    python: tuple[int, int, int]
    system: str
    processor: str
    virtual: bool
    versions: Mapping[str, str]
    toolkits: tuple[int, ...] = ()
    runtime: bool = True
    """Whether libcudart can be loaded, of a wheel or of a toolkit."""
    driver: Driver = Driver(found=False)
    wsl: bool = False
    linux_driver: bool = False
    kernel_python: str | None = None
    kernel_is_ours: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    try_trace: Callable[[], str] | None = None
    try_apart: Callable[[], tuple[bool, str]] | None = None
    """What learners' code would be run in, and whether that keeps it from the files here."""


def look() -> Machine:
    """This machine."""
    kernel_python, ours = jupyter_kernel()
    versions = {name: found for name in PACKAGES if (found := _version(name)) is not None}
    return Machine(
        python=sys.version_info[:3],
        system=platform.system(),
        processor=platform.machine(),
        virtual=sys.prefix != sys.base_prefix or "CONDA_PREFIX" in os.environ,
        versions=versions,
        toolkits=_toolkits(),
        runtime=_runtime(),
        driver=driver(),
        wsl="microsoft" in platform.release().lower(),
        linux_driver=_linux_driver(),
        kernel_python=kernel_python,
        kernel_is_ours=ours,
        environment=dict(os.environ),
        try_trace=_try_trace,
        try_apart=_try_apart,
    )


def gpu_count() -> int:
    """GPUs that the driver shows to this process."""
    return driver().gpus


def driver() -> Driver:
    """NVIDIA's driver, asked directly."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        library = ctypes.CDLL(name)
    except OSError:
        return Driver(found=False)
    error = int(library.cuInit(0))
    number, count = ctypes.c_int(0), ctypes.c_int(0)
    library.cuDriverGetVersion(ctypes.byref(number))
    cuda = (number.value // 1000, number.value % 1000 // 10)
    if error == 0:
        error = int(library.cuDeviceGetCount(ctypes.byref(count)))
    return Driver(found=True, cuda=cuda, gpus=count.value, error=error)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _toolkits() -> tuple[int, ...]:
    """Major versions of the CUDA toolchain wheels that are installed."""
    found = {12} if any(_version(name) for name in CUDA_12) else set()
    for name in CUDA_13:
        version = _version(name)
        if version is not None and version.split(".")[0].isdecimal():
            found.add(int(version.split(".")[0]))
    return tuple(sorted(found))


def _runtime() -> bool:
    """Whether numba-cuda finds the CUDA runtime library, by the search that it makes itself."""
    try:
        from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib  # type: ignore[import-untyped]
    except ImportError:  # without numba-cuda nobody asks for it
        return True
    try:
        load_nvidia_dynamic_lib("cudart")
    except (DynamicLibNotFoundError, OSError, RuntimeError):
        return False
    return True


def _linux_driver() -> bool:
    """Whether a Linux driver is installed, which inside WSL hides the one of Windows."""
    folders = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/aarch64-linux-gnu")
    return any((Path(folder) / "libcuda.so.1").exists() for folder in folders)


def jupyter_kernel() -> tuple[str | None, bool]:
    """Which Python the Jupyter kernel `python3` starts, and whether it is this one."""
    try:
        from jupyter_client.kernelspec import KernelSpecManager

        words = KernelSpecManager().get_kernel_spec("python3").argv
    except Exception:  # not installed, or no such kernel
        return None, False
    first = words[0]
    if Path(first).name == first:  # "python": Jupyter puts its own in its place
        return sys.executable, True
    here, there = Path(sys.executable), Path(first)
    # two environments may link to one interpreter: their folders differ
    return first, (here.parent.resolve(), here.name[:6]) == (there.parent.resolve(), there.name[:6])


def _try_apart() -> tuple[bool, str]:
    """The level at which `smemnb grade --execute` runs code of others, by trial."""
    from ..grading.executing.sandbox import LIMITS, level

    found = level()
    return found.kind != LIMITS, found.text


def _try_trace() -> str:
    """Trace one 32x32 block in the lockstep engine; what it counted.

    Any exception means that tracing does not work here.
    """
    import numpy as np

    from ..kernels.transpose import transpose_tiled
    from ..tracing import trace

    inp = np.arange(1024, dtype=np.float32).reshape(32, 32)
    out = np.zeros_like(inp)
    found = trace(transpose_tiled)[(1, 1), (32, 32)](out, inp)
    if not (out == inp.T).all() or found.shared.wavefronts != 32 + 32 * 32:
        raise RuntimeError("the sample kernel's values or counts are wrong")
    return f"{found.shared.wavefronts:,} wavefronts of a 32x32 transpose, as there should be"
