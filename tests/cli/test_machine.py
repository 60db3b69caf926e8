"""What is found of this machine without starting Numba."""

import json
import subprocess
import sys

import pytest

from smemnb.cli.machine import jupyter_kernel, look


@pytest.fixture
def kernelspec(tmp_path, monkeypatch):
    """A function that installs a user's kernel python3 which starts these words."""
    pytest.importorskip("jupyter_client")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    folder = tmp_path / "kernels" / "python3"
    folder.mkdir(parents=True)

    def install(*words):
        spec = {"argv": list(words), "display_name": "Python 3", "language": "python"}
        (folder / "kernel.json").write_text(json.dumps(spec))

    return install


def test_kernel_of_this_environment(kernelspec):
    """A bare name and this very interpreter are this Python."""
    kernelspec("python", "-m", "ipykernel_launcher")
    assert jupyter_kernel() == (sys.executable, True)
    kernelspec(sys.executable, "-m", "ipykernel_launcher")
    assert jupyter_kernel() == (sys.executable, True)


def test_kernel_of_another_environment(kernelspec, tmp_path):
    """A user's kernel that starts another Python is named."""
    other = str(tmp_path / "bin" / "python3")
    kernelspec(other, "-m", "ipykernel_launcher")
    assert jupyter_kernel() == (other, False)


def test_look_starts_no_numba():
    """Looking at the machine imports neither Numba nor NumPy."""
    code = (
        "import sys; from smemnb.cli.machine import look; look();"
        "print(sorted({'numba', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_versions_are_the_installed_ones():
    """Versions are those that Python would import."""
    import numpy

    assert look().versions["numpy"] == numpy.__version__
    assert look().python == sys.version_info[:3]
