"""Rules about names, attributes, and the shapes of shared and local arrays."""

from __future__ import annotations

import ast
import re

from .place import function_tree
from .words import Said, Scene, arguments, plain, rule, similar, value_of

# --- shared and local arrays -------------------------------------------------------------------


@rule(r"Function\(<function (shared|local)\.array")
def _array_request(match: re.Match[str], scene: Scene) -> Said:
    space = match[1]
    call = next((n for n in scene.where.nodes() if isinstance(n, ast.Call) and _asks(n)), None)
    types = [kind.split("=", 1)[-1] for kind in arguments(scene.text)]
    if "missing a required argument: 'dtype'" in scene.text or len(types) < 2:
        return (
            f"cuda.{space}.array needs a dtype.",
            f"Write cuda.{space}.array(shape, float32) with `from numba import float32`.",
        )
    sizes = "Write float32, float64 or int32, imported from numba."
    if "Function(" in types[1] or "type(" in types[1]:
        return (
            "Numba cannot use this dtype: Python's int and float have no fixed size here.",
            sizes,
        )
    named = re.match(r"Literal\[str\]\((\w*)\)", types[1])
    if named:
        return f"Numba knows no dtype `{named[1]}`.", sizes
    shape = _shape(call)
    if isinstance(shape, ast.List):
        return "The shape is a list.", f"Write a tuple: ({ast.unparse(shape)[1:-1]})."
    asked = f"`{ast.unparse(shape)}`" if shape is not None else "this one"
    lead = (
        f"The shape of a {space} array is fixed when the kernel is compiled: a number, one name"
        f" of a global constant, or a tuple of those. Numba cannot take {asked}."
    )
    expression = _computed(shape)
    if expression is not None:
        text = ast.unparse(expression)
        return lead, (
            f"Give `{text}` a name above the kernel, as in `PITCH = {text}`,"
            " and put that name into the shape."
        )
    if space == "local":
        return lead, "Use a global constant: the largest size that may come."
    return lead, (
        "Use a global constant; for a size that is known at the launch only, use"
        " cuda.shared.array(0, dtype) and give the bytes as fourth number:"
        " kernel[grid, block, 0, nbytes]."
    )


def _asks(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "array"


def _shape(call: ast.Call | None) -> ast.expr | None:
    if call is None:
        return None
    named = [keyword.value for keyword in call.keywords if keyword.arg == "shape"]
    return next(iter([*call.args, *named]), None)


def _computed(shape: ast.expr | None) -> ast.expr | None:
    """The part of a shape that is arithmetic of constants."""
    parts = shape.elts if isinstance(shape, ast.Tuple) else [shape] if shape else []
    for part in parts:
        inner = [n for n in ast.walk(part) if isinstance(n, ast.Attribute | ast.Call)]
        if isinstance(part, ast.BinOp) and not inner:
            return part
    return None


# --- names -------------------------------------------------------------------------------------


@rule(r"Untyped (?:global name|freevar|closure variable) '(\w+)':.*?<class '([\w.]+)'>")
def _untyped(match: re.Match[str], scene: Scene) -> Said | None:
    name, kind = match[1], match[2].rsplit(".", 1)[-1]
    if not re.search(rf"\b{name}\b", scene.where.source):
        return None  # a name inside of Numba's own code
    if kind == "builtin_function_or_method":
        return f"Kernels cannot call `{name}`.", "Call it on the host, before the launch."
    if kind in ("function", "method"):
        return (
            f"`{name}` is a plain Python function; a GPU cannot call it.",
            f"Decorate it: @cuda.jit(device=True) above `def {name}`.",
        )
    if kind in ("dict", "list", "set", "str"):
        return (
            f"`{name}` is a {kind} outside the kernel; kernels take numbers and arrays.",
            "Pass it as an array argument: np.array(...), or put a number into a constant.",
        )
    if kind == "type":
        return f"`{name}` is a class; kernels cannot use classes.", "Pass its numbers as arguments."
    return (
        f"`{name}` is an object of type {kind}, which Numba cannot take into a kernel.",
        "Take the number out of it into a constant above the kernel, or pass it as an argument.",
    )


_TYPES = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
_IMPORTS = {
    "math": "import math",
    "np": "import numpy as np",
    "cuda": "from numba import cuda",
    **{name: f"from numba import {name}" for name in _TYPES},
}


@rule(r"(?:global )?name '(\w+)' is not defined")
def _undefined(match: re.Match[str], scene: Scene) -> Said:
    code = scene.function.__code__
    if match[1] in _IMPORTS:
        return f"The name `{match[1]}` is not imported.", f"Write `{_IMPORTS[match[1]]}` above."
    known = list(scene.function.__globals__)
    known += [n for n in dir(__builtins__) if n.islower()] if not known else []
    from numba import cuda

    of_cuda = match[1] in dir(cuda) and match[1] not in _HOST
    return (
        f"The name `{match[1]}` is defined nowhere.",
        (f"Did you mean cuda.{match[1]}?" if of_cuda else "")
        or similar(match[1], code.co_varnames)
        or similar(match[1], known)
        or "Define it above the kernel or pass it as an argument.",
    )


@rule(r"[Vv]ariable '([\w.]+)' (?:is not defined|referenced before assignment)")
def _too_early(match: re.Match[str], scene: Scene) -> Said:
    name = match[1].split(".")[0]
    return f"`{name}` is read before it has a value.", f"Assign `{name}` first."


_HOST = (
    "to_device device_array device_array_like pinned pinned_array mapped_array stream event"
    " synchronize get_current_device current_context select_device close jit"
).split()


@rule(r"module 'numba\.cuda' has no attribute '(\w+)'")
@rule(r"Unknown attribute '(\w+)' of type Module\(<module 'numba\.cuda'")
def _cuda_attribute(match: re.Match[str], scene: Scene) -> Said:
    from numba import cuda

    name = match[1]
    if name in _HOST:
        return (
            f"cuda.{name} belongs to the host; a kernel cannot call it.",
            "Call it before the launch and pass the result as an argument.",
        )
    names = [n for n in dir(cuda) if not n.startswith("_") and n not in _HOST]
    folded = {n.lower().replace("_", ""): n for n in names}
    same = folded.get(name.lower().replace("_", ""))
    dotted = {"sharedarray": "shared.array", "localarray": "local.array"}
    same = dotted.get(name.lower().replace("_", ""), same)
    guess = f"Did you mean cuda.{same}?" if same else similar(name, names)
    return f"numba.cuda has nothing called `{name}` for kernels.", guess


@rule(r"Unknown attribute '(\w+)' of type Dim3")
def _dim3(match: re.Match[str], scene: Scene) -> Said:
    return (
        f"threadIdx, blockIdx, blockDim and gridDim have .x, .y and .z, not .{match[1]}.",
        "Write .x, .y or .z.",
    )


@rule(r">>> [^\n]*\bDim3\b")
def _whole_dim3(match: re.Match[str], scene: Scene) -> Said:
    tree = function_tree(scene.function.__code__)
    axes = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    bare = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in ("threadIdx", "blockIdx", "blockDim", "gridDim")
        and id(node) not in axes
    ]
    at = next((n for n in bare if n.lineno == scene.where.line), bare[0] if bare else None)
    said = "cuda.threadIdx" if at is None else ast.unparse(at)
    elsewhere = "" if at is None or at.lineno == scene.where.line else f" in line {at.lineno}"
    return f"{said} stands for three numbers, x, y and z.", f"Write {said}.x{elsewhere}."


@rule(r"Unknown attribute '(\w+)' of type (list|reflected list)")
@rule(r"(build_list|list)\((?:undefined|int64|float64)\)")
def _list(match: re.Match[str], scene: Scene) -> Said:
    return LIST


LIST: Said = (
    "A kernel cannot make a list: threads have no memory manager.",
    "Use cuda.local.array(n, dtype) for numbers of one thread,"
    " cuda.shared.array for numbers of a block.",
)


@rule(
    r"Unknown attribute '(random|randint|uniform|rand)' of type Module"
    r"|<built-in method \w+ of (Random|numpy\.random)"  # once compiling for the CPU was loaded
)
def _random(match: re.Match[str], scene: Scene) -> Said:
    return (
        "Python's and NumPy's random numbers are not available in a kernel.",
        "Use numba.cuda.random (create_xoroshiro128p_states), or pass random numbers as an array.",
    )


@rule(r"Unknown attribute '(\w+)' of type Module\(<module '([\w.]+)'")
def _module_attribute(match: re.Match[str], scene: Scene) -> Said:
    import sys

    names = dir(sys.modules.get(match[2], object()))
    absent = "" if match[1] in names else similar(match[1], names)
    return f"Kernels cannot use {match[2]}.{match[1]}.", absent or "Write the loop yourself."


@rule(r"Unknown attribute '(\w+)' of type array\((\w+), (\d)d")
def _array_attribute(match: re.Match[str], scene: Scene) -> Said:
    names = ["shape", "size", "ndim", "strides", "dtype", "itemsize", "T", "flat"]
    return (
        f"An array in a kernel has no `.{match[1]}`.",
        similar(match[1], names) or f"It has {', '.join(f'.{n}' for n in names[:4])}.",
    )


@rule(r"Unknown attribute '(\w+)' of type (\S+)")
def _attribute(match: re.Match[str], scene: Scene) -> Said:
    def owner(node: ast.AST) -> ast.expr | None:
        return node.value if isinstance(node, ast.Attribute) and node.attr == match[1] else None

    name = scene.named(match[2], owner)
    lead = f"`{name}` is {plain(match[2])} and" if name else value_of(match[2])
    of_arrays = "Arrays have it." if match[1] in ("shape", "size", "ndim", "strides", "T") else ""
    return f"{lead} has no `.{match[1]}` in a kernel.", of_arrays
