"""The command `smemnb sass`: machine code beside source lines."""

import json
import sys

import pytest

from smemnb.cli import main
from tests.compiled.programs import needs_machine_code

SAMPLE = """
import numpy as np
from numba import cuda, float32, int32

@cuda.jit
def mirrored(out, inp):
    tile = cuda.shared.array(64, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    out[tx] = tile[63 - tx]

@cuda.jit("void(int32[::1], int32)")
def filled(out, number):
    out[cuda.grid(1)] = number
"""
ARGS = ["--args", "float32[64]=0", "float32[64]"]


@pytest.fixture
def sample(tmp_path):
    path = tmp_path / "sample_sass.py"
    path.write_text(SAMPLE)
    yield path
    sys.modules.pop("sample_sass", None)
    sys.path.remove(str(tmp_path)) if str(tmp_path) in sys.path else None


@needs_machine_code
def test_table(sample, capsys):
    """A line per source line that touches memory, with its instructions."""
    assert main(["sass", f"{sample}:mirrored", *ARGS]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("mirrored, compiled for cc 9.0: ") and "256 bytes of shared" in head
    assert [line.split()[0] for line in lines] == ["9", "11"]
    assert "1 LDG, 1 STS" in lines[0] and "1 LDS, 1 STG" in lines[1]


@needs_machine_code
def test_listing(sample, capsys):
    """--all lists every instruction, for another compute capability too."""
    assert main(["sass", f"{sample}:mirrored", *ARGS, "--all", "--cc", "8.0"]) == 0
    said = capsys.readouterr().out
    assert "compiled for cc 8.0" in said and said.count("BAR.SYNC") == 1


@needs_machine_code
def test_with_a_launch(sample, capsys):
    """--grid and --block add what the machine code does: 2 warps, a wavefront each."""
    words = ["sass", f"{sample}:mirrored", *ARGS, "--grid", "1", "--block", "64", "--json", "-"]
    assert main(words) == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole["as_compiled"]["counters"]["shared_load_wavefronts"] == 2
    assert whole["sass"]["shared_bytes"] == 256


@needs_machine_code
def test_declared_types(sample, tmp_path, capsys):
    """A kernel that declares its types needs no arguments; --json FILE says where it went."""
    assert main(["sass", f"{sample}:filled", "--json", str(tmp_path / "sass.json")]) == 0
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'sass.json'}: machine code of filled")
    found = json.loads((tmp_path / "sass.json").read_text())["sass"]
    assert [line["memory"] for line in found["lines"] if line["memory"]] == [{"STG": 1}]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([":mirrored"], "mirrored(out, inp) takes 2 arguments, --args gives 0"),
        ([":mirrored", *ARGS, "--cc", "9"], "write a compute capability such as 9.0"),
        ([":nothing"], "has no nothing"),
    ],
)
def test_refused(sample, capsys, words, said):
    """What cannot be meant is refused before anything is compiled."""
    assert main(["sass", f"{sample}{words[0]}", *words[1:]]) == 2
    assert said in capsys.readouterr().err
