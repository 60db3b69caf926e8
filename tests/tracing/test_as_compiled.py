"""A launch as its machine code makes it, beside what the source asks for."""

import json
from pathlib import Path

import numpy as np
import pytest
from numba import complex64, cuda, float32, int32

from smemnb import trace
from smemnb.errors import SmemnbError
from smemnb.laboratory.corpus import FAMILIES
from smemnb.measure import readings
from smemnb.tracing import Trace
from tests.compiled.programs import needs_machine_code

RECORDED = Path(readings.__file__).parent / "recorded" / "h200_kernels.json"
MEASURED = {
    name: one["measured"] for name, one in json.loads(RECORDED.read_text())["kernels"].items()
}


@cuda.jit
def row_times_column(out, a, b):
    a_tile = cuda.shared.array((16, 16), float32)
    b_tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    a_tile[ty, tx] = a[ty, tx]
    b_tile[ty, tx] = b[ty, tx]
    cuda.syncthreads()
    acc = float32(0)
    for k in range(16):
        acc += a_tile[ty, k] * b_tile[k, tx]
    out[ty, tx] = acc


@cuda.jit
def doubled(out, inp):
    i = cuda.grid(1)
    out[i] = inp[i] * complex64(2)


@cuda.jit
def in_turns(out, place, counter):
    i = cuda.grid(1)
    slot = cuda.atomic.add(counter, 0, place[i])
    out[slot] = i


@cuda.jit
def rounds(out, inp):
    i = cuda.grid(1)
    n = inp[i]
    while n > 0:
        out[i] += 1
        n -= 1


@cuda.jit
def lowest(out, inp):
    cell = cuda.shared.array(1, float32)
    if cuda.threadIdx.x == 0:
        cell[0] = float32(1e30)
    cuda.syncthreads()
    cuda.atomic.add(cell, 0, inp[cuda.threadIdx.x])
    cuda.syncthreads()
    out[0] = cell[0]


def matrices():
    random = np.random.default_rng(5)
    return [random.integers(-9, 9, (16, 16)).astype(np.float32) for _ in range(3)]


@pytest.mark.slow
@needs_machine_code
@pytest.mark.parametrize("name", sorted(MEASURED))
def test_counters_of_a_gpu(name):
    """What the machine code of a finished kernel does equals the H200's counters, all eight."""
    out, inputs, expected = readings._arguments(name, readings.COUNTED[name.split("_")[0]])
    grid, block = readings._launch(name, out, inputs)
    found = trace(readings._kernels()[name], checks=False)[grid, block](out, *inputs)
    view = found.as_compiled()
    assert {key: view.counters[key] for key in MEASURED[name]} == MEASURED[name]
    assert np.array_equal(view.arrays[0], expected)


@needs_machine_code
def test_merged_loads():
    """8 warps: 32 source loads of one wavefront each are 16 and 4 of two: 24 instead of 32."""
    out, a, b = matrices()
    found = trace(row_times_column)[1, (16, 16)](out, a, b)
    view = found.as_compiled()
    assert found.shared.wavefronts == 8 * (32 + 2)
    assert view.counters["shared_load_requests"] == 8 * 20
    assert view.counters["shared_load_wavefronts"] == 8 * 24
    assert view.counters["shared_store_wavefronts"] == 8 * 2
    assert "32 shared loads became 16 LDS and 4 LDS.128: 24 wavefronts, 8 times" in repr(view)
    assert np.array_equal(view.arrays[0], a @ b) and np.array_equal(out, a @ b)


@needs_machine_code
def test_halves_of_complex_numbers():
    """A complex64 load is two of 4 bytes at a stride of 8: 8 sectors each, for 8 of the source."""
    inp = np.arange(64, dtype=np.complex64)
    found = trace(doubled)[2, 32](np.zeros_like(inp), inp)
    view = found.as_compiled()
    assert view.counters["global_load_requests"] == 2 * 2
    assert view.counters["global_load_sectors"] == 2 * 2 * 8
    assert view.determined


@needs_machine_code
def test_loads_of_data_dependent_loops():
    """Lane n goes round n times: the view follows the data; the value stays in a register."""
    inp = np.arange(32, dtype=np.int32)
    found = trace(rounds)[1, 32](np.zeros(32, np.int32), inp)
    view = found.as_compiled()
    assert found.global_.requests > view.counters["global_store_requests"] > 0
    assert view.arrays[0].tolist() == list(range(32))


@needs_machine_code
def test_arguments_as_they_were():
    """The view runs on the arguments before the launch, though the launch has changed them."""
    out = np.full(32, 7, np.int32)
    found = trace(rounds)[1, 32](out, np.full(32, 2, np.int32))
    assert out.tolist() == [9] * 32
    out[:] = 0
    assert found.as_compiled().arrays[0].tolist() == [9] * 32


@needs_machine_code
def test_device_arrays_as_they_were():
    """The same of arrays in the memory of a device, which stay as the launch left them."""
    out = cuda.to_device(np.full(32, 7, np.int32))
    found = trace(rounds)[1, 32](out, cuda.to_device(np.full(32, 2, np.int32)))
    assert found.as_compiled().arrays[0].tolist() == [9] * 32
    assert out.copy_to_host().tolist() == [9] * 32


def slots(*steps):
    """The view of as many warps as there are steps, whose lanes take slots of these sizes."""
    place = np.repeat(np.array(steps, np.int32), 32)
    arrays = np.zeros(1000, np.int32), place, np.zeros(1, np.int32)
    return trace(in_turns, checks=False)[len(steps), 32](*arrays).as_compiled()


@needs_machine_code
def test_who_comes_first():
    """Where two warps ask one counter for an index, the first of them decides: not determined."""
    view = slots(3, 5)
    assert view.counters["global_store_sectors"] is None
    assert view.counters["global_load_sectors"] == 8
    (said,) = view.undetermined
    assert "which thread" in said and said.startswith("line ")


@needs_machine_code
def test_a_warp_asks_once():
    """The compiler sums over a warp and asks once: slots 0, 3, ... 93 are in 12 sectors."""
    view = slots(3)
    assert view.counters["global_store_sectors"] == 12
    assert view.counters["global_atomic_requests"] == 1


@needs_machine_code
def test_loops_that_try_again():
    """A float atomic in shared memory tries until it succeeds: its counts are not determined."""
    found = trace(lowest)[1, 32](np.zeros(1, np.float32), np.ones(32, np.float32))
    view = found.as_compiled()
    assert view.counters["shared_atomic_requests"] is None
    assert view.counters["shared_store_requests"] == 1
    assert "tries again" in repr(view)


@needs_machine_code
def test_json():
    """Plain data, the same each time."""
    out, a, b = matrices()
    found = trace(row_times_column)[1, (16, 16)](out, a, b)
    first, again = found.as_compiled(), found.as_compiled()
    assert first == again and first.to_json() == again.to_json()
    assert json.loads(first.to_json())["counters"]["shared_load_wavefronts"] == 192


def test_a_trace_from_json_has_no_launch():
    """What was read from a file cannot be launched again, and says so."""
    found = trace(rounds)[1, 32](np.zeros(32, np.int32), np.zeros(32, np.int32))
    with pytest.raises(SmemnbError, match="has not kept its launch"):
        Trace.from_json(found.to_json()).as_compiled()


def test_kept_arguments_are_no_part_of_a_trace():
    """Two equal launches give equal traces and equal JSON."""
    args = [(np.zeros(32, int32.name), np.ones(32, int32.name)) for _ in range(2)]
    first, second = (trace(rounds)[1, 32](*some) for some in args)
    assert first == second and first.to_json() == second.to_json()


@needs_machine_code
@pytest.mark.parametrize("name", ["local_ring", "local_at 1 byte, four in a word", "local_sorted",
                                  "local_points, packed", "local_or_global",
                                  "local_guarded 75", "spilled_beside_array"])  # fmt: skip
def test_local_memory_gives_the_results_of_the_source(name):
    """Machine code with local loads and stores of all widths computes what the engine computes."""
    case = next(case for case in FAMILIES["local"] if case.name == name)
    args = case.arguments()
    found = trace(case.kernel)[case.grid, case.block](*args)
    view = found.as_compiled()
    assert view.determined
    np.testing.assert_allclose(view.arrays[0], args[0], rtol=1e-5)  # FMA round once


@needs_machine_code
def test_local_counts():
    """32 lanes at one place: 4 sectors a word, 16 for 16 bytes; rows of arrays are no spills."""
    case = next(case for case in FAMILIES["local"] if case.name == "local_ring")
    view = trace(case.kernel)[case.grid, case.block](*case.arguments()).as_compiled()
    local = [row for row in view.lines if row.space == "local"]
    assert all(row.sectors == row.ideal_sectors == row.requests * row.width for row in local)
    for kind, requests in (("load", 600), ("store", 300 + 6 * 8)):
        assert view.counters[f"local_{kind}_requests"] == requests
    assert view.counters["local_load_sectors"] == 600 * 4
    assert view.counters["local_store_sectors"] == 300 * 4 + 6 * 8 * 16
    assert (view.spills, view.local_bytes) == ((), 128)


@needs_machine_code
def test_spills_are_marked():
    """A kernel without local arrays has local memory for spilled registers alone."""
    case = next(case for case in FAMILIES["local"] if case.name == "spilled")
    view = trace(case.kernel)[case.grid, case.block](*case.arguments()).as_compiled()
    local = [row for row in view.lines if row.space == "local"]
    assert list(view.spills) == local != []
    assert all(row.line for row in local)
    assert "spilled registers" in repr(view)
