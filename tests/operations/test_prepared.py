"""Prepared launches: the bytes are Numba's; contexts, threads, captures; what is not prepared."""

import ctypes
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda, float32

from smemnb.errors import LaunchRefused
from smemnb.operations import launching, matmul, prepared
from smemnb.operations.backends.find import matrix_view
from smemnb.operations.choice import UNTOUCHED, Plan
from smemnb.operations.prepared import Launch, Lies, words_of

from .stand_in_driver import CONTEXT, read, stand_in

pytestmark = pytest.mark.skipif(launching.on_gpu(), reason="launches go to a GPU")
numba_launch = pytest.importorskip("numba.cuda.dispatcher", reason="no numba.cuda of its own")
if not hasattr(numba_launch, "LaunchConfig"):
    pytest.skip("this numba.cuda launches in another way", allow_module_level=True)

F4, U4 = np.dtype(np.float32), np.dtype(np.uint32)


def by_numba(monkeypatch, kinds, args):
    """The bytes of each parameter as numba-cuda hands them to cuda.core, by its own `launch`."""
    found = []
    monkeypatch.setattr(numba_launch, "launch", lambda stream, config, kernel, *a: found.extend(a))
    function = SimpleNamespace(kernel=None)
    kernel = numba_launch._Kernel._rebuild(
        cooperative=False,
        name="kernel",
        signature=SimpleNamespace(args=kinds),
        codelibrary=SimpleNamespace(get_cufunc=lambda: function),
        debug=False,
        lineinfo=False,
        call_helper=None,
        extensions=[],
    )
    kernel.launch(args, (1, 1, 1), (32, 1, 1))
    # a Python number becomes a word of a pointer's size, one of ctypes is taken as it is
    return [
        word.to_bytes(8, "little", signed=True) if isinstance(word, int) else bytes(word)
        for word in found
    ]


def device_array(shape, strides, dtype=F4):
    """A device array of Numba's over new memory."""
    reach = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + dtype.itemsize
    memory = cuda.device_array(reach, np.uint8)
    kind = type(memory)
    return kind(shape, strides, dtype, gpu_data=memory.gpu_data)


SHAPES = {
    "contiguous": ((3, 5), (20, 4)),
    "rows apart": ((3, 5), (36, 4)),
    "a vector": ((7,), (4,)),
    "every other": ((7,), (8,)),
    "a batch": ((2, 3, 5), (60, 20, 4)),
    "one matrix for all": ((4, 3, 5), (0, 20, 4)),
    "a single element": ((1, 1), (4, 4)),
}


@pytest.mark.parametrize("out", SHAPES)
@pytest.mark.parametrize("numbers", [(), (np.float32(-2.5), np.float32(0.1))])
def test_bytes_are_numbas(monkeypatch, out, numbers):
    """Each parameter has the bytes that numba-cuda 0.30 passes, before and behind numbers."""
    arrays = [device_array(*SHAPES[out]), device_array((4, 6), (40, 4))]
    own = [device_array((9,), (4,)), device_array((3,), (4,), U4)]
    lie = [Lies(one.shape, one.strides, one.dtype) for one in (*arrays, *own)]
    kinds = prepared._signature(tuple(lie[:2]), (float32,) * len(numbers), tuple(lie[2:]))
    expected = by_numba(monkeypatch, kinds, (*arrays, *numbers, *own))
    found = []
    with stand_in() as driver:
        driver.cuLaunchKernel = lambda *args: found.append(read(args[9], kinds)[1]) or (0,)
        loaded = prepared.Loaded((None, kinds), CONTEXT, None)
        launch = Launch(loaded, (2, 3), (32,), lie[:2], ["float32"] * len(numbers), lie[2:])
        addresses = [one.device_ctypes_pointer.value for one in (*arrays, *own)]
        for _ in range(2):  # the second time in memory that was written before
            launch.start(addresses, numbers, 0)
    assert found == [expected, expected]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int8", -3),
        ("uint8", 250),
        ("int16", -300),
        ("uint16", 60000),
        ("int32", -70000),
        ("uint32", 1 << 31),
        ("int64", -(1 << 40)),
        ("uint64", (1 << 63) + 5),
        ("float32", 0.1),
        ("float64", 0.1),
    ],
)
def test_numbers_of_each_width(monkeypatch, kind, value):
    """A number stands in its own width at the begin of its word, as Numba passes it."""
    from numba.cuda import types

    number = np.dtype(kind).type(value)
    expected = by_numba(monkeypatch, (getattr(types, kind),), (number,))
    with stand_in() as driver:
        driver.computes = False
        loaded = prepared.Loaded(("kernel", ()), CONTEXT, None)
        launch = Launch(loaded, (1,), (32,), (), [kind])
        launch.start((), (value,), 0)
        block = launch._free[0]
    assert len(expected) == len(block.pointers) == 1
    assert ctypes.string_at(block.pointers[0], number.nbytes) == expected[0]


def test_grids():
    """Grids and blocks of one to three numbers; what is left out is 1."""
    with stand_in() as driver:
        driver.computes = False
        for grid, block in (((5,), (64,)), ((5, 6), (32, 8)), ((5, 6, 7), (8, 4, 2))):
            loaded = prepared.Loaded(("kernel", ()), CONTEXT, None)
            Launch(loaded, grid, block, ()).start((), (), 9)
        found = [launch[2:] for launch in driver.launches]
    assert found == [
        ((5, 1, 1, 64, 1, 1), 9),
        ((5, 6, 1, 32, 8, 1), 9),
        ((5, 6, 7, 8, 4, 2), 9),
    ]


def test_words():
    """The members of an array of three axes, one of them shared."""
    found = words_of(Lies((4, 3, 5), (0, 24, 4), F4))
    assert found == [0, 0, 60, 4, 0, 4, 3, 5, 0, 24, 4]


def test_context():
    """The context is made current where another one or none is, and put back."""
    with stand_in() as driver:
        launch = Launch(prepared.Loaded(("kernel", ()), CONTEXT, None), (1,), (32,), ())
        driver.computes = False
        launch.start((), (), 0)
        assert driver.log == []
        for current in (0, 5):
            driver.current, driver.log = current, []
            launch.start((), (), 0)
            assert driver.log == [("push", CONTEXT), ("pop", CONTEXT)]
            assert driver.current == current


def test_driver_refuses():
    """An error of the driver is raised, and the arguments' memory is used again."""
    with stand_in() as driver:
        refusing = prepared.Loaded(("kernel", ()), CONTEXT, None)
        refusing.launch = lambda *args: (700,)
        launch = Launch(refusing, (1,), (32,), ())
        for _ in range(2):
            with pytest.raises(Exception, match="700"):
                launch.start((), (), 0)
        assert driver.launches == []
        assert len(launch._free) == 1


def test_threads_have_memory_of_their_own():
    """While one thread is in the driver, others write their arguments elsewhere."""
    count, wait, found = 4, threading.Barrier(4), []
    lies = [Lies((2, 2), (8, 4), F4)]

    def in_driver(function, *launch):
        stream, pointers = launch[7], launch[8]
        wait.wait(10)  # all are here at once
        address = ctypes.cast(pointers, ctypes.POINTER(ctypes.c_void_p))[4]
        found.append((stream, ctypes.c_int64.from_address(address).value))
        return (0,)

    with stand_in() as driver:
        driver.cuLaunchKernel = in_driver
        launch = Launch(prepared.Loaded(None, CONTEXT, None), (1,), (32,), lies)
        threads = [
            threading.Thread(target=launch.start, args=([1000 + n], (), n)) for n in range(count)
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join(20)
    assert sorted(found) == [(n, 1000 + n) for n in range(count)]
    assert len(launch._free) == count


# --- what is prepared ----------------------------------------------------------------------------


@cuda.jit
def nothing(out):
    """A kernel that does nothing."""


def asked(kernel, scalars=(), handle=0):
    """What `prepared` answers for a kernel on one matrix."""
    lies = (Lies((2, 2), (8, 4), F4),)
    return prepared.prepared(kernel, (1, 1), (32, 1), lies, scalars, (), 0, handle)


def test_left_to_numba():
    """No dispatcher, a debug build, extensions, and numbers that Numba splits go Numba's way."""
    with stand_in():
        assert isinstance(asked(nothing), Launch)
        assert asked(nothing) is asked(nothing)
        assert asked(nothing.py_func) is None
        assert asked(cuda.jit(debug=True, opt=False)(nothing.py_func)) is None
        assert asked(cuda.jit(extensions=[object()])(nothing.py_func)) is None
        assert asked(nothing, (np.complex64(1),)) is None
        assert isinstance(asked(nothing, (np.int16(1), 2, 2.5)), Launch)


@pytest.mark.parametrize(("value", "expected"), [(None, True), ("1", True), ("0", False)])
def test_switch(monkeypatch, value, expected):
    """On a GPU launches are prepared, unless SMEMNB_PREPARED is 0."""
    with stand_in():
        monkeypatch.delenv("SMEMNB_PREPARED", raising=False)
        if value is not None:
            monkeypatch.setenv("SMEMNB_PREPARED", value)
        prepared.is_wanted.cache_clear()  # it is read once
        assert prepared.usable() is expected
        assert (asked(nothing) is not None) is expected


@pytest.mark.parametrize("where", ["lockstep", "off", "no gpu", None])
def test_not_without_a_gpu(monkeypatch, where):
    """In the engine, with SMEMNB_DEVICE=off, and without a GPU nothing is prepared."""
    monkeypatch.setattr(prepared, "launches", lambda: where)
    assert not prepared.usable()
    assert asked(nothing) is None
    assert not prepared.capturing(99)


def test_not_without_bindings(monkeypatch):
    """The numba.cuda inside numba launches by itself."""
    monkeypatch.setattr(prepared, "launches", lambda: "gpu")
    monkeypatch.setattr(prepared, "_driver", lambda: None)
    assert not prepared.usable()
    assert asked(nothing) is None
    assert not prepared.capturing(99)


def test_layouts():
    """Under A all strides share a compiled kernel; under C types are those of Numba's arrays."""
    layouts = {}
    for name, (shape, strides) in SHAPES.items():
        view = SimpleNamespace(lies_as=lambda dtype, found=(shape, strides): found)
        assert launching.lies_as(view, F4, "A").layout == "A"
        layouts[name] = launching.lies_as(view, F4, "C").layout
        assert layouts[name] == device_array(shape, strides)._numba_type_.layout
    assert set(layouts.values()) == {"A", "C"}


# --- capture -------------------------------------------------------------------------------------


def test_loading_is_refused_in_a_capture():
    """A kernel that is not there yet is refused while its stream is captured; then it is not."""
    with stand_in() as driver:
        driver.captured = {55}
        with pytest.raises(LaunchRefused, match="once"):
            asked(nothing, handle=55)
        asked(nothing, handle=0)
        assert isinstance(asked(nothing, handle=55), Launch)


@cuda.jit
def with_workspace(out, sums, flags):
    """Adds what it finds in its flags, which are 0, to 7."""
    out[0, 0] = 7 + flags[0] + flags[2]
    sums[3] = 1


PLAN = Plan(with_workspace, "with_workspace", (1, 1), (1, 1), (1, 1), sums=4, flags=3)


def launched(handle, plan=PLAN):
    """The result of a kernel with a workspace on a stream."""
    out = cuda.to_device(np.zeros((1, 1), np.float32))
    view = matrix_view("out", out)
    launching.run(plan, (view,), (), F4, handle)
    return out.copy_to_host()[0, 0]


@pytest.mark.parametrize("major", [8, 9])
def test_launches_that_overlap(major):
    """A kernel that waits by itself may begin before the last one ends, if the chip can do so."""
    with stand_in() as driver:
        driver.major = major
        plan = PLAN._replace(overlaps=True)
        assert [launched(handle, plan) for handle in (0, 55, 55)] == [7, 7, 7]
        overlapping = [("overlap", 0), ("overlap", 55), ("overlap", 55)]
        assert [one for one in driver.log if one[0] == "overlap"] == overlapping * (major == 9)
        assert [stream for *_, stream in driver.launches] == [0, 55, 55]


def test_description_of_a_launch_that_overlaps():
    """It lies as that of cuda.bindings does."""
    driver = pytest.importorskip("cuda.bindings.driver")
    asked, theirs = driver.CUlaunchAttribute(), driver.CUlaunchConfig()
    kinds = driver.CUlaunchAttributeID
    asked.id = kinds.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    asked.value.programmaticStreamSerializationAllowed = 1
    theirs.gridDimX, theirs.gridDimY, theirs.gridDimZ = 1, 2, 3
    theirs.blockDimX, theirs.blockDimY, theirs.blockDimZ = 4, 5, 6
    theirs.hStream, theirs.attrs, theirs.numAttrs = driver.CUstream(77), [asked], 1
    ours = prepared._overlapping((1, 2, 3, 4, 5, 6))
    ours.stream = 77
    for one in (prepared._Config.from_address(theirs.getPtr()), ours):
        attribute = one.attributes[0]
        found = *one.extents, one.shared, one.stream, one.count, attribute.id, attribute.value[0]
        assert found == (1, 2, 3, 4, 5, 6, 0, 77, 1, 6, 1)


def test_workspace_is_kept_for_a_stream():
    """Two launches on a stream share a workspace; another stream has its own."""
    with stand_in():
        assert launched(0) == launched(0) == 7
        assert list(launching._own) == [(0, 0)]
        sums = launching._own[0, 0][0]
        launched(0)
        assert launching._own[0, 0][0] is sums


def test_workspace_grows():
    """Two plans in turn settle on memory that holds the sums of one and the flags of the other."""
    many_sums, many_flags = PLAN._replace(sums=90), PLAN._replace(flags=50)
    with stand_in():
        sizes = []
        for plan in (many_sums, many_flags, many_sums, many_flags, PLAN):
            launched(0, plan)
            sizes.append(tuple(one.size for one in launching._own[0, 0][:2]))
        assert sizes == [(90, 3), (90, 50), (90, 50), (90, 50), (90, 50)]


def test_no_kept_workspace_in_a_capture(monkeypatch):
    """A graph of what Numba launches would keep addresses that a larger plan gives back."""
    with stand_in() as driver:
        launched(55)
        monkeypatch.setattr(prepared, "prepared", lambda *what, **more: None)
        driver.captured = {55}
        with pytest.raises(LaunchRefused, match="capture"):
            launched(55)


def test_workspace_of_a_graph():
    """In a capture sums belong to the graph: taken before the launch, given back after it."""
    with stand_in() as driver:
        launched(0)
        kept, driver.captured = dict(launching._own), {55}
        assert launched(55) == 7
        assert driver.log == [("allocate", 16, 55), ("free", 16, 55)]
        assert driver.memory == {}
        assert launching._own == kept


def test_flags_of_a_graph(monkeypatch):
    """Each launch in a capture has flags of its own, which nobody sets to 0 in a replay."""
    monkeypatch.setattr(launching, "_FLAGS_AT_ONCE", 8)
    with stand_in() as driver:
        launched(0)
        driver.captured, places = {55}, []
        for _ in range(3):
            assert launched(55) == 7
            places.append(driver.flags_at - driver.lasting[-1].__array_interface__["data"][0])
        assert (places, [one.size for one in driver.lasting]) == ([0, 12, 0], [8, 8])
        assert driver.mode == 0


def test_a_workspace_that_nobody_touches():
    """With one part there is nothing to add up, and no memory to take: in a capture neither."""
    with stand_in() as driver:
        driver.computes = False
        launched(0, PLAN._replace(sums=UNTOUCHED, flags=UNTOUCHED))
        assert not (launching._own or driver.log)


def test_workspace_of_a_graph_refused():
    """Without memory pools there is none, and nothing was launched."""
    with stand_in() as driver:
        launched(0)
        driver.captured, driver.pools, before = {55}, False, len(driver.launches)
        with pytest.raises(LaunchRefused, match="capture"):
            launched(55)
        assert len(driver.launches) == before


def test_results_of_numba_in_a_capture():
    """Numba's memory comes from the driver, so a result is refused and an `out` is taken."""
    a = cuda.to_device(np.eye(3, dtype=np.float32))
    out = cuda.to_device(np.zeros((3, 3), np.float32))
    stream = cuda.stream()
    with stand_in() as driver:
        matmul(a, a, out)
        driver.captured = {int(stream)}
        with pytest.raises(LaunchRefused, match="`out`"):
            matmul(a, a, stream=stream)
        assert matmul(a, a, out, alpha=2, stream=stream) is out
    np.testing.assert_array_equal(out.copy_to_host(), 2 * np.eye(3))


# --- memory of others ----------------------------------------------------------------------------


class Lent:
    """A DLPack array whose memory may be used anew as soon as it is dropped."""


def test_borrowed_memory_is_let_go():
    """What is kept of others is dropped when its event has passed, with no further call."""
    passed, dropped = threading.Event(), threading.Event()

    class Event:
        def record(self, stream):
            pass

        def query(self):
            return passed.is_set()

    lent = Lent()
    weakref.finalize(lent, dropped.set)
    backend = SimpleNamespace(borrowed=True, used_on=lambda matrix, handle: None)
    views = [SimpleNamespace(backend=backend, value=lent, place=0)]
    kept, cuda.event = cuda.event, lambda timing: Event()
    try:
        launching._let_go(views, 0, 0)
        views.clear()
        del lent
        assert not dropped.wait(0.05)
        passed.set()
        assert dropped.wait(10)
    finally:
        passed.set()
        cuda.event = kept
