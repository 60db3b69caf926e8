"""What the driver's calls return, and captures on a GPU: launches counted, errors named."""

from importlib.util import find_spec

import pytest

from smemnb.measure.bench.sweep.graph import _called, captured
from smemnb.measure.bench.sweep.timing import NotCaptured

needs_bindings = pytest.mark.skipif(
    find_spec("cuda") is None or find_spec("cuda.bindings") is None,
    reason="cuda-bindings are not installed",
)


@needs_bindings
def test_what_a_call_returns():
    """Its value, its last value, nothing; an error by the name of its status."""
    from cuda.bindings.driver import CUresult

    fine = CUresult.CUDA_SUCCESS
    assert _called((fine, "graph")) == "graph"
    assert _called((fine, [], 7), last=True) == 7
    assert _called((fine,)) is None
    with pytest.raises(NotCaptured, match="^CUDA_ERROR_STREAM_CAPTURE_INVALIDATED$"):
        _called((CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, None))


@pytest.mark.gpu
@needs_bindings
def test_captures():
    """A replay does each launch again; a launch elsewhere and an error in a launch are refused."""
    import numpy as np
    from numba import cuda

    @cuda.jit
    def add_one(out):
        out[0] += 1

    out = cuda.to_device(np.zeros(1, np.int64))
    stream, other = cuda.stream(), cuda.stream()
    here = add_one[1, 1, stream]
    here(out)
    cuda.synchronize()
    handle = int(stream)
    graph = captured([lambda: here(out)] * 3, handle)
    cuda.synchronize()
    assert out.copy_to_host()[0] == 1  # a capture runs nothing
    for _ in range(2):
        graph()
    cuda.synchronize()
    assert out.copy_to_host()[0] == 7
    elsewhere = add_one[1, 1, other]
    with pytest.raises(NotCaptured, match="2 launches left 1"):
        captured([lambda: here(out), lambda: elsewhere(out)], handle)

    def failing():
        raise ValueError("not this one")

    with pytest.raises(NotCaptured, match="not this one"):
        captured([lambda: here(out), failing], handle)
    here(out)  # the stream works as before
    cuda.synchronize()
    assert out.copy_to_host()[0] == 9
