from smemnb.exercises.grading.verdict import Part, Verdict
from smemnb.session import PRINTED_COLUMNS

GOOD = Part("output", "right answer in 2 of 2 launches", ok=True)
BAD = Part("wavefronts", "line 9 is 32-way, 992 extra wavefronts\n9 | x = y", ok=False)


def test_bool():
    """True if every part holds; a verdict without parts holds nothing."""
    assert Verdict("ex02_column", (GOOD,))
    assert not Verdict("ex02_column", (GOOD, BAD))
    assert not Verdict("ex02_column", ())


def test_reason():
    """The first part that does not hold."""
    assert Verdict("ex02_column", (GOOD, BAD)).reason == "wavefronts"
    assert Verdict("ex02_column", (GOOD,)).reason == ""


def test_text():
    """One line per part, the source line under its part, hint and note at the end."""
    assert repr(Verdict("ex02_column", (GOOD, BAD), "Pad the rows.", "not recorded")) == (
        "ex02_column: not yet\n"
        "output      right answer in 2 of 2 launches\n"
        "wavefronts  line 9 is 32-way, 992 extra wavefronts\n"
        "            9 | x = y\n"
        "hint        Pad the rows.\n"
        "note        not recorded"
    )


def test_long_lines():
    """Sentences are wrapped under their part, source lines are not."""
    source = "14 | " + "a + " * 40 + "b"
    text = repr(Verdict("ex02_column", (Part("findings", f"{'word ' * 40}\n{source}", ok=False),)))
    _, first, second, third, fourth, last = text.split("\n")
    assert max(map(len, (first, second, third, fourth))) <= PRINTED_COLUMNS
    assert " ".join((first, second, third, fourth)).split() == ["findings", *["word"] * 40]
    assert last == " " * 12 + source
