"""What of a verdict is read from machine code: limits of a turn, and answers only it can refuse."""

import re

import numpy as np
import pytest
from numba import cuda, float32, typeof
from numba.cuda.compiler import compile_ptx

from smemnb.compiled import available, machine
from smemnb.exercises.check import graded
from smemnb.exercises.exercise import MachineCode
from smemnb.exercises.grading.machine_code import NOT_ASKED, NOT_HERE, Turn, held, turn_of
from smemnb.exercises.hints import solution
from smemnb.exercises.likeness import likeness
from smemnb.exercises.registry import exercises, find
from smemnb.exercises.source import source_of

ASKED = [e for e in exercises() if e.machine_code is not None]
EVERY = [(e, number) for e in ASKED for number in range(len(e.wrong_code))]
LIMITS = MachineCode(multiply_adds=64, turn=80, each={"LDS": 4})


def test_there_are_some():
    """Each exercise that asks for machine code has an answer that nothing else refuses."""
    assert {e.name for e in ASKED} >= {"ex34_guards", "ex34_offsets", "ex34_steps", "ex34_quads"}
    assert all(e.wrong_code for e in ASKED)
    assert not [e.name for e in exercises() if e.wrong_code and e.machine_code is None]


@pytest.mark.parametrize(
    ("counts", "ok", "named"),
    [
        ({"FFMA": 64, "LDS": 4, "IADD3": 12}, True, "80 "),
        ({"FFMA": 64, "LDS": 4, "IADD3": 13}, False, "13 IADD3"),
        ({"FFMA": 64, "LDS": 5}, False, "5 LDS; at most 4"),
        ({"FFMA": 64, "LDS.128": 5}, True, "69 "),
        ({"FFMA": 64, "CALL": 1}, False, "1 CALL"),
        ({"FFMA": 64, "MUFU": 2}, False, "2 MUFU"),
        ({"FFMA": 64, "LDL": 1}, False, "1 LDL"),
        ({"FFMA": 64, "STL": 1}, False, "1 STL"),
        ({}, False, ""),
    ],
)
def test_limits(counts, ok, named):
    """All instructions, those of a name, and what no turn may hold; each at its limit and above."""
    part = held(Turn(counts), LIMITS)
    assert (part.name, part.ok) == ("machine", ok)
    assert named in part.text


@pytest.mark.parametrize("exercise", ASKED, ids=[e.name for e in ASKED])
def test_not_looked_at(exercise):
    """Where nothing is to be compiled, a right answer is right, and the verdict says what is open.

    So it is in a class, with and without the compiler.
    """
    verdict = graded(exercise, exercise.solution, compiling=False)
    assert verdict
    assert verdict.part("machine").text == NOT_ASKED
    here = available() and machine.nvdisasm() is not None
    if not here:
        assert graded(exercise, exercise.solution).part("machine").text == NOT_HERE


def test_nothing_is_asked():
    """An exercise without limits has no such part, nor has a wrong answer."""
    exercise = find("ex06_turned")
    assert graded(exercise, exercise.solution).part("machine") is None
    steps = find("ex34_steps")
    assert graded(steps, steps.wrong_kernel(steps.wrong[0])).part("machine") is None


def test_what_is_written_beside_the_kernel():
    """The solution is shown with the device functions of the learner, and is like itself."""
    exercise = find("ex34_quads")
    text = solution("ex34_quads").text
    assert [text.count(f"def {name}(") for name in ("put4", "step", "by_quads")] == [1, 1, 1]
    assert likeness(exercise, text) == 1.0
    alone = source_of(exercise.solution)
    assert likeness(exercise, alone) < 1.0


@pytest.mark.toolchain
@pytest.mark.parametrize("exercise", ASKED, ids=[e.name for e in ASKED])
def test_solution(exercise):
    """The solution keeps the limits, with room for another compiler of 2 in 100 at least."""
    verdict = graded(exercise, exercise.solution)
    assert verdict, repr(verdict)
    limits = exercise.machine_code
    inputs = exercise.cases[0].inputs()
    types = (exercise.specification(*inputs), *inputs)
    turn = turn_of(exercise.solution, types, limits.multiply_adds)
    assert str(turn.total) in verdict.part("machine").text
    assert turn.counts["FFMA"] == limits.multiply_adds
    assert turn.total * 1.02 < limits.turn


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("exercise", "number"), EVERY, ids=[f"{e.name}-{number}" for e, number in EVERY]
)
def test_wrong_code(exercise, number):
    """A kernel that is right in everything else is refused for its machine code, and told what."""
    wrong = exercise.wrong_code[number]
    kernel = exercise.wrong_kernel(wrong)
    assert graded(exercise, kernel, compiling=False)
    verdict = graded(exercise, kernel)
    assert (verdict.reason, wrong.refused_by[0]) == ("machine", "machine")
    assert wrong.refused_by[1] in verdict.part("machine").text
    assert verdict.hint


@cuda.jit
def divides(out, inp, width):
    acc = float32(0)
    for k in range(inp.shape[0]):
        acc += inp[k // width, k % width] * inp[k % width, 0]
    out[0] = acc


@pytest.mark.toolchain
def test_a_division():
    """A division by a number that is known only at the launch is seen for what it is."""
    turn = turn_of(divides, "void(float32[::1], float32[:, ::1], int32)", 4)
    part = held(turn, MachineCode(multiply_adds=4, turn=10**6))
    assert not part.ok
    assert "division" in part.text or "CALL" in part.text


WITH_LOCAL_ARRAYS = [e for e in exercises() if "cuda.local.array" in (source_of(e.solution) or "")]


@pytest.mark.toolchain
@pytest.mark.parametrize("exercise", WITH_LOCAL_ARRAYS, ids=lambda one: one.name)
def test_local_arrays_are_registers(exercise):
    """No solution's local array comes to lie in local memory, where a store waits for its value."""
    inputs = exercise.cases[0].inputs()
    out = np.asarray(exercise.specification(*inputs))
    types = tuple(typeof(one) for one in (out, *inputs))
    ptx, _ = compile_ptx(exercise.solution.py_func, types, cc=(9, 0))
    assert ".visible .entry" in ptx
    assert not re.findall(r"(?:ld|st)\.local\.\S+", ptx)
