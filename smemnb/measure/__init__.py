"""What needs a GPU or its tools, and the readings taken with them.

bounds     the least time that a launch can take, before it is measured
recorded   readings that are shipped, with the GPU, driver and counter they came from
"""
