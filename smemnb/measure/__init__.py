"""What needs a GPU or its tools, and the readings taken with them.

recorded   readings that are shipped, with the GPU, driver and counter they came from
"""
