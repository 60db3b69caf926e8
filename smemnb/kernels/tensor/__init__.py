"""Matrix product by tensor cores: float16, bfloat16 and tf32, with sums in float32.

tensor_cut   the choices of a kernel as a `TensorCut`
variants     the kernels for any type, layout and shape, from factories
"""
