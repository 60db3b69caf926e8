"""`--seconds N`: what does not end is stopped, with exit code 1, and its loop is named."""

import signal
import subprocess
import sys
import threading
import time

import pytest
from numba import cuda  # noqa: F401  its import takes long, and is not what is limited here

from smemnb.cli import main, time_limit
from smemnb.cli.time_limit import Place, loops_around, within
from smemnb.simulator.deadline import launches_end_within, patience_left

SPIN = """
from numba import cuda

@cuda.jit(device=True)
def spin(out, i):
    while True:  # of the device function
        out[i] += 1
"""
PROGRAM = """
import time
import numpy as np
from numba import cuda
from spin_of_another_file import spin

@cuda.jit
def endless(out):
    spin(out, cuda.grid(1))

@cuda.jit
def short(out):
    out[cuda.grid(1)] += 1

def launches():
    endless[1, 32](np.zeros(32, np.float32))

def another():
    short[1, 32](np.zeros(32, np.float32))
    launches()

def computes():
    x = 0
    while x >= 0:  # of the program
        for _ in range(3):
            x += 1

def waits():
    time.sleep(1000)  # no loop

def once():
    short[1, 32](np.zeros(32, np.float32))
"""
TEXTS = {"spin_of_another_file.py": SPIN, "program_of_a_test.py": PROGRAM}


@pytest.fixture
def program(tmp_path):
    """A file with kernels and functions, which imports a device function of another file."""
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    yield tmp_path / "program_of_a_test.py"
    for name in TEXTS:
        sys.modules.pop(name.removesuffix(".py"), None)
    while str(tmp_path) in sys.path:
        sys.path.remove(str(tmp_path))


@pytest.fixture
def clock_alone(monkeypatch):
    """Launches end by their own clock, however long their types take on a busy machine."""
    monkeypatch.setattr(time_limit, "GRACE_S", 300.0)


def places(said, program):
    """The files and lines that were named, each with the source that stands there."""
    found = []
    for line in said.splitlines()[1:]:
        file, _, rest = line.strip().removeprefix(str(program.parent)).lstrip("/\\").partition(":")
        number, _, words = rest.partition(", in ")
        source = words.partition(": ")[2]
        assert TEXTS[file].splitlines()[int(number) - 1].strip() == source
        found.append((file[:4], source))
    return found


IN_SPIN = ("spin", "while True:  # of the device function")
LAUNCHED = ("prog", "endless[1, 32](np.zeros(32, np.float32))")


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["trace", "endless", "--grid", "1", "--block", "32", "--args", "float32[32]"], [IN_SPIN]),
        (["trace", "endless", "--call", "launches"], [IN_SPIN, LAUNCHED]),
        # the endless kernel is not the one that is traced
        (["trace", "short", "--call", "another"], [IN_SPIN, LAUNCHED, ("prog", "launches()")]),
        (["verify", "endless", "--call", "launches"], [IN_SPIN, LAUNCHED]),
        (["sanitize", "endless", "--call", "launches"], [IN_SPIN, LAUNCHED]),
    ],
    ids=lambda value: "-".join(value[:4:3]) if isinstance(value[0], str) else "",
)
def test_the_loop_is_named(program, capsys, clock_alone, command, named):
    """File, line and source of the loop, of a device function of another file too."""
    what, kernel, *more = command
    began = time.monotonic()
    assert main([what, f"{program}:{kernel}", *more, "--seconds", "0.2"]) == 1
    assert time.monotonic() - began < time_limit.GRACE_S
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith(f"smemnb {what}: ")
    assert places(said.err, program) == named


@pytest.mark.parametrize(
    ("function", "named"),
    [("computes", "while x >= 0:  # of the program"), ("waits", "time.sleep(1000)  # no loop")],
)
def test_a_program_around_the_launches(program, capsys, function, named):
    """The line it was at, and the loops around it."""
    assert main(["trace", f"{program}:short", "--call", function, "--seconds", "0.2"]) == 1
    assert ("prog", named) in places(capsys.readouterr().err, program)


@pytest.mark.first(2)
@pytest.mark.parametrize("command", ["trace", "sass", "verify", "sanitize"])
def test_a_file_that_is_never_imported(tmp_path, capsys, command):
    """The limit holds for the import; nothing of it is left behind."""
    before = signal.getsignal(signal.SIGINT), threading.active_count()
    file = tmp_path / f"never_imported_by_{command}.py"
    file.write_text("x = 1\nwhile True:\n    x = 3 - x\n")
    assert main([command, f"{file}:kernel", "--seconds", "0.2"]) == 1
    assert f"{file}:2, in <module>: while True:" in capsys.readouterr().err
    assert (signal.getsignal(signal.SIGINT), threading.active_count()) == before


def test_an_endless_launch_while_it_is_imported(program, capsys, clock_alone):
    """It is stopped as any, and not told as an error of the file (exit code 2)."""
    program.write_text(PROGRAM + "\nlaunches()\n")
    assert main(["trace", f"{program}:short", "--call", "once", "--seconds", "0.2"]) == 1
    assert "while True:  # of the device function" in capsys.readouterr().err


def test_what_ends_in_time(program, capsys):
    """The report, and exit code 0; usage errors stay 2."""
    words = ["trace", f"{program}:short", "--call"]
    assert main([*words, "once", "--seconds", "500"]) == 0
    with_limit = capsys.readouterr().out
    assert main([*words, "once"]) == 0
    assert capsys.readouterr().out == with_limit
    assert main([*words, "nothing", "--seconds", "500"]) == 2
    for wrong in ("0", "-1", "soon", "nan", "inf"):
        with pytest.raises(SystemExit, match="2"):
            main([*words, "once", f"--seconds={wrong}"])


def test_a_program_that_catches_everything(tmp_path):
    """It is ended from outside, with the same exit code and its line."""
    file = tmp_path / "deaf.py"
    file.write_text(
        "while True:\n    try:\n        while True:\n            pass\n"
        "    except BaseException:\n        pass\n"
    )
    code = (
        "import sys, smemnb.cli, smemnb.cli.time_limit as limit\n"
        "limit.HARD_S = 0.5\n"
        f"sys.exit(smemnb.cli.main(['trace', {str(file)!r}, '--seconds', '0.2']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert f"{file}:3, in <module>: while True:" in done.stderr


def test_a_kernel_that_never_ends_by_itself(tmp_path, capsys):
    """Without a limit too: the engine sees that nothing changes any more, and its file is named."""
    file = tmp_path / "waiting_for_nobody.py"
    file.write_text(
        "from numba import cuda\n@cuda.jit\ndef waiting(out):\n"
        "    while out[0] == 0:\n        pass\n"
    )
    words = ["--grid", "1", "--block", "32", "--args", "float32[32]=0"]
    assert main(["trace", str(file), *words]) == 1
    assert f"{file}:4, in waiting: while out[0] == 0:" in capsys.readouterr().err
    sys.modules.pop(file.stem)
    sys.path.remove(str(tmp_path))


def test_ctrl_c_before_the_limit():
    """Is what it is without one."""
    with pytest.raises(KeyboardInterrupt), within(60):
        signal.raise_signal(signal.SIGINT)


def test_outside_of_the_main_thread():
    """A thread cannot be interrupted: launches are still stopped by their clock."""
    left = []

    def work():
        with within(60):
            left.append(patience_left(None))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert 0 < left[0] <= 60


def test_patience_of_launches():
    """The least of what is left, of a limit around the limit, and of the launch's own."""
    assert patience_left(None) is None
    with launches_end_within(50):
        with launches_end_within(100):
            assert 40 < patience_left(None) <= 50
        assert patience_left(3.0) == 3.0
        with launches_end_within(1e-9):
            assert patience_left(3.0) == 0.0
    assert patience_left(7.0) == 7.0


@pytest.mark.parametrize(
    ("line", "loops"), [(2, []), (4, [4, 3]), (5, [4, 3]), (8, []), (9, []), (11, [10]), (1, [])]
)
def test_loops_around(tmp_path, line, loops):
    """The loops of the same function, the innermost first."""
    file = tmp_path / "text.py"
    file.write_text(
        "import os\n"
        "x = 1\n"
        "while x:\n"
        "    for i in os.environ:\n"
        "        x = i\n"
        "    def inner(y):\n"
        "        z = y\n"
        "        z = z\n"
        "        return z\n"
        "for i in ():\n"
        "    pass\n"
    )
    function = "inner" if 7 <= line <= 9 else "<module>"
    found = loops_around(Place(str(file), line, function))
    assert found == [Place(str(file), loop, function) for loop in loops]
