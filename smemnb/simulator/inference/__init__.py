"""What Numba's type inference says about a kernel, without a driver or a toolkit.

`infer(function, args)` runs Numba's own front end for the CUDA target (bytecode, SSA, type
inference; about 10 ms) and stops before any code is generated. What Numba refuses is refused as
`TypingRefused`, in a learner's words, with the line; what it accepts is returned as `Inferred`,
which gives the lockstep engine the type of a variable where it is read: `float32 + 1.0` is
float64 and `int32 * 2` is int64 on a GPU, whatever NumPy thinks.

Device functions are inferred along with the kernel, once for each set of argument types that
the kernel calls them with.

**Limits**: a device function with `inline="always"` is dissolved into its caller by Numba; its
variables have no entry of their own.
"""

from .front_end import argument_type, declared_signatures, infer
from .inferred import Inferred, scalar_dtype

__all__ = ["Inferred", "argument_type", "declared_signatures", "infer", "scalar_dtype"]
