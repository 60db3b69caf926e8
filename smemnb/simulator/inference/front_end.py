"""Numba's own front end for the CUDA target, run up to type inference and no further."""

from __future__ import annotations

import inspect
import operator
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from weakref import ref

from ...lockstep.lifetime import kept_in
from .. import seam
from ..refusals import refusal
from ..refusals.constants import check_constants
from ..refusals.lowering import unlowerable
from .decisions import decisions, watched
from .inferred import Function, Inferred, Types
from .merges import merges, widened, with_none


@seam.machinery.register_pass(mutates_CFG=False, analysis_only=True)
class _Keep(seam.machinery.AnalysisPass):  # type: ignore[misc,name-defined]
    """Last pass: hand over what inference found instead of compiling it."""

    _name = "smemnb_keep"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        decided = decisions(state.func_id.code, state)
        state.cr = (state.func_ir, state.typemap, state.calltypes, state.return_type, decided)
        return False


class _FrontEnd(seam.CUDACompiler):  # type: ignore[misc]
    """Numba's CUDA compiler, cut off behind type inference."""

    dissolves = True  # functions with inline="always" into their callers, as Numba does

    def define_pipelines(self) -> list[Any]:
        """The passes up to type inference, then `_Keep`."""
        whole = super().define_pipelines()[0]
        front = seam.machinery.PassManager("cuda")
        for step in whole.passes:
            if self.dissolves or step[0].__name__ != "InlineInlinables":
                front.passes.append(step)
            if step[0] is seam.typed_passes.NopythonTypeInference:
                break
        front.add_pass(_Keep, "keep the types")
        front.finalize()
        return [front]


class _Undissolved(_FrontEnd):
    """The same with every function left whole, to learn the types of dissolved ones."""

    dissolves = False


def _run_front_end(
    function: Callable[..., Any], types: Types, returns: Any, compiler: Any = _FrontEnd
) -> Any:
    """(IR, typemap, calltypes, return type, tests decided) of a function for these types."""
    flags = seam.CUDAFlags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.error_model = "numpy"
    flags.compute_capability = (9, 0)
    front = compiler(seam.typing_context, seam.target_context, None, types, returns, flags, {})
    return front.compile_extra(function)


def _record(function: Callable[..., Any], types: Types, parts: Any, *, casts: bool) -> Function:
    """What one run of the front end says, in the engine's terms."""
    ir, typemap, calltypes, returned, decided = parts
    kinds: dict[str, set[Any]] = defaultdict(set)
    for name, kind in typemap.items():
        if not name.startswith(("$", "arg.")):
            kinds[name.split(".")[0]].add(seam.types.unliteral(kind))
    reads: dict[tuple[str, int], set[Any]] = defaultdict(set)
    for variable, line in _reads(ir):
        kind = typemap.get(variable.name)
        reads[variable.name.split(".")[0], line].add(seam.types.unliteral(kind))
    return Function(
        ref(function),
        function.__code__,
        types,
        returned,
        {name: frozenset(kind) for name, kind in kinds.items()},
        {place: frozenset(kind) for place, kind in reads.items()},
        merges(function.__code__, ir, typemap),
        frozenset(ir.arg_names) if casts else frozenset(),
        frozenset(_device_calls(typemap, calltypes)),
        (ir.blocks, typemap),
        _of_two_enums(ir, typemap),
        widened(function.__code__, ir, typemap, calltypes),
        decided,
        with_none(function.__code__, ir, typemap, calltypes),
        any(isinstance(kind, seam.types.Optional) for kind in typemap.values()),
    )


def _of_two_enums(ir: Any, typemap: Mapping[str, Any]) -> frozenset[int]:
    """The lines on which `is` compares members of two enums, and nothing else."""
    found: dict[int, bool] = {}
    for block in ir.blocks.values():
        for statement in block.find_exprs(op="binop"):
            if statement.fn in (operator.is_, operator.is_not):
                sides = [typemap.get(side.name) for side in (statement.lhs, statement.rhs)]
                two = sides[0] != sides[1] and all(
                    hasattr(side, "instance_class") for side in sides
                )
                line = statement.loc.line
                found[line] = found.get(line, True) and two
    return frozenset(line for line, two in found.items() if two)


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


def _device_calls(
    typemap: Mapping[str, Any], calltypes: Any
) -> Iterator[tuple[Callable[..., Any], Types]]:
    """The device functions a function calls, with the argument types that were settled on."""
    for expression, signature in calltypes.items():
        if signature is None or getattr(expression, "op", None) != "call":
            continue
        callee = typemap.get(expression.func.name)
        if isinstance(callee, seam.types.Dispatcher):
            yield callee.dispatcher.py_func, tuple(signature.args)


# --- device functions --------------------------------------------------------------------------


class _Session:
    """One inference in progress: the functions met so far."""

    def __init__(self, compiler: Any = _FrontEnd) -> None:
        self.compiler = compiler
        self.done: dict[tuple[Callable[..., Any], Types], Function] = {}

    def function(
        self,
        function: Callable[..., Any],
        types: Types,
        returns: Any = None,
        *,
        casts: bool = False,
    ) -> Function:
        """Types of a function, inferred once for each set of argument types."""
        key = function, types
        if key in self.done:
            return self.done[key]
        known = _kept_records(function, types)
        wanted: tuple[Any, ...] = ()
        if known is not None:
            outer = function.__code__, _outer_values(function)
            wanted = self.compiler, types, returns, casts, *outer
            for record in known.get(wanted, ()):
                self.done.setdefault((record.function(), record.argument_types), record)
        if key not in self.done:
            parts = _run_front_end(function, types, returns, self.compiler)
            self.done[key] = _record(function, types, parts, casts=casts)
            if known is not None:
                known[wanted] = self.reachable(self.done[key])
        return self.done[key]

    def reachable(self, root: Function) -> tuple[Function, ...]:
        """`root` and what it calls, without the guesses made while types were unsettled."""
        found, waiting = [root], [root]
        while waiting:
            for key in waiting.pop().calls:
                record = self.done.get(key)
                if record is not None and record not in found:
                    found.append(record)
                    waiting.append(record)
        return tuple(found)


def _kept_records(function: Callable[..., Any], types: Types) -> dict[Any, Any] | None:
    """What one inference leaves to the next about a device function; None if nothing.

    Of functions of this package and of Numba: these, and what they name, do not change while a
    process runs. An argument that is a function itself would be kept alive.
    """
    home = sys.modules.get(function.__module__ or "")
    if home is None or vars(home) is not function.__globals__:
        return None
    if home.__name__.partition(".")[0] not in ("smemnb", "numba", "numba_cuda"):
        return None
    return kept_in(function, "device types") if all(map(_plain, types)) else None


def _plain(kind: Any) -> bool:
    if isinstance(kind, seam.types.BaseTuple):
        return all(map(_plain, kind))
    return isinstance(kind, _PLAIN)


_PLAIN = (
    seam.types.Number,
    seam.types.Boolean,
    seam.types.Array,
    seam.types.NoneType,
    seam.types.IntegerLiteral,
)


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
            session.function(dispatcher.py_func, types, returns, casts=casts)
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
    # Numba looks up each of its overloads by the flags too, and compares them option by option;
    # their hash is that of the options' names
    equal, hashed = seam.CUDAFlags.__eq__, seam.CUDAFlags.__hash__
    number = hash(seam.CUDAFlags())

    def same(self: Any, other: Any) -> Any:
        if type(other) is type(self) and other._values == self._values:
            return True
        return equal(self, other)

    def get_overload(self: Any, signature: Any) -> Any:
        # Numba compiles its own overloads while it types a call of them; LLVM suffices for that
        types = tuple(seam.sigutils.normalize_signature(signature)[0])
        if types not in self.overloads:
            seam.compile_device(self, types)
        return kept["get_overload"](self, signature)

    dispatcher.get_call_template = lambda self, args, kws: _call_template(session, self, args, kws)
    dispatcher.get_overload = get_overload
    seam.CUDAFlags.__eq__, seam.CUDAFlags.__hash__ = same, lambda self: number
    seam.dispatcher_module.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))
    try:
        with watched():
            yield
    finally:
        for name, method in kept.items():
            setattr(dispatcher, name, method)
        seam.CUDAFlags.__eq__, seam.CUDAFlags.__hash__ = equal, hashed
        seam.dispatcher_module.get_current_device = device


# --- the public face ---------------------------------------------------------------------------


def argument_type(value: Any) -> Any:
    """Numba's type of a kernel argument (or the type itself).

    >>> import numpy as np
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
    >>> import numpy as np
    >>> infer(scale, (np.zeros(4, np.float32), np.int32(3))).variables()["x"]
    {'int64'}

    Raises:
        TypingRefused: Numba's type inference, or its code generation, would refuse the kernel.
        LaunchRefused: the arrays that it takes from outside exceed constant memory.
    """
    types = tuple(argument_type(value) for value in args)
    cache = kept_in(function, "types")
    debug, fastmath = (bool((options or {}).get(name)) for name in ("debug", "fastmath"))
    # the code too: IPython's autoreload puts another one into the same function
    key = types, debug, fastmath, function.__code__, _outer_values(function)
    if key not in cache:
        cache[key] = _infer(function, types, debug=debug, fastmath=fastmath)
    found: Inferred = cache[key]
    return found


def _infer(function: Callable[..., Any], types: Types, *, debug: bool, fastmath: bool) -> Inferred:
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
    found = session.reachable(root)
    check_constants(function.__name__, [one.typed for one in found])
    return Inferred(types, found + _dissolved(function, types, found), debug, fastmath)


def _dissolved(
    function: Callable[..., Any], types: Types, known: tuple[Function, ...]
) -> tuple[Function, ...]:
    """Types of the functions that Numba dissolves into their callers, as if it did not."""
    if not _names_inlined(function, set()):
        return ()
    session = _Session(_Undissolved)
    with seam.compiler_lock, seam.target_override("cuda"), _inferring(session):
        try:
            root = session.function(function, types)
        except Exception:  # types that only hold where the function is dissolved
            return ()
    have = {record.function() for record in known}
    return tuple(r for r in session.reachable(root) if r.function() not in have)


def _names_inlined(function: Callable[..., Any], seen: set[Any]) -> bool:
    """Whether a function, or one it calls, names a function with the option `inline`."""
    seen.add(function)
    for value in _named_values(function):
        if isinstance(value, seam.CUDADispatcher) and value.py_func not in seen:
            inline = value.targetoptions.get("inline", "never")
            if inline != "never" or _names_inlined(value.py_func, seen):
                return True
    return False


def _outer_values(function: Callable[..., Any]) -> tuple[Any, ...]:
    """The globals and closure values a function names: by value if plain, else by identity."""
    values = _named_values(function)
    return tuple((type(v), v) if isinstance(v, int | float | bool | str) else id(v) for v in values)


def _named_values(function: Callable[..., Any]) -> list[Any]:
    """The globals and closure values that a function names."""
    code = function.__code__
    values = [function.__globals__.get(name) for name in code.co_names]
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # an empty cell
            values.append(None)
    return values
