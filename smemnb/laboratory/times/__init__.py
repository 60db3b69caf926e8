"""Kernels of many kinds with their times on a GPU: what predictions of time are held to.

    kernels     34 kernels; nothing of the model of time was fitted to them
    cases       each with its launch, its arguments, and what it has to give
    recording   times and stall reasons on this machine's GPU, written and read
    predicting  times of the model beside them

    python -m smemnb.laboratory.times record --out FILE.json     on a GPU, with Nsight Compute
    python -m smemnb.laboratory.times predict --beside FILE.json     without one

**Limits**: each kernel at one size. Times are those of a cold L2 cache: other data is read before
each launch.
"""
