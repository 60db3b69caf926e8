"""The options of `@cuda.jit` that a kernel is rebuilt with, and those that it is not."""

OPTIONS = {
    "debug": (bool,),
    "fastmath": (bool,),
    "forceinline": (bool,),
    "inline": (bool, str),
    "launch_bounds": (int, tuple),
    "lineinfo": (bool,),
    "max_registers": (int,),
    "opt": (bool, int),
    "shared_memory_carveout": (int, str),
}
"""Each with the types that its value may have; None leaves it out."""

DROPPED = ("abi", "abi_info", "boundscheck", "cache", "cc", "lto", "nopython")
"""They change nothing that is graded: how code is kept or made for a GPU."""

REFUSED = {
    "extensions": "it runs code of the host at each launch. Leave it out",
    "link": "it brings code from elsewhere. Write the kernel in Python",
}
