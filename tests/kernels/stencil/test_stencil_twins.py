"""Rungs with a line left out or changed: what the engine finds in each, and on which lines."""

import importlib.util
import inspect
import sys

import numpy as np
import pytest

from smemnb.kernels.stencil.rungs import (
    line_tiled,
    separable_tiled,
    stencil_sliding,
    stencil_tiled,
    stencil_wide,
)
from smemnb.tracing import trace
from tests.kernels.stencil.reference import weighed
from tests.tiers import exhaustive, sampled

FULL = "    cuda.syncthreads()  # the tile is full before anyone reads it\n"
COMPLETE = "        cuda.syncthreads()  # the row is complete before anyone reads it\n"
READ = (
    "        cuda.syncthreads()  # everyone has read the row before the next one takes its place\n"
)
WEIGHED = "    cuda.syncthreads()  # all rows are weighed before anyone goes down a column\n"


def twin(module, folder, old, new):
    """The kernel of a rung with one text in place of another, from a file of its own."""
    name, source = module.__name__.rpartition(".")[2], inspect.getsource(module)
    assert source.count(old) == 1
    source = source.replace(old, new).replace("from ...", "from smemnb.kernels.")
    path = folder / f"{name}_twin.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(f"{folder.name}_{name}", path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    try:
        spec.loader.exec_module(made)
    finally:
        del sys.modules[spec.name]
    return getattr(made, name), source.splitlines()


def traced(module, kernel):
    """The report and whether the result is right: 40 x 132 elements, 260 of a line."""
    rng, name = np.random.default_rng(3), module.__name__.rpartition(".")[2]
    shape = (260,) if name.startswith("line") else (40, 132)
    inp = rng.integers(-9, 10, shape).astype(np.float32)
    out = np.zeros(shape, np.float32)
    if name.startswith("separable"):
        parts = [rng.integers(1, 4, 15).astype(np.float32) for _ in range(2)]
        weights, whole = tuple(tuple(part) for part in parts), np.outer(*parts)
    else:
        whole = rng.integers(1, 9, (9,) if len(shape) == 1 else (5, 5)).astype(np.float32)
        weights = (whole if name == "stencil_tiled" else tuple(whole.ravel()),)
    grid, block = LAUNCHES[name]
    report = trace(kernel)[grid, block](out, inp, *weights)
    right = np.array_equal(out, weighed(inp, whole, [n // 2 for n in whole.shape]))
    return report, right


LAUNCHES = {
    "stencil_tiled": ((5, 5), (32, 8)),
    "stencil_sliding": ((2, 2), 128),
    "stencil_wide": ((1, 2), 128),
    "line_tiled": (2, 256),
    "separable_tiled": ((5, 2), (32, 8)),
}

TWINS = [  # the rung, what is left out or put in, the findings and a text of their lines
    (stencil_tiled, FULL, "", {"race": ("tile[y, x] = inp", "tile[ty + i, tx + j]")}),
    (line_tiled, FULL, "", {"race": ("tile[x] = inp", "tile[tx + j]")}),
    (separable_tiled, WEIGHED, "", {"race": ("sums[y, tx] = acc", "sums[y + i, tx]")}),
    # while a warp still reads the row, another one stores the next
    (stencil_sliding, READ, "", {"race": ("line[x] = inp", "window[j] = line")}),
    (stencil_sliding, COMPLETE, "", {"race": ("line[x] = inp", "window[j] = line")}),
    (stencil_wide, READ, "", {"race": ("store16(line", "load16(line")}),
    # the halo is loaded by nobody: each thread loads its own element only
    (
        stencil_tiled,
        "        for x in range(tx, WIDE, COLS):\n",
        "        for x in range(tx, COLS, COLS):\n",
        {"uninitialised": ("tile[ty + i, tx + j]",)},
    ),
    (
        line_tiled,
        "    for x in range(tx, WIDE, THREADS):\n",
        "    for x in range(tx, THREADS, THREADS):\n",
        {"uninitialised": ("tile[tx + j]",)},
    ),
]


@pytest.mark.parametrize(
    ("module", "old", "new", "wanted"),
    [
        pytest.param(*case, marks=() if at in (0, 3) else exhaustive)
        for at, case in enumerate(TWINS)
    ],
    ids=[f"{case[0].__name__.rpartition('.')[2]}-{at}" for at, case in enumerate(TWINS)],
)
def test_findings(tmp_path, module, old, new, wanted):
    """An error on the lines that take part, and on no others."""
    kernel, lines = twin(module, tmp_path, old, new)
    report, _ = traced(module, kernel)
    found = {}
    for one in report.findings:
        if one.severity == "error":
            found.setdefault(one.kind, set()).update(
                line for line in (one.line, one.other_line) if line is not None
            )
    assert set(found) == set(wanted)
    for kind, texts in wanted.items():
        for line in found[kind]:
            assert any(text in lines[line - 1] for text in texts), lines[line - 1]
        for text in texts:
            assert any(text in lines[line - 1] for line in found[kind])


MIRROR = "at = -1 - at if at < 0 else 2 * size - 1 - at"
EDGES = [  # the other mirror, the nearest element, the other end
    "at = -at if at < 0 else 2 * size - 2 - at",
    "at = 0 if at < 0 else size - 1",
    "at = at + size if at < 0 else at - size",
]


@pytest.mark.parametrize("new", sampled(EDGES, 1))
def test_wrong_edges(tmp_path, new):
    """Memory is used well, so only the values tell."""
    kernel, _ = twin(stencil_tiled, tmp_path, MIRROR, new)
    report, right = traced(stencil_tiled, kernel)
    assert not right
    assert {one.kind for one in report.findings if one.severity == "error"} == set()


@exhaustive
def test_the_rungs_themselves_are_right():
    """What the twins are changed from."""
    for module in (stencil_tiled, stencil_sliding):
        kernel = getattr(module, module.__name__.rpartition(".")[2])
        report, right = traced(module, kernel)
        assert right
        assert {one.kind for one in report.findings if one.severity == "error"} == set()
