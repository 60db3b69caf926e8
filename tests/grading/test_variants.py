"""Sixty right answers in other words: taken without running them, and accepted."""

import json
import re
from pathlib import Path

import pytest

from smemnb.exercises.registry import exercises
from smemnb.exercises.source import source_of
from smemnb.grading.judging import judged
from smemnb.grading.kernel_names import known_names
from smemnb.grading.taking import take
from tests.grading.submitted import chapter_text
from tests.grading.variants import VARIANTS, files_of
from tests.tiers import sampled

KNOWN = known_names()
_CONSTANTS = re.compile(r"^[A-Z][A-Z_, ]* = .*$", re.MULTILINE)
CHAPTERS = {one.chapter for one in exercises()}
FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(path for path in FOLDER.glob("*.ipynb") if path.stem in CHAPTERS)


def test_sixty():
    """There are sixty, each under a name of its own."""
    assert len({(exercise, what) for exercise, what, _ in VARIANTS}) == len(VARIANTS) >= 60


@pytest.mark.parametrize(
    ("exercise", "what", "edits"),
    sampled([pytest.param(*one, id=f"{one[0]}-{one[1]}") for one in VARIANTS], 8),
)
def test_right_variant(exercise, what, edits):
    """It is taken from its text, and accepted."""
    answers = take(files_of(exercise, what, edits), KNOWN).answers[exercise]
    outcome = judged(exercise, answers)
    assert (outcome.grade, outcome.text) == ("accepted", "")


@pytest.mark.parametrize("path", sampled(NOTEBOOKS, 1), ids=lambda path: path.stem)
def test_chapters_that_were_done(path):
    """A chapter's notebook, with stubs and constants filled in, is taken whole and accepted."""
    book = json.loads(path.read_text(encoding="utf-8"))
    mine = [one for one in exercises() if one.chapter == path.stem]
    for cell in book["cells"]:
        text = "".join(cell["source"]).replace("EDGE, PITCH = 32, 32", "EDGE, PITCH = 32, 33")
        for one in mine:
            if one.stub.strip() in text:
                constants = "\n".join(_CONSTANTS.findall(chapter_text(one)))
                whole = [constants, *map(source_of, (*one.written, one.solution))]
                text = text.replace(one.stub.strip(), "\n\n".join(whole))
        cell["source"] = text
    answers = take({path.name: json.dumps(book).encode()}, KNOWN).answers
    assert set(answers) == {one.name for one in mine}
    for name, found in answers.items():
        outcome = judged(name, found)
        assert (outcome.grade, outcome.text) == ("accepted", ""), name


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_chapters_that_were_not_done(path):
    """A chapter's notebook as it is handed out: every exercise is found, and is not tried."""
    answers = take({path.name: path.read_bytes()}, KNOWN).answers
    assert set(answers) == {one.name for one in exercises() if one.chapter == path.stem}
    for name, found in answers.items():
        assert judged(name, found).grade == "not tried", name
