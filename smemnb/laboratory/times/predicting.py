"""Predicted times of the kernels of `cases`, beside those of a recorded file where there is one."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...compiled.lines import built
from ...compiled.toolchain import types_of
from ...compiled.warps.parameters import Snapshot
from ...compiled.warps.run import CodeLaunch
from ...errors import SmemnbError
from .cases import CASES, Case
from .recording import Timed

if TYPE_CHECKING:
    from ...tracing.timing import Prediction

__all__ = ["beside", "predicted_case", "table"]

CC = (9, 0)
GPU = "H100 SXM"
"""Whose times are recorded."""


def predicted_case(case: Case, scale: int | None = None, gpu: str = GPU) -> Prediction:
    """The predicted time of a kernel, at the size that is timed or at another.

    Raises:
        SmemnbError: the kernel is not modelled, or the compiler libraries are missing.
    """
    from ...tracing.timing import predicted

    grid, arguments = case.launch(case.full if scale is None else scale)
    build = built(case.kernel, arguments, CC)
    whole = (*grid, *(1,) * (3 - len(grid)))
    block = (*case.block, *(1,) * (3 - len(case.block)))
    launch = CodeLaunch(
        build.elf,
        (whole[0], whole[1], whole[2]),
        (block[0], block[1], block[2]),
        0,
        Snapshot(arguments),
        types_of(arguments),
    )
    return predicted(build, launch, case.name, gpu)


def beside(say: Callable[[str], None] = print) -> None:
    """Time the kernels on this machine's GPU, and print each beside its prediction.

    Raises:
        SmemnbError: the model has no constants of this GPU.
    """
    from tempfile import TemporaryDirectory

    from numba import cuda

    from ...tracing.timing import machine
    from .recording import load, record

    name = cuda.get_current_device().name
    gpu = machine(name.decode() if isinstance(name, bytes) else str(name)).chip.name
    with TemporaryDirectory() as folder:
        file = Path(folder) / "times.json"
        record(file, counters=False, say=lambda line: None)
        table(read=load(file), say=say, gpu=gpu)


def table(
    names: Sequence[str] = (),
    read: Mapping[str, Timed] | None = None,
    say: Callable[[str], None] = print,
    gpu: str = GPU,
) -> None:
    """A line per kernel: its predicted time and cause, beside what was read; then the errors."""
    off = []
    for case in CASES:
        if names and case.name not in names:
            continue
        try:
            one = predicted_case(case, gpu=gpu)
        except SmemnbError as error:
            say(f"{case.name:24} not predicted: {error}")
            continue
        cause = one.causes[0] if one.causes else "withheld"
        line = f"{case.name:24}{one.ms:9.4f} ms ({one.low_ms:.4f} to {one.high_ms:.4f})"
        line += f"  issues {one.issue:.2f}, {cause}"
        timed = (read or {}).get(case.name)
        if timed is not None:
            off.append(abs(one.ms / timed.ms - 1))
            line += f"  / {timed.ms:.4f} ms, {one.ms / timed.ms - 1:+.1%}"
            if timed.waits is not None:
                line += f", issues {timed.waits.issue:.2f}, {timed.waits.largest[0][0]}"
        say(line)
    if off:
        say(
            f"{len(off)} kernels: mean error {statistics.fmean(off):.1%},"
            f" median {statistics.median(off):.1%}, worst {max(off):.1%}"
        )
