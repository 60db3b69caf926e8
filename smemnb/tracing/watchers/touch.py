"""One access laid flat: which thread touched which cell of a shared array."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...lockstep.watch import Site

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class Touch:
    """One access, flat: which thread touched which cell.

    `cell` counts elements over the blocks of the batch; `block_cells` is how many belong to one
    block, or 0 if the touch is the same in all blocks. `value` holds the bits a store wrote.
    """

    site: Site
    write: bool
    atomic: bool
    cell: Array
    thread: Array
    epoch: Array | int
    value: Array | None

    def narrowed(self, by: int) -> Touch:
        """The touches with each cell cut into `by`; what was stored is then not known any more."""
        cell = (self.cell[:, None] * by + np.arange(by)).reshape(-1)
        epoch = np.repeat(self.epoch, by) if isinstance(self.epoch, np.ndarray) else self.epoch
        value = None if self.value is None else np.repeat(self.value, by)
        return replace(self, cell=cell, thread=np.repeat(self.thread, by), epoch=epoch, value=value)

    def only(self, keep: Array) -> Touch:
        """The touches where `keep` holds."""
        return replace(
            self,
            cell=self.cell[keep],
            thread=self.thread[keep],
            epoch=self.epoch[keep] if isinstance(self.epoch, np.ndarray) else self.epoch,
            value=None if self.value is None else self.value[keep],
        )
