"""One kernel three ways: in the engine, in plain Python per thread, and Numba's inferred types.

A case is a kernel `(out, inp)` whose thread writes `out[i]` and reads `inp`. Plain Python runs its
function once per thread, with a `cuda` that only knows the thread's number; device functions are
their Python functions there.
"""

import builtins
import types as python_types

import numpy as np
from numba import cuda

from smemnb import lockstep
from smemnb.lockstep.batch import Batch, Launch
from smemnb.lockstep.language.program import library_of
from smemnb.lockstep.language.scope import Frame
from smemnb.lockstep.memory import Arguments
from smemnb.simulator.inference import infer

THREADS = 70  # two blocks of 35: warps with lanes that do not exist


class Thread:
    """What `cuda` is for one thread in plain Python."""

    def __init__(self, number):
        self.number = number

    def grid(self, ndim):
        return np.int64(self.number)


def plain(value, thread, seen):
    """A value of a kernel's surroundings as plain Python has it."""
    if value is cuda:
        return thread
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(plain(item, thread, seen) for item in value)
    function = getattr(value, "py_func", value)
    if isinstance(function, python_types.FunctionType) and _ours(function):
        return plain_function(function, thread, seen)
    return value


def _ours(function):
    return (
        function.__module__.startswith(("tests.", "test_", "cases")) or "<" in function.__module__
    )


def plain_function(function, thread, seen):
    """A copy of a function whose globals and closure are plain Python."""
    if function in seen:
        return seen[function]
    code = function.__code__
    names = {**function.__globals__, "__builtins__": builtins}
    cells = tuple(python_types.CellType() for _ in function.__closure__ or ())
    copy = python_types.FunctionType(
        code, names, code.co_name, function.__defaults__, cells or None
    )
    seen[function] = copy
    for name in code.co_names:
        if name in names:
            names[name] = plain(names[name], thread, seen)
    for cell, old in zip(cells, function.__closure__ or (), strict=True):
        cell.cell_contents = plain(old.cell_contents, thread, seen)
    return copy


def inputs(dtype=np.float64, seed=3):
    """(out, inp): zeros, and numbers between -4 and 5 without symmetry."""
    inp = np.random.default_rng(seed).integers(-4, 6, THREADS).astype(dtype)
    return np.full(THREADS, -77.5), inp


def by_python(kernel, *args):
    """What the kernel leaves in copies of its arguments, thread after thread."""
    function = getattr(kernel, "py_func", kernel)
    args = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
    for number in range(THREADS):
        plain_function(function, Thread(number), {})(*args)
    return args


def by_engine(kernel, *args, debug=False):
    """What the kernel leaves in copies of its arguments in the engine."""
    function = getattr(kernel, "py_func", kernel)
    args = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
    types = infer(function, tuple(args), {"debug": debug})
    lockstep.launch(function, (2, 1, 1), (THREADS // 2, 1, 1), args, types=types)
    return args


def check_values(kernel, *args):
    """The engine's results are those of plain Python, exactly."""
    for ours, expected in zip(by_engine(kernel, *args), by_python(kernel, *args), strict=True):
        if isinstance(expected, np.ndarray):
            np.testing.assert_array_equal(ours, expected)


def check_types(kernel, *args):
    """Each variable of the kernel has the dtype that Numba infers; how many were compared."""
    function = getattr(kernel, "py_func", kernel)
    inferred = infer(function, args)
    program = library_of(function, inferred).program(function)
    batch = Batch(Launch(function, (2, 1, 1), (THREADS // 2, 1, 1)), 0, 2)
    frame = Frame(batch, batch.live, kernel=True)
    names = program.signature.named(len(args))
    held = Arguments(names, [np.array(a) if isinstance(a, np.ndarray) else a for a in args])
    frame.values.update(program.signature.bound(held.values, {}))
    with np.errstate(all="ignore"):
        program.body(frame, batch.live)
    compared = 0
    for name, kinds in inferred.variables().items():
        value = frame.values.get(name)
        if len(kinds) == 1 and isinstance(value, np.ndarray | np.generic):
            assert {str(value.dtype)} == kinds, name
            compared += 1
    return compared
