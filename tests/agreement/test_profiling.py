"""ncu is run in batches and its pages matched with launches: by a stand-in that prints them."""

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from smemnb.errors import SmemnbError
from smemnb.laboratory.corpus import CASES
from smemnb.measure.verify import recording
from smemnb.measure.verify.ncu import launching, profiling
from tests.agreement import samples

# what it launches is launched indeed; of the counters it says 3 each, and 1 for the table
STAND_IN = """#!{python}
import csv, json, subprocess, sys
from pathlib import Path
args = sys.argv[1:]
after = lambda name: args[args.index(name) + 1]
if "--import" in args:
    kernels = json.loads(Path(after("--import")).read_text())
    rows = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL)
    if after("--page") == "raw":
        rows.writerow(["ID", "Kernel Name", "{metric}"])
        rows.writerow(["", "", "inst"])
        for number, name in enumerate(kernels):
            rows.writerow([number, f"cudapy::{{name}}[abi:v1](int)", "3"])
    else:
        for name in kernels:
            rows.writerow(["Kernel Name", name])
            rows.writerow(["Address", "Source", "Instructions Executed"])
            rows.writerow(["0x10", "  LDS R2, [R4] ", "1"])
    sys.exit()
said = {said!r}
if said:
    print(said)
    sys.exit(1)
command = args[args.index({python!r}):]
subprocess.run(command)
journal = Path(command[command.index("--into") + 1]) / "journal.jsonl"
lines = [json.loads(line) for line in journal.read_text().splitlines()]
kernels = [line["kernel"] for line in lines if line["state"] == "launched"]
Path(after("-o") + ".ncu-rep").write_text(json.dumps(kernels))
"""


def install(folder, monkeypatch, said=""):
    """Put the stand-in on the PATH."""
    tool = folder / "ncu"
    metric = "smsp__inst_executed_op_shared_ld.sum"
    tool.write_text(STAND_IN.format(python=sys.executable, metric=metric, said=said))
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def journal_of(file):
    """States of a journal, by case."""
    return {name: said["state"] for name, said in launching.read_journal(file).items()}


@pytest.mark.exhaustive
@pytest.mark.slow
def test_profile_and_collect(tmp_path, monkeypatch):
    """Every launch finds its counters and its table; a batch is a process."""
    install(tmp_path, monkeypatch)
    said = []
    monkeypatch.setattr(profiling, "BATCH", 4)
    profiling.profile(CASES[:6], tmp_path / "work", seconds=300, say=said.append)
    found, missing = profiling.collected(tmp_path / "work")
    assert missing == {}
    assert list(found) == [case.name for case in CASES[:6]]
    for read in found.values():
        assert read.counters == {"shared_load_requests": 3}
        assert [one.text for one in read.instructions] == ["LDS R2, [R4]"]
    assert [line.split(":")[0] for line in said] == ["cases 0 to 2", "cases 3 to 5"]


def test_forbidden_counters(tmp_path, monkeypatch):
    """The refusal says how to allow them."""
    install(tmp_path, monkeypatch, "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission")
    with pytest.raises(SmemnbError, match="NVreg_RestrictProfilingToAdminUsers=0"):
        profiling.profile(CASES[:1], tmp_path / "work")


def test_missing_profiler(tmp_path, monkeypatch):
    """The refusal says where it comes from."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SmemnbError, match="`ncu` is not on the PATH. It comes with the CUDA"):
        profiling.profiler()


def test_a_failed_launch_is_named(tmp_path):
    """One that fails is written down, the rest goes on."""
    good, other = CASES[0], CASES[1]
    bad = type(good)("bad", good.kernel, good.grid, good.block, lambda random: (1, 2))
    journal = tmp_path / "journal.jsonl"
    failed = launching.launch_all([good, bad, other], journal, compiled=lambda kernel: kernel)
    assert failed == 1
    assert journal_of(journal) == {good.name: "launched", "bad": "failed", other.name: "launched"}
    said = launching.read_journal(journal)["bad"]
    assert said["kernel"] == good.kernel_name
    assert said["error"]


def test_launches_are_matched_by_name(tmp_path):
    """What the profiler saw of a launch that failed is not taken for the next one's."""
    into = tmp_path / "000"
    into.mkdir()
    lines = [
        {"case": "a", "kernel": "transpose_tiled", "state": "failed", "error": "x"},
        {"case": "b", "kernel": "count", "state": "launched", "cubin": None},
        {"case": "c", "kernel": "never_seen", "state": "launched", "cubin": None},
    ]
    (into / "journal.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    (into / "raw.csv").write_text(samples.RAW)
    (into / "source.csv").write_text(samples.SOURCE)
    found, missing = profiling.collected(tmp_path)
    assert missing == {"a": "x", "c": "the profiler saw no such launch"}
    assert found["b"].counters["global_load_sectors"] == 4
    assert [one.text for one in found["b"].instructions] == ["ATOMS.ADD RZ, [R4], R5"]


def test_shipped_file_is_named():
    """Where none is shipped the refusal says how one is made."""
    file = Path(recording.__file__).parents[1] / "recorded" / recording.SHIPPED
    if file.is_file():
        assert recording.load().cases
    else:
        with pytest.raises(SmemnbError, match="smemnb.laboratory record"):
            recording.load()
