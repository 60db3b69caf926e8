"""Exercises on tiled products: any shapes, another sum, a matrix that lies the other way round."""

from .longest import LONGEST
from .product import PRODUCT
from .rows import ROWS

EXERCISES = (PRODUCT, LONGEST, ROWS)
