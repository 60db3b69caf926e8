"""Reports of bench, tune, verify, sanitize, sass and grade: text in a pipe, tables on a terminal.

Where a report takes a GPU, results written by hand and the recorded ones that ship with the package
stand for it.
"""

import hashlib
import itertools
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from io import StringIO

import pytest
from rich.console import Console

from smemnb.cli.terminal import laid_out, show_grades, show_report
from smemnb.cli.traces import sass_lines
from smemnb.compiled.lines import Sass, SassLine
from smemnb.compiled.lines import table as plain_sass
from smemnb.grading.tables import table as plain_grades
from smemnb.grading.tables import tables as grade_tables
from smemnb.hardware import chip
from smemnb.measure.bench.case import plan
from smemnb.measure.bench.command import bound_lines
from smemnb.measure.bench.sweep import compare as sweep_compare
from smemnb.measure.bench.sweep import report as sweep_report
from smemnb.measure.results import compare, shipped, table
from smemnb.measure.results.present import of_now
from smemnb.measure.rows import Row, head, row
from smemnb.measure.tuning import model, outcome
from smemnb.measure.tuning.outcome import Attempt, Trial
from smemnb.measure.tuning.outcome import Timed as Candidate
from smemnb.measure.tuning.space import start
from smemnb.measure.verify.compare import Compared
from smemnb.measure.verify.compare import Row as Count
from smemnb.measure.verify.report import launch_lines, whole_lines
from smemnb.measure.verify.timing import Timed
from smemnb.measure.verify.timing import lines as timing_lines
from tests.cli.test_terminal import ESCAPE, on_a_terminal
from tests.grading.test_tables import GRADES
from tests.measure.bench.sweep.sample import SWEEP, TRANSPOSES
from tests.measure.results.test_reports import LADDER, RUNG

METRIC = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
LAUNCH = Compared(
    "product_tiled 40 x 35 x 21",
    "",
    (Count("shared_load_wavefronts", METRIC, 3456, 4608, 3456), Count("barriers", "x.sum", 2, 2)),
    ("a.py:226: 4,608 shared loads in the source, executed as 2,304 LDS, 576 LDS.128: merged",),
)
TRIAL = Trial(
    "tile",
    Candidate(16.0, 15.98, 16.02, 100, 0),
    (
        Attempt({"rows": 64, "cols": 64, "warp_cols": 32, "lanes_down": 8, "resident": 4},
                Candidate(12.5, 12.25, 12.75, 96, 32)),
        Attempt({"resident": 4}, Candidate(failed="no room for 4 blocks")),
    ),
    {"rows": 64},
    {"torch": Candidate(8.0, 7.5, 8.5)},
)  # fmt: skip
SASS = Sass(
    "mirrored",
    (9, 0),
    (
        SassLine("a.py", 0, "", {"LDG.E": 1}, ()),
        SassLine(
            "a.py", 8, "tile[tx] = inp[tx] " + "+ inp[tx] " * 6, {"LDG.E": 7, "STS": 1}, (), 2
        ),
        SassLine("a.py", 9, "x = 1", {}, ()),
    ),
    *(12, 0, 256, 0, 1, 38, 1.5, False),
)


def faster(readings):
    """The readings of a sweep, each with a longer time."""
    return tuple(replace(one, ms=one.ms * 1.2) if one.ms else one for one in readings)


@cache
def reports():
    """The lines of each report."""
    later = replace(LADDER, rows=(replace(RUNG, ms=1.0, low_ms=0.9, high_ms=1.1),))
    slower = replace(SWEEP, readings=faster(SWEEP.readings))
    wrong = [replace(RUNG, right=False), replace(RUNG, error=1e-6)]
    made = {
        "bench": table.lines(LADDER),
        "bench, wrong": table.case_lines(wrong),
        "bench, compared": compare.lines(LADDER, later, ("a.json", "b.json")),
        "bench, shipped": itertools.islice(table.lines(of_now(shipped())), 40),
        "sweep": sweep_report.lines(SWEEP),
        "sweep of transposes": sweep_report.lines(TRANSPOSES),
        "sweep, compared": sweep_compare.lines(SWEEP, slower, "old.json"),
        "tuned": outcome.trial_lines(TRIAL),
        "verify": whole_lines([LAUNCH], {"z": "the kernel failed"}),
        "verify, one": launch_lines(LAUNCH),
        "verify, by time": timing_lines([Timed(1, 1, 2.0), Timed(32, 32, 63.0)]),
        "sass": sass_lines(SASS),
    }
    return {name: list(lines) for name, lines in made.items()}


def of_the_model():
    """The lines of reports for which kernels run in the engine."""
    h200, tiles = chip("H200"), start("transpose", 4)
    cases = plan(
        ("transpose",), sizes=("64", "65"), itemsizes=(), rungs=("transpose_wide",), quick=False
    )
    return {
        "bounds": list(bound_lines(cases, h200)),
        "tune": list(model.beside(tiles, replace(tiles, blocks=2), h200, compiled=False)),
    }


PLAIN = {
    "bench": "ca11bc44b546",
    "bench, wrong": "d7db5cce7fdb",
    "bench, compared": "12313e434e0a",
    "sweep": "e4d1caf3831c",
    "sweep of transposes": "95ae866809a7",
    "sweep, compared": "7e1692fd22a7",
    "tuned": "239264a78a62",
    "verify": "1c3733436640",
    "verify, one": "80e640170975",
    "verify, by time": "d193d9e01993",
}
"""Digests of the plain reports. Scripts read them from a pipe: change one on purpose alone."""


@pytest.mark.parametrize("name", PLAIN)
def test_plain_reports_stay(name, capsys):
    """A pipe gets each line as it is, and the lines are those of earlier versions."""
    lines = reports()[name]
    show_report(lines)
    said = capsys.readouterr().out
    assert said == "".join(f"{line}\n" for line in lines)
    assert hashlib.sha256(said.encode()).hexdigest()[:12] == PLAIN[name], said


def test_plain_tables_of_other_rooms(capsys):
    """Those of `sass` and `grade` are the text that their rooms make."""
    show_report(reports()["sass"])
    assert capsys.readouterr().out == plain_sass(SASS) + "\n"
    assert "\n".join(sass_lines(SASS, whole=True)) == plain_sass(SASS, whole=True)
    show_grades(GRADES)
    assert capsys.readouterr().out == plain_grades(GRADES) + "\n"


def grade_rows():
    """The grades as rows, as a terminal gets them."""
    return [
        line
        for names, *rows in grade_tables(GRADES)
        for line in (Row("", (), names), *(Row("", cells) for cells in rows))
    ]


def drawn(lines, width, color=None):
    """The report as rich prints it."""
    file = StringIO()
    screen = Console(
        file=file, force_terminal=True, width=width, color_system=color, highlight=False
    )
    for part in laid_out(lines, width):
        screen.print(part, markup=False, emoji=False)
    return file.getvalue()


def told(lines):
    """What a reader is told: the words of the lines, and of the cells of the rows."""
    texts = [line for line in lines if not isinstance(line, Row)]
    texts += [cell for line in lines if isinstance(line, Row) for cell in line.cells]
    return Counter(word for text in texts for word in text.split())


def figures(words):
    """The numbers among words, and how often each stands there."""
    found = Counter()
    for word, times in words.items():
        for number in re.findall(r"\d[\d.,]*\d|\d", word):
            found[number] += times
    return found


def lines_of(name):
    """The lines of one report."""
    if name == "grades":
        return grade_rows()
    return reports()[name] if name in reports() else of_the_model()[name]


NAMES = [*PLAIN, "bench, shipped", "sass", "grades"]
NAMES += [pytest.param(name, marks=pytest.mark.exhaustive) for name in ("bounds", "tune")]


@pytest.mark.parametrize("name", NAMES)
def test_it_fits(name):
    """80 columns hold every number whole, and as often as the report has it; 250 every word."""
    lines = lines_of(name)
    narrow, wide = drawn(lines, 80), drawn(lines, 250)
    assert max(map(len, narrow.splitlines())) <= 80
    assert not figures(told(lines)) - figures(Counter(narrow.split()))
    assert not told(lines) - Counter(wide.split())


def test_a_table_that_is_too_wide():
    """It becomes two; both have the first column, and each of the others stands in one."""
    lines = [head("name", *(f"c{n}" for n in range(20)))]
    lines += [row("kernel", *(str(10**6 + n) for n in range(20)))]
    said = drawn(lines, 80)
    assert max(map(len, said.splitlines())) <= 80
    assert said.count("kernel") == 3
    assert [said.count(str(10**6 + n)) for n in range(20)] == [1] * 20
    assert drawn(lines, 250).count("kernel") == 1


def test_cells():
    """Numbers lie right and words left; an empty column has no room; answers have their style."""
    lines = [head("x", "rate", "nothing", "verdict"), row("a", "1.5", "", "SLOWER")]
    lines += [row("bb", "10.25", "", "faster"), "a line", row("c", "1", "", "as before")]
    said = drawn(lines, 80).splitlines()
    assert said[2].split() == ["a", "1.5", "SLOWER"] and said[2].index("1.5") == 6
    assert "nothing" not in said[0]
    assert sum("verdict" in line for line in said) == 2  # a line between rows ends a table
    coloured = drawn(lines, 80, "standard")
    assert re.search("\x1b\\[1;31mSLOWER", coloured) and re.search("\x1b\\[32mfaster", coloured)
    assert ESCAPE.sub("", coloured) == drawn(lines, 80)


def test_long_lines_are_folded():
    """At spaces, below their beginning; what is copied from them is still Python."""
    line = "    cause: " + "a reason of some words, " * 6
    first, *others = drawn([line], 60).splitlines()
    assert first.startswith("    cause: a") and all(one.startswith("      ") for one in others)
    comment = "# kernel[grid, block](out, a), " * 4
    assert all(one.startswith("# ") for one in drawn([comment], 60).splitlines())
    assert " ".join(drawn([line], 60).split()) == " ".join(line.split())


TERMINAL = """
from smemnb.cli import main
main(["bench", "--show"])
main(["verify", "--time"])
"""


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX")
def test_a_terminal(tmp_path):
    """The shipped results in 80 columns, in colours unless NO_COLOR says no."""
    coloured = on_a_terminal(tmp_path, code=TERMINAL)
    assert ESCAPE.search(coloured)
    assert on_a_terminal(tmp_path, code=TERMINAL, NO_COLOR="1") == ESCAPE.sub("", coloured)
    assert max(map(len, ESCAPE.sub("", coloured).splitlines())) <= 80
    plain = on_a_terminal(tmp_path, code=WITHOUT_RICH + TERMINAL, columns=200)
    assert plain.startswith("\n".join(table.lines(of_now(shipped()))))


WITHOUT_RICH = """
import sys
sys.modules["rich"] = None
"""


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_closed_pipe():
    """Who reads one line and goes leaves no traceback behind."""
    command = [sys.executable, "-m", "smemnb.cli", "bench", "--show"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline().startswith(b"measured")
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
