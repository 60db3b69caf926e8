"""Which kernel of a file answers which exercise, and which statements it needs."""

import ast
import json
from pathlib import Path

import pytest

from smemnb.exercises.registry import exercises
from smemnb.grading.executing.statements import read
from smemnb.grading.kernel_names import known_names
from tests.grading.conftest import notebook

KNOWN = {"ex00_scale": "scale", "ex00_bias": "add_bias", "ex01_place": "place"}
NOTEBOOKS = Path(__file__).parents[3] / "notebooks"


@pytest.fixture
def taken(tmp_path):
    """A function that takes a text (a .py file) or a list of cells (a notebook) apart."""

    def take(content):
        name = "k.py" if isinstance(content, str) else "k.ipynb"
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else notebook(content))
        return read(path, tmp_path, KNOWN)

    return take


def lines(reading, name):
    """The statements that the answer to an exercise needs, as text."""
    return [ast.unparse(one.node) for one in reading.needed(reading.answers[name])]


def values(reading, name):
    """The kernel of an answer: in these tests, any value."""
    names = {}
    for one in reading.needed(reading.answers[name]):
        exec(one.code, names)
    return eval(ast.unparse(reading.answers[name].expression), names)


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_chapters(path, tmp_path):
    """Every exercise of a chapter is found in its notebook, under the solution's name."""
    known = {one.name: one.solution.py_func.__name__ for one in exercises()}
    reading = read(path, tmp_path, known_names())
    asked = {one.name for one in exercises() if one.chapter == path.stem}
    assert (set(reading.answers), reading.problems) == (asked, [])
    for name, answer in reading.answers.items():
        assert ast.unparse(answer.expression) == known[name]


def test_names_that_two_exercises_share():
    """Without a check, a function's name means one exercise at most."""
    known = known_names()
    assert len(set(known.values())) == len(known)
    assert (known["ex00_bias"], known["ex03_planes"]) == ("add_bias", "ex03_planes")


def test_checked_for_another(taken):
    """A kernel that is checked for one exercise is not taken for another by its name."""
    reading = taken("@str\ndef scale():\n    pass\ncheck('ex00_bias', scale)")
    assert list(reading.answers) == ["ex00_bias"]


def test_only_what_is_needed(taken):
    """Imports, constants and helper functions, by way of others too; no launch, no print."""
    reading = taken(
        "import os\nimport math\nA = 3\nB = A + 1\nOUT = os.listdir()\n"
        "def half(x):\n    return x / B\n"
        "def scale(x):\n    OUT = 5\n    return half(x) + math.pi\n"
        "print(OUT)\nscale(OUT)\ncheck('ex00_scale', scale)\n"
    )
    assert [line.split("\n")[0] for line in lines(reading, "ex00_scale")] == [
        "import math",
        "A = 3",
        "B = A + 1",
        "def half(x):",
        "def scale(x):",
    ]


def test_names_as_they_stand_at_the_check(taken):
    """A constant that another section changes later is as it was when the kernel was checked."""
    cells = ["N = 1", "k = [N]", "check('ex00_scale', k)", "N = 2", "k = [N]"]
    reading = taken([*cells, "print(check('ex00_bias', k))", "N = 3", "k = [N]"])
    assert values(reading, "ex00_scale") == [1]
    assert values(reading, "ex00_bias") == [2]


def test_last_check_counts(taken):
    """An exercise that is checked twice is graded as checked last."""
    reading = taken("a, b = 1, 2\ncheck('ex00_scale', a)\nok = bool(check('ex00_scale', b))")
    assert values(reading, "ex00_scale") == 2


def test_defined_again_below(taken):
    """A later definition counts where the name belongs to one exercise; then to its cell's end."""
    first = "@str\ndef scale():\n    pass\n"
    cells = [first, "check('ex00_scale', scale)", "N = 1", "N = 2\n" + first + "N = 3", "N = 4"]
    reading = taken([cells[0].replace("pass", "return N"), *cells[1:]])
    point = reading.answers["ex00_scale"].point
    assert ast.unparse(reading.statements[point].node) == "N = 3"


def test_one_name_for_two_exercises(taken):
    """A kernel of the same name that is checked for another exercise further down is not taken."""
    cells = ["@str\ndef k():\n    pass", "check('ex00_scale', k)", "check('ex00_bias', k)"]
    reading = taken([*cells[:2], cells[0], cells[2]])
    assert [one.point for one in reading.answers.values()] == [1, 3]


def test_without_a_check(taken):
    """A decorated function of the exercise's or the solution's name is taken; a bare one not."""
    reading = taken(
        "@str\ndef ex00_scale():\n    pass\n@str\ndef add_bias():\n    pass\ndef place():\n    pass"
    )
    found = {name: ast.unparse(one.expression) for name, one in reading.answers.items()}
    assert found == {"ex00_scale": "ex00_scale", "ex00_bias": "add_bias"}


@pytest.mark.parametrize(
    "call",
    [
        "smemnb.check('ex00_scale', k)",
        "check('ex00_scale', kernel=k)",
        "check(kernel=k, name='ex00_scale')",
        "if True:\n    assert check('ex00_scale', k)",
    ],
)
def test_forms_of_check(taken, call):
    """However check is called, the kernel is found."""
    assert values(taken(f"k = 7\n{call}"), "ex00_scale") == 7


def test_changed_in_place(taken):
    """A store to a cell or an attribute of a needed value is needed too, and so is `+=`."""
    reading = taken("t = [1, 2]\nt[0] = 5\nn = 1\nn += 1\nk = [t, n]\ncheck('ex00_scale', k)")
    assert values(reading, "ex00_scale") == [[5, 2], 2]


def test_lines_of_ipython(taken):
    """Lines that only IPython reads do not count, nor do cells in other languages."""
    reading = taken(
        [
            "%matplotlib inline\n!pip list\nfiles = !ls\nN = 7 \\\n  % 4\nlen?",
            "%%bash\nrm -rf x",
            "%%time\nk = N",
            "check('ex00_scale', k)",
        ]
    )
    assert (values(reading, "ex00_scale"), reading.problems) == (3, [])


def test_unreadable_cell(taken):
    """One cell with a slip of the pen: it is named, with its line, and the others are read."""
    reading = taken(["k = 1\ncheck('ex00_scale', k)", "x = 1\ncheck('ex00_bias', k\n", "m = ("])
    said = "k.ipynb cell 3 cannot be read: line 2: '(' was never closed"
    assert reading.unreadable == {"ex00_bias": said}
    assert reading.problems == [said, "k.ipynb cell 4 cannot be read: line 1: '(' was never closed"]
    assert list(reading.answers) == ["ex00_scale"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "k.ipynb is no notebook: KeyError"),
        ("[1]", "k.ipynb is no notebook: TypeError"),
        ("", "k.ipynb is no notebook: JSONDecodeError"),
        (json.dumps({"cells": [{"cell_type": "code"}]}), "k.ipynb is no notebook: KeyError"),
        (json.dumps({"cells": [{"cell_type": "code", "source": 3}]}), "no notebook: TypeError"),
    ],
)
def test_no_notebook(tmp_path, text, said):
    """A file that is no notebook is said to be none."""
    path = tmp_path / "k.ipynb"
    path.write_text(text)
    (problem,) = read(path, tmp_path, KNOWN).problems
    assert said in problem


def test_no_text(tmp_path):
    """A file that is no UTF-8 is said to be no Python file."""
    path = tmp_path / "k.py"
    path.write_bytes(b"\xff\xfe\x00")
    (problem,) = read(path, tmp_path, KNOWN).problems
    assert problem.startswith("k.py cannot be read: ")


def test_latin_1(tmp_path):
    """A file in the encoding that its first line names is read as Python reads it."""
    path = tmp_path / "k.py"
    path.write_bytes(
        "# -*- coding: latin-1 -*-\nk = 'caf\xe9'\ncheck('ex00_scale', k)".encode("latin-1")
    )
    reading = read(path, tmp_path, KNOWN)
    assert (reading.problems, values(reading, "ex00_scale")) == ([], "caf\xe9")


def test_lines_of_a_cell(tmp_path, taken):
    """Statements say the line of their cell, in a file that has that line."""
    reading = taken(["a = 1", "%time a\n\nk = 2", "check('ex00_scale', k)"])
    (one,) = reading.needed(reading.answers["ex00_scale"])
    assert (one.node.lineno, one.place) == (3, "k.ipynb cell 3")
    text = Path(one.code.co_filename).read_text().split("\n")
    assert text[one.node.lineno - 1] == "k = 2"
