"""Agreement with the hardware: predicted counts beside those that a GPU counted.

case        a launch of the set: kernel, extents, seeded arguments
corpus/     the set
ncu/        Nsight Compute over the set
predicted   the source view: `trace` of each case
machine_code  the as-compiled view: the machine code that ran, run in NumPy
recording   the file of one GPU's readings; the one that is shipped
compare     counters beside both views, and causes where they differ
report      the comparison as text
timing      n-way accesses by time, where counters are forbidden
twins/      kernels with a barrier less, and racecheck's verdicts on them
"""
