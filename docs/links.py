"""A check of built pages: every link leads somewhere, and no page asks another host for anything.

`problems(folder)` reads each page with the parser of the standard library: links and their anchors
have to be there, and what a browser loads with a page (scripts, styles, images, fonts, frames) has
to lie in the folder. Links that a reader may follow to other hosts are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = re.compile(r"""(?:url\(|@import\s)\s*["']?((?:https?:)?//[^"')\s]+)""")
_ASKED = re.compile(
    r"""(?:\bimport\b|\bfrom\b|fetch\(|\.src\s*=)\s*\(?["'`]((?:https?:)?//[^"'`]+)"""
)
_LINKS_THAT_LOAD = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch"}


class Page(HTMLParser):
    """A page: its anchors, its links, and the addresses of what a browser loads with it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Sort the addresses of one element."""
        has = {name: value or "" for name, value in attrs}
        self.anchors |= {has[name] for name in ("id", "name") if name in has}
        if tag == "a" and "href" in has:
            self.links.append(has["href"])
        if tag == "link" and _LINKS_THAT_LOAD & set(has.get("rel", "").split()):
            self.loaded.append(has.get("href", ""))
        self.loaded += [has[name] for name in ("src", "poster", "data") if has.get(name)]
        self.loaded += [one.split()[0] for one in has.get("srcset", "").split(",") if one.strip()]
        if tag in ("image", "use"):
            self.loaded += [has[name] for name in ("href", "xlink:href") if name in has]


def problems(folder: Path) -> list[str]:
    """What is wrong with the pages of a folder, a line for each."""
    return [
        f"{path.relative_to(folder).as_posix()}: {said}"
        for path in sorted(folder.rglob("*"))
        for said in _problems_of(path)
    ]


def _problems_of(path: Path) -> Iterator[str]:
    if path.suffix not in (".html", ".css", ".js"):
        return
    text = path.read_text(encoding="utf-8")
    yield from (f"asks {found[1]}" for found in _LOADED.finditer(text))
    if path.suffix != ".css":
        yield from (f"asks {found[1]}" for found in _ASKED.finditer(text))
    if path.suffix != ".html":
        return
    page = _page(path)
    for address in page.loaded:
        if address.startswith("data:"):
            continue
        if _foreign(address):
            yield f"asks {address}"
        elif not _file(path, address).is_file():
            yield f"has no {address}"
    for address in page.links:
        if not _foreign(address):
            yield from _of_link(path, address)


def _of_link(path: Path, address: str) -> Iterator[str]:
    target, anchor = _file(path, address), unquote(urlsplit(address).fragment)
    if not target.is_file():
        yield f"links to {address}, which is not there"
    elif anchor and target.suffix == ".html" and anchor not in _page(target).anchors:
        yield f"links to {address}, which has no such anchor"


def _foreign(address: str) -> bool:
    return bool(urlsplit(address).scheme or urlsplit(address).netloc)


def _file(page: Path, address: str) -> Path:
    place = unquote(urlsplit(address).path)
    file = (page.parent / place).resolve() if place else page.resolve()
    return file / "index.html" if file.is_dir() else file


@cache
def _page(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))
