"""`smemnb verify` and `smemnb sanitize` where there is no GPU: words, and the model's own side."""

import argparse
import re

import numpy as np
import pytest

from smemnb.cli import main
from smemnb.cli.launches import launches
from smemnb.errors import LaunchRefused
from smemnb.measure.hazards import Report, Spot, table
from smemnb.measure.predictions import load
from smemnb.measure.verify.ncu.launching import read_journal
from tests.agreement.shipped import RECORDING, needs_recording

KERNELS = """import numpy as np
from numba import cuda, float32

@cuda.jit
def flip(out, inp):
    part = cuda.shared.array(64, float32)
    tx = cuda.threadIdx.x
    part[tx] = inp[tx]
    out[tx] = part[63 - tx]

@cuda.jit
def add_one(data):
    data[cuda.grid(1)] += 1

def twice():
    data = np.zeros(64, np.float32)
    add_one[1, 64](data)
    add_one[2, 32](data)
    assert data.sum() == 128
"""


@pytest.fixture
def file(tmp_path):
    """A file with kernels."""
    path = tmp_path / "mine.py"
    path.write_text(KERNELS)
    return path


@pytest.fixture
def no_gpu():
    """Skips where these commands would use the GPU."""
    from smemnb.cli.machine import gpu_count

    if gpu_count():
        pytest.skip("there is a GPU")


ONCE = ["--grid", "1", "--block", "64", "--args", "float32[64]=0", "float32[64]"]


def options(kernel, *more):
    """Options of a command line, as `launches` takes them."""
    parser = argparse.ArgumentParser()
    for name in ("--grid", "--block", "--call"):
        parser.add_argument(name)
    parser.add_argument("--args", nargs="*")
    parser.add_argument("--shared", type=int, default=0)
    found = parser.parse_args(more)
    found.kernel = str(kernel)
    return found


def test_launches_of_a_function(file):
    """Each launch with its arguments as they were before it."""
    cases, traces = launches(options(f"{file}:add_one", "--call", "twice"))
    assert [case.name for case in cases] == ["add_one[1, 64]", "add_one[2, 32], launch 2"]
    assert [case.warps for case in cases] == [2, 2]
    assert [case.arguments()[0].sum() for case in cases] == [0, 64]
    assert [found.global_.requests for found in traces] == [4, 4]


def test_launch_written_out(file):
    """One launch; arguments are new arrays each time."""
    (case,), (found,) = launches(options(f"{file}:flip", *ONCE))
    assert (case.grid, case.block, case.shared_bytes) == ((1, 1, 1), (64, 1, 1), 0)
    assert case.arguments()[1] is not case.arguments()[1]
    assert np.array_equal(case.arguments()[1], np.arange(64, dtype=np.float32))
    assert len(found.races) == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "how is flip launched"),
        (["--call", "nothing"], "has no function nothing"),
        (["--grid", "1", "--block", "64", "--args", "1"], "takes 2 arguments, --args gives 1"),
        (["--call", "twice", "--grid", "1"], "--call launches by itself"),
        (["--call", "twice"], "had not launched flip"),
    ],
)
def test_refusals(file, more, said):
    """What the command does not say is named."""
    with pytest.raises(LaunchRefused, match=said):
        launches(options(f"{file}:flip", *more))


def test_verify_a_kernel_without_a_gpu(file, no_gpu, capsys):
    """In words, with what to use instead; nothing is printed as a result."""
    assert main(["verify", f"{file}:add_one", "--call", "twice"]) == 2
    said = capsys.readouterr()
    assert "no NVIDIA GPU" in said.err
    assert "smemnb trace" in said.err
    assert said.out == ""


@pytest.mark.exhaustive
@needs_recording
def test_verify_the_set_without_a_gpu(no_gpu, capsys):
    """Today's model beside the counters that were recorded: all agree, and which ones they are."""
    assert main(["verify"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "today's model beside the counters that were recorded" in lines[0]
    assert lines[1].startswith(RECORDING.origin["gpu"])
    equal, all_of_them = re.match(r"as compiled: (\d+) of (\d+) launches", lines[3]).groups()
    assert equal == all_of_them == str(len(RECORDING.cases))
    for by in ("smsp__sass_l1tex_data_pipe", "l1tex__data_pipe"):
        name = f"  shared_load_wavefronts     {by}_lsu_wavefronts_mem_shared_op_ld.sum"
        assert name in lines


def test_verify_by_time_without_a_gpu(no_gpu, capsys):
    """The predicted ladders beside the recorded ones, rung by rung."""
    assert main(["verify", "--time"]) == 0
    said = capsys.readouterr().out
    assert [said.count(row.name) > 0 for row in load()] == [True] * len(load())
    assert "mean error" in said


def test_sanitize_without_a_gpu(file, no_gpu, capsys):
    """Our findings alone, and that they are; the exit code says that there are some."""
    assert main(["sanitize", f"{file}:flip", *ONCE]) == 1
    said = capsys.readouterr().out
    assert "Line 8 stores part[tx]" in said
    assert said.endswith("these are the findings of the model alone\n")
    assert main(["sanitize", f"{file}:add_one", "--call", "twice"]) == 0


def test_sanitize_needs_a_kernel(capsys):
    """There is no set to sanitize."""
    assert main(["sanitize"]) == 2
    assert "say which kernel" in capsys.readouterr().err


def test_table_of_both_sides(file):
    """By pairs of lines: what a tool says beside what we say, nothing where one is silent."""
    _, (found,) = launches(options(f"{file}:flip", *ONCE))
    spots = Spot("flip", "mine.py", 9), Spot("flip", "mine.py", 8)
    tools = {
        "memcheck": (Report("Invalid __global__ read of size 4 bytes", "error", spots[:1], 2),),
        "racecheck": (Report("Write, Read", "error", spots, 248),),
    }
    assert table([found], tools, {}).splitlines() == [
        "lines       compute-sanitizer                                       smemnb",
        "8, 9        racecheck: Write, Read (248)                            error, race",
        "9           memcheck: Invalid __global__ read of size 4 bytes (2)   nothing",
    ]
    _, clean = launches(options(f"{file}:add_one", "--call", "twice"))
    assert table(clean, {"racecheck": ()}, {}) == "no finding: racecheck, and none of ours"


def test_the_process_that_a_tool_looks_into(file, no_gpu, tmp_path):
    """It launches what the command means and leaves a journal of it; a slice of it if asked."""
    into = tmp_path / "into"
    into.mkdir()
    command = ["sanitize", f"{file}:add_one", "--call", "twice", "--into", str(into)]
    assert main(command) == 0
    first, second = read_journal(into / "journal.jsonl").items()
    assert [name for name, _ in (first, second)] == ["add_one[1, 64]", "add_one[2, 32], launch 2"]
    assert {said["state"] for _, said in (first, second)} == {"launched"}
    assert (into / "cubins").is_dir()
    assert main([*command, "--only", "1:2"]) == 0
    assert list(read_journal(into / "journal.jsonl")) == ["add_one[2, 32], launch 2"]
