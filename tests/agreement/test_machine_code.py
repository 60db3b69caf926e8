"""The as-compiled view of the set, with NVIDIA's compiler libraries: compiled here, run here."""

import pytest

from smemnb.compiled.lines import built
from smemnb.laboratory.corpus import CASES
from smemnb.measure.verify.machine_code import totals
from smemnb.measure.verify.ncu.counters import LOCAL_COUNTS
from smemnb.measure.verify.predicted import counts, traced
from smemnb.measure.verify.recording import digest
from tests.agreement.shipped import RECORDING, needs_recording
from tests.tiers import sampled

pytestmark = pytest.mark.toolchain
BY_NAME = {case.name: case for case in CASES}
ONE_TO_ONE = (
    "strided_load stride 8",
    "strided_store stride 32",
    "rows_to_columns block 16x16",
    "gathered every second",
    "load16_at scattered",
    "store8_at every eighth",
    "atomic_add_value 8 addresses",
    "transpose_tiled 128 x 64",
    "reverse_dynamic 96",
)


@pytest.mark.parametrize("name", ONE_TO_ONE)
def test_one_instruction_per_access(name):
    """Where each access is one instruction, both views are one."""
    found = traced(BY_NAME[name])
    made, local = counts(found), dict.fromkeys(LOCAL_COUNTS, 0)
    assert totals(found) == made | local


def test_merged_loads():
    """Per thread and tile 16 rows of b one by one, and the row of a by 4 at once: 20 for 32."""
    found = traced(BY_NAME["product_tiled 32 x 32 x 32"])
    source, compiled = counts(found), totals(found)
    # 4 blocks of 8 warps, 2 tiles each: 64 times 32 loads, 16 LDS and 4 LDS.128
    assert (source["shared_load_requests"], compiled["shared_load_requests"]) == (2048, 1280)
    # two rows of a in a warp, each broadcast; a 16-byte load of halves alike takes two wavefronts
    assert (source["shared_load_wavefronts"], compiled["shared_load_wavefronts"]) == (2048, 1536)


def test_retries_are_not_counted():
    """A loop of tries has no count: it is absent, not 0."""
    compiled = totals(traced(BY_NAME["atomic_add_float 8 addresses"]))
    assert "shared_atomic_wavefronts" not in compiled
    assert compiled["global_store_requests"] == 32


@needs_recording
@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(RECORDING.cases if RECORDING else (), 10, second=100))
def test_recorded_prediction_is_made_again(name):
    """Machine code that is compiled here as it ran on the GPU gives the recorded counts."""
    trace, found = traced(BY_NAME[name]), RECORDING.cases[name]
    build = built(BY_NAME[name].kernel, trace.relaunch.types())
    if found.compiled is None or digest(build.code) != found.code:
        pytest.skip("this compiler makes other machine code")
    made = totals(trace, build.elf)
    assert {count: made[count] for count in found.compiled} == found.compiled
