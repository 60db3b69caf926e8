"""Time without a GPU: a multiprocessor as a model, what a launch takes and what its warps wait for.

    trace(kernel)[grid, block](*args).time(gpu="H200")

    machine        the constants, each with its doubt, unit and source
    instructions   machine instructions: pipe, control bits, registers by bank
    streams        blocks that stand for the launch, executed by their machine code
    caches         what L1 has of their accesses, and what comes from DRAM
    scheduler      the multiprocessor, cycle by cycle, compiled by Numba
    prediction     the time, its range, the waits by source line
    report         all of it as text and HTML

Needs NVIDIA's compiler libraries and nvdisasm, no GPU.
"""

from .machine import CONSTANTS, Constant, constants, machine
from .prediction import LineWaits, Prediction, predicted

__all__ = ["CONSTANTS", "Constant", "LineWaits", "Prediction", "constants", "machine", "predicted"]
