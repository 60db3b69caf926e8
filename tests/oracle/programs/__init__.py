"""Random programs: the engine's arithmetic against Numba's compiled code.

`writing` makes a kernel from a seed, `host` compiles it with Numba's CUDA target and runs the
code on the processor, `gpu` runs it on a device, `comparing` runs it in the engine and says where
types or values differ, `shrinking` makes a differing program small. The command:

    python -m tests.oracle.programs --seeds 0:20000 --jobs 2
    python -m tests.oracle.programs --gpu --seeds 0:2000 --jobs 16
"""
