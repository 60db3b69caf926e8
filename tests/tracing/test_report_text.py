"""How the text of a report is cut into lines."""

import numpy as np
import pytest

from smemnb.cli.terminal import report as on_a_terminal
from smemnb.kernels.transpose.rungs.transpose_padded import transpose_padded
from smemnb.kernels.transpose.rungs.transpose_tiled import transpose_tiled
from smemnb.tracing import trace
from smemnb.tracing.report.text import WIDTH, _wrapped, costliest_line
from tests.tracing.traced import turn_unsynced


def test_words_with_hyphens_stay_whole():
    """ "32-way" and "as-compiled" are looked for by readers and tools, so no line ends in them."""
    words = "a 32-way conflict of the as-compiled view on cc-9.0 hardware, line-by-line " * 8
    lines = _wrapped(words, "", "  ", WIDTH)
    assert len(lines) > 4 and all(len(line) <= WIDTH for line in lines)
    assert " ".join(" ".join(lines).split()) == words.strip()


def of(kernel, **options):
    """The trace of a transpose of 64 x 64."""
    args = np.zeros((64, 64), np.float32), np.ones((64, 64), np.float32)
    return trace(kernel, **options)[(2, 2), (32, 32)](*args)


@pytest.mark.parametrize(
    ("make", "none"),
    [
        (lambda: of(transpose_tiled), True),
        (lambda: of(transpose_tiled, checks=False), False),  # nobody looked for findings
        (lambda: of(turn_unsynced), False),
    ],
)
def test_costliest_line(make, none):
    """The line with most extra wavefronts, in each form of the report, beside findings too."""
    report = make()
    dear = max(report.lines, key=lambda row: row.extra if row.space == "shared" else 0)
    said = costliest_line(report)
    assert f"line {dear.line} " in said and "32-way" in said and f"{dear.extra:,} extra" in said
    assert said in str(report) and said in report._repr_html_()
    assert said in map(str, on_a_terminal(report, WIDTH))
    assert ("correctness" in said) == none  # where "none" could be read as praise


def test_no_costliest_line():
    """Without a conflict the report says nothing of it."""
    assert costliest_line(of(transpose_padded)) == ""
