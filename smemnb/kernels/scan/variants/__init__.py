"""Scans from factories: other types, operations and shapes than those of the rungs."""
