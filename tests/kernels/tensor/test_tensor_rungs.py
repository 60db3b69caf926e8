"""The ladder of the tensor product: values, counts per request, what each rung changes."""

import ast
import importlib.util
import inspect
from pathlib import Path

import numpy as np
import pytest

from smemnb.kernels.tensor.ladder import LADDER, TF32
from smemnb.tracing import trace
from tests.tiers import exhaustive

RUNGS = {rung.name: rung for rung in (*LADDER, TF32)}
SHAPES = [(70, 56, 40), (1, 8, 8), (130, 136, 104)]


NIGHTLY = {"mma_staged", "mma_tall", "mma_by_rows"}
"""Between two rungs that are tried oftener."""
by_rung = pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=()
            if name == "mma_swizzled"
            else pytest.mark.nightly
            if name in NIGHTLY
            else exhaustive,
        )
        for name in RUNGS
    ],
)


def drawn(shape, seed):
    """Small whole numbers without symmetry: their products are exact in float16."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float16)


def ran(kernel, rung, shape):
    """The result, the right one, and the trace."""
    rows, cols, depth = shape
    dtype = np.float32 if rung is TF32 else np.float16
    a, b = drawn((rows, depth), 1).astype(dtype), drawn((depth, cols), 2).astype(dtype)
    out = np.full((rows, cols), 77, dtype)
    report = trace(kernel)[rung.grid(rows, cols), rung.block](out, a, b)
    return out, a.astype(np.float32) @ b.astype(np.float32), report


def is_serious(finding):
    return finding.severity != "note"


@by_rung
def test_values(name):
    """Equal to the product over ragged and degenerate shapes, and nothing is found wrong."""
    for shape in SHAPES:
        out, right, report = ran(RUNGS[name].kernel, RUNGS[name], shape)
        np.testing.assert_array_equal(out, right)
        assert [str(one) for one in report.findings if is_serious(one)] == []


def each(name):
    """{(call, kind): wavefronts and sectors per request} of one whole tile of depth 64.

    Of copies beyond the end, which put zeros, the 4 wavefronts of a store are left out.
    """
    rung = RUNGS[name]
    *_, report = ran(rung.kernel, rung, (*rung.tile, 64))
    found = {}
    for row in report.lines:
        call = row.text.partition("(")[0]
        before = found.get((call, row.kind), (0, 0, 0))
        now = row.requests, row.wavefronts, row.sectors
        found[call, row.kind] = tuple(map(sum, zip(before, now, strict=True)))
    stored, wavefronts, _ = found["copy16", "store"]
    zeros = stored - found["copy16", "load"][0]
    found["copy16", "store"] = stored - zeros, wavefronts - 4 * zeros, 0
    return {key: (w / n, s / n) for key, (n, w, s) in found.items()}


COPIES = {("copy16", "load"): (0, 16), ("copy16", "store"): (0, 0)}
CLEAN = {("ldmatrix_x4", "load"): (4, 0), ("ldmatrix_x4_trans", "load"): (4, 0)}
BY_PAIRS = {("store4", "store"): (0, 8)}
BY_ROWS = {
    ("store4", "store"): (1, 0),
    ("load16", "load"): (4, 0),
    ("store16", "store"): (0, 16),
}
EACH = {
    "mma_unswizzled": {
        ("ldmatrix_x4", "load"): (16, 0),
        ("ldmatrix_x4_trans", "load"): (32, 0),
        **COPIES,
        **BY_PAIRS,
    },
    "mma_swizzled": {**CLEAN, **COPIES, **BY_PAIRS},
    "mma_staged": {**CLEAN, **COPIES, **BY_PAIRS},
    "mma_one_barrier": {**CLEAN, **COPIES, **BY_PAIRS},
    "mma_tall": {**CLEAN, **COPIES, **BY_PAIRS},
    "mma_overlapped": {**CLEAN, **COPIES, **BY_PAIRS},
    "mma_by_rows": {**CLEAN, **COPIES, **BY_ROWS},
    "mma_banded": {**CLEAN, **COPIES, **BY_ROWS},
    "mma_tf32": {
        ("ldmatrix_x4", "load"): (4, 0),
        ("load1", "load"): (1, 0),
        **COPIES,
        ("store2", "store"): (2, 0),
        ("load16", "load"): (4, 0),
        ("store16", "store"): (0, 16),
    },
}
"""What the comments say: (wavefronts, sectors) per request."""


@by_rung
def test_counts(name):
    """The numbers in the comments are the trace's."""
    assert each(name) == EACH[name]


def changed(name, old, new, tmp_path, count=1):
    """The kernel of a rung with a line of its file changed."""
    text = Path(inspect.getsourcefile(RUNGS[name].kernel.py_func)).read_text("utf-8")
    assert text.count(old) >= 1
    text = text.replace(old, new, count).replace("from ...", "from smemnb.kernels.")
    ast.parse(text)
    file = tmp_path / "changed.py"
    file.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location("changed", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


WRONG = [
    pytest.param(
        "mma_staged",
        "two_groups_pending = groups_awaited(2)",
        "two_groups_pending = groups_awaited(3)",
        {"wrong_group", "store_under_way"},
        id="a group too few awaited",
        marks=exhaustive,
    ),
    pytest.param(
        "mma_one_barrier",
        "        cuda.syncthreads()  # these tiles are full, and everyone has read those before\n",
        "",
        {"read_before_arrival", "overwritten_stage"},
        id="no barrier",
        marks=exhaustive,
    ),
    pytest.param(
        "mma_by_rows",
        "    no_group_pending()\n    cuda.syncthreads()  # no copy is under way",
        "    # no copy is under way",
        {"store_under_way"},
        id="results over copies under way",
        marks=exhaustive,
    ),
]


@pytest.mark.parametrize(("name", "old", "new", "kinds"), WRONG)
def test_wrong_twins(name, old, new, kinds, tmp_path):
    """A stage that is read or overwritten too early is found, though values may be right."""
    kernel = changed(name, old, new, tmp_path)
    *_, report = ran(kernel, RUNGS[name], (64, 64, 160))
    assert {one.kind for one in report.findings if is_serious(one)} == kinds
