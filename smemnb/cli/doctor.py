"""`smemnb doctor`: what works, what does not, and the cure.

Every judgement is a function of a `Machine`, so that each can be tested without the machine that
has the trouble. "note" marks what is missing but not needed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import SmemnbError
from .lab import how_to_install
from .machine import Machine

WORKS, NOTE, WRONG = "works", "note", "wrong"
# the same bounds as in pyproject.toml; a test compares them
BOUNDS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "numpy": ((2,), (2, 5)),
    "numba": ((0, 66), (0, 70)),
    "numba-cuda": ((0, 30, 4), (0, 31)),
    "nvidia-cuda-runtime-cu12": ((12, 4, 127), (13,)),
    "rich": ((14,), (16,)),
}
_GRADING, _FOR = "grading others", "for teachers: smemnb grade --execute"
NO_DEVICE, OLD_DRIVER, MISMATCH = 100, 35, 803


@dataclass(frozen=True)
class Check:
    """One judgement: `state` is "works", "note" or "wrong"; a cure is one command or act."""

    name: str
    state: str
    seen: str
    cure: str = ""


def examine(machine: Machine) -> list[Check]:
    """All judgements, in the order in which to mend them."""
    rules: tuple[Callable[[Machine], Check | None], ...] = (
        python,
        environment,
        numpy,
        numba,
        numba_cuda,
        cuda_runtime,
        rich,
        simulator,
        toolkits,
        gpu,
        old_driver,
        wsl,
        jupyterlab,
        jupyter_kernel,
        tracing,
        apart,
    )
    return [check for rule in rules if (check := rule(machine)) is not None]


def report(checks: list[Check]) -> str:
    """The checks as a table, each cure on the line below."""
    width = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        lines.append(f"{check.state:<5}  {check.name:<{width}}  {check.seen}")
        if check.cure:
            lines.append(f"{'':5}  {'':{width}}  cure: {check.cure}")
    wrong = sum(check.state == WRONG for check in checks)
    lines.append("all is well" if not wrong else f"{wrong} to mend")
    return "\n".join(lines)


def python(machine: Machine) -> Check:
    """Python 3.11 or newer."""
    seen = ".".join(map(str, machine.python))
    if machine.python < (3, 11):
        return Check("Python", WRONG, seen, "install Python 3.11 or newer, make a new environment")
    return Check("Python", WORKS, seen)


def environment(machine: Machine) -> Check:
    """A virtual environment, so that nothing of the system is mixed in."""
    if machine.virtual:
        return Check("environment", WORKS, "virtual")
    return Check("environment", NOTE, "the system's Python", "python3 -m venv .venv, see README.md")


def numpy(machine: Machine) -> Check:
    """NumPy below 2.5: numba-cuda 0.30 calls a function that 2.5 removed."""
    return _bounded(machine, "NumPy", "numpy", 'pip install "numpy>=2,<2.5"')


def numba(machine: Machine) -> Check:
    """A Numba that this version was tested with."""
    return _bounded(machine, "Numba", "numba", 'pip install "numba>=0.66,<0.70"')


def numba_cuda(machine: Machine) -> Check:
    """numba-cuda where it has wheels; elsewhere Numba's own numba.cuda serves."""
    wheels = machine.system == "Linux" or (
        machine.system == "Windows" and machine.processor == "AMD64"
    )
    if "numba-cuda" not in machine.versions and machine.system == "Darwin":
        if machine.processor == "x86_64":
            return Check("numba-cuda", NOTE, "macOS on Intel is not supported")
        return Check("numba-cuda", WORKS, "not needed: the numba.cuda inside Numba serves")
    if "numba-cuda" not in machine.versions:
        cure = 'pip install "numba-cuda>=0.30.4,<0.31"' if wheels else ""
        return Check("numba-cuda", NOTE, "absent: the numba.cuda inside Numba serves", cure)
    return _bounded(machine, "numba-cuda", "numba-cuda", 'pip install "numba-cuda>=0.30.4,<0.31"')


def cuda_runtime(machine: Machine) -> Check | None:
    """The library that numba-cuda loads while it is imported, whether or not there is a GPU."""
    if "numba-cuda" not in machine.versions or machine.runtime:
        return None
    return Check(
        "CUDA runtime",
        WRONG,
        "no libcudart: `from numba import cuda` fails without it",
        'pip install "nvidia-cuda-runtime-cu12>=12.4.127,<13"',
    )


def rich(machine: Machine) -> Check:
    """What draws tables and colours on a terminal."""
    return _bounded(machine, "rich", "rich", 'pip install "rich>=14,<16"')


def simulator(machine: Machine) -> Check | None:
    """Numba's own simulator takes the place of everything that smemnb needs."""
    if machine.environment.get("NUMBA_ENABLE_CUDASIM", "0") in ("", "0"):
        return None
    return Check(
        "simulator",
        WRONG,
        "NUMBA_ENABLE_CUDASIM is set: Numba's simulator has no warps and no types",
        "unset NUMBA_ENABLE_CUDASIM, restart the kernel",
    )


def toolkits(machine: Machine) -> Check:
    """At most one CUDA toolchain among the wheels."""
    if len(machine.toolkits) > 1:
        both = " and ".join(f"CUDA {major}" for major in machine.toolkits)
        return Check(
            "CUDA wheels",
            WRONG,
            f"{both} are both installed",
            "make a new environment with one of the extras cu12 and cu13",
        )
    if not machine.toolkits:
        return Check("CUDA wheels", NOTE, "none: needed only for PTX, SASS and a GPU")
    return Check("CUDA wheels", WORKS, f"CUDA {machine.toolkits[0]}")


def gpu(machine: Machine) -> Check:
    """A GPU that this process may use; none is needed."""
    driver = machine.driver
    if not driver.found:
        return Check("GPU", NOTE, "none: kernels run in the lockstep engine, on the CPU")
    version = "" if driver.cuda is None else f", driver for CUDA {driver.cuda[0]}.{driver.cuda[1]}"
    if driver.error == 0 and driver.gpus:
        return Check("GPU", WORKS, f"{driver.gpus} found{version}")
    if driver.error in (0, NO_DEVICE):
        return Check("GPU", NOTE, f"a driver, but no GPU to see{version}; the lockstep engine runs")
    if driver.error in (OLD_DRIVER, MISMATCH):
        return Check("GPU", WRONG, f"driver error {driver.error}{version}", "update the driver")
    return Check(
        "GPU",
        WRONG,
        f"driver error {driver.error}{version}",
        "restart the kernel (a bad address breaks its process's context), then the machine",
    )


def old_driver(machine: Machine) -> Check | None:
    """Code made by a newer toolchain than the driver knows is refused (Colab: use cu12)."""
    cuda = machine.driver.cuda
    if not machine.driver.gpus or cuda is None or len(machine.toolkits) != 1:
        return None
    if machine.toolkits[0] <= cuda[0]:
        return None
    return Check(
        "driver",
        WRONG,
        f"runs CUDA {cuda[0]}.{cuda[1]} and older; the wheels are CUDA {machine.toolkits[0]}",
        f"make a new environment with the extra cu{cuda[0]}, or update the driver",
    )


def wsl(machine: Machine) -> Check | None:
    """Under WSL the driver is that of Windows."""
    if not machine.wsl:
        return None
    if machine.linux_driver:
        return Check(
            "WSL",
            WRONG,
            "a Linux driver is installed inside WSL and hides the one of Windows",
            'sudo apt remove --purge "libnvidia-compute-*", then wsl --shutdown',
        )
    return Check("WSL", WORKS, "the driver of Windows is used")


def jupyterlab(machine: Machine) -> Check:
    """JupyterLab, for `smemnb lab`."""
    seen = machine.versions.get("jupyterlab")
    if seen is None:
        return Check("JupyterLab", NOTE, "absent", how_to_install())
    if _numbers(seen) < (4, 6, 2):
        return Check("JupyterLab", WRONG, f"{seen} has known holes", how_to_install())
    return Check("JupyterLab", WORKS, seen)


def jupyter_kernel(machine: Machine) -> Check | None:
    """The kernel that notebooks start is this environment's Python."""
    if "jupyterlab" not in machine.versions:
        return None
    if machine.kernel_python is None:
        return Check("Jupyter kernel", WRONG, "no kernel python3", "pip install ipykernel")
    if not machine.kernel_is_ours:
        return Check(
            "Jupyter kernel",
            WRONG,
            f"python3 starts {machine.kernel_python}, not this Python",
            "jupyter kernelspec remove python3, then open the workbook with smemnb lab",
        )
    return Check("Jupyter kernel", WORKS, "this Python")


def tracing(machine: Machine) -> Check | None:
    """A kernel is traced, and its counts are right."""
    if machine.try_trace is None:
        return None
    start = time.perf_counter()
    try:
        seen = machine.try_trace()
    except Exception as error:
        return Check(
            "trace",
            WRONG,
            f"{type(error).__name__}: {error}",
            "mend what stands above; if all is well there, report this line",
        )
    return Check("trace", WORKS, f"{seen} ({time.perf_counter() - start:.1f} s, Numba's start too)")


def apart(machine: Machine) -> Check | None:
    """What code of learners is kept in, where a teacher's `smemnb grade --execute` runs it."""
    if machine.try_apart is None:
        return None
    try:
        sealed, text = machine.try_apart()
    except SmemnbError as error:
        return Check(_GRADING, NOTE, f"not as this user ({_FOR})", str(error))
    if sealed:
        return Check(_GRADING, WORKS, f"{text} ({_FOR})")
    cure = "grade without --execute, or in a container"
    if machine.system == "Linux":
        cure = "install bubblewrap, or grade without --execute"
    return Check(_GRADING, NOTE, f"{text} ({_FOR})", cure)


def _bounded(machine: Machine, label: str, package: str, cure: str) -> Check:
    seen = machine.versions.get(package)
    low, high = BOUNDS[package]
    if seen is None:
        return Check(label, WRONG, "absent", cure)
    if not low <= _numbers(seen) < high:
        wanted = f"{_dotted(low)} or newer, below {_dotted(high)}"
        return Check(label, WRONG, f"{seen}; wanted {wanted}", cure)
    return Check(label, WORKS, seen)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])
