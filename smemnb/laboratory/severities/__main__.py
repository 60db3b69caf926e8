"""What a GPU makes of kernels that are wrong on purpose, from the command line.

python -m smemnb.laboratory.severities record --launch-wrong-kernels --out FILE.json
python -m smemnb.laboratory.severities table FILE.json                 as SEVERITIES.md has it
python -m smemnb.laboratory.severities list                            the experiments
python -m smemnb.laboratory.severities launch NAME --launch-wrong-kernels --into JOURNAL
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ...errors import SmemnbError

REFUSED = (
    "these kernels are wrong on purpose: on a GPU they may hang, or end the context of whoever "
    "shares it. On a machine that was given for it, add --launch-wrong-kernels."
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the commands; 0 if all is well."""
    options = _parser().parse_args(argv)
    if options.what in ("record", "launch") and not options.launch_wrong_kernels:
        print(REFUSED, file=sys.stderr)
        return 2
    try:
        return _run(options)
    except SmemnbError as error:
        print(error, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m smemnb.laboratory.severities")
    what = parser.add_subparsers(dest="what", required=True)
    recording = what.add_parser("record")
    recording.add_argument("--out", type=Path, required=True)
    recording.add_argument("--times", type=int, default=20, help="launches of each experiment")
    recording.add_argument("--seconds", type=float, default=80.0, help="no more are begun then")
    recording.add_argument("--at-once", type=int, help="processes side by side")
    recording.add_argument("--onto", type=Path, help="an older file, whose others are kept")
    recording.add_argument("--only", nargs="+", default=[], metavar="NAME")
    launching = what.add_parser("launch")
    launching.add_argument("name")
    launching.add_argument("--times", type=int, default=20)
    launching.add_argument("--into", type=Path, required=True)
    for one in (recording, launching):
        one.add_argument("--launch-wrong-kernels", action="store_true", help=REFUSED)
    table = what.add_parser("table")
    table.add_argument("file", type=Path, nargs="?")
    what.add_parser("list")
    what.add_parser("machine")
    return parser


def _run(options: argparse.Namespace) -> int:
    if options.what == "record":
        from .recording import read_text, record

        record(
            options.out,
            launches=options.times,
            seconds=options.seconds,
            at_once=options.at_once,
            names=options.only,
            onto=None if options.onto is None else read_text(options.onto.read_text("utf-8")),
            say=_say,
        )
    elif options.what == "launch":
        from .launching import launch

        launch(options.name, options.times, options.into)
    elif options.what == "table":
        from .recording import load, read_text
        from .table import document

        kept = load() if options.file is None else read_text(options.file.read_text("utf-8"))
        print(document(kept), end="")
    elif options.what == "machine":
        from .recording import machine

        print(json.dumps(machine()))
    else:
        from .everything import EXPERIMENTS

        for one in EXPERIMENTS:
            _say(f"{one.kind or 'control':<27}{one.name:<40}{one.says}")
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
