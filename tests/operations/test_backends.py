"""Arrays of each library: the result is of the same library, in the same place, unconverted."""

import gc
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda

from smemnb.errors import LaunchRefused
from smemnb.operations import matmul, transpose
from smemnb.operations.backends import dlpack
from smemnb.operations.backends.dlpack import Exported
from smemnb.operations.contract import handle_in
from smemnb.operations.launching import on_gpu
from tests.facts import facts

X = np.arange(12, dtype=np.float32).reshape(3, 4)
A, B = X, np.arange(20, dtype=np.float32).reshape(4, 5) - 7

NO_MEMORY = (
    "`x` has no memory: a fake, traced or batched array. Call this operation outside of what makes"
    " it so, on the arrays themselves"
)


def interface(array, **changes):
    """An object that shows a device array by nothing but `__cuda_array_interface__`."""
    said = array.__cuda_array_interface__ | changes
    return SimpleNamespace(__cuda_array_interface__=said, array=array)


class Capsule:
    """An object that shows a NumPy array by nothing but DLPack, of before versions."""

    def __init__(self, array, device=(dlpack.CPU, 0)):
        self.array, self.device = array, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


def refusal(operation, *args, **named):
    with pytest.raises(LaunchRefused) as found:
        operation(*args, **named)
    return str(found.value)


# --- NumPy and Numba ---------------------------------------------------------------------------


def test_numpy():
    """NumPy in, NumPy out; `out` comes back itself; subclasses give plain arrays."""
    out = np.zeros((4, 3), np.float32)
    assert transpose(X, out) is out
    assert type(transpose(X)) is np.ndarray
    assert type(transpose(X.view(np.matrix))) is np.ndarray
    np.testing.assert_array_equal(out, X.T)


def test_numba():
    """A device array in, a device array out, on the stream that the argument names."""
    stream = cuda.stream()
    x = cuda.to_device(X, stream=stream)
    result = transpose(x)
    assert type(result) is type(x)
    assert int(result.stream) == int(stream)
    assert transpose(cuda.to_device(X)).stream == 0
    assert int(transpose(cuda.to_device(X), stream=stream).stream) == int(stream)
    np.testing.assert_array_equal(result.copy_to_host(), X.T)


def test_mapped_and_managed():
    """Memory that host and device share counts as Numba's."""
    for make in (cuda.mapped_array, cuda.managed_array):
        x = make((3, 4), np.float32)
        x[...] = X
        np.testing.assert_array_equal(transpose(x).copy_to_host(), X.T)


def test_simulator_of_numba():
    """Under NUMBA_ENABLE_CUDASIM=1 the engine computes; device arrays are the simulator's."""
    code = """
import numpy as np, smemnb
from numba import cuda
x = np.arange(6, dtype=np.int16).reshape(2, 3)
given = smemnb.transpose(cuda.to_device(x))
print(type(given).__name__, given.copy_to_host().tolist(), smemnb.transpose(x).tolist())
a, out = np.ones((2, 3), np.float32), np.ones((2, 2), np.float32)
print(smemnb.matmul(a, a.T.copy(), out=out, alpha=2, beta=5).tolist())
"""
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    turned = "[[0, 3], [1, 4], [2, 5]]"
    printed = f"FakeCUDAArray {turned} {turned}\n[[11.0, 11.0], [11.0, 11.0]]\n"
    assert (done.stdout, done.stderr) == (printed, "")


# --- protocols ---------------------------------------------------------------------------------


def test_interface():
    """Anything with `__cuda_array_interface__` gives a Numba device array, which may be `out`."""
    x = interface(cuda.to_device(X))
    result = transpose(x)
    assert isinstance(result, cuda.devicearray.DeviceNDArray)
    np.testing.assert_array_equal(result.copy_to_host(), X.T)
    out = cuda.device_array((4, 3), np.float32)
    assert transpose(x, out=out) is out
    shown = interface(cuda.device_array((3, 5), np.float32))
    assert matmul(x, interface(cuda.to_device(B)), out=shown) is shown
    np.testing.assert_array_equal(shown.array.copy_to_host(), A @ B)


def test_interface_with_strides():
    """Rows that lie apart, no strides for contiguous ones, a type NumPy knows as raw bytes."""
    whole = cuda.to_device(np.arange(24, dtype=np.int16).reshape(4, 6))
    x = interface(whole, shape=(4, 3), strides=(12, 2), typestr="<V2")
    result = transpose(x)
    assert result.dtype == "V2"
    expected = np.arange(24, dtype=np.int16).reshape(4, 6)[:, :3].T
    assert result.copy_to_host().tobytes() == expected.tobytes()


def test_interface_refused():
    """Masks, memory that is not here, and read-only results."""
    device = cuda.to_device(X)
    assert refusal(transpose, interface(device, data=(0, False))) == NO_MEMORY
    assert "`x` has a mask" in refusal(transpose, interface(device, mask=1))
    if not on_gpu():
        assert facts(refusal(transpose, interface(device, data=(4096, False)))) == facts(
            "`x` SMEMNB_DEVICE"
        )
    out = cuda.to_device(np.full((4, 3), 7, np.float32))
    locked = interface(out, data=(out.__cuda_array_interface__["data"][0], True))
    assert "`out` is read-only" in refusal(transpose, interface(device), out=locked)
    assert (out.copy_to_host() == 7).all()


def test_interface_stream():
    """Work that an array announces on its stream comes first, whatever stream is asked for."""
    stream = cuda.stream()
    x = interface(cuda.to_device(X), stream=int(stream))
    result = transpose(x)
    assert int(result.stream) == int(stream)
    np.testing.assert_array_equal(transpose(x, stream=1).copy_to_host(), X.T)


def test_dlpack():
    """Anything with `__dlpack__` on the host gives a NumPy array, which may be `out`."""
    result = transpose(Capsule(X))
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, X.T)
    assert transpose(Capsule(X), out=result) is result
    np.testing.assert_array_equal(matmul(Capsule(A), Capsule(B)), A @ B)
    whole = np.arange(30, dtype=np.complex128).reshape(5, 6)
    np.testing.assert_array_equal(transpose(Capsule(whole[:, 1:4])), whole[:, 1:4].T)


def test_dlpack_out():
    """A capsule may be written to."""
    kept = np.zeros((4, 3), np.float32)
    out = Capsule(kept)
    assert transpose(Capsule(X), out=out) is out
    np.testing.assert_array_equal(kept, X.T)


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0",
    reason="this NumPy gives no capsule of an array that may not be written to",
)
def test_dlpack_out_read_only():
    """A capsule that says that it may not be written to is no result."""
    kept = np.zeros((4, 3), np.float32)
    kept.flags.writeable = False
    versioned = SimpleNamespace(
        __dlpack__=kept.__dlpack__, __dlpack_device__=kept.__dlpack_device__
    )
    assert "`out` is read-only" in refusal(transpose, Capsule(X), out=versioned)


def test_dlpack_refused():
    """Devices that are neither the host nor CUDA."""
    assert facts(refusal(transpose, Capsule(X, (8, 0)))) == facts("`x` 8 1 2")


@pytest.mark.exhaustive
def test_exported():
    """Memory given away by DLPack is NumPy's view of it, and lives until that is dropped."""
    asked = []
    memory = np.arange(6, dtype=np.float32)
    address = memory.__array_interface__["data"][0]
    exported = Exported(
        memory, address, (2, 3), memory.dtype, (dlpack.CPU, 0), lambda on: asked.append(on)
    )
    before = len(dlpack._lent)
    view = np.from_dlpack(exported)
    assert view.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (view.__array_interface__["data"][0], len(dlpack._lent)) == (address, before + 1)
    exported.__dlpack__(stream=-1)  # dropped at once, and nobody waits for the memory
    exported.__dlpack__(stream=7)
    del view
    gc.collect()
    assert (len(dlpack._lent), asked) == (before, [1, 7])


# --- streams -----------------------------------------------------------------------------------


def test_handles():
    """Streams of Numba, CuPy and PyTorch, of `__cuda_stream__`, handles, and none."""
    stream = cuda.stream()
    assert handle_in(stream) == int(stream)
    assert handle_in(SimpleNamespace(cuda_stream=12)) == 12
    assert handle_in(SimpleNamespace(ptr=13)) == 13
    assert handle_in(SimpleNamespace(__cuda_stream__=lambda: (0, 14))) == 14
    assert (handle_in(0), handle_in(15), handle_in(None)) == (0, 15, None)


# --- other libraries ---------------------------------------------------------------------------


def test_nothing_is_imported():
    """Libraries that the caller has not imported stay out."""
    code = (
        "import sys, numpy as np, smemnb; smemnb.transpose(np.ones((2, 3)));"
        "print(sorted({'torch', 'cupy', 'jax'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_torch():
    """CPU tensors in and out, of dtypes that NumPy lacks too; autograd learns of `out`."""
    torch = pytest.importorskip("torch")
    x = torch.arange(24).reshape(4, 6)
    for dtype in (torch.float32, torch.bfloat16, torch.bool, torch.int64, torch.complex128):
        part = x.to(dtype)[:, 1:4]
        result = transpose(part)
        assert (result.dtype, result.is_contiguous()) == (dtype, True)
        assert torch.equal(result, part.t())
    out = torch.zeros(3, 5)
    assert matmul(torch.from_numpy(A), torch.from_numpy(B), out=out) is out
    assert (out._version, out.numpy().tolist()) == (1, (A @ B).tolist())


def test_torch_refused():
    """Gradients, lazy views, layouts, places and other libraries."""
    torch = pytest.importorskip("torch")
    x = torch.ones(3, 4)
    assert facts(refusal(transpose, x.clone().requires_grad_())) == facts(
        "`x` x.detach() torch.no_grad()"
    )
    assert facts(refusal(transpose, x.to(torch.complex64).conj())) == facts(
        "`x` x.resolve_conj().resolve_neg()"
    )
    assert refusal(transpose, x.to_sparse()) == (
        "`x` is a tensor of layout torch.sparse_coo: x.to_dense()"
    )
    assert facts(refusal(transpose, x.to("meta"))) == facts("`x` x.cuda() x.cpu()")
    mixed = refusal(transpose, x, out=np.zeros((4, 3), np.float32))
    assert facts(mixed) == ["out", "x"] and mixed.index("NumPy") < mixed.index("PyTorch")
    assert facts(refusal(matmul, x, x.t())) == facts("`b` 4 3 4 16 4 b.T b.contiguous()")
    assert facts(refusal(matmul, x, x.double())) == facts("`a` 4 `b` 3 3 4 3 4")
    assert facts(refusal(matmul, x, torch.ones(4, 2).double())) == facts(
        "`b` torch.float64 b.to(torch.float32)"
    )
    assert refusal(torch.func.vmap(transpose), torch.ones(2, 3, 4)) == NO_MEMORY
    with torch.no_grad():
        assert transpose(x.clone().requires_grad_()).shape == (4, 3)


def test_jax():
    """CPU arrays in, CPU arrays out; `out` and traced arrays are refused."""
    jax = pytest.importorskip("jax")
    x = jax.numpy.asarray(X)
    for dtype in ("float32", "bfloat16", "bool", "int8", "complex64"):
        result = transpose(x.astype(dtype))
        assert (type(result), result.dtype) == (type(x), dtype)
        assert bool((result == x.astype(dtype).T).all())
    assert matmul(x, jax.numpy.asarray(B)).tolist() == (A @ B).tolist()
    placed = jax.device_put(x, jax.devices()[0])
    assert (transpose(x).committed, transpose(placed).committed) == (x.committed, True)
    assert "`out` is a JAX array" in refusal(transpose, x, out=x)
    assert refusal(jax.jit(transpose), x) == NO_MEMORY
    gone = jax.numpy.ones((2, 3))
    gone.delete()
    assert "deleted" in refusal(transpose, gone)
    keys = jax.random.split(jax.random.key(0), 4).reshape(2, 2)
    assert "key<fry>" in refusal(transpose, keys)


@pytest.mark.gpu
@pytest.mark.parametrize("library", ["torch", "cupy", "jax"])
def test_on_a_gpu(library):
    """Arrays of other libraries on a GPU: results stay there, and are right."""
    module = pytest.importorskip(library)
    make = {
        "torch": lambda host: module.from_numpy(host).cuda(),
        "cupy": lambda host: module.asarray(host),
        "jax": lambda host: module.numpy.asarray(host),
    }[library]
    back = {"torch": lambda x: x.cpu().numpy(), "cupy": lambda x: x.get(), "jax": np.asarray}
    rng = np.random.default_rng(50)
    a, b = (rng.integers(-9, 10, shape).astype(np.float32) for shape in ((260, 33), (33, 140)))
    result = matmul(make(a), make(b))
    assert type(result) is type(make(a))
    np.testing.assert_array_equal(back[library](result), a @ b)
    np.testing.assert_array_equal(back[library](transpose(make(a))), a.T)
