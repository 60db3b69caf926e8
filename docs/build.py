"""Build the reading copy: `python -m docs.build OUT` prints where its index is.

    pip install -e ".[site]"
    python -m docs.build build/site

It writes the sources (`docs.pages`), runs Sphinx over them with warnings as errors, and checks
every link of what came out (`docs.links`). No network is needed, and no GPU. Exit code 1 says that
a warning or a broken link ended it; OUT is then as it was before.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from .pages import DOCS

NEEDED = ("sphinx", "myst_nb", "furo", "pytest")
MARK = ".buildinfo"  # of Sphinx: a folder with it may be replaced


def missing() -> list[str]:
    """The packages that are needed and not installed."""
    return [name for name in NEEDED if find_spec(name) is None]


def build(out: Path) -> Path:
    """Build the site into a folder; the path of its index.

    Raises:
        SystemExit: Sphinx or a package that it needs is missing, the folder holds something else,
            or there was a warning or a broken link.
    """
    if missing():
        raise SystemExit(f'{", ".join(missing())} is missing: pip install -e ".[site]"')
    if out.exists() and any(out.iterdir()) and not (out / MARK).exists():
        raise SystemExit(f"{out} holds something else than a site; name another folder")
    # traces and replays of the live pages come from the engine, with a GPU too
    os.environ.setdefault("SMEMNB_DEVICE", "lockstep")
    with tempfile.TemporaryDirectory(prefix="smemnb-site-") as work:
        built = _built(Path(work))
        if out.exists():
            shutil.rmtree(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(built, out)
    return out / "index.html"


def _built(work: Path) -> Path:
    from sphinx.cmd.build import build_main

    from .links import problems
    from .pages import write

    sources, built = work / "sources", work / "site"
    write(sources)
    options = ["-W", "--keep-going", "-q", "-E", "-b", "html", "-d", str(work / "doctrees")]
    if build_main([*options, "-c", str(DOCS), str(sources), str(built)]):
        raise SystemExit("the site was not built: Sphinx has warnings, above")
    found = problems(built)
    if found:
        raise SystemExit("\n".join([*found, f"the site was not built: {len(found)} broken links"]))
    return built


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m docs.build", description=__doc__.splitlines()[0]
    )
    parser.add_argument("out", metavar="OUT", type=Path, help="folder of the site")
    print(build(parser.parse_args(argv).out.resolve()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
