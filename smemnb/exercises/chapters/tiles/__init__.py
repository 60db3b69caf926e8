"""Exercises on tiles: the transpose and the product, from one tile to its budget."""
