"""What Nsight Compute printed, as figures; the recorded rungs; Little's law in both."""

import pytest

from smemnb.errors import SmemnbError
from smemnb.measure import stalls

PRINTED = """==PROF== Connected
"ID","Kernel Name","smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",\
"smsp__average_warps_issue_stalled_barrier_not_issued_per_issue_active.ratio",\
"smsp__issue_active.avg.per_cycle_active","smsp__warps_active.avg.per_cycle_active",\
"smsp__warps_eligible.avg.per_cycle_active","smsp__inst_executed.sum","launch__stack"
"","","warp","warp","","warp","","inst","n/a"
"0","one","1.50","1.25","0.25","4.00","0.50","1,024","n/a"
"1","two","0.50","0.25","0.75","3.00","1.50","2,048","n/a"
"2","one","9.00","9.00","0.10","1.00","0.10","1","n/a"
"""


def test_figures_of_what_was_printed():
    """By kernel, the first launch of each; reasons without those of cycles that issued nothing."""
    read = stalls.launches(PRINTED)
    assert read == {
        "one": {
            "stall_barrier": 1.5,
            "issue": 0.25,
            "warps": 4.0,
            "eligible": 0.5,
            "instructions": 1024.0,
        },
        "two": {
            "stall_barrier": 0.5,
            "issue": 0.75,
            "warps": 3.0,
            "eligible": 1.5,
            "instructions": 2048.0,
        },
    }
    waits = stalls.Waits.of(read["one"])
    assert (waits.stalls, waits.further) == ({"barrier": 1.5}, {"instructions": 1024.0})


def test_reasons_keep_their_names():
    """One begins like the mark of a reason, and loses nothing."""
    rung = stalls.ladder()["matmul_naive"]
    assert rung.stalls["dispatch_stall"] == 2.24
    assert rung.largest[:2] == [("math_pipe_throttle", 8.53), ("dispatch_stall", 2.24)]
    assert set(rung.stalls) - set(stalls.REASONS) == set()


@pytest.mark.parametrize("name", stalls.ladder())
def test_little(name):
    """The reasons of a rung sum up to its warps over the instructions of a cycle."""
    rung = stalls.ladder()[name]
    assert sum(rung.stalls.values()) == pytest.approx(rung.warps / rung.issue, rel=0.07)


def test_without_the_profiler(monkeypatch, tmp_path, capsys):
    """The refusal says what to install; the command ends with 1, and with 2 if it lacks words."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SmemnbError, match="`ncu` is not on the PATH"):
        stalls.printed(["python"], "kernel")
    assert stalls.main(["kernel", "program.py"]) == 1
    assert "ncu" in capsys.readouterr().err
    assert stalls.main(["kernel"]) == 2
