"""The recorded machine code of the product's rungs: whole, and what the compiler makes today."""

from importlib.metadata import version

import pytest

from smemnb.kernels.matmul.ladder import LADDER
from smemnb.laboratory.loop_code import (
    LISTED,
    RUNGS,
    STEPS,
    compiled_loop,
    compiled_step,
    loop_codes,
    step_codes,
    versions,
)


def test_they_are_rungs():
    """Those that were asked for, and each a rung of the ladder."""
    assert tuple(loop_codes()) == RUNGS
    assert tuple(step_codes()) == tuple(STEPS)
    assert set(RUNGS) <= {rung.name for rung in LADDER}
    assert set(versions()) == {"numba", "numba-cuda", "nvidia-nvjitlink"}


@pytest.mark.parametrize(
    "name, ffma, per_step",
    [
        ("matmul_tiled", 16, 1),
        ("matmul_tiled_32", 32, 1),
        ("matmul_column", 8, 8),
        ("matmul_square", 16, 16),
        ("matmul_8x8", 64, 64),
        ("matmul_turned_padded", 64, 64),
        ("matmul_wide", 512, 64),
        ("matmul_laid_out", 512, 64),
        ("matmul_by_quads", 512, 64),
        ("matmul_warped", 512, 64),
        ("matmul_tall", 1024, 128),
        ("matmul_overlapped", 1024, 128),
        ("matmul_fastest", 1024, 128),
    ],
)
def test_multiply_adds(name, ffma, per_step):
    """A loop has the multiply-adds of one step, or of the whole depth of its tile laid out.

    A depth of 16, 32 or 8 steps; a thread's tile of 1, 8x1, 4x4, 8x8 or 16x8 results.
    """
    code = loop_codes()[name]
    assert code.count("FFMA") == ffma
    assert ffma % per_step == 0
    assert code.total > ffma


def test_what_the_chapter_reads():
    """Merged reads of a tile row: 4 of 16 bytes for 16 of 4; steps of 8 + 8 and 16 + 8 by 16."""
    wide = loop_codes()["matmul_wide"]
    assert (wide.count("LDS"), wide.count("LDS.128")) == (0, 8 * 4)
    tall = loop_codes()["matmul_tall"]
    assert (tall.count("LDS"), tall.count("LDS.128")) == (0, 8 * 6)
    tiled = loop_codes()["matmul_tiled"]
    assert (tiled.count("LDS"), tiled.count("LDS.128")) == (16, 4)


def test_the_listing_is_the_loop():
    for name in LISTED:
        code = (loop_codes() | step_codes())[name]
        assert len(code.listing) == code.total
        assert sum("FFMA" in line for line in code.listing) == code.count("FFMA")
        assert code.listing[-1].startswith("@P0 BRA")


@pytest.mark.parametrize(
    ("name", "inner", "around"),
    [
        ("guarded", 109, 229),
        ("unguarded", 109, 159),
        ("with_offsets", 85, 107),
        ("laid_out", 677, 0),
        ("by_quads", 572, 0),
    ],
)
def test_turns(name, inner, around):
    """A turn of 512 multiply-adds: the steps 8 times and what is around them, or all laid out."""
    code = step_codes()[name]
    assert (code.total, sum(code.around.values())) == (inner, around)
    rounds = 512 // code.count("FFMA")
    assert rounds == (8 if around else 1)
    assert code.turn(512).total() == rounds * inner + around


@pytest.mark.parametrize(
    ("step", "rung"),
    [
        ("unguarded", "matmul_two_blocks"),
        ("laid_out", "matmul_unsigned"),
    ],
)
def test_steps_and_rungs(step, rung):
    """The loop over the steps of a chapter's kernel is that of a rung that was timed."""
    assert step_codes()[step].counts == loop_codes()[rung].counts


@pytest.mark.toolchain
@pytest.mark.parametrize("name", STEPS)
def test_steps_compiled_now(name):
    """The same versions make the same code of the steps, too."""
    other = {key: said for key, said in versions().items() if version(key) != said}
    if other:
        pytest.skip(f"recorded with {other}")
    assert compiled_step(name) == step_codes()[name]


@pytest.mark.toolchain
@pytest.mark.parametrize("name", ["matmul_tiled", "matmul_square", "matmul_wide"])
def test_compiled_now(name):
    """The same versions make the same code; another version may not."""
    other = {key: said for key, said in versions().items() if version(key) != said}
    if other:
        pytest.skip(f"recorded with {other}")
    (rung,) = [rung for rung in LADDER if rung.name == name]
    assert compiled_loop(rung) == loop_codes()[name]
