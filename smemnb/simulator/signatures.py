"""Which of a kernel's declared signatures an argument list fits, as Numba chooses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import LaunchRefused

Types = tuple[Any, ...]


def fit(kernel: Callable[..., Any], declared: Sequence[tuple[Types, Any]], given: Types) -> Types:
    """The argument types of the declared signature that `given` converts to best.

    Raises:
        SignatureRefused: it converts to none of them, or to several equally well.
    """
    from . import seam

    name, parameters = kernel.__name__, list(inspect.signature(kernel).parameters)
    cases = [seam.typing.signature(seam.types.void, *types) for types, _ in declared]
    cases = [case for case in cases if len(case.args) == len(given)]
    if cases:
        try:
            best = seam.typing_context.resolve_overload(
                kernel, cases, given, {}, allow_ambiguous=False, exact_match_required=False
            )
        except TypeError as error:
            raise SignatureRefused(f"{error}\nConvert an argument, so that one fits best") from None
        if best is not None:
            return tuple(best.args)
    cases = [types for types, _ in declared]
    wanted = " or ".join(f"({', '.join(map(str, types))})" for types in cases)
    raise SignatureRefused(
        f"No matching definition for argument type(s) {', '.join(map(str, given))}:"
        f" {name} was declared for {wanted}. {_first_misfit(parameters, cases, given)}"
    )


class SignatureRefused(LaunchRefused, TypeError):
    """Arguments that fit none of a kernel's declared signatures; Numba raises a TypeError."""


def _first_misfit(parameters: Sequence[str], declared: Sequence[Types], given: Types) -> str:
    from . import seam

    for at, (name, want, have) in enumerate(zip(parameters, declared[0], given, strict=False)):
        if seam.typing_context.can_convert(have, want) is not None:
            continue
        if isinstance(want, seam.types.Array) and isinstance(have, seam.types.Array):
            if want.dtype != have.dtype:
                dtypes = dict.fromkeys(str(getattr(types[at], "dtype", "")) for types in declared)
                return (
                    f"`{name}` holds {have.dtype}, declared is {' or '.join(filter(None, dtypes))}:"
                    f" pass {name}.astype(np.{want.dtype})"
                )
            if want.ndim != have.ndim:
                verb = "is" if want.ndim == 1 else "are"
                return f"`{name}` has {have.ndim} axes, declared {verb} {want.ndim}"
            return f"`{name}` is {have}, declared is {want}: layout and writeability must fit"
        return f"`{name}` is {have}, declared is {want}"
    return "The number of arguments differs"


class KeywordRefused(LaunchRefused, TypeError):
    """Arguments by name; Numba raises a TypeError."""


def check_positional(kernel: Any, named: Mapping[str, Any]) -> None:
    """Raise KeywordRefused if an argument is given by name."""
    if named:
        function = getattr(kernel, "py_func", None) or getattr(kernel, "fn", None) or kernel
        name, parameters = function.__name__, ", ".join(inspect.signature(function).parameters)
        raise KeywordRefused(
            f"{name} takes its arguments by position, and got {', '.join(f'{n}=' for n in named)}."
            f" Write {name}[grid, block]({parameters})"
        )
