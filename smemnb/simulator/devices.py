"""Which device the launches of this process use, and whose limits hold.

`SMEMNB_DEVICE` decides: unset, a usable GPU if there is one, else the lockstep engine;
`lockstep` the engine, also where a GPU is present; `gpu` the GPU, and a clear error at the launch
without one; `off` leaves numba.cuda alone. Where the engine runs, the limits of one compute
capability are enforced: 9.0, or `SMEMNB_CC`, or what `use` was given.
"""

from __future__ import annotations

import os
from typing import Any

from ..compiled.toolchain import INSTALL
from ..errors import SmemnbError
from ..hardware import limits

CHOICES = ("gpu", "lockstep", "off")
DEFAULT_CC = (9, 0)

_chosen_cc: tuple[int, int] | None = None
_launches: str | None = None


def choice() -> str:
    """What `SMEMNB_DEVICE` asks for: "gpu", "lockstep", "off", or "" for what is there.

    Raises:
        SmemnbError: any other value.
    """
    asked = os.environ.get("SMEMNB_DEVICE", "").strip().lower()
    if asked and asked not in CHOICES:
        raise SmemnbError(
            f"SMEMNB_DEVICE={asked!r} is not known. It may be gpu, lockstep or off;"
            " unset, the GPU is used if there is one, and the lockstep engine if not"
        )
    return asked


def simulated_by_numba() -> bool:
    """Whether the user asked for Numba's own simulator (NUMBA_ENABLE_CUDASIM=1)."""
    from numba.core import config

    return bool(config.ENABLE_CUDASIM)


def device() -> str:
    """Where kernels run: "lockstep", the GPU's name, "off", or "numba simulator".

    With NUMBA_ENABLE_CUDASIM=1 Numba's simulator is left alone: `kernel[grid, block](...)` runs
    there, thread by thread; `smemnb.trace` still runs the same source in the lockstep engine,
    by its own typing rules, because type inference is not to be had in that mode. A trace says
    so (`WITHOUT_TYPES`), and what cannot do without types is refused (`need_types`).

    Raises:
        SmemnbError: `SMEMNB_DEVICE` is `gpu` and there is no usable GPU.
    """
    import numba.cuda

    if simulated_by_numba():
        return "numba simulator"
    if _launches == "no gpu":
        raise SmemnbError(no_gpu(numba.cuda))
    if _launches != "gpu":
        return _launches or "off"
    name = numba.cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


WITHOUT_TYPES = (
    "what Numba's type inference refuses, signatures, float64 arithmetic: NUMBA_ENABLE_CUDASIM is"
    " set, and Numba's simulator has no types"
)
"""What a trace does not examine where Numba simulates."""


def need_types(what: str) -> None:
    """Raise SmemnbError where Numba's type inference is not to be had in this process."""
    if simulated_by_numba():
        raise SmemnbError(
            f"{what} needs Numba's type inference, and NUMBA_ENABLE_CUDASIM=1 switches it off in"
            " this process: nothing was judged. Unset NUMBA_ENABLE_CUDASIM and start Python, or"
            " the notebook's kernel, again; smemnb needs no GPU without it either"
        )


def no_gpu(cuda: Any) -> str:
    """The sentence for SMEMNB_DEVICE=gpu on a machine without a usable one."""
    error = cuda.cuda_error() or f"the driver answers, but there is no compiler: {INSTALL}"
    reason = " ".join(str(error).split())
    return (
        f"SMEMNB_DEVICE=gpu, but Numba finds no usable GPU ({reason})."
        " Unset SMEMNB_DEVICE to run in the lockstep engine"
    )


def set_launches(where: str) -> None:
    """Note what the plug decided: "gpu", "no gpu", "lockstep" or "off"."""
    global _launches
    _launches = where


def launches() -> str | None:
    """What the plug decided, None before numba.cuda was imported."""
    return _launches


def use(cc: tuple[int, int] | str | float) -> None:
    """Enforce the limits of this compute capability from now on, as (8, 0) or "8.0".

    >>> use("7.5"); cc()
    (7, 5)
    >>> use((9, 0))

    Raises:
        ValueError: a compute capability that `smemnb.hardware` does not know.
    """
    global _chosen_cc
    _chosen_cc = limits(cc).cc


def cc() -> tuple[int, int]:
    """The compute capability whose limits are enforced.

    Raises:
        SmemnbError: `SMEMNB_CC` names one that is not known.
    """
    if _chosen_cc is not None:
        return _chosen_cc
    asked = os.environ.get("SMEMNB_CC")
    if asked is None:
        return DEFAULT_CC
    try:
        return limits(asked).cc
    except ValueError as error:
        raise SmemnbError(f"SMEMNB_CC={asked!r}: {error}") from None
