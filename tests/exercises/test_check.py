import inspect
import sys
import threading
from pathlib import Path

import kernels
import numpy as np
import pytest

from smemnb.exercises.check import check, plain
from smemnb.exercises.draw import seed_of
from smemnb.exercises.progress import file
from smemnb.exercises.registry import exercises, find
from smemnb.exercises.source import source_of
from smemnb.exercises.variants import kernel_of, shown_solution
from tests.facts import facts

SCALE = find("ex00_scale")


class Hostile:
    """An object that answers every question with an error."""

    def __getattr__(self, name):
        raise ValueError(f"no {name} at 0x7f0011")


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (None, "this is None, not a kernel"),
        (Hostile, "this is the class Hostile, not a kernel"),
        (3, "this is a value of type int, not a kernel"),
        ("ex00_scale", "this is a value of type str, not a kernel"),
        (len, "not a kernel"),
        (np.zeros(3), "this is a value of type ndarray, not a kernel"),
        (lambda out, inp: None, "is not a kernel yet: write @cuda.jit above its def"),
        (kernels.undecorated, "undecorated is not a kernel yet: write @cuda.jit above its def"),
        (kernels.for_the_cpu, "write @cuda.jit in place of @njit"),
        (kernels.on_the_device, "a kernel has @cuda.jit without device=True"),
        (SCALE.solution[512, 256], "leave out [grid, block]"),
        (kernels.three_parameters, "takes (out, inp, n); this exercise wants (out, inp)"),
        (kernels.star, "write them as (out, inp)"),
    ],
)
def test_not_a_kernel(kernel, words):
    """What is not a kernel of this exercise is refused before anything runs or is recorded."""
    verdict = check("ex00_scale", kernel)
    assert not verdict
    assert words in verdict.parts[0].text
    assert "0x" not in repr(verdict)
    assert not file().exists()


@pytest.mark.parametrize("name", ["ex00_scale", "ex01_rank", "ex03_planes"])
def test_copy_of_an_earlier_version(name):
    """Docstrings and comments of a learner's old copy may read otherwise, as stub and filled."""
    exercise = find(name)
    old = exercise.stub.replace("element", "cell")
    assert old != exercise.stub
    untouched = check(name, kernel_of(old, exercise.solution))
    assert not untouched and file().exists() is False
    assert "this is the stub as it was given" in untouched.parts[0].text
    filled = shown_solution(exercise.solution).replace("element", "cell")
    assert check(name, kernel_of(filled, exercise.solution))


def test_hostile():
    """An object that raises whatever it is asked does not end in a traceback."""
    verdict = check("ex00_scale", Hostile())
    assert not verdict
    assert verdict.parts[0].text.endswith("please report it: ValueError: no py_func at 0x...")


@pytest.mark.parametrize(
    ("kernel", "line"),
    [
        (kernels.endless, "while i < 2:"),
        (kernels.with_statement, "with out:"),
        (kernels.unknown_name, "not_defined_anywhere"),
        (kernels.list_of_lists, "[[1.0], [inp[0]]]"),
    ],
)
def test_cannot_run(kernel, line):
    """What the engine refuses or stops is a verdict in one part, with its line if it has one."""
    verdict = check("ex00_scale", kernel)
    assert (bool(verdict), verdict.reason) == (False, "kernel")
    assert str(Path(__file__).parent) not in repr(verdict)
    lines = inspect.getsource(kernels).split("\n")
    number = next(i for i, text in enumerate(lines, 1) if line in text)
    assert f"line {number}" in repr(verdict)


def test_prints_are_not_shown(capsys):
    """A print per thread would bury the verdict."""
    assert check("ex00_scale", kernels.printing)
    assert not check("ex00_scale", kernels.printing_wrong), "and run again for the hint"
    assert capsys.readouterr().out == ""


def test_patience(monkeypatch):
    """A loop that goes on counting is stopped, with its line; in a thread of its own too."""
    monkeypatch.setattr("smemnb.exercises.check.PATIENCE_SECONDS", 0.05)
    verdicts = [check("ex00_scale", kernels.counting)]
    thread = threading.Thread(target=lambda: verdicts.append(check("ex00_scale", kernels.counting)))
    thread.start()
    thread.join()
    for verdict in verdicts:
        assert "of counting (`i >= 0`) was still going round" in verdict.parts[0].text


def test_time_over_between_launches(monkeypatch):
    """Time that is over before a launch begins is said, and how many launches were done."""
    monkeypatch.setattr("smemnb.exercises.check.PATIENCE_SECONDS", 1e-9)
    verdict = check("ex00_scale", SCALE.solution)
    assert (bool(verdict), verdict.reason) == (False, "kernel")
    assert f"with 0 of {len(SCALE.cases)} done" in verdict.parts[0].text and verdict.hint


@pytest.mark.parametrize("name", ["ex0_scale", "scale", "ex00", "", None, 3, ["ex00_scale"]])
def test_unknown_name(name):
    """An unknown exercise is a verdict that lists near names."""
    verdict = check(name, SCALE.solution)
    assert (bool(verdict), verdict.reason) == (False, "exercise")
    assert "ex00_scale" in repr(verdict) or "progress()" in repr(verdict)


@pytest.mark.parametrize(
    ("name", "head"), [("ex00_scal", "unknown exercise ex00_scal"), (None, "unknown exercise")]
)
def test_unknown_name_is_no_verdict_on_a_kernel(name, head):
    """A misspelt name does not read as an answer that is wrong."""
    verdict = check(name, SCALE.solution)
    assert repr(verdict).splitlines()[0] == head
    assert head in verdict._repr_html_()
    assert "not yet" not in repr(verdict) + verdict._repr_html_()


def test_name_array():
    """An array compares item by item: it is no name either."""
    assert check(np.array(["ex00_scale"]), None).reason == "exercise"


def test_done():
    """A verdict that holds: one line per part, nothing of this machine."""
    count = len(SCALE.cases)
    seed = seed_of(source_of(SCALE.solution))
    said = facts(f"{count} {count} 2 {seed} 4")
    assert facts(repr(check("ex00_scale", SCALE.solution))) == said


def test_other_names():
    """Parameters may be renamed: budgets go by place, messages by the learner's names."""
    assert facts(check("ex00_scale", kernels.renamed).part("requests").text) == facts(
        "64 32 1024 8 128"
    )
    assert facts(check("ex00_scale", kernels.renamed_in_place).part("inputs").text) == facts(
        "data[0] 82 164 1024 8 128"
    )


def test_nothing_written():
    """The verdict on an empty kernel says that nothing was written, not that values are wrong."""
    verdict = check("ex00_scale", kernels.empty)
    assert verdict.part("output").text.startswith("no element of out was written\n")
    assert verdict.hint.startswith("No thread")


def test_nan_is_not_unwritten():
    """A NaN that the kernel stored is a wrong value, not a missing one."""
    assert (
        check("ex00_scale", kernels.not_a_number)
        .part("output")
        .text.startswith("out[0] is nan, expected -164 (of 1024 elements: 1024 wrong)")
    )


def test_shared_bytes():
    """Shared memory above the budget is refused, with both numbers."""
    verdict = check("ex00_scale", kernels.hoarder)
    assert verdict.reason == "shared"
    assert verdict.part("shared").text.startswith(
        "512 bytes of shared memory per block; budget 0\n"
    )


def test_wavefronts():
    """A right answer with conflicts: the line, its n-way, extra wavefronts, budget, source."""
    verdict = check("ex00_scale", kernels.conflicted)
    first = inspect.getsourcelines(kernels.conflicted.py_func)[1]
    assert verdict.part("output").ok
    assert verdict.reason == "wavefronts"
    assert facts(verdict.part("wavefronts").text) == facts(
        f"{first + 5} 32 1494 0 {first + 5} tile[cuda.threadIdx.x, 0] inp[i] 1543 13 128"
    )


def test_race():
    """A race is a finding; its cure is the hint."""
    verdict = check("ex00_scale", kernels.neighbours)
    assert verdict.part("findings").text.startswith("race")
    assert "cuda.sync" in verdict.hint


def test_waivers_do_not_count():
    """A learner's own comment waives nothing that is graded, and is not spoken of."""
    verdict = check("ex00_scale", kernels.waived_neighbours)
    plain = check("ex00_scale", kernels.neighbours)
    assert not verdict and verdict.part("findings").text.startswith("race")
    assert [part.name for part in verdict.parts] == [part.name for part in plain.parts]
    assert check("ex00_scale", kernels.odd_comment)


def test_exercises_are_found():
    """The registry walks the chapter files."""
    assert SCALE in exercises()


def test_plain():
    """Folders and addresses leave a message; divisions stay."""
    assert plain(ValueError("1/2 in C:\\Users\\me\\k.py")) == "ValueError: 1/2 in k.py"


def test_stdout_is_left_alone(capsys):
    """Checks in several threads hide what kernels print, and leave sys.stdout as it was."""
    before, seen = sys.stdout, set()
    halt = threading.Event()

    def watch():
        while not halt.is_set():
            seen.add(id(sys.stdout))

    work = [threading.Thread(target=check, args=("ex00_scale", kernels.printing)) for _ in range(3)]
    watching = threading.Thread(target=watch)
    watching.start()
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    halt.set()
    watching.join()
    assert (seen, sys.stdout) == ({id(before)}, before)
    assert capsys.readouterr().out == ""
