"""The film against what the kernels are to do: parts, moves and buffers of each phase, exactly."""

import re

import numpy as np
import pytest

import smemnb
from smemnb.figures.replay.camera import MOST_PHASES, Camera
from smemnb.figures.replay.film import film_of, parts_of_run
from smemnb.figures.replay.recorder import Full
from smemnb.figures.replay.recording import OneBlock
from smemnb.figures.replay.state import state
from smemnb.figures.replay.still import folded, sheets
from smemnb.figures.replay.words import left_out_of_film, said_move
from smemnb.kernels.matmul import matmul_tiled
from smemnb.kernels.matmul.rungs.matmul_prefetched import matmul_prefetched
from smemnb.kernels.transpose import transpose_tiled
from smemnb.lockstep.launch import launch
from smemnb.tracing.as_compiled import keep
from tests.facts import facts
from tests.figures.replay.kernels import (
    ahead,
    blurred,
    chunks,
    combined,
    gathered,
    histogram,
    idle,
    line_of,
    long_walk,
    positive,
    sums,
    thirds,
    volume,
)


def filmed(kernel, grid, block, *args, number=0):
    grid, block = ((*one, 1, 1)[:3] for one in (grid, block))
    one = OneBlock(grid, block, 0, 0, keep(args), number)
    return one.film(kernel, kernel.py_func)


def ones(*shape):
    return np.ones(shape, np.float32)


def moves(film):
    """(phase, line, array, its box, shared array, buffer, its box), once per move."""
    assert all(one.full for one in film.moves)
    return sorted(
        (
            one.phase,
            one.line,
            film.tiles[one.source].name,
            one.box,
            film.tiles[one.tile].name,
            one.buffer,
            one.to,
        )
        for one in film.moves
    )


def turns(film, name):
    """What each phase does with each buffer of an array."""
    (tile,) = [at for at, one in enumerate(film.tiles) if one.name == name]
    return [
        [film.role(phase, one) for phase in range(film.phases)] for one in film.buffers_of(tile)
    ]


# --- moves ---------------------------------------------------------------------------------------


def test_tiled_product():
    """Ragged tiles slide over a and b; equal numbers everywhere do not confuse them."""
    film = filmed(
        matmul_tiled, (3, 3), (16, 16), ones(40, 35), ones(40, 50), ones(50, 35), number=8
    )
    lines = [line_of(matmul_tiled, text) for text in ("= a[", "= b[")]
    expected = []
    for k in range(4):
        first, end = 16 * k, min(16 * k + 16, 50)
        a, b = ((32, 40), (first, end)), ((first, end), (32, 35))
        to = ((0, 8), (0, end - first)), ((0, end - first), (0, 3))
        expected.append((2 * k, lines[0], "a", a, "a_tile", 0, to[0]))
        expected.append((2 * k, lines[1], "b", b, "b_tile", 0, to[1]))
    assert moves(film) == expected
    assert turns(film, "a_tile") == [["fill", "read"] * 4 + [""]]
    assert {film.tiles[at].name: box for at, box in film.owned.items()} == {
        "out": ((32, 40), (32, 35))
    }
    assert film.known and not film.full and left_out_of_film(film) == []


def test_transpose():
    """The corner of 70 x 50, and where it is written."""
    film = filmed(transpose_tiled, (2, 3), (32, 32), ones(50, 70), ones(70, 50), number=5)
    line = line_of(transpose_tiled, "tile[ty, tx]")
    assert moves(film) == [(0, line, "inp", ((64, 70), (32, 50)), "tile", 0, ((0, 6), (0, 18)))]
    assert list(film.owned.values()) == [((32, 50), (64, 70))]


@pytest.mark.first(1)
@pytest.mark.parametrize(("number", "last"), [(1, 64), (0, 32), (2, 70)])
def test_halo(number, last):
    """Own elements, those to the left and to the right come by their own lines."""
    film = filmed(blurred, (3,), (32,), ones(70), ones(70), number=number)
    first = 32 * number
    own, left, right = (line_of(blurred, f"# {name}") for name in ("own", "left", "right"))
    expected = [(0, own, "inp", ((first, last),), "tile", 0, ((1, last - first + 1),))]
    if number:
        expected.append((0, left, "inp", ((first - 1, first),), "tile", 0, ((0, 1),)))
    if last < 70:
        expected.append((0, right, "inp", ((last, last + 1),), "tile", 0, ((33, 34),)))
    assert moves(film) == expected


def test_chunks():
    """A chunk slides over the array; of the last one only what is there is brought."""
    film = filmed(chunks, (1,), (64,), ones(64), ones(150))
    line = line_of(chunks, "= inp[")
    boxes = [((0, 64),), ((64, 128),), ((128, 150),)]
    assert moves(film) == [
        (2 * k, line, "inp", box, "tile", 0, ((0, box[0][1] - box[0][0]),))
        for k, box in enumerate(boxes)
    ]


OTHERS = np.uint8, np.int16, np.int64, np.float64, np.float16


@pytest.mark.parametrize(
    "dtype", [np.int8, *(pytest.param(one, marks=pytest.mark.exhaustive) for one in OTHERS)]
)
def test_types(dtype):
    """Narrow types take several runs to tell elements apart."""
    film = filmed(sums, (1,), (128,), np.zeros(1, np.int32), np.ones(128, dtype))
    line = line_of(sums, "= inp[t]")
    assert moves(film) == [(0, line, "inp", ((0, 128),), "tile", 0, ((0, 128),))]


def test_three_dimensions():
    """A box of an array of three dimensions, and its rows when it is drawn."""
    film = filmed(volume, (3,), (8, 4), ones(3, 4, 8), ones(3, 4, 8), number=2)
    box = (2, 3), (0, 4), (0, 8)
    line = line_of(volume, "= inp[")
    assert moves(film) == [(0, line, "inp", box, "tile", 0, ((0, 4), (0, 8)))]
    assert folded(box, (3, 4, 8)) == [((8, 12), (0, 8))]


def test_no_copies():
    """A multiple, a sum, the larger of two and a constant are no copies."""
    film = filmed(combined, (1,), (32,), ones(32), ones(32), ones(32))
    assert film.known and film.moves == ()
    assert {film.tiles[one.tile].name for one in film.parts if one.phase == 0} == {"a", "b", "tile"}


def test_indices():
    """Integers that name elements keep their numbers, so that the elements are the same."""
    places = np.arange(40, 8, -1)
    film = filmed(gathered, (1,), (32,), ones(32), ones(50), places)
    line = line_of(gathered, "= inp[")
    assert moves(film) == [(0, line, "inp", ((9, 41),), "tile", 0, ((0, 32),))]


def test_numbers_that_decide():
    """Where other numbers make other accesses it is not known what moves, and that is said."""
    inp = np.where(np.arange(32) % 3, 1, -1).astype(np.float32)
    film = filmed(positive, (1,), (32,), ones(32), inp)
    assert not film.known and film.moves == () and len(left_out_of_film(film)) == 1
    assert turns(film, "tile") == [["fill", "read"]]
    assert filmed(positive, (1,), (32,), ones(32), ones(32)).known


# --- buffers -------------------------------------------------------------------------------------


def test_buffers_swap():
    """One buffer is read while the other is filled, in turn; zeros past the end are no move."""
    film = filmed(ahead, (1, 2), (8, 8), ones(16, 8), ones(16, 24), ones(24, 8), number=1)
    names = {one.name: at for at, one in enumerate(film.tiles)}
    fills = ["fill", "read", "fill", "read", ""], ["", "fill", "read", "fill", ""]
    assert turns(film, "a_tile") == turns(film, "b_tile") == list(fills)
    assert [one[2:4] for one in film.buffers_of(names["a_tile"])] == [(0, 64), (64, 128)]
    staged = [(one[0], one[2], one[3], one[5]) for one in moves(film)]
    expected = []
    for k in range(3):
        expected.append((k, "a", ((8, 16), (8 * k, 8 * k + 8)), k % 2))
        expected.append((k, "b", ((8 * k, 8 * k + 8), (0, 8)), k % 2))
    assert sorted(staged) == expected
    lines = [line_of(ahead, text) for text in ("= a[row, tx]", "a_tile[now, ty, tx] = a_next")]
    brought = [one for one in film.moves if film.tiles[one.source].name == "a"]
    assert [one.line for one in brought] == [lines[0], lines[1], lines[1]]
    loads = [line_of(ahead, text) for text in ("= a[row, tx]", "= a[row, k0 + tx]")]
    assert [one.loaded for one in brought] == [
        (0, "ahead", loads[0]),
        (1, "ahead", loads[1]),
        (2, "ahead", loads[1]),
    ]


@pytest.mark.exhaustive
def test_prefetched():
    """The rung with two buffers in flat memory, through device functions and registers.

    In its last pass it stores the registers once more, which nobody reads.
    """
    a, b = ones(128, 24), ones(24, 256)
    args = ones(128, 256), a, b, np.float32(1), np.float32(0)
    film = filmed(matmul_prefetched, (2, 1), (256,), *args, number=1)
    expected = []
    for phase, k in enumerate([0, 1, 2, 2]):
        first, second = phase % 2 * 1056, phase % 2 * 1024
        box = (0, 128), (8 * k, 8 * k + 8)
        expected.append((phase, "a", box, phase % 2, ((first, first + 1052),)))  # no last pad
        box = (8 * k, 8 * k + 8), (128, 256)
        expected.append((phase, "b", box, phase % 2, ((second, second + 1024),)))
    found = [(one[0], one[2], one[3], one[5], one[6]) for one in moves(film)]
    assert sorted(found) == expected
    assert {(one.function, one.loaded[1]) for one in film.moves} == {("stage", "fetch")}
    assert [one.loaded[0] for one in film.moves if film.tiles[one.source].name == "a"] == [
        0,
        1,
        2,
        2,
    ]
    fills = ["fill", "read", "fill", "read", ""], ["", "fill", "read", "fill", ""]
    assert turns(film, "a_tile") == turns(film, "b_tile") == list(fills)


def test_no_buffers():
    """What is filled in parts and then read as a whole, or by a tree of sums, is one."""
    film = filmed(thirds, (1,), (32,), ones(32), ones(64))
    assert turns(film, "tile") == [["fill", "fill", "fill and read", "read"]]
    assert [one[3] for one in moves(film)] == [((0, 32),), ((32, 64),)]
    film = filmed(sums, (1,), (128,), np.zeros(1, np.int32), np.ones(128, np.int32))
    assert turns(film, "tile") == [["fill", *["fill and read"] * 7, "read"]]


def test_atomics():
    """Atomics fill; the numbers decide where."""
    film = filmed(histogram, (1,), (64,), np.zeros(8, np.int32), np.arange(64, dtype=np.int32))
    assert turns(film, "bins") == [["fill", "fill", "read"]]
    assert not film.known


# --- bounds --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "args", "most", "phases"),
    [
        (long_walk, (np.zeros(64, np.int32), np.int64(1000)), 1000, 15),
        (long_walk, (np.zeros(64, np.int32), np.int64(1000)), None, MOST_PHASES),
        (chunks, (ones(64), ones(200)), 270, 2),  # the load of the third one, not its store
    ],
)
def test_bounds(kernel, args, most, phases):
    """A film has whole phases, and ends where there is no room or where they are too many."""
    camera = Camera() if most is None else Camera(most)
    with pytest.raises(Full):
        launch(kernel.py_func, (1, 1, 1), (64, 1, 1), args, watchers=(camera,))
    film = film_of(kernel.py_func.__name__, camera, {})
    assert (film.full, film.phases) == (True, phases)
    assert {one.phase for one in film.parts} == set(range(phases))
    (said,) = left_out_of_film(film)
    assert facts(said) == facts(str(phases))


@pytest.mark.exhaustive
def test_patience():
    """A film of a kernel that takes too long has the phases until then."""
    args = np.zeros(32, np.int32), 10_000_000
    film = OneBlock((1, 1, 1), (32, 1, 1), 0, 0, keep(args), 0).film(idle, idle.py_func, 0.1)
    assert (film.full, film.phases) == (True, 1)
    assert {one.phase for one in film.parts} == {0}


# --- words, picture, page ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found():
    args = ones(8, 8), ones(8, 24), ones(24, 8)
    return smemnb.replay(ahead)[1, (8, 8)](*args)


def test_words(found):
    """A move names its lines, both boxes, the buffer, and how many elements."""
    said = repr(found)
    move = next(one for one in found.film.moves if one.phase == 1)
    words = said_move(found.film, move)
    assert "a[0:8, 8:16]" in words and "a_tile[1, 0:8, 0:8]" in words and "buffer 1" in words
    numbers = set(re.findall(r"\d+", words))
    assert {str(move.line), str(move.loaded[2]), str(move.elements)} <= numbers
    assert " ".join(words.split()) in " ".join(said.split())
    assert "a[0:8, 8:16]" in found.still.text
    assert max(len(one) for one in said.splitlines()) <= 110


def test_still(found):
    """Beside the tiles stand the global arrays, with the part that each phase reads or writes."""
    drawn = [one for one in sheets(found.run, found.film) if one.phase == 1]
    assert [(one.name, one.rows, one.cols, one.read, one.written, one.owned) for one in drawn] == [
        ("a", 8, 24, (((0, 8), (8, 16)),), (), ()),
        ("b", 24, 8, (((8, 16), (0, 8)),), (), ()),
        ("out", 8, 8, (), (), (((0, 8), (0, 8)),)),
    ]


def test_page_goes_on(found):
    """Where the page has no room for single elements, whole phases follow those that it has."""
    both, film = (ahead.py_func, found.film), found.film
    most = 2500  # two phases; the third one does not fit
    run = state(found.runs, 0, *both, elements=most)["runs"][0]
    assert run["steps"][-1][0] == 1 and len(run["phases"]) == film.phases == 5
    whole = state(found.runs, 0, *both)["runs"][0]
    assert len(whole["steps"]) == len(found.run.steps)
    assert sorted(run["parts"]) == sorted(whole["parts"])
    assert run["moves"] == whole["moves"] and len(whole["moves"]) == 6
    assert len(run["notes"]) == 2 and whole["notes"] == []
    shared = [one["name"] for one in run["tiles"]]
    assert [(shared[tile], *rest) for tile, *rest in run["buffers"]] == [
        ("a_tile", 0, 0, 64), ("a_tile", 1, 64, 128), ("b_tile", 0, 0, 64), ("b_tile", 1, 64, 128)
    ]  # fmt: skip
    without = state(found.runs, 0, *both, elements=most)["runs"][1]
    assert len(without["phases"]) == without["steps"][-1][0] + 1 and without["moves"] == []


def test_record_and_film_agree(found):
    """Two watchers in two orders of warps see the same parts."""
    run, film = found.run, found.film
    parts = [[(one.tiles[part.tile], part) for part in parts] for one, parts in (
        (run, parts_of_run(run, film)), (film, film.parts))]  # fmt: skip
    assert {(tile, *part[:1], *part[2:]) for tile, part in parts[0]} == {
        (tile, *part[:1], *part[2:]) for tile, part in parts[1]
    }
