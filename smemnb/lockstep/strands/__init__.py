"""Warps that run one after the other: each has a strand, and hands the baton on where it waits.

`waiting` says from the source which kernels may need it; `strand` is one thread of Python used as
a coroutine, with its view of the batch; `scheduler` decides who runs; `journal` puts together what
the watchers are told, as if the warps had run in lockstep.
"""
