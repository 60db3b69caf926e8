"""Exercises on budgets: dynamic shared memory in two parts, one tile for several matrices."""

from .parts import PARTS
from .planes import PLANES

EXERCISES = (PARTS, PLANES)
