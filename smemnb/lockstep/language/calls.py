"""Calls: intrinsics, casts, functions of math and NumPy, and device functions.

Where what is called is known while compiling (a global, a closure variable, a module's attribute)
its call is compiled at once; a function in a variable, a tuple or a parameter is looked at when
the call runs, and its call compiled once for each function met. The order of the search: an
implementation declared by `protocol.lockstep_implementation`, the intrinsics of `numba.cuda` by
their qualified name, a type used as a cast, builtins, `operator`, the functions of
`math_functions`, a named tuple, a device function, an `@overload` of Numba.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from ...errors import UnsupportedSyntax
from ..intrinsics import printing
from ..intrinsics.names import IMPLEMENTATIONS, REFUSED, implementation_of_call, qualified
from ..lanes import NO_LANE, LaneValue, Mask, cast
from ..memory import KernelArray
from ..memory.attributes import FUNCTIONS as OF_ARRAYS
from ..memory.attributes import KINDS, METHODS
from ..numbers.math_functions import FUNCTIONS, to_int
from ..numbers.subnormals import converted, flush
from ..numbers.type_limits import LIMITS, limits_of
from ..protocol import implementation_of
from .calling.binding import Arguments
from .calling.inner import InnerFunction
from .calling.operator_functions import as_operator
from .calling.python_builtins import BUILTINS, METHOD_NAMES, method_of, next_item
from .calling.ufuncs import has_output, into_array
from .mixed import NUMBERS, Mixed
from .raising import number, raise_in
from .scope import UNKNOWN, Expression, Frame, Scope, attribute_of, flushed

_COMPUTING = ("fma", "cbrt", "libdevice")
"""The kinds of intrinsics that compute with floats; the others move their bits."""

_BITWISE = frozenset(
    [
        FUNCTIONS[math.copysign],
        *(
            IMPLEMENTATIONS[f"libdevice.{name}"][0]
            for name in ("copysignf", "signbitf", "float_as_int", "int_as_float", "truncf")
        ),
    ]
)
"""What takes the bits of a float32 as they are."""


def as_dtype(target: object) -> np.dtype[Any] | None:
    """The NumPy dtype of a type of NumPy or Numba, None for anything else."""
    if isinstance(target, np.dtype):
        return target
    if isinstance(target, type) and issubclass(target, np.generic):
        return np.dtype(target)
    if type(target).__module__.startswith(("numba.core.types", "numba.cuda.types")):
        try:
            return np.dtype(str(target))
        except TypeError:
            return None
    return None


def call(scope: Scope, node: ast.Call) -> Expression:
    """The closure of a call."""
    declared, scope.declared = scope.declared, ""
    target = scope.static(node.func)
    if target is not UNKNOWN:
        return call_of(scope, node, target, declared)
    if isinstance(node.func, ast.Attribute):
        return _method(scope, node, node.func)
    return _dynamic(scope, node, scope.expression(node.func), declared)


def call_of(scope: Scope, node: ast.Call, target: Any, declared: str = "") -> Expression:
    """The closure of a call of something that is known."""
    implementation = implementation_of(target)
    if implementation is not None:
        return _intrinsic(scope, node, implementation, "call", "")
    name = qualified(target)
    if name in IMPLEMENTATIONS:
        implementation, kind = implementation_of_call(name, node, scope.tree)
        return _intrinsic(
            scope, node, implementation, kind, declared if kind.endswith("array") else ""
        )
    if name in REFUSED:
        scope.refuse(node, *REFUSED[name])
    if name and not hasattr(target, "py_func") and not _may_be_overloaded(scope, target):
        _refuse_intrinsic(scope, node, name)
    return _plain_call(scope, node, target)


def _may_be_overloaded(scope: Scope, target: Any) -> bool:
    return scope.library.types is not None and inspect.isfunction(target)


def _refuse_intrinsic(scope: Scope, node: ast.Call, name: str) -> NoReturn:
    scope.refuse(
        node,
        f"the engine does not know cuda.{name}",
        "`smemnb/lockstep/intrinsics/names.py` lists what it knows; `smemnb/lockstep/protocol.py`"
        " says how to add a name.",
    )


def _plain_call(scope: Scope, node: ast.Call, target: Any) -> Expression:
    """A cast, a builtin, a function of math or NumPy, a device function."""
    dtype = as_dtype(target)
    if dtype is not None:
        convert = converted if scope.library.flushes else cast
        return _cast(scope, node, lambda value: convert(value, dtype))
    if target is builtins.int:
        return _cast(scope, node, to_int)
    if target is builtins.print:
        return _intrinsic(scope, node, printing.print_lanes, "print", "")
    if (_is_in(OF_ARRAYS, target) and len(node.args) == 1) or target is np.reshape:
        return _of_array(scope, node, target)
    return _call_known(scope, node, target)


def _call_known(scope: Scope, node: ast.Call, target: Any) -> Expression:
    if target is builtins.next:
        return _next(scope, node)
    if _is_in(BUILTINS, target):
        return _computing(scope, _builtin(scope, node, target))
        return _builtin(scope, node, target)
    if type(target).__name__ in ("ExternFunction", "ExternalFunction"):
        _refuse_external(scope, node, target)
    if _is_in(LIMITS, target):
        return _type_limits(scope, node, target)
    if _is_in(_NOT_COMPILED, target):
        scope.refuse(
            node,
            f"{ast.unparse(node.func)} is no function of a kernel: Numba takes it and its compiler"
            " refuses the code",
            _NOT_COMPILED[target],
        )
    replaced = as_operator(target, node)
    if replaced is not None:
        return scope.expression(replaced)
    if has_output(target, node):
        return into_array(scope, node, target)
    if _is_in(FUNCTIONS, target):
        call = _function(scope, node, FUNCTIONS[target])
        return call if FUNCTIONS[target] in _BITWISE else _computing(scope, call)
    if isinstance(target, type) and issubclass(target, tuple) and hasattr(target, "_fields"):
        return _named_tuple(scope, node, target)
    if inspect.isfunction(getattr(target, "py_func", None)):
        return _device_call(scope, node, target.py_func)
    return _overloaded(scope, node, target)


_NOT_COMPILED: dict[Callable[..., Any], str] = dict.fromkeys(
    (np.round, np.around), "Write round(x), or round(x, digits)."
)
"""Functions of NumPy that pass Numba's type inference (seen: numba-cuda 0.30.4, cc 9.0, NVVM says
ERROR_INVALID_IR) and that no GPU runs."""


def _type_limits(scope: Scope, node: ast.Call, target: Any) -> Expression:
    """np.finfo or np.iinfo of a type, or of the type of a value."""
    arguments = Arguments(scope, node)

    def run(frame: Frame, mask: Mask) -> LaneValue:
        (value,) = arguments.values(frame, mask)
        dtype = as_dtype(value) or np.dtype(value.dtype)
        try:
            return limits_of(target, dtype)
        except ValueError as error:
            scope.refuse(node, f"{ast.unparse(node)}: {error}", "np.finfo takes floats.")

    return run


def _of_array(scope: Scope, node: ast.Call, target: Any) -> Expression:
    """A function of a whole array, or of something else by the same name: max(a), max(items)."""
    first, rest = scope.expression(node.args[0]), Arguments(scope, node)
    site = scope.site(node, "load")
    others: list[Expression] = []

    def run(frame: Frame, mask: Mask) -> LaneValue:
        array = first(frame, mask)
        if isinstance(array, KernelArray):
            values, named = rest.values(frame, mask), rest.keywords(frame, mask)
            return OF_ARRAYS[target](array, frame.batch, mask, site, *values[1:], **named)
        if not others:
            others.append(_call_known(scope, node, target))
        return others[0](frame, mask)

    return run


def _is_in(table: Mapping[Any, Any], target: Any) -> bool:
    try:
        return target in table
    except TypeError:  # not hashable, so it is no function
        return False


def _intrinsic(
    scope: Scope, node: ast.Call, implementation: Callable[..., Any], kind: str, declared: str
) -> Expression:
    arguments = Arguments(scope, node)
    site = scope.site(node, kind, declared)
    flushes = scope.library.flushes and kind in _COMPUTING and implementation not in _BITWISE

    def run(frame: Frame, mask: Mask) -> LaneValue:
        values, named = arguments.values(frame, mask), arguments.keywords(frame, mask)
        if any(isinstance(value, Mixed) for value in values):
            values = [
                number(scope, node, frame, mask, value) if isinstance(value, Mixed) else value
                for value in values
            ]
        if flushes:
            values = [flush(value) for value in values]
            return flush(implementation(frame.batch, frame.rest(mask), site, *values, **named))
        return implementation(frame.batch, frame.rest(mask), site, *values, **named)

    return run


def _cast(scope: Scope, node: ast.Call, convert: Callable[[LaneValue], LaneValue]) -> Expression:
    arguments = Arguments(scope, node)
    if len(arguments.items) != 1 or not arguments.plain:
        scope.refuse(node, f"{ast.unparse(node)} casts more than one value", "Cast one value.")
    value = arguments.items[0]

    def run(frame: Frame, mask: Mask) -> LaneValue:
        given = value(frame, mask)
        if not isinstance(given, NUMBERS):
            given = number(scope, node, frame, mask, given)
        return convert(given)

    return run


def _computing(scope: Scope, call: Expression) -> Expression:
    """A call that computes: its result is flushed where the kernel's options say so."""
    return flushed(call) if scope.library.flushes else call


def _builtin(scope: Scope, node: ast.Call, target: Any) -> Expression:
    arguments, implementation = Arguments(scope, node), BUILTINS[target]
    flushes = scope.library.flushes
    site = scope.site(node, "load")

    def run(frame: Frame, mask: Mask) -> LaneValue:
        values, named = arguments.values(frame, mask), arguments.keywords(frame, mask)
        if flushes:
            values = [flush(value) for value in values]
        try:
            return implementation(frame, mask, site, *values, **named)
        except TypeError as error:
            scope.refuse(node, f"{ast.unparse(node)} has no meaning here ({error})", "Rewrite it.")

    return run


def _next(scope: Scope, node: ast.Call) -> Expression:
    """The next item of what `iter` gave; a lane that has no more raises StopIteration."""
    arguments = Arguments(scope, node)

    def run(frame: Frame, mask: Mask) -> LaneValue:
        try:
            item, past = next_item(frame, mask, *arguments.values(frame, mask))
        except TypeError as error:
            scope.refuse(node, f"{ast.unparse(node)} has no meaning here ({error})", "Rewrite it.")
        if past.any():
            raise_in(scope, node, frame, past, StopIteration)
        return item

    return run


def _function(scope: Scope, node: ast.Call, function: Callable[..., LaneValue]) -> Expression:
    arguments = Arguments(scope, node)
    if scope.library.flushes and function not in _BITWISE:
        function = _of_flushed(function)
    if len(arguments.items) == 1 and arguments.plain:
        only = arguments.items[0]

        def run_one(frame: Frame, mask: Mask) -> LaneValue:
            value = only(frame, mask)
            if not isinstance(value, NUMBERS):
                value = number(scope, node, frame, mask, value)
            return value.mapped(function) if hasattr(value, "mapped") else function(value)

        return run_one

    def run(frame: Frame, mask: Mask) -> LaneValue:
        values = arguments.values(frame, mask)
        values = [number(scope, node, frame, mask, value) for value in values]
        return function(*values, **arguments.keywords(frame, mask))

    return run


def _of_flushed(function: Callable[..., LaneValue]) -> Callable[..., LaneValue]:
    return lambda *values, **named: function(*map(flush, values), **named)


def _named_tuple(scope: Scope, node: ast.Call, target: Any) -> Expression:
    arguments = Arguments(scope, node)
    return lambda frame, mask: target(
        *arguments.values(frame, mask), **arguments.keywords(frame, mask)
    )


def _device_call(scope: Scope, node: ast.Call, function: Any) -> Expression:
    arguments, run = Arguments(scope, node), runner(scope, function)

    def call(frame: Frame, mask: Mask) -> LaneValue:
        values, named = arguments.values(frame, mask), arguments.keywords(frame, mask)
        return run(frame, frame.rest(mask), values, named)

    return call


def runner(scope: Scope, function: Any) -> Callable[..., LaneValue]:
    """The closure that runs a Python function for arguments: (frame, mask, values, named)."""
    library = scope.library
    dtype = library.returned(function)

    def run(
        frame: Frame, mask: Mask, values: Sequence[LaneValue], named: Mapping[str, LaneValue]
    ) -> LaneValue:
        program = library.program(function)
        if mask is NO_LANE:
            mask = frame.alive & False  # nobody calls; the result's type is still asked for
        result = program.run(frame.batch, mask, values, named, caller=frame)
        if dtype is None or not isinstance(result, NUMBERS):
            return result
        return cast(result, dtype)

    return run


def _overloaded(scope: Scope, node: ast.Call, target: Any) -> Expression:
    """What Numba runs for something that it knows by an `@overload`, chosen by the arguments."""
    arguments, types = Arguments(scope, node), scope.library.types
    if types is None and not inspect.isfunction(target):
        _refuse_call(scope, node, target)
    known: dict[int, tuple[Any, Any]] = {}
    literals = [] if arguments.starred else [_literal(scope, item) for item in node.args]

    def run(frame: Frame, mask: Mask) -> LaneValue:
        values, named = arguments.values(frame, mask), arguments.keywords(frame, mask)
        function = target
        if types is not None:
            function = types.implementation(target, values, named, literals)
        if function is None:
            if qualified(target):
                _refuse_intrinsic(scope, node, qualified(target))
            function = target if inspect.isfunction(target) else _refuse_call(scope, node, target)
        if id(function) not in known:
            known[id(function)] = function, runner(scope, function)
        try:
            return known[id(function)][1](frame, frame.rest(mask), values, named)
        except UnsupportedSyntax as error:
            if not _NUMBAS_OWN.search(error.file) or _NUMBAS_OWN.search(scope.file):
                raise
            scope.refuse(
                node,
                f"the engine cannot run {ast.unparse(node.func)}: inside of it {error.construct}",
                "Write out what it does, or use a function of cuda or math.",
            )

    return run


_NUMBAS_OWN = re.compile(r"[/\\](numba|numba_cuda)[/\\]")
"""A file of Numba's own, whose lines say nothing to a reader."""


def _literal(scope: Scope, node: ast.expr) -> int | None:
    """An integer that is known while compiling, None for everything else."""
    value = node.value if isinstance(node, ast.Constant) else scope.static(node)
    return value if type(value) is int else None


def _refuse_call(scope: Scope, node: ast.Call, target: Any) -> NoReturn:
    """Refuse a call by what is called: what stands behind an extension is no Python."""
    name = ast.unparse(node.func)
    kind, module = type(target).__name__, str(getattr(target, "__module__", ""))
    own = (
        "Give it a second implementation, of NumPy, with @lockstep_implementation"
        f"({name}) from smemnb.lockstep.protocol, or call a device function."
    )
    if kind == "_Intrinsic":
        scope.refuse(node, f"{name} is an @intrinsic: LLVM code, which the engine cannot run", own)
    if kind in ("ExternFunction", "DeclareDeviceCall"):
        what = f"{name} is declared by cuda.declare_device and written in another language"
        scope.refuse(node, what, own)
    if module.startswith(("cuda.coop", "cuda.cccl", "cuda.cooperative", "numba.cuda.coop")):
        scope.refuse(node, f"{name} is an algorithm of {module}: compiled C++", own)
    if isinstance(target, type):
        scope.refuse(
            node,
            f"{name} is a class, and its constructor in a kernel is LLVM code of an extension",
            "Use a named tuple of its numbers, and device functions for what it does.",
        )
    scope.refuse(
        node,
        f"{name} cannot be called in a kernel",
        "Call cuda intrinsics, functions of math, or device functions.",
    )


def _refuse_external(scope: Scope, node: ast.Call, target: Any) -> NoReturn:
    """Refuse what `cuda.declare_device` declares: its code is PTX or CUDA C++."""
    name = getattr(target, "name", None) or getattr(target, "symbol", "")
    scope.refuse(
        node,
        f"{ast.unparse(node.func)} is the external function {name}, declared by"
        " cuda.declare_device: its code is linked in on a GPU, and the engine runs Python alone",
        f"Write {name} as a device function (@cuda.jit(device=True)), or run this kernel on a GPU.",
    )


def _dynamic(scope: Scope, node: ast.Call, callee: Expression, declared: str) -> Expression:
    """A call of what only a running kernel knows: a variable, an item of a tuple, a parameter."""
    arguments = Arguments(scope, node)
    known: dict[int, tuple[Any, Expression]] = {}

    def run(frame: Frame, mask: Mask) -> LaneValue:
        target = callee(frame, mask)
        if isinstance(target, InnerFunction):
            values, named = arguments.values(frame, mask), arguments.keywords(frame, mask)
            return target.run(frame, frame.rest(mask), values, named)
        if id(target) not in known:
            if isinstance(target, NUMBERS) or not (callable(target) or as_dtype(target)):
                scope.refuse(
                    node,
                    f"{ast.unparse(node.func)} is not the same function in all lanes",
                    "Branch around the two calls.",
                )
            known[id(target)] = target, call_of(scope, node, target, declared)
        return known[id(target)][1](frame, mask)

    return run


def _method(scope: Scope, node: ast.Call, func: ast.Attribute) -> Expression:
    """A call of an attribute: of a module or class in a variable, or a method of a value."""
    name = func.attr
    types = scope.library.types
    known_names = name in METHODS or name in METHOD_NAMES
    added_names = types is not None and types.members_named(name, method=True)
    if not known_names and not added_names and not _may_be_module(scope, func.value):
        _refuse_method(scope, node)
    owner, arguments = scope.expression(func.value), Arguments(scope, node)
    site = scope.site(node, KINDS.get(name, "load"))
    known: dict[int, tuple[Any, Expression]] = {}

    def run(frame: Frame, mask: Mask) -> LaneValue:
        target = owner(frame, mask)
        if isinstance(target, KernelArray) and name in METHODS:
            values, named = arguments.values(frame, mask), arguments.keywords(frame, mask)
            return METHODS[name](target, frame.batch, mask, site, *values, **named)
        method = method_of(target, name)
        if method is not None:
            return method(target, *arguments.values(frame, mask))
        if id(target) not in known:
            found = attribute_of(target, name)
            if found is UNKNOWN and isinstance(target, np.dtype):
                found = getattr(target, name, UNKNOWN)
            if found is UNKNOWN or not callable(found):
                added = member(scope, target, name, method=True)
                if added is None:
                    _refuse_method(scope, node)
                values, named = arguments.values(frame, mask), arguments.keywords(frame, mask)
                return added(frame, frame.rest(mask), [target, *values], named)
            known[id(target)] = target, call_of(scope, node, found)
        return known[id(target)][1](frame, mask)

    return run


def member(
    scope: Scope, owner: LaneValue, name: str, *, method: bool
) -> Callable[..., LaneValue] | None:
    """What runs a method or reads an attribute that users have added to the type of a value.

    It takes (frame, mask, values, named), the owner first among the values.
    """
    types = scope.library.types
    added = None if types is None else types.member(owner, name, method=method)
    if types is None or added is None:
        return None

    def run(
        frame: Frame, mask: Mask, values: Sequence[LaneValue], named: Mapping[str, LaneValue]
    ) -> LaneValue:
        function = types.implementation(added, values, named, [])
        if function is None:
            raise TypeError(f".{name} is not for these types")
        return runner(scope, function)(frame, mask, values, named)

    return run


def _may_be_module(scope: Scope, node: ast.expr) -> bool:
    """Whether a name may stand for a module, a class or a dtype when the kernel runs."""
    static = scope.static(node)
    if static is not UNKNOWN or isinstance(node, ast.Attribute):
        return isinstance(node, ast.Attribute) and static is UNKNOWN
    return isinstance(node, ast.Name) and node.id not in scope.parameters


def _refuse_method(scope: Scope, node: ast.Call) -> NoReturn:
    scope.refuse(
        node,
        f"the engine does not know the method {ast.unparse(node.func)}",
        "Write the loop out, or use a function of cuda or math.",
    )
