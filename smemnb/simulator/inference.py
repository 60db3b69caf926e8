"""What Numba's type inference says about a kernel, without a driver or a toolkit.

`infer(function, args)` runs Numba's own front end for the CUDA target (bytecode, SSA, type
inference; about 10 ms) and stops before any code is generated. What Numba refuses is refused as
`TypingRefused`, in a learner's words, with the line; what it accepts comes back as `Inferred`,
which tells the lockstep engine the type of a variable where it is read: `float32 + 1.0` is
float64 and `int32 * 2` is int64 on a GPU, whatever NumPy thinks.

Device functions are inferred along with the kernel, once for each set of argument types that
the kernel calls them with.

**Limits**: a device function with `inline="always"` is dissolved into its caller by Numba; its
variables have no entry of their own.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from . import seam
from .refusals import refusal
from .refusals.lowering import unlowerable

Types = tuple[Any, ...]
_DType = np.dtype[Any]


@dataclass(frozen=True, eq=False)
class _Function:
    """Types of one function for one set of argument types."""

    code: CodeType
    argument_types: Types
    return_type: Any
    kinds: Mapping[str, frozenset[Any]]
    reads: Mapping[tuple[str, int], frozenset[Any]]
    casts: frozenset[str]
    calls: frozenset[tuple[CodeType, Types]]
    typed: tuple[Any, Any] = field(repr=False)  # Numba's IR and typemap

    def local(self, name: str, line: int) -> _DType | None:
        """dtype of `name` where it is read at `line`; None where nothing is to be enforced."""
        if name not in self.casts and len(self.kinds.get(name, ())) < 2:
            return None
        found = self.reads.get((name, line), frozenset())
        return scalar_dtype(next(iter(found))) if len(found) == 1 else None


@dataclass(frozen=True, eq=False)
class Inferred:
    """The types of a kernel and of the device functions it calls.

    Attributes:
        argument_types: Numba types of the arguments, as the kernel sees them.
    """

    argument_types: Types
    _functions: tuple[_Function, ...] = field(repr=False)

    def local(self, function: Any, name: str, line: int) -> _DType | None:
        """dtype of variable `name` where it is read at absolute line `line` of `function`.

        None where there is nothing to enforce: the variable has one type throughout, is not a
        scalar, or is read with two types on that line.
        """
        found = {f.local(name, line) for f in self._of(function)}
        return found.pop() if len(found) == 1 else None

    def returned(self, function: Any) -> _DType | None:
        """dtype that a device function returns, on whichever path; None if it is no scalar."""
        found = {scalar_dtype(f.return_type) for f in self._of(function)}
        return found.pop() if len(found) == 1 else None

    def variables(self, function: Any = None) -> dict[str, set[str]]:
        """Name and types of every variable of the kernel (or of a device function of it)."""
        chosen = self._functions[:1] if function is None else self._of(function)
        shown: dict[str, set[str]] = defaultdict(set)
        for record in chosen:
            for name, kinds in record.kinds.items():
                shown[name] |= {str(kind) for kind in kinds}
        return dict(shown)

    def typed(self) -> Iterator[tuple[CodeType, Any, Any]]:
        """Code, Numba's IR and typemap of the kernel and of what it calls."""
        for record in self._functions:
            yield (record.code, *record.typed)

    def _of(self, function: Any) -> list[_Function]:
        code = getattr(function, "py_func", function).__code__
        return [record for record in self._functions if record.code is code]


def scalar_dtype(kind: Any) -> _DType | None:
    """NumPy dtype of a Numba scalar type, None for anything else."""
    kind = seam.types.unliteral(kind)
    if not isinstance(kind, seam.types.Number | seam.types.Boolean):
        return None
    try:
        dtype: _DType = np.dtype(seam.numpy_support.as_dtype(kind))
    except (NotImplementedError, seam.numpy_support.NumbaNotImplementedError):
        return None
    return dtype


# --- the front end -----------------------------------------------------------------------------


@seam.machinery.register_pass(mutates_CFG=False, analysis_only=True)
class _Keep(seam.machinery.AnalysisPass):  # type: ignore[misc,name-defined]
    """Last pass: hand over what inference found instead of compiling it."""

    _name = "smemnb_keep"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.cr = (state.func_ir, state.typemap, state.calltypes, state.return_type)
        return False


class _FrontEnd(seam.CUDACompiler):  # type: ignore[misc]
    """Numba's CUDA compiler, cut off behind type inference."""

    def define_pipelines(self) -> list[Any]:
        """The passes up to type inference, then `_Keep`."""
        whole = super().define_pipelines()[0]
        front = seam.machinery.PassManager("cuda")
        for step in whole.passes:
            front.passes.append(step)
            if step[0] is seam.typed_passes.NopythonTypeInference:
                break
        front.add_pass(_Keep, "keep the types")
        front.finalize()
        return [front]


def _run_front_end(function: Callable[..., Any], types: Types, returns: Any) -> Any:
    """(IR, typemap, calltypes, return type) of a function for these argument types."""
    flags = seam.CUDAFlags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.error_model = "numpy"
    flags.compute_capability = (9, 0)
    front = _FrontEnd(seam.typing_context, seam.target_context, None, types, returns, flags, {})
    return front.compile_extra(function)


def _record(function: Callable[..., Any], types: Types, parts: Any, casts: bool) -> _Function:
    """What one run of the front end says, in the engine's terms."""
    ir, typemap, calltypes, returned = parts
    kinds: dict[str, set[Any]] = defaultdict(set)
    for name, kind in typemap.items():
        if not name.startswith(("$", "arg.")):
            kinds[name.split(".")[0]].add(seam.types.unliteral(kind))
    reads: dict[tuple[str, int], set[Any]] = defaultdict(set)
    for variable, line in _reads(ir):
        kind = typemap.get(variable.name)
        reads[variable.unversioned_name, line].add(seam.types.unliteral(kind))
    return _Function(
        function.__code__,
        types,
        returned,
        {name: frozenset(kind) for name, kind in kinds.items()},
        {place: frozenset(kind) for place, kind in reads.items()},
        frozenset(ir.arg_names) if casts else frozenset(),
        frozenset(_device_calls(typemap, calltypes)),
        (ir, typemap),
    )


def _reads(ir: Any) -> Iterator[tuple[Any, int]]:
    """Every read of a named variable and its line; a phi is not a read."""
    for block in ir.blocks.values():
        for statement in block.body:
            if isinstance(statement, seam.ir.Del):
                continue
            used = [statement] if not isinstance(statement, seam.ir.Assign) else [statement.value]
            for part in used:
                if isinstance(part, seam.ir.Var):
                    found = [part]
                elif getattr(part, "op", None) == "phi" or not hasattr(part, "list_vars"):
                    found = []
                else:
                    found = part.list_vars()
                yield from ((v, statement.loc.line) for v in found if not v.name.startswith("$"))


def _device_calls(typemap: Mapping[str, Any], calltypes: Any) -> Iterator[tuple[CodeType, Types]]:
    """The device functions a function calls, with the argument types that were settled on."""
    for expression, signature in calltypes.items():
        if signature is None or getattr(expression, "op", None) != "call":
            continue
        callee = typemap.get(expression.func.name)
        if isinstance(callee, seam.types.Dispatcher):
            yield callee.dispatcher.py_func.__code__, tuple(signature.args)


# --- device functions --------------------------------------------------------------------------


class _Session:
    """One inference in progress: the functions met so far."""

    def __init__(self) -> None:
        self.done: dict[tuple[CodeType, Types], _Function] = {}

    def function(
        self, function: Callable[..., Any], types: Types, returns: Any = None, casts: bool = False
    ) -> _Function:
        """Types of a function, inferred once for each set of argument types."""
        key = function.__code__, types
        if key not in self.done:
            self.done[key] = _record(
                function, types, _run_front_end(function, types, returns), casts
            )
        return self.done[key]

    def reachable(self, root: _Function) -> tuple[_Function, ...]:
        """`root` and what it calls, without the guesses made while types were unsettled."""
        found, waiting = [root], [root]
        while waiting:
            for key in waiting.pop().calls:
                record = self.done.get(key)
                if record is not None and record not in found:
                    found.append(record)
                    waiting.append(record)
        return tuple(found)


def declared_signatures(dispatcher: Any) -> list[tuple[Types, Any]]:
    """(argument types, return type) of the signatures a dispatcher was decorated with.

    Where launches are simulated they were noted and not compiled; on a GPU they were compiled.
    """
    noted = dispatcher.__dict__.get("_smemnb_signatures")
    if noted is not None:
        return list(noted)
    if dispatcher._can_compile:
        return []
    if dispatcher.targetoptions.get("device"):
        return [(tuple(s.args), s.return_type) for s in dispatcher.nopython_signatures]
    return [(tuple(types), None) for types in dispatcher.overloads]


def _call_template(session: _Session, dispatcher: Any, args: Types, kws: Any) -> Any:
    """Numba's `get_call_template` for a device function, inferred and not compiled."""
    _, args = dispatcher.fold_argument_types(args, kws)
    wanted = declared_signatures(dispatcher)
    casts = bool(wanted)
    with dispatcher._compiling_counter:
        records = [
            session.function(dispatcher.py_func, types, returns, casts)
            for types, returns in (wanted or [(tuple(args), None)])
        ]
    name = dispatcher.py_func.__name__
    signatures = [seam.typing.signature(r.return_type, *r.argument_types) for r in records]
    template = seam.typing.make_concrete_template(
        f"CallTemplate({name})", key=name, signatures=signatures
    )
    return template, inspect.signature(dispatcher.py_func), tuple(args), {}


@contextmanager
def _inferring(session: _Session) -> Iterator[None]:
    """Dispatchers answer from `session` while this holds (under Numba's compiler lock)."""
    dispatcher = seam.CUDADispatcher
    kept = {name: getattr(dispatcher, name) for name in ("get_call_template", "get_overload")}
    device = seam.dispatcher_module.get_current_device

    def get_overload(self: Any, signature: Any) -> Any:
        # Numba compiles its own overloads while it types a call of them; LLVM suffices for that
        types = tuple(seam.sigutils.normalize_signature(signature)[0])
        if types not in self.overloads:
            seam.compile_device(self, types)
        return kept["get_overload"](self, signature)

    dispatcher.get_call_template = lambda self, args, kws: _call_template(session, self, args, kws)
    dispatcher.get_overload = get_overload
    seam.dispatcher_module.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))
    try:
        yield
    finally:
        for name, method in kept.items():
            setattr(dispatcher, name, method)
        seam.dispatcher_module.get_current_device = device


# --- the public face ---------------------------------------------------------------------------

_known: WeakKeyDictionary[Any, dict[Any, Inferred]] = WeakKeyDictionary()


def argument_type(value: Any) -> Any:
    """Numba's type of a kernel argument (or the type itself).

    >>> argument_type(3), argument_type(1.5), argument_type(np.float32(1))
    (int64, float64, float32)
    """
    if isinstance(value, seam.types.Type):
        return value
    return seam.typeof(value, seam.Purpose.argument)


def infer(
    function: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any] | None = None
) -> Inferred:
    """Types of a kernel for these arguments (values or Numba types).

    >>> def scale(out, n):
    ...     x = n * 2
    ...     out[0] = x + 0.5
    >>> infer(scale, (np.zeros(4, np.float32), np.int32(3))).variables()["x"]
    {'int64'}

    Raises:
        TypingRefused: Numba's type inference, or its code generation, would refuse the kernel.
    """
    types = tuple(argument_type(value) for value in args)
    cache = _known.setdefault(function, {})
    key = types, bool((options or {}).get("debug")), _outer_values(function)
    if key not in cache:
        cache[key] = _infer(function, types)
    return cache[key]


def _infer(function: Callable[..., Any], types: Types) -> Inferred:
    session = _Session()
    with seam.compiler_lock, seam.target_override("cuda"):
        seam.typing_context.refresh()
        seam.target_context.refresh()
        try:
            with _inferring(session):
                parts = _run_front_end(function, types, None)
        except Exception as error:
            raise refusal(error, function, types) from None
    refused = unlowerable(function, *parts)
    if refused is not None:
        raise refused
    root = _record(function, types, parts, casts=False)
    return Inferred(types, session.reachable(root))


def _outer_values(function: Callable[..., Any]) -> tuple[Any, ...]:
    """The globals and closure values a function names: by value if plain, else by identity."""
    code = function.__code__
    values = [function.__globals__.get(name) for name in code.co_names]
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # an empty cell
            values.append(None)
    return tuple((type(v), v) if isinstance(v, int | float | bool | str) else id(v) for v in values)
