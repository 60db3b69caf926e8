from collections import Counter
from dataclasses import FrozenInstanceError

import pytest

from smemnb.measure.recorded import KIND_OF, RETRY_LOOPS, one_warp_requests


def test_how_many():
    """69 loads, 69 stores, and 6 of each atomic."""
    kinds = Counter(request.kind for request in one_warp_requests())
    assert kinds == {
        "load": 69,
        "store": 69,
        "atomic_add_i32": 6,
        "atomic_add_i32_constant_1": 6,
        "atomic_cas_i32": 6,
        "atomic_add_f32": 6,
    }
    assert set(kinds) == set(KIND_OF) | RETRY_LOOPS


def test_widths():
    widths = Counter(request.width for request in one_warp_requests() if request.kind == "load")
    assert widths == {1: 5, 2: 5, 4: 11, 8: 22, 16: 26}


def test_each_is_a_request():
    for request in one_warp_requests():
        assert len(request.address) == len(request.active) == 32
        assert all(address % request.width == 0 for address in request.address)
        assert 1 <= request.wavefronts_hardware <= 64


def test_provenance():
    """A number says which GPU, driver and counter it came from."""
    origin = one_warp_requests()[0].provenance
    assert (origin.gpu, origin.compute_capability) == ("NVIDIA H200", "9.0")
    assert origin.driver == "580.159.04"
    assert dict(origin.metrics)["wavefronts_hardware"] == (
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st,atom}.sum"
    )
    assert {request.provenance for request in one_warp_requests()} == {origin}


def test_a_retry_loop_has_no_fixed_count():
    """The source view counts retries: one address and 32 lanes 96, one bank 592."""
    loops = {r.name: r.wavefronts_source_view for r in one_warp_requests() if r.kind in RETRY_LOOPS}
    assert loops["same addr"] == 96
    assert loops["same bank distinct"] == 592


def test_frozen():
    with pytest.raises(FrozenInstanceError):
        one_warp_requests()[0].wavefronts_hardware = 0
