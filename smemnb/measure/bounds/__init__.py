"""Bounds of launches: what `rules.roofline` needs, from the engine's counts and the compiler.

launches       `bound_of(kernel, launch, args, chip)`; the chip of a device
ladders        `bound_of_rung(rung, shape, itemsize, chip)`, at any size in a moment
table          both ladders as text, beside readings; `python -m smemnb.measure.bounds --chip H200`
counts         what blocks move, as the engine runs them
machine_code   registers, instructions and merged loads, from the compiler
"""

from .ladders import CHOICE, bound_of_rung, rungs
from .launches import bound_of, chip_of_device

__all__ = ["CHOICE", "bound_of", "bound_of_rung", "chip_of_device", "rungs"]
