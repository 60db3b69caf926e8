"""The host API without a GPU: programs written for a GPU run unchanged."""

import math

import numpy as np
import pytest
from numba import cuda

from smemnb import simulator
from smemnb.errors import LaunchRefused, SmemnbError
from smemnb.hardware import LIMITS
from smemnb.simulator import seam
from smemnb.simulator.host import attributes

pytestmark = pytest.mark.skipif(
    simulator.device() != "lockstep", reason="launches go to a GPU here"
)


@cuda.jit
def add_one(out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = out[i] + 1


def test_program():
    """A program as in Numba's manual: streams, pinned memory, events, asynchronous copies."""
    stream = cuda.stream()
    host = cuda.pinned_array(8, dtype=np.float32)
    host[:] = range(8)
    other = np.zeros(8, np.float32)
    begin, end = cuda.event(), cuda.event(timing=True)
    with cuda.pinned(other, host), stream.auto_synchronize():
        begin.record(stream)
        d = cuda.to_device(host, stream=stream)
        add_one[1, 32, stream](d)
        d.copy_to_host(other, stream=stream)
        end.record(stream)
    stream.synchronize()
    cuda.synchronize()
    assert other.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert math.isnan(begin.elapsed_time(end))


def test_to_device():
    """`to_device` copies; `to=` fills an array that is there; a device array stays itself."""
    host = np.arange(6, dtype=np.int32).reshape(2, 3)
    d = cuda.to_device(host)
    host[0, 0] = 99
    assert d.copy_to_host().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (d.shape, d.dtype, d.size, d.nbytes) == ((2, 3), np.int32, 6, 24)
    assert cuda.to_device(d) is d
    assert cuda.to_device(host, to=d) is d
    assert d.copy_to_host()[0, 0] == 99
    assert cuda.to_device(host.T).copy_to_host().tolist() == host.T.tolist()


def test_unwritten_memory():
    """Device memory that nobody has written reads as NaN or -1, always."""
    assert np.isnan(cuda.device_array((2, 3), np.float32).copy_to_host()).sum() == 6
    assert cuda.device_array(4, np.int16).copy_to_host().tolist() == [-1] * 4
    assert np.isnan(cuda.to_device(np.zeros(3), copy=False).copy_to_host()).sum() == 3
    assert cuda.device_array(0).copy_to_host().size == 0


@pytest.mark.parametrize("make", [cuda.device_array_like, cuda.mapped_array_like])
def test_like(make):
    """`..._like` keeps shape, type and order."""
    made = make(np.zeros((3, 5), np.int16, order="F"))
    assert (made.shape, made.dtype, made.strides) == ((3, 5), np.int16, (2, 6))


def test_like_a_view():
    """The like of a view that is not contiguous is contiguous, with its axes in the same order."""
    view = np.zeros((4, 6, 5), np.float32).transpose(1, 0, 2)[::2]
    made = cuda.device_array_like(cuda.to_device(np.zeros((6, 5), order="F"))[::2])
    assert (made.shape, made.strides) == ((3, 5), (8, 24))
    made = cuda.device_array_like(view)
    assert (made.shape, made.strides) == ((3, 4, 5), (20, 60, 4))
    assert np.isnan(made.copy_to_host()).sum() == 60


def test_views():
    """Slices, reshaped and transposed device arrays share memory."""
    d = cuda.to_device(np.zeros(6, np.float32))
    add_one[1, 32](d[2:4])
    d[0] = 9
    assert d.copy_to_host().tolist() == [9, 0, 1, 1, 0, 0]
    assert d.reshape(2, 3).copy_to_host().tolist() == [[9, 0, 1], [1, 0, 0]]
    assert d.reshape(2, 3).T.shape == (3, 2)


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array])
def test_visible_arrays(make):
    """Mapped and managed arrays: the host sees what the kernel wrote, without a copy."""
    array = make(4, dtype=np.float32)
    array[:] = 5
    add_one[1, 32](array)
    assert array.tolist() == [6] * 4
    both = cuda.to_device(array)
    assert both is array


def test_mapped():
    """`cuda.mapped` lends a host array to kernels in place."""
    host = np.zeros(4, np.float32)
    with cuda.mapped(host) as d:
        add_one[1, 32](d)
    assert host.tolist() == [1] * 4


def test_device():
    """The device has the names and limits of the compute capability that is enforced."""
    device = cuda.get_current_device()
    assert device.compute_capability == (9, 0)
    assert (device.WARP_SIZE, device.MAX_THREADS_PER_BLOCK) == (32, 1024)
    assert (device.MAX_BLOCK_DIM_Z, device.MAX_GRID_DIM_Y) == (64, 65535)
    assert device.MAX_SHARED_MEMORY_PER_BLOCK == 49152
    assert device.MULTIPROCESSOR_COUNT == 132
    with pytest.raises(AttributeError, match="no FROBNICATION"):
        _ = device.FROBNICATION


def test_what_scripts_print():
    """Clocks in kHz, memory and caches are those of the modelled chip's data sheet."""
    device = cuda.get_current_device()
    assert (device.CLOCK_RATE, device.L2_CACHE_SIZE) == (1_980_000, 50 << 20)
    assert (device.GLOBAL_MEMORY_BUS_WIDTH, device.TOTAL_CONSTANT_MEMORY) == (5120, 65536)
    assert (device.MAX_REGISTERS_PER_MULTIPROCESSOR, device.MAX_PITCH) == (65536, 2147483647)
    assert device.SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO == 2
    # the peak bandwidth as every deviceQuery works it out
    assert round(2 * device.MEMORY_CLOCK_RATE * device.GLOBAL_MEMORY_BUS_WIDTH / 8e6) == 3350
    assert device.uuid.startswith("GPU-")
    assert device.get_device_identity() == dict.fromkeys(
        ("pci_domain_id", "pci_bus_id", "pci_device_id"), 0
    )


def test_what_the_engine_does_not_do():
    """Programs branch on these: they say what runs here, not what the chip could do."""
    device = cuda.get_current_device()
    assert (device.MANAGED_MEMORY, device.COOPERATIVE_LAUNCH) == (1, 1)
    assert (device.CONCURRENT_KERNELS, device.ASYNC_ENGINE_COUNT, device.GPU_OVERLAP) == (0, 0, 0)
    assert (device.STREAM_PRIORITIES_SUPPORTED, device.COMPUTE_PREEMPTION_SUPPORTED) == (0, 0)


@pytest.mark.parametrize("cc", LIMITS)
def test_attributes_of_every_chip(cc):
    """Each known attribute is a whole number; a figure that nobody published is refused by name."""
    simulator.use(cc)
    try:
        found = {}
        for name in attributes.names():
            try:
                found[name] = attributes.attribute(name)
            except AttributeError as error:
                assert name in str(error)
                assert attributes.chip_name(cc) in str(error)
    finally:
        simulator.use((9, 0))
    assert {type(value) for value in found.values()} == {int}
    assert ("CLOCK_RATE" in found) is (cc != (10, 0))
    assert found["L2_CACHE_SIZE"] % (1 << 20) == 0
    assert len(found) >= 47


def test_an_attribute_is_misspelt():
    with pytest.raises(AttributeError, match="no CLOCKRATE.*CLOCK_RATE"):
        _ = cuda.get_current_device().CLOCKRATE


def test_versions():
    """The driver's version, and a toolkit's that fits it, whether one is installed or not."""
    assert cuda.cudadrv.driver.driver.get_version() == (13, 0)
    assert cuda.runtime.get_version()[0] in (11, 12, 13)
    assert cuda.runtime.is_supported_version()


def test_contexts():
    """One device, one context, whichever way one asks."""
    assert len(cuda.gpus) == 1
    assert cuda.gpus[0].compute_capability == (9, 0)
    assert cuda.list_devices() is cuda.gpus
    with cuda.gpus[0]:
        assert cuda.current_context().device is cuda.get_current_device()
    assert cuda.select_device(0) is cuda.get_current_device()
    with cuda.defer_cleanup():
        cuda.current_context().synchronize()
    cuda.close()
    with pytest.raises(SmemnbError, match="no device 1"):
        cuda.select_device(1)


def test_availability(capsys):
    """Programs that ask whether they may run get a yes, and what they run on."""
    assert cuda.is_available()
    assert cuda.is_supported_version()
    assert cuda.cuda_error() is None
    assert cuda.detect()
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "Found 1 CUDA devices"
    assert "lockstep engine" in said[1]
    assert said[2].strip() == "compute capability: 9.0"


def test_arrays_of_a_gpu():
    """Arrays that say they are on a GPU are refused with the way to the host."""

    class OnGpu:
        @property
        def __cuda_array_interface__(self):
            return {"shape": (3,), "typestr": "<f4", "data": (0, False), "version": 3}

    with pytest.raises(LaunchRefused, match=r"`out` is in the memory of a GPU.*out\.get\(\)"):
        add_one[1, 32](OnGpu())
    with pytest.raises(LaunchRefused, match="OnGpu is not on a device"):
        cuda.as_cuda_array(OnGpu())


def test_reduce():
    """`cuda.reduce` works, on the host."""
    total = cuda.reduce(lambda a, b: a + b)
    assert total(np.arange(10, dtype=np.float64)) == 45


@pytest.mark.skipif(not seam.OUT_OF_TREE, reason="the numba.cuda inside Numba refuses them")
def test_global_device_array():
    """A device array that a kernel names from outside is used in place, not copied."""
    prices = cuda.to_device(np.array([[2, 3], [5, 7]], np.int32))
    row = prices[1]

    @cuda.jit
    def spend(out):
        i = cuda.grid(1)
        out[i] = prices[i, 0] * 10 + row[i]
        row[i] = 0

    out = np.zeros(2, np.int32)
    spend[1, 2](out)
    assert out.tolist() == [25, 57]
    prices[0, 0] = 9
    spend[1, 2](out)
    assert out.tolist() == [90, 0]
    assert prices.copy_to_host().tolist() == [[9, 3], [0, 0]]


def test_allocations():
    """Memory is counted and comes back; what is no memory of a device is refused."""
    context = cuda.current_context()
    free, total = context.get_memory_info()
    with cuda.defer_cleanup():
        held = cuda.device_array(1 << 20, np.uint8)
        assert context.get_memory_info() == (free - (1 << 20), total)
    del held
    context.deallocations.clear()
    context.memory_manager.deallocations.clear()
    assert context.get_memory_info()[0] >= free
    with pytest.raises(cuda.cudadrv.driver.CudaAPIError, match="OUT_OF_MEMORY"):
        cuda.device_array(total + 1, np.uint8)


def test_no_module():
    """What only a driver can do is refused by the name of its function."""
    with pytest.raises(SmemnbError, match="cuModuleLoad is a function of the CUDA driver"):
        cuda.cudadrv.driver.driver.cuModuleLoad("kernel.cubin")


def test_callback():
    """A stream's callback is called at once: its work is done."""
    seen = []
    stream = cuda.stream()
    stream.add_callback(lambda *what: seen.append(what), 5)
    assert seen == [(stream, 0, 5)]
