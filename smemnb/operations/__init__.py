"""Array in, array out: the finished kernels as functions.

    transpose(x)        x.T with contiguous rows, elements of 1 to 16 bytes; batches, other axes
    matmul(a, b)        alpha * a @ b + beta * out in float32
    cumsum(x), cummax(x)    running sums and largest elements along an axis
    sum, mean, min, max, argmin, argmax     of any dtype of numbers, along any axes
    softmax(x), log_softmax(x), layer_norm(x), rms_norm(x)
                        rows of float32 or float64, each by itself
    bincount(x)         how often each whole number occurs
    histogram(x, bins)  how many elements lie between edges, and the edges
    convolve(x, w)      scipy.ndimage.convolve with one or two axes of weights; stacks of pictures

Arrays may be of NumPy, Numba, CuPy, PyTorch or JAX, or of any library with
`__cuda_array_interface__` or DLPack; the result is of the same library, on the same device, and its
work on the caller's stream. Without a GPU the lockstep engine computes it.

Start reading at `transposing` or `multiplying`; `backends/` reads arrays, `contract` refuses what
is not taken. `axes` and `operands` make matrices of arrays of more axes, `transpose_choice` and
`matmul_choice` pick the kernel, `launching` runs it, `engine` says what it costs without a GPU.
A GPU's driver is called at once (`prepared`; SMEMNB_PREPARED=0 leaves that to Numba), and a call
like one before is not decided anew (`repeated`). Sums, scans, histograms and rows do all of that
through `patterns.perform`, with a workspace of their stream (`workspace`); `laid` sees arrays of
any axes as three. `smemnb bench overhead` measures what a call costs the host.
"""

from .convolving import convolve
from .histograms import bincount, histogram
from .multiplying import matmul
from .normalising import layer_norm, log_softmax, rms_norm, softmax
from .reducing import argmax, argmin, max, mean, min, sum
from .scanning import cummax, cumsum
from .transposing import transpose

__all__ = [
    "argmax",
    "argmin",
    "bincount",
    "convolve",
    "cummax",
    "cumsum",
    "histogram",
    "layer_norm",
    "log_softmax",
    "matmul",
    "max",
    "mean",
    "min",
    "rms_norm",
    "softmax",
    "sum",
    "transpose",
]
