"""Screenshots of chapters in JupyterLab, and what does not fit in them.

    python -m tests.screens OUT                     all chapters with their stored outputs
    python -m tests.screens OUT 14_banks --run      one of them, its cells run

Each chapter is opened with the file browser beside it, in the light and the dark theme, 1440 and
1024 pixels wide. A row for each says how many tables, other outputs, paragraphs of text and cells
of code do not fit into the width (JupyterLab cuts them, or has them scrolled sideways), how many
words are broken within, in HTML and in what cells print, and how many errors are on the console of
the browser. What does not fit is listed below. Exit code 1 if that is anything but code, which may
be scrolled.

The pictures are `OUT/CHAPTER-THEME-WIDTH-PART.png`, a part for each screen of the chapter. Stored
outputs are shown as to a reader who has not trusted the notebook yet; with `--run` they are one's
own. What a browser needs: `pip install -e ".[test,lab,browser]"` and a Chromium.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests import browser
from tests.house.notebook_form import NOTEBOOKS, chapters

THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
WIDTHS = (1440, 1024)
HEIGHT = 1600
KINDS = ("table", "output", "text", "code", "word", "print")
ROW = "{:<22} {:<6} {:>5}" + "{:>8}" * len(KINDS) + "{:>8}"
# the notebook's panel draws only the cells in view, unless told
SETTINGS = '{"windowingMode": "none"}'
FAULTS = """() => {
  const found = [];
  const longest = (lines) => lines.reduce((a, b) => (b.length > a.length ? b : a), "");
  const short = (e) => longest((e.innerText ?? e.textContent).split("\\n")).trim().slice(0, 60);
  const kind = (e) =>
    e.closest(".jp-OutputArea-output") ? (e.closest("table") ? "table" : "output")
    : e.closest(".cm-editor") ? "code" : e.closest("table") ? "table" : "text";
  const places = ".jp-Cell .jp-OutputArea-output, .jp-Cell .jp-MarkdownOutput,"
    + " .jp-Cell .cm-scroller";
  for (const place of document.querySelectorAll(places)) {
    const room = place.getBoundingClientRect();
    if (!room.width) continue;
    const wide = [place, ...place.querySelectorAll("*")].filter((e) =>
      e.clientWidth && e.scrollWidth > e.clientWidth + 1
        && !["visible", "clip"].includes(getComputedStyle(e).overflowX)
      || e.getBoundingClientRect().right > room.right + 1);
    // of nested ones the innermost of each kind says enough
    const worst = place.matches(".cm-scroller") ? wide.slice(0, 1)
      : wide.filter((e) => !wide.some((other) => other !== e && e.contains(other)));
    const kinds = new Map(worst.map((e) => [kind(e), e]));
    for (const [name, e] of kinds) {
      const over = Math.max(e.scrollWidth - e.clientWidth,
        Math.round(e.getBoundingClientRect().right - room.right));
      found.push([name, `${over} px: ${short(e)}`]);
    }
  }
  const range = document.createRange();
  const words = ".jp-Cell .jp-RenderedHTMLCommon, .jp-Cell .jp-RenderedText";
  for (const e of document.querySelectorAll(words)) {
    const name = e.matches(".jp-RenderedText") ? "print" : "word";
    const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      for (const word of node.data.matchAll(/[\\p{L}\\d_]{2,}/gu)) {
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const tops = new Set([...range.getClientRects()].map((one) => Math.round(one.top)));
        if (tops.size > 1) found.push([name, word[0]]);
      }
    }
  }
  return found;
}"""


def looked_at(tab: Any, name: str, out: Path) -> Iterator[tuple[str, int, list[tuple[str, str]]]]:
    """Of the open chapter, in each theme and width: what does not fit; pictures go to a folder."""
    panel = tab.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer")
    for theme, full_name in THEMES.items():
        browser.command(tab, "apputils:change-theme", theme=full_name)
        tab.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=full_name)
        for wide in WIDTHS:
            tab.set_viewport_size({"width": wide, "height": HEIGHT})
            settle(tab)
            yield theme, wide, [(kind, text) for kind, text in tab.evaluate(FAULTS)]
            high, inner = panel.evaluate("e => [e.scrollHeight, e.clientHeight]")
            for part, top in enumerate(range(0, high, inner), start=1):
                panel.evaluate("(e, top) => { e.scrollTop = top; }", top)
                settle(tab)
                tab.screenshot(path=out / f"{name}-{theme}-{wide}-{part:02}.png")
            panel.evaluate("e => { e.scrollTop = 0; }")


def settle(tab: Any) -> None:
    """Wait until the page's layout has been the same for some frames, with its pictures loaded."""
    tab.evaluate(
        """async () => {
          const frame = () => new Promise((next) => requestAnimationFrame(next));
          const size = () => [...document.querySelectorAll(".jp-WindowedPanel-outer")]
            .map((e) => `${e.scrollHeight} ${e.clientWidth}`).join();
          for (let same = 0, before = ""; same < 5; before = size()) {
            await frame();
            same = size() === before ? same + 1 : 0;
          }
          await Promise.all([...document.images].map((one) => one.decode().catch(() => null)));
        }"""
    )


def opened_chapter(tab: Any, address: str, path: Path, *, run: bool) -> None:
    """Open a chapter with the file browser beside it, and run it if that is wanted."""
    browser.open_notebook(tab, address.format(path.name))
    browser.command(tab, "filebrowser:activate")
    tab.locator("#filebrowser").wait_for()
    browser.command(tab, "docmanager:open", path=path.name)
    if run and browser.command(tab, "notebook:run-all-cells") is not True:
        raise RuntimeError(f"a cell of {path.name} raised")


def main(argv: list[str] | None = None) -> int:
    """1 if something but code does not fit or there is an error, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="a folder for the pictures")
    parser.add_argument("chapter", nargs="*", help="14_banks; all chapters if none is named")
    parser.add_argument("--run", action="store_true", help="run the cells first")
    options = parser.parse_args(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    paths = [NOTEBOOKS / (Path(name).stem + ".ipynb") for name in options.chapter] or chapters()
    tracker = Path(os.environ["JUPYTER_CONFIG_DIR"]) / "lab/user-settings/@jupyterlab"
    tracker = tracker / "notebook-extension/tracker.jupyterlab-settings"
    tracker.parent.mkdir(parents=True)
    tracker.write_text(SETTINGS, encoding="utf-8")
    print(ROW.format("chapter", "theme", "width", *KINDS, "errors"), flush=True)
    listed: list[str] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "mine"
        folder.mkdir()
        for path in paths:
            shutil.copy(path, folder)
        with browser.lab(folder) as address, browser.opened() as chromium:
            for path in paths:
                listed += shown(chromium, address, path, options.out, run=options.run)
    print("\n".join(dict.fromkeys(listed)))
    return int(any(not line.split(": ")[1].startswith("code") for line in listed))


def shown(chromium: Any, address: str, path: Path, out: Path, *, run: bool) -> list[str]:
    """Print the rows of a chapter; what they count, in words."""
    listed: list[str] = []
    errors: list[str] = []
    context = chromium.new_context(viewport={"width": WIDTHS[0], "height": HEIGHT})
    context.set_default_timeout(browser.WAIT_MS)
    tab = context.new_page()
    browser.keep_errors(tab, errors)
    opened_chapter(tab, address, path, run=run)
    for theme, wide, faults in looked_at(tab, path.stem, out):
        counts = Counter(kind for kind, _ in faults)
        numbers = [counts[kind] for kind in KINDS]
        print(ROW.format(path.stem, theme, wide, *numbers, len(errors)), flush=True)
        listed += [f"{path.stem} {wide}: {kind}: {text}" for kind, text in faults]
    tab.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    context.close()
    return listed + [f"{path.stem}: error: {text}" for text in errors]


if __name__ == "__main__":
    import conftest  # noqa: F401  (it sets the environment of JupyterLab and its kernels)
    from smemnb.cli.lab import SETTINGS as OF_A_LEARNER

    os.environ["JUPYTER_CONFIG_PATH"] = str(OF_A_LEARNER)
    sys.exit(main())
