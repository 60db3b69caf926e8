"""Histograms of any type and number of bins; nobody has to read them to understand a rung.

counting    of whole numbers, the counters in shared memory, as many copies as fit
bytes       of the 256 values of a byte, without a question whether a value has a counter
scattering  of more bins than shared memory has words for: counters in global memory
binning     of what lies between edges
folding     counts of bytes as those of bins; a copy
extent      the least and the largest element
"""
