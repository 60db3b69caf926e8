"""The kernels of `cases`: `streaming` reads and writes, `sharing` works together, `computing`."""
