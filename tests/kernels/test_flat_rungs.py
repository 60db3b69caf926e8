"""The flat texts of the product: equal to the same kernels from factories, and good to read."""

import ast
import inspect
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from smemnb.compiled.machine import nvdisasm
from smemnb.exercises.source import show_change, show_source
from smemnb.kernels.matmul import ladder
from smemnb.kernels.matmul.variants.whole import matmul_of
from smemnb.kernels.transpose import ladder as transposes
from smemnb.simulator.seam import OUT_OF_TREE
from smemnb.tracing import trace
from tests.kernels.machines import CCS, from_factory

TILED = [
    pytest.param(
        name,
        marks=() if name in ("matmul_wide", "matmul_fastest") else pytest.mark.exhaustive,
        id=name,
    )
    for name in ladder.TILINGS
]
LADDERS = {"matmul": ladder.LADDER, "transpose": transposes.LADDER}


def run(kernel, tiling, shape, beta):
    """The result, and requests, wavefronts and sectors by space and kind of access."""
    m, k, n = shape
    rng = np.random.default_rng(11)
    a, b, out = (rng.standard_normal(size).astype(np.float32) for size in ((m, k), (k, n), (m, n)))
    grid = n // tiling.cols, m // tiling.rows
    found = trace(kernel)[grid, tiling.threads](out, a, b, np.float32(0.7), np.float32(beta))
    counts = {}
    for row in found.lines:
        before = counts.get((row.space, row.kind), (0, 0, 0))
        now = row.requests, row.wavefronts, row.sectors
        counts[row.space, row.kind] = tuple(map(sum, zip(before, now, strict=True)))
    return out, counts


@pytest.mark.first(1)
@pytest.mark.parametrize("name", TILED)
def test_flat_against_factory(name):
    """Values bit by bit, and every count, of one tile and of several of three depths."""
    tiling = ladder.TILINGS[name]
    for shape, beta in (((128, 8, 128), 0.0), ((256, 24, 384), 0.3)):
        flat, counts = run(ladder.rung_named(name).kernel, tiling, shape, beta)
        made, wanted = run(matmul_of(tiling), tiling, shape, beta)
        np.testing.assert_array_equal(flat.view(np.uint32), made.view(np.uint32))
        assert counts == wanted


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
@pytest.mark.skipif(nvdisasm() is None, reason="nvdisasm is not installed")
@pytest.mark.parametrize("cc", CCS, ids=lambda cc: f"{cc[0]}.{cc[1]}")
@pytest.mark.parametrize(
    ("name", "factory"), [(name, from_factory(name)) for name in ladder.TILINGS]
)
def test_main_loops(machines, name, factory, cc):
    """The same work in the main loop, in no more than 1 % more instructions, no spills.

    A factory's kernel can also begin with a part of the depth, so that it adds a few sums to each
    turn, and has other registers: what counts is that as many blocks fit.
    """
    flat, made = machines(name, cc), machines(factory, cc)
    work = ("FFMA", "LDS", "LDS.128", "LDG", "LDG.128", "STS", "STS.128", "BAR")
    assert flat.counts(*work, loop=True) == made.counts(*work, loop=True)
    assert len(flat.loop) <= 1.01 * len(made.loop)
    assert flat.used.shared_bytes == made.used.shared_bytes
    assert flat.used.local_bytes == made.used.local_bytes == 0
    assert abs(flat.used.registers - made.used.registers) <= 24


@pytest.mark.parametrize("what", LADDERS)
def test_every_change_can_be_shown(what):
    """Neighbours differ in what `show_change` shows, and in less than half of their lines."""
    for before, after in pairwise(LADDERS[what]):
        shown = repr(show_change(before.kernel, after.kernel)).split("\n")
        assert "(the same lines)" not in shown, after.name
        assert sum(line[:2] in ("- ", "+ ") for line in shown) > 0


IMPORTED = {"cuda", "float32", "uint32", "jit", "device", "load1", "load16", "store1", "store16"}
NUMBA_OWN = {"range", "min", "float32", "uint32"}


@pytest.mark.parametrize("rung", ladder.LADDER, ids=lambda rung: rung.name)
def test_texts_are_whole(rung):
    """Nothing comes from other files but intrinsics, and `show_source` shows every name's origin.

    One statement per line; the name of the file is that of the kernel.
    """
    function = rung.kernel.py_func
    path = Path(inspect.getsourcefile(function))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert path.stem == rung.name
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            assert {name.name for name in node.names} <= IMPORTED
    shown = repr(show_source(rung.kernel))
    numbered = [re.fullmatch(r" *(\d+)(?:  (.*))?", line) for line in shown.split("\n") if line]
    lines = path.read_text(encoding="utf-8").split("\n")
    assert all(lines[int(one[1]) - 1] == (one[2] or "") for one in numbered)
    text = ast.parse("\n".join(one[2] or "" for one in numbered))
    defined = {one.id for one in ast.walk(text) if isinstance(one, ast.Name)}
    bound = {
        *(one.name for one in text.body if isinstance(one, ast.FunctionDef)),
        *(one.arg for one in ast.walk(text) if isinstance(one, ast.arg)),
        *(
            one.id
            for one in ast.walk(text)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        ),
    }
    assert defined - bound <= IMPORTED | NUMBA_OWN
    assert ";" not in re.sub(r'""".*?"""|#.*', "", "\n".join(lines), flags=re.DOTALL)


def test_preparations():
    """A rung that prepares another one stands before it."""
    names = [rung.name for rung in ladder.LADDER]
    prepared = {rung.name: rung.prepares for rung in ladder.LADDER if rung.prepares}
    assert prepared == {"matmul_warped": "matmul_tall"}
    for name, later in prepared.items():
        assert names.index(name) < names.index(later)
