"""Open an installed wheel as its user does; .ci/wheel calls it in an environment of its own.

    python -I .ci/open_wheel.py WHEEL CHECKOUT

The version is that of the wheel's name, `smemnb doctor` finds nothing to mend, a kernel in a file
of the user's is traced, and `smemnb lab --no-browser` serves each chapter as the wheel has it,
without outputs. The wheel in turn has the chapters of the checkout. The first thing that is not so
ends it with an AssertionError.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from zipfile import ZipFile

BIN = Path(sys.executable).parent
SERVER_SECONDS = 120
KERNEL = """\
from numba import cuda


@cuda.jit
def add_one(data):
    data[cuda.grid(1)] += 1
"""


def said(*words: str) -> str:
    """What the installed command says on stdout; it ends with exit code 0."""
    done = subprocess.run([BIN / "smemnb", *words], capture_output=True, text=True)
    assert done.returncode == 0, f"smemnb {' '.join(words)}: {done.stdout}{done.stderr}"
    print(f"$ smemnb {' '.join(words)}\n{done.stdout}", flush=True)
    return done.stdout


def cells(text: bytes | str) -> list[tuple[str, str]]:
    """Kind and source of the cells of a notebook."""
    return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]


def chapters_of(wheel: Path, checkout: Path) -> dict[str, list[tuple[str, str]]]:
    """The cells of the chapters that the wheel has, which are those of the checkout."""
    with ZipFile(wheel) as parts:
        names = [name for name in parts.namelist() if name.startswith("smemnb/workbook/")]
        texts = {name.rpartition("/")[2]: parts.read(name) for name in names}
    glossary = texts.pop("GLOSSARY.md")
    assert glossary == (checkout / "GLOSSARY.md").read_bytes()
    assert texts == {path.name: path.read_bytes() for path in checkout.glob("notebooks/*.ipynb")}
    assert texts
    return {name: cells(text) for name, text in texts.items()}


def served(chapters: dict[str, list[tuple[str, str]]]) -> None:
    """Ask `smemnb lab` for every chapter over HTTP."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["lab", "--folder", "mine", "--no-browser", f"--port={port}", "--allow-root"]
    address = f"http://127.0.0.1:{port}/api/contents"
    with (
        Path("server.log").open("w") as log,
        subprocess.Popen(
            [BIN / "smemnb", *words, "--IdentityProvider.token=t"], stdout=log, stderr=log
        ) as server,
    ):
        try:
            listed = answer(f"{address}?token=t", server)
            found = {entry["name"] for entry in listed["content"]}
            assert found == {*chapters, "GLOSSARY.md", "CONTENTS.md"}, found
            for name, wanted in chapters.items():
                page = answer(f"{address}/{name}?token=t", server)["content"]
                copied = [
                    (kind, text.replace("](../GLOSSARY", "](GLOSSARY")) for kind, text in wanted
                ]
                assert cells(json.dumps(page)) == copied, name
                assert not any(cell.get("outputs") for cell in page["cells"]), name
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=60)
    print(f"$ smemnb lab --no-browser\n{len(chapters)} chapters over HTTP")


def answer(address: str, server: subprocess.Popen[bytes]) -> Any:
    """The JSON at an address, as soon as the server answers."""
    end = time.monotonic() + SERVER_SECONDS
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=10) as got:
                return json.load(got)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise AssertionError(f"no answer at {address}: {Path('server.log').read_text()}")


def main(wheel: Path, checkout: Path) -> None:
    """All of it, in the current folder, which has to be empty."""
    assert not any(Path.cwd().iterdir())
    home = subprocess.run(
        [sys.executable, "-I", "-c", "import smemnb; print(smemnb.__file__)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert home.startswith(sys.prefix), f"imported from {home}"
    assert said("--version") == f"smemnb {wheel.name.split('-')[1]}\n"
    said("doctor")
    Path("mine.py").write_text(KERNEL, encoding="utf-8")
    said("trace", "mine.py:add_one", "--grid", "2", "--block", "64", "--args", "float32[128]")
    Path("mine.py").unlink()
    served(chapters_of(wheel, checkout))


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
