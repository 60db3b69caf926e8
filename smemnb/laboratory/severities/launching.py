"""The launches of one experiment in a process of its own, and a journal of what happened.

    {"state": "ready"}                                   compiled; nothing was launched so far
    {"state": "launch", "number": 0}                     before a launch
    {"state": "back", "number": 0, "wrong": 3, "first": [17, 5, 9]}     after it
    {"state": "fault" | "refused", "said": "..."}        the last line, if an error ended it

A line is written before what may hang or end the process, so that the journal says how far it came.
`first` is where the first wrong value stands, the value, and the right one.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import KernelStopped
from ...kernels.ptx.tensor_maps import TensorMap
from .everything import experiment
from .experiment import Experiment
from .kernels.memory import leaves_numbers_in_shared_memory

DIRTY_BLOCKS = 1056
"""Enough of them that every multiprocessor of a large GPU gets some."""


def launch(name: str, times: int, journal: Path) -> None:
    """Launch an experiment so many times; the journal says what happened."""
    one = experiment(name)
    with journal.open("w", encoding="utf-8") as file:

        def note(state: str, **more: Any) -> None:
            file.write(json.dumps({"state": state, **more}) + "\n")
            file.flush()

        try:
            _compile(one)
            note("ready")
        except Exception as error:
            note("refused", said=_said(error))
            return
        try:
            for number in range(times):
                note("launch", number=number)
                note("back", number=number, **_launched(one, number))
        except KernelStopped as error:  # the engine says what a GPU would do
            note("hang", said=_said(error))
        except Exception as error:
            note("fault", said=_said(error))
            os._exit(1)  # what the driver tidies up fails again in a context that has ended


def on_gpu() -> bool:
    """Whether kernels run on a GPU in this process."""
    from ...simulator import devices

    return devices.launches() == "gpu"


def _compile(one: Experiment) -> None:
    """Compile before the clock of the launches runs, and open the context."""
    from numba import cuda

    given = _on_device(one.make(0))
    cuda.synchronize()
    if not on_gpu():
        return
    if one.dirty:
        leaves_numbers_in_shared_memory[DIRTY_BLOCKS, 256](_junk())
        cuda.synchronize()
    one.kernel.compile(tuple(one.kernel.typeof_pyval(value) for value in given))


def _launched(one: Experiment, number: int) -> dict[str, Any]:
    """How many values of one launch are wrong, and the first of them."""
    from numba import cuda

    if one.dirty and on_gpu():
        leaves_numbers_in_shared_memory[DIRTY_BLOCKS, 256](_junk())
    host = one.make(number)
    right = np.ravel(one.right(*one.make(number)))
    given = _on_device(host)
    one.kernel[one.grid, one.block](*given)
    cuda.synchronize()
    out = given[0].array if isinstance(given[0], TensorMap) else given[0]
    found = np.ravel(out.copy_to_host())
    wrong = np.flatnonzero(found != right)
    if not wrong.size:
        return {"wrong": 0}
    at = int(wrong[0])
    return {"wrong": int(wrong.size), "first": [at, int(found[at]), int(right[at])]}


def _on_device(values: tuple[Any, ...]) -> list[Any]:
    from numba import cuda

    return [cuda.to_device(one) if isinstance(one, np.ndarray) else one for one in values]


def _junk() -> Any:
    from numba import cuda

    return cuda.device_array(DIRTY_BLOCKS * 256, np.int32)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:400]
