"""Rules about indexing, operators, calls and syntax."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...lockstep.language.pruning import as_inferred, live
from .place import Place, function_tree, heading
from .words import Said, Scene, arguments, plain, rule, value_of

# --- indexing ----------------------------------------------------------------------------------


@rule(r"cannot index (array\(\w+, (\d)d, \w\)) with (\d+) indices")
def _too_many(match: re.Match[str], scene: Scene) -> Said:
    axes, given = int(match[2]), int(match[3])

    def indexed(node: ast.AST) -> ast.expr | None:
        if not isinstance(node, ast.Subscript):
            return None
        count = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
        return node.value if count == given else None

    name = scene.named(match[1], indexed) or "a"
    index = {0: "()", 1: "i"}.get(axes) or ", ".join(["row", "col", "k"][:axes])
    cure = f"Give {axes}, as in {name}[{index}]."
    return (
        f"A {axes}-d array is indexed with {given} {'index' if given == 1 else 'indices'}.",
        cure if axes else f"It holds one number: {name}[()].",
    )


@rule(r"Unsupported array index type (\w+)[^\n]*")
def _index_type(match: re.Match[str], scene: Scene) -> Said:
    kind = match[1]
    if kind.startswith("float"):
        return (
            f"An index is {kind}; it must be an integer.",
            "`/` gives a float: write `//`, or int(...).",
        )
    if kind in ("UniTuple", "Tuple"):
        return (
            "An index is a tuple.",
            "cuda.grid(2) gives two numbers: write `col, row = cuda.grid(2)` and a[row, col].",
        )
    return f"An index is {kind}; it must be an integer.", "Write int(...) around it."


@rule(r"Cannot modify (?:readonly|read-only|immutable) array")
def _readonly(match: re.Match[str], scene: Scene) -> Said:
    return stored_into_fixed(scene.named("", _stored), scene.parameters)


def _stored(node: ast.AST) -> ast.expr | None:
    stored = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    return node.value if stored and isinstance(node, ast.Subscript) else None


def stored_into_fixed(name: str, parameters: Iterable[str]) -> Said:
    """About a store into a read-only array of this name, '' where the name is not known."""
    if not name:
        return (
            "The kernel stores into an array that is read-only.",
            "Pass a writable one: array.copy(); arrays outside the kernel are constants to it.",
        )
    if name in parameters:
        return (
            f"The kernel stores into `{name}`, which is read-only.",
            f"Pass a writable array: {name}.copy().",
        )
    return (
        f"The kernel stores into `{name}`, a read-only array outside of it: a constant.",
        "Pass it as an argument.",
    )


@rule(r"Function\(<built-in function setitem>\)")
def _setitem(match: re.Match[str], scene: Scene) -> Said | None:
    target, index, value = ([*arguments(scene.text), "", "", ""])[:3]
    if re.fullmatch(r"(u?int|float|complex)\d+", plain(target)):
        return into_number(scene.named(target, _stored), plain(target), scene.parameters)
    if not target.startswith("array"):
        return f"One cannot store into {plain(target)}.", "Make a new one, or use a local array."
    if value.startswith("array"):
        return (
            f"{value_of(value)} is stored where one number belongs.",
            "On the right an index is missing: a 1-d array takes one, as in a[i], a 2-d array two,"
            " as in a[row, col].",
        )
    if value.startswith("complex"):
        kind = plain(target).rsplit(" ", 1)[-1]
        return f"A complex number is stored into {kind}.", "Store value.real, or abs(value)."
    if value.startswith(("Literal[str]", "unicode", "none", "Tuple", "UniTuple", "Optional")):
        return f"{value_of(value)} is stored into an array of numbers.", "Store a number."
    return f"One cannot store {plain(value)} at [{plain(index)}] of {plain(target)}.", ""


def into_number(name: str, kind: str, parameters: Iterable[str]) -> Said:
    """About a store into one number of this name, '' where the name is not known.

    >>> into_number("out", "float32", ["out", "inp"])[1]
    'Pass an array for it, such as np.zeros(n, np.float32).'
    """
    if name in parameters:
        return (
            f"`{name}` is one number ({kind}), not an array.",
            f"Pass an array for it, such as np.zeros(n, np.{kind}).",
        )
    lead = f"`{name}` is" if name else "What has an index here is"
    return (
        f"{lead} one number ({kind}), not an array.",
        "If it was one, `name = value` gave its name to the number: write name[i] = value.",
    )


@rule(r"Function\(<built-in function getitem>\)")
def _getitem(match: re.Match[str], scene: Scene) -> Said:
    target = (arguments(scene.text) or [""])[0]
    if "Dict" in target or "dict" in target:
        return DICT
    if target.startswith("type(CUDADispatcher"):
        return (
            "A kernel cannot launch another kernel.",
            "Launch both from the host, one after the other.",
        )
    if not target.startswith(("array", "Tuple", "UniTuple")):
        name = scene.named(target, lambda node: getattr(node, "value", None))
        lead = f"`{name}` is {plain(target)} and" if name else f"{value_of(target)} is"
        return (
            f"{lead} not an array: it cannot be indexed.",
            "Check which variable is meant, and whether it has an index already.",
        )
    return f"{value_of(target)} cannot be indexed so.", "Use integers, one per axis."


DICT: Said = (
    "A kernel cannot use a dict.",
    "Put the numbers into an array and index it with integers.",
)

# --- assignment and types ----------------------------------------------------------------------


@rule(r"Cannot unify (.+?) and (.+?) for '([\w.]+)'")
def _unify(match: re.Match[str], scene: Scene) -> Said:
    name = match[3].split(".")[0]
    if name.startswith("$"):
        return (
            "The kernel returns, or combines, values of two unlike types:"
            f" {plain(match[1])} and {plain(match[2])}.",
            "Give both the same type.",
        )
    return (
        f"`{name}` is {plain(match[1])} on one way through the kernel and {plain(match[2])}"
        " on another; one variable has one type.",
        "Use two names.",
    )


@rule(r"(?:failed to unpack (\S+))")
def _unpack(match: re.Match[str], scene: Scene) -> Said:
    grid = " cuda.grid(1) gives one number: write `i = cuda.grid(1)`, or cuda.grid(2) for two."
    return f"{value_of(match[1])} is one value; it cannot be unpacked.", grid.strip()


@rule(r"wrong tuple length for .*?expected (\d+), got (\d+)")
def _length(match: re.Match[str], scene: Scene) -> Said:
    return (
        f"{match[1]} names stand on the left, {match[2]} values on the right.",
        "cuda.grid(n) gives n numbers; shape has one per axis.",
    )


@rule(r"Type of variable '([\w.$]+)' cannot be determined")
def _undetermined(match: re.Match[str], scene: Scene) -> Said | None:
    if unsupported_in(scene.function, SYNTAX) is not None:
        return None
    return (
        "Numba cannot tell the type of a value here.",
        "Split the line into simple assignments, each with a value of a clear type.",
    )


@rule(r"Cannot resolve setattr")
def _setattr(match: re.Match[str], scene: Scene) -> Said:
    return "A kernel cannot set attributes.", "Store into an element: out[i] = value."


@rule(r"print\(\) function implementation does not support keyword")
def _print_keyword(match: re.Match[str], scene: Scene) -> Said:
    return (
        "A kernel's print takes values only: no `sep`, no `end`.",
        "Write the values side by side: print(a, b).",
    )


@rule(r">>> bool\((?:readonly )?array\(")
def _truth(match: re.Match[str], scene: Scene) -> Said:
    return (
        "A whole array is neither true nor false.",
        "A thread works on single elements: index the array, as in a[i].",
    )


@rule(r"Int value is too large: (-?\d+)")
def _large(match: re.Match[str], scene: Scene) -> Said:
    return f"{match[1]} does not fit into 64 bits.", "Write a float, as in 2.0**70."


@rule(r"cannot type infer runaway recursion")
def _runaway(match: re.Match[str], scene: Scene) -> Said:
    return (
        "The function calls itself, and no path through it ends without a call.",
        "Give it one that returns a number first.",
    )


@rule(r"insert_unresolved_ref")
@rule(r"^\(\w+,[\w ,()\[\]]*\)$")
def _other_types(match: re.Match[str], scene: Scene) -> Said:
    return (
        "The function calls itself with other types than those it was called with.",
        "Cast the arguments of one call to the types of the other, as in f(int32(n - 1)).",
    )


@rule(r"'\w+' object has no attribute 'dtype'")
def _atomic_number(match: re.Match[str], scene: Scene) -> Said | None:
    return ATOMIC if "atomic" in scene.where.source else None


ATOMIC: Said = (
    "An atomic operation takes the array first.",
    "Write atomic.add(out, index, value).",
)

# --- calls -------------------------------------------------------------------------------------


@rule(r"(?P<given>\d+) argument types given, but function takes (?P<wanted>\d+)")
@rule(r"Mismatch number of argument types(?P<given>)(?P<wanted>)")
def _count(match: re.Match[str], scene: Scene) -> Said:
    names = ", ".join(inspect.signature(scene.function).parameters)
    return (
        f"{scene.function.__name__}({names}) is launched with {len(scene.types)} arguments.",
        "Give one for each parameter.",
    )


@rule(r"Cannot bind '[^\n]*' to signature '\(([^\n]*?)\)' due to \"TypeError: ([^\"]*)\"")
def _bind(match: re.Match[str], scene: Scene) -> Said:
    name = re.search(r"<function (\w+) at", scene.text)
    called = f"{name[1] if name else 'The device function'}({match[1]})"
    return f"This call does not fit {called}: {match[2].rstrip('.')}.", ""


@rule(r"No type info available for (.+?) as a callable")
def _not_callable(match: re.Match[str], scene: Scene) -> Said:
    if match[1].startswith("Array"):
        return "An array is called like a function.", "Index it with square brackets: a[row, col]."
    return f"A value of type {plain(match[1])} is called like a function.", "Drop the brackets."


@rule(r"(?:Function\(<intrinsic grid(?:size)?>\)|grid(?:size)?\(\) missing|can only be 1, 2, 3)")
def _grid(match: re.Match[str], scene: Scene) -> Said:
    return "cuda.grid and cuda.gridsize take the literal 1, 2 or 3.", "Write cuda.grid(2)."


@rule(r"(\w+)\(\) takes (\d+) positional arguments? but (\d+) (?:was|were) given")
def _positional(match: re.Match[str], scene: Scene) -> Said:
    wanted = int(match[2]) - 1  # Numba counts its own hidden argument
    words = {0: "no arguments", 1: "1 argument"}.get(wanted, f"{wanted} arguments")
    return f"cuda.{match[1]} takes {words}, not {int(match[3]) - 1}.", ""


@rule(r"not enough values to unpack \(expected (\d+), got (\d+)\)")
def _atomic(match: re.Match[str], scene: Scene) -> Said | None:
    if "atomic" not in scene.where.source:
        return None
    return (
        "An atomic operation takes the array, the index and the value, each on its own.",
        "Write cuda.atomic.add(out, (row, col), value).",
    )


@rule(r"unsupported NumPy function 'numpy\.(\w+)'")
def _numpy(match: re.Match[str], scene: Scene) -> Said:
    import math

    own = f"Write math.{match[1]}." if hasattr(math, match[1]) else "Write the loop yourself."
    return f"Kernels cannot use np.{match[1]}.", own


@rule(r"Function\(<built-in function (dot|matmul)>\)|Function\(<function (dot|matmul) ")
def _matmul(match: re.Match[str], scene: Scene) -> Said:
    return "A kernel has no matrix product of whole arrays.", "Write the loop over k yourself."


_IN_PLACE_OF = {
    "max": "Write the loop, m = max(m, a[i]), or use cuda.atomic.max for many threads.",
    "min": "Write the loop, m = min(m, a[i]), or use cuda.atomic.min for many threads.",
    "clip": "Write min(max(x, low), high).",
    "where": "Write a if condition else b.",
    "interp": "Write the search and the line between two neighbours out.",
    "isclose": "Write abs(a - b) <= tolerance.",
}
"""What to write for a function of NumPy that Numba has, and cannot compile for a kernel."""


@rule(r"No implementation of function Function\(<(?:built-in )?function (?:npy_|a(?=m))?(\w+)\b")
def _numpy_only(match: re.Match[str], scene: Scene) -> Said | None:
    name = match[1]
    calls = (ast.unparse(node.func) for node in scene.where.nodes() if isinstance(node, ast.Call))
    asked = [call for call in calls if call.rpartition(".")[2] in (name, f"a{name}")]
    if name not in _IN_PLACE_OF or not asked or "." not in asked[0]:
        return None
    return f"Numba has no {asked[0]} in a kernel.", _IN_PLACE_OF[name]


@rule(r"^<ufunc '(\w+)'>$")
def _inner_ufunc(match: re.Match[str], scene: Scene) -> Said:
    return (
        f"What is called here uses np.{match[1]} inside, for which Numba has no code in a kernel.",
        "Write out what it does, with functions of math.",
    )


@rule(r"Only accept returning of array passed into the function as argument")
@rule(r"Function\(<(?:built-in )?function (zeros|ones|empty|full|array|arange|zeros_like)\b")
def _allocation(match: re.Match[str], scene: Scene) -> Said | None:
    if re.search(r"Function\(<(?:built-in )?function (?:max|min|sum|sorted)\b", scene.text):
        return None
    if isinstance(getattr(scene.first(ast.BinOp), "op", None), ast.MatMult):
        return _matmul(match, scene)
    return (
        "A kernel cannot make a NumPy array: threads have no memory manager.",
        "Use cuda.local.array(n, dtype) or cuda.shared.array(shape, dtype), or pass the array in.",
    )


_PLAIN = {
    "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "invert": "~",
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "pow": "**", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
_SIGN = {**_PLAIN, **{f"i{name.rstrip('_')}": f"{sign}=" for name, sign in _PLAIN.items()}}


@rule(r"Function\(<built-in function (\w+)>\)|Function\(<ufunc '(\w+)'>\)")
def _operator(match: re.Match[str], scene: Scene) -> Said | None:
    name = match[1] or match[2]
    if name == "hash":
        return None
    formatted = scene.first(ast.JoinedStr)
    if formatted is not None:
        return f_string(formatted)
    if name == "sorted":
        return "Kernels cannot call `sorted`.", "Write the loop yourself."
    kinds = arguments(scene.text)
    types = " and ".join(plain(kind) for kind in kinds)
    if kinds and plain(kinds[0]) == "a text":
        return TEXT
    if any(kind.startswith(("array", "readonly array")) for kind in kinds):
        return (
            f"`{_SIGN.get(name, name)}` is applied to whole arrays ({types}).",
            "A thread works on single elements: index the arrays, as in a[i].",
        )
    if name.strip("i").rstrip("_") in ("and", "or", "xor", "lshift", "rshift"):
        return f"`{_SIGN.get(name, name)}` needs integers; here it gets {types}.", "Use int(...)."
    return f"`{_SIGN.get(name, name)}` cannot take {types} in a kernel.", ""


def f_string(node: ast.JoinedStr) -> Said:
    """About an f-string: its parts, as print takes them side by side.

    >>> f_string(ast.parse('f"x {a[i]:.2f}, y {y}"', mode="eval").body)[1]
    'print takes values side by side: print("x", a[i], ", y", y).'
    """
    parts = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            parts.append(ast.unparse(part.value))
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.strip():
            parts.append(f'"{part.value.strip()}"')
    return (
        "A kernel cannot make an f-string.",
        f"print takes values side by side: print({', '.join(parts)}).",
    )


TEXT: Said = (
    "A kernel cannot build texts.",
    'print takes values side by side: print("i", i, x).',
)


# --- syntax ------------------------------------------------------------------------------------

_Table = tuple[tuple[tuple[type[ast.AST], ...], Said], ...]

NEVER: _Table = (
    ((ast.Dict, ast.DictComp), DICT),
    ((ast.Set, ast.SetComp), ("A kernel cannot use a set.", "Use an array of flags.")),
    ((ast.ClassDef,), ("A kernel cannot define a class.", "Pass numbers and arrays.")),
    ((ast.Import, ast.ImportFrom), ("A kernel cannot import.", "Import above the kernel.")),
    ((ast.With, ast.AsyncWith), ("A kernel cannot use `with`.", "Leave it out.")),
    ((ast.Try,), ("A kernel cannot catch exceptions.", "Test the condition with `if`.")),
    ((ast.Await, ast.AsyncFor), ("A kernel cannot wait for coroutines.", "Leave it out.")),
    ((ast.Yield, ast.YieldFrom), ("A kernel cannot yield.", "Store results into an array.")),
)
"""Syntax that no kernel may have, with what to say about it."""

SYNTAX: _Table = (
    *NEVER,
    ((ast.JoinedStr,), TEXT),
    ((ast.Global, ast.Nonlocal), ("A kernel cannot assign to outer names.", "Store to an array.")),
    ((ast.Delete,), ("A kernel cannot `del`.", "Leave it out: variables cost nothing.")),
    ((ast.Starred,), ("A kernel cannot unpack with a star.", "Name each value.")),
    ((ast.GeneratorExp,), ("A kernel cannot make a generator.", "Write the loop yourself.")),
    ((ast.NamedExpr,), ("A kernel cannot use `:=`.", "Assign on a line of its own.")),
)
"""Syntax that explains why Numba refused a kernel; some of it is accepted elsewhere."""


@rule(r"")
def _unsupported(match: re.Match[str], scene: Scene) -> Said | None:
    """For messages that say little: what stands on that line that no kernel may have."""
    if scene.where == heading(scene.function.__code__):
        return None
    found = _first(scene.where.nodes(), SYNTAX)
    if found is not None:
        return found[1]
    if any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in scene.where.nodes()):
        return TEXT
    return None


def _first(nodes: Iterable[ast.AST], table: _Table) -> tuple[ast.AST, Said] | None:
    for node in nodes:
        for kinds, said in table:
            if isinstance(node, kinds):
                return node, f_string(node) if isinstance(node, ast.JoinedStr) else said
    return None


def unsupported_in(
    function: Callable[..., Any], table: _Table, decided: Mapping[Any, Any] | None = None
) -> tuple[Place, Said] | None:
    """The first syntax node of a function that stands in a table: its place, what to say.

    Branches that Numba has `decided` not to take are not looked at.
    """
    code = function.__code__
    tree = function_tree(code)
    if isinstance(tree, ast.FunctionDef):
        tree = live(tree, as_inferred(decided or {}))
    found = _first(ast.walk(tree), table)
    if found is None:
        return None
    return Place(code.co_filename, getattr(found[0], "lineno", code.co_firstlineno)), found[1]
