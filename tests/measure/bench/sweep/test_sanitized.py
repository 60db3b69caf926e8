"""compute-sanitizer over problems of a sweep: which ones, in which processes, and what is said."""

from smemnb.errors import SmemnbError
from smemnb.measure.bench.sweep import sanitized
from smemnb.measure.bench.sweep.problems import problems
from smemnb.measure.sanitizer import TOOLS


def test_chosen():
    """The first ones, in their order, above and below 1 GFLOP, none of them too large."""
    numbers = sanitized.chosen("matmul", 60, seed=2)
    drawn = problems("matmul", 200, seed=2)
    assert len(numbers) == 60 and sorted(numbers) == list(numbers)
    assert {drawn[at].is_large for at in numbers} == {True, False}
    assert max(drawn[at].work for at in numbers) <= 3e9


def test_launched(monkeypatch):
    """Values are compared: a product by columns, a transpose; a wrong one is named."""
    (at,) = (at for at, one in enumerate(problems("matmul", 12, 3)) if one.work < 2e5)
    assert next(sanitized.launched("matmul", 3, (at,))).startswith("right: ")
    monkeypatch.setattr("smemnb.operations.matmul", lambda a, b, out: out)
    assert next(sanitized.launched("matmul", 3, (at,))).startswith("WRONG: ")


def test_examined():
    """A process for some problems and a tool; a failure in words, in the order of asking."""

    def look(command, tool):
        if tool == "initcheck":
            raise SmemnbError("no summary")
        return int(command[-1] == "5" and tool == "racecheck")

    found = list(sanitized.examined("matmul", 1, range(6), "kernels", look, 2))
    assert [words[:2] for words in found] == [
        (tool, part) for part in ((0, 1, 2, 3, 4), (5,)) for tool in TOOLS
    ]
    assert {tool: answer for tool, part, answer in found if part == (5,)} == {
        "memcheck": 0,
        "racecheck": 1,
        "initcheck": "no summary",
        "synccheck": 0,
    }


def test_shown(capsys):
    """What is found is named, and added up by tool; anything is a failure."""
    assert sanitized._show(iter([("memcheck", (1, 2), 0), ("racecheck", (1, 2), 3)])) == 1
    assert capsys.readouterr().out.splitlines() == [
        "racecheck, problems 1, 2: 3",
        "memcheck 0, racecheck 3, initcheck 0, synccheck 0; 1 failed",
    ]
    assert sanitized._show(iter([("memcheck", (1,), 0)])) == 0
