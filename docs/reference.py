"""The pages of the public names, as reStructuredText for autodoc.

Public are the names in `smemnb.__all__`, and the `__all__` of each public room; where a room is a
package without one, those of its modules. Nothing is listed by hand, so a new name is on its page
with the next build. A name that two rooms offer is described once, in the first of them.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from importlib.util import resolve_name
from types import ModuleType
from typing import Any, Final, get_args

import smemnb

from .docstrings import NDARRAY, restructured

ALSO: Final = ("figures.explorer", "testing")
"""Public as well: rooms that the package's own list does not name."""

SHORT = 100  # letters of a value that is shown


def rooms() -> list[str]:
    """The public rooms, by name.

    >>> "rules" in rooms() and "trace" not in rooms()
    True
    """
    return sorted({*dir(smemnb), *ALSO} - set(smemnb.__all__))


def modules(room: str) -> list[ModuleType]:
    """The modules of a room that have public names.

    >>> [module.__name__ for module in modules("rules")][:2]
    ['smemnb.rules.async_copy', 'smemnb.rules.bank']
    """
    package = import_module(f"smemnb.{room}")
    if names(package):
        return [package]
    inside = [
        import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
        if not found.name.startswith("_")
    ]
    return [module for module in inside if hasattr(module, "__all__")]


def names(module: ModuleType) -> list[str]:
    """The public names of a module: its `__all__`; of a file without one, its public classes."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    if hasattr(module, "__path__"):
        return []
    return [
        name
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__ and name[0] != "_"
    ]


def everything() -> Iterator[tuple[str, ModuleType, list[str]]]:
    """Page, module and names, in the order of the pages."""
    yield "smemnb", smemnb, names(smemnb)
    for room in rooms():
        for module in modules(room):
            yield room, module, names(module)


def pages() -> dict[str, str]:
    """The text of each page by its name: `index`, and one per room that has public names."""
    texts: dict[str, list[str]] = {}
    described: dict[int, str] = {}
    for page, module, public in everything():
        said = texts.setdefault(page, [_title(_dotted(page), "=")])
        if module.__name__ != _dotted(page):
            if len(said) == 1:
                said.append(_docstring(import_module(_dotted(page))))
            said.append(_title(module.__name__, "-"))
        said.append(f".. py:module:: {module.__name__}")
        said.append(_docstring(module))
        said += [_entry(module, name, described) for name in public]
    listed = "\n".join(f"   {page}" for page in texts)
    first = [
        _title("API reference", "="),
        "What may be imported, from the docstrings: first the names of ``smemnb`` itself, then its"
        " rooms. A name that is on no page is private.",
        f".. toctree::\n   :maxdepth: 1\n\n{listed}",
    ]
    return {"index": _joined(first), **{page: _joined(said) for page, said in texts.items()}}


def _dotted(page: str) -> str:
    return page if page == "smemnb" else f"smemnb.{page}"


def _joined(said: list[str]) -> str:
    return "\n\n".join(part for part in said if part) + "\n"


def _title(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}"


def _docstring(module: ModuleType) -> str:
    return restructured(inspect.cleandoc(module.__doc__ or ""))


def _entry(module: ModuleType, name: str, described: dict[int, str]) -> str:
    """The directive of one name, or where it is described."""
    value = getattr(module, name)
    full = f"{module.__name__}.{name}"
    if callable(value) or inspect.isclass(value):
        first = described.setdefault(id(value), full)
        if first != full:
            return f":py:obj:`{name} <{first}>` is described as ``{first}``."
    if inspect.isclass(value):
        return f".. autoclass:: {full}\n   :members:"
    if inspect.isfunction(value) and not hasattr(value, "_fixture_function"):
        return f".. autofunction:: {full}"
    if hasattr(value, "py_func"):
        return _kernel(name, value)
    return _data(module, name, value)


def _kernel(name: str, dispatcher: Any) -> str:
    """A kernel: what it gives back, and its whole source."""
    function = dispatcher.py_func
    said = _indented(restructured(inspect.getdoc(function) or ""))
    source = _indented(inspect.getsource(function), by=6)
    head = f".. py:function:: {name}{inspect.signature(function)}"
    return f"{head}\n\n{said}\n\n   .. code-block:: python\n\n{source}"


def _data(module: ModuleType, name: str, value: Any) -> str:
    """A constant with what is written below it, or an object with a docstring of its own."""
    text = NDARRAY.sub(r"NDArray[\1]", repr(value))
    head = f".. py:data:: {name}"
    if len(text) <= SHORT and " at 0x" not in text:
        head += f"\n   :value: {text}"
    # the name of a type has the docstring of the type
    own = vars(value).get("__doc__") if hasattr(value, "__dict__") and not get_args(value) else None
    said = _below(module, name) or own
    return f"{head}\n\n{_indented(restructured(inspect.cleandoc(said)))}" if said else head


def _below(module: ModuleType, name: str) -> str | None:
    """The string below the assignment of a name, in the module that it is imported from."""
    body = ast.parse(inspect.getsource(module)).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ImportFrom) and name in {one.name for one in node.names}:
            home = resolve_name("." * node.level + (node.module or ""), module.__package__)
            return _below(import_module(home), name)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if name in {getattr(one, "id", "") for one in targets} and isinstance(following, ast.Expr):
            return str(ast.literal_eval(following.value))
    return None


def _indented(text: str, by: int = 3) -> str:
    return "\n".join(" " * by + line if line.strip() else "" for line in text.splitlines())
