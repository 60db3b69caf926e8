"""Which pages of a learner's copy are as they were copied: nobody's work is in them.

`.smemnb.json` in the folder remembers every content that smemnb wrote, or was about to write, into
a page. A page with such a content may be replaced, and one with any other is the learner's. What
counts as content of a notebook are its cells; JupyterLab writes the rest anew when it saves, and
puts numbers on cells that ran. A page with outputs is the learner's.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..exercises.whole_file import is_plain, write_whole

RECORD = ".smemnb.json"
SCHEMA = 2


@dataclass
class CopiedPages:
    """The record of a folder: of each page the newest version seen, and the contents written."""

    newest: dict[str, str] = field(default_factory=dict)
    written: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> CopiedPages:
        """Read the record; it is empty where it is absent or damaged."""
        try:
            stored = json.loads((folder / RECORD).read_text(encoding="utf-8"))
            newest = {str(name): str(digest) for name, digest in stored["copied"].items()}
            written = {
                str(name): [str(digest) for digest in digests]
                for name, digests in stored.get("written", {}).items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls()
        return cls(newest, written)

    def write(self, folder: Path) -> None:
        """Keep the record, unless it stands there already: the folder may be read-only."""
        stored = {"schema": SCHEMA, "copied": self.newest, "written": self.written}
        data = (json.dumps(stored, indent=1, sort_keys=True) + "\n").encode()
        record = folder / RECORD
        if not record.exists() or not is_plain(record) or record.read_bytes() != data:
            write_whole(record, data)

    def note(self, name: str, data: bytes) -> None:
        """Remember a content of a page, before it is written: a killed process then loses none."""
        known = self.written.setdefault(name, [])
        if content(name, data) not in known:
            known.append(content(name, data))

    def is_untouched(self, page: Path, name: str) -> bool:
        """Whether a file holds a content that was written into the page of that name."""
        if not is_plain(page):
            return False
        data = page.read_bytes()
        # earlier versions of smemnb kept the digest of the file, of the newest version alone
        return content(name, data) in self.written.get(name, []) or (
            self.newest.get(name) == version(data)
        )


def version(data: bytes) -> str:
    """The digest of a file."""
    return hashlib.sha256(data).hexdigest()


def content(name: str, data: bytes) -> str:
    """The digest of what a page says: of a notebook without outputs, of its cells."""
    cells = _cells(data) if name.endswith(".ipynb") else None
    return version(data if cells is None else json.dumps(cells, sort_keys=True).encode())[:32]


def _cells(data: bytes) -> list[Any] | None:
    """The cells of a notebook that has no outputs; None for any other file."""
    try:
        cells = json.loads(data)["cells"]
        if any(cell.get("outputs") for cell in cells):
            return None
        return [_kept(cell) for cell in cells]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _kept(cell: dict[str, Any]) -> dict[str, Any]:
    source = cell["source"]
    kept = {**cell, "source": source if isinstance(source, str) else "".join(source)}
    return {key: value for key, value in kept.items() if key not in ("outputs", "execution_count")}
