"""The recorded texts of machine code are those of today's kernels, and of the compilers here."""

import linecache
import re

import pytest

from smemnb.compiled import available
from smemnb.errors import SmemnbError
from smemnb.kernels.matmul.rungs.matmul_tiled import matmul_tiled
from smemnb.laboratory import compiled_views
from smemnb.laboratory.compiled_views import compiled_here, compiled_view
from smemnb.measure.verify.recording import load

VIEW = compiled_view("matmul_tiled")


def test_lines_are_those_of_the_file():
    """Each numbered row has the text that stands at that line of the kernel's file today."""
    file = matmul_tiled.py_func.__code__.co_filename
    numbered = re.findall(r"^ +(\d+)  (.{20})", VIEW.lines + "\n" + VIEW.sass, flags=re.MULTILINE)
    assert len(numbered) == 12
    for number, text in numbered:
        assert linecache.getline(file, int(number)).strip().startswith(text.strip())


def test_numbers():
    """Per tile and warp 16 + 4 * 2 wavefronts: a broadcast of 16 bytes takes two halves."""
    assert "32 shared loads became 16 LDS and 4 LDS.128: 24 wavefronts, 768 times" in VIEW.lines
    assert "40  16 LDS, 4 LDS.128" in VIEW.sass
    assert f"shared load wavefronts: {24 * 768:,}" in VIEW.totals.splitlines()
    assert VIEW.made_with.count(", ") == 2


def test_widths_are_those_that_ran():
    """The same instructions of that line ran on the H200."""
    ran = [row for row in load().cases["matmul_tiled 128 x 128 x 24"].lines if "LDS" in row.name]
    assert {row.name: row.instructions for row in ran} == {"LDS": 16, "LDS.128": 4}


def test_moved_lines(monkeypatch):
    """Lines are kept from the kernel's first on: they move with it."""
    monkeypatch.setattr(compiled_views, "_first", lambda kernel: 1)
    first = int(re.search(r"\d+", VIEW.sass.splitlines()[1])[0])
    moved = int(re.search(r"\d+", compiled_view("matmul_tiled").sass.splitlines()[1])[0])
    assert first - moved == matmul_tiled.py_func.__code__.co_firstlineno - 1


def test_unknown_name():
    with pytest.raises(SmemnbError, match="no view of 'flip' was recorded; there are matmul_tiled"):
        compiled_view("flip")


@pytest.mark.skipif(available(), reason="the compiler libraries are here")
def test_without_compilers():
    assert compiled_here("matmul_tiled") == compiled_views.NOT_HERE


@pytest.mark.toolchain
def test_compiled_now():
    """By these versions the same text; by others, at least as many loads are merged."""
    said = compiled_here("matmul_tiled")
    by = ", ".join(f"{name} {number}" for name, number in compiled_views._versions().items())
    assert said.startswith("Compiled now") and by in said.splitlines()
    assert "line for line" in said if by == VIEW.made_with else "LDS.128" in said
    assert max(map(len, said.splitlines())) <= 72
