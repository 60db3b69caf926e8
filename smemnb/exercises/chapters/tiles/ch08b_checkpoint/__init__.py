"""Problems of the checkpoint after `08_budgets`: a matrix with itself, distances, a sum."""

from . import distances, gram, products

EXERCISES = (gram.EXERCISE, distances.EXERCISE, products.EXERCISE)
