"""The view of a trace: sources with their numbers, bars, notes, folds, and what a page keeps."""

import linecache
import re
import time
from dataclasses import replace

import numpy as np
import pytest
from numba import cuda, float32, int32

from smemnb.exercises.source import show_source
from smemnb.kernels.matmul.rungs.matmul_tiled import matmul_tiled
from smemnb.kernels.transpose.rungs.transpose_tiled import transpose_tiled
from smemnb.tracing import Trace, trace
from smemnb.tracing.as_compiled import AsCompiled, MachineRow
from smemnb.tracing.model import GlobalTotals, SharedTotals, WorstRequest
from smemnb.tracing.report.view import colours
from smemnb.tracing.report.view.bars import LONGEST, bar
from smemnb.tracing.report.view.blocks import AROUND, SHORT, Block
from smemnb.tracing.report.view.code import coloured
from smemnb.tracing.report.view.counts import Bar, LineCounts, Memory, global_words, shared_words
from smemnb.tracing.report.view.links import MOST, links
from smemnb.tracing.report.view.page import page
from smemnb.tracing.report.view.table import table
from tests.tracing.records import (
    BARRIER,
    COUNTS,
    FILE,
    FIRST,
    INP,
    INP_LOAD,
    LOAD,
    STORE,
    TILE,
    on_global,
    on_shared,
    race,
    seen,
    site,
    turned,
)
from tests.tracing.view_page import Page, bare, plain

# what JupyterLab keeps of an untrusted output and GitHub of a notebook
KEPT = {
    *("div", "p", "strong", "b", "i", "table", "caption", "thead", "tbody", "tr", "th", "td"),
    *("code", "pre", "ul", "li", "br", "span", "details", "summary"),
}


def viewed(report):
    return Page(report._repr_html_())


def counts(cells):
    """The first number of each cell."""
    return [int(cell.split()[0].replace(",", "")) for cell in cells]


@cuda.jit(device=True)
def picked(tile, row, col):
    return tile[col, row]


@cuda.jit
def through_a_function(out, inp):
    """out = inp.T of one tile."""
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = inp[ty, tx]
    cuda.syncthreads()
    out[ty, tx] = picked(tile, ty, tx)


@cuda.jit
def twice(out, inp):
    """Two races that cross."""
    tile = cuda.shared.array(64, int32)
    other = cuda.shared.array(64, int32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    other[tx] = inp[tx]
    out[tx] = tile[63 - tx]
    out[64 + tx] = other[63 - tx]


def square(kernel, size=64, inputs=1, threads=32):
    out = np.zeros((size, size), np.float32)
    given = np.arange(size * size, dtype=np.float32).reshape(size, size)
    blocks = size // threads
    return trace(kernel)[(blocks, blocks), (threads, threads)](out, *[given] * inputs)


@pytest.fixture(scope="module")
def tiled():
    return square(transpose_tiled)


@pytest.fixture(scope="module")
def racing():
    return trace(twice)[1, 64](np.zeros(128, np.int32), np.arange(64, dtype=np.int32))


def test_numbers_beside_their_lines():
    """Each line has its counts in text: wavefronts, then sectors; a line without any has none."""
    rows = viewed(turned()).rows()
    # 64 stores of 1 wavefront, 64 loads of 4 sectors; then 64 stores, and 64 loads 32-way
    assert counts(rows[STORE][1:]) == [64, 256]
    assert counts(rows[LOAD][1:3]) == [2048, 256]
    assert rows[BARRIER] == ["    cuda.syncthreads()"]
    assert {STORE, LOAD, BARRIER} < set(rows) == set(range(FIRST, LOAD + 1))


def test_totals():
    """The totals of both memories, with multicast."""
    text = viewed(turned()).text
    for number in ("128 requests", "2,112 wavefronts", "1,984 extra", "512 sectors", "32-way"):
        assert number in text
    assert "0 requests with multicast" in text and "broadcast" not in text


def test_extra_stands_at_its_line():
    """Below a line with extra wavefronts stands how many; below others nothing."""
    rows = viewed(turned()).rows()
    assert [re.findall(r"\d[\d,]*", said) for said in rows[LOAD][3:]] == [["32", "1,984", "2,048"]]
    assert rows[STORE][3:] == []


def test_extra_sectors_stand_at_their_line():
    """The same of sectors."""
    rows = viewed(turned(counts=(on_global(INP_LOAD, INP, sectors=2048, ideal=256),))).rows()
    assert [re.findall(r"\d[\d,.]*", said) for said in rows[STORE][2:]] == [
        ["32.0", "1,792", "2,048"]
    ]
    assert rows[STORE][1].split() == ["2,048", "█▓▓▓▓▓▓▓"]


def test_details_of_each_access():
    """Folded below a line: its accesses with all counts, and the banks of the worst request."""
    html = turned()._repr_html_()
    folds = [plain(fold) for fold in re.findall(r"<details>.*?</details>", html)]
    assert len(folds) == 2
    for number in ("64 requests", "2,048 wavefronts", "n-way 32", "2,048 lanes of 4 bytes"):
        assert number in folds[1]
    assert "32 in bank 0" in folds[1] and "warp 3" in folds[1]
    assert "bank" not in folds[0]


def test_numbers_have_the_names_of_the_columns(tiled):
    """What the text report has in its columns, a line has under the same names when opened."""
    for view in (turned(), tiled):
        found = Page(view._repr_html_())
        for name in ("requests", "wavefronts", "n-way", "extra", "sectors", "each"):
            assert name in repr(view) and name in found.text
        folds = [plain(fold) for fold in re.findall(r"<details>.*?</details>", view._repr_html_())]
        shared = [fold for fold in folds if "wavefront" in fold]
        assert shared and all("n-way" in fold and "extra" in fold for fold in shared)


@pytest.mark.parametrize(
    ("number", "plural"), [(1, ""), (2, "s")], ids=["one request", "two requests"]
)
def test_one_is_no_plural(number, plural):
    shared = SharedTotals(number, number, number, number, 0, 1, number)
    said = shared_words(shared)
    assert f"{number} request{plural}, {number} wavefront{plural}," in said
    assert f"{number} request{plural} with" in said
    global_ = GlobalTotals(number, number, number, number)
    assert f"{number} request{plural}, {number} sector{plural}," in global_words(global_)


def test_line_numbers_are_those_of_show_source(tiled):
    """The view numbers a kernel's lines as `show_source` and the text report do."""
    shown = viewed(tiled).sources()
    listed = dict(re.findall(r"(?m)^ *(\d+)  (.*)$", repr(show_source(transpose_tiled))))
    assert len(shown) == 17
    for number, text in shown.items():
        assert text.startswith(listed.get(str(number), "").rstrip()), number
    for row in tiled.lines:
        assert shown[row.line].strip().startswith(row.source)
        assert f"  {row.line}  " in repr(tiled)


def test_a_finding_stands_at_its_line():
    """Once, whole, at its first line; the other end names the line, the threads and the element."""
    report = turned([race()])
    (found,) = report.findings
    page = viewed(report)
    rows = page.rows()
    (at_first,) = rows[STORE][3:]
    assert found.cause in at_first and found.cure in at_first and "992 elements" in at_first
    *_, at_other = rows[LOAD]
    assert page.text.count(found.cause) == 1
    assert f"line {STORE}" in at_other and "tile[1, 3]" in at_other
    assert "(3, 1) and (1, 3)" in at_other
    assert f"lines {STORE} and {LOAD}" in page.text  # among the findings on top


@pytest.mark.parametrize("kind", ["stale", "unused_waiver"])
def test_a_finding_elsewhere(kind):
    """A finding at a line that no source has stands below."""
    where = site(FIRST - 9, "# a comment", "comment")
    record = seen(kind, where, detail={"kinds": "race", "near": ""})
    report = turned([record])
    page = viewed(report)
    assert page.text.count(" ".join(report.findings[0].cure.split())) == 1
    assert "li" in page.tags


def test_every_finding_is_there_once():
    """Each in its own words, also where several belong to one line."""
    report = turned([race(), race("race_in_warp", index=(0, 1)), seen("stale")])
    text = viewed(report).text
    assert len(report.findings) == 3
    for found in report.findings:
        assert text.count(f"{found.severity}: {' '.join(found.cause.split())}") == 1


def test_links_are_drawn_beside(racing):
    """Two races that cross have strokes in two columns; their rows have as many cells."""
    text = racing.texts["twice"].own
    found = links(racing.findings, Block("twice", "", text, whole=True))
    first = next(line for line, source in text.items() if source.strip() == "tile[tx] = inp[tx]")
    assert [(one.first, one.last, one.column) for one in found] == [
        (first, first + 2, 0),
        (first + 1, first + 3, 1),
    ]
    (one, _) = found
    assert one.stroke(first - 1, first - 1) == one.stroke(first + 2.5, first + 2.5) == ""
    drawn = [one.stroke(line, line) for line in (first, first + 0.5, first + 2)]
    sides = [re.findall(r"border-(\w+)", stroke) for stroke in drawn]
    assert sides == [["left", "top"], ["left"], ["left", "bottom"]]
    page = racing._repr_html_()
    assert page.count("border-top:2px") == page.count("border-bottom:2px") == 2


def test_links_that_do_not_fit():
    """More crossing findings than columns are left undrawn; several of one pair are one link."""
    report = turned([race()])
    (found,) = report.findings
    lines = dict.fromkeys(range(1, 30), "")
    block = Block(found.function, "", lines, whole=True)
    crossing = [replace(found, line=n, other_line=n + 10) for n in range(1, 8)]
    assert [one.column for one in links([*crossing, *crossing], block)] == list(range(MOST))
    assert links([replace(found, line=3, other_line=40)], block) == []
    assert links([replace(found, line=3, other_line=None)], block) == []


def test_a_device_function_has_a_block_of_its_own():
    """Kernel first, each with the name of its file; the lines of both are there."""
    out, inp = np.zeros((32, 32), np.float32), np.ones((32, 32), np.float32)
    report = trace(through_a_function)[1, (32, 32)](out, inp)
    page = viewed(report)
    assert [caption.split() for caption in page.captions] == [
        ["through_a_function", "in", "test_report_view.py"],
        ["picked", "in", "test_report_view.py"],
    ]
    (row,) = [row for row in report.lines if row.function == "picked"]
    assert counts(page.rows(1)[row.line][1:2]) == [row.wavefronts] == [1024]
    assert row.line not in page.rows(0)


def test_functions_of_two_files():
    """Two functions of one name from two cells: each has its block."""
    texts = ["def helper(a, i):\n    return a[i]\n", "\n\ndef helper(a, i):\n    return a[i] + 1\n"]
    sites = []
    for number, text in enumerate(texts):
        file = f"/tmp/ipykernel_1/{number}.py"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        line = text.split("\n").index("def helper(a, i):") + 2
        sites.append(site(line, "a[i]", "load", function="helper", file=file))
    report = turned(counts=(*COUNTS, *(on_shared(one, TILE) for one in sites)))
    page = viewed(report)
    assert page.captions[1:] == ["helper", "helper (2)"]
    assert page.sources(1) == {1: "def helper(a, i):", 2: page.sources(1)[2]}
    assert list(page.sources(2)) == [3, 4] and "a[i] + 1" in page.sources(2)[4]
    assert "ipykernel" not in report._repr_html_()


def test_a_cell_of_a_notebook():
    """The source is that of the cell, numbered as in the cell; a later cell does not change it."""
    file = "/tmp/ipykernel_77/1234.py"
    text = "# a cell\n@cuda.jit\ndef copy(out, inp):\n    i = cuda.grid(1)\n    out[i] = inp[i]\n"
    names = {"cuda": cuda}
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    report = trace(names["copy"])[1, 32](np.zeros(32), np.ones(32))
    linecache.cache[file] = (1, None, ["another = 1\n"], file)
    page = viewed(report)
    assert page.sources() == {
        2: "@cuda.jit",
        3: "def copy(out, inp):",
        4: "    i = cuda.grid(1)",
        5: page.sources()[5],
    }
    assert page.sources()[5].startswith("    out[i] = inp[i]")
    assert page.captions == ["copy"]
    assert "1234" not in report._repr_html_()


def test_a_trace_without_its_source():
    """A trace from JSON has the lines that it names, with the same counts."""
    report = turned([race()])
    again = Trace.from_json(report.to_json())
    rows = viewed(again).rows()
    assert list(rows) == [STORE, LOAD]
    assert counts(rows[STORE][1:3]) == [64, 256] and counts(rows[LOAD][1:3]) == [2048, 256]
    assert again._repr_html_().count(report.findings[0].cure) == 1


def test_a_kernel_typed_in():
    """The text of a kernel that no file has, as it was handed to `exec`."""
    text = "@cuda.jit\ndef typed(out, inp):\n    i = cuda.grid(1)\n    out[i] = inp[i]\n"
    names = {"cuda": cuda}
    exec(text, names)
    page = viewed(trace(names["typed"])[1, 32](np.zeros(32), np.ones(32)))
    assert page.captions == ["typed"]
    assert counts(page.rows()[4][1:2]) == [16]
    assert page.sources()[3] == "    i = cuda.grid(1)"


def test_a_call_of_a_function_with_counts_is_not_folded():
    """In a long kernel, the line that calls a device function stays in sight."""
    text = long_block(90).lines
    text[50] = "    picked(tile, 0, 0)"
    moved = LineCounts({"shared": Bar(64, 0)}, "")
    rows = {("picked", 3): moved, ("kernel", 20): moved}
    html = table(Block("kernel", "", text, whole=True), rows, {}, (), [Memory("shared", 64)])
    assert {20, 50} <= set(Page(html).rows()) and 60 not in Page(html).rows()


def test_lines_that_are_not_in_the_source():
    """Where the counted lines are not those of the function found, the trace's own are shown."""
    away = site(FIRST - 6, "tile[ty, tx]", "store")
    rows = viewed(turned(counts=(*COUNTS, on_shared(away, TILE)))).rows()
    assert list(rows) == [FIRST - 6, STORE, LOAD]


def test_nothing_touched():
    """A launch that touches no memory says so once, and shows its source without numbers."""
    page = viewed(turned(counts=()))
    assert page.text.count("was touched") == 1
    assert page.tables[0][0] == ["line", "source"]
    assert len(page.sources()) == 6


def test_not_counted_and_not_checked():
    """Watchers that were left out: no counts, and findings said to be unchecked."""
    text = viewed(turned(None, counts=None)).text
    assert "not checked" in text and "requests" not in text and "was touched" not in text


def test_one_memory():
    """The column of a memory that is not touched is left out."""
    heads = [viewed(turned(counts=some)).tables[0][0] for some in (COUNTS[1:3], COUNTS[::3])]
    assert heads == [["line", "source", "wavefronts"], ["line", "source", "sectors"]]


def test_a_retry_loop():
    """An atomic without a fixed count shows none and says why."""
    call = site(STORE, "cuda.atomic.add(tile, (ty, tx), v)", "atomic_retry")
    report = turned(counts=(replace(on_shared(call, TILE), wavefronts=0, ideal=0, ways=0),))
    page = viewed(report)
    assert page.rows()[STORE][1].split() == ["?"]
    assert "retry loop" in page.text


def test_waivers_stand_at_their_line():
    """A waived finding with its reason at its line, escaped; the other end says so, too."""
    report = turned([race()]).waive({"race": "1 < 2 & so on"})
    html = report._repr_html_()
    rows = Page(html).rows()
    assert "1 < 2 & so on" in rows[STORE][-1] and rows[STORE][-1].startswith("waived")
    assert "waived" in rows[LOAD][-1] and f"line {STORE}" in rows[LOAD][-1]
    assert "1 &lt; 2 &amp; so on" in html


def test_escapes():
    """Source code, names, findings and limits are text, not markup."""
    sharp = site(STORE, "tile[a<b>c, '<script>']", "load")
    worst = WorstRequest((0,) * 32, (True,) * 32, (0, 0, 0), 0)
    rows = (on_shared(sharp, replace_name(TILE, "<i>t"), 2, worst=worst),)
    report = replace(turned([race()], counts=rows), limits=("a <b>limit</b>",))
    report = replace(report, texts={})
    html = report._repr_html_()
    assert "tile[a&lt;b&gt;c, &#x27;&lt;script&gt;&#x27;]" in html and "&lt;i&gt;t" in html
    assert coloured(["if a<b>c: '<i>'  # <u>"])[0].count("<") == 6  # three elements of its own
    assert "not examined: a <b>limit</b>" in Page(html).text
    assert "<script" not in html and "<b>limit" not in html and "<i>t" not in html
    Page(html)


def replace_name(array, name):
    return type(array)(**{**vars(array), "name": name})


def test_only_what_pages_keep(tiled, racing):
    """No script, style sheet, picture, link or id; nothing is loaded."""
    for report in (tiled, racing, turned([race(), seen("stale")]).waive({"race": "a test"})):
        html = report._repr_html_()
        found = Page(html)
        assert found.tags <= KEPT
        assert {name for name, _ in found.attributes} <= {
            *("style", "class", "scope", "colspan", "aria-hidden")
        }
        assert "http" not in html and "url(" not in html and "var(" not in html


def test_nothing_is_lost_without_styles(racing):
    """A page without styles, classes and aria has the same text, bars and numbers too."""
    html = turned([race()])._repr_html_()
    assert plain(bare(html)) == plain(html)
    assert "style" not in bare(html)
    drawn = re.findall("[█▓]+", plain(bare(html)))
    assert "█" + "▓" * (LONGEST - 1) in drawn


def test_an_indent_stays_without_styles():
    """The indent of a line is of characters that a page does not join; a tab is no less."""
    assert coloured(["if x:", "  y", "\tz = '''", "  a", "'''"])[1:4] == [
        "\u00a0\u00a0y",
        "\u00a0" * 8 + 'z = <span class="s">&#x27;&#x27;&#x27;</span>',
        '<span class="s">\u00a0\u00a0a</span>',
    ]


def test_no_path_of_the_machine(tiled):
    """No folder of the sources, and twice the same text."""
    html = tiled._repr_html_()
    assert "/" not in re.sub(r"</\w+>|//", "", plain(html))
    assert FILE not in turned()._repr_html_()
    assert square(transpose_tiled)._repr_html_() == html


def instruction(line, space, **counts):
    given = {"requests": 64, "idle": 0, "lanes": 2048, "inner": "", "address": 0x40, "width": 4}
    kind, name = ("load", "LDS") if space == "shared" else ("store", "STG.E")
    record = {"line": line, "source": "as the compiler has it", "instruction": name, "kind": kind}
    return MachineRow(space=space, **{**record, **given, **counts})


MACHINE = (
    instruction(0, "local", sectors=32, ideal_sectors=32, spill=True),
    instruction(STORE, "global", sectors=2048, ideal_sectors=256, inner="<b>.py:3"),
    instruction(LOAD, "shared", wavefronts=2048, ideal=64, ways=32),
)


def test_as_compiled():
    """Machine code beside the source that was traced: bars, and below a line what it became."""
    source = turned()
    view = AsCompiled(source.launch, (9, 0), MACHINE, ("line 4: <why>",), source, registers=20)
    html = view._repr_html_()
    found = Page(html)
    rows = found.rows()
    assert list(rows) == list(range(FIRST, LOAD + 1))
    assert counts(rows[STORE][1:2]) == counts(rows[LOAD][1:2]) == [2048]
    assert "2,048 sectors" in rows[STORE][-1] and "32 wavefronts, 64 times" in rows[LOAD][-1]
    for said in ("spilled", "cc 9.0", "20 registers", "<why>", "from <b>.py:3", "n-way 32"):
        assert said in found.text
    assert found.tags <= KEPT and "<b>.py" not in html
    again = AsCompiled(source.launch, (9, 0), MACHINE)
    assert list(Page(again._repr_html_()).rows()) == [STORE, LOAD]


def test_as_compiled_of_nothing():
    """Without a row there is no table; a count that is not determined is no number."""
    launch = turned().launch
    assert Page(AsCompiled(launch, (9, 0), ())._repr_html_()).tables == []
    unknown = AsCompiled(launch, (9, 0), (replace(MACHINE[2], unknown="a reason"),))
    page = Page(unknown._repr_html_())
    assert page.rows()[LOAD][1].split() == ["?"]
    assert "not determined" in page.text and "a reason" in page.text


def test_bars():
    """As long as their share of the largest; a part that is there is seen."""
    assert [len(bar(count, 0, 800)) for count in (0, 1, 400, 800)] == [0, 1, 4, 8]
    assert bar(800, 1, 800) == "█" * 7 + "▓"
    assert bar(800, 799, 800) == "█" + "▓" * 7
    assert bar(1, 0, 10**9) == "█" and bar(2, 1, 10**9) == "█▓"
    assert bar(5, 5, 5) == "▓" * 8


def light(colour):
    """Relative luminance of WCAG 2, of "#rrggbb"."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    dark, bright = sorted((light(one), light(other)))
    return (bright + 0.05) / (dark + 0.05)


def test_contrast_of_text():
    """Text of our own page has at least 4.5 on its ground; a view sets no colour of text."""
    for scheme, inks in colours.INKS.items():
        for name, ink in inks.items():
            assert contrast(ink, colours.GROUNDS[scheme]) >= 4.5, (scheme, name)
    html = turned([race()])._repr_html_()
    for style, inside in re.findall(r'style="color:(#\w+)">([^<]*)', html):
        assert style in (colours.FEWEST, colours.EXTRA) and set(inside) <= {"█", "▓"}


def test_contrast_of_bars_and_edges():
    """Graphics, which WCAG wants at 3, come near the 4.34 that is possible on both grounds."""
    best = contrast("#ffffff", "#111111") ** 0.5
    assert 4.3 < best < 4.5
    for colour in {colours.FEWEST, colours.EXTRA, *colours.SEVERITY.values()}:
        for ground in colours.GROUNDS.values():
            assert contrast(colour, ground) >= 0.99 * best, (colour, ground)


def long_block(lines):
    text = {number: f"    x{number} = {number}" for number in range(1, lines + 1)}
    text[1] = "def kernel(out):"
    return Block("kernel", "", text, whole=True)


def test_a_short_source_is_shown_whole():
    """Up to a number of lines."""
    assert list(long_block(SHORT).stretches([5])) == [(list(range(1, SHORT + 1)), False)]


def test_a_long_source_is_folded():
    """Shown are lines that matter with some around them, barriers and heads; the rest is folded."""
    block = long_block(100)
    block.lines[60] = "    cuda.syncthreads()"
    block.lines[80] = "    # no cuda.syncthreads() is needed"
    shown = list(block.stretches([30, 36]))
    assert [number for numbers, _ in shown for number in numbers] == list(range(1, 101))
    assert [(numbers[0], numbers[-1]) for numbers, folded in shown if not folded] == [
        (1, 1),
        (30 - AROUND, 36 + AROUND),  # the gap of a line between them is no fold
        (60, 60),
    ]


def test_a_long_kernel():
    """All lines of a long kernel are there once; none that touches memory is folded."""
    steps = "".join(f"    x{n} = i + {n}\n" for n in range(80))
    text = f"def long_one(out, inp):\n    i = cuda.grid(1)\n    a = inp[i]\n{steps}    out[i] = a\n"
    names = {"cuda": cuda}
    exec(text, names)
    report = trace(names["long_one"])[1, 32](np.zeros(32), np.ones(32))
    html = report._repr_html_()
    folded = "\n".join(re.findall(r"<pre.*?</pre>", html, flags=re.DOTALL))
    assert viewed(report).sources().keys() == set(range(1, 85))
    numbers = [int(number) for number in re.findall(r"(?m)(?:^|>) *(\d+)  ", folded)]
    assert numbers == list(range(3 + AROUND + 1, 84 - AROUND))
    assert f"lines {numbers[0]} to {numbers[-1]}" in plain(html)


def test_size():
    """A view of a kernel of about 40 lines stays below 40,000 characters."""
    report = square(matmul_tiled, inputs=2, threads=16)
    html = report._repr_html_()
    assert len(report.texts["matmul_tiled"].own) >= 26
    assert len(html.encode()) < 1000 * len(report.texts["matmul_tiled"].own) < 40_000


@pytest.mark.slow
def test_time():
    """A trace of a 32x32 block with its view takes less than 50 ms, the view a part of it."""
    out, inp = np.zeros((32, 32), np.float32), np.ones((32, 32), np.float32)
    taken = []
    for _ in range(20):
        before = time.perf_counter()
        trace(transpose_tiled)[1, (32, 32)](out, inp)._repr_html_()
        taken.append(time.perf_counter() - before)
    assert min(taken) < 0.050


def test_page_of_several_launches(tiled, racing):
    """A page has every view, loads nothing, and its title is text."""
    whole = tiled.page("a <b> title", more=[racing])
    assert whole == page("a <b> title", f"{tiled._repr_html_()}\n{racing._repr_html_()}")
    assert "<title>a &lt;b&gt; title</title>" in whole
    assert "<title>Trace of transpose_tiled</title>" in tiled.page()
    assert whole.count("<table") == 2 and "http" not in whole
    assert {"transpose_tiled", "twice"} <= set(re.findall(r"\w+", plain(whole)))
