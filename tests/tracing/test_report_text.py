"""How the text of a report is cut into lines."""

from smemnb.tracing.report.text import WIDTH, _wrapped


def test_words_with_hyphens_stay_whole():
    """ "32-way" and "as-compiled" are looked for by readers and tools, so no line ends in them."""
    words = "a 32-way conflict of the as-compiled view on cc-9.0 hardware, line-by-line " * 8
    lines = _wrapped(words, "", "  ", WIDTH)
    assert len(lines) > 4 and all(len(line) <= WIDTH for line in lines)
    assert " ".join(" ".join(lines).split()) == words.strip()
