"""PTX and machine code of a kernel, compiled by Numba without a GPU.

Needs NVIDIA's compiler libraries, which are wheels: `pip install "smemnb[cu13]"` (or `cu12`).
The machine code is made the way numba-cuda makes it at a launch: LTO-IR, linked by nvJitLink for
one compute capability (from 9.0 on, the architecture-specific variant such as sm_90a).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from typing import Any

from ..errors import SmemnbError

CC = tuple[int, int]
INSTALL = 'pip install "smemnb[cu13]" (smemnb[cu12] for a driver older than 580)'


@cache
def available() -> bool:
    """Whether Numba can compile for NVIDIA GPUs here: a kernel that does nothing is tried, once.

    (`nvvm.is_available()` of Numba says True without the libraries.)
    """
    from numba import cuda

    def nothing() -> None:
        return

    try:
        cuda.compile_ptx(nothing, (), cc=(9, 0))
    except Exception:  # whatever a missing or half-installed toolkit raises
        return False
    return True


def ptx(kernel: Any, signature: Any, cc: CC = (9, 0)) -> str:
    """PTX of a kernel (or device function) for argument types and a compute capability.

    Args:
        kernel: a dispatcher or a plain function; a dispatcher's options are kept.
        signature: "void(float32[:, :], int32)", a tuple of Numba types, or a tuple of arguments.
        cc: compute capability to compile for.

    Raises:
        SmemnbError: the compiler libraries are not installed.
    """
    from numba import cuda

    _need("PTX", there=available())
    function, options = _parts(kernel, ("debug", "lineinfo", "fastmath", "opt", "launch_bounds"))
    device = bool((getattr(kernel, "targetoptions", None) or {}).get("device"))
    if options.get("launch_bounds") is None:  # the numba.cuda inside Numba has no such option
        options.pop("launch_bounds", None)
    with _compiling_for(cc):
        code, _ = cuda.compile_ptx(function, types_of(signature), cc=cc, device=device, **options)
    return str(code)


def cubin(kernel: Any, signature: Any, cc: CC = (9, 0), *, lineinfo: bool = False) -> bytes:
    """Machine code (an ELF file) of a kernel, as it would run on a GPU of `cc`.

    `lineinfo` adds line numbers where the kernel's own options leave them out.

    Raises:
        SmemnbError: the compiler libraries, or numba-cuda with nvJitLink, are not installed.
    """
    _need("machine code", there=available() and _has_linker())
    from numba.cuda import compiler
    from numba.cuda.cudadrv import driver

    function, options = _parts(kernel, ("debug", "lineinfo", "fastmath", "launch_bounds"))
    if lineinfo:
        options["lineinfo"] = True
    all_options = getattr(kernel, "targetoptions", None) or {}
    arch = (*cc, "a") if cc >= (9, 0) else cc
    with _compiling_for(cc):
        library, _ = compiler._compile_pyfunc_with_fixup(
            function, types_of(signature), device=False, abi="numba", cc=arch, lto=True, **options
        )
        for link in all_options.get("link") or ():
            library.add_linking_file(link)
        linker = driver._Linker(
            max_registers=all_options.get("max_registers"),
            lineinfo=bool(options.get("lineinfo")),
            cc=arch,
            lto=True,
        )
        library._link_all(linker, arch)
        return bytes(linker.complete().code)


def types_of(signature: Any) -> Any:
    """A signature as Numba takes it: text and types unchanged, arguments as their types.

    >>> types_of((1, 2.5))
    (int64, float64)
    """
    from numba import cuda, typeof
    from numba.core import types

    if isinstance(signature, str) or not isinstance(signature, Sequence):
        return signature
    kinds = (types.Type, getattr(getattr(cuda, "types", None), "Type", types.Type))
    return tuple(
        value if isinstance(value, kinds) else typeof(getattr(value, "_ary", value))
        for value in signature
    )


def _has_linker() -> bool:
    try:
        from numba.cuda.cudadrv import driver

        return bool(driver._have_nvjitlink())
    except (ImportError, AttributeError):
        return False


def _need(what: str, *, there: bool) -> None:
    if not there:
        from numba.core import config

        if config.ENABLE_CUDASIM:
            raise SmemnbError(
                f"{what} needs Numba's compiler, and NUMBA_ENABLE_CUDASIM=1 puts its simulator in"
                " the place of that. Unset NUMBA_ENABLE_CUDASIM and start Python again"
            )
        raise SmemnbError(
            f"{what} needs NVIDIA's compiler libraries, which are not installed: {INSTALL}."
            " No GPU is needed"
        )


def _parts(kernel: Any, names: Sequence[str]) -> tuple[Callable[..., Any], dict[str, Any]]:
    options = getattr(kernel, "targetoptions", None) or {}
    kept = {name: options[name] for name in names if options.get(name) is not None}
    return getattr(kernel, "py_func", kernel), kept


@contextmanager
def _compiling_for(cc: CC) -> Iterator[None]:
    """Device functions ask the current device for its cc; here they get the one asked for."""
    from numba.cuda import dispatcher

    kept = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=cc)
    try:
        yield
    finally:
        dispatcher.get_current_device = kept
