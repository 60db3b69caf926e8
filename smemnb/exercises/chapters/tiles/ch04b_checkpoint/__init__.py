"""Problems of the checkpoint after `04_swizzle`: a turn, channels, a difference."""

from . import channels, difference, turn

EXERCISES = (turn.EXERCISE, channels.EXERCISE, difference.EXERCISE)
