"""The figures that texts give of speed and agreement are the shipped ones, rounded as printed.

A figure is looked for in the paragraph that has its words, wherever it stands there, or behind its
label: a paragraph may be worded anew, and a figure that is no longer true fails.
"""

import re
from functools import cache

from smemnb.laboratory.corpus import CASES
from smemnb.measure.results import shipped
from smemnb.measure.results.present import of_now
from smemnb.measure.verify import recording
from smemnb.measure.verify.compare import compared
from smemnb.measure.verify.ncu.counters import COUNTS
from tests.house.notebook_form import ROOT

TUNING = "smemnb/kernels/TUNING.md"
BESIDE = {"transpose": "copy_wide", "matmul": "cublas (torch)"}
FIGURE = r"(\d+(?:\.\d+)?)"


@cache
def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def paragraph(name, *words):
    """The one paragraph, or item of a list, of a text in which all these words stand."""
    blocks = re.split(r"\n\s*\n|\n(?=- )", text_of(name))
    found = [" ".join(block.split()) for block in blocks]
    found = [block for block in found if all(word in block for word in words)]
    assert len(found) == 1, f"{name} has {len(found)} paragraphs with {words}"
    return found[0]


def printed(value, like):
    """The value as text, with the decimals of a figure."""
    return f"{value:.{len(like.partition('.')[2])}f}"


def assert_said(block, *values):
    """A paragraph says each of these values: an int as it is, another one as it rounds it."""
    said = re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", block)
    plain = [one.replace(",", "") for one in said]
    for value in values:
        alike = [one for one in plain if isinstance(value, int) or "." in one]
        assert any(printed(value, one) == one for one in alike), f"{value:.4g} is not in: {block}"


def assert_behind(block, label, *values):
    """Behind the label come these values, one after the other."""
    more = r"\D{1,6}".join([FIGURE] * len(values))
    found = re.findall(rf"(?<![\w.]){re.escape(label)}\D{{1,30}}{more}", block)
    assert len(found) == 1, f"{label!r} stands {len(found)} times in: {block}"
    figures = found[0] if isinstance(found[0], tuple) else (found[0],)
    assert list(figures) == [printed(*pair) for pair in zip(values, figures, strict=True)]


def rows(operation, *shape, itemsize=4, spare=0):
    """The rows of a shape that were timed, by name; of rungs, those that there are now."""
    wanted = operation, shape, itemsize, spare
    return {row.name: row for row in of_now(shipped()).rows if row.case == wanted and row.ms}


def ratio(operation, *shape, **more):
    """The speed of the choice at a shape, of the copy or of cuBLAS."""
    chosen = rows(operation, *shape, **more)["fastest"]
    assert chosen.beside == BESIDE[operation]
    return chosen.ratio


def test_speed_in_readme():
    """Of the copy, of torch's transpose, of cuBLAS at both sizes."""
    block = paragraph("README.md", "smemnb.transpose(x)", "cuBLAS", "H200")
    large = rows("transpose", 16384, 16384)
    of_torch = large["torch"].ms / large["fastest"].ms
    products = [ratio("matmul", size, size, size) for size in (4096, 8192)]
    assert_said(block, ratio("transpose", 16384, 16384), of_torch, *products)


def test_agreement():
    """Launches and counts that are compared; every count equals the as-compiled view."""
    found = recording.load()
    assert found.origin["gpu"] == "NVIDIA H200"
    nothing = dict.fromkeys(COUNTS, 0)  # of the source view, which is not asked here
    made = [
        compared(case, found.cases[case.name], nothing)
        for case in CASES
        if case.name in found.cases
    ]
    launches, counts = len(made), sum(len(one.rows) for one in made)
    assert [one.name for one in made if one.compiled_differs] == []
    readme = paragraph("README.md", "smemnb verify", "Nsight Compute", "counters")
    changes = paragraph("CHANGELOG.md", "smemnb verify", "Nsight Compute", "counters")
    for block in (readme, changes):
        assert_said(block, launches, counts)


def test_host_times_in_changelog():
    """The least and the most that an operation adds to a launch."""
    added = [one.beyond_us for one in shipped().overheads]
    block = paragraph("CHANGELOG.md", "microseconds", "bare launch")
    assert_said(block, round(min(added)), round(max(added)))


def test_ranges_in_changelog():
    """Transposes from that of odd rows to the best; products from the worst to the best."""
    best = {name: [] for name in BESIDE}
    for row in shipped().rows:
        if row.role == "choice":
            best[row.operation].append(row.ratio)
    block = paragraph("CHANGELOG.md", "of a copy", "of cuBLAS")
    odd = ratio("transpose", 16383, 16381)
    products = best["matmul"]
    assert_said(block, odd, max(best["transpose"]), min(products), max(products))


def test_where_tuning_was_read():
    """GPU, driver, versions."""
    found = shipped()
    gpu, torch = found.gpu, found.libraries["torch"].partition("+")[0]
    block = paragraph(TUNING, gpu.name, "driver", "numba-cuda", "torch")
    for said in (
        f"cc {gpu.cc}",
        f"{gpu.multiprocessors} multiprocessors",
        f"{found.clocks[0].sm_mhz:.0f} MHz",
        f"driver {found.driver}",
        f"numba {found.versions['numba']}",
        f"numba-cuda {found.versions['numba-cuda']}",
        f"torch {torch}",
    ):
        assert said in block


def assert_table(operation, shape, choice=()):
    """Rate and ratio of the rungs of a table, in the order of the ladder.

    Every rung that was measured has a line; a line may say `not measured`, of a rung that has
    changed since.
    """
    head = {
        "transpose": "| rung | GB/s | of the copy |",
        "matmul": "| rung | TFLOP/s | of cuBLAS |",
    }
    text = text_of(TUNING)
    (table, *_) = text[text.index(head[operation]) :].split("\n\n")
    names = re.findall(rf"^\| `({operation}_\w+)`", table, flags=re.MULTILINE)
    line = rf"^\| `({operation}_\w+)`(?: \(the choice\))? \| {FIGURE} \| {FIGURE} \|"
    said = {name: figures for name, *figures in re.findall(line, table, flags=re.MULTILINE)}
    ran = [row for row in rows(operation, *shape).values() if row.role in ("rung", *choice)]
    kernels = [row.kernel for row in ran]
    assert [name for name in names if name in kernels] == kernels
    assert set(said) <= set(kernels)
    for row in ran:
        assert row.beside == BESIDE[operation]
        if row.kernel in said:
            pairs = zip((row.rate, row.ratio), said[row.kernel], strict=True)
            assert said[row.kernel] == [printed(*pair) for pair in pairs]


def test_transposes_in_tuning():
    """The ladder, the copy in tens of GB/s, other shapes, the kernel for any rows as it is now."""
    assert_table("transpose", (16384, 16384))
    copy = rows("transpose", 16384, 16384)["copy_wide"].rate
    assert_said(paragraph(TUNING, "Bound.", "copy", "GB/s"), round(copy / 10) * 10)
    (shifted,) = re.findall(rf"^\| 32x120, .*\| {FIGURE} \|$", text_of(TUNING), flags=re.MULTILINE)
    assert shifted == printed(ratio("transpose", 16383, 16381), shifted)
    block, square = paragraph(TUNING, "By shape (of the copy)"), ("transpose", 8192, 8192)
    assert_behind(block, "8192 x 8192", ratio(*square))
    assert_behind(block, "4096 x 16384", ratio("transpose", 4096, 16384))
    two = ratio("transpose", 16384, 8192, itemsize=2), ratio(*square, itemsize=2)
    assert_behind(block, "2 bytes", *two)
    for label, size in (("1 byte", 1), ("8 bytes", 8), ("16 bytes", 16)):
        assert_behind(block, label, ratio(*square, itemsize=size))
    assert_behind(block, "rows of 8196 elements", ratio(*square, spare=4))


def test_products_in_tuning():
    """The ladder with the choice, cuBLAS under both libraries, other shapes."""
    assert_table("matmul", (4096, 4096, 4096), choice=("choice",))
    cublas = [row.rate for name, row in rows("matmul", 4096, 4096, 4096).items() if "cub" in name]
    assert_behind(paragraph(TUNING, "cuBLAS (a", "reaches"), "reaches", *cublas)
    block = paragraph(TUNING, "By shape (of cuBLAS)")
    for size in (8192, 2048, 1024):
        assert_behind(block, f"{size} cubed", ratio("matmul", size, size, size))
    assert_behind(block, "4095 x 4097 of depth 4099", ratio("matmul", 4095, 4097, 4099))
    assert_behind(block, "8192 x 1024 of depth 8192", ratio("matmul", 8192, 1024, 8192))
    assert_behind(block, "1024 x 8192 of depth 8192", ratio("matmul", 1024, 8192, 8192))
    assert_behind(block, "rows of 4100 elements", ratio("matmul", 4096, 4096, 4096, spare=4))
