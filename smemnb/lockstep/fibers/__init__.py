"""Warps that run one after the other: each has a fiber, which lets others run where it waits.

`waiting` says from the source which kernels may need it; `fiber` is one thread of Python used as
a coroutine, with its view of the batch; `block_group` is some blocks in flight; `scheduler` decides
who runs; `event_log` puts events together for the watchers, as if the warps had run in lockstep.
"""
