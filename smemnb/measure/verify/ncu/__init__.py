"""Nsight Compute over launches: which counters, how it is run, and how its pages are read.

counters   which counter answers which count of the model
launching  the process that is looked into: every case launched once, with a journal
profiling  ncu over the cases, a batch at a time
pages      its two pages as CSV, read
"""
