"""The rungs of the tensor product, a file each: read from top to bottom."""
