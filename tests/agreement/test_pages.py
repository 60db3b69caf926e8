"""Pages of Nsight Compute, read."""

from smemnb.measure.verify.ncu.counters import COMPARED, METRICS, TABLED, readings
from smemnb.measure.verify.ncu.pages import Instruction, launches, listings
from tests.agreement import samples


def test_launches():
    """A row per launch, in order; thousands, fractions and n/a as ncu writes them."""
    first, second = launches(samples.RAW)
    assert first.kernel == samples.KERNEL
    assert first.counters == {
        "shared_load_wavefronts_hardware": 8229,
        "global_load_sectors": 1024,
        "shared_load_requests": 256,
        "shared_load_wavefronts_patched": 8192,
    }
    assert (second.kernel, second.counters["global_load_sectors"]) == (samples.ATOMIC, 4)


def test_no_launches():
    """Of output without a page nothing is read."""
    assert launches("==ERROR== no kernels were profiled\n") == []
    assert listings("") == []


def test_listings():
    """Instructions in order, per launch; columns by their names, wherever they stand."""
    first, second = listings(samples.SOURCE)
    assert [one.text for one in first.instructions][1] == "@!P0 LDG.E R2, desc[UR4][R2.64]"
    assert first.instructions[1:] == (
        Instruction(1, "@!P0 LDG.E R2, desc[UR4][R2.64]", 256, 8000, 0, 250, 1000),
        Instruction(2, "LDS R5, [R4]", 256, 8192, 8192, 0, 0),
    )
    assert second.kernel == samples.ATOMIC
    assert second.instructions == (Instruction(0, "ATOMS.ADD RZ, [R4], R5", 1, 32, 4, 0, 0),)


def test_which_counter_answers():
    """Of one warp the hardware's wavefronts, of more the patched ones; atomics are added up."""
    found = dict.fromkeys(METRICS | TABLED, 1) | {
        "shared_load_wavefronts_patched": 7,
        "shared_load_wavefronts_hardware": 5,
        "shared_atomic_wavefronts_hardware": 3,
        "global_atomic_requests": 10,
        "global_reduction_requests": 20,
        "global_atomic_sectors_touched": 8,
    }
    alone, many = readings(found, warps=1), readings(found, warps=2)
    assert set(alone) == set(many) == set(COMPARED) - {"shared_copy_wavefronts"}
    assert alone["shared_load_wavefronts"].value == 5
    assert many["shared_load_wavefronts"].value == 7
    assert alone["shared_atomic_wavefronts"].value == many["shared_atomic_wavefronts"].value == 3
    assert many["global_atomic_requests"].value == 30
    assert many["global_atomic_sectors"].value == 8
    assert many["global_atomic_requests"].metric == (
        "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum + "
        "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"
    )


def test_counts_without_counter_are_absent():
    """What was not read answers nothing."""
    found = {"shared_load_requests": 4, "global_atomic_requests": 3}
    assert set(readings(found, warps=4)) == {"shared_load_requests"}
