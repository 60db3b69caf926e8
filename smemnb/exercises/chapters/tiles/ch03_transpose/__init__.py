"""Exercises on transposes: the other diagonal, a batch of matrices, an image in planes."""

from . import batch, flip, planes

EXERCISES = (flip.EXERCISE, batch.EXERCISE, planes.EXERCISE)
