"""Runs at the start of every process of the suites, those that a test starts included.

`SMEMNB_SUITE=intree` leaves `numba.cuda` to Numba, where numba-cuda is installed as well. Where
Numba does not simulate, smemnb is imported, as a program that uses it would.

The engine needs the source of a kernel, which Python drops for `exec` of a text and, before
Python 3.13, for `python -c`. Both are kept here, as a notebook keeps its cells.
"""

import builtins
import linecache
import os
import sys

_exec = builtins.exec
_count = 0


def _keep(text: str, name: str) -> str:
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return name


def _exec_and_keep(source, globals=None, locals=None, /, **options):
    """`exec` that keeps texts run by Numba's tests."""
    global _count
    caller = sys._getframe(1)
    if globals is None:
        globals, locals = caller.f_globals, caller.f_locals
    if isinstance(source, str) and caller.f_globals.get("__name__", "").startswith("numba.cuda."):
        _count += 1
        source = compile(source, _keep(source, f"<executed text {_count}>"), "exec")
    return _exec(source, globals, locals, **options)


def _command() -> str:
    """The text behind `-c` of this process."""
    at = sys.orig_argv.index("-c") if "-c" in sys.orig_argv else len(sys.orig_argv)
    return "".join(sys.orig_argv[at + 1 : at + 2])


if os.environ.get("SMEMNB_SUITE") == "intree":
    sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != "NumbaCudaFinder"]
if os.environ.get("SMEMNB_SUITE") and os.environ.get("NUMBA_ENABLE_CUDASIM") != "1":
    builtins.exec = _exec_and_keep
    _keep(_command(), "<string>")
    import smemnb  # noqa: F401
