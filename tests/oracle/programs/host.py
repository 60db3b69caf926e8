"""Numba's CUDA code of a kernel, run on this machine's processor.

Numba lowers a kernel to LLVM IR before NVVM sees it. That IR is compiled for the host instead:
the same types, the same lowering of every operator as on a GPU, without one. What PTX or
libdevice would add is put in their place (`hostcode`): coordinates of a thread, functions of
libdevice by those of the C library.

Types are taken from the same compilation: per variable and line, per expression by its place in
the source (Numba names temporaries after their bytecode offset, and Python keeps the place of
each instruction).
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

from smemnb.simulator import seam

from . import hostcode

Place = tuple[int, int, int, int]  # line, end line, column, end column
_TEMPORARY = re.compile(r"\$(?:(?:inplace_)?binop_[a-z]+(\d+)|(\d+)(?:binary|unary|compare|call))")


UNDEFINED, OVERFLOWN, ENDED = 1, 2, 4
"""What a thread may do: what C leaves undefined; pass the range of a signed integer, which Numba
lets LLVM assume away; end by an exception, of which a launch without debug says nothing."""


class Refused(Exception):
    """Numba does not take this program."""


class Compiled(NamedTuple):
    """A kernel's code for the host, and its types."""

    name: str
    parameters: list[str]  # LLVM types, flattened
    texts: list[str]
    variables: dict[tuple[str, int], set[str]]
    expressions: dict[Place, set[str]]
    merged: bool  # an `if` expression, `and` or `or` joins values of several types


@contextlib.contextmanager
def a_device() -> Iterator[None]:
    """Device functions ask for the device's architecture while they are compiled: say one."""
    modules = [
        module
        for module in (seam.dispatcher_module, seam.cuda_compiler)
        if hasattr(module, "get_current_device")
    ]
    kept = [module.get_current_device for module in modules]
    device = SimpleNamespace(compute_capability=(9, 0))
    for module in modules:
        module.get_current_device = lambda: device
    try:
        yield
    finally:
        for module, asked in zip(modules, kept, strict=True):
            module.get_current_device = asked


def compile_program(function: Any, types: tuple[Any, ...]) -> Compiled:
    """Numba's IR of a kernel for these argument types, with the types it inferred.

    Raises:
        Refused: Numba does not compile it.
    """
    try:
        with seam.compiler_lock, seam.target_override("cuda"), a_device():
            seam.typing_context.refresh()
            seam.target_context.refresh()
            result = seam.cuda_compiler.compile_cuda(function, seam.types.void, types, cc=(9, 0))
        texts = _texts(result.library)
    except Exception as error:
        raise Refused(f"{type(error).__name__}: {error}") from error
    notes = result.type_annotation
    variables, expressions = _types(function, notes.blocks, notes.typemap)
    merged = _merges(notes.blocks, notes.typemap)
    texts = [hostcode.for_host(text) for text in texts]
    inline = next(
        (m[0] for text in texts for m in re.finditer(r'asm\s+(sideeffect\s+)?"[^"]*"', text)), ""
    )
    if inline:
        raise Refused(f"the host has no {inline}")
    return Compiled(*_signature(texts, function.__name__), texts, variables, expressions, merged)


def _texts(library: Any) -> list[str]:
    found = getattr(library, "llvm_strs", None)
    return list(found) if found is not None else [str(m) for m in library.modules]


def _signature(texts: list[str], name: str) -> tuple[str, list[str]]:
    """The function's name and the types of its parameters, as LLVM writes them."""
    line = next(
        line for line in texts[0].splitlines() if line.startswith("define") and f"{name}B" in line
    )
    found = re.match(r'define \S+ @(".*?")\((.*)\)', line)
    assert found is not None, line
    return found[1], [part.rsplit(" ", 1)[0] for part in found[2].split(", ")]


def _types(function: Any, blocks: Any, typemap: Any) -> tuple[Any, Any]:
    """Types of variables by name and line, of expressions by their place in the source."""
    positions = [tuple(place) for place in function.__code__.co_positions()]
    variables: dict[tuple[str, int], set[str]] = {}
    expressions: dict[Place, set[str]] = {}
    for block in blocks.values():
        for statement in block.body:
            if type(statement).__name__ != "Assign" or statement.target.name not in typemap:
                continue
            name, kind = statement.target.name, typemap[statement.target.name]
            said = str(seam.types.unliteral(kind))
            temporary = _TEMPORARY.match(name)
            if temporary:
                at = int(temporary[1] or temporary[2]) // 2 - 1  # Numba counts from 2
                if at < len(positions) and None not in positions[at]:
                    expressions.setdefault(positions[at], set()).add(said)
            elif not name.startswith("$") and getattr(statement.value, "op", "") != "phi":
                key = name.split(".")[0], statement.loc.line
                variables.setdefault(key, set()).add(said)
    return variables, expressions


def _merges(blocks: Any, typemap: Any) -> bool:
    """True if a value on the stack comes from two paths with two types."""
    for block in blocks.values():
        for statement in block.body:
            target = getattr(statement, "target", None)
            name, value = getattr(target, "name", ""), getattr(statement, "value", None)
            if name.startswith("$phi") and getattr(value, "name", "") in typemap:
                if seam.types.unliteral(typemap[value.name]) != seam.types.unliteral(typemap[name]):
                    return True
    return False


def run_programs(programs: list[tuple[Compiled, list[Any]]], threads: int) -> list[Any]:
    """Run each program for threads 0 to `threads` - 1; arrays among its arguments are written.

    Returns, per program, what each thread did (a sum of UNDEFINED, OVERFLOWN, ENDED), or a text:
    why the program could not be run.
    """
    module = llvm.parse_assembly(hostcode.SUPPORT)
    said: list[Any] = []
    for number, (program, arguments) in enumerate(programs):
        try:
            parts = [llvm.parse_assembly(text) for text in program.texts]
            parts.append(llvm.parse_assembly(_driver(number, program, arguments, threads)))
        except RuntimeError as error:
            said.append(str(error))
            continue
        unknown = hostcode.unknown_names(parts)
        said.append(f"the host has no {', '.join(sorted(unknown))}" if unknown else None)
        if not unknown:
            for part in parts:
                module.link_in(part)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, hostcode.machine())
    engine.finalize_object()
    flags = np.ctypeslib.as_array(
        (ctypes.c_uint8 * 4096).from_address(engine.get_global_value_address("undefined"))
    )
    for number, problem in enumerate(said):
        if problem is None:
            flags[:] = 0
            ctypes.CFUNCTYPE(None)(engine.get_function_address(f"run_{number}"))()
            said[number] = flags[:threads].copy()
    return said


def _driver(number: int, program: Compiled, arguments: list[Any], threads: int) -> str:
    """A function that calls the kernel once per thread; the arguments are built in."""
    values, loads = [], []
    kinds = iter(program.parameters[1:])
    for argument in arguments:
        if argument.ndim:
            address = argument.__array_interface__["data"][0]
            shape, strides = argument.shape, argument.strides
            fields = [0, 0, argument.size, argument.itemsize, address, *shape, *strides]
            for field, kind in zip(fields, itertools.islice(kinds, len(fields)), strict=True):
                said = str(field)
                if kind == "ptr":
                    said = f"inttoptr (i64 {field} to ptr)" if field else "null"
                values.append(f"{kind} {said}")
        else:
            kind = next(kinds)
            address = argument.__array_interface__["data"][0]
            at = f"%v{len(values)}"
            loads.append(f"  {at} = load {kind}, ptr inttoptr (i64 {address} to ptr)")
            values.append(f"{kind} {at}")
    given, declared = ", ".join(["ptr %ret", *values]), ", ".join(program.parameters)
    return "\n".join(
        [
            "@thread = external global i32",
            "declare void @note(i8)",
            f"declare i32 @{program.name}({declared})",
            f"define void @run_{number}() {{",
            "start:",
            "  %ret = alloca ptr",
            *loads,
            "  br label %loop",
            "loop:",
            "  %t = phi i32 [0, %start], [%next, %loop]",
            "  store i32 %t, ptr @thread",
            f"  %status = call i32 @{program.name}({given})",
            "  %failed = icmp sgt i32 %status, 0",
            f"  %ended = select i1 %failed, i8 {ENDED}, i8 0",
            "  call void @note(i8 %ended)",
            "  %next = add i32 %t, 1",
            f"  %more = icmp ult i32 %next, {threads}",
            "  br i1 %more, label %loop, label %end",
            "end:",
            "  ret void",
            "}",
        ]
    )
