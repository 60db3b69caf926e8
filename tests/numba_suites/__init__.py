"""Numba's own CUDA tests, run through the plug and compared with Numba's simulator.

    python -m tests.numba_suites intree               # numba.cuda.tests inside Numba
    python -m tests.numba_suites numba_cuda           # the tests of numba-cuda
    python -m tests.numba_suites intree -k test_warp  # a part of them

Each run has two halves, both in child processes: the baseline (NUMBA_ENABLE_CUDASIM=1, without
smemnb) and the plug (SMEMNB_DEVICE=lockstep, `import smemnb` before numba.cuda). The table says
for each test what came out of either; `exceptions/` names, with a reason, the tests that need
not pass. RESULTS.md holds the last outcome. Start reading at `__main__`, then `runner` (chunks of
modules, time limits), `worker` (what happens in a child), `comparison` (what is accepted).

Both suites run in one environment that has numba-cuda, pytest, filecheck, ml_dtypes and cffi:
for the in-tree suite, `child/sitecustomize.py` takes numba-cuda's redirector away.
"""
