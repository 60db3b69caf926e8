"""What stands around a drawing."""

from smemnb.figures.legend import heading


class Written:
    """A sheet that keeps what is written."""

    width = 620

    def __init__(self):
        self.said = []

    def write(self, x, y, words, **how):
        self.said.append(words)


def test_a_long_title_keeps_its_place():
    """Of an access that does not fit the end is left out, not the block and the warp."""
    sheet, place = Written(), ": block (1, 0, 0), warp 3"
    heading(sheet, 52, f"line 11, load inp[{'row + ' * 20}1]{place}")
    (said,) = sheet.said
    assert said.startswith("line 11, load inp[row") and said.endswith(f"...{place}")


def test_other_titles():
    """A title that fits, and one without a place."""
    sheet = Written()
    for title in ("line 3, load a[i]: block 0, warp 1", "word " * 40):
        heading(sheet, 52, title)
    first, second = sheet.said
    assert first == "line 3, load a[i]: block 0, warp 1"
    assert second.startswith("word word") and second.endswith("...")
