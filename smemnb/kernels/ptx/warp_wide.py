"""What instructions of a whole warp have in common: who takes part, inline PTX, its tuples.

An instruction marked `.sync.aligned` is executed by all 32 lanes of a warp together. Where some of
them are elsewhere, or have returned, a GPU's result is undefined: the engine refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from llvmlite import ir
from numba import cuda
from numba.core import config, types
from numba.core.errors import TypingError
from numba.core.types.containers import BaseTuple
from numba.core.types.misc import unliteral

from ...errors import KernelStopped, LaunchRefused
from ...lockstep.lanes import EVERY_LANE, spread

CC = tuple[int, int]

EVERYBODY = np.uint32(0xFFFFFFFF)
WORD, FLOAT = ir.IntType(32), ir.FloatType()
_LETTERS = {WORD: "r", FLOAT: "f"}


def tuple_of(kind: Any, count: int) -> Any:
    """Numba's type of a tuple of `count` of these."""
    return types.containers.UniTuple(kind, count)


def check_tuple(name: str, what: str, given: Any, kind: Any, count: int) -> None:
    """Refuse an argument that is no tuple of `count` numbers of this type.

    Words may be any integers of 32 bits: only their bits count.
    """
    like = {types.uint32: (types.uint32, types.int32)}.get(kind, (kind,))
    several = isinstance(given, BaseTuple) and len(given) == count
    if not several or any(unliteral(one) not in like for one in given):
        raise TypingError(
            f"{name} takes {what} as a tuple of {count} {kind}; this is {unliteral(given)}"
        )


def need(name: str, wanted: CC) -> None:
    """Refuse to compile for a chip that does not have the instruction."""
    asked = _compiling_for()
    if asked is not None and asked < wanted:
        raise TypingError(_too_old(name, wanted, asked))


def _too_old(name: str, wanted: CC, found: CC) -> str:
    needed, given = (".".join(map(str, cc)) for cc in (wanted, found))
    return f"{name} needs a GPU of compute capability {needed} or higher; this one has {given}"


def _compiling_for() -> CC | None:
    """The compute capability that is compiled for, where it is known."""
    try:
        from numba.cuda.core.targetconfig import ConfigStack
    except ImportError:  # the numba.cuda inside Numba
        from numba.core.targetconfig import ConfigStack
    flags = ConfigStack.top_or_none()
    cc = getattr(flags, "compute_capability", None)
    return None if not cc else (int(cc[0]), int(cc[1]))


def assembled(
    builder: Any, text: str, results: Sequence[Any], operands: Sequence[Any], *, memory: bool
) -> list[Any]:
    """Inline PTX of these operands; its results as a list.

    `text` has $0, $1 ... for the results, then for the operands. No lane may come to it alone, so
    the compiler must not move it into a branch; with `memory` no access is moved over it.
    """
    if not results:
        returned: Any = ir.VoidType()
    elif len(results) == 1:
        returned = results[0]
    else:
        returned = ir.LiteralStructType(list(results))
    letters = ["=" + _LETTERS[one] for one in results]
    letters += [_LETTERS[one.type] for one in operands] + ["~{memory}"] * memory
    kind = ir.FunctionType(returned, [one.type for one in operands])
    code = ir.InlineAsm(kind, text, ",".join(letters), side_effect=True)
    call = builder.call(code, list(operands), attrs=("convergent", "nounwind"))
    if len(results) < 2:
        return [call] if results else []
    return [builder.extract_value(call, at) for at in range(len(results))]


def registers(first: int, count: int) -> str:
    """The operands from this number on, as PTX writes a tuple of registers."""
    return "{" + ", ".join(f"${first + at}" for at in range(count)) + "}"


def parts_of(builder: Any, given: Any, count: int) -> list[Any]:
    """The elements of a tuple."""
    return [builder.extract_value(given, at) for at in range(count)]


def together(wanted: CC, implementation: Callable[..., Any]) -> Callable[..., Any]:
    """The engine's implementation of an instruction of a whole warp, of chips from `wanted` on.

    `implementation(batch, mask, site, *values)` is called with all lanes of a warp, also where each
    of them runs for itself; tuples among the arguments arrive as tuples.
    """

    def run(batch: Any, mask: Any, site: Any, *arguments: Any) -> Any:
        _check_device(batch.launch, site, wanted)
        if not batch.apart:
            _everybody(batch, mask, site)
            return implementation(batch, mask, site, *arguments)
        counts = [len(one) if isinstance(one, tuple) else 0 for one in arguments]
        flat = [
            part
            for one in arguments
            for part in ((np.asarray(x)[()] for x in one) if isinstance(one, tuple) else (one,))
        ]

        def of_all(whole: Any, lanes: Any, at: Any, _: Any, *parts: Any) -> Any:
            _everybody(whole, lanes, at)
            rest = iter(parts)
            given = [
                tuple(next(rest) for _ in range(count)) if count else next(rest) for count in counts
            ]
            return implementation(whole, lanes, at, *given)

        return batch.gather(of_all, mask, site, (EVERYBODY, *flat))

    return run


NEWEST: CC = (9, 0)
_DEVICE_OF: WeakKeyDictionary[Any, CC] = WeakKeyDictionary()
"""The compute capability of the device of each launch, which is asked once."""


def device_of(launch: Any) -> CC:
    """The compute capability of a launch's device, also of a pretended one.

    With NUMBA_ENABLE_CUDASIM Numba pretends one of 5.2, whatever it then simulates: that is none.
    """
    if config.ENABLE_CUDASIM:
        return NEWEST
    found = _DEVICE_OF.get(launch)
    if found is None:
        major, minor = cuda.get_current_device().compute_capability
        found = _DEVICE_OF[launch] = (int(major), int(minor))
    return found


def _check_device(launch: Any, site: Any, wanted: CC) -> None:
    """Refuse an instruction that the device does not have."""
    found = device_of(launch)
    if found < wanted:
        name = site.text.partition("(")[0]
        raise LaunchRefused(f"line {site.line}: {_too_old(name, wanted, found)}.")


def _everybody(batch: Any, mask: Any, site: Any) -> None:
    """Refuse a call that only some lanes of a warp come to."""
    if mask is EVERY_LANE:
        return
    active = spread(mask, batch.shape)
    some = active.any(axis=2) & ~active.all(axis=2)
    if some.any():
        block, warp = (int(at) for at in np.argwhere(some)[0])
        count = int(active[block, warp].sum())
        raise KernelStopped(
            f"{site.text} in line {site.line} is executed by all 32 lanes of a warp together; in "
            f"warp {warp} of block {batch.launch.block_of(batch.first + block)} only {count} of "
            "them come to it, and what a GPU then does is undefined. Call it outside of branches "
            "that divide a warp, in blocks of whole warps; guard loads and stores instead."
        )
