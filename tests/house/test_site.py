"""The reading copy (docs/): all chapters and names are in it, and it asks no other host for a file.

The first tier looks at its sources. The second builds it with `python -m docs.build`, and reads it
in a browser.
"""

import doctest
import fnmatch
import importlib
import io
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import smemnb
from docs import docstrings, explorer, links, pages, reference, replay
from smemnb.version import VERSION
from tests.house.made_up import chapter
from tests.house.notebook_form import ROOT, chapters
from tests.house.notebook_style import terms

DOCS = ROOT / "docs"


# --- the sources ---------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [docstrings, pages, reference], ids=lambda one: one.__name__)
def test_examples(module):
    """The examples in the docstrings of the tools."""
    done = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert done.failed == 0 < done.attempted


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_chapters_are_in_the_contents(path):
    """Each chapter has a line in the contents, what it measures, and a place in the sidebar."""
    text = pages.index()
    (row,) = re.findall(rf"^\|.*\(chapters/{path.name}\) \|(.*)\|$", text, flags=re.MULTILINE)
    assert row.strip()
    assert len(re.findall(rf"<chapters/{path.stem}>$", text, flags=re.MULTILINE)) == 1


def with_public_names():
    """Modules with an `__all__` that one may import: the package, its rooms, their modules."""
    found = [smemnb]
    for room in {*dir(smemnb)} - {*smemnb.__all__}:
        package = importlib.import_module(f"smemnb.{room}")
        if hasattr(package, "__all__"):
            found.append(package)
            continue
        files = (ROOT / "smemnb" / room).glob("*")
        inside = sorted({one.stem for one in files if one.suffix in ("", ".py")})
        modules = [
            importlib.import_module(f"{package.__name__}.{name}")
            for name in inside
            if not name.startswith("_")
        ]
        found += [module for module in modules if hasattr(module, "__all__")]
    return sorted(found, key=lambda module: module.__name__)


def test_public_names():
    """Each name of each `__all__` is described, or its page says where it is."""
    whole = reference.pages()
    said = {}
    for text in whole.values():
        parts = re.split(r"^\.\. py:module:: (.+)$", text, flags=re.MULTILINE)[1:]
        said.update(zip(parts[::2], parts[1::2], strict=True))
    kinds = "autoclass|autofunction|py:data|py:function"
    modules = with_public_names()
    assert {"smemnb", "smemnb.rules.bank", "smemnb.tracing"} < {one.__name__ for one in modules}
    for module in modules:
        text = said[module.__name__]
        described = re.findall(rf"^\.\. (?:{kinds}):: (?:[\w.]+\.)?(\w+)", text, flags=re.M)
        elsewhere = re.findall(r"^:py:obj:`(\w+) <", text, flags=re.M)
        assert sorted([*described, *elsewhere]) == sorted(module.__all__), module.__name__


def test_names_elsewhere_are_described_there():
    """Where a page sends a reader for a name, there it is."""
    text = "\n".join(reference.pages().values())
    sent = set(re.findall(r"^:py:obj:`\w+ <([\w.]+)>`", text, flags=re.M))
    assert "smemnb.trace" in sent
    described = set(re.findall(r"^\.\. auto\w+:: ([\w.]+)", text, flags=re.M))
    assert sent <= described


def test_version():
    """The configuration takes the version from the package."""
    assert runpy.run_path(str(DOCS / "conf.py"))["release"] == VERSION
    assert VERSION not in (DOCS / "conf.py").read_text("utf-8")


def test_glossary_has_anchors():
    """Each word of the glossary can be linked to, once; its page is the glossary itself."""
    words = list(pages.terms((ROOT / "GLOSSARY.md").read_text("utf-8")))
    assert set(words) == terms()
    anchors = [pages.anchor(word) for word in words]
    assert len(anchors) == len(set(anchors)) > 100
    assert {"bank", "n-way", "extra-wavefronts", "uncoalesced"} <= set(anchors)


def unlinked(cell):
    """The outputs of a cell, HTML as one text without the places of its links."""
    outputs = json.loads(json.dumps(cell.get("outputs", [])))
    for output in outputs:
        data = output.get("data", {})
        if "text/html" in data:
            data["text/html"] = re.sub(r'href="[^"]*"', "", "".join(data["text/html"]))
    return outputs


def test_links_into_the_glossary():
    """Links of text cells and of stored HTML lead to the page of the glossary."""
    made = chapter()
    made.cells[2].source = "A [bank](../GLOSSARY.md#bank), and [more](../GLOSSARY.md)."
    html = {"text/html": ['<a href="../GLOSSARY.md#bank">', '<a href="GLOSSARY.md#n-way">']}
    made.cells[3].outputs = [nbformat.v4.new_output("display_data", data=html)]
    cells = json.loads(pages.chapter(nbformat.writes(made)))["cells"]
    text = "A [bank](../glossary.md#bank), and [more](../glossary.md)."
    assert cells[3]["source"] == text
    links_of = re.findall(r'href="([^"]*)"', cells[4]["outputs"][0]["data"]["text/html"])
    assert links_of == ["../glossary.html#bank", "../glossary.html#n-way"]


def _plain(text):
    """The text without the links of its bold words: a chapter may link one itself."""
    return re.sub(r"\[(\*\*[^*]+\*\*)\]\(\.\./GLOSSARY\.md#[^)]+\)", r"\1", text)


def test_words_of_chapters_are_linked():
    """A bold word of a chapter leads to the glossary; but for these and a note nothing changes."""
    anchors = {pages.anchor(word) for word in terms()}
    led = set()
    for path in chapters():
        before = json.loads(path.read_text("utf-8"))
        after = json.loads(pages.chapter(path.read_text("utf-8")))
        assert after["cells"].pop(1)["source"] == pages.NOTE
        for old, new in zip(before["cells"], after["cells"], strict=True):
            assert json.dumps(unlinked(old)) == json.dumps(unlinked(new))
            text = "".join(new["source"])
            led |= set(re.findall(r"\.\./glossary\.md#([^)]+)\)", text))
            here = re.sub(r"\]\(\.\./glossary\.md", "](../GLOSSARY.md", text)
            assert _plain(here) == _plain("".join(old["source"]))
            assert "[[" not in here or "[[" in "".join(old["source"])
    assert {"bank", "wavefront", "barrier"} <= led <= anchors


@pytest.mark.site
@pytest.mark.parametrize(
    "text",
    [
        "",
        "One `code` span.",
        "A `span\nover lines` and a lone ` mark, *args, **kwargs, a*b, |x| and global_ too.",
        "Words:\n    name   what it is\n    other  the same\nand on, without a blank line.",
        "name    what it is\nother   a line that\n        goes on",
        "Lists:\n- one\n- two, which\n  goes on\n\n1. three\n2. four",
        "Say it.\n\n>>> f(1)\n2\n\nArgs:\n    a: one, which\n        goes on.\n    b: two.\n\nEnd.",
        "Code:\n\n    if x:\n\n        y = `z`\n\n    return **y\n\n**Limits**: *none*.",
        "__all__ and _name_ and __init__, [grid, block]_ and a\\b.",
    ],
)
def test_docstrings_can_be_read(text):
    """Whatever a docstring holds, the parser has no complaint about what becomes of it."""
    from docutils.core import publish_doctree
    from sphinx.ext.napoleon import Config, GoogleDocstring

    told = io.StringIO()
    publish_doctree(
        str(GoogleDocstring(docstrings.restructured(text), Config())),
        settings_overrides={"warning_stream": told, "report_level": 1},
    )
    assert told.getvalue() == ""


@pytest.mark.parametrize("live", [explorer, replay], ids=lambda one: one.__name__)
def test_live_pages(live):
    """Each figure that can be shown stands in its page, once, and no other is asked for."""
    kind = live.__name__.rpartition(".")[2]
    text = (DOCS / f"{kind}.md").read_text("utf-8")
    assert re.findall(rf"<!-- {kind}: (\w+) -->", text) == list(live.SHOWN)


# --- the check of built pages --------------------------------------------------------------------

FOREIGN = "https://example.org/x"


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("a.html", '<a href="b.html#here">', 0),
        ("a.html", '<a href="b.html#there">', 1),
        ("a.html", '<a href="c.html">', 1),
        ("a.html", '<p id="x"><a href="#x"><a href="#y">', 1),
        ("a.html", f'<a href="{FOREIGN}">', 0),
        ("a.html", f'<link rel="canonical" href="{FOREIGN}">', 0),
        ("a.html", f'<link rel="stylesheet" href="{FOREIGN}">', 1),
        ("a.html", f'<link rel="preconnect" href="{FOREIGN}">', 1),
        ("a.html", f'<script src="{FOREIGN}"></script>', 1),
        ("a.html", '<script src="//example.org/x.js"></script>', 1),
        ("a.html", '<script src="x.js?v=1"></script>', 1),
        ("a.html", '<script src="own.js?v=1"></script>', 0),
        ("a.html", f'<img src="{FOREIGN}">', 1),
        ("a.html", f'<img srcset="{FOREIGN} 2x">', 1),
        ("a.html", '<img src="data:image/png;base64,AA">', 0),
        ("a.html", f'<script type="module">import {{ a }} from "{FOREIGN}";</script>', 1),
        ("a.css", f"@font-face {{ src: url({FOREIGN}) }}", 1),
        ("a.css", f'@import "{FOREIGN}";', 1),
        ("a.css", "p { background: url(own.png) }", 0),
        ("a.js", f'import("{FOREIGN}")', 1),
        ("a.js", f'fetch("{FOREIGN}")', 1),
        ("a.js", f"// see {FOREIGN}", 0),
    ],
)
def test_faults_are_found(tmp_path, name, text, count):
    """A broken link or anchor, and whatever a page would load from another host."""
    (tmp_path / "b.html").write_text('<p id="here">', encoding="utf-8")
    (tmp_path / "own.js").write_text("", encoding="utf-8")
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert len(links.problems(tmp_path)) == count


# --- what is built -------------------------------------------------------------------------------


def run(*arguments):
    command = [sys.executable, "-m", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site as the command builds it."""
    out = tmp_path_factory.mktemp("site") / "out"
    done = run("docs.build", out)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [str(out.resolve() / "index.html")]
    return out


@pytest.mark.site
@pytest.mark.exhaustive
@pytest.mark.slow
class TestBuilt:
    """One build, looked at."""

    def test_chapters_have_their_outputs(self, site):
        """Each page of a chapter has the pictures and the lines that are stored in the notebook."""
        for path in chapters():
            page = (site / "chapters" / f"{path.stem}.html").read_text("utf-8")
            cells = json.loads(path.read_text("utf-8"))["cells"]
            outputs = [one for cell in cells for one in cell.get("outputs", ())]
            html = "".join("".join(one.get("data", {}).get("text/html", "")) for one in outputs)
            pictures = re.findall(r"base64,([^\"]+)\"", html)
            assert [one for one in pictures if one not in page] == []
            words = re.sub(r"<[^>]+>", "", page)
            streams = ["".join(one["text"]) for one in outputs if one["output_type"] == "stream"]
            plain = [one for text in streams for one in text.splitlines() if one.isalnum()]
            assert [one for one in plain if one not in words] == []
            assert pictures or streams

    def test_glossary(self, site):
        """A word of the glossary has its anchor in the page."""
        text = (site / "glossary.html").read_text("utf-8")
        assert {pages.anchor(word) for word in terms()} <= links.Page(text).anchors

    def test_names_have_anchors(self, site):
        """The names of the package can be linked to."""
        anchors = links.Page((site / "api" / "smemnb.html").read_text("utf-8")).anchors
        assert {f"smemnb.{name}" for name in smemnb.__all__} <= anchors

    def test_licences(self, site):
        """Each file that a tool left is listed with its licence."""
        listed = re.findall(r"`([^`]+)`", (DOCS / "THIRD_PARTY.md").read_text("utf-8"))
        own = {path.name for path in (DOCS / "static").iterdir()}
        static = site / "_static"
        files = [one.relative_to(static).as_posix() for one in static.rglob("*") if one.is_file()]
        assert [
            one
            for one in files
            if one not in own and not any(fnmatch.fnmatch(one, name) for name in listed)
        ] == []

    def test_again(self, site):
        """A site may be built over an older one."""
        (site / "old.html").write_text("", encoding="utf-8")
        done = run("docs.build", site)
        assert done.returncode == 0, done.stdout + done.stderr
        assert not (site / "old.html").exists() and (site / "index.html").exists()

    def test_other_folders_are_kept(self, tmp_path):
        """A folder that holds something else is not touched."""
        (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
        done = run("docs.build", tmp_path)
        assert done.returncode == 1 and str(tmp_path) in done.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]

    @pytest.mark.parametrize(
        ("text", "code"),
        [(r"$\frac{1}{x}$", 0), (r"$\nosuchthing{x}$", 1), ("[gone](gone.md)", 1)],
    )
    def test_warnings_are_errors(self, tmp_path, text, code):
        """A formula becomes MathML; one that cannot be written, or a lost page, ends the build."""
        (tmp_path / "index.md").write_text(f"# One\n\n{text}\n", encoding="utf-8")
        done = run("sphinx", "-q", "-W", "-c", DOCS, tmp_path, tmp_path / "out")
        assert done.returncode == code, done.stdout + done.stderr
        if code == 0:
            assert "<mfrac>" in (tmp_path / "out" / "index.html").read_text("utf-8")


@pytest.mark.site
@pytest.mark.browser
@pytest.mark.exhaustive
@pytest.mark.slow
class TestInBrowser:
    """The built pages, opened from the disk."""

    @pytest.fixture
    def tab(self, chromium):
        """A tab that reports errors and requests to other hosts at its end."""
        context = chromium.new_context(viewport={"width": 1440, "height": 1000})
        tab, wrong = context.new_page(), []
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on(
            "request",
            lambda asked: asked.url.startswith("http") and wrong.append(asked.url),
        )
        yield tab
        context.close()
        assert wrong == []

    def test_explorer(self, site, tab):
        """A slider and the keyboard turn the request, and each explorer is by itself."""
        tab.goto((site / "explorer.html").as_uri())
        tab.wait_for_function("document.querySelectorAll('.smb[data-ways]').length === 2")
        first, second = tab.locator(".explorer").all()
        assert first.locator("img").count() == 0
        assert first.locator(".smb").get_attribute("data-ways") == "32"
        first.locator("[data-name=pad]").fill("1")
        assert first.locator(".smb").get_attribute("data-ways") == "1"
        first.locator("[data-name=pad]").focus()
        tab.keyboard.press("ArrowRight")
        assert first.locator(".smb").get_attribute("data-ways") == "2"
        assert second.locator(".smb").get_attribute("data-ways") == "32"
        second.get_by_role("button", name="Next request").click()
        assert "request 2 of" in second.locator(".smb-which").inner_text()

    def test_replay(self, site, tab):
        """Each replay plays by itself: to a stale read, along the tiles, and with two buffers."""
        tab.goto((site / "replay.html").as_uri())
        tab.wait_for_function("document.querySelectorAll('.smr[data-step]').length === 3")
        turned, product, buffers = (place.locator(".smr") for place in tab.locator(".replay").all())
        turned.get_by_role("checkbox").first.uncheck()
        turned.get_by_role("button", name="Play", exact=True).click()
        tab.wait_for_selector(".smr[data-stale]:not([data-stale='0'])")
        assert product.get_attribute("data-stale") == "0"
        product.get_by_role("button", name="Whole phases at a time").click()
        product.get_by_role("button", name="Step on", exact=True).focus()
        for first in (0, 16, 32):
            assert f"a[16:28, {first}:{min(first + 16, 40)}]" in product.inner_text()
            assert product.locator(".smr-part:not([hidden], .smr-resting)").count() == 2
            tab.keyboard.press("ArrowRight")
            tab.keyboard.press("ArrowRight")
        assert "writes out[16:28, 16:26]" in product.inner_text()
        buffers.get_by_role("button", name="Whole phases at a time").click()
        seen = []
        for _ in range(3):
            seen.append(buffers.locator("figcaption .smr-role").all_inner_texts()[:2])
            buffers.get_by_role("button", name="Step on", exact=True).click()
        assert seen == [["fill", "at rest"], ["read", "fill"], ["fill", "read"]]

    @pytest.mark.parametrize("wide", [1440, 700])
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_pages_fit(self, site, tab, wide, scheme):
        """No page scrolls sideways, and paper and ink stand off from each other."""
        tab.set_viewport_size({"width": wide, "height": 900})
        tab.emulate_media(color_scheme=scheme)
        names = ["index", "glossary", "explorer", "replay", "api/smemnb", "chapters/14_banks"]
        for name in names:
            tab.goto((site / f"{name}.html").as_uri())
            size = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
            have, room = tab.evaluate(size)
            assert have <= room, name
            sum_of = "c => c.match(/[0-9.]+/g).slice(0, 3).map(Number).reduce((a, b) => a + b)"
            ink, paper = tab.evaluate(
                f"""() => {{
                  const style = getComputedStyle(document.body);
                  return [style.color, style.backgroundColor].map({sum_of});
                }}"""
            )
            assert (ink < 200 and paper > 600) == (scheme == "light"), name
            assert abs(ink - paper) > 400, name


def test_required():
    """The build that publishes the site cannot skip these tests."""
    workflow = (ROOT / ".github" / "workflows" / "site.yml").read_text("utf-8")
    (required,) = re.findall(r'SMEMNB_REQUIRE: "([\w,]+)"', workflow)
    assert {"site", "browser"} <= set(required.split(","))
    assert Path(__file__).name in workflow
