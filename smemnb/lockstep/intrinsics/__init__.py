"""What the names of numba.cuda mean for lane values.

names        which name an object stands for, and the table of all implementations
coordinates  coordinates, bits, pauses, the group of all blocks
storage      arrays of a block or thread, constant arrays, loads and stores with a cache hint
barriers     barriers and fences
shuffles     shuffles, votes, matches
atomics      updates of cells that lanes share; `updates` works out their order
vectors      float32x4 and its kind
halves       cuda.fp16 and cuda.bf16
libdevice    the functions of cuda.libdevice
printing     print
"""
