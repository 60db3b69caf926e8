"""The glossary has every word that a chapter makes bold, and an anchor for each word."""

import re

import nbformat
import pytest

from smemnb.exercises.glossary_links import LINK
from smemnb.exercises.grading.advice import PLAIN
from smemnb.exercises.registry import exercises
from tests.house.made_up import chapter
from tests.house.notebook_form import chapters
from tests.house.notebook_style import GLOSSARY, is_checkpoint, style_problems, terms

LABELS = {
    "You will",
    "Needs",
    "Before",
    "Predict",
    "Exercise",
    "Forecast",
    "Change",
    "Claim",
    "Correct",
    "Next",
}


def bold(book):
    """Bold words of the text cells, without the labels that open a paragraph."""
    text = "\n".join(cell.source for cell in book.cells if cell.cell_type == "markdown")
    found = re.findall(r"\*\*([^*]+)\*\*", text)
    return {word for word in found if word.rstrip(".") not in LABELS}


def words_in_order():
    """The words of the glossary as its headings have them."""
    return re.findall(r"^### (.+)$", GLOSSARY.read_text("utf-8"), re.M)


def test_a_heading_is_its_own_anchor():
    """GitHub, JupyterLab and Sphinx make one anchor of a word: lower case, hyphens for spaces.

    JupyterLab keeps capitals and signs, and the others do not; so a word has none.
    """
    words = words_in_order()
    assert len(words) == len(set(words)) > 100
    assert [word for word in words if not re.fullmatch(r"[a-z0-9]+([ -][a-z0-9]+)*", word)] == []
    headings = re.findall(r"^##? (.+)$", GLOSSARY.read_text("utf-8"), re.M)
    assert not {heading.lower() for heading in headings} & set(words)


def test_each_word_is_explained():
    """Below each heading stands a sentence."""
    _, *entries = re.split(r"^### .+$", GLOSSARY.read_text("utf-8"), flags=re.M)
    assert [entry for entry in entries if not re.match(r"\n\n[^*#\n]+", entry)] == []


def test_links_within_the_glossary():
    """They name words that are there."""
    anchors = set(re.findall(r"\]\(#([^)]+)\)", GLOSSARY.read_text("utf-8")))
    assert anchors <= {word.replace(" ", "-") for word in words_in_order()}
    assert "bound" in anchors


def linking(link):
    """A chapter with a link."""
    made = chapter()
    made.cells[2].source = f"A kernel, and {link}."
    return made


@pytest.mark.parametrize(
    ("link", "problems"),
    [
        ("[a bank](../GLOSSARY.md#bank)", 0),
        ("[n-way](../GLOSSARY.md#n-way), [wavefronts](../GLOSSARY.md#extra-wavefronts)", 0),
        ("[all words](../GLOSSARY.md)", 0),
        ("[a bank](../GLOSSARY.md#banks)", 1),
        ("[a bank](GLOSSARY.md#bank)", 1),
        ("[a bank](../../GLOSSARY.md#bunk)", 2),
        ("[another file](../README.md#bunk)", 0),
    ],
)
def test_links_of_chapters(link, problems):
    """A link leads one folder up, to a word that exists. The rule runs on every chapter."""
    found = [one for one in style_problems(linking(link)) if "glossary" in one]
    assert len(found) == problems


def test_links_of_exercises():
    """What exercises say names words that exist; the glossary lies beside a learner's chapter."""
    known = {word.replace(" ", "-") for word in words_in_order()}
    texts = [hint for one in exercises() for hint in one.hints]
    texts += [*PLAIN.values(), "[a bank](GLOSSARY.md#bank)"]
    linked = [anchor for text in texts for anchor in LINK.findall(text)]
    assert [anchor for _, anchor in linked if anchor and anchor[1:] not in known] == []
    assert linked


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_bold_words_are_explained(path):
    """Each bold word is a term, in the singular or with an s."""
    known = terms()
    book = nbformat.read(path, as_version=4)
    words = {word if word in known else word.lower() for word in bold(book)}
    assert words or is_checkpoint(book)
    assert sorted(word for word in words if not {word, word.removesuffix("s")} & known) == []
