"""Kernels without a source to read, and things that are no kernels."""

import functools

import numba
import pytest
from numba import cuda

from smemnb import simulator
from smemnb.errors import LaunchRefused, UnsupportedSyntax, shortened
from smemnb.simulator import launch
from tests.simulator.bad_input.rows import Table, refused

# ruff: noqa: E501
# kernels wrong on purpose are launched here: in the engine, never on a GPU
pytestmark = pytest.mark.skipif(simulator.device() != "lockstep", reason="launches go to a GPU")

SOURCES = Table()
_names: dict[str, object] = {"cuda": cuda}
exec("def typed_in(out, inp):\n    out[0] = 99\n", _names)
typed_in = _names["typed_in"]


def of_the_cpu(out):
    out[0] = 99


def run(*args):
    """A launch that does not begin at a dispatcher, which would refuse it by itself."""
    try:
        launch.run(*args)
    except LaunchRefused as error:
        raise shortened(error) from None


class Callable:
    """Not a function, though it can be called."""

    def __call__(self, out, inp):
        out[0] = 99


# fmt: off
WHERE = 'Give the text a name that linecache knows, by these two lines in place of the exec:\n    linecache.cache["<typed_in>"] = (len(text), None, text.splitlines(True), "")\n    exec(compile(text, "<typed_in>", "exec"), names)'
SOURCES.add("exec", lambda w: cuda.jit(typed_in)[1, 32](w.dev, w.inp), UnsupportedSyntax, "line 1: typed_in was made by exec, and its text is kept nowhere; Numba compiles the bytecode, and the engine runs the text. " + WHERE)
SOURCES.add("builtin", lambda w: run(len, 1, 32, 0, 0, (w.dev,)), LaunchRefused, "an object of type builtin_function_or_method is no kernel: decorate a function")
SOURCES.add("an instance", lambda w: run(Callable(), 1, 32, 0, 0, (w.dev,)), LaunchRefused, "an object of type Callable is no kernel: decorate a function")
SOURCES.add("a partial function", lambda w: run(functools.partial(typed_in, 3), 1, 32, 0, 0, (w.dev,)), LaunchRefused, "an object of type partial is no kernel: decorate a function")
SOURCES.add("compiled for the CPU", lambda w: run(numba.njit(of_the_cpu), 1, 32, 0, 0, (w.dev,)), LaunchRefused, "of_the_cpu is compiled for the CPU: use @cuda.jit")
# fmt: on


@SOURCES.each()
def test_source(row, monkeypatch):
    """Without its source a kernel cannot be run in the engine."""
    refused(row, monkeypatch)
