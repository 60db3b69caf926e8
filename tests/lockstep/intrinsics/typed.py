"""What Numba's typing says of a call, and runs of kernels in the engine."""

import numpy as np

from smemnb import lockstep
from smemnb.lockstep.intrinsics.names import IMPLEMENTATIONS
from smemnb.simulator import launch, seam

CONTEXT = seam.typing_context


def numba_type(dtype):
    """The Numba type of a dtype."""
    return seam.numpy_support.from_dtype(np.dtype(dtype))


def inferred(owner, name, *types):
    """Dtypes that Numba gives the results of owner.name(...), None if it refuses the call."""
    types = [numba_type(t) if isinstance(t, str | np.dtype) else t for t in types]
    with seam.target_override("cuda"):
        CONTEXT.refresh()
        function = CONTEXT.resolve_getattr(seam.types.Module(owner), name)
        try:
            found = CONTEXT.resolve_function_type(function, tuple(types), {})
        except Exception:  # Numba has many ways to say no
            return None
    if found is None:
        return None
    parts = getattr(found.return_type, "types", (found.return_type,))
    return tuple(np.dtype(seam.numpy_support.as_dtype(part)) for part in parts)


def dtypes_of(result):
    """Dtypes of what an implementation hands back."""
    return tuple(part.dtype for part in (result if isinstance(result, tuple) else (result,)))


def call(name, *values):
    """What an implementation that needs no batch makes of lane values."""
    return IMPLEMENTATIONS[name][0](None, None, None, *values)


def run_alone(kernel, *args, grid=1, block=32):
    """Launch a kernel in the engine with its own rules of types."""
    lockstep.launch(kernel, (grid, 1, 1), (block, 1, 1), args)


def run(kernel, *args, grid=1, block=32, watchers=()):
    """Launch a kernel in the engine, typed by Numba."""
    launch.run(kernel, grid, block, 0, 0, args, watchers)
