"""Histograms of any type and number of bins; nobody has to read them to understand a rung.

counting   of whole numbers, the counters in shared memory, as many copies as fit
"""
