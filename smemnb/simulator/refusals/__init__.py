"""What Numba refuses, said in a learner's words: what stands there, why not, what to write.

`refusal(error, function, types)` turns any error of Numba's front end into `TypingRefused`. The
rules of `names`, then those of `operations`, are tried in the order in which they stand there
against the text of Numba's message; a message that no rule knows is passed on, cleaned to its
first sentence. Numba's whole text is kept in `.numba_message`. `lowering` knows what Numba refuses
later, when it generates code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from ...errors import TypingRefused
from . import names, operations
from .place import Place, function_tree, heading, place
from .reasons import call_of, reason
from .words import Scene, rules, worded

RULES = rules(names, operations)
"""Pattern of a message and what makes words of it; the first that answers wins."""

_NO_IMPLEMENTATION = re.compile(r"No implementation of function .* found for signature:")
_LESS_DEEP = (
    "Cut the expression into several statements; a function that calls itself needs a way out "
    "that returns a value."
)

_both: dict[type[BaseException], Any] = {}


def refusal(error: BaseException, function: Callable[..., Any], types: Any) -> TypingRefused:
    """The error as `TypingRefused`, with its place, its source line and a repair.

    It is also an instance of Numba's own class, so that `except TypingError` goes on to work.
    """
    return _also(_refusal(error, function, types), type(error))


def _also(refused: TypingRefused, numba: type[BaseException]) -> TypingRefused:
    """The refusal as an instance of `numba`, too, where that is an error class of Numba's."""
    if not numba.__module__.startswith("numba.") or isinstance(refused, numba):
        return refused
    if numba not in _both:
        names = {"__module__": TypingRefused.__module__, "__init__": TypingRefused.__init__}
        _both[numba] = type("TypingRefused", (TypingRefused, numba), names)
    made: TypingRefused = _both[numba](str(refused), refused.numba_message)
    return made


def _refusal(error: BaseException, function: Callable[..., Any], types: Any) -> TypingRefused:
    text = str(error)
    scene = Scene(text, place(error, function.__code__), function, tuple(types))
    for pattern, rule in RULES:
        match = pattern.search(text)
        said = rule(match, scene) if match else None
        if said is not None:
            return worded(_named_place(text, scene), *said, numba_message=text)
    syntax = operations.unsupported_in(function, operations.SYNTAX)
    if syntax is not None:
        return worded(syntax[0], *syntax[1], numba_message=text)
    if isinstance(error, RecursionError):
        said = "Numba goes too deep here: RecursionError.", _LESS_DEEP
    else:
        said = f"Numba does not accept this: {_first_sentence(error)}.", reason(text)
    return worded(scene.where, *said, numba_message=text)


def _named_place(text: str, scene: Scene) -> Place:
    """The place, or the first use of the name that Numba does not know and gives no line for."""
    name = re.search(r"name '(\w+)' is not defined", text)
    code = scene.function.__code__
    if name and scene.where == heading(code):
        for node in ast.walk(function_tree(code)):
            if isinstance(node, ast.Name) and node.id == name[1]:
                return Place(code.co_filename, node.lineno)
    return scene.where


def _first_sentence(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    kept = [line for line in lines if line and not line.startswith(("Failed in", "During:"))]
    sentence = kept[0].rstrip(".") if kept else type(error).__name__
    if _NO_IMPLEMENTATION.match(sentence):
        sentence = f"{call_of(str(error)) or sentence.rstrip(':')} has no implementation"
    known = type(error).__name__.endswith(("TypingError", "CompilerError", "BytecodeError"))
    return sentence if known else f"{type(error).__name__}: {sentence}"
