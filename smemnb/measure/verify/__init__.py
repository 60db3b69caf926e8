"""Agreement with the hardware: predicted counts beside those that a GPU counted.

case        a launch: kernel, extents, seeded arguments
ncu/        Nsight Compute over several launches
predicted   the source view: `trace` of each case
machine_code  the as-compiled view: the machine code that ran, run in NumPy
recording   readings of one GPU, live or from a file; the file that is shipped
compare     counters beside both views, and causes where they differ
report      the comparison as text
timing      n-way accesses by time, where counters are forbidden

The set of kernels that `smemnb verify` runs is `smemnb.laboratory.corpus`.
"""
