"""`forecast`: a table of the kernel's own accesses, graded with it, and what is remembered."""

import json
import re
from html import unescape

import cut_otherwise
import numpy as np
import pytest
from empty_signature import EXERCISE, running_sums
from numba import cuda

from smemnb import forecast, progress, trace
from smemnb.exercises.chapters.ex00_scale import scale
from smemnb.exercises.chapters.ex03_flip import flip_over
from smemnb.exercises.check import check
from smemnb.exercises.forecast import forecast_of
from smemnb.exercises.forecasts import tries
from smemnb.exercises.forecasts.accesses import accesses_of
from smemnb.exercises.forecasts.answer import Forecast, Line
from smemnb.exercises.forecasts.figures import Refused, check_form, matched
from smemnb.exercises.forecasts.judging import judged
from smemnb.exercises.progress import file, first_try_of, folder, remember
from smemnb.exercises.variants import edited
from smemnb.session import PRINTED_COLUMNS
from tests.facts import facts
from tests.tiers import exhaustive

SCALE = {"load inp[i]": (32, 128), "store out[i]": (32, 128)}
FLIP = {
    "load inp[row, col]": (192, 768),
    "store out[cols - 1 - right, rows - 1 - below]": (192, 768),
    "store tile[ty, tx]": (192, 192),
    "load tile[tx, ty]": (192, 192),
}
RUNNING = {
    "load inp[top + y, left + tx]": (192, 768),
    "store tile[y, tx]": (192, 192),
    "load tile[tx, k]": (192, 192),
    "store tile[tx, k]": (192, 192),
    "load tile[y, tx]": (192, 192),
    "store out[top + y, left + tx]": (192, 768),
}


@pytest.fixture(autouse=True)
def session():
    """Each test is a session of its own."""
    tries.forget()


@pytest.fixture(scope="module")
def flipped():
    """The trace of flip_over, in the launch of its forecast."""
    args = np.zeros((96, 64), np.float32), np.zeros((64, 96), np.float32)
    return trace(flip_over, checks=False)[(3, 2), (32, 32)](*args)


@pytest.fixture(scope="module")
def accesses(flipped):
    """Those of flip_over."""
    return accesses_of(flipped)


def filled(table, figures):
    """The dict of a printed table, with figures in place of None, as a cell would have it."""
    given = iter(figures)
    text = re.sub("None", lambda _: str(next(given)), table)
    return eval(text[text.index("{") : text.rindex("}") + 1])


def states(answer):
    return {line.access: line.state for line in answer.lines}


def misses(answer):
    return {(line.access, one.column): one.given for line in answer.lines for one in line.misjudged}


# --- the table ------------------------------------------------------------------------------


def test_the_table_is_python():
    """What is printed can be run: the call with the dict, all figures None, no line too long."""
    text = repr(forecast("ex03_flip", flip_over))
    said = []
    names = {"forecast": lambda *given: said.append(given), "flip_over": flip_over}
    exec(text, names)
    assert said == [("ex03_flip", flip_over, dict.fromkeys(FLIP, (None, None)))]
    assert max(map(len, text.splitlines())) <= PRINTED_COLUMNS
    assert not set(re.findall(r"\d+", text)) & {"192", "768"}
    assert {"(3, 2)", "(32, 32)", "96 x 64", "64 x 96"} <= set(
        re.findall(r"\(\d+, \d+\)|\d+ x \d+", text)
    )


@exhaustive
@pytest.mark.parametrize("nothing", [None, {}, {"inp[i]": None}, {"inp[i]": (None, None)}])
def test_no_figures(nothing):
    """Without any figure there is the table, neither check nor try."""
    answer = forecast("ex00_scale", scale, nothing)
    assert answer.table and answer.verdict is None and not answer
    assert not file().exists()


@exhaustive
def test_table_of_a_kernel_that_is_not_right_yet():
    """The accesses are listed whatever the values are."""
    wrong = edited(scale, {"out[i]": "out[i] = inp[i] + inp[i]"})
    table = forecast("ex00_scale", wrong).table
    assert filled(table, range(6)) == {
        "store out[i]": (0, 1),
        "load inp[i] #1": (2, 3),
        "load inp[i] #2": (4, 5),
    }


def test_long_names_and_atomics():
    """An atomic without a count of wavefronts has requests alone; a long name a line of its own."""

    @cuda.jit
    def added(out, inp):
        part = cuda.shared.array(1, np.float32)
        a_name_that_is_rather_long_for_an_index = cuda.grid(1)
        if a_name_that_is_rather_long_for_an_index < out.size:
            cuda.atomic.add(part, 0, inp[a_name_that_is_rather_long_for_an_index])

    table = forecast("ex00_scale", added).table
    assert filled(table, range(9)) == {
        "load inp[a_name_that_is_rather_long_for_an_index]": (0, 1),
        "cuda.atomic.add(part, 0, inp[a_name_that_is_rather_long_for_an_index])": (2,),
    }


@exhaustive
@pytest.mark.parametrize("kernel", [None, scale.py_func, 7])
def test_no_kernel(kernel):
    """What is no kernel has no table; the text says why, as check does."""
    answer = forecast("ex00_scale", kernel)
    assert not answer and not answer.table
    assert answer.refusal == check("ex00_scale", kernel).parts[0].text


@exhaustive
def test_a_kernel_without_accesses():
    """A signature alone has none."""

    @cuda.jit
    def nothing(out, inp):
        i = cuda.grid(1)  # noqa: F841

    answer = forecast("ex00_scale", nothing)
    assert not answer and not answer.table and "nothing" in answer.refusal


# --- grading --------------------------------------------------------------------------------


@exhaustive
def test_all_right():
    """Kernel and figures right: true, all lines right, the score of the first try."""
    answer = forecast("ex03_flip", flip_over, FLIP)
    assert answer
    assert set(states(answer).values()) == {"right"}
    assert answer.first_try == (4, 4)
    assert "ex03_flip" in answer.head and "4 of 4" in answer.head


@exhaustive
@pytest.mark.parametrize(
    "figures",
    [
        {"inp[i]": (32, 128), "out[i]": (32, 128)},
        {"load inp[ i ]": [32, 128], "store  out[i]": np.array([32, 128])},
        {"inp[i]": {"sectors": 128, "requests": 32}, "out[i]": (np.int64(32), 256 / 2)},
    ],
    ids=["without kind", "spaces and arrays", "by column"],
)
def test_ways_to_type_it(figures):
    """Names without load and store where one access has them; any whole numbers."""
    assert forecast("ex00_scale", scale, figures)


def test_a_wrong_line():
    """Exactly the figure that is wrong is named, with line and given number."""
    answer = forecast("ex03_flip", flip_over, FLIP | {"load tile[tx, ty]": (192, 6144)})
    assert not answer and answer.verdict
    assert misses(answer) == {("load tile[tx, ty]", "wavefronts"): 6144}
    assert states(answer)["load tile[tx, ty]"] == "misjudged"
    assert list(states(answer).values()).count("right") == 3
    assert answer.first_try == (3, 4)


def test_lines_that_are_not_forecast_say_nothing():
    """No count of an open line stands anywhere in the answer."""
    answer = forecast("ex03_flip", flip_over, {"tile[ty, tx]": (192, None)})
    assert not answer and answer.first_try is None
    assert set(states(answer).values()) == {"open"}
    for text in (repr(answer), answer._repr_html_()):
        assert "768" not in text and "6,144" not in text
    assert repr(answer).count("192") == 1


@pytest.mark.parametrize(
    ("figures", "right", "still_open"),
    [
        ({"inp[i]": (32, None), "out[i]": (32, None)}, ["2 of 2 requests"], {"sectors"}),
        ({"inp[i]": (None, 128), "out[i]": (None, 4)}, ["1 of 2 sectors"], {"requests"}),
        (
            {"inp[i]": (32, 128), "out[i]": (8, None)},
            ["1 of 2 requests", "1 of 1 sector"],
            {"some sectors"},
        ),
        ({"inp[i]": (32, 128), "out[i]": (32, 4)}, ["1 of 2"], None),
    ],
    ids="column,one wrong,some,complete".split(","),
)
def test_figures_given_are_counted(figures, right, still_open):
    """What is left None is no wrong figure, it is named as open; nor is the forecast right yet."""
    answer = forecast("ex00_scale", scale, figures)
    assert not answer
    assert re.findall(r"\d of \d(?: requests?| sectors?)?", answer.head) == right
    rest = answer.head.partition("still open: ")[2]
    assert set(filter(None, rest.split(", "))) == (still_open or set())
    assert (answer.first_try is None) == bool(still_open)


def test_the_second_try(flipped):
    """At first the rule is said; the count from the second wrong figure on."""

    def text(number):
        accesses = accesses_of(flipped)
        given = matched(accesses, {"inp[row, col]": (192, number)})
        lines = judged("ex03_flip", flipped, accesses, given)
        return next(line.misjudged[0] for line in lines if line.misjudged)

    first, again, second, third = text(700), text(700), text(701), text(702)
    assert [one.number for one in (first, again, second, third)] == [1, 1, 2, 3]
    assert first == again
    assert "768" not in first.text and {"32", "128"} <= set(facts(first.text))
    assert "768" in second.text and "768" in third.text
    assert text(700) == first


@exhaustive
def test_another_truth_is_another_try():
    """A kernel with other counts is forecast anew."""
    forecast("ex03_flip", flip_over, FLIP | {"load tile[tx, ty]": (192, 6144)})
    gathered = edited(flip_over, {"col, row =": "col, row = cuda.grid(2)\nfirst = inp[0, 0]"})
    other = forecast("ex03_flip", gathered, {"inp[0, 0]": (192, 700)})
    assert other.verdict is not None and not other.verdict  # refused: it asks for inp too often
    assert forecast("ex03_flip", flip_over, FLIP).first_try == (3, 4)


@exhaustive
def test_a_wrong_kernel():
    """The kernel comes first: no line is judged, and it is no try."""
    wrong = edited(flip_over, {"tile =": "tile = cuda.shared.array((32, 32), float32)"})
    answer = forecast("ex03_flip", wrong, FLIP)
    assert not answer and answer.lines == () and answer.verdict.reason == "wavefronts"
    assert first_try_of("ex03_flip") is None
    assert "32-way" in repr(answer) and "32-way" in answer._repr_html_()
    assert forecast("ex03_flip", flip_over, FLIP).first_try == (4, 4)


@pytest.mark.parametrize(
    ("figures", "told"),
    [
        ({"load tle[tx, ty]": (1, 1)}, '"load tile[tx, ty]"'),
        ({"load tile[tx, tz]": (1, 1)}, '"load tile[tx, ty]"'),
        ({"nothing like it": (1, 1)}, "nothing like it"),
        ({"tile[tx, ty]": (192, 19.5)}, "19.5"),
        ({"tile[tx, ty]": (192, -1)}, "-1"),
        ({"tile[tx, ty]": (192, True)}, "bool"),
        ({"tile[tx, ty]": (np.True_, 1)}, "bool"),
        ({"tile[tx, ty]": (192, "192")}, "without quotes"),
        ({"tile[tx, ty]": (192, float("nan"))}, "nan"),
        ({"tile[tx, ty]": (192, float("inf"))}, "inf"),
        ({"tile[tx, ty]": (192, 1j)}, "complex"),
        ({"tile[tx, ty]": {3}}, "set"),
        ({"tile[tx, ty]": 192}, "(requests, wavefronts)"),
        ({"inp[row, col]": (192, 768, 0)}, "(requests, sectors)"),
        ({"tile[tx, ty]": {"sectors": 3}}, "sectors"),
        ({"tile[tx, ty]": {"banks": 3}}, "banks"),
        ({"tile[tx, ty]": (192, 192), "load tile[tx,ty]": (192, 192)}, "same access"),
        ({3: (192, 192)}, "3"),
        ([192, 192], "list"),
        (192, "int"),
    ],
)
def test_refusals(figures, told, accesses):
    """What cannot be judged is refused by its name."""
    with pytest.raises(Refused) as refusal:
        check_form("ex03_flip", "flip_over", figures)
        matched(accesses, figures)
    assert told in str(refusal.value)


@exhaustive
@pytest.mark.parametrize("figures", [{"load tle[tx, ty]": (1, 1)}, {"tile[tx, ty]": (1, -1)}])
def test_a_refusal_is_no_try(figures):
    """Nothing is judged, and nothing kept of a forecast that cannot be read."""
    answer = forecast("ex03_flip", flip_over, figures)
    assert not answer and answer.lines == () and answer.refusal
    assert first_try_of("ex03_flip") is None
    assert max(map(len, repr(answer).splitlines())) <= PRINTED_COLUMNS


def test_huge_figures(accesses):
    """A number beyond any float is a figure like any other."""
    check_form("ex03_flip", "flip_over", {"inp[row, col]": (10**400, 128)})
    given = matched(accesses, {"inp[row, col]": (10**400, 128)})
    assert given["load inp[row, col]"] == {"requests": 10**400, "sectors": 128}


def test_a_name_of_several():
    """A text that stands several times wants its number, a load and a store their kind."""
    twice = edited(scale, {"out[i]": "out[i] = inp[i]\nout[i] += inp[i]"})
    arrays = np.zeros(128, np.float32), np.zeros(128, np.float32)
    found = accesses_of(trace(twice, checks=False)[1, 128](*arrays))
    names = ("load inp[i] #1", "inp[i] #2", "load out[i]", "store out[i] #1", "out[i] #2")
    assert all(
        list(one.values()) == [4, 16]
        for one in matched(found, dict.fromkeys(names, (4, 16))).values()
    )
    for said, instead in (
        ("inp[i]", {'"load inp[i] #1"', '"load inp[i] #2"'}),
        ("out[i]", {'"store out[i] #1"', '"load out[i]"', '"store out[i] #2"'}),
    ):
        with pytest.raises(Refused) as refusal:
            matched(found, {said: (4, 16)})
        assert set(re.findall(r'"[^"]*"', str(refusal.value))) == instead | {f'"{said}"'}


def test_unknown_exercise():
    """The name is asked for as check asks."""
    found = forecast("ex00_scal", scale)
    assert "ex00_scale" in found.refusal
    assert repr(found).splitlines()[0] == "unknown exercise ex00_scal"
    assert "unknown exercise ex00_scal" in found._repr_html_()
    assert "not yet" not in repr(found) + found._repr_html_()
    assert "ex00_scale" in forecast(scale, {}).refusal


# --- kernels cut otherwise ------------------------------------------------------------------


def test_from_an_empty_signature():
    """The figures that one works out by hand for six tiles and blocks of 32 x 8."""
    assert forecast_of(EXERCISE, running_sums, RUNNING)


BY_HAND = {
    "with_a_function": {
        "load given[first + y, left + lane]": (192, 768),
        "store pieces[y, lane]": (192, 192),
        "load pieces[y, lane]": (192, 192),
        "store result[first + y, left + lane]": (192, 768),
        "load cells[row, at] (pieces)": (192, 192),
        "store cells[row, at] (pieces)": (192, 192),
    },
    "swizzled": {
        "load inp[top + y, left + tx]": (192, 768),
        "store line[tx ^ y] (tile)": (192, 192),
        "load tile[tx, k ^ tx]": (192, 192),
        "store tile[tx, k ^ tx]": (192, 192),
        "load tile[y, tx ^ y]": (192, 192),
        "store out[top + y, left + tx]": (192, 768),
    },
    "added_in_place": {
        "load inp[top + y, left + tx]": (192, 768),
        "store tile[y, tx]": (192, 192),
        "load tile[tx, k - 1]": (186, 186),
        "load tile[tx, k]": (186, 186),
        "store tile[tx, k]": (186, 186),
        "load tile[y, tx]": (192, 192),
        "store out[top + y, left + tx]": (192, 768),
    },
}


@exhaustive
@pytest.mark.parametrize("name", BY_HAND)
def test_cut_otherwise(name):
    """Device functions, views, swizzles, updates in place, two statements on a line."""
    kernel = getattr(cut_otherwise, name)
    table = forecast_of(EXERCISE, kernel).table
    assert filled(table, [0] * 99).keys() == BY_HAND[name].keys()
    answer = forecast_of(EXERCISE, kernel, BY_HAND[name])
    assert answer, answer


# --- the record -----------------------------------------------------------------------------


def test_first_try_is_kept():
    """The score of the first complete forecast stays; it stands in the table of progress."""
    forecast("ex03_flip", flip_over, {"tile[tx, ty]": (192, 6144)})
    assert first_try_of("ex03_flip") is None
    assert forecast("ex03_flip", flip_over, FLIP).first_try == (3, 4)
    stored = json.loads(file().read_text())["exercises"]["ex03_flip"]
    assert stored == {
        "done": True,
        "checks": 2,
        "hints": 0,
        "forecast": {"right": 3, "of": 4},
    }
    tries.forget()
    again = forecast("ex03_flip", flip_over, FLIP)
    assert again.first_try == (3, 4) and "earlier" not in dict(again.rows)["first try"]
    assert "forecast 3 of 4 at first try" in repr(progress())
    assert "forecast 3 of 4 at first try" in progress()._repr_html_()


def test_a_first_try_of_another_form():
    """A kept score says its unit, and where it was of a kernel with other accesses."""
    remember("ex03_flip", forecast=(2, 3))
    kept = dict(forecast("ex03_flip", flip_over, FLIP).rows)["first try"]
    assert "2 of 3 accesses" in kept and "earlier" in kept


@pytest.mark.parametrize("kept", [None, 3, {}, {"right": "all", "of": 4}, {"right": 3}])
def test_files_of_other_versions(kept):
    """A file without a forecast, or with what is none, is read; all other keys stay."""
    folder().mkdir(parents=True)
    entry = {"done": True, "checks": 5, "hints": 1, "stars": 2}
    entry |= {} if kept is None else {"forecast": kept}
    file().write_text(json.dumps({"schema": 1, "exercises": {"ex03_flip": entry}}))
    assert "ex03_flip" in progress().done and "first try" not in repr(progress())
    remember("ex03_flip", forecast=(2, 4))
    stored = json.loads(file().read_text())["exercises"]["ex03_flip"]
    assert stored == entry | {"forecast": {"right": 2, "of": 4}}
    remember("ex03_flip", forecast=(4, 4))
    assert first_try_of("ex03_flip") == (2, 4)


@exhaustive
def test_no_record(monkeypatch):
    """With the record off the session's own score is said."""
    monkeypatch.setenv("SMEMNB_PROGRESS", "off")
    assert forecast("ex03_flip", flip_over, FLIP | {"inp[row, col]": None}).first_try is None
    wrong = {**FLIP, "load inp[row, col]": (192, 700)}
    assert forecast("ex03_flip", flip_over, wrong).first_try == (3, 4)
    assert forecast("ex03_flip", flip_over, FLIP).first_try == (3, 4)
    assert not file().exists()


# --- text and HTML --------------------------------------------------------------------------


@exhaustive
@pytest.mark.parametrize(
    "figures",
    [
        None,
        FLIP,
        FLIP | {"load tile[tx, ty]": (6, 6144)},
        {"inp[row, col]": (192, 768)},
        {"inp[row, col]": (192, 0.5)},
    ],
    ids=["table", "right", "wrong", "open", "refused"],
)
def test_text_and_html(figures):
    """No line too long; the HTML has the same words, and styles on its elements alone."""
    answer = forecast("ex03_flip", flip_over, figures)
    text, page = repr(answer), answer._repr_html_()
    assert max(map(len, text.splitlines())) <= PRINTED_COLUMNS
    shown = unescape(re.sub(r"<[^>]*>", " ", page)).replace("\u00a0", " ")
    words = re.findall(r"\w+", text)
    assert [word for word in words if word not in re.findall(r"\w+", shown)] == []
    assert "<style" not in page and "<script" not in page


def test_code_in_names_is_escaped():
    """An index with < stands as text."""
    line = Line("load inp[i < 0]", "line 3", "open", (("requests", 1),), ("sectors",))
    answer = Forecast("ex00_scale", launch="grid 1", lines=(line,))
    page = answer._repr_html_()
    assert "i &lt; 0" in page and "i < 0" not in page
    assert all(word in unescape(page) for word in re.findall(r"\w+", repr(answer)))


@exhaustive
def test_every_answer_is_the_same_again():
    """No addresses, times or paths: equal calls give equal texts."""
    figures = FLIP | {"load tile[tx, ty]": (6, 6144)}
    once, again = (forecast("ex03_flip", flip_over, figures) for _ in range(2))
    assert repr(once) == repr(again)
    assert once._repr_html_() == again._repr_html_()
