"""What a terminal shows, and that a pipe gets the plain text whatever the environment says."""

import os
import re
import struct
import subprocess
import sys
from io import StringIO

import numpy as np
import pytest
from numba import cuda, float32, int32
from rich.console import Console

from smemnb import trace
from smemnb.cli.doctor import Check
from smemnb.cli.doctor import report as plain_checks
from smemnb.cli.terminal import report, show_checks, show_lines, show_traces
from smemnb.tracing.report.text import WIDTH, text
from tests.facts import facts

TILE = 32
ESCAPE = re.compile("\x1b\\[[0-9;]*m")


@cuda.jit
def transpose_tiled(out, inp):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    tile[ty, tx] = inp[row, col]
    cuda.syncthreads()
    out[cuda.blockIdx.x * TILE + ty, cuda.blockIdx.y * TILE + tx] = tile[tx, ty]


@cuda.jit(device=True)
def a_function_with_a_name_that_takes_much_room(out, i):
    out[i] = out[(i + 1) % 64] + out[(i + 2) % 64] + out[(i + 3) % 64] + out[(i + 4) % 64]


@cuda.jit
def racing(out):
    part = cuda.shared.array(64, int32)
    kept = cuda.local.array(4, float32)
    tx = cuda.threadIdx.x
    part[tx] = tx
    kept[tx % 4] = part[63 - tx]
    out[tx] = kept[0]
    a_function_with_a_name_that_takes_much_room(out, tx)


def tiled():
    inp = np.ones((64, 64), np.float32)
    return trace(transpose_tiled)[(2, 2), (32, 32)](np.zeros_like(inp), inp)


def raced():
    return trace(racing)[1, 64](np.zeros(64, np.float32))


def nothing_touched():
    @cuda.jit
    def idle(out):
        pass

    return trace(idle)[1, 32](np.zeros(1))


def drawn(found, width, color=None):
    """The report as rich prints it."""
    file = StringIO()
    screen = Console(
        file=file, force_terminal=True, width=width, color_system=color, highlight=False
    )
    screen.print(*report(found, width), sep="\n", markup=False, emoji=False)
    return file.getvalue()


@pytest.mark.parametrize("made", [tiled, raced, nothing_touched])
def test_all_is_said(made):
    """On a wide terminal: the names, numbers and code of the plain report, no more and no less."""
    found = made()
    wide = drawn(found, 250)
    assert facts(wide) == facts(text(found, 250))
    assert drawn(found, 250, "standard") != wide
    assert ESCAPE.sub("", drawn(found, 250, "standard")) == wide


@pytest.mark.parametrize("width", [80, 90])
@pytest.mark.parametrize("made", [tiled, raced, nothing_touched])
def test_it_fits(made, width):
    """Both forms fit, and neither loses a number of an access."""
    found = made()
    for said in (drawn(found, width), text(found, width)):
        assert max(map(len, said.splitlines())) <= width
        numbers = set(re.findall(r"\d[\d,]*", said))
        for row in found.lines:
            own = (row.sectors,) if row.space == "global" else (row.wavefronts, row.ways, row.extra)
            assert {f"{number:,}" for number in (row.requests, *own)} <= numbers


def test_two_tables_where_one_is_too_wide():
    """Of 80 columns the numbers of both memories would take 61."""
    found = tiled()
    heads = [said.count("requests") for said in (text(found), text(found, 80))]
    assert heads == [1, 2]
    assert [drawn(found, width).count("requests") for width in (WIDTH, 80)] == [1, 2]
    only_global = raced_without_shared()
    assert text(only_global, 80).count("requests") == 1


def raced_without_shared():
    @cuda.jit
    def add_one(data):
        data[cuda.grid(1)] += 1

    return trace(add_one)[1, 32](np.zeros(32, np.float32))


def test_the_plain_report_is_that_of_the_trace():
    """The default is what `print(trace)` writes."""
    for found in (tiled(), raced()):
        assert text(found) == repr(found)


def test_what_costs_is_marked():
    """The worst n-way and the extra wavefronts of a column, not those of a row."""
    marked = re.findall("\x1b\\[31m *([\\d,]+)\x1b", drawn(tiled(), 80, "standard"))
    assert marked == ["32", "3,968", "32", "3,968"]


CHECKS = [
    Check("Python", "works", "3.11.7"),
    Check("GPU", "note", "none: kernels run in the lockstep engine, on the CPU"),
    Check("CUDA wheels", "wrong", "two of them", "make a new environment " * 6),
]


@pytest.mark.parametrize("forced", [{}, {"FORCE_COLOR": "1"}, {"CLICOLOR_FORCE": "1"}])
def test_a_pipe(capsys, monkeypatch, forced):
    """No colour and no table in what is piped, with whatever asks for colours."""
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in forced.items():
        monkeypatch.setenv(name, value)
    first, second = tiled(), raced()
    show_traces([first, second])
    assert capsys.readouterr().out == f"{first!r}\n\n{second!r}\n"
    show_checks(CHECKS, plain_checks)
    assert capsys.readouterr().out == plain_checks(CHECKS) + "\n"
    show_lines("ex00_scale: done\nvalues  done", "done$")
    assert capsys.readouterr().out == "ex00_scale: done\nvalues  done\n"


ON_A_TERMINAL = """
import sys
from smemnb.cli.terminal import show_checks, show_lines, show_traces
from smemnb.cli.closed_pipe import patient_streams
from smemnb.cli.doctor import report
from smemnb.cli.doctor import Check
from smemnb.tracing import Trace
if {without!r}:
    sys.modules["rich"] = None
with patient_streams(), open({file!r}) as lines:
    show_traces([Trace.from_json(line) for line in lines])
    show_checks({checks!r}, report)
    show_lines("1 of 2 exercises\\n  done  ex00_scale\\n  open  ex01_a", "^  (done|open) ")
"""


def on_a_terminal(tmp_path, *, code="", without_rich=False, columns=80, **environment):
    """What a terminal of so many columns is sent by code, or by reports of this file."""
    pty, fcntl, termios = (pytest.importorskip(name) for name in ("pty", "fcntl", "termios"))
    file = tmp_path / "traces"
    file.write_text("".join(one().to_json() + "\n" for one in (tiled, raced)))
    code = code or ON_A_TERMINAL.format(without=without_rich, file=str(file), checks=CHECKS)
    reading, writing = pty.openpty()
    fcntl.ioctl(writing, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    unset = ("COLUMNS", "NO_COLOR", "FORCE_COLOR")
    env = {name: value for name, value in os.environ.items() if name not in unset}
    env |= {"TERM": "xterm-256color", **environment}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=writing, stdout=writing, stderr=writing, env=env
    ) as process:
        os.close(writing)
        said = b"".join(iter(lambda: _read(reading), b""))
    os.close(reading)
    assert process.returncode == 0, said.decode()
    return said.decode().replace("\r\n", "\n")


def _read(reading):
    try:
        return os.read(reading, 65536)
    except OSError:  # nobody has the other end any more
        return b""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX")
def test_a_terminal(tmp_path):
    """Tables in its columns, in colours unless NO_COLOR says no; without rich the plain text."""
    coloured = on_a_terminal(tmp_path)
    assert ESCAPE.search(coloured)
    assert max(map(len, ESCAPE.sub("", coloured).splitlines())) <= 80
    assert on_a_terminal(tmp_path, NO_COLOR="1") == ESCAPE.sub("", coloured)
    assert on_a_terminal(tmp_path, NO_COLOR="") == coloured  # "when present and not empty"
    plain = on_a_terminal(tmp_path, without_rich=True)
    assert plain.startswith(f"{text(tiled(), 80)}\n\n{text(raced(), 80)}\n{plain_checks(CHECKS)}")
    assert not ESCAPE.search(on_a_terminal(tmp_path, TERM="dumb"))
