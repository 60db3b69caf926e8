"""Exercises on budgets: dynamic shared memory in two parts, one tile for several matrices."""

from . import ch08b_checkpoint
from .parts import PARTS
from .planes import PLANES

EXERCISES = (PARTS, PLANES, *ch08b_checkpoint.EXERCISES)
