"""The pytest plugin, tried on the example project as its user would, and on broken copies of it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from smemnb.errors import LaunchRefused, SmemnbError
from smemnb.kernels.transpose import transpose_padded
from smemnb.testing.budget import failing
from smemnb.testing.plugin import KernelTrace
from tests.tracing.records import race, turned

EXAMPLE = Path(__file__).parent / "example_project"
ROOT = Path(__file__).parents[2]
BARRIER = "    cuda.syncthreads()\n    out[i]"


@pytest.fixture
def project(tmp_path):
    """A copy of the example project; `change(old, new)` edits its kernels, `run` runs pytest."""
    return Project(Path(shutil.copytree(EXAMPLE, tmp_path / "project")))


class Project:
    def __init__(self, folder):
        self.folder = folder

    def change(self, old, new, file="kernels.py"):
        path = self.folder / file
        before = path.read_text()
        assert before.count(old) == 1
        path.write_text(before.replace(old, new))

    def line_of(self, text):
        lines = (self.folder / "kernels.py").read_text().splitlines()
        return 1 + next(at for at, line in enumerate(lines) if text in line)

    def run(self, *options, **environment):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB", "PYTEST"))}
        clean |= {"PYTHONPATH": str(ROOT), "SMEMNB_DEVICE": "lockstep", "COLUMNS": "120"}
        clean |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # other plugins take seconds to import
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *options]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=clean | environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


def test_the_example_passes(project):
    """Budgets hold, watched and not, and a SARIF file without results is written."""
    code, said = project.run()
    assert (code, said.strip().splitlines()[-1][:8]) == (0, "2 passed")
    code, said = project.run("--smemnb", "--smemnb-sarif", "out.sarif", GITHUB_ACTIONS="true")
    assert code == 0 and "smemnb: 0 findings in out.sarif" in said and "::" not in said
    assert json.loads((project.folder / "out.sarif").read_text())["runs"][0]["results"] == []


@pytest.mark.exhaustive
def test_over_budget(project):
    """Without the pad: which budget, by how much, at which source line, and the whole report."""
    project.change("PITCH = TILE + 1", "PITCH = TILE")
    code, said = project.run()
    assert code == 1 and "1 failed, 1 passed" in said
    line = project.line_of("= tile[tx, ty]")
    for expected in (
        "turned[(3, 2), (32, 32)]: over its budget (model)",
        f"in {project.folder / 'kernels.py'}",
        "  extra wavefronts: 5,952, the budget is 0",  # 6 blocks, 32 warps, 31 extra each
        "  n-way of the worst request: 32, the budget is 1",
        f"      line {line}: out[out_row, out_col] = tile[tx, ty]",
        "          load tile[tx, ty]: 5,952 in 192 requests",
        "findings: none",
    ):
        assert expected in said
    assert "sectors: " not in said


@pytest.mark.exhaustive
def test_a_race_in_a_test_of_values(project):
    """Without its barrier the value is right by luck; only a watched launch fails the test."""
    project.change(BARRIER, "    out[i]")
    assert project.run()[0] == 0
    code, said = project.run(
        "--smemnb", "--smemnb-sarif", "out.sarif", "--smemnb-annotations", "always"
    )
    assert code == 1 and "1 failed, 1 passed" in said
    store, load = project.line_of("part[tx] ="), project.line_of("part[127 - tx]")
    assert "reversed_in_blocks[4, 128]: findings that fail the test (model)" in said
    assert f"line {store}: part[tx] = inp[i]" in said and f"line {load}: out[i] =" in said
    (command,) = [one for one in said.splitlines() if one.startswith("::")]
    title = "title=race in reversed_in_blocks::reversed_in_blocks[4, 128]: "
    assert command.startswith(f"::error file=kernels.py,line={store},{title}")
    (run,) = json.loads((project.folder / "out.sarif").read_text())["runs"]
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("smemnb/race", "error")
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["smemnb/race"]
    (place,) = result["locations"]
    physical = place["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "kernels.py", "uriBaseId": "%SRCROOT%"}
    assert physical["region"] == {"startLine": store, "snippet": {"text": "part[tx] = inp[i]"}}
    (other,) = result["relatedLocations"]
    assert other["physicalLocation"]["region"]["startLine"] == load
    root = run["originalUriBaseIds"]["%SRCROOT%"]["uri"]
    assert root == project.folder.resolve().as_uri() + "/"


@pytest.mark.exhaustive
def test_allowed(project):
    """What was allowed passes; it is listed with its reason, and suppressed in the SARIF file."""
    project.change(BARRIER, "    out[i]")
    line = project.line_of("part[tx] =")
    for allow in ("race: benign", "race@reversed_in_blocks: benign", f"race@{line}: benign"):
        code, said = project.run(
            *("--smemnb", "--smemnb-allow", allow, "--smemnb-sarif", "out.sarif"),
            *("--smemnb-annotations", "always"),
        )
        assert code == 0 and "smemnb: 1 findings" in said and "::error" not in said
        assert f"smemnb: waived: kernels.py:{line}: error, race: benign" in said
    (run,) = json.loads((project.folder / "out.sarif").read_text())["runs"]
    (result,) = run["results"]
    assert result["suppressions"] == [{"kind": "external", "justification": "benign"}]
    assert project.run("--smemnb", "--smemnb-allow", "race@turned: benign")[0] == 1


@pytest.mark.first(1)
@pytest.mark.parametrize("allow", ["race", "rase: benign", "race@: benign", "race@turned:"])
def test_not_allowed(project, allow):
    """Without a reason, a known kind and a place that means something nothing is allowed."""
    code, said = project.run("--smemnb", "--smemnb-allow", allow)
    assert code == 4 and "--smemnb-allow: allow: " in said


@pytest.mark.exhaustive
def test_waived_in_the_source(project):
    """A comment waives a finding for every test; the session lists it."""
    project.change("= inp[i]\n", "= inp[i]  # smemnb: allow[race] benign\n")
    project.change(BARRIER, "    out[i]")
    code, said = project.run("--smemnb", "--smemnb-sarif", "out.sarif")
    line = project.line_of("part[tx] =")
    assert code == 0 and f"smemnb: waived: kernels.py:{line}: error, race: benign" in said
    (run,) = json.loads((project.folder / "out.sarif").read_text())["runs"]
    (result,) = run["results"]
    assert result["suppressions"] == [{"kind": "inSource", "justification": "benign"}]


@pytest.mark.exhaustive
def test_allowed_for_one_kernel(project):
    """`kernel_trace(allow=...)`: with its reason; what no launch of the test needs is told."""
    project.change("    cuda.syncthreads()\n    out_row", "    out_row = 0\n    out_row")
    assert project.run()[0] == 1
    old = "sectors=sectors)"
    allow = 'sectors=sectors, allow={("race", "tile[ty, tx] = "): "benign", "stale": "unknown"})'
    project.change(old, allow, "test_kernels.py")
    code, said = project.run()
    line = project.line_of("tile[ty, tx] =")
    assert code == 0 and f"smemnb: waived: kernels.py:{line}: error, race: benign" in said
    assert "smemnb: allowed, not found: 'stale' of turned in test_kernels.py::test_turned" in said


@pytest.mark.exhaustive
def test_a_race_in_a_fixture(project):
    """A launch in a fixture is watched as well: the test is an error, not a pass."""
    project.change(BARRIER, "    out[i]")
    project.change(
        "def test_reversed_in_blocks():",
        "import pytest\n\n\n@pytest.fixture\ndef done():\n"
        "    reversed_in_blocks[1, 128](np.zeros(128, np.float32), np.ones(128, np.float32))\n\n\n"
        "def test_done(done):\n    pass\n\n\ndef later():",
        "test_kernels.py",
    )
    code, said = project.run("--smemnb")
    assert code == 1 and "1 passed, 1 error" in said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"extra": -1}, "the budget extra=-1 is no number of extra wavefronts"),
        ({"ways": 1.5}, "the budget ways=1.5 is no number of n-way"),
        (
            {"conflicts": 0},
            "there is no budget for 'conflicts'; there are: wavefronts, extra, ways",
        ),
        ({"severity": "bad"}, "severity='bad': write one of error, warning, note, or None"),
        ({"allow": "race"}, "allow='race': write the kinds of findings with their reasons"),
        ({"allow": ("race",)}, "allow=('race',): write the kinds of findings with their reasons"),
        ({"allow": {"race": ""}}, "allow: 'race' has no reason"),
        ({"watching": {"blocks": "some"}}, "blocks='some': write 'all'"),
    ],
)
def test_refused(given, said):
    """What is no budget is refused before the launch."""
    with pytest.raises(SmemnbError) as refused:
        KernelTrace(print)(transpose_padded, **given)
    assert str(refused.value).startswith(said)


def test_without_pytest():
    """The import says which package is absent, and which extra has it."""
    code = "import sys; sys.modules['pytest'] = None; sys.path.insert(0, sys.argv[1])\n"
    code += "try:\n    import smemnb.testing\n"
    code += "except ModuleNotFoundError as error:\n    print(error.name, '\"test\"' in str(error))"
    command = [sys.executable, "-c", code, str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("pytest True\n", "")


def test_a_launch_left_out():
    """Without brackets, or without a kernel, the refusal says what to write, budgets included."""
    traced = KernelTrace(lambda report, allow: None)
    with pytest.raises(LaunchRefused) as refused:
        traced(transpose_padded, extra=0, ways=1)(1, 2)
    call = "kernel_trace(transpose_padded, extra=0, ways=1)[grid, block](out, inp)"
    assert str(refused.value) == f"transpose_padded needs a launch: {call}"
    with pytest.raises(SmemnbError) as refused:
        traced(extra=0)(transpose_padded)
    assert str(refused.value) == (
        "the kernel comes first: write kernel_trace(kernel, extra=0)[grid, block](...)"
    )
    with pytest.raises(LaunchRefused):
        traced(transpose_padded)[1]
    assert traced.forgotten() == []  # what was refused was tried
    traced(transpose_padded)
    traced(transpose_padded)[1, 32]
    arrays = np.zeros((32, 32), np.float32), np.ones((32, 32), np.float32)
    assert traced(transpose_padded)[1, (32, 32)](*arrays).launch.threads_per_block == 1024
    call = "kernel_trace(transpose_padded)[grid, block](out, inp)"
    said = f"transpose_padded was never launched, so nothing was traced: write {call}"
    assert traced.forgotten() == [said, said]


@pytest.mark.exhaustive
def test_a_launch_forgotten(project):
    """A kernel that is traced and never launched fails its test, unless that was skipped."""
    old = "[(3, 2), (TILE, TILE)](out, inp)\n"
    project.change(old, '\n    __import__("pytest").skip()\n', "test_kernels.py")
    assert project.run()[0] == 0
    project.change('__import__("pytest").skip()', "return", "test_kernels.py")
    code, said = project.run()
    assert code == 1 and "1 failed, 1 passed" in said
    budget = f"extra=0, ways=1, sectors={2 * 64 * 96 * 4 // 32}"
    assert f"write kernel_trace(turned, {budget})[grid, block](out, inp)" in said


@pytest.mark.exhaustive
def test_numba_is_to_simulate(project):
    """--smemnb refuses Numba's simulator, with the cure; the fixture traces in the engine."""
    code, said = project.run("--smemnb", NUMBA_ENABLE_CUDASIM="1")
    assert (code, "Unset NUMBA_ENABLE_CUDASIM" in said) == (pytest.ExitCode.USAGE_ERROR, True)
    assert project.run(NUMBA_ENABLE_CUDASIM="1")[0] == 0


@pytest.mark.exhaustive
def test_prices(project):
    """A launch that is only slow passes, unless prices are asked for; SARIF has it in any case."""
    project.change(
        "    reversed_in_blocks[4, 128](out, inp)\n",
        "    reversed_in_blocks[4, 128](out, inp)\n"
        "    columns = np.ones((64, 64), np.float32, order='F')\n"
        "    turned[(2, 2), (TILE, TILE)](np.zeros((64, 64), np.float32), columns)\n",
        "test_kernels.py",
    )
    code, said = project.run("--smemnb", "--smemnb-sarif", "out.sarif")
    assert code == 0 and "smemnb: 1 findings" in said
    code, said = project.run("--smemnb", "--smemnb-prices")
    assert code == 1 and "1 failed, 1 passed" in said
    assert "warning, uncoalesced" in said


def test_severity():
    """What fails a test: errors and warnings by default, notes if asked, nothing with None."""
    kinds = ("race_same_value", "race", "race_in_warp")
    found = [one for kind in kinds for one in turned([race(kind)]).findings]
    assert [one.severity for one in failing(found, "warning")] == ["error", "warning"]
    assert [one.severity for one in failing(found, "note")] == ["note", "error", "warning"]
    assert failing(found, None) == []
    assert [one.kind for one in failing(found, "error")] == ["race"]
