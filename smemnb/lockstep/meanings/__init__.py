"""What the names of numba.cuda mean for lane values.

intrinsics   coordinates, arrays, barriers, bits
shuffles     shuffles, votes, matches
atomics      updates in order of lanes
"""
