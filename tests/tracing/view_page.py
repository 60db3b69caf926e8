"""A trace view read back: tables with their rows, and what a page may take away."""

import re
from html import unescape
from html.parser import HTMLParser

NO_BREAK = "\u00a0"


class Page(HTMLParser):
    """Tags that must match, tables as lists of rows of cells, and all of the text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes = [], set(), []
        self.tables, self.captions, self.words = [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag == "br":
            self.words.append(" ")
            return
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
            self.captions.append("")
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)
        if "caption" in self.open:
            self.captions[-1] += data
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data

    @property
    def text(self):
        return " ".join("".join(self.words).replace(NO_BREAK, " ").split())

    def rows(self, table=0):
        """The rows of a table by the number in front, those without one under the row above."""
        found, last = {}, None
        for row in self.tables[table][1:]:
            cells = [cell.replace(NO_BREAK, " ") for cell in row]
            if cells[0]:
                last = int(cells[0])
                found[last] = [cell for cell in cells[1:] if cell]
            else:
                found[last] += [cell for cell in cells if cell]
        return found

    def sources(self, table=0):
        """The text of each line by its number; folded lines too."""
        found = {}
        for row in self.tables[table][1:]:
            cells = [cell.replace(NO_BREAK, " ") for cell in row if cell]
            if row[0]:
                found[int(row[0])] = cells[1].rstrip() if len(cells) > 1 else ""
            elif cells and cells[0].startswith("lines "):
                for line in re.sub(r"^lines (\d+) to \d+?(?= *\1  )", "", cells[0]).split("\n"):
                    number, _, text = line.lstrip().partition("  ")
                    found[int(number)] = text.rstrip()
        return found


def bare(page):
    """The page as a site leaves it that allows no style, class, id or aria attribute."""
    return re.sub(r' (style|class|id|aria-[a-z]+)="[^"]*"', "", page)


def plain(page):
    """The text of a page."""
    return unescape(re.sub(r"<[^>]*>", "", page))
