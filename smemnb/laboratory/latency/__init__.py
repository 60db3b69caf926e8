"""How long a wait is, and what hides it: `h200_latency.json`.

    kernels     chains of loads and of multiply-adds, timed by the clock of the multiprocessor
    measuring   their times on this machine's GPU
    waiting     small kernels that each wait for one thing, for Nsight Compute
    recording   the file of all of it, written and read

    python -m smemnb.laboratory.latency record --out FILE.json     on a GPU, with Nsight Compute

Taught in `41_latency`.

**Limits**: one chip. A step of a chain of loads is the load and the one instruction that makes its
address. DRAM is read in random order over one gigabyte and less, so a step there may also wait for
the translation of its address. The bytes of `measuring.flights` are all ones.
"""
