"""Imports the modules of a package in other orders, in processes of their own."""

import json
import pkgutil
import random
import subprocess
import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]

_CHILD = """
import importlib, importlib.util, json, sys, types
package, order, table = json.loads(sys.argv[1])
bare = types.ModuleType(package)  # its own __init__ would import the modules in its own order
bare.__path__ = importlib.util.find_spec(package).submodule_search_locations
sys.modules[package] = bare
for name in order:
    importlib.import_module(name)
from import_order import contents
print(json.dumps(contents(table)))
"""


def modules(package):
    """The names of the modules of a package, those of its own packages among them."""
    path = import_module(package).__path__
    return [one.name for one in pkgutil.walk_packages(path, f"{package}.")]


def contents(table):
    """(key, value) of each entry of a table, "module:name", as texts, in the table's order."""
    module, name = table.split(":")
    whole = getattr(import_module(module), name)
    return [[_text(key), _text(value)] for key, value in _items(whole)]


def _items(table):
    return table.items() if isinstance(table, dict) else table


def _text(part):
    if isinstance(part, tuple):
        return [_text(one) for one in part]
    if callable(part) and hasattr(part, "__qualname__"):
        return f"{part.__module__}.{part.__qualname__}"
    return getattr(part, "pattern", None) or type(part).__name__ if not _plain(part) else part


def _plain(part):
    return isinstance(part, str | int | float | type(None))


def orders(package):
    """The modules in reversed order and in a shuffled one."""
    names = modules(package)
    shuffled = names.copy()
    random.Random(5).shuffle(shuffled)
    return {"reversed": names[::-1], "shuffled": shuffled}


def contents_after(package, order, table):
    """The contents of a table in a process that imported modules of a package in this order."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, json.dumps([package, order, table])],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "PATH": "", "SMEMNB_DEVICE": "lockstep"},
    )
    return json.loads(done.stdout.splitlines()[-1])
