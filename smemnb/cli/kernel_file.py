"""A kernel named on the command line as FILE.py:KERNEL."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from ..errors import KernelStopped, LaunchRefused


@dataclass(frozen=True)
class KernelFile:
    """An imported file and the kernel that was asked for."""

    path: Path
    module: ModuleType
    name: str
    kernel: Any


def load(text: str) -> KernelFile:
    """Import the file and find the kernel.

    The file is imported as a module, so what stands under `if __name__ == "__main__":` does not
    run; its folder is on the import path, as for a script.

    Raises:
        LaunchRefused: no such file or kernel, or the file raised while it was imported.
        KernelStopped: a launch that the file makes while it is imported did not end.
    """
    path, name = _split(text)
    module = _imported(path)
    known = kernels(module)
    if not name and len(known) == 1:
        name = known[0]
    if not name or not hasattr(module, name):
        said = f"has no {name}" if name else "has several kernels" if known else "has no kernel"
        listed = f"; it has: {', '.join(known)}" if known else ""
        raise LaunchRefused(f"{path.name} {said}{listed}. Write {path.name}:KERNEL")
    kernel = getattr(module, name)
    if not isinstance(getattr(kernel, "py_func", kernel), FunctionType):
        listed = f"; it has: {', '.join(known)}" if known else ""
        raise LaunchRefused(f"{path.name}: {name} is no kernel{listed}. Write {path.name}:KERNEL")
    return KernelFile(path, module, name, kernel)


def kernels(module: ModuleType) -> list[str]:
    """Names of the kernels that the module defines, device functions aside."""
    return [
        name
        for name, value in vars(module).items()
        if hasattr(value, "py_func")
        and hasattr(value, "__getitem__")
        and not (getattr(value, "targetoptions", None) or {}).get("device")
        and value.py_func.__module__ == module.__name__
    ]


def functions(module: ModuleType) -> list[str]:
    """Names of the plain functions that the module defines."""
    return [
        name
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__
    ]


def _split(text: str) -> tuple[Path, str]:
    head, colon, name = text.rpartition(":")
    if not colon or not name.isidentifier():  # no kernel named; C:\x.py keeps its colon
        head, name = text.rstrip(":"), ""
    path = Path(head)
    if path.suffix != ".py":
        raise LaunchRefused(f"{text}: write FILE.py:KERNEL, such as transpose.py:transpose_tiled")
    if not path.is_file():
        raise LaunchRefused(f"{path} is not there (looked in {Path.cwd()})")
    return path.resolve(), name


def _imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise LaunchRefused(f"{path.name} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except KernelStopped:  # a launch at the top of the file
        raise
    except Exception as error:
        raise LaunchRefused(
            f"{path.name} raised while it was imported{where(error, path)}: "
            f"{type(error).__name__}: {error}"
        ) from error
    return module


def where(error: BaseException, path: Path) -> str:
    """The last line of the file that an error passed through, as " (line 3)"."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path]
    if isinstance(error, SyntaxError):
        lines.append(error.lineno)
    return f" (line {lines[-1]})" if lines else ""
