"""What a multiprocessor does per cycle and how long it takes: microbenchmarks, one table of them.

    kernels      chains and mixes of instructions, shared memory, waits, whole GPU
    table        READINGS: each with its kernel, launch and what it is read for
    recording    the table measured on this machine's GPU, written and read

    python -m smemnb.laboratory.rates record --out FILE.json     on a GPU
    python -m smemnb.laboratory.rates loops --onto FILE.json     their machine code, without one
    python -m smemnb.laboratory.rates list                       the table, and its machine code

A reading is cycles of a multiprocessor's clock for a round of a loop, beside the instructions that
the compiler made of that round. Constants of `smemnb.tracing.timing` name the readings that they
follow from.

**Limits**: the compiler chooses registers and order, so a reading goes with the machine code that
stands beside it in the file.
"""
