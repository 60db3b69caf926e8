"""The page that needs no kernel, and the files that it is made of."""

import json
import re
from html.parser import HTMLParser

import pytest

import smemnb
from smemnb.figures.explorer import module_text, page, state, style_text
from smemnb.figures.explorer.page import PARTS


class Parts(HTMLParser):
    """Tags of a page with their attributes, and the text of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.script = [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.script = dict(attrs)["type"]

    def handle_endtag(self, tag):
        self.script = None

    def handle_data(self, data):
        if self.script is not None:
            self.scripts[self.script] = self.scripts.get(self.script, "") + data


def test_needs_nothing():
    """Nothing in the page is loaded from elsewhere, and its state is in it."""
    begun = state()
    whole = Parts(page(begun, title="a < b"))
    assert [attrs for _, attrs in whole.tags if "src" in attrs or "href" in attrs] == []
    assert json.loads(whole.scripts["application/json"]) == begun
    assert (
        re.findall(r"^\s*import .*|\bfetch\(|https?://(?!www\.w3\.org/2000/svg)", page(begun)) == []
    )


def test_state_cannot_end_its_script():
    """A source line with a closing tag stays inside the state."""
    begun = {**state(), "notes": ["</script><script>alert(1)</script>"]}
    whole = Parts(page(begun))
    assert sum(tag == "script" for tag, _ in whole.tags) == 2
    assert json.loads(whole.scripts["application/json"]) == begun


def test_module_of_its_own():
    """A site may keep the module as one file for all its pages."""
    whole = Parts(page(state(), module="./explorer.js"))
    script = whole.scripts["module"]
    assert 'from "./explorer.js"' in script and "class Explorer" not in script


def test_picture_until_the_script_runs():
    """The page of an explorer holds its still picture."""
    text = smemnb.explore().page()
    assert text.count('<img width="') == 2


def test_module():
    """All files are in the module, each name is defined once, and nothing is evaluated."""
    text = module_text()
    assert "import {" not in text
    names = re.findall(r"^(?:export )?(?:function|class|const|let) (\w+)", text, flags=re.M)
    assert sorted(set(names)) == sorted(names)
    assert {"serve", "offset", "parse", "typedRequest", "mount"} <= set(names)
    code = re.sub(r"//.*", "", text)
    assert re.findall(r"\beval\b|\bFunction\b|innerHTML|outerHTML|document\.write", code) == []
    assert len(PARTS) == 5


@pytest.mark.parametrize(
    "setting", ["prefers-color-scheme: dark", "prefers-reduced-motion: reduce"]
)
def test_style(setting):
    """The style sheet honours what the reader prefers."""
    assert setting in style_text()
