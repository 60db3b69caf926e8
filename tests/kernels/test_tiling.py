"""Tilings of a product: those that are made give right results, the others are refused."""

import ast
from dataclasses import replace

import numpy as np
import pytest

from smemnb.kernels.matmul import ladder
from smemnb.kernels.matmul.tiling import Tiling
from smemnb.kernels.matmul.variants.sliced import matmul_sliced_of
from smemnb.kernels.matmul.variants.whole import matmul_of
from smemnb.tracing import trace
from tests.tiers import sampled

SHIPPED = [*ladder.TILINGS.values(), ladder.VARIED, ladder.SHARED, ladder.SMALL]
RAGGED = [(False, wide_a, wide_b) for wide_a in (True, False) for wide_b in (True, False)]


def scattered(shape, seed):
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(np.float32)


def drawn(rng):
    """The values of a tiling at random: most of them come out even or nearly so."""

    def one_of(*values):
        return values[rng.integers(len(values))]

    lanes_down = one_of(1, 2, 4, 4, 8, 8, 16, 32)
    lanes_across = 32 // lanes_down
    values = {
        "lanes_down": lanes_down,
        "warp_rows": 4 * lanes_down * one_of(1, 1, 2),
        "warp_cols": 4 * lanes_across * one_of(1, 1, 2),
        "depth": one_of(4, 8, 8, 16),
        "buffers": one_of(1, 2),
        "fragments": one_of(1, 2),
        "interleaved": one_of(False, True),
        "pinned": one_of(False, True),
        "turn": one_of(0, 1, 2, 3),
        "stage_at": one_of(None, None, 0, 3, 5),
        "band": one_of(0, 2, 3),
        "resident": one_of(1, 1, 2, 4),
        "slices": one_of(1, 1, 1, 4),
    }
    values["rows"] = values["warp_rows"] * one_of(1, 2, 2, 3, 4)
    values["cols"] = values["warp_cols"] * one_of(1, 1, 2, 3)
    if rng.integers(4) == 0:  # and one choice that may be anything
        field = one_of(*(name for name in values if type(values[name]) is int))
        values[field] = int(rng.integers(0, 100))
    return values


def split(seed, count):
    """Tilings that were made, and values that were refused with a ValueError."""
    rng = np.random.default_rng(seed)
    made, refused = [], []
    for _ in range(count):
        values = drawn(rng)
        try:
            made.append(Tiling(**values))
        except ValueError as error:
            refused.append((values, str(error)))
    return made, refused


def right(tiling, flags=(True, True, True)):
    """Multiply small matrices with a tiling's kernel: exact results, and no finding of an error."""
    rows, cols, depth = 2 * tiling.rows, tiling.cols, 2 * tiling.slices * tiling.depth
    if not flags[0]:
        rows, cols, depth = tiling.rows + 4, tiling.cols + 8, 2 * tiling.depth + 4
    if not flags[1]:
        depth += 1
    if not flags[2]:
        cols += 1
    a, b = scattered((rows, depth), 1), scattered((depth, cols), 2)
    out = np.full((rows, cols), np.nan, np.float32)
    kernel = matmul_sliced_of(tiling) if tiling.slices > 1 else matmul_of(tiling, *flags)
    grid = -(-cols // tiling.cols), -(-rows // tiling.rows)
    found = trace(kernel)[grid, tiling.threads](out, a, b, 1.0, 0.0)
    np.testing.assert_array_equal(out, a @ b)
    assert [one for one in found.findings if not one.price] == []


def test_the_ladders_tilings_are_made():
    """No tiling of the package is refused, nor one that differs from it by nothing."""
    assert [replace(tiling) for tiling in SHIPPED] == SHIPPED


@pytest.mark.exhaustive
def test_random_tilings_are_made_or_refused():
    """Of 300 at random at least 12 are made, of one slice and of four; a refusal names a choice."""
    made, refused = split(1, 300)
    assert len(made) >= 12
    assert {tiling.slices for tiling in made} == {1, 4}
    assert len(made) + len(refused) == 300
    for values, said in refused:
        field = said.removeprefix("Tiling: ").partition("=")[0]
        assert values[field] != getattr(Tiling(), field)
        assert f"{field}={values[field]!r}" in said


@pytest.mark.parametrize(
    ("given", "other"),
    [("warp_rows=64", "cols=128"), ("warp_cols=64", "rows=128"), ("lanes_down=8", "warp_rows=16")],
)
def test_a_refusal_names_what_was_given(given, other):
    """The choice that somebody made comes first, then the one that it does not go with."""
    name, value = given.split("=")
    with pytest.raises(ValueError, match=f"^Tiling: {given} .*{other}") as caught:
        Tiling(**{name: int(value)})
    advice = str(caught.value).rpartition(" are, ")[2].removesuffix(" would do.")
    changes = dict(one.split("=") for one in advice.split(" and "))
    Tiling(**{name: int(value)} | {field: int(said) for field, said in changes.items()})


@pytest.mark.parametrize("choice", [{"rows": 256}, {"cols": 256}, {"warp_cols": 64}])
def test_a_choice_is_not_taken_back(choice):
    """Where there are other choices that go with it, they are the advice."""
    with pytest.raises(ValueError) as caught:
        Tiling(**choice)
    advice = str(caught.value).rpartition(" are, ")[2].removesuffix(" would do.")
    changes = {name: int(value) for name, value in (s.split("=") for s in advice.split(" and "))}
    assert not choice.keys() & changes.keys()
    Tiling(**choice, **changes)


@pytest.mark.exhaustive
@pytest.mark.parametrize("slices", [pytest.param(1, marks=pytest.mark.exhaustive), 4])
def test_made_tilings_multiply(slices):
    """Some of them on a small product; those of one slice by quads and element by element."""
    made = [tiling for tiling in split(1, 300)[0] if tiling.slices == slices]
    for number, tiling in enumerate(made[:2]):
        right(tiling)
        if slices == 1:
            right(tiling, RAGGED[3 - number])


@pytest.mark.parametrize("part", sampled(range(4), 0, second=1))
def test_all_made_tilings_multiply(part):
    """All that are made of 300 at random, whole and ragged, in four parts."""
    for tiling in split(1, 300)[0][part::4]:
        right(tiling)
        for flags in RAGGED if tiling.slices == 1 else ():
            right(tiling, flags)


BAD = [
    ({"rows": 96, "cols": 96}, "cols", "rows=128 and cols=128"),
    ({"warp_rows": 24, "warp_cols": 96, "lanes_down": 8}, "warp_rows", "warp_rows=32 and"),
    ({"warp_cols": 96}, "warp_cols", "warp_cols=128"),
    ({"rows": 96}, "rows", "rows=64 or rows=128"),
    ({"rows": 64, "warp_rows": 64, "warp_cols": 64, "lanes_down": 4}, "rows", "warp_rows=32"),
    ({"depth": 12}, "depth", "depth=8 or depth=16"),
    ({"depth": 6}, "depth", "depth=8"),
    ({"depth": 128}, "depth", "depth=32"),
    ({"lanes_down": 3}, "lanes_down", "lanes_down=2 or lanes_down=4"),
    ({"lanes_down": 1, "warp_rows": 8, "interleaved": True}, "lanes_down", "lanes_down=2"),
    ({"fragments": 3}, "fragments", "fragments=2"),
    ({"buffers": 3}, "buffers", "buffers=2"),
    ({"stage_at": 8, "buffers": 2}, "stage_at", "stage_at=7"),
    ({"stage_at": 7, "buffers": 2, "fragments": 2}, "stage_at", "stage_at=6"),
    ({"stage_at": 5}, "stage_at", "buffers=2"),
    ({"slices": 2}, "slices", "slices=1"),
    ({"slices": 4}, "slices", "slices=1"),
    ({"resident": 4}, "resident", "resident=3"),
    ({"resident": 9}, "resident", "resident=3"),
    ({"rows": 128.0}, "rows", "rows=128 "),
    ({"turn": -1}, "turn", "turn=0"),
    ({"band": True}, "band", "band=1"),
    ({"pinned": 1}, "pinned", "pinned=True"),
]


@pytest.mark.parametrize(("choices", "field", "advice"), BAD, ids=[str(bad[0]) for bad in BAD])
def test_bad_tilings(choices, field, advice):
    """Each is refused by a ValueError that names the choice and values that would do."""
    with pytest.raises(ValueError) as refusal:
        Tiling(**choices)
    said = str(refusal.value)
    assert said.startswith(f"Tiling: {field}=")
    assert advice in said


@pytest.mark.parametrize("choices", [bad[0] for bad in BAD], ids=str)
def test_advice_is_good(choices):
    """Whatever a message proposes is a tiling."""
    with pytest.raises(ValueError) as refusal:
        Tiling(**choices)
    _, _, advice = str(refusal.value).rpartition("as they are, ")
    for proposed in advice.removesuffix(" would do.").split(" or "):
        changed = dict(one.split("=") for one in proposed.split(" and "))
        Tiling(**{**choices, **{name: ast.literal_eval(text) for name, text in changed.items()}})


@pytest.mark.first(2)
@pytest.mark.slow
@pytest.mark.parametrize("field", ["rows", "cols", "depth", "warp_rows", "warp_cols", "lanes_down"])
def test_neighbours_of_the_fastest(field):
    """Every value of one choice from 1 to 256 makes a tiling or is refused by a ValueError."""
    made = []
    for value in range(1, 257):
        try:
            made.append(getattr(replace(ladder.FASTEST, **{field: value}), field))
        except ValueError:
            continue
    assert getattr(ladder.FASTEST, field) in made
