"""Products of float16 matrices by the instructions of one chip, Hopper: bulk copies and wgmma.

rungs     the kernels, from the simplest on, each flat in a file of its own
ladder    their order, and how each is launched
"""
