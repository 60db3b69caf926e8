"""Runs a kernel on one case of an exercise, in the engine, and keeps what it wrote and its trace.

Outputs are poisoned before the launch: floats with a NaN that no arithmetic makes, integers with a
value that the right answer does not contain. An element that holds its poison afterwards was not
written. The kernel gets copies of the inputs, so that a changed input is seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...lockstep.launch import launch
from ...tracing import trace
from ...tracing.trace import Trace
from ...tracing.tracer import trace_of
from ...tracing.watching import Watched
from ..exercise import Array, Case, Exercise, Kernel
from ..source import function_of, parameters

_UNSIGNED: dict[int, type[np.unsignedinteger[Any]]] = {2: np.uint16, 4: np.uint32, 8: np.uint64}
# A quiet NaN whose payload no operation produces, for each width of float.
_NAN = {2: 0x7E5A, 4: 0x7FC0_5AFE, 8: 0x7FF8_0000_0000_5AFE}


@dataclass(frozen=True)
class Run:
    """What one launch wrote, beside what it should have written, and its trace.

    `names` are the kernel's own parameter names, outputs first.
    """

    case: Case
    names: tuple[str, ...]
    expected: tuple[Array, ...]
    outputs: tuple[Array, ...]
    unwritten: tuple[Array, ...]
    inputs: tuple[Any, ...]
    inputs_after: tuple[Any, ...]
    trace: Trace

    @property
    def elements(self) -> int:
        """Elements of the (first) output."""
        return int(self.expected[0].size)

    @property
    def title(self) -> str:
        """Describe the launch: shapes of the (first) output and of the inputs, grid, block.

        A single input that has the output's extents, in any order, says nothing new.
        """
        return title_of(self.case, self.inputs, self.expected[0])


def title_of(case: Case, inputs: tuple[Any, ...], output: Array) -> str:
    """Describe a launch, as the title of its run; a fresh one by its seed, too."""
    grid, block = (_dim(d) for d in (case.grid, case.block))
    seed = "" if case.seed is None else f", fresh, seed {case.seed}"
    if not output.size:
        return f"an output of 0 elements, grid {grid}, block {block}{seed}"
    arrays = [value for value in inputs if isinstance(value, np.ndarray)]
    shapes = [_shape(array) for array in arrays if array.ndim > 1]
    extents = [sorted(array.shape) for array in arrays if array.ndim > 1]
    given = ""
    if len(shapes) > 1 or extents not in ([], [sorted(output.shape)]):
        given = f", input{'s' * (len(shapes) > 1)} {' and '.join(shapes)}"
    return f"output {_shape(output)}{given}, grid {grid}, block {block}{seed}"


def outputs_of(exercise: Exercise, inputs: tuple[Any, ...]) -> tuple[Array, ...]:
    """Compute what every output must hold, by the specification."""
    said = exercise.specification(*(_copied(value) for value in inputs))
    return said if isinstance(said, tuple) else (said,)


def observe(exercise: Exercise, case: Case, kernel: Kernel, patience_s: float | None = None) -> Run:
    """Run a kernel on one case, in the engine, with every watcher; `patience_s` as for trace.

    A learner's comments waive nothing here.

    Raises:
        KernelStopped: the kernel had not come to an end.
        SmemnbError: what the engine refuses; whatever else a kernel raises comes through.
    """
    inputs = case.inputs()
    expected = outputs_of(exercise, inputs)
    outputs = tuple(initial_output(exercise, array) for array in expected)
    before = tuple(array.copy() for array in outputs)
    handed = tuple(_copied(value) for value in inputs)
    watched = trace(kernel, patience_s=patience_s, waivers=False)
    launched = watched[case.grid, case.block, 0, case.shared_bytes](*outputs, *handed)
    return Run(
        case=case,
        names=parameters(kernel),
        expected=expected,
        outputs=outputs,
        unwritten=tuple(
            _unwritten(exercise, now, then) for now, then in zip(outputs, before, strict=True)
        ),
        inputs=inputs,
        inputs_after=handed,
        trace=launched,
    )


def counted(exercise: Exercise, case: Case) -> Run:
    """Run the solution on one case and count, no more: nothing of it has to be looked for.

    Which elements it touches is decided by whole numbers, so Numba's type inference, which takes
    longer than the launch, is left out. Tests compare the counts with those of `observe`.
    """
    function = function_of(exercise.solution)
    assert function is not None
    inputs = case.inputs()
    expected = outputs_of(exercise, inputs)
    outputs = tuple(initial_output(exercise, array) for array in expected)
    seen = Watched(counts=True, checks=False)
    grid, block = _three(case.grid), _three(case.block)
    args = (*outputs, *(_copied(value) for value in inputs))
    launch(function, grid, block, args, shared_bytes=case.shared_bytes, watchers=seen.all)
    shared = seen.launch.static_shared_bytes, case.shared_bytes
    traced = trace_of(function, grid, block, shared, counts=seen.counts(), observations=None)
    return Run(
        case=case,
        names=parameters(exercise.solution),
        expected=expected,
        outputs=outputs,
        unwritten=(),
        inputs=inputs,
        inputs_after=(),
        trace=replace(traced, barriers=seen.barriers),
    )


def _three(extent: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = (*extent, 1, 1)[:3]
    return x, y, z


def poison(expected: Array) -> Any:
    """Choose a scalar that no right element holds.

    >>> int(poison(np.array([127, 126], np.int8)))
    125

    Raises:
        ValueError: there is none, or the dtype is neither float nor integer.
    """
    dtype = expected.dtype
    if dtype.kind == "f":
        return np.array(_NAN[dtype.itemsize], _UNSIGNED[dtype.itemsize]).view(dtype)[()]
    if dtype.kind not in "iu":
        raise ValueError(f"an output of {dtype} cannot be poisoned: use an integer or a float")
    high = np.iinfo(dtype).max
    taken = set(expected.ravel().tolist())
    free = next((high - i for i in range(len(taken) + 1) if high - i not in taken), None)
    if free is None or free < np.iinfo(dtype).min:
        raise ValueError(f"the right answer holds every value of {dtype}: use a smaller case")
    return dtype.type(free)


def initial_output(exercise: Exercise, expected: Array) -> Array:
    """Make an output as the kernel gets it: the exercise's start everywhere, or poison."""
    start = poison(expected) if exercise.start is None else exercise.start
    return np.full(expected.shape, start, expected.dtype)


def _unwritten(exercise: Exercise, now: Array, before: Array) -> Array:
    if exercise.start is not None:
        return np.zeros(now.shape, bool)
    if now.dtype.kind == "f":  # NaN never equals NaN: compare bits
        bits = _UNSIGNED[now.dtype.itemsize]
        return np.asarray(now.view(bits) == before.view(bits))
    return np.asarray(now == before)


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _shape(array: Array) -> str:
    return " x ".join(str(n) for n in array.shape)


def _dim(extent: tuple[int, ...]) -> str:
    return str(extent[0]) if len(extent) == 1 else str(extent)
