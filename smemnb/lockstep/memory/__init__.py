"""Arrays as a kernel sees them (`arrays`) over the cells that hold their values (`stores`)."""

from .arrays import KernelArray, c_strides
from .stores import GlobalStore, LocalStore, SharedStore, Store, poison

__all__ = [
    "GlobalStore",
    "KernelArray",
    "LocalStore",
    "SharedStore",
    "Store",
    "c_strides",
    "poison",
]
