"""Finished kernels: one ladder per file, from the plain kernel to the fast one.

Import a kernel and launch it like any of your own: `transpose_padded[grid, block](out, inp)`.
Each rung differs from the one before in one thing, which its docstring names. The counts in the
comments are those of one request (a warp's instruction), and are tested.
"""
