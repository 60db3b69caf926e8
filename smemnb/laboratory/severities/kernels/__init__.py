"""Kernels that are wrong on purpose, by family; a docstring says what the author did."""
