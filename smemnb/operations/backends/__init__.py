"""Arrays of any library as the operations use them: an address, rows, bytes from row to row.

matrix_view    a matrix of any library
array_backend  what the operations need to know of a library
find           which library an argument is of; nothing is imported that its caller has not
numpy_arrays, numba_arrays, torch_tensors, cupy_arrays, jax_arrays    one library each
protocols      any other object with `__cuda_array_interface__` or `__dlpack__`
dlpack         the capsules of DLPack, read and made
"""
