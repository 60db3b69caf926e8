"""Cases of the set on this machine's GPU, under ncu and under compute-sanitizer, as text.

    print(verify_here("transpose_padded 128 x 64"))      counters beside both views
    print(sanitize_here("transpose_padded 128 x 64"))    the four tools beside our findings

Without a GPU, or where a tool is missing or forbidden, a sentence says so.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ..errors import SmemnbError
from .corpus import CASES, case_named

__all__ = ["sanitize_here", "verify_here"]

NO_GPU = "No GPU here: nothing was counted, the recorded counters stand."


def verify_here(*names: str) -> str:
    """Counters of these cases, read now, beside the source view and the as-compiled view.

    Raises:
        SmemnbError: a name that is not of the set.
    """
    numbers = _numbers(names)
    if not _has_gpu():
        return NO_GPU
    from ..measure.verify.compare import compare_all
    from ..measure.verify.ncu.profiling import only
    from ..measure.verify.recording import live
    from ..measure.verify.report import launch, origin

    cases = [CASES[number] for number in numbers]
    try:
        found = live(cases, only(numbers), named=case_named)
        rows = [launch(one) for one in compare_all(cases, found.cases)]
    except SmemnbError as error:
        return f"Nothing was counted, the recorded counters stand: {error}"
    lost = [f"not read: {name}: {why}" for name, why in found.missing.items()]
    return "\n".join([origin(found.origin), *rows, *lost])


def sanitize_here(name: str) -> str:
    """What compute-sanitizer's four tools report of a case, launched now, beside our findings.

    Raises:
        SmemnbError: a name that is not of the set.
    """
    (number,) = _numbers((name,))
    if not _has_gpu():
        return NO_GPU.replace("counted", "examined").replace("counters", "findings")
    from ..measure.hazards import found_by, table
    from ..measure.verify.predicted import calling_lines, traced

    case = CASES[number]
    module = [sys.executable, "-m", "smemnb.laboratory", "launch"]
    with tempfile.TemporaryDirectory() as folder:
        command = [*module, "--cases", str(number), "--into", folder]
        try:
            found = found_by(command, Path(folder))
        except SmemnbError as error:
            return f"Nothing was examined, the recorded findings stand: {error}"
    return table([traced(case)], found, calling_lines(case.kernel))


def _numbers(names: tuple[str, ...]) -> list[int]:
    """Where the cases stand in the set.

    Raises:
        SmemnbError: one does not.
    """
    known = {case.name: number for number, case in enumerate(CASES)}
    for name in names:
        if name not in known:
            raise SmemnbError(f"the set has no case {name!r}: see smemnb.laboratory.corpus")
    return [known[name] for name in names]


def _has_gpu() -> bool:
    """Whether kernels run on a GPU in this process."""
    from numba import cuda  # noqa: F401  the plug decides when it is imported

    from ..simulator import devices

    return devices.launches() == "gpu"
