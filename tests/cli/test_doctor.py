"""The doctor names each trouble, and only that one."""

from dataclasses import replace

import pytest

from smemnb.cli import main
from smemnb.cli.doctor import examine, report
from smemnb.cli.machine import Driver, Machine, driver, gpu_count, look
from smemnb.errors import SmemnbError

VERSIONS = {
    "numpy": "2.4.6",
    "numba": "0.68.1",
    "numba-cuda": "0.30.4",
    "rich": "15.0.0",
    "jupyterlab": "4.6.6",
    "ipykernel": "7.0.0",
}
HEALTHY = Machine(
    python=(3, 11, 7),
    system="Linux",
    processor="x86_64",
    virtual=True,
    versions=VERSIONS,
    toolkits=(13,),
    driver=Driver(True, (13, 0), 1),
    kernel_python="python",
    try_trace=lambda: "1,056 wavefronts",
    try_apart=lambda: (True, "bubblewrap"),
)


def states(machine):
    return {check.name: check.state for check in examine(machine) if check.state != "works"}


def versions(**changed):
    names = {key.replace("_", "-"): value for key, value in changed.items()}
    merged = VERSIONS | names
    return {name: version for name, version in merged.items() if version is not None}


def test_healthy():
    """Nothing to say of a machine that has everything."""
    assert states(HEALTHY) == {}
    assert report(examine(HEALTHY)).splitlines()[-1] == "all is well"


def nowhere():
    raise SmemnbError("grade as another user")


def broken():
    raise RuntimeError("no source")


@pytest.mark.parametrize(
    ("changed", "name", "state", "words"),
    [
        ({"python": (3, 10, 13)}, "Python", "wrong", "3.11 or newer"),
        ({"virtual": False}, "environment", "note", "python3 -m venv"),
        ({"try_apart": lambda: (False, "limits")}, "grading others", "note", "bubblewrap"),
        ({"try_apart": nowhere}, "grading others", "note", "as another user"),
        ({"versions": versions(numpy="2.5.0")}, "NumPy", "wrong", '"numpy>=2,<2.5"'),
        ({"versions": versions(numpy="1.26.4")}, "NumPy", "wrong", '"numpy>=2,<2.5"'),
        ({"versions": versions(numba="0.65.1")}, "Numba", "wrong", '"numba>=0.66,<0.70"'),
        ({"versions": versions(numba=None)}, "Numba", "wrong", "pip install"),
        ({"versions": versions(numba_cuda="0.29.0")}, "numba-cuda", "wrong", "0.30.4"),
        ({"versions": versions(numba_cuda="0.30.3")}, "numba-cuda", "wrong", "0.30.4"),
        ({"versions": versions(numba_cuda="0.31.0")}, "numba-cuda", "wrong", "0.31"),
        ({"versions": versions(numba_cuda=None)}, "numba-cuda", "note", "0.30"),
        ({"versions": versions(rich="13.9.4")}, "rich", "wrong", "rich>=14"),
        ({"versions": versions(rich=None)}, "rich", "wrong", "rich>=14"),
        ({"runtime": False}, "CUDA runtime", "wrong", "nvidia-cuda-runtime-cu12"),
        ({"environment": {"NUMBA_ENABLE_CUDASIM": "1"}}, "simulator", "wrong", "unset"),
        ({"toolkits": (12, 13)}, "CUDA wheels", "wrong", "one of the extras"),
        ({"toolkits": ()}, "CUDA wheels", "note", ""),
        ({"driver": Driver(False)}, "GPU", "note", ""),
        ({"driver": Driver(True, (13, 0), 0, 100)}, "GPU", "note", ""),
        ({"driver": Driver(True, (13, 0), 0, 803)}, "GPU", "wrong", "update the driver"),
        ({"driver": Driver(True, (13, 0), 0, 700)}, "GPU", "wrong", "restart the kernel"),
        ({"driver": Driver(True, (12, 4), 1)}, "driver", "wrong", "extra cu12"),
        ({"wsl": True, "linux_driver": True}, "WSL", "wrong", "apt remove"),
        ({"versions": versions(jupyterlab="4.6.1")}, "JupyterLab", "wrong", "[lab]"),
        ({"versions": versions(jupyterlab=None)}, "JupyterLab", "note", "[lab]"),
        ({"kernel_python": None}, "Jupyter kernel", "wrong", "ipykernel"),
        ({"kernel_is_ours": False}, "Jupyter kernel", "wrong", "kernelspec remove"),
        ({"try_trace": broken}, "trace", "wrong", "report this line"),
    ],
)
def test_each_trouble(changed, name, state, words):
    """One thing amiss: exactly its line changes, and the cure stands under it."""
    machine = replace(HEALTHY, **changed)
    assert states(machine) == {name: state}
    (check,) = [check for check in examine(machine) if check.name == name]
    assert words in check.cure
    assert ("1 to mend" if state == "wrong" else "all is well") in report(examine(machine))


@pytest.mark.parametrize(
    "changed",
    [
        {"environment": {"NUMBA_ENABLE_CUDASIM": "0"}},
        {"toolkits": (12,)},
        {"wsl": True},
        {"python": (3, 13, 0)},
        {"system": "Darwin", "processor": "arm64", "versions": versions(numba_cuda=None)},
    ],
)
def test_what_is_well(changed):
    """Near-identical machines that have nothing amiss."""
    assert states(replace(HEALTHY, **changed)) == {}


@pytest.mark.parametrize("apart", [nowhere, lambda: (False, "limits"), lambda: (True, "a box")])
def test_grading_is_for_teachers(apart):
    """What is missing for `smemnb grade --execute` is nothing that a learner lacks."""
    (check,) = [one for one in examine(replace(HEALTHY, try_apart=apart)) if "grad" in one.name]
    assert "for teachers" in check.seen and "smemnb grade --execute" in check.seen


def test_intel_mac():
    """macOS on Intel is said to be unsupported."""
    machine = replace(
        HEALTHY, system="Darwin", processor="x86_64", versions=versions(numba_cuda=None)
    )
    assert states(machine) == {"numba-cuda": "note"}


def test_report_of_one_trouble():
    """State, name, what was seen; the cure under it; the count at the end."""
    machine = replace(HEALTHY, versions=versions(numpy="2.5.0"))
    lines = report(examine(machine)).splitlines()
    assert lines[2:4] == [
        "wrong  NumPy           2.5.0; wanted 2 or newer, below 2.5",
        '                       cure: pip install "numpy>=2,<2.5"',
    ]
    assert lines[-1] == "1 to mend"


def test_this_machine():
    """What the tests run on is fit for them."""
    wrong = [check for check in examine(look()) if check.state == "wrong"]
    assert wrong == []


def test_driver_without_gpu():
    """Without a driver there are no GPUs, and nothing raises."""
    assert gpu_count() == driver().gpus >= 0


def test_exit_code(monkeypatch, capsys):
    """1 as soon as one thing is wrong, however much else is well."""
    monkeypatch.setattr("smemnb.cli.machine.look", lambda: HEALTHY)
    assert main(["doctor"]) == 0
    wrong = replace(HEALTHY, versions=versions(numpy="2.5.0"))
    monkeypatch.setattr("smemnb.cli.machine.look", lambda: wrong)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 to mend"
