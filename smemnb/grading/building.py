"""A `Program` as a kernel that can be launched: compiled from its text, without running it.

Of the text only the code of the function is used: its default values are plain data, annotations
and decorators are never evaluated. The decorator is `cuda.jit` with options from a list, and the
globals are what the program says, values and listed modules. The engine reads the text where
Python keeps it for code without a file (`linecache`), at the learner's own line numbers.
"""

from __future__ import annotations

import ast
import hashlib
import linecache
import textwrap
import warnings
from collections import OrderedDict
from types import CodeType, FunctionType
from typing import Any

from numba import cuda, njit, types

from .options import DROPPED, OPTIONS, REFUSED
from .permitted import check_body
from .program import MAX_LINE, Function, NotAProgram, Program, check, live
from .signatures import signature

KEPT_TEXTS = 256
"""The texts of so many programs stay where the engine reads them; the oldest go first."""

_kept: OrderedDict[str, None] = OrderedDict()


def build(program: Program) -> Any:
    """The kernel of a program, as `@cuda.jit` makes it.

    Raises:
        NotAProgram: a part of it is none; NotForKernels where it is in the body of a function.
    """
    check(program)
    trees = [_tree(one) for one in program.functions]
    places = _places(program)
    functions = [
        _function(one, tree, place)
        for one, tree, place in zip(program.functions, trees, places, strict=True)
    ]
    made = [
        _made(one, function) for one, function in zip(program.functions, functions, strict=True)
    ]
    things = tuple(made)
    for one, function in zip(program.functions, functions, strict=True):
        function.__globals__.update({name: live(v, things) for name, v in one.names.items()})
    for one, thing in zip(program.functions, made, strict=True):
        _declare(one, thing)
    return made[program.entry]


def _tree(one: Function) -> ast.FunctionDef:
    """The `def` of a function, with the line numbers of the learner's file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(textwrap.dedent(one.source)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotAProgram(f"{one.name} is no Python: {type(error).__name__}") from None
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef) or body[0].name != one.name:
        raise NotAProgram(f"the text of {one.name} is not one plain `def {one.name}`")
    ast.increment_lineno(body[0], one.first_line - 1)
    return body[0]


def _places(program: Program) -> list[str]:
    """The names under which the texts are kept: the functions of a file stand in one text."""
    texts: dict[str, list[str]] = {}
    owners: list[str] = []
    for one in program.functions:
        lines = textwrap.dedent(one.source).rstrip("\n").split("\n")
        file, number = one.file, 1
        while not _fits(texts.setdefault(file, []), lines, one.first_line):
            number += 1
            file = f"{one.file} ({number})"  # two texts for one place: of a def that ran twice
        text = texts[file]
        text += [""] * (one.first_line - 1 + len(lines) - len(text))
        text[one.first_line - 1 : one.first_line - 1 + len(lines)] = lines
        owners.append(file)
    names = {file: _keep(file, text) for file, text in texts.items()}
    return [names[file] for file in owners]


def _fits(text: list[str], lines: list[str], first: int) -> bool:
    if first + len(lines) > MAX_LINE:
        raise NotAProgram(f"a function at line {first}")
    there = text[first - 1 : first - 1 + len(lines)]
    return not any(there) or there == lines


def _keep(file: str, text: list[str]) -> str:
    """Put a text where Python looks for the lines of code that has no file."""
    whole = "\n".join(text)
    digest = hashlib.sha256(whole.encode("utf-8", "backslashreplace")).hexdigest()[:12]
    place = f"submission {digest}/{file}"  # no folder of that name is looked for: see linecache
    lines = [f"{line}\n" for line in text]
    linecache.cache[place] = (len(whole), None, lines, place)
    _kept[place] = None
    _kept.move_to_end(place)
    while len(_kept) > KEPT_TEXTS:
        linecache.cache.pop(_kept.popitem(last=False)[0], None)
    return place


def _function(one: Function, tree: ast.FunctionDef, place: str) -> FunctionType:
    """The function, of its code alone: nothing of the text is executed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = compile(ast.Module([tree], []), place, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        said = error.msg if isinstance(error, SyntaxError) else type(error).__name__
        raise NotAProgram(f"{one.name} does not compile: {said}") from None
    found = [c for c in whole.co_consts if isinstance(c, CodeType) and c.co_name == one.name]
    if len(found) != 1 or found[0].co_freevars:
        raise NotAProgram(f"the text of {one.name} is not one plain `def {one.name}`")
    check_body(tree, found[0], one.names)
    names = {"__name__": "submission", "__builtins__": {}}
    return FunctionType(found[0], names, one.name, _defaults(one))


def _defaults(one: Function) -> tuple[Any, ...]:
    """The default values of the last parameters, which Numba reads with the decorator."""
    try:
        return tuple(live(value, ()) for value in one.defaults)
    except IndexError:
        raise NotAProgram(f"{one.name} has a function for a default value") from None


def _made(one: Function, function: FunctionType) -> Any:
    """What the decorator makes of a function."""
    if one.kind == "plain":
        return function
    if one.kind == "cpu":
        return njit(function)
    try:
        return cuda.jit(device=one.kind == "device", **_options(one))(function)
    except NotAProgram:
        raise
    except Exception as error:  # whatever Numba thinks of the options
        raise NotAProgram(f"{one.name}: cuda.jit refuses its options: {error}"[:300]) from None


def _options(one: Function) -> dict[str, Any]:
    found = {}
    for name, value in one.options.items():
        if name in ("signature", "signatures") or name in DROPPED:
            continue
        if name in REFUSED:
            raise NotAProgram(f"{one.name} has the option {name}= of cuda.jit: {REFUSED[name]}")
        if name not in OPTIONS:
            raise NotAProgram(f"{one.name} has the option {name[:40]}= of cuda.jit")
        option = live(value, ())
        if option is not None:
            items = option if isinstance(option, tuple) else (option,)
            if not isinstance(option, OPTIONS[name]) or any(type(i) is tuple for i in items):
                raise NotAProgram(f"{one.name}: {name}={option!r:.40} is no value for cuda.jit")
            found[name] = option
    return found


def _declare(one: Function, thing: Any) -> None:
    """The signatures of a dispatcher, once all that it names is there."""
    for name in ("signature", "signatures"):
        if name not in one.options:
            continue
        texts = live(one.options[name], ())
        if not isinstance(texts, tuple) or not all(isinstance(text, str) for text in texts):
            raise NotAProgram(f"{one.name}: its signatures are texts in a tuple")
        if one.kind not in ("kernel", "device"):
            raise NotAProgram(f"{one.name} has a signature and is no kernel")
        try:
            for text in texts:
                _compiled(one, thing, signature(text))
        except Exception as error:  # no signature, or one that Numba refuses
            said = f"{type(error).__name__}: {error}".split("\n")[0]
            raise NotAProgram(f"{one.name} cannot have its signature: {said}"[:300]) from None
        thing._specialized = name == "signature"
        thing.disable_compile()


def _compiled(one: Function, thing: Any, declared: Any) -> None:
    returned, args = None, declared
    if not isinstance(declared, tuple):
        returned, args = declared.return_type, declared.args
    if one.kind == "device":
        thing.compile_device(tuple(args), returned)
    elif returned not in (None, types.void):
        raise TypeError("CUDA kernel must have void return type.")
    else:
        thing.compile(tuple(args))
