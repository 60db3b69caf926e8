"""Plugs numba.cuda as soon as it is imported, or at once if it is imported already.

`install` puts a finder in front of `sys.meta_path`. It finds nothing itself: it asks the others
(numba-cuda's redirector among them, which sends `numba.cuda` elsewhere) and has the plug run
behind the loader they name. It imports nothing of Numba.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

NAME = "numba.cuda"


class _AfterNumbaCuda(MetaPathFinder):
    """Lets the other finders find `numba.cuda` and runs the plug after it was executed."""

    def __init__(self) -> None:
        self._asking = False

    def find_spec(
        self, fullname: str, path: Any = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec the others give for `numba.cuda`, with the plug behind it."""
        if fullname != NAME or self._asking:
            return None
        self._asking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._asking = False
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                del loader.exec_module  # the class's own method again
                execute(module)
                uninstall()
                # the import system sets this only later, and Numba's compiler needs it now
                sys.modules["numba"].cuda = module  # type: ignore[attr-defined]
                _plug(module)

            loader.exec_module = exec_module
        return spec


_held = 0
_waiting: ModuleType | None = None


def _plug(cuda: ModuleType) -> None:
    global _waiting
    if _held:
        _waiting = cuda
        return
    _waiting = None
    from .plug import plug

    plug(cuda)


@contextmanager
def held() -> Iterator[None]:
    """Around the first imports of a module that the plug itself needs: it waits meanwhile."""
    global _held
    _held += 1
    try:
        yield
    finally:
        _held -= 1


def catch_up() -> None:
    """At the end of such a module: plug, if numba.cuda came in the meantime."""
    if _waiting is not None:
        _plug(_waiting)


def install() -> None:
    """Plug numba.cuda now if it is there, else when it comes.

    Raises:
        SmemnbError: SMEMNB_DEVICE has an unknown value.
    """
    from .devices import choice

    if choice() == "off":
        return
    if NAME in sys.modules:
        _plug(sys.modules[NAME])
    elif not any(isinstance(finder, _AfterNumbaCuda) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterNumbaCuda())


def uninstall() -> None:
    """Take the finder away again."""
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, _AfterNumbaCuda)]
