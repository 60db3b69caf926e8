"""Exercises on double buffering: a product that loads ahead, a transpose that walks."""

from .ahead import AHEAD
from .walk import WALK

EXERCISES = (AHEAD, WALK)
