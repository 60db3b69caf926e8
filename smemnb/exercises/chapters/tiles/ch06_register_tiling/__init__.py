"""Exercises on register tiling: a column per thread, a square per thread, a turned tile."""

from .column import COLUMN
from .square import SQUARE
from .turned import TURNED

EXERCISES = (COLUMN, SQUARE, TURNED)
