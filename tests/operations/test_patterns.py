"""The floor of the pattern operations: any library, `out`, streams, workspaces, refusals."""

import numpy as np
import pytest
from numba import cuda, float64, uint32

from smemnb.errors import LaunchRefused
from smemnb.kernels import step
from smemnb.kernels.step import Launch
from smemnb.operations import workspace
from smemnb.operations.laid import Laid, axes_of, folded
from smemnb.operations.patterns import Work, engine_seconds, perform
from tests.facts import facts
from tests.operations.stand_in_driver import stand_in


@cuda.jit
def add_along(out, inp, parts, ticket, length, step, inner, outer_step, inner_step):
    """out[line] += the sum of a line; a thread each.  The last block leaves the ticket at 0."""
    line = uint32(cuda.grid(1))
    acc = float64(0)
    if line < out.size:
        first = line // inner * outer_step + line % inner * inner_step
        for k in range(length):
            acc += inp[first + k * step]
        parts[line] = acc
        out[line] = parts[line]
    if cuda.threadIdx.x == 0 and cuda.atomic.add(ticket, 0, uint32(1)) == cuda.gridDim.x - 1:
        ticket[0] = 0


def added(x, axis=None, out=None, stream=None):
    """A sum in float64, as an operation of a few lines."""
    axis = tuple(axis) if isinstance(axis, list) else axis
    return perform("added", _plan, {"x": x}, (axis,), out, stream)


def _plan(call, axis):
    call.check_dtype("x", ("float32", "int16", "uint8"), "added")
    x = call["x"]
    axes = axes_of(axis, x.ndim)
    shape = tuple(n for at, n in enumerate(x.shape) if at not in axes)
    flat, fold = call.folded("x", axes, any_order=True)

    def launches(new, out):
        parts = new((out.size,), np.float64)
        ticket = step.flags(new, (1,), np.uint32)
        arrays = out.flat(), flat, parts, ticket
        numbers = fold.length, fold.length_step, fold.inner, fold.outer_step, fold.inner_step
        return [Launch(add_along, -(-out.size // 64), 64, (*arrays, *numbers))]

    fill = 0 if x.size == 0 else None
    took = engine_seconds(x.size)
    return Work(shape, np.dtype(np.float64), launches, "added", "x.sum()", took, fill)


def random_array(rng, most=6, axes=4):
    """An array of random axes, strides and dtype."""
    shape = tuple(rng.integers(1, most, rng.integers(0, axes + 1)))
    x = rng.integers(0, 100, shape).astype(("f4", "i2", "u1")[rng.integers(3)])
    x = x.transpose(rng.permutation(x.ndim))
    if x.ndim and rng.integers(3) == 0:
        x = x[..., :: rng.integers(1, 3)]
    axis = [int(one) for one in rng.permutation(x.ndim)[: rng.integers(0, x.ndim + 1)]]
    return x, (None, axis)[rng.integers(2)]


def test_host_arrays_of_any_strides():
    """Any axes of any strides, backwards too; numbers where no axis is left."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        x, axis = random_array(rng)
        if rng.integers(4) == 0 and x.ndim:
            x = x[::-1]
        expected = x.sum(None if axis is None else tuple(axis), dtype=np.float64)
        result = added(x, axis)
        assert type(result) is type(expected) and result.dtype == expected.dtype
        assert result.shape == expected.shape and (result == expected).all()


def test_device_arrays_and_packed_axes():
    """Device arrays as they lie, or with axes put in order by a copy."""
    rng = np.random.default_rng(2)
    host = rng.integers(0, 100, (5, 6, 7)).astype(np.float32)
    x = cuda.to_device(host)
    for axis in (0, 1, 2, (0, 1), (1, 2), (0, 2), None):
        result = added(x, axis)
        assert isinstance(result, cuda.devicearray.DeviceNDArray)
        assert (result.copy_to_host() == host.sum(axis, dtype=np.float64)).all()
    part = x[1:4, ::2, :3]
    assert (added(part, (0, 2)).copy_to_host() == host[1:4, ::2, :3].sum((0, 2))).all()


def test_driver_launches_and_repeats():
    """By the driver: no call differs, none is planned twice, a workspace serves all."""
    rng = np.random.default_rng(3)
    host = rng.integers(0, 100, (40, 70)).astype(np.float32)
    with stand_in() as driver:
        for axis in (0, 1, None, 0, 1, None):
            x = cuda.to_device(host)
            assert (added(x, axis).copy_to_host() == host.sum(axis, dtype=np.float64)).all()
            out = cuda.device_array(host.sum(axis).shape, np.float64)
            assert added(x, axis, out) is out
            assert (out.copy_to_host() == host.sum(axis, dtype=np.float64)).all()
        names = [kernel.py_func.__name__ for kernel, *_ in driver.launches]
        assert names == ["add_along"] * 12, "zeros are set without a kernel"
        assert len(workspace._kept) == 1


def test_captured_stream():
    """A graph gets memory of its own, which is given back to it."""
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    with stand_in() as driver:
        x, out = cuda.to_device(host), cuda.device_array((3,), np.float64)
        added(x, 1, out, stream=64)
        driver.captured.add(64)
        added(x, 1, out, stream=64)
        assert (out.copy_to_host() == host.sum(1)).all()
        own = [entry for entry in driver.log if entry[0] in ("allocate", "free")]
        assert own == [("allocate", 512, 64), ("free", 512, 64)], "one block for both"


def test_empty_arrays():
    """Sums of nothing are 0; results of nothing have no elements."""
    x = np.empty((0, 3), np.float32)
    assert added(x, 0).tolist() == [0, 0, 0] and added(x) == 0 and added(x, 1).shape == (0,)


def refusal(*args, **named):
    with pytest.raises(LaunchRefused) as found:
        added(*args, **named)
    return facts(str(found.value))


def test_refusals():
    """Each names the argument, what came and what is wanted; `out` stays as it is."""
    x = np.ones((3, 4), np.float32)
    kept = np.full(4, 7.0)
    assert {"x", "x.astype(np.float32)"} <= set(refusal(np.ones(3)))
    assert {"axis", "2"} <= set(refusal(x, 2))
    assert "axis" in refusal(x, 0.5)
    assert "axis" in refusal(x, (0, -2))
    assert {"out", "4", "3"} <= set(refusal(x, 1, kept))
    assert {"out"} <= set(refusal(x, 0, np.ones(4, np.float32)))
    assert "x" in refusal(x.astype(">f4"))
    assert "x" in refusal([1, 2])
    assert (kept == 7).all()
    kept.flags.writeable = False
    assert "out" in refusal(x, 0, kept)
    both = np.ones(24, np.uint8)
    assert {"out", "x"} <= set(refusal(both, None, both[:8].view(np.float64).reshape(())))
    apart = cuda.device_array(8, np.float64)[::2]
    assert "out" in refusal(cuda.to_device(x), 0, apart)


def test_engine_refuses_hours(monkeypatch):
    """An estimate above the limit is refused before anything runs."""
    monkeypatch.setenv("SMEMNB_ENGINE_SECONDS", "0.001")
    assert "SMEMNB_ENGINE_SECONDS" in " ".join(refusal(np.ones(5, np.float32)))


def test_folded_reads_the_right_elements():
    """Offsets of every line and place, against NumPy's own axes."""
    rng = np.random.default_rng(4)
    seen = 0
    for _ in range(200):
        x, axis = random_array(rng)
        axes = axes_of(None if axis is None else tuple(axis), x.ndim)
        found = folded(Laid("x", x.shape, x.strides, x.dtype), axes)
        if found is None or not x.size:
            continue
        seen += 1
        o, k, i = np.ogrid[: found.outer, : found.length, : found.inner]
        offsets = o * found.outer_step + k * found.length_step + i * found.inner_step
        elements = np.lib.stride_tricks.as_strided(x, (1 + int(offsets.max()),), (x.itemsize,))
        others = tuple(at for at in range(x.ndim) if at not in axes)
        expected = x.transpose(others + axes).reshape(found.outer, found.inner, found.length)
        assert (elements[offsets].transpose(0, 2, 1) == expected).all()
    assert seen > 50
