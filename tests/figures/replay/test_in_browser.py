"""The replay in a real browser: to the red element, barriers, keys, words, themes."""

import inspect

import numpy as np
import pytest

import smemnb
from smemnb.figures.replay import page, state
from smemnb.figures.replay.words import said_move
from smemnb.kernels.transpose import transpose_tiled
from tests.figures.replay.kernels import ahead, bare, line_of, product

pytestmark = pytest.mark.browser
FULL, READ = line_of(product, "# both tiles are full"), line_of(product, "# everyone has read")


@pytest.fixture(scope="module")
def products():
    a, b = np.ones((8, 16), np.float32), np.ones((16, 8), np.float32)
    return smemnb.replay(product)[1, (8, 8)](np.zeros((8, 8), np.float32), a, b)


@pytest.fixture
def show(chromium):
    """Show the page of a replay; each test ends with no error on the console."""
    contexts, errors = [], []

    def shown(found, wide=1100, text=None, **how):
        context = chromium.new_context(viewport={"width": wide, "height": 900}, **how)
        contexts.append(context)
        tab = context.new_page()
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.on("console", lambda said: said.type == "error" and errors.append(said.text))
        tab.set_content(text or found.page())
        tab.wait_for_selector(".smr[data-step]")
        return tab

    yield shown
    for context in contexts:
        context.close()
    assert errors == []


def at(tab, name):
    return tab.get_attribute(".smr", f"data-{name}")


def marks(tab, array, what):
    """How many elements of an array are marked."""
    return int(tab.get_attribute(f"canvas[data-tile={array}]", f"data-{what}"))


def press(tab, name):
    tab.get_by_role("button", name=name, exact=True).click()


def colour(tab, array, row, col, rows, cols):
    """Red, green, blue in the middle of an element's left edge, clear of crosses and dots."""
    script = """(e, [x, y]) => {
      const at = [Math.floor(x * e.width), Math.floor(y * e.height), 1, 1];
      return [...e.getContext('2d').getImageData(...at).data].slice(0, 3);
    }"""
    place = [(col + 0.15) / cols, (row + 0.5) / rows]
    return tab.locator(f"canvas[data-tile={array}]").evaluate(script, place)


# --- runs and steps ------------------------------------------------------------------------------


def test_to_the_red_element(show, products):
    """The first barrier is taken out; Play goes on to the first stale read and stops there."""
    tab = show(products)
    assert (at(tab, "without"), at(tab, "stale")) == ("", "0")
    tab.get_by_label(f"line {FULL}").uncheck()
    assert at(tab, "without") == str(FULL)
    press(tab, "Play")
    tab.wait_for_selector(".smr[data-stale]:not([data-stale='0'])")
    tab.wait_for_selector("button[aria-label=Play]")  # it has stopped
    assert (at(tab, "step"), at(tab, "warp"), at(tab, "stale")) == ("1", "1", "128")
    assert marks(tab, "b_tile", "stale") == 32
    assert marks(tab, "a_tile", "stale") == 0
    first = products.without(FULL).stale[0]
    index = ", ".join(map(str, first.index))
    assert f"line {first.line}, thread {first.thread[:2]}" in tab.inner_text(".smr-first")
    assert f"{first.array}[{index}]" in tab.inner_text(".smr-first")
    assert colour(tab, "b_tile", 0, 0, 8, 8) == [179, 71, 0]  # --red
    assert colour(tab, "b_tile", 7, 7, 8, 8) != [179, 71, 0]


def test_one_box_per_barrier(show, products):
    """A box is checked unless its barrier is out; at most one is."""
    tab = show(products)
    boxes = tab.locator("input[type=checkbox]")
    assert boxes.count() == 2
    for line in (FULL, READ):
        tab.get_by_label(f"line {line}").uncheck()
        assert at(tab, "without") == str(line)
        unchecked = tab.locator("input[type=checkbox]:not(:checked)")
        assert unchecked.evaluate_all("all => all.map((e) => e.dataset.line)") == [str(line)]
    tab.get_by_label(f"line {READ}").check()
    assert at(tab, "without") == ""
    summary = tab.inner_text(".smr-summary")
    assert str(products.without(READ).stale_count) not in summary


def test_no_boxes_without_barriers(show):
    """A kernel without barriers has none to take out; the page says so and has no empty box."""
    inp = np.arange(128, dtype=np.float32)
    tab = show(smemnb.replay(bare)[1, 128](np.zeros_like(inp), inp))
    assert tab.locator(".smr-barriers").count() == 0
    assert "no barriers" in tab.inner_text(".smr-title")
    assert "lockstep order" in tab.inner_text(".smr-how")


def test_each_step(show, products):
    """Written and read elements of each step are those of the record."""
    tab = show(products)
    run = products.run
    for number, step in enumerate(run.steps):
        assert (at(tab, "step"), at(tab, "warp")) == (str(number), str(step.warp))
        assert at(tab, "phase") == str(step.phase + 1)
        for tile, array in enumerate(run.tiles):
            if array.space != "shared":
                continue
            events = [one for one in run.events[step.first : step.end] if one.tile == tile]
            for kind, what in (("store", "written"), ("load", "read")):
                touched = {int(one) for e in events if e.kind == kind for one in e.elements}
                assert marks(tab, array.name, what) == len(touched)
        press(tab, "Step on")


def test_keys(show, products):
    """Arrows step, Home and End go to the ends, Page up and down to phases."""
    tab = show(products)
    last = len(products.run.steps) - 1
    for focus in ("[aria-label=step]", "button[aria-label='Step on']"):
        tab.locator(focus).focus()
        tab.keyboard.press("Home")
        assert at(tab, "step") == "0"
        tab.keyboard.press("ArrowRight")
        tab.keyboard.press("ArrowRight")
        assert at(tab, "step") == "2"
        tab.keyboard.press("ArrowLeft")
        assert at(tab, "step") == "1"
        tab.keyboard.press("End")
        assert at(tab, "step") == str(last)
    tab.keyboard.press("Home")
    tab.keyboard.press("PageDown")
    assert (at(tab, "phase"), at(tab, "step")) == ("2", "2")
    tab.keyboard.press("PageUp")
    assert at(tab, "step") == "0"


def test_source(show, products):
    """The whole text of the kernel is there; the lines of a step are marked, and in view."""
    tab = show(products)
    lines, first = inspect.getsourcelines(product.py_func)
    shown = tab.locator(".smr-line")
    assert shown.count() == len(lines)
    for number, line in enumerate(lines):
        assert "".join(shown.nth(number).text_content().split()) == "".join(
            [str(first + number), *line.split()]
        )
    tab.evaluate("document.querySelector('.smr-source').style.maxHeight = '4em'")
    for _ in range(6):
        press(tab, "Step on")
        now = tab.locator(".smr-now").first
        inside = now.evaluate(
            """e => {
              const line = e.getBoundingClientRect();
              const all = e.parentElement.getBoundingClientRect();
              return line.top >= all.top - 1 && line.bottom <= all.bottom + 1;
            }"""
        )
        assert inside, now.text_content()


def test_words_of_a_step(show, products):
    """Each step is said to a screen reader, and is the value of the slider."""
    tab = show(products)
    said = tab.locator(".smr-said")
    assert (said.get_attribute("role"), said.get_attribute("aria-live")) == ("status", "polite")
    press(tab, "Step on")
    text = said.inner_text()
    assert "Step 2 of" in text and "warp 0" in text and "a_tile" in text
    assert "warp 0" in tab.get_attribute("[aria-label=step]", "aria-valuetext")


def test_order_of_warps(show, products):
    """Below "warps in reversed order" stands what that means, for the run that is shown."""
    tab = show(products)
    assert "in reversed order" in tab.inner_text(".smr-summary")
    assert "one after the other, the last one first" in tab.inner_text(".smr-how")
    runs = [{**run, "how": f"run {at}"} for at, run in enumerate(products.state["runs"])]
    tab = show(products, text=page({**products.state, "runs": runs}))
    tab.locator(f"[data-line='{FULL}']").uncheck()
    assert tab.inner_text(".smr-how") == "run 1"


def test_words_of_an_array(show, products):
    """Below an array stands what the whole phase does with it, beside the step's own words."""
    tab = show(products)
    part = f"line {line_of(product, '= a[')} writes a_tile[0:8, 0:8]"
    below = tab.locator("figure:has(> canvas[data-tile=a_tile]) > span")
    source = tab.locator("figure:has(> [data-array=a]) > span")
    assert below.inner_text() == f"in this phase: {part}"
    read = part.replace("writes a_tile", "reads a")
    assert source.inner_text() == f"in this phase: {read}"
    assert "32 elements" in tab.inner_text(".smr-said")
    press(tab, "On to the next phase")
    assert source.inner_text() == "not touched in this phase"


def test_elements_by_keyboard(show, products):
    """The cursor of a tile goes from element to element and says who wrote it."""
    tab = show(products)
    press(tab, "Step on")
    tab.locator("canvas[data-tile=a_tile]").focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    line = line_of(product, "= a[")
    assert (
        tab.inner_text(".smr-info") == f"a_tile[1, 1] = 1: written by thread (1, 1) in line {line}"
    )
    assert at(tab, "step") == "1"


def test_hover(show, products):
    """Before it is written an element says so."""
    tab = show(products)
    tab.locator("canvas[data-tile=b_tile]").hover(position={"x": 3, "y": 3})
    assert tab.inner_text(".smr-info") == "b_tile[0, 0]: not yet written"


@pytest.mark.parametrize(
    ("warps", "named"),
    [(1, [0]), (4, [0, 1, 2, 3]), (8, [*range(8)]), (9, [0, 3, 6, 8]), (32, [0, 10, 21, 31])],
)
def test_warps_of_the_legend(show, products, warps, named):
    """Up to eight warps each has its colour in the legend; of more there are four."""
    tab = show(products, text=page({**products.state, "warps": warps}))
    said = tab.locator(".smr-legend > span").all_inner_texts()
    assert [one for one in said if "warp" in one] == [f"written by warp {warp}" for warp in named]


# --- parts ---------------------------------------------------------------------------------------


SLID = """all => all.map((e) => [
  e.parentElement.dataset.array, e.style.left, e.style.top, e.style.width, e.style.height])"""


def test_operands(show, products):
    """The part that a phase stages slides over a and b, and rests there while tiles are read."""
    tab = show(products)
    active = tab.locator(".smr-part:not([hidden], .smr-resting)")
    resting = tab.locator(".smr-part.smr-resting:not([hidden])")
    first = [["a", "0%", "0%", "50%", "100%"], ["b", "0%", "0%", "100%", "50%"]]
    assert active.evaluate_all(SLID) == first
    press(tab, "On to the next phase")
    assert active.count() == 0 and resting.evaluate_all(SLID) == first
    press(tab, "On to the next phase")
    assert active.evaluate_all(SLID) == [
        ["a", "50%", "0%", "50%", "100%"],
        ["b", "0%", "50%", "100%", "50%"],
    ]
    assert tab.locator(".smr-own").evaluate_all(SLID) == [["out", "0%", "0%", "100%", "100%"]]
    assert tab.locator(".smr-moves li").all_inner_texts() == [
        said_move(products.film, one) for one in products.film.moves if one.phase == 2
    ]
    assert "a[0:8, 8:16]" in tab.inner_text(".smr-operands")


def test_elements_of_a_step(show, products):
    """Of a global array the elements are marked that the step's warp touches."""
    tab = show(products)
    now = [tab.get_attribute(f"[data-array={name}]", "data-now") for name in ("a", "b", "out")]
    assert now == ["32", "32", "0"]
    assert tab.locator("[data-array=a] canvas").evaluate(INK, [0.25, 0.75]) == [27, 27, 27]
    assert tab.locator("[data-array=a] canvas").evaluate(INK, [0.25, 0.25]) != [27, 27, 27]
    press(tab, "Step on")
    assert tab.locator("[data-array=a] canvas").evaluate(INK, [0.25, 0.25]) == [27, 27, 27]


INK = """(e, [x, y]) => {
  const at = [Math.floor(x * e.width), Math.floor(y * e.height), 1, 1];
  return [...e.getContext('2d').getImageData(...at).data].slice(0, 3);
}"""


def roles(tab):
    """What is written over each shared array, or over each buffer."""
    return tab.locator("figcaption .smr-role").all_inner_texts()


def test_two_buffers(show):
    """Played phase by phase, one buffer is filled while the other is read, and they swap."""
    args = (np.ones(shape, np.float32) for shape in ((8, 8), (8, 24), (24, 8)))
    found = smemnb.replay(ahead)[1, (8, 8)](*args)
    tab = show(found)
    views = tab.locator(".smr-tile canvas").evaluate_all(
        "all => all.map((e) => [e.dataset.tile, e.dataset.buffer])"
    )
    assert views == [[name, one] for name in ("a_tile", "b_tile") for one in ("0", "1")]
    press(tab, "Whole phases at a time")
    assert tab.get_attribute(".smr-whole", "aria-pressed") == "true"
    seen = []
    for phase in range(1, 6):
        assert (at(tab, "phase"), at(tab, "warp")) == (str(phase), "all")
        seen.append(roles(tab))
        buffers = tab.locator("canvas[data-tile=a_tile]").evaluate_all(
            "all => all.map((e) => [Number(e.dataset.written), Number(e.dataset.read)])"
        )
        done = [
            [sum(part.elements for part in found.film.parts if part[:2] == (phase - 1, tile)
                 and (part.kind == "load") == loads and number in part.buffers)
             for loads in (False, True)]
            for number in range(2) for tile, one in enumerate(found.film.tiles)
            if one.name == "a_tile"
        ]  # fmt: skip
        assert buffers == done
        tab.locator(".smr-slide").focus()
        tab.keyboard.press("ArrowRight")
    rest = "at rest"
    one = [["fill", rest], ["read", "fill"], ["fill", "read"], ["read", "fill"], [rest, rest]]
    assert seen == [[*pair, *pair] for pair in one]
    rows = tab.locator(".smr-turns tbody tr").all()
    table = [[one.inner_text() for one in row.locator("td").all()] for row in rows]
    assert table[:2] == [["fill", "read", "fill", "read", ""], ["", "fill", "read", "fill", ""]]
    press(tab, "Play")
    tab.wait_for_selector(".smr[data-phase='2']")
    tab.wait_for_selector(".smr[data-phase='5']")
    tab.wait_for_selector("button[aria-label=Play]")  # it has stopped at the end


def test_whole_phases_follow(show):
    """Where single elements have no room on the page, its last steps are whole phases."""
    args = (np.ones(shape, np.float32) for shape in ((8, 8), (8, 24), (24, 8)))
    found = smemnb.replay(ahead)[1, (8, 8)](*args)
    short = state(found.runs, 0, ahead.py_func, found.film, elements=2500)
    tab = show(found, text=page(short))
    tab.locator(".smr-slide").focus()
    tab.keyboard.press("End")
    assert (at(tab, "phase"), at(tab, "warp")) == ("5", "all")
    tab.keyboard.press("ArrowLeft")
    assert (at(tab, "phase"), at(tab, "warp")) == ("4", "all")
    assert roles(tab) == ["read", "fill"] * 2
    assert "a_tile[0, 0:8, 0:8]" in tab.inner_text(".smr-said")
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowLeft")
    assert (at(tab, "phase"), at(tab, "warp")) == ("2", "0")


# --- readers -------------------------------------------------------------------------------------


def colours(tab):
    script = """e => ['--ink', '--paper'].map((name) =>
      parseInt(getComputedStyle(e).getPropertyValue(name).trim().slice(1, 3), 16))"""
    return tab.locator(".smr").evaluate(script)


def test_light_and_dark(show, products):
    """Ink, paper and the drawn tile follow the system, or the theme that the page names."""
    ink, paper = colours(show(products, color_scheme="light"))
    assert ink < 64 < 192 < paper
    tab = show(products, color_scheme="dark")
    ink, paper = colours(tab)
    assert paper < 64 < 192 < ink
    before = colour(tab, "b_tile", 0, 0, 8, 8)
    tab.evaluate("document.documentElement.dataset.theme = 'light'")
    tab.wait_for_function("document.querySelector('.smr') !== null")
    ink, paper = colours(tab)
    assert ink < 64 < 192 < paper
    assert sum(colour(tab, "b_tile", 0, 0, 8, 8)) > sum(before) + 300


@pytest.mark.parametrize(("wish", "lasts"), [("reduce", "0s"), ("no-preference", "0.3s")])
def test_motion(show, products, wish, lasts):
    """Who wants less motion sees the tile jump."""
    tab = show(products, reduced_motion=wish)
    script = "e => getComputedStyle(e).transitionDuration.split(', ')[0]"
    assert tab.locator(".smr-part").first.evaluate(script) == lasts


@pytest.mark.parametrize("wide", [1100, 600])
def test_fits(show, wide):
    """Nothing scrolls sideways."""
    inp = np.zeros((70, 50), np.float32)
    line = line_of(transpose_tiled, "syncthreads")
    found = smemnb.replay(transpose_tiled, without=line)[(2, 3), (32, 32)](inp.T.copy(), inp)
    tab = show(found, wide=wide)
    sizes = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    have, room = tab.evaluate(sizes)
    assert have <= room
    press(tab, "Go to the first stale read")
    assert marks(tab, "tile", "stale") == 31
