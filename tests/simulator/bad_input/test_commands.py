"""`smemnb trace` on the command line: what it refuses, with exit code 2 and no trace."""

import numpy as np
import pytest

from smemnb import simulator
from smemnb.cli import main

# ruff: noqa: E501
# kernels wrong on purpose are launched here: in the engine, never on a GPU
pytestmark = pytest.mark.skipif(simulator.device() != "lockstep", reason="launches go to a GPU")

TWO = """
from numba import cuda

@cuda.jit
def first(out, inp):
    out[0] = 99

@cuda.jit
def second(out):
    out[0] = 99

def idle():
    pass

def broken():
    first[1, 1]([1], 2)

NUMBER = 3
"""
FILES = {
    "two.py": TWO,
    "none.py": "x = 1\n",
    "raises.py": "x = 1\n1 / 0\n",
    "wrong.py": "def f(:\n",
    "two.txt": TWO,
}
HELP = "; write one for each, such as float32[128,128] (smemnb trace --help)"
NO_ARGUMENT = ' is no argument; write "float32[128,128]" for an array, 5 for a number (smemnb trace --help lists all forms)'
LAUNCH = ["--grid", "1", "--block", "32", "--args"]

# fmt: off
COMMANDS = {
    "missing file": (["gone.py:first", *LAUNCH], "gone.py is not there (looked in {})"),
    "no Python file": (["two.txt:first", *LAUNCH], "two.txt:first: write FILE.py:KERNEL, such as transpose.py:transpose_tiled"),
    "no kernel": (["none.py", *LAUNCH], "none.py has no kernel. Write none.py:KERNEL"),
    "several kernels": (["two.py", *LAUNCH], "two.py has several kernels; it has: first, second. Write two.py:KERNEL"),
    "unknown kernel": (["two.py:third", *LAUNCH], "two.py has no third; it has: first, second. Write two.py:KERNEL"),
    "a number": (["two.py:NUMBER", *LAUNCH], "two.py: NUMBER is no kernel; it has: first, second. Write two.py:KERNEL"),
    "a file that raises": (["raises.py:first", *LAUNCH], "raises.py raised while it was imported (line 2): ZeroDivisionError: division by zero"),
    "too few arguments": (["two.py:first", *LAUNCH, "float32[4]"], "first(out, inp) takes 2 arguments, --args gives 1" + HELP),
    "too many arguments": (["two.py:second", *LAUNCH, "float32[4]", "3"], "second(out) takes 1 argument, --args gives 2" + HELP),
    "no arguments": (["two.py:second", "--grid", "1", "--block", "32"], "second(out) takes 1 argument, --args gives 0" + HELP),
    "unknown dtype": (["two.py:second", *LAUNCH, "float33[4]"], '"float33[4]": float33 is no number type; float32, int32, uint8 ... are'),
    "object dtype": (["two.py:second", *LAUNCH, "object[4]"], '"object[4]": object is no number type; float32, int32, uint8 ... are'),
    "shape of a float": (["two.py:second", *LAUNCH, "float32[2.5]"], '"float32[2.5]": write the shape as whole numbers, such as float32[40,35]'),
    "no shape": (["two.py:second", *LAUNCH, "float32[]"], '"float32[]": write the shape as whole numbers, such as float32[40,35]'),
    "huge": (["two.py:second", *LAUNCH, "float32[99999,99999]"], '"float32[99999,99999]" would take more than 2 GiB; trace a smaller one'),
    "a name": (["two.py:second", *LAUNCH, "out"], '"out"' + NO_ARGUMENT),
    "a call": (["two.py:second", *LAUNCH, "exit()"], '"exit()": exit is no number type; float32, int32, uint8 ... are'),
    "a list": (["two.py:second", *LAUNCH, "[1, 2]"], '"[1, 2]"' + NO_ARGUMENT),
    "filled with a text": (["two.py:second", *LAUNCH, "int8[4]=zero"], '"int8[4]=zero"' + NO_ARGUMENT),
    "does not fit the dtype": (["two.py:second", *LAUNCH, "int8[4]=300"], '"int8[4]=300": 300 does not fit into int8'),
    "whole float too large": (["two.py:second", *LAUNCH, "uint8[4]=300.0"], '"uint8[4]=300.0": 300.0 does not fit into uint8'),
    "below zero": (["two.py:second", *LAUNCH, "uint8[4]=-1"], '"uint8[4]=-1": -1 does not fit into uint8'),
    "scalar too large": (["two.py:second", *LAUNCH, "int8(300)"], '"int8(300)": 300 does not fit into int8'),
    "tuple as fill": (["two.py:second", *LAUNCH, "int8[4]=(1, 2)"], '"int8[4]=(1, 2)": write one number, not a tuple'),
    "complex for a float": (["two.py:second", *LAUNCH, "float32(1j)"], '"float32(1j)": 1j is no number of float32'),
    "part of a number": (["two.py:second", *LAUNCH, "int8[4]=2.5"], '"int8[4]=2.5": 2.5 is no number of int8'),
    "missing array": (["two.py:second", *LAUNCH, "@gone.npy"], "gone.npy is not there; @ names a file written by numpy.save"),
    "grid of a float": (["two.py:second", "--grid", "1.5", "--block", "32", "--args", "float32[4]"], '--grid 1.5: write one to three whole numbers, such as "32,8"'),
    "four directions": (["two.py:second", "--grid", "1,1,1,1", "--block", "32", "--args", "float32[4]"], '--grid 1,1,1,1: write one to three whole numbers, such as "32,8"'),
    "grid of 0": (["two.py:second", "--grid", "0", "--block", "32", "--args", "float32[4]"], "second: grid (0,) has 0 blocks in one direction; the least is 1. For empty data, leave the launch out"),
    "large block": (["two.py:second", "--grid", "1", "--block", "2048", "--args", "float32[4]"], "second: block (2048, 1, 1) has 2048 threads; a block has at most 1024 (compute capability 9.0). Use a smaller block and more blocks."),
    "negative shared": (["two.py:second", "--shared", "-4", *LAUNCH, "float32[4]"], "second: -4 is no number of bytes of dynamic shared memory; write a whole number, elements times itemsize"),
    "no launch": (["two.py:second"], "how is second launched? Add --grid 4,4 --block 32,8 --args ..., or --call FUNCTION with a function of two.py that launches it (it has: idle, broken)"),
    "call and launch": (["two.py:second", "--call", "idle", *LAUNCH], "--call launches by itself: leave --grid, --block and --args out"),
    "unknown function": (["two.py:second", "--call", "gone"], "two.py has no function gone; it has: idle, broken"),
    "function that launches nothing": (["two.py:second", "--call", "idle"], "idle() came back and had not launched second"),
    "blocks": (["two.py:second", "--blocks", "middle", *LAUNCH, "float32[4]"], "blocks='middle': write 'all', 'first', 'last', 'edges', how many blocks to watch (1 or more), or a list of blocks such as [(0, 0), (3, 1)]"),
}
# fmt: on


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with files to trace, as the current one."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_command(name, folder, capsys):
    """Exit code 2, the reason on the error stream, and nothing on the screen or in a file."""
    words, text = COMMANDS[name]
    assert main(["trace", *words, "--json", "made.json"]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"smemnb trace: {text.format(folder)}\n")
    assert not (folder / "made.json").exists()


def test_saved_object(folder, capsys):
    """An array of Python objects is not loaded."""
    np.save(folder / "o.npy", np.array([None]), allow_pickle=True)
    assert main(["trace", "two.py:second", *LAUNCH, "@o.npy"]) == 2
    assert capsys.readouterr().err.startswith("smemnb trace: o.npy is not an array written by")
