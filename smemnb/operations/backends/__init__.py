"""Arrays of each library as the operations see them: an address, rows, bytes from row to row.

backend     `MatrixView`, a matrix; `ArrayBackend`, what the operations need to know of a library
find        which kind an argument is of; nothing is imported that the caller has not imported
numpy_arrays, numba_arrays, torch_tensors, cupy_arrays, jax_arrays    one library each
protocols   any other object with `__cuda_array_interface__` or `__dlpack__`
dlpack      the capsules of DLPack, read and made
"""
