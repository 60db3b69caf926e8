"""Racy twins: kernels with one barrier removed or moved, and who sees what is wrong with them.

    source     the twins of a kernel, written to real files
    verdicts   our races and racecheck's, per pair of source lines
    __main__   `python -m smemnb.laboratory.twins record --out FILE`, on a GPU

Kernels that are wrong on purpose are not launched on a GPU; twins are the one exception, so that
racecheck's verdict can be recorded. They run under compute-sanitizer only, never by themselves: a
barrier that is removed hangs nothing, and one that is moved stays in its place's block of
statements and never passes a `return`, `break` or `continue`, so that all threads still meet it.
"""
