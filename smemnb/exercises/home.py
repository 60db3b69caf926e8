"""Where the learner's progress lies; light, because the command line's help names the file."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def folder() -> Path:
    """The folder of the learner's file: SMEMNB_HOME, else the platform's place for user data."""
    home = os.environ.get("SMEMNB_HOME")
    if home:
        return Path(home).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "smemnb"
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/smemnb"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "smemnb"


def file() -> Path:
    """The learner's file; it need not exist."""
    return folder() / "progress.json"
