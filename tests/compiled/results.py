"""Machine code, run in NumPy, against the engine: do the arrays of every launch come out alike?

    python -m tests.compiled.results

runs the launches of `tests/foreign` under `trace` and again as compiled, and prints each whose
arrays differ, or which is not determined, then how many of each there are. Needs the compiler
libraries and nvdisasm; two minutes on a core. Integers must be equal, floating-point numbers close:
machine code fuses products with sums.
"""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Any

import numpy as np

from smemnb.errors import SmemnbError
from smemnb.tracing import Tracer
from tests.foreign import test_foreign
from tests.foreign.cases import CASES, Run

COUNTS: Counter[str] = Counter()


def arrays_in(values: Any) -> list[Any]:
    """The arrays among arguments, those in tuples too."""
    found = []
    for value in values:
        value = getattr(value, "_ary", value)
        if isinstance(value, tuple):
            found += arrays_in(value)
        elif isinstance(value, np.ndarray):
            found.append(value)
    return found


def alike(mine: Any, other: Any) -> bool:
    """Equal, or close for floating-point numbers."""
    if mine.dtype.kind in "fc":
        return bool(np.allclose(mine, other, rtol=1e-4, atol=1e-5, equal_nan=True))
    return bool(np.array_equal(mine, other))


def compared(run: Any) -> Any:
    """`Tracer.run` with the comparison behind it."""

    def traced(self: Tracer, grid: Any, block: Any, stream: Any, shared: int, args: Any) -> Any:
        found = run(self, grid, block, stream, shared, args)
        try:
            view = found.as_compiled()
        except SmemnbError as error:
            said, why = "refused", str(error)
        else:
            pairs = list(zip(arrays_in(args), view.arrays, strict=False))
            said = "alike" if all(alike(*pair) for pair in pairs) else "DIFFERENT"
            why = next(iter(view.undetermined), "")
            said = "not determined" if why else said
        COUNTS[said] += 1
        if said != "alike":
            print(f"{said}: {found.launch}  {why}", flush=True)
        return found

    return traced


def main() -> None:
    """Run all of them."""
    for family in test_foreign.FAMILIES:
        importlib.import_module(f"tests.foreign.{family}")
    Tracer.run = compared(Tracer.run)  # type: ignore[method-assign]
    for case in CASES:
        try:
            case.body(Run(checks=False), case.sizes[0])
        except Exception as error:
            COUNTS["stopped"] += 1
            print(f"stopped: {case.name}  {type(error).__name__}: {str(error).splitlines()[0]}")
    print(dict(COUNTS))


if __name__ == "__main__":
    main()
