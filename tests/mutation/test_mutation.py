"""Planted faults: where they are found, how they are drawn, and what a trial says."""

import ast

import pytest

from tests.house.notebook_form import ROOT
from tests.mutation.choice import chosen, modules, shares
from tests.mutation.faults import Fault, faults
from tests.mutation.trial import copied, goes, planted, tried

MODULE = '''"""Widths."""


def width(lanes, least=1):
    """The width of so many lanes."""
    if lanes < least or not lanes:
        raise ValueError(f"{lanes - 1} lanes")
    return max(lanes * 4, least)
'''
TEST = """from smemnb.rules.small import width


def test_width():
    assert width(3) == 12


def test_least():
    assert width(1, 8) == 8
"""


def kinds(body):
    """Kind and changed line of each fault in the body of a function."""
    found = faults(f"def f(a, b):\n    {body}", "smemnb/rules/small.py")
    return {(one.kind, one.after.strip()) for one in found}


@pytest.mark.parametrize(
    ("body", "kind", "after"),
    [
        ("x = a < b", "comparison", "x = a <= b"),
        ("x = a is b", "comparison", "x = a is not b"),
        ("x = (a) not in (b)", "comparison", "x = (a) in (b)"),
        ("x = 1 < a <= b", "comparison", "x = 1 < a < b"),
        ("x = a + b", "operator", "x = a - b"),
        ("x = (a + b) * b", "operator", "x = (a + b) // b"),
        ("x = 'ä' and a << b", "operator", "x = 'ä' and a >> b"),
        ("x = a and b", "boolean", "x = a or b"),
        ("x = not a", "not dropped", "x = a"),
        ("x = a[0]", "constant", "x = a[1]"),
        ("x = True", "flag", "x = False"),
        ("x = a if b else 0", "condition", "x = a if not (b) else 0"),
        ("x = a(b, 'c')", "arguments", "x = a('c', b)"),
        ("x = min(a)", "name", "x = max(a)"),
        ("x = a.any()", "name", "x = a.all()"),
        ("return a", "return", "return None"),
        ("a.close()", "deleted", "pass"),
        ("a.close()", "early return", "return"),
        ("raise a", "deleted", "pass"),
    ],
)
def test_kinds(body, kind, after):
    """Each kind of fault changes what it says and nothing else of the line."""
    assert (kind, after) in kinds(body)


@pytest.mark.parametrize(
    "body",
    ['"""Text of 3."""', 'raise ValueError(f"{a + 1}", 2)', "x: 'int | 3'", "f'{a < 3}'", "..."],
)
def test_left_alone(body):
    """Docstrings, texts of errors, annotations and f-strings have no faults inside."""
    inside = {"comparison", "operator", "constant", "arguments", "boolean"}
    assert not {kind for kind, _ in kinds(body)} & inside


def test_one_line_changes():
    """A planted fault differs from the module in its own line."""
    for fault in faults(MODULE, "smemnb/rules/small.py"):
        before, after = MODULE.split("\n"), fault.planted(MODULE).split("\n")
        assert [n for n, pair in enumerate(zip(before, after, strict=True), 1) if len({*pair}) > 1]
        assert before[: fault.line - 1] == after[: fault.line - 1]
        assert before[fault.line :] == after[fault.line :]


def test_shares():
    """Every room gives one at least, and together they are as many as wanted."""
    given = shares({"a": 10_000, "b": 2_500, "c": 1}, 8)
    assert (sum(given.values()), given["c"]) == (8, 1)
    assert given["a"] > given["b"]


@pytest.mark.exhaustive
def test_sample():
    """A seed gives one sample, of every room, and each of its faults can be planted and read."""
    sample = chosen(ROOT, seed=3, count=20)
    assert sample == chosen(ROOT, seed=3, count=20) != chosen(ROOT, seed=4, count=20)
    assert len({(fault.path, fault.line) for fault in sample}) == len(sample) == 20
    inside = {room for room in modules(ROOT) if room != "(hall)"}
    assert inside <= {fault.room for fault in sample}
    for fault in sample:
        ast.parse(fault.planted((ROOT / fault.path).read_text("utf-8")))


@pytest.fixture
def tree(tmp_path):
    """A small tree with one module and its tests."""
    files = {
        "smemnb/__init__.py": "",
        "smemnb/rules/small.py": MODULE,
        "tests/rules/test_small.py": TEST,
    }
    for name, text in files.items():
        (tmp_path / "here" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "here" / name).write_text(text)
    return copied(tmp_path / "here", tmp_path / "copy")


def fault_with(after):
    (found,) = [
        one for one in faults(MODULE, "smemnb/rules/small.py") if one.after.strip() == after
    ]
    return found


@pytest.mark.exhaustive
def test_trial(tree):
    """A fault that a test sees is seen by it; one that none sees is not; the copy is left whole."""
    seen = tried(tree, fault_with("return max(lanes // 4, least)"), "", 60)
    assert seen.by.startswith("tests/rules/test_small.py::test_")
    assert not tried(tree, fault_with("if lanes < least and not lanes:"), "", 60).seen
    assert (tree / "smemnb/rules/small.py").read_text() == MODULE


def test_time_limit(tree):
    """A fault with which the tests never end is seen by the time limit."""
    endless = Fault(
        "smemnb/rules/small.py", 8, "made up", MODULE.split("\n")[7], "    while 1: pass"
    )
    assert tried(tree, endless, "", 3).by == "time limit"


def test_nearest_first():
    """The mirroring test file comes first, then its room; chapters come last."""
    fault = Fault("smemnb/rules/bank.py", 1, "made up", "", "")
    near, others = goes(ROOT, fault)
    assert near[:2] == ["smemnb/rules/bank.py", "tests/rules/test_bank.py"]
    assert "tests/rules/test_sector.py" in near and "tests/cli/test_doctor.py" in others
    assert others[-1].endswith(".ipynb")
    assert not set(near) & set(others)


def test_stale_fault(tree):
    """A fault of a line that has changed is refused and leaves the module alone."""
    stale = Fault("smemnb/rules/small.py", 8, "constant", "    return 1", "    return 2")
    with pytest.raises(ValueError, match="no longer"), planted(tree, stale):
        pass
    assert (tree / "smemnb/rules/small.py").read_text() == MODULE
