"""Options of `cuda.jit`: what needs a toolkit before anything is compiled, and what is no option.

The engine compiles nothing, so what says how to compile (`lto`, `link`, `debug`, `opt`,
`max_registers` ...) changes no result here. A name that Numba's kernels do not take is refused at
the launch, where Numba raises a TypeError.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ...errors import LaunchRefused

_OF_NUMBA_CUDA = {"launch_bounds", "lto", "forceinline", "shared_memory_carveout"}
"""Options that the numba.cuda inside Numba lacks, and whose kernels run here all the same."""


class OptionRefused(LaunchRefused, TypeError):
    """A launch of a kernel with an option that there is not; Numba raises a TypeError."""


def without_toolkit(jit: Callable[..., Any], linker_there: Callable[[], bool]) -> Any:
    """`cuda.jit`, with `lto=True` left out where no linker is: Numba raises before it compiles."""

    @functools.wraps(jit)
    def decorate(*args: Any, **options: Any) -> Any:
        if options.get("lto") and not linker_there():
            del options["lto"]
        return jit(*args, **options)

    return decorate


def check_options(name: str, options: Mapping[str, Any], kernel_class: Any) -> None:
    """Raise OptionRefused if Numba's kernels take no option of such a name."""
    known = set(inspect.signature(kernel_class.__init__).parameters) | _OF_NUMBA_CUDA
    for option in options:
        if option not in known:
            near = difflib.get_close_matches(option, known, 1, cutoff=0.7)
            cure = f"Did you mean {near[0]}=?" if near else "Leave it out"
            raise OptionRefused(
                f"{name}: cuda.jit has no option {option}=; Numba refuses it at the first launch."
                f" {cure}"
            )
