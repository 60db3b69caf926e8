"""Libraries to stand beside: torch and CuPy, and cuBLAS through either. Imported when asked for.

Each takes the very memory of the matrices, by `__cuda_array_interface__`, and works on the default
stream. TF32 is off: products are in float32 throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from ...errors import SmemnbError
from .case import Case
from .device import Matrices, Shown

__all__ = ["NAMES", "Baseline", "Library", "baselines", "found"]

NAMES = ("torch", "cupy")
SIGNED = {1: "|u1", 2: "<i2", 4: "<f4", 8: "<i8", 16: "<c16"}
"""Bytes of an element -> a type that every library moves."""


@dataclass(frozen=True)
class Library:
    """An imported library."""

    name: str
    module: Any

    @property
    def version(self) -> str:
        """Its version, and that of the CUDA it was built for where it says so."""
        cuda = getattr(getattr(self.module, "version", None), "cuda", None)
        said = str(self.module.__version__)
        return f"{said} (CUDA {cuda})" if cuda and "+" not in said else said

    def array(self, array: Any, itemsize: int) -> Any:
        """A device matrix as an array of the library, in the same memory."""
        shown = Shown(array, SIGNED[itemsize])
        if self.name == "torch":
            return self.module.as_tensor(shown, device="cuda")
        return self.module.asarray(shown)

    def transposed(self, inp: Any) -> Any:
        """A new array, rows and columns exchanged in memory."""
        if self.name == "torch":
            return inp.t().contiguous()
        return self.module.ascontiguousarray(inp.T)

    def transposed_into(self, inp: Any, out: Any) -> Any:
        """The same into `out`."""
        if self.name == "torch":
            return out.copy_(inp.t())
        return self.module.copyto(out, inp.T)

    def product(self, a: Any, b: Any, out: Any) -> Any:
        """a @ b into out: cuBLAS."""
        function = self.module.mm if self.name == "torch" else self.module.matmul
        return function(a, b, out=out)

    def like(self, rows: int, cols: int) -> Any:
        """A new float32 matrix."""
        if self.name == "torch":
            return self.module.empty(rows, cols, device="cuda")
        return self.module.empty((rows, cols), "float32")


@dataclass(frozen=True)
class Baseline:
    """A library's way to do a case: `run` returns an array with the result."""

    name: str
    run: Callable[[], Any]


def found(asked: Sequence[str]) -> tuple[tuple[Library, ...], dict[str, str]]:
    """The libraries that are there, and of each one asked for its version or why it is not there.

    "cublas" asks for products through torch, or through CuPy where torch is not installed.

    Raises:
        SmemnbError: a name that is not known.
    """
    unknown = sorted(set(asked) - {*NAMES, "cublas", "none"})
    if unknown:
        raise SmemnbError(f"--against {unknown[0]}: known are torch, cupy, cublas and none")
    wanted = [name for name in NAMES if name in asked or "cublas" in asked]
    libraries, said = [], {}
    for name in wanted:
        try:
            module = import_module(name)
        except ImportError as error:
            missing = isinstance(error, ModuleNotFoundError) and error.name == name
            said[name] = "not installed" if missing else f"cannot be imported: {error}"
            continue
        library = Library(name, module)
        reason = _unusable(library)
        said[name] = reason or library.version
        if not reason:
            libraries.append(library)
    return tuple(libraries), said


def baselines(
    case: Case, held: Matrices, libraries: Sequence[Library], asked: Sequence[str]
) -> tuple[Baseline, ...]:
    """What the libraries do for a case, on the same inputs."""
    if case.operation == "transpose":
        (inp,) = held.inputs
        return tuple(
            Baseline(one.name, partial(one.transposed, one.array(inp, case.itemsize)))
            for one in libraries
            if one.name in asked
        )
    chosen = [one for one in libraries if one.name in asked]
    if "cublas" in asked and not chosen:
        chosen = list(libraries[:1])
    found = []
    for library in chosen:
        a, b = (library.array(one, 4) for one in held.inputs)
        out = library.like(*held.out.shape)
        found.append(Baseline(f"cublas ({library.name})", partial(library.product, a, b, out)))
    return tuple(found)


def _unusable(library: Library) -> str:
    """Why an imported library cannot be used here; "" if it can. Turns TF32 off."""
    try:
        if library.name == "torch":
            if not library.module.cuda.is_available():
                return f"{library.version}, without a usable GPU"
            library.module.set_float32_matmul_precision("highest")
        elif not library.module.cuda.runtime.getDeviceCount():
            return f"{library.version}, without a usable GPU"
    except Exception as error:  # a library's own errors, whatever they are
        return f"{library.version}, not usable: {type(error).__name__}: {error}"
    return ""
