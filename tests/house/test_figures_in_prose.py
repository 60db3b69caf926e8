"""The figures that texts give of speed and agreement are the shipped ones, rounded as printed."""

import re
from functools import cache

from smemnb.measure.results import shipped
from smemnb.measure.results.present import of_now
from smemnb.measure.verify import recording
from smemnb.measure.verify.compare import compared
from smemnb.measure.verify.corpus import CASES
from smemnb.measure.verify.ncu.counters import COUNTS
from tests.house.notebook_form import ROOT

TUNING = "smemnb/kernels/TUNING.md"
BESIDE = {"transpose": "copy_wide", "matmul": "cublas (torch)"}
FIGURE = r"(\d+(?:\.\d+)?)"


@cache
def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def figures(name, sentence):
    """The figures of a sentence, in which F stands for each; line ends are spaces."""
    pattern = re.sub(r"\bF\b", lambda _: FIGURE, re.escape(sentence))
    found = re.findall(pattern, " ".join(text_of(name).split()))
    assert len(found) == 1, f"{name} says {len(found)} times: {sentence}"
    return found[0] if isinstance(found[0], tuple) else tuple(found)


def printed(value, like):
    """The value as text, with the decimals of a figure."""
    return f"{value:.{len(like.partition('.')[2])}f}"


def assert_said(found, *values):
    """Figures one by one are these values."""
    said = [printed(value, like) for value, like in zip(values, found, strict=True)]
    assert list(found) == said


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
    said = figures(
        "README.md",
        "on an H200 a transpose of 16384 x 16384 float32 at F of a copy (F times `torch`'s),"
        " products of 4096 and 8192 cubed at F of cuBLAS",
    )
    large = rows("transpose", 16384, 16384)
    of_torch = large["torch"].ms / large["fastest"].ms
    for size in (4096, 8192):
        product = ratio("matmul", size, size, size)
        assert_said(said, ratio("transpose", 16384, 16384), of_torch, product)


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
    for name, sentence in (
        ("README.md", "compares F launches read with Nsight Compute on an H200 (F,F counters:"),
        (
            "CHANGELOG.md",
            "`smemnb verify`: F launches of the package's kernels and of kernels as tutorials write"
            " them, read with Nsight Compute on an H200: F,F counters, all equal to",
        ),
    ):
        said, thousands, rest = figures(name, sentence)
        assert (int(said), f"{thousands},{rest}") == (launches, f"{counts:,}")


def test_host_times_in_changelog():
    """The least and the most that an operation adds to a launch."""
    said = figures("CHANGELOG.md", "On an H200 a call adds F to F microseconds to the bare launch.")
    added = [one.beyond_us for one in shipped().overheads]
    assert_said(said, min(added), max(added))


def test_ranges_in_changelog():
    """Transposes from that of odd rows to the best; products from the worst to the best."""
    said = figures(
        "CHANGELOG.md",
        "transposes at F (odd rows) to F of a copy, products at F to F of cuBLAS from 1024 cubed",
    )
    best = {name: [] for name in BESIDE}
    for row in shipped().rows:
        if row.role == "choice":
            best[row.operation].append(row.ratio)
    products = best["matmul"]
    odd = ratio("transpose", 16383, 16381)
    assert_said(said, odd, max(best["transpose"]), min(products), max(products))


def test_where_tuning_was_read():
    """GPU, driver, versions."""
    found = shipped()
    gpu, torch = found.gpu, found.libraries["torch"].partition("+")[0]
    (sentence,) = re.findall(r"one NVIDIA .*?torch [\d.]+(?=;)", " ".join(text_of(TUNING).split()))
    assert sentence == (
        f"one {gpu.name} (cc {gpu.cc}, {gpu.multiprocessors} multiprocessors, "
        f"{found.clocks[0].sm_mhz:.0f} MHz, driver {found.driver}), numba "
        f"{found.versions['numba']}, numba-cuda {found.versions['numba-cuda']}, torch {torch}"
    )


def assert_table(operation, shape, choice=()):
    """Rate and ratio of every rung of a table, in the order of the ladder."""
    line = rf"^\| `({operation}_\w+)`(?: \(the choice\))? \| {FIGURE} \| {FIGURE} \|"
    table = re.findall(line, text_of(TUNING), flags=re.MULTILINE)
    ran = [row for row in rows(operation, *shape).values() if row.role in ("rung", *choice)]
    assert [name for name, *_ in table] == [row.kernel for row in ran]
    for (_, *said), row in zip(table, ran, strict=True):
        assert row.beside == BESIDE[operation]
        assert_said(said, row.rate, row.ratio)


def test_transposes_in_tuning():
    """The ladder, the copy in tens of GB/s, other shapes, the kernel for any rows as it is now."""
    assert_table("transpose", (16384, 16384))
    (copy,) = figures(TUNING, "so a device copy is the limit: F GB/s.")
    assert int(copy) == round(rows("transpose", 16384, 16384)["copy_wide"].rate, -1)
    (shifted,) = figures(TUNING, "| 32x120, 512 threads, 4 blocks (32 registers) | F |")
    assert_said([shifted], ratio("transpose", 16383, 16381))
    square = "transpose", 8192, 8192
    said = figures(
        TUNING,
        "By shape (of the copy): 8192 x 8192 F, 4096 x 16384 F; 1 byte F, 2 bytes F to F, 8 bytes"
        " F, 16 bytes F; rows of 8196 elements F.",
    )
    assert_said(
        said,
        ratio(*square),
        ratio("transpose", 4096, 16384),
        ratio(*square, itemsize=1),
        ratio("transpose", 16384, 8192, itemsize=2),
        *(ratio(*square, itemsize=size) for size in (2, 8, 16)),
        ratio(*square, spare=4),
    )


def test_products_in_tuning():
    """The ladder with the choice, cuBLAS under both libraries, other shapes."""
    assert_table("matmul", (4096, 4096, 4096), choice=("choice",))
    cublas = [row.rate for name, row in rows("matmul", 4096, 4096, 4096).items() if "cub" in name]
    assert_said(figures(TUNING, "three stages) reaches F to F."), *cublas)
    said = figures(
        TUNING,
        "By shape (of cuBLAS): 8192 cubed F, 2048 cubed F, 1024 cubed F, 4095 x 4097 of depth 4099"
        " F, 8192 x 1024 of depth 8192 F, 1024 x 8192 of depth 8192 F, rows of 4100 elements F.",
    )
    assert_said(
        said,
        *(ratio("matmul", size, size, size) for size in (8192, 2048, 1024)),
        ratio("matmul", 4095, 4097, 4099),
        ratio("matmul", 8192, 1024, 8192),
        ratio("matmul", 1024, 8192, 8192),
        ratio("matmul", 4096, 4096, 4096, spare=4),
    )
