"""What every test shares: a private, quiet environment, and nbval with four gaps closed.

Kernels started by tests inherit the environment, so a reader's own Jupyter, IPython and progress
files are neither read nor written. nbval 0.11 leaves gaps through which a wrong notebook passes
or a right one hangs; `close_nbval_gaps` mends them (tests/house/test_nbval_gaps.py holds it).
`look_at_kernels` adds a test to each chapter: that Numba accepts its kernels.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

from nbval import kernel as nbval_kernel
from nbval import plugin as nbval_plugin

ENVIRONMENT = {
    "SMEMNB_PROGRESS": "off",
    "SMEMNB_SLOW_SECONDS": "off",  # a busy machine must not add a line to an output
    "SMEMNB_STILL": "1",  # a stored output holds a picture, not a live view with its random id
    # a warning of numba-cuda on stderr that only some versions print
    "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0",
    "JUPYTER_PLATFORM_DIRS": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "PYTHONHASHSEED": "0",
}
PRIVATE_FOLDERS = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
OUTPUT_DRAIN_SECONDS = 60


def isolate() -> None:
    """Set the environment of this process, and of every kernel it starts."""
    folder = Path(tempfile.mkdtemp(prefix="smemnb-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in PRIVATE_FOLDERS:
        (folder / name.lower()).mkdir()
        os.environ[name] = str(folder / name.lower())
    os.environ.update(ENVIRONMENT)
    # processes started by tests import the same modules a hundred times: compiled ones are kept
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # kernels and scripts started by tests import this checkout, installed or not
    paths = [str(Path(__file__).resolve().parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    # `SMEMNB_DEVICE=gpu pytest -m gpu` stays possible
    os.environ.setdefault("SMEMNB_DEVICE", "lockstep")


def close_nbval_gaps() -> None:
    """Replace four pieces of nbval; each replacement says what passed or hung without it."""
    kernel: Any = nbval_kernel.RunningKernel
    cell: Any = nbval_plugin.IPyNbCell
    run_as_shipped = cell.runtest

    def execute_with_history(self: Any, source: str, allow_stdin: bool | None = None) -> str:
        # IPython looks for a closing `;` in the history: without one, figures print their repr
        return str(self.kc.execute(source, allow_stdin=allow_stdin, stop_on_error=False))

    def await_reply_of_the_living(self: Any, message: str, timeout: float | None = None) -> None:
        # a kernel that died would be waited for until the whole cell timeout is over
        end = time.monotonic() + (timeout if timeout is not None else 3600)
        while time.monotonic() < end:
            try:
                reply = self.get_message(stream="shell", timeout=min(1.0, timeout or 1.0))
            except Empty:
                if not self.is_alive():
                    raise RuntimeError("the kernel died while it ran this cell") from None
                continue
            if reply["parent_header"].get("msg_id") == message:
                if reply["content"]["status"] == "aborted":
                    raise RuntimeError("the kernel aborted this cell")
                return
        raise Empty

    def run_only_what_was_stored(self: Any) -> None:
        # nbval compares nothing where the stored cell was never run
        compared = self.options["check"] and not self.options["skip"]
        if compared and self.cell.source.strip() and self.cell.execution_count is None:
            raise nbval_plugin.NbCellError(
                self.cell_num, "the stored cell was never run; store the notebook", self.cell.source
            )
        run_as_shipped(self)

    kernel.execute_cell_input = execute_with_history
    kernel.await_reply = await_reply_of_the_living
    cell.runtest = run_only_what_was_stored
    # shipped as 5 s, assigned in __init__: too short on a machine with other work
    cell.output_timeout = property(lambda self: OUTPUT_DRAIN_SECONDS, lambda self, value: None)


def look_at_kernels() -> None:
    """Give each chapter a last test, `kernels` (tests/house/chapter_kernels.py)."""
    notebook: Any = nbval_plugin.IPyNbFile
    collect_cells, start_kernel = notebook.collect, notebook.setup

    def collect(self: Any) -> Iterator[Any]:
        from tests.house.chapter_kernels import Kernels, is_chapter

        yield from collect_cells(self)
        if is_chapter(self.path):
            yield Kernels.from_parent(self, name="kernels")

    def setup(self: Any) -> None:
        from tests.house.chapter_kernels import is_chapter, watch

        start_kernel(self)
        if is_chapter(self.path):
            watch(self.kernel)

    notebook.collect, notebook.setup = collect, setup


def fork_kernels() -> None:
    """Have kernels of notebooks forked from a process that has imported what all of them import."""
    from jupyter_client.provisioning import local_provisioner

    from tests.warm_kernels import Forked

    launch_as_shipped = local_provisioner.launch_kernel

    def launch_kernel(cmd: list[str], **options: Any) -> Any:
        try:
            return Forked.start(cmd, **options)
        except ValueError:
            return launch_as_shipped(cmd, **options)

    local_provisioner.launch_kernel = launch_kernel


isolate()
close_nbval_gaps()
if (Path(__file__).parent / "tests" / "house").is_dir():  # not where this file was copied alone
    look_at_kernels()
    if sys.platform == "linux":  # elsewhere a fork after such imports is no safe thing
        fork_kernels()
