"""The browser of the tests: the machine's own Chromium, driven by playwright, without a window.

Nothing is downloaded: playwright drives the program that `SMEMNB_CHROMIUM` names, or the first of
`NAMES` that is installed. Tests with the mark `browser` take the fixture `chromium`.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

LAB_SECONDS = 120
END_SECONDS = 20
LEFT_SECONDS = 900
WAIT_MS = 120_000
RUN_MS = 240_000
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
    words = ["jupyterlab", f"--ServerApp.root_dir={folder}", "--LabApp.news_url=None"]
    with _served(words, folder.with_name(f"{folder.name}.log")) as address:
        yield address


@contextmanager
def learners_lab(folder: Path) -> Iterator[str]:
    """`smemnb lab` over a folder, which gets the learner's copy: as `lab` otherwise."""
    words = ["smemnb.cli", "lab", f"--folder={folder}"]
    with _served(words, folder.with_name(f"{folder.name}.log")) as address:
        yield address


@contextmanager
def _served(words: Sequence[str], log: Path) -> Iterator[str]:
    """A module of Python that runs JupyterLab, ended afterwards; the address of its files."""
    options = ["--no-browser", "--allow-root", "--expose-app-in-browser", "--ip=127.0.0.1"]
    options += [f"--port={_free_port()}", "--IdentityProvider.token=tests"]
    # where the tests are killed, kernels and server end by themselves later
    options += [f"--MappingKernelManager.cull_idle_timeout={LEFT_SECONDS}"]
    options += [f"--ServerApp.shutdown_no_activity_timeout={LEFT_SECONDS}"]
    command = [sys.executable, "-m", *words, *options]
    with tempfile.TemporaryDirectory(prefix="smemnb-runtime-") as runtime, log.open("w") as said:
        environment = {name: value for name, value in os.environ.items() if name != "SMEMNB_STILL"}
        environment["JUPYTER_RUNTIME_DIR"] = runtime
        server = subprocess.Popen(
            command, env=environment, stdout=said, stderr=said, cwd=log.parent
        )
        try:
            yield f"{_answering(Path(runtime), server, log)}lab/tree/{{}}?token=tests&reset"
        finally:
            _end(server)


def _free_port() -> int:
    """A port that is free now; a server that finds it taken takes another one."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _answering(runtime: Path, server: subprocess.Popen[bytes], log: Path) -> str:
    """The address of a server as it wrote it down, once it answers there."""
    end = time.monotonic() + LAB_SECONDS
    while time.monotonic() < end and server.poll() is None:
        try:
            address = str(json.loads(next(runtime.glob("jpserver-*.json")).read_text())["url"])
            urllib.request.urlopen(f"{address}api", timeout=5).close()
        except (StopIteration, ValueError, OSError):  # not yet, half written, no answer
            time.sleep(0.1)
        else:
            return address
    raise RuntimeError(f"JupyterLab did not start: {log.read_text(errors='replace')}")


def _end(server: subprocess.Popen[bytes]) -> None:
    """End a server; its kernels end by themselves when it has gone."""
    server.terminate()
    try:
        server.wait(timeout=END_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def open_notebook(tab: Any, address: str) -> None:
    """Open a notebook in a tab, and wait for its kernel."""
    tab.goto(address, timeout=WAIT_MS)
    await_kernel(tab, address.partition("?")[0].rpartition("/")[2])


def await_kernel(tab: Any, name: str) -> None:
    """Wait until the notebook of this name is in front, and its kernel ready."""
    # without its kernel, "run all" asks which one to take
    tab.wait_for_function(
        """name => {
          const shown = window.jupyterapp?.shell.currentWidget;
          return shown?.context?.path === name && shown.content?.widgets?.length
            && shown.sessionContext?.session?.kernel?.status === "idle";
        }""",
        arg=name,
        timeout=WAIT_MS,
    )


def run_all(tab: Any, address: str) -> None:
    """Open a notebook in a tab and have its cells run."""
    open_notebook(tab, address)
    tab.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")


def command(tab: Any, name: str, **arguments: Any) -> Any:
    """Do a command of JupyterLab to its end; whether it returned anything but nothing and false."""
    tab.evaluate(
        """([name, arguments]) => {
          window.done = null;
          window.jupyterapp.commands.execute(name, arguments).then(
            (value) => (window.done = Boolean(value)),
            (error) => (window.done = String(error)),
          );
        }""",
        [name, arguments],
    )
    tab.wait_for_function("window.done !== null", timeout=RUN_MS)
    return tab.evaluate("window.done")


def add_cell(tab: Any, source: str) -> None:
    """Put a cell of code below the last one of the open notebook, and run it."""
    tab.evaluate(
        """() => {
          const book = window.jupyterapp.shell.currentWidget.content;
          book.activeCellIndex = book.widgets.length - 1;
        }"""
    )
    command(tab, "notebook:insert-cell-below")
    tab.evaluate(
        """source => {
          const book = window.jupyterapp.shell.currentWidget.content;
          book.activeCell.model.sharedModel.setSource(source);
        }""",
        source,
    )
    assert command(tab, "notebook:run-cell") is True


def cells(tab: Any) -> list[dict[str, Any]]:
    """The cells of the open notebook as they would be saved; also those that are not in view."""
    found: list[dict[str, Any]] = tab.evaluate(
        "window.jupyterapp.shell.currentWidget.content.model.toJSON().cells"
    )
    return found


def keep_errors(tab: Any, errors: list[str]) -> None:
    """Add to a list what goes wrong in a tab: exceptions, and errors on its console."""
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on(
        "console",
        lambda said: said.type == "error" and errors.append(f"{said.text} {said.location}"),
    )
