"""The rungs of the stencil ladders, a file for each."""
