"""The hardware as pure functions: NumPy in, NumPy out, no Numba, no GPU.

    request     what a rule takes: 32 byte addresses and a mask
    bank        wavefronts of a shared-memory request
    sector      sectors of a global-memory request
    async_copy  wavefronts and sectors of a copy from global to shared memory
    local_memory  sectors of a local-memory request
    layout      where a tile keeps its cell (row, column): row-major, padded, swizzled
    tensor_core  which lane holds which element of a small product, and how its sum is rounded
    occupancy   blocks and warps that an SM holds at once, and what limits them
    roofline    the least time of a launch, and which part of the chip allows no less

Each module states its rule, its source and its limits at the top.
"""
