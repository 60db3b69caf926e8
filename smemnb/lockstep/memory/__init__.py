"""Arrays as a kernel sees them, over the cells that hold their values.

stores       where cells live: one flat array, a row per block, a row per thread, bytes
arrays       from index to cell, with bounds and watchers
views        slices, new axes, transposed, reshaped, other dtypes, fields
choices      an array that is another one in some lanes
records      one record by reference, and its copy
whole        arrays stored and searched whole
reductions   sums and their like
sequences    what a loop goes over
attributes   attributes, methods, NumPy's functions of arrays
host_arrays  host arrays as arguments and as constants
"""

from .arrays import KernelArray, c_strides
from .host_arrays import Arguments, frozen, global_arrays
from .stores import GlobalStore, LocalStore, SharedStore, Store, poison

__all__ = [
    "Arguments",
    "GlobalStore",
    "KernelArray",
    "LocalStore",
    "SharedStore",
    "Store",
    "c_strides",
    "frozen",
    "global_arrays",
    "poison",
]
