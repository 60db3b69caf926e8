"""The command `smemnb`: what it prints and how it ends."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

import smemnb
from smemnb.cli import main
from smemnb.exercises.progress import remember
from smemnb.tracing import Trace
from smemnb.version import VERSION

SAMPLE = """
import numpy as np
from numba import cuda, float32

TILE = 32

@cuda.jit(device=True)
def twice(x):
    return 2 * x

@cuda.jit
def transpose_tiled(out, inp):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    tile[ty, tx] = inp[row, col]
    cuda.syncthreads()
    out[cuda.blockIdx.x * TILE + ty, cuda.blockIdx.y * TILE + tx] = tile[tx, ty]

@cuda.jit
def racing(out):
    tile = cuda.shared.array(64, float32)
    tx = cuda.threadIdx.x
    tile[tx] = tx
    out[tx] = tile[63 - tx]

def main():
    inp = np.ones((64, 64), np.float32)
    out = np.zeros_like(inp)
    transpose_tiled[(2, 2), (32, 32)](out, inp)
    assert out.all()
    transpose_tiled[(1, 1), (32, 32)](out[:32], inp[:32])

def for_all():
    out = np.zeros(64, np.int32)
    racing.forall(0)(out)
    racing.forall(64, tpb=64)(out)
    assert out.sum() == 64 * 63 // 2

def idle():
    pass

def failing():
    raise ValueError("on purpose")
"""


@pytest.fixture
def sample(tmp_path):
    path = tmp_path / "sample_kernels.py"
    path.write_text(SAMPLE)
    yield path
    sys.modules.pop("sample_kernels", None)
    sys.path.remove(str(tmp_path)) if str(tmp_path) in sys.path else None


LAUNCH = ["--grid", "2,2", "--block", "32,32", "--args", "float32[64,64]=0", "float32[64,64]"]


def test_trace_one_launch(sample, capsys):
    """A launch written out: the report, and exit code 0 where no finding is an error."""
    assert main(["trace", f"{sample}:transpose_tiled", *LAUNCH]) == 0
    said = capsys.readouterr().out
    assert main(["trace", f"{sample}:transpose_tiled", *LAUNCH, "--json", "-"]) == 0
    report = Trace.from_json(capsys.readouterr().out)
    assert said == f"{report}\n"
    # 4 blocks of 32 warps: 128 stores of 1 wavefront, 128 loads of 32
    assert (report.shared.wavefronts, report.shared.extra, report.shared.ways) == (4224, 3968, 32)


def test_trace_json(sample, capsys):
    """--json - prints the JSON and nothing else."""
    assert main(["trace", f"{sample}:transpose_tiled", *LAUNCH, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["shared"]["wavefronts"] == 4224


def test_trace_to_files(sample, tmp_path, capsys):
    """--json and --html store; the text is printed as well."""
    files = ["--json", str(tmp_path / "t.json"), "--html", str(tmp_path / "t.html")]
    assert main(["trace", f"{sample}:transpose_tiled", *LAUNCH, *files]) == 0
    assert capsys.readouterr().out.startswith("transpose_tiled[(2, 2), (32, 32)]")
    assert json.loads((tmp_path / "t.json").read_text())["shared"]["extra"] == 3968
    page = (tmp_path / "t.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "transpose_tiled" in page
    out, inp = np.zeros((2, 64, 64), np.float32)
    kernel = sys.modules["sample_kernels"].transpose_tiled
    assert page == smemnb.trace(kernel)[(2, 2), (32, 32)](out, inp).page()


def test_trace_several_launches_to_a_page(sample, tmp_path):
    """A page has the view of each launch, with the name of the file and none of its folders."""
    file = tmp_path / "t.html"
    words = ["trace", f"{sample}:transpose_tiled", "--call", "main", "--html", str(file)]
    assert main(words) == 0
    page = file.read_text(encoding="utf-8")
    assert page.count("<table") == page.count("in sample_kernels.py") == 2
    assert str(tmp_path) not in page
    assert "4,224 wavefronts" in page and "1,056 wavefronts" in page


def test_trace_through_a_function(sample, capsys):
    """--call traces every launch that the function makes, and the launches take effect."""
    assert main(["trace", f"{sample}:transpose_tiled", "--call", "main", "--json", "-"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["shared"]["wavefronts"] for line in lines] == [4224, 1056]


@pytest.mark.parametrize("command", ["trace", "verify"])
def test_launches_of_forall(sample, command):
    """A launch through forall is seen, by tools as by trace; forall(0) is none."""
    from smemnb.cli import launches, traces
    from smemnb.cli.kernel_file import load

    source = load(f"{sample}:racing")
    stand_in = (
        traces._Traced(source.kernel, {}) if command == "trace" else launches._Seen(source.kernel)
    )
    launches.make(source, stand_in, grid=None, block=None, call="for_all")
    assert [str(one.launch) for one in stand_in.found] == ["racing[1, 64]"]


def test_trace_with_errors(sample, capsys):
    """A finding that is an error ends with exit code 1."""
    words = ["trace", f"{sample}:racing", "--grid", "1", "--block", "64", "--args", "float32[64]"]
    assert main(words) == 1
    assert "error:" in capsys.readouterr().out


def test_trace_with_waivers(sample, tmp_path, capsys):
    """A waived error ends with exit code 0 and is listed; --no-waivers shows it and ends with 1."""
    path = sample
    path.write_text(
        SAMPLE.replace("tile[tx] = tx\n", "tile[tx] = tx  # smemnb: allow[race] a test\n")
    )
    words = ["trace", f"{path}:racing", "--grid", "1", "--block", "64", "--args", "float32[64]"]
    file = tmp_path / "out.sarif"
    assert main([*words, "--sarif", str(file)]) == 0
    said = capsys.readouterr().out
    assert "1 waived" in said and "a test" in said and "error:" not in said
    (run,) = json.loads(file.read_text())["runs"]
    suppressed = [one["suppressions"] for one in run["results"] if one["ruleId"] == "smemnb/race"]
    assert suppressed == [[{"kind": "inSource", "justification": "a test"}]]
    assert main([*words, "--no-waivers"]) == 1
    said = capsys.readouterr().out
    assert "error:" in said and "waived" not in said.partition("findings:")[2]


def test_numbers_without_commas(sample, capsys):
    """`--grid 8 128`: the refusal says how a launch of two axes is written."""
    for more, commas in ((["8", "128"], True), (["8", "out"], False)):
        with pytest.raises(SystemExit):
            main(["trace", f"{sample}:racing", "--grid", *more])
        error = capsys.readouterr().err
        assert (f"not understood: {more[1]}" in error, "--grid 4,4" in error) == (True, commas)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([":transpose_tiled"], "how is transpose_tiled launched? Add --grid"),
        ([":transpose_tiled", "--grid", "1"], "it has: main, for_all, idle, failing"),
        ([":racing", "--grid", "8", "--blocks", "128"], "write --grid 8 --block 32,8 --args"),
        ([":racing", "--block", "64"], "write --grid 4,4 --block 64 --args"),
        ([":transpose_tiled", *LAUNCH[:5], "1"], "transpose_tiled(out, inp) takes 2 arguments"),
        ([":transpose_tiled", "--call", "main", "--grid", "1"], "--call launches by itself"),
        (
            [":transpose_tiled", "--call", "run"],
            "has no function run; it has: main, for_all, idle, failing",
        ),
        ([":transpose_tiled", "--call", "idle"], "idle() came back and had not launched"),
        ([":main", "--call", "main"], "main is no kernel; the file has: transpose_tiled, racing"),
        (
            [":racing", "--call", "racing"],
            "racing is the kernel; --call takes a function that launches it: main, for_all",
        ),
        ([":idle", "--call", "main"], "idle is no kernel; the file has: transpose_tiled, racing"),
        ([":transpose_tiled", "--call", "failing"], "failing() raised (line 44): ValueError: on"),
        ([":transpose", *LAUNCH], "has no transpose; it has: transpose_tiled, racing"),
        (["", *LAUNCH], "has several kernels; it has: transpose_tiled, racing"),
    ],
)
def test_trace_refused(sample, capsys, words, said):
    """Exit code 2, and a sentence that says what to write."""
    assert main(["trace", f"{sample}{words[0]}", *words[1:]]) == 2
    error = capsys.readouterr().err
    assert error.startswith("smemnb trace: ") and said in error


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("absent.py", None, "is not there (looked in "),
        ("notes.txt", "", "write FILE.py:KERNEL"),
        ("empty_file.py", "", "has no kernel"),
        (
            "broken_file.py",
            "x = 1\ny = 1 / 0\n",
            "while it was imported (line 2): ZeroDivisionError",
        ),
        ("unfinished_file.py", "x = (\n", "while it was imported (line 1): SyntaxError"),
    ],
)
def test_file_refused(tmp_path, capsys, name, text, said):
    """A file without the kernel is refused with the reason."""
    if text is not None:
        (tmp_path / name).write_text(text)
    assert (
        main(["trace", f"{tmp_path / name}:kernel" if text is None else str(tmp_path / name)]) == 2
    )
    assert said in capsys.readouterr().err


def test_check(sample, capsys):
    """A kernel that is no answer: its verdict, and exit code 1."""
    assert main(["check", "ex00_scale", f"{sample}:racing"]) == 1
    assert capsys.readouterr().out.startswith("ex00_scale: not yet")


def test_check_unknown_exercise(capsys):
    """Refused like a wrong option, whatever the file is: with the name that was meant."""
    assert main(["check", "ex00_scal", "nowhere.py:kernel"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and "ex00_scale" in said.err
    assert main(["check", "weather", "nowhere.py:kernel"]) == 2
    assert "smemnb progress" in capsys.readouterr().err


def test_progress(capsys):
    """The table of exercises."""
    assert main(["progress"]) == 0
    assert "exercises done" in capsys.readouterr().out


def test_progress_says_where_it_is(capsys, tmp_path, monkeypatch):
    """The help names the file, and how to begin anew; so does the foot, once there is a file."""
    monkeypatch.setenv("SMEMNB_HOME", str(tmp_path))
    monkeypatch.setenv("SMEMNB_PROGRESS", "on")
    path = str(tmp_path / "progress.json")
    with pytest.raises(SystemExit, match="0"):
        main(["progress", "--help"])
    said = capsys.readouterr().out
    assert path in said and "delete that file" in said
    main(["progress"])
    assert path not in capsys.readouterr().out
    remember("ex00_scale", done=True)
    main(["progress"])
    said = capsys.readouterr().out.splitlines()[-1]
    assert path in said and "delete that file" in said


def test_unknown_option(capsys):
    """A misspelt option is refused, not passed over."""
    with pytest.raises(SystemExit, match="2"):
        main(["progress", "--al"])
    assert "not understood: --al" in capsys.readouterr().err


def test_help_is_quick():
    """`smemnb --help` imports neither NumPy nor Numba."""
    code = (
        "import sys, smemnb.cli as cli\n"
        "try: cli.main(['--help'])\n"
        "except SystemExit: print(sorted({'numpy', 'numba', 'matplotlib'} & set(sys.modules)))"
    )
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
    assert time.monotonic() - start < 5


def test_version(capsys):
    """`smemnb --version` says the version of the package, which has one place."""
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"smemnb {smemnb.__version__}\n")
    assert smemnb.__version__ == VERSION


def without_reader(command):
    """Run a command whose reader has gone before it says a word: (exit code, stderr)."""
    reading, writing = os.pipe()
    os.close(reading)
    code = f"import sys; from smemnb.cli import main; sys.exit(main({command!r}))"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=writing, stderr=subprocess.PIPE, text=True
        )
    finally:
        os.close(writing)
    said = [line for line in done.stderr.splitlines() if "frozen modules" not in line]
    return done.returncode, [line for line in said if "PYDEVD" not in line]


@pytest.mark.skipif(sys.platform == "win32", reason="an exit code of a shell's pipe")
def test_nobody_reads(sample):
    """With a closed pipe each command ends quietly, and its exit code is still its answer."""
    block = ["--grid", "1", "--block", "64", "--args", "float32[64]"]
    assert without_reader(["trace", f"{sample}:racing", *block]) == (1, [])
    assert without_reader(["--help"]) == (0, [])


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="an exit code of a shell's pipe")
@pytest.mark.parametrize(
    ("code", "command"),
    [
        (0, ["--version"]),
        (0, ["trace", "--help"]),
        (0, ["trace", "{}:transpose_tiled", *LAUNCH]),
        (0, ["trace", "{}:transpose_tiled", *LAUNCH, "--json", "-"]),
        (1, ["check", "ex00_scale", "{}:racing"]),
        (0, ["progress"]),
        (None, ["doctor"]),
        (None, ["bench", "--show", "transpose"]),
        (0, ["bench", "overhead", "--help"]),
        (0, ["tune", "matmul"]),
        (0, ["grade", "--help"]),
        (0, ["lab", "--help"]),
        (None, ["verify", "--help"]),
        (None, ["sanitize", "--help"]),
        (None, ["sass", "{}:transpose_tiled", "--args", "float32[64,64]", "float32[64,64]"]),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_nobody_reads_any(sample, code, command):
    """Every subcommand: no traceback, and the code that it has with a reader."""
    command = [part.format(sample) for part in command]
    ended, said = without_reader(command)
    if code is None:
        with_reader = [sys.executable, "-m", "smemnb", *command]
        code = subprocess.run(with_reader, capture_output=True).returncode
    assert ended == code
    assert not any("Traceback" in line or "BrokenPipe" in line for line in said)


@pytest.mark.exhaustive
def test_numba_is_to_simulate(sample):
    """NUMBA_ENABLE_CUDASIM is left aside: the engine runs, with Numba's types, and says so."""
    command = [sys.executable, "-m", "smemnb.cli", "trace", f"{sample}:transpose_tiled", *LAUNCH]
    done = [
        subprocess.run(command, capture_output=True, text=True, env=os.environ | more, check=False)
        for more in ({"NUMBA_ENABLE_CUDASIM": "0"}, {"NUMBA_ENABLE_CUDASIM": "1"})
    ]
    assert [one.returncode for one in done] == [0, 0]
    assert done[0].stdout == done[1].stdout
    assert [one.stderr.count("NUMBA_ENABLE_CUDASIM") for one in done] == [0, 1]
