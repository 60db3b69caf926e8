"""Exercises on swizzles: a wide tile, a narrow one, chunks of 16 bytes."""

from . import fields, records, xor

EXERCISES = (xor.EXERCISE, fields.EXERCISE, records.EXERCISE)
