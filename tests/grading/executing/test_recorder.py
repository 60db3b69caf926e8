"""Live kernels as Programs: what they name, and what cannot be written down."""

import importlib.util

import numpy as np
import pytest
from numba import cuda, float32, njit

from smemnb.exercises.check import graded
from smemnb.exercises.registry import find
from smemnb.grading.building import build
from smemnb.grading.executing.recorder import program_of
from smemnb.grading.program import NotAProgram, Value, from_json
from tests.grading import learners as made

TABLE = np.arange(3, dtype=np.float32)
SHAPE = (4, float32)


def module(tmp_path, text):
    """A text as an imported module."""
    path = tmp_path / "submitted.py"
    path.write_text(text.split("check(")[0])
    spec = importlib.util.spec_from_file_location("submitted", path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_factory(tmp_path):
    """A kernel out of a factory, with its closures, is judged like the live one."""
    kernel = module(tmp_path, made.FACTORY).kernels[1]
    program = from_json(program_of(kernel, {str(tmp_path / "submitted.py"): "ada.py"}).to_json())
    assert [(one.name, one.kind, one.file) for one in program.functions] == [
        ("scale", "kernel", "ada.py"),
        ("times", "device", "ada.py"),
    ]
    assert program.functions[1].names["factor"] == Value("int", "2")
    exercise = find("ex00_scale")
    live, rebuilt = (graded(exercise, one, seed=3) for one in (kernel, build(program)))
    assert (bool(live), live.parts) == (True, rebuilt.parts)


def test_names():
    """Numbers, tuples, arrays, modules and CPU functions; a name that is bound nowhere is left."""

    @njit
    def half(x):
        return x / 2

    @cuda.jit(fastmath=True)
    def kernel(out, by=2):
        tile = cuda.shared.array(SHAPE[0], SHAPE[1])
        tile[0] = TABLE[1] + half(out[0]) + nowhere  # noqa: F821
        out[0] = tile[0]

    program = program_of(kernel)
    names = program.kernel.names
    assert sorted(names) == ["SHAPE", "TABLE", "cuda", "half"]
    assert (names["half"], names["cuda"].kind) == (Value("function", 1), "listed")
    assert [one.kind for one in program.functions] == ["kernel", "cpu"]
    assert program.kernel.options["fastmath"] == Value("bool", "True")
    assert program.kernel.defaults == (Value("int", "2"),)


@pytest.mark.parametrize("thing", [object(), open, {1: 2}, [1], np.random.default_rng(1)])
def test_no_data(thing):
    """What is no data is named, with the function."""

    @cuda.jit
    def kernel(out):
        out[0] = thing

    with pytest.raises(NotAProgram, match="thing, a name in kernel"):
        program_of(kernel)


def test_host_hooks():
    """An extension of the launch is written down as what is refused."""

    class Hook:
        def prepare_args(self, kind, value, stream=None, retr=None):
            return kind, value

    @cuda.jit(extensions=[Hook()])
    def kernel(out):
        out[0] = 1

    with pytest.raises(NotAProgram, match="extensions"):
        build(program_of(kernel))
