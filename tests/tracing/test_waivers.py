"""Waivers: what a comment waives, what it does not, and what is wrong with the comment itself."""

import functools
import importlib
import importlib.util
import inspect
import json
import linecache
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numba import cuda

from smemnb import trace
from smemnb.errors import SmemnbError
from smemnb.tracing import Trace
from smemnb.tracing.report import github, sarif
from smemnb.tracing.report.places import PlacedFinding, placed_findings
from smemnb.tracing.report.text import finding_line
from smemnb.tracing.waivers import unused, waivers_in
from tests.corpus import pairs
from tests.corpus.pairs import PAIRS
from tests.tiers import sampled
from tests.tracing import waived as kernels

REASON = "read once, at the start"
for file in sorted(Path(pairs.__file__).parent.glob("*.py")):
    if not file.stem.startswith(("_", "test_")):
        importlib.import_module(f"tests.corpus.{file.stem}")  # fills PAIRS


def launched(kernel, **watching):
    """The trace of one block of 64 threads; a column of a 64x64 matrix is 64 sectors, 8 needed."""
    inp = np.arange(4096, dtype=np.float32).reshape(64, 64)
    return trace(kernel, **watching)[1, 64](np.zeros(64, np.float32), inp)


def line_of(kernel, text):
    source, first = inspect.getsourcelines(kernel.py_func)
    return first + next(at for at, line in enumerate(source) if text in line)


def kinds(findings):
    return Counter(found.kind for found in findings)


# what is waived


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.on_its_line,
        kernels.above,
        kernels.over_several_lines,
        kernels.two_of_one_line,
        kernels.two_above,
        kernels.in_a_device_function,
    ],
    ids=lambda kernel: kernel.__name__,
)
def test_waived(kernel):
    """The finding leaves `findings`, and stands in `waived` with reason and comment's line."""
    report = launched(kernel)
    assert report.findings == ()
    (one,) = [one for one in report.waived if one.finding.kind == "uncoalesced"]
    shown = kernels.first_of if kernel is kernels.in_a_device_function else kernel
    assert one.finding.line == line_of(shown, "inp[i, 0]")
    assert (one.reason, one.line) == (REASON, line_of(shown, "[uncoalesced"))
    assert one.finding.count == 64 - 8
    reasons = {one.finding.kind: one.reason for one in report.waived}
    if kernel is kernels.two_of_one_line:
        assert reasons == {"uncoalesced": REASON, "float64_arithmetic": REASON}
    elif kernel is kernels.two_above:
        assert reasons == {"uncoalesced": REASON, "float64_arithmetic": "on purpose"}
    else:
        assert reasons == {"uncoalesced": REASON}


def test_at_the_other_line():
    """A race may be waived at either of its lines; an error that is waived is no error."""
    report = launched(kernels.at_the_second_line)
    assert report.findings == () and report.ok
    assert [(one.finding.severity, one.finding.kind) for one in report.waived] == [
        ("error", "race"),
        ("warning", "uncoalesced"),
    ]
    race = report.waived[0]
    line = line_of(kernels.at_the_second_line, "allow[race]")
    assert (race.finding.other_line, race.line, race.reason) == (line, line, "the test wants one")
    assert [found.kind for found in report.all_findings] == ["race", "uncoalesced"]
    assert not launched(kernels.at_the_second_line, waivers=False).ok


def test_without_waivers():
    """`waivers=False` leaves the comments unread: every finding is one, and none is about them."""
    for kernel in (kernels.on_its_line, kernels.no_reason, kernels.misspelt):
        report = launched(kernel, waivers=False)
        assert kinds(report.findings) == {"uncoalesced": 1}
        assert report.waived == ()
    assert launched(kernels.unused, waivers=False).findings == ()


@pytest.fixture(scope="module")
def waived_corpus(tmp_path_factory):
    """The corpus with a waiver at the marked line of every buggy kernel, by kernel."""
    folder = tmp_path_factory.mktemp("waived")
    return functools.cache(lambda module: copied_corpus(folder, module))


def copied_corpus(folder, module):
    lines = inspect.getsource(module).splitlines(keepends=True)
    for pair in PAIRS:
        if pair.buggy.__module__ == module.__name__:
            source, first = inspect.getsourcelines(pair.buggy)
            at = first + next(n for n, line in enumerate(source) if "(1)" in line.partition("#")[2])
            line = lines[at - 1].rstrip("\n")
            lines[at - 1] = f"{line}  # smemnb: allow[{pair.kind}] it stands in the corpus\n"
    name = f"waived_{module.__name__.rpartition('.')[2]}"
    path = folder / f"{name}.py"
    path.write_text("".join(lines), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    known = len(PAIRS)
    spec.loader.exec_module(made)
    del PAIRS[known:]  # the copies are no part of the corpus
    return made


@pytest.mark.first(10)
@pytest.mark.parametrize(
    "pair",
    sampled(
        [pytest.param(pair, id=pair.name) for pair in PAIRS],
        1,
        by=lambda case: case.values[0].kind,
    ),
)
def test_every_kind(pair, waived_corpus):
    """The mistake of the corpus is waived where it stands; all else is found as before."""
    module = sys.modules[pair.buggy.__module__]
    copy = getattr(waived_corpus(module), pair.buggy.__name__)
    before = trace(pair.buggy)[pair.launch](*pair.args())
    report = trace(copy)[pair.launch](*pair.args())
    line = next(one.line for one in report.waived)
    mine = [
        found
        for found in before.findings
        if found.kind == pair.kind and line in (found.line, found.other_line)
    ]
    assert kinds(one.finding for one in report.waived) == kinds(mine)
    assert {one.reason for one in report.waived} == {"it stands in the corpus"}
    assert kinds(report.findings) == kinds(before.findings) - kinds(mine)
    assert kinds(report.all_findings) == kinds(before.findings)


# what is not


@pytest.mark.parametrize(
    ("kernel", "found"),
    [
        (kernels.blank_line_between, {"uncoalesced": 1}),
        (kernels.wrong_line, {"uncoalesced": 1, "unused_waiver": 1}),
        (kernels.wrong_kind, {"uncoalesced": 1, "unused_waiver": 1}),
        (kernels.no_reason, {"uncoalesced": 1, "waiver_without_reason": 1}),
        (kernels.misspelt, {"uncoalesced": 1, "unknown_waiver": 1}),
        (kernels.unreadable, {"uncoalesced": 1, "unknown_waiver": 1}),
        (kernels.in_a_text, {"uncoalesced": 1}),
        (kernels.unused, {"unused_waiver": 1}),
        (kernels.unused_and_known, {}),
        (kernels.did_not_run, {}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_not_waived(kernel, found):
    """A comment that waives nothing leaves the finding, and is one itself if something is odd."""
    report = launched(kernel)
    assert kinds(report.findings) == found
    assert report.waived == ()
    for one in report.findings:
        if one.kind.endswith("waiver") or one.kind.startswith("waiver"):
            assert one.line == line_of(kernel, "# smemnb:")
            assert (one.severity == "note") == (one.kind == "unused_waiver")


def test_what_is_said():
    """The finding of a waiver names what is wrong: the kind that was meant, the missing reason."""
    (said,) = [one for one in launched(kernels.misspelt).findings if one.kind == "unknown_waiver"]
    assert "uncoalesed" in said.cause and "uncoalesced" in said.cure
    (said,) = [one for one in launched(kernels.no_reason).findings if one.kind != "uncoalesced"]
    assert "reason" in said.cause and "# smemnb: allow[uncoalesced] " in said.cure
    report = trace(kernels.misspelt)[2, 64](np.zeros(64, np.float32), np.zeros((64, 64)))
    (said,) = [one for one in report.findings if one.kind == "unknown_waiver"]
    assert "block" not in finding_line(said, report)  # it is about the text


@pytest.mark.parametrize(
    "watching", [{"counts": False}, {"checks": False}, {"blocks": "first"}], ids=str
)
def test_unused_only_where_all_was_watched(watching):
    """Who did not look everywhere does not say that a waiver is not needed."""
    inp = np.zeros((64, 64), np.float32)
    report = trace(kernels.unused, **watching)[2, 64](np.zeros(64, np.float32), inp)
    assert "unused_waiver" not in kinds(report.findings)
    report = trace(kernels.unused)[2, 64](np.zeros(64, np.float32), inp)
    assert kinds(report.findings)["unused_waiver"] == 1


def test_other_kernels_of_the_file():
    """Comments in functions that did not run are not spoken of, though some are odd."""
    assert kinds(launched(kernels.on_its_line).findings) == {}


def test_in_a_cell():
    """A cell of a notebook, whose source only linecache knows."""
    cell = inspect.getsource(kernels.on_its_line.py_func)
    name = "/tmp/ipykernel_1/2.py"
    linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
    spaces = {"cuda": cuda}
    exec(compile(cell, name, "exec"), spaces)
    report = launched(spaces["on_its_line"])
    assert (report.findings, [one.reason for one in report.waived]) == ((), [REASON])


def test_reading():
    """Where comments hold: kinds, reasons that go on, statements of several lines, odd ends."""
    source = """\
x = f(a,  # smemnb: allow[race, stale] one
      b)
# smemnb: allow[race] two
#   goes on
# smemnb: allow[stale]three
if x:  # smemnb: allow[] none
    y = '# smemnb: allow[race] text'
    # smemnb: allow[race] nobody's
"""
    found = waivers_in(source.splitlines(keepends=True))
    read = {line: [(one.kinds, one.reason) for one in some] for line, some in found.items()}
    one = [(("race", "stale"), "one")]
    assert read == {
        1: one,
        2: one,
        6: [(("race",), "two goes on"), (("stale",), "three"), ((), "none")],
    }
    assert waivers_in(["x = (  # smemnb: allow[race] never closed\n"]) == {}


# reports


def test_reports():
    """Text, HTML and JSON say how many are waived, and list line, kind and reason."""
    report = launched(kernels.at_the_second_line)
    for said in (repr(report), report._repr_html_()):
        assert "findings: none, 2 waived" in said
        (listed,) = [
            line for line in said.replace("<div", "\n<div").splitlines() if "error, race" in line
        ]
        for part in ("error", "the test wants one", f"line {report.waived[0].finding.line} "):
            assert part in listed
    stored = json.loads(report.to_json())
    assert [(one["reason"], one["line"]) for one in stored["waived"]] == [
        (one.reason, one.line) for one in report.waived
    ]
    again = Trace.from_json(report.to_json())
    assert again == report and again.waived == report.waived
    assert "waived" not in repr(launched(kernels.wrong_line)).partition("findings:")[2]


def test_sarif(tmp_path):
    """Waived findings are suppressed results; of the others it is said that they are not."""
    report = launched(kernels.at_the_second_line).waive({"uncoalesced": "never asked"})
    some = [*placed_findings(report), *placed_findings(launched(kernels.wrong_line))]
    external = launched(kernels.wrong_line).waive({"uncoalesced": "of the caller"})
    some += placed_findings(external)
    assert [PlacedFinding.from_json(one.to_json()) for one in some] == some
    (run,) = json.loads(sarif.sarif(some, tmp_path))["runs"]
    found = [(one["ruleId"], one["suppressions"]) for one in run["results"]]
    assert found == [
        ("smemnb/race", [{"kind": "inSource", "justification": "the test wants one"}]),
        ("smemnb/uncoalesced", [{"kind": "inSource", "justification": REASON}]),
        ("smemnb/uncoalesced", []),
        ("smemnb/unused_waiver", []),
        ("smemnb/unused_waiver", []),
        ("smemnb/uncoalesced", [{"kind": "external", "justification": "of the caller"}]),
    ]
    (run,) = json.loads(sarif.sarif(placed_findings(launched(kernels.wrong_line)), tmp_path))[
        "runs"
    ]
    assert not any("suppressions" in one for one in run["results"])


def test_annotations(tmp_path):
    """GitHub shows what is not waived."""
    some = [*placed_findings(launched(kernels.at_the_second_line))]
    some += placed_findings(launched(kernels.misspelt))
    titles = [
        line.partition("title=")[2].split(" in ")[0] for line in github.commands(some, tmp_path)
    ]
    assert titles == ["uncoalesced", "unknown waiver"]


# what a caller allows


@pytest.mark.parametrize(
    ("key", "waives"),
    [
        ("uncoalesced", True),
        ("scattered", False),
        (("uncoalesced", "inp[i, 0]"), True),
        (("uncoalesced", "inp[0, i]"), False),
        (("uncoalesced", "wrong_line"), True),
        (("uncoalesced", "unused"), False),
        (("scattered", "wrong_line"), False),
        (("uncoalesced", line_of(kernels.wrong_line, "inp[i, 0]")), True),
        (("uncoalesced", line_of(kernels.wrong_line, "inp[i, 0]") + 1), False),
    ],
)
def test_allowed(key, waives):
    """A kind, or a kind at a line's number, in a part of its source, in a function or kernel."""
    report = launched(kernels.wrong_line).waive({key: "of the caller"})
    assert ("uncoalesced" in kinds(report.findings)) == (not waives)
    assert [(one.finding.kind, one.reason, one.line) for one in report.waived] == (
        [("uncoalesced", "of the caller", None)] if waives else []
    )
    assert unused({key: "of the caller"}, report.waived, "wrong_line") == (
        [] if waives else [repr(key)]
    )


def test_allowed_in_a_device_function():
    """The kernel's name means all that it calls, the function's name its own lines."""
    for name, left in (("in_a_device_function", 0), ("first_of", 0), ("above", 1)):
        report = launched(kernels.in_a_device_function, waivers=False)
        report = report.waive({("uncoalesced", name): "of the caller"})
        assert len(report.findings) == left


@pytest.mark.parametrize(
    ("allow", "said"),
    [
        (("race",), "write the kinds of findings with their reasons"),
        ("race", "write the kinds of findings with their reasons"),
        ({"rase": "x"}, "'rase' is no kind of finding; did you mean 'race'?"),
        ({("rase", 3): "x"}, "'rase' is no kind of finding; did you mean 'race'?"),
        ({3: "x"}, "3 is no kind of finding; there are: race"),
        ({"race": " "}, "'race' has no reason"),
        ({"race": None}, "'race' has no reason"),
        ({("race", ""): "x"}, "the place is a line's number"),
        ({("race", 2.5): "x"}, "the place is a line's number"),
    ],
)
def test_not_allowed(allow, said):
    """What does not say which kind, where and why is refused."""
    with pytest.raises(SmemnbError) as refused:
        launched(kernels.unused).waive(allow)
    assert said in str(refused.value)
