"""Whether a tag names the version of this checkout.

    python .ci/tagged.py v0.1.0

The version has one place, smemnb/version.py. CITATION.cff and the newest heading of CHANGELOG.md
repeat it; at a release the heading no longer says "(unreleased)".
"""

import re
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def wrong_with(tag: str, version: str, citation: str, changelog: str) -> list[str]:
    """What does not fit together, a sentence each; the last two are the texts of the files.

    >>> wrong_with("v1.2", "1.2", "version: 1.2", "## 1.2 (2026-01-31)")
    []
    """
    cited = re.search(r"^version: *[\"']?([^\"'\s]+)", citation, re.MULTILINE)
    newest = re.search(r"^## (\S+)(.*)", changelog, re.MULTILINE)
    found = []
    if tag != f"v{version}":
        found.append(f"the tag {tag} is not v{version}, of smemnb/version.py")
    if cited is None or cited[1] != version:
        found.append(f"CITATION.cff has not the version {version}")
    if newest is None or newest[1] != version:
        found.append(f"the newest heading of CHANGELOG.md is not that of {version}")
    elif "unreleased" in newest[2]:
        found.append(f"CHANGELOG.md calls {version} unreleased")
    return found


if __name__ == "__main__":
    version = runpy.run_path(str(ROOT / "smemnb" / "version.py"))["VERSION"]
    files = [(ROOT / name).read_text(encoding="utf-8") for name in ("CITATION.cff", "CHANGELOG.md")]
    if problems := wrong_with(sys.argv[1], version, *files):
        sys.exit("\n".join(problems))
