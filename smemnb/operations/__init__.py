"""Array in, array out: the finished kernels as functions.

    transpose(x)        x.T with contiguous rows, elements of 1, 2, 4, 8 or 16 bytes
    matmul(a, b)        alpha * a @ b + beta * out in float32

Arrays may be of NumPy, Numba, CuPy, PyTorch or JAX, or of any library with
`__cuda_array_interface__` or DLPack; the result is of the same library, on the same device, and its
work on the caller's stream. Without a GPU the lockstep engine computes it.

Start reading at `transposing` or `multiplying`; `backends/` reads arrays, `contract` refuses what
is not taken, `choice` picks the kernel, `launching` runs it, `engine` says what it costs without
a GPU. `smemnb bench overhead` measures what a call costs the host.
"""

from .multiplying import matmul
from .transposing import transpose

__all__ = ["matmul", "transpose"]
