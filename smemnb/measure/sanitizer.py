"""What compute-sanitizer's four tools say about a program."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

from ..errors import SmemnbError

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


def findings(command: Sequence[str], tool: str) -> int:
    """How many errors and hazards one tool reports for a program.

    Raises:
        SmemnbError: compute-sanitizer is missing, or ended without a summary.
    """
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None:
        raise SmemnbError("`compute-sanitizer` is not on the PATH; it comes with the CUDA toolkit")
    done = subprocess.run(
        [sanitizer, "--tool", tool, *command], capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    summary = re.search(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)", said)
    if summary is None:
        last = said.strip().splitlines()[-1:] or ["no output"]
        raise SmemnbError(f"compute-sanitizer {tool} ended without a summary: {last[0]}")
    return int(summary.group(1))
