"""`import smemnb`: cheap, lazy, and complete."""

import subprocess
import sys
import time

import pytest

import smemnb


def test_time():
    """`import smemnb` takes less than half a second more than Python alone."""

    def seconds(code):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - begin

    alone = min(seconds("pass") for _ in range(3))
    assert min(seconds("import smemnb") for _ in range(3)) - alone < 0.5


def test_brings_nothing():
    """It brings neither Numba nor Matplotlib nor NumPy."""
    code = "import sys, smemnb; print(sorted({'numba', 'matplotlib', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("name", smemnb.__all__)
def test_names(name):
    """Every public name can be had, and none of them is a module."""
    assert type(getattr(smemnb, name)).__name__ != "module"


def test_rooms():
    """Rooms can be had as attributes."""
    assert smemnb.rules.bank.bank_of(4) == 1
    assert smemnb.simulator.__name__ == "smemnb.simulator"


def test_unknown_name():
    """An unknown name is refused with the known ones."""
    with pytest.raises(AttributeError, match=r"smemnb has no 'tracer'.*trace"):
        _ = smemnb.tracer


def test_dir():
    """`dir(smemnb)` shows the public names and the rooms."""
    assert {"trace", "check", "rules", "__version__"} <= set(dir(smemnb))


def test_version():
    """The version is the one of the package."""
    assert smemnb.__version__ == "0.1.0"
