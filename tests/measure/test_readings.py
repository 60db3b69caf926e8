"""The shipped readings of the finished kernels, against what the model says today."""

import json
from importlib.resources import files

import pytest

from smemnb.measure import nsight, readings

RECORDED = json.loads((files("smemnb.measure.recorded") / "h200_kernels.json").read_text())
# ptxas reads four neighbours of a_tile at once and keeps values in registers, so a GPU issues
# fewer shared loads for this kernel than its source has
MERGED_BY_THE_COMPILER = {("matmul_tiled", "shared_load_wavefronts"): 835_584,
                          ("matmul_tiled", "shared_load_requests"): 696_320}  # fmt: skip
NAMES = sorted(readings._kernels())


def test_every_kernel_has_a_reading():
    """No kernel is published without one."""
    assert sorted(RECORDED["kernels"]) == NAMES
    for field in ("gpu", "driver", "numba", "numba-cuda", "numpy", "date", "command"):
        assert RECORDED[field]


@pytest.mark.parametrize("name", NAMES)
def test_predicted_counts_are_the_counters(name):
    """Every counter equals the model's count; what the compiler merged is listed above."""
    measured = RECORDED["kernels"][name]["measured"]
    for counter, count in readings.predicted(name).items():
        assert measured[counter] == MERGED_BY_THE_COMPILER.get((name, counter), count), counter


@pytest.mark.parametrize("name", NAMES)
def test_values_and_sanitizer(name):
    """Right on every ragged shape on the GPU; no finding of any of the four tools."""
    found = RECORDED["kernels"][name]
    assert found["wrong_shapes"] == []
    assert set(found["sanitizer"].values()) == {0}


def test_ladder_is_faster_rung_by_rung():
    """Times over a copy's fall from rung to rung; the xor costs a little beside the pad."""
    time = {name: RECORDED["kernels"][name]["time_over_copy"] for name in NAMES}
    assert time["transpose_naive"] > time["transpose_tiled"] > time["transpose_padded"]
    assert time["transpose_swizzled"] < time["transpose_tiled"]
    assert time["matmul_naive"] > time["matmul_tiled"]


def test_missing_tools_are_named(monkeypatch, tmp_path):
    """Without Nsight Compute or compute-sanitizer the refusal names the command."""
    from smemnb.errors import SmemnbError
    from smemnb.measure import sanitizer

    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SmemnbError, match="`ncu` is not on the PATH"):
        nsight.counters(["true"], "kernel")
    with pytest.raises(SmemnbError, match="`compute-sanitizer` is not on the PATH"):
        sanitizer.findings(["true"], "memcheck")
