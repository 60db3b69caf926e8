"""The explorer in a real browser: its rule, keys, light, motion, themes."""

import re

import numpy as np
import pytest

from smemnb.figures.explorer import module_text, page, state
from smemnb.kernels.transpose import transpose_tiled
from smemnb.rules.layout import Padded, RowMajor, Xor
from smemnb.tracing import trace
from tests.figures.explorer.javascript import (
    expected,
    hardware_requests,
    in_page,
    load,
    packed,
    random_requests,
)
from tests.figures.explorer.kernels import neighbours

pytestmark = pytest.mark.browser
REQUESTS, AT_A_TIME = 100_000, 10_000


@pytest.fixture(scope="module")
def report():
    inp = np.arange(100 * 70, dtype=np.float32).reshape(100, 70)
    return trace(transpose_tiled)[(3, 4), (32, 32)](np.zeros((70, 100), np.float32), inp)


@pytest.fixture
def show(chromium):
    """Show the page of what `explore` takes; each test ends with no error on the console."""
    contexts, errors = [], []

    def shown(given=None, wide=1440, **how):
        context = chromium.new_context(viewport={"width": wide, "height": 1000}, **how)
        contexts.append(context)
        tab = context.new_page()
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.on("console", lambda said: said.type == "error" and errors.append(said.text))
        tab.set_content(page(state(given)))
        tab.wait_for_selector(".smb[data-ways], .smb-broken")
        return tab

    yield shown
    for context in contexts:
        context.close()
    assert errors == []


def summary(tab):
    return tab.inner_text(".smb-summary")


def turn(tab, name, value):
    """Move a slider to a value."""
    tab.locator(f"[data-name='{name}']").fill(str(value))


# --- the rule ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_random_requests(chromium):
    """The page counts 100,000 random requests as `rules.bank` does."""
    tab = chromium.new_page()
    load(tab)
    requests = random_requests(REQUESTS, seed=2026)
    wrong = 0
    for first in range(0, REQUESTS, AT_A_TIME):
        part = [one[first : first + AT_A_TIME] for one in requests]
        got = in_page(tab, "counts", packed(*part))
        wrong += sum(a[:4] != b for a, b in zip(got, expected(*part), strict=True))
    tab.close()
    assert wrong == 0


def test_hardware(chromium):
    """The page equals every reading of an H200's counters."""
    tab = chromium.new_page()
    load(tab)
    requests, wavefronts = hardware_requests()
    got = in_page(tab, "counts", packed(*requests))
    tab.close()
    assert [counts[0] for counts in got] == wavefronts
    assert len(wavefronts) == 156


# --- settings ------------------------------------------------------------------------------------


def test_pad_by_keyboard(show):
    """One key moves the pad from 0 to 1, and the page says 1 where it said 32."""
    tab = show()
    assert summary(tab) == "32-way: 32 wavefronts, 31 extra"
    tab.locator("[data-name=pad]").focus()
    tab.keyboard.press("ArrowRight")
    assert summary(tab) == "1-way: 1 wavefront, 0 extra"
    assert tab.get_attribute(".smb", "data-wavefronts") == "1"
    tab.keyboard.press("ArrowLeft")
    assert summary(tab) == "32-way: 32 wavefronts, 31 extra"


def test_everything_is_reached_by_tab(show):
    """Every control is a stop of the Tab key; lanes, banks and elements are one stop each."""
    tab = show()
    tab.locator("body").click(position={"x": 1, "y": 1})
    stops = []
    for _ in range(30):
        tab.keyboard.press("Tab")
        stop = tab.evaluate(
            "() => { const e = document.activeElement;"
            " return e === document.body ? '' : e.dataset.name || e.getAttribute('aria-label')"
            " || e.className; }"
        )
        if not stop:
            break
        stops.append(re.sub(r"[:,].*", "", stop))
    assert stops == [
        *("smb-index", "stride", "ty", "active lanes", "access", "vector"),
        *("pad", "swizzle", "element"),
        *("lane 0", "bank 0"),
        *("Back one wavefront", "Play", "Step one wavefront on", "wavefront"),
        "row 0",
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"stride": 2}, "2-way: 2 wavefronts, 1 extra"),
        ({"stride": 0}, "1-way: 1 wavefront, 0 extra"),
        ({"active lanes": 7}, "7-way: 7 wavefronts, 6 extra"),
    ],
)
def test_sliders(show, changes, said):
    tab = show()
    for name, value in changes.items():
        turn(tab, name, value)
    assert summary(tab) == said


@pytest.mark.parametrize(
    ("index", "choices", "said"),
    [
        ("tile[tx, ty]", {"swizzle": "xor"}, "1-way: 1 wavefront, 0 extra"),
        ("lane * 32", {"swizzle": "bits"}, "1-way: 1 wavefront, 0 extra"),
        ("lane", {"element": "16"}, "1-way: 4 wavefronts, 0 extra"),
        ("lane * 8", {"vector": "4", "access": "store"}, "2-way: 8 wavefronts, 4 extra"),
        ("(lane & ~1) * 33 // 2 % 16", {"element": "8"}, "1-way: 1 wavefront, 0 extra"),
    ],
)
def test_index_and_choices(show, index, choices, said):
    """The learner's own index, with every choice that there is."""
    tab = show()
    tab.locator(".smb-index").fill(index)
    for name, value in choices.items():
        tab.locator(f"select[data-name='{name}']").select_option(value)
    assert summary(tab) == said


def test_index_that_cannot_be_read(show):
    """The box says that it is wrong, the page says why, and goes on when it is mended."""
    tab = show()
    box = tab.locator(".smb-index")
    box.fill("lane / 2")
    assert "//" in summary(tab)
    assert box.get_attribute("aria-invalid") == "true"
    assert tab.get_attribute(".smb", "data-wavefronts") is None
    box.fill("lane // 2")
    assert (summary(tab), box.get_attribute("aria-invalid")) == (
        "1-way: 1 wavefront, 0 extra",
        "false",
    )


def test_misaligned_vector(show):
    """A pad of one float under 16-byte vectors is a misaligned address, on the page as on a GPU."""
    tab = show()
    tab.locator("select[data-name=vector]").select_option("4")
    turn(tab, "pad", 1)
    assert summary(tab).startswith("misaligned address: lane 1 ")
    turn(tab, "pad", 4)
    assert summary(tab) == "1-way: 4 wavefronts, 0 extra"


def test_nothing_is_run(show):
    """Text in the box is never run as a program."""
    tab = show()
    tab.locator(".smb-index").fill("window.hacked = 1")
    tab.locator(".smb-index").fill("[].map.constructor('window.hacked=1')()")
    assert tab.evaluate("window.hacked === undefined")


def test_swizzle_that_does_not_fit(show):
    """A swizzle that would leave the row cannot be chosen."""
    tab = show(RowMajor(32, 33))
    assert tab.locator("select[data-name=swizzle] option:disabled").evaluate_all(
        "all => all.map((one) => one.value)"
    ) == ["xor", "xor_chunks", "rotated"]


@pytest.mark.parametrize(
    ("layout", "ways"), [(Padded(32, 32), "1"), (Xor(32, 32), "1"), (None, "32")]
)
def test_layouts(show, layout, ways):
    assert show(layout).get_attribute(".smb", "data-ways") == ways


# --- light ---------------------------------------------------------------------------------------


def lit(tab, what):
    """Text or place of what is lit."""
    script = (
        "all => all.map((e) => e.dataset.row ? `${e.dataset.row},${e.dataset.col}` : e.innerText)"
    )
    return tab.locator(f".smb-{what}.smb-lit").evaluate_all(script)


def numbers(texts):
    """First number of each text: of a bank without its n-way."""
    return [int(re.match(r"\d+", text)[0]) for text in texts]


def test_hover_a_lane(show):
    """Hovering a lane lights its element, its bank and its place in the queue."""
    tab = show(Padded(32, 32))
    tab.locator(".smb-lane").nth(5).hover()
    assert (numbers(lit(tab, "lane")), lit(tab, "cell"), numbers(lit(tab, "bank"))) == (
        *([5], ["5,0"]),
        [5],
    )
    assert "lane 5: element [5, 0], address 660, bank 5" in tab.inner_text(".smb-info")
    assert tab.locator(".smb-token.smb-lit").count() == 1
    tab.mouse.move(1, 1)
    assert (lit(tab, "lane"), lit(tab, "cell")) == ([], [])


def test_hover_an_element_and_a_bank(show):
    """And back: an element lights its lane and bank, a bank all its lanes and their elements."""
    tab = show()
    tab.locator("[data-row='7'][data-col='0']").hover()
    assert (numbers(lit(tab, "lane")), numbers(lit(tab, "bank"))) == ([7], [0])
    tab.locator("[data-row='7'][data-col='3']").hover()
    assert (lit(tab, "lane"), numbers(lit(tab, "bank")), lit(tab, "cell")) == ([], [3], ["7,3"])
    tab.locator(".smb-bank").nth(0).hover()
    assert numbers(lit(tab, "lane")) == list(range(32))
    assert lit(tab, "cell") == [f"{row},0" for row in range(32)]


def test_light_by_keyboard(show):
    """Focus lights as the pointer does; arrow keys walk; what is lit is said to a screen reader."""
    tab = show()
    tab.locator(".smb-lane").nth(0).focus()
    for _ in range(3):
        tab.keyboard.press("ArrowRight")
    assert (numbers(lit(tab, "lane")), lit(tab, "cell")) == ([3], ["3,0"])
    said = tab.evaluate("document.activeElement.getAttribute('aria-label')")
    assert said == "lane 3: element [3, 0], address 384, bank 0, wavefront 4 of 32"
    tab.keyboard.press("End")
    assert lit(tab, "cell") == ["31,0"]
    tab.locator("[data-row='0'][data-col='0']").focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    assert numbers(lit(tab, "lane")) == [2]
    assert tab.evaluate("document.activeElement.getAttribute('aria-label')") == (
        "row 2, column 0, bank 0, lane 2, wavefront 3"
    )


def test_press_keeps_the_light(show):
    """A pressed lane stays lit when the pointer leaves, and is let go by a second press."""
    tab = show()
    lane = tab.locator(".smb-lane").nth(9)
    lane.click()
    tab.locator(".smb-lane").nth(4).hover()
    assert (numbers(lit(tab, "lane")), lane.get_attribute("aria-pressed")) == ([9], "true")
    lane.click()
    assert lane.get_attribute("aria-pressed") == "false"


def test_screen_reader(show):
    """The summary is announced, the tile is a grid of its elements, drawings are not read."""
    tab = show()
    for name, value in (("role", "status"), ("aria-live", "polite")):
        assert tab.get_attribute(".smb-summary", name) == value
    assert tab.locator("[role=grid] [role=row]").count() == 32
    assert tab.locator("[role=grid] [role=gridcell]").count() == 1024
    assert tab.locator(".smb-token:not([aria-hidden=true])").count() == 0
    unnamed = "all => all.filter((e) => !e.labels?.length && !e.getAttribute('aria-label')).length"
    assert tab.locator(".smb input, .smb select, .smb button").evaluate_all(unnamed) == 0


# --- wavefronts ----------------------------------------------------------------------------------


def test_steps(show):
    """A step serves a wavefront: its lanes leave the queues, the words say which."""
    tab = show()
    turn(tab, "stride", 8)
    step = tab.get_by_role("button", name="Step")
    for _ in range(3):
        step.click()
    assert tab.inner_text(".smb-turn") == "wavefront 3 of 8 serves 4 lanes"
    assert tab.locator(".smb-token.smb-gone").count() == 12
    assert tab.locator(".smb-cell.smb-now").evaluate_all(
        "all => all.map((e) => `${e.dataset.row},${e.dataset.col}`)"
    ) == ["2,0", "2,8", "2,16", "2,24"]
    tab.get_by_role("button", name="Back").click()
    assert tab.inner_text(".smb-turn") == "wavefront 2 of 8 serves 4 lanes"
    slide = tab.get_by_label("wavefront", exact=True)
    slide.fill("9")
    assert slide.get_attribute("aria-valuetext") == "wavefront 8 of 8 serves 4 lanes"
    assert tab.locator(".smb-token.smb-gone").count() == 32
    slide.fill("0")
    assert tab.inner_text(".smb-turn") == "32 lanes ask at once"


def test_queue_is_as_high_as_its_wavefronts(show):
    """Tokens pile up: with stride 8 eight banks hold four each, the first of each is not extra."""
    tab = show()
    turn(tab, "stride", 4)
    assert tab.locator(".smb-token.smb-extra").count() == 24
    tab.wait_for_timeout(500)  # they are on their way
    places = tab.locator(".smb-token").evaluate_all(
        "all => all.map((e) => e.getBoundingClientRect()).map((r) => [r.x | 0, r.y | 0])"
    )
    assert len({x for x, _ in places}) == 8
    assert len({y for _, y in places}) == 4


def test_play(show):
    """Played, the request flies, queues and drains to its end by itself."""
    tab = show(Padded(32, 32))
    tab.get_by_role("button", name="Play").click()
    assert tab.inner_text(".smb-turn") == "32 lanes ask at once"
    assert tab.get_by_role("button", name="Pause").count() == 1
    tab.wait_for_function(
        "document.querySelector('.smb-turn').innerText === 'wavefront 1 of 1 serves 32 lanes'"
    )
    assert tab.get_by_role("button", name="Play").count() == 1


@pytest.mark.parametrize(("motion", "seconds"), [("reduce", "0s"), ("no-preference", "0.3s")])
def test_reduced_motion(show, motion, seconds):
    """Whoever asks for less motion sees places change, and nothing fly."""
    tab = show(reduced_motion=motion)
    style = "e => getComputedStyle(e).transitionDuration.split(', ')[0]"
    assert tab.locator(".smb-token").first.evaluate(style) == seconds


# --- a trace -------------------------------------------------------------------------------------


def test_requests_of_a_line(show, report):
    """The requests of a line step by step, each with its count; the sums are the trace's."""
    tab = show(report)
    load = [row for row in report.lines if row.space == "shared"][1]
    assert f"{load.wavefronts:,} wavefronts" in tab.inner_text(".smb-detail")
    assert load.source.strip() in tab.inner_text(".smb-source")
    assert "request 1 of 64, made 9 times" in tab.inner_text(".smb-which")
    total, times = 0, r"made (?:(\d+) times|once)"
    following = tab.get_by_role("button", name="Next request")
    for _ in range(64):
        made = re.search(times, tab.inner_text(".smb-which"))[1]
        total += int(made or 1) * int(tab.get_attribute(".smb", "data-wavefronts"))
        if following.is_enabled():
            following.click()
    assert total == load.wavefronts


def test_lines_of_a_trace(show, report):
    """Another line can be chosen, and an index of one's own on the same tile."""
    tab = show(report)
    lines = tab.locator(".smb-lines select")
    lines.select_option("0")
    assert summary(tab) == "1-way: 1 wavefront, 0 extra"
    assert not tab.locator(".smb-index").is_visible()
    lines.select_option("-1")
    assert tab.locator(".smb-index").is_visible()
    assert summary(tab) == "32-way: 32 wavefronts, 31 extra"


def test_what_if(show, report):
    """A recorded request with another pad: what it would be, beside what it was."""
    tab = show(report)
    load = [row for row in report.lines if row.space == "shared"][1]
    assert summary(tab) == "32-way: 32 wavefronts, 31 extra"
    assert f"whole launch: {load.requests:,} requests" in tab.inner_text(".smb-detail")
    turn(tab, "pad", 1)
    assert summary(tab) == "1-way: 1 wavefront, 0 extra"
    said = tab.inner_text(".smb-detail")
    assert f"whole launch as recorded (pad 0, swizzle none): {load.requests:,} requests" in said
    assert "request as recorded: 32-way: 32 wavefronts" in said


def test_groups_of_controls(show):
    """What a reader sets is named: the request, and the layout."""
    groups = show().locator(".smb-group")
    names = groups.evaluate_all("all => all.map((e) => e.getAttribute('aria-label'))")
    assert names == ["the warp asks", "layout of the tile"]


def test_array_of_one_dimension(show):
    """Its last row ends with its last element, and the arrow keys stop there."""
    out, inp = np.zeros(128, np.float32), np.ones(130, np.float32)
    tab = show(trace(neighbours)[1, 128](out, inp))
    assert "the tile takes 520 bytes" in tab.inner_text(".smb-detail")
    assert "array of 130 elements of 4 bytes, in rows of 32" in tab.inner_text(".smb-caption")
    rows = "all => all.map((e) => e.querySelectorAll('[data-row]').length)"
    assert tab.locator(".smb-cells[role=row]").evaluate_all(rows) == [32, 32, 32, 32, 2]
    turn(tab, "pad", 1)
    assert tab.locator(".smb-cell.smb-pad").count() == 4
    tab.locator("[data-row='3'][data-col='20']").focus()
    tab.keyboard.press("ArrowDown")
    assert tab.evaluate(
        "[document.activeElement.dataset.row, document.activeElement.dataset.col]"
    ) == ["4", "1"]


# --- themes and sizes ----------------------------------------------------------------------------


def colours(tab):
    """Luminance of ink and of the paper that an element lies on."""
    script = """e => {
      const rgb = (c) => c.match(/[\\d.]+/g).map(Number);
      const style = getComputedStyle(e);
      return [style.color, style.getPropertyValue('--paper')].map((c) =>
        c.startsWith('#') ? parseInt(c.slice(1, 3), 16) : rgb(c)[0]);
    }"""
    return tab.locator(".smb").evaluate(script)


def test_light_and_dark(show):
    """Ink and paper follow the reader's system, or the page's own theme where it has one."""
    ink, paper = colours(show(color_scheme="light"))
    assert ink < 64 < 192 < paper
    dark = show(color_scheme="dark")
    ink, paper = colours(dark)
    assert paper < 64 < 192 < ink
    dark.evaluate("document.documentElement.dataset.theme = 'light'")
    ink, paper = colours(dark)
    assert ink < 64 < 192 < paper


@pytest.mark.parametrize("wide", [1440, 1024, 600])
@pytest.mark.parametrize("layout", [None, Xor(64, 64)], ids=["32x32", "64x64"])
def test_fits(show, wide, layout):
    """Nothing scrolls sideways, down to the width of an output beside JupyterLab's file browser."""
    tab = show(layout, wide=wide)
    sizes = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    have, room = tab.evaluate(sizes)
    assert have <= room
    parts = "all => all.map((e) => [e.scrollWidth, e.clientWidth])"
    for over, inner in tab.locator(".smb, .smb-tile, .smb-board").evaluate_all(parts):
        assert over <= inner


def test_module_as_a_file(chromium, tmp_path, report):
    """A site keeps the module in a file of its own: two explorers on a page do not disturb."""
    (tmp_path / "explorer.js").write_text(module_text(), encoding="utf-8")
    text = page(state(report), module="./explorer.js")
    more = (
        '<div id="two"></div><script type="module">import { mount } from "./explorer.js";'
        'mount(document.getElementById("two"), JSON.parse('
        'document.getElementById("explorer-state").textContent));</script></body>'
    )
    (tmp_path / "index.html").write_text(text.replace("</body>", more), encoding="utf-8")
    context = chromium.new_context()
    tab = context.new_page()
    tab.route(
        "http://site/**",
        lambda route: route.fulfill(path=tmp_path / route.request.url.rpartition("/")[2]),
    )
    tab.goto("http://site/index.html")
    tab.wait_for_function("document.querySelectorAll('.smb[data-ways]').length === 2")
    tab.locator("#two [data-name=pad]").fill("1")
    assert tab.locator(".smb-summary").all_inner_texts() == [
        "32-way: 32 wavefronts, 31 extra",
        "1-way: 1 wavefront, 0 extra",
    ]
    context.close()
