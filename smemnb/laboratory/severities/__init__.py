"""Severities beside a GPU: kernels that are wrong on purpose, and what the GPU makes of them.

    experiment   a kernel, its launch, and what its author expects
    kernels/     at least three per kind of error, by family
    everything   all of them
    launching    the launches of one experiment, in a process of its own
    recording    all experiments, side by side, and the file of their outcomes
    table        the outcomes as SEVERITIES.md

    python -m smemnb.laboratory.severities record --launch-wrong-kernels --out FILE.json
    python -m smemnb.laboratory.severities table FILE.json

Kernels that are wrong on purpose run only in the engine and are never launched on a GPU, where they
may hang it or end its context. This experiment is the one exception, so that the severities of
findings are read and not believed. It wants a machine that was given for it: each kernel runs in a
process of its own, which is ended when it does not come back, and nothing is launched without the
option --launch-wrong-kernels. In the engine (`SMEMNB_DEVICE=lockstep`) the same commands are a
rehearsal that needs no GPU.
"""
