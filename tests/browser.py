"""The browser of the tests: the machine's own Chromium, driven by playwright, without a window.

Nothing is downloaded: playwright drives the program that `SMEMNB_CHROMIUM` names, or the first of
`NAMES` that is installed. Tests with the mark `browser` take the fixture `chromium`.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

LAB_SECONDS = 60
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def program() -> str | None:
    """Path of a Chromium, None where there is none."""
    named = os.environ.get("SMEMNB_CHROMIUM")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)


def available() -> bool:
    """Whether browser tests can run here."""
    return find_spec("playwright") is not None and program() is not None


@contextmanager
def opened() -> Iterator[Any]:
    """A browser, closed afterwards."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # the sandbox needs rights that containers do not give; the pages are our own
        found = playwright.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        try:
            yield found
        finally:
            found.close()


@contextmanager
def lab(folder: Path) -> Iterator[str]:
    """JupyterLab over a folder, its kernels as a reader's: the address, up to the file's name.

    `window.jupyterapp` is there to run commands. Settings are those of the tests (conftest.py).
    """
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    options = {
        "--ip": "127.0.0.1",
        "--port": port,
        "--IdentityProvider.token": "tests",
        "--ServerApp.root_dir": folder,
        "--LabApp.news_url": None,
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--expose-app-in-browser", *(f"{name}={value}" for name, value in options.items())]
    environment = {name: value for name, value in os.environ.items() if name != "SMEMNB_STILL"}
    with (folder / "lab.log").open("w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder)
        try:
            _await(f"http://127.0.0.1:{port}/api", server)
            yield f"http://127.0.0.1:{port}/lab/tree/{{}}?token=tests&reset"
        finally:
            server.terminate()
            server.wait()


def _await(address: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + LAB_SECONDS
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(address)
        except urllib.error.URLError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("JupyterLab did not start; lab.log says why")


def run_all(tab: Any, address: str) -> None:
    """Open a notebook in a tab and run its cells."""
    tab.goto(address)
    tab.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    # without its kernel, "run all" asks which one to take
    tab.wait_for_function(
        """() => {
          const shown = window.jupyterapp?.shell.currentWidget;
          return shown?.sessionContext?.session?.kernel?.status === "idle";
        }""",
        timeout=60_000,
    )
    tab.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
