"""All experiments, by kind of finding."""

from __future__ import annotations

from ...errors import SmemnbError
from .experiment import Experiment
from .kernels import barriers, copies, exceptions, indices, lanes, memory, races, tiles

EXPERIMENTS: tuple[Experiment, ...] = tuple(
    one
    for family in (races, copies, tiles, barriers, lanes, memory, indices, exceptions)
    for one in family.EXPERIMENTS
)
"""In the order of the kinds."""


def experiment(name: str) -> Experiment:
    """The experiment of this name.

    Raises:
        SmemnbError: there is none.
    """
    for one in EXPERIMENTS:
        if one.name == name:
            return one
    raise SmemnbError(f"no experiment is named {name!r}")
