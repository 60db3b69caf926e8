"""Calls like one before: what a key holds, what is looked at each time, and that values stay right.

`short` counts the launches of calls that went the short way.
"""

import gc
import threading
import weakref

import numpy as np
import pytest
from numba import cuda

from smemnb.errors import LaunchRefused
from smemnb.operations import launching, matmul, prepared, repeated, transpose, transposing
from smemnb.operations.backends.find import exact, matrix_view

from .stand_in_driver import stand_in

pytestmark = pytest.mark.skipif(launching.on_gpu(), reason="launches go to a GPU")
if not hasattr(pytest.importorskip("numba.cuda.dispatcher"), "LaunchConfig"):
    pytest.skip("this numba.cuda launches in another way", allow_module_level=True)


def numbers(rng, rows, cols):
    return rng.integers(-9, 10, (rows, cols)).astype(np.float32)


@pytest.fixture
def driver():
    """A stand-in for the driver, with the classes of arrays known."""
    with stand_in() as found:
        transpose(cuda.to_device(np.ones((1, 1), np.float32)))
        repeated.forget()
        found.launches.clear()
        yield found


@pytest.fixture
def short(monkeypatch):
    """The results of calls that went the short way."""
    found, again = [], repeated._again

    def noted(*args):
        result = again(*args)
        if result is not None:
            found.append(result)
        return result

    monkeypatch.setattr(repeated, "_again", noted)
    return found


ROOM = 4096


class Memory:
    """Device arrays that begin where they are told to, so that keys do not depend on the host."""

    def __init__(self, offset=0):
        self.piece = cuda.device_array(1 << 20, np.uint8)
        begin = self.piece.device_ctypes_pointer.value
        self.at = -begin % ROOM + offset

    def put(self, host, pitch=None):
        """A device array like this one, its rows so many bytes apart."""
        pitch = host.shape[1] * host.itemsize if pitch is None else pitch
        reach = pitch * host.shape[0]
        memory = self.piece[self.at : self.at + reach]
        self.at += -(-reach // ROOM) * ROOM
        found = type(memory)(
            host.shape, (pitch, host.itemsize), host.dtype, gpu_data=memory.gpu_data
        )
        view = launching.host_view(of(found), host.dtype)
        view[...] = host
        return found

    def get(self, array):
        return launching.host_view(of(array), array.dtype).copy()


def of(array):
    return matrix_view("x", array)


def test_values(driver, short):
    """Other arrays and other numbers under the same key give their own results."""
    rng = np.random.default_rng(1)
    for alpha, beta in ((1, 0), (2.5, -0.5), (-3, 0.25), (1.0, 0.0)):
        memory = Memory()
        a, b, before = (numbers(rng, *shape) for shape in ((20, 7), (7, 33), (20, 33)))
        out = memory.put(before)
        assert matmul(memory.put(a), memory.put(b), out, alpha, beta) is out
        np.testing.assert_array_equal(memory.get(out), alpha * (a @ b) + beta * before)
        x = numbers(rng, 19, 40)
        turned = memory.put(np.zeros((40, 19), np.float32))
        transpose(memory.put(x), turned)
        np.testing.assert_array_equal(memory.get(turned), x.T)
    assert len(driver.launches) == 8
    assert len(short) == 5  # all but the first of each key: two products, one transpose
    assert len(repeated._known) == 3


def test_results_that_are_made(driver, short, monkeypatch):
    """A made result is of the library, bound to the stream, and new each time."""
    fresh, memory, stream = [], Memory(), cuda.stream()
    a, b = np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((4, 5), np.float32)
    left, right = memory.put(a), memory.put(b)
    backend = exact[type(left)]

    def made(shape, dtype, place, handle=0):
        found = memory.put(np.zeros(shape, dtype))
        found.stream = launching.stream_of(handle, place)
        fresh.append(found)
        return found

    monkeypatch.setattr("smemnb.operations.backends.numba_arrays.new_array", made)
    for _ in range(3):
        result = matmul(left, right, stream=stream)
        assert result is fresh[-1]
        assert int(result.stream) == int(stream)
        np.testing.assert_array_equal(memory.get(result), a @ b)
    assert (len(fresh), len(short), len(repeated._known)) == (3, 2, 1)
    assert {launch[3] for launch in driver.launches} == {int(stream)}
    assert backend.is_contiguous(result)


DIFFERENT = {
    "shape": lambda memory, x: memory.put(np.zeros((8, 5), np.float32)),
    "pitch": lambda memory, x: memory.put(x, 64),
    "dtype": lambda memory, x: memory.put(x.astype(np.int32)),
    "size of elements": lambda memory, x: memory.put(x.astype(np.float64)),
    "alignment": lambda memory, x: Memory(4).put(x),
}


@pytest.mark.first(2)
@pytest.mark.parametrize("what", DIFFERENT)
def test_what_a_key_holds(driver, short, what):
    """Another shape, pitch, dtype or alignment is looked at anew, and right."""
    memory = Memory()
    x = np.arange(40, dtype=np.float32).reshape(5, 8)
    source = memory.put(x)
    transpose(source, memory.put(np.zeros((8, 5), np.float32)))
    transpose(source, memory.put(np.zeros((8, 5), np.float32)))
    assert len(short) == 1
    other = DIFFERENT[what](memory, x)
    host = memory.get(other)
    out = memory.put(np.zeros(host.shape[::-1], host.dtype))
    transpose(other, out)
    assert len(short) == 1
    np.testing.assert_array_equal(memory.get(out), host.T)
    assert len(repeated._known) == 2


def test_rungs_and_factors_are_in_the_key(driver, short):
    """A rung by its name has its own key; a factor counts as 0, 1 or another number in float32."""
    memory = Memory()
    a = memory.put(np.ones((4, 4), np.float32))
    out = memory.put(np.zeros((4, 4), np.float32))
    calls = [
        {"rung": "matmul_naive"},
        {"rung": "matmul_tiled"},
        {"alpha": 1.0 + 1e-12, "rung": "matmul_naive"},  # 1 in float32: the first key
        {},
        {"beta": 1e-60},  # 0 in float32: the fourth
        {"beta": 1},
        {"beta": 3},
        {"beta": 3, "alpha": 2},
    ]
    found = []
    for more in calls:
        before = len(short)
        matmul(a, a, out, **more)
        found.append(len(short) - before)
    assert found == [0, 0, 1, 0, 1, 0, 0, 0]
    with pytest.raises(LaunchRefused, match="alpha"):
        matmul(a, a, out, alpha=3, rung="matmul_naive")
    assert len(repeated._known) == 6


@pytest.mark.exhaustive
def test_overlap_is_refused_again(driver):
    """An `out` that shares memory is refused under a key that is known."""
    memory = Memory()
    x = memory.put(np.eye(8, dtype=np.float32))
    out = memory.put(np.zeros((8, 8), np.float32))
    for _ in range(2):
        transpose(x, out)
        matmul(x, x, out)
    count = len(driver.launches)
    with pytest.raises(LaunchRefused, match="shares memory"):
        transpose(x, x)
    for pair in ((x, out), (out, x)):
        with pytest.raises(LaunchRefused, match="shares memory"):
            matmul(*pair, out)
    assert len(driver.launches) == count


def test_rows_between_rows(driver, short):
    """An `out` whose rows lie between those of x is taken, each time the whole way."""
    memory = Memory()
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    source = memory.put(x, 64)
    between = source.gpu_data.view(32, 32 + 64 * 7 + 32)
    out = type(source)((8, 8), (64, 4), np.float32, gpu_data=between)
    for _ in range(2):
        transpose(source, out)
        np.testing.assert_array_equal(memory.get(out), x.T)
        np.testing.assert_array_equal(memory.get(source), x)
    assert short == []


REFUSED = {
    "bool": ({"alpha": True}, "alpha"),
    "text": ({"beta": "1"}, "beta"),
    "complex": ({"alpha": 1j}, "alpha"),
    "too large": ({"alpha": 10**400}, "alpha"),
    "stream": ({"stream": "s"}, "stream"),
    "rung": ({"rung": 3}, "rung"),
    "unknown rung": ({"rung": "matmul_none"}, "matmul_none"),
    "kind of b": ({"b": np.ones((4, 4), np.float32)}, "library"),
    "beta without out": ({"out": None, "beta": 1}, "beta"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_hold(driver, what):
    """What the first call would refuse is refused after calls that were accepted."""
    memory = Memory()
    a = memory.put(np.ones((4, 4), np.float32))
    out = memory.put(np.zeros((4, 4), np.float32))
    for _ in range(2):
        matmul(a, a, out)
    count = len(driver.launches)
    changes, names = REFUSED[what]
    with pytest.raises(LaunchRefused, match=names):
        matmul(**({"a": a, "b": a, "out": out} | changes))
    assert len(driver.launches) == count


def test_work_on_other_streams_comes_first(driver, short, monkeypatch):
    """An array that is bound to another stream than the call's goes the whole way, in order."""
    ordered = []
    monkeypatch.setattr(launching, "_order", lambda matrix, handle, then: ordered.append(handle))
    memory, one, other = Memory(), cuda.stream(), cuda.stream()
    x = memory.put(np.eye(4, dtype=np.float32))
    out = memory.put(np.zeros((4, 4), np.float32))
    for _ in range(2):
        transpose(x.bind(one), out, stream=one)
    assert (len(short), ordered) == (1, [])
    for _ in range(2):
        transpose(x.bind(one), out, stream=other)
    assert (len(short), ordered) == (1, [int(other)] * 2)
    transpose(x.bind(one), out)
    assert len(short) == 2
    assert [launch[3] for launch in driver.launches] == [
        int(stream) for stream in (one, one, other, other, one)
    ]


@pytest.mark.exhaustive
def test_bands(driver, short, monkeypatch):
    """A call of several launches repeats them all, each at its place."""
    monkeypatch.setattr(transposing, "most_rows", lambda plan: 32)
    for _ in range(2):
        memory = Memory()
        x = np.random.default_rng(3).integers(0, 99, (70, 9)).astype(np.float32)
        out = memory.put(np.zeros((9, 70), np.float32))
        transpose(memory.put(x), out)
        np.testing.assert_array_equal(memory.get(out), x.T)
    assert (len(driver.launches), len(short)) == (6, 1)


@pytest.mark.parametrize("name", ["x", "copy"])
def test_what_works_on_other_memory_is_not_kept(driver, short, name):
    """A launch on memory that is no argument's, whatever it is called, keeps a call from it."""
    memory = Memory()
    x, out = (memory.put(np.ones((4, 4), np.float32)) for _ in range(2))
    with launching.noting() as done:
        transpose(x, out)
    assert len(done) == 1

    def whole(source, target, stream, rung):
        views = matrix_view("out", target), matrix_view(name, memory.put(memory.get(source)))
        launching.run(done[0].plan, views, (), np.dtype(np.float32), 0)
        return target

    repeated.forget()
    for _ in range(2):
        assert repeated.repeated(("both", "x"), whole, (x,), out, (), None, None) is out
    assert (short, repeated._known) == ([], {})


def test_within_another(driver, short):
    """An operation that another one calls goes the whole way, so that the outer one knows it."""
    memory = Memory()
    x, out = (memory.put(np.ones((4, 4), np.float32)) for _ in range(2))
    for _ in range(2):
        transpose(x, out)
    assert len(short) == 1
    with launching.noting() as noted:
        transpose(x, out)
    assert (len(short), len(noted)) == (1, 1)


def test_empty_matrices(driver, short):
    """Without elements nothing is launched, and nothing kept."""
    for _ in range(2):
        empty = cuda.device_array((0, 5), np.float32)
        assert transpose(empty).shape == (5, 0)
    assert (driver.launches, repeated._known, short) == ([], {}, [])


def test_only_so_many(driver, monkeypatch):
    """Keys do not pile up."""
    monkeypatch.setattr(repeated, "MOST", 3)
    memory = Memory()
    for rows in range(1, 8):
        x = memory.put(np.ones((rows, 2), np.float32))
        transpose(x, memory.put(np.zeros((2, rows), np.float32)))
        assert len(repeated._known) <= 3


def test_not_without_prepared_launches(driver, short, monkeypatch):
    """In the engine and where Numba launches, each call goes the whole way."""
    monkeypatch.setattr(prepared, "launches", lambda: "off")
    memory = Memory()
    x = memory.put(np.ones((4, 4), np.float32))
    out = memory.put(np.zeros((4, 4), np.float32))
    for _ in range(2):
        transpose(x, out)
    assert (short, repeated._known, driver.launches) == ([], {}, [])


def test_threads(driver):
    """Calls of one key from several threads each have their own result."""
    rng, wrong = np.random.default_rng(5), []
    hosts = [numbers(rng, 16, 16) for _ in range(4)]
    memory = Memory()
    placed = [(memory.put(x), memory.put(np.zeros((16, 16), np.float32))) for x in hosts]
    transpose(*placed[0])

    def work(number):
        x, out = placed[number]
        for _ in range(20):
            transpose(x, out)
            if not np.array_equal(memory.get(out), hosts[number].T):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert wrong == []
    assert len(driver.launches) == 81


@pytest.mark.exhaustive
def test_nothing_is_kept_alive(driver):
    """What is kept of a call holds no array."""
    memory = Memory()
    x = memory.put(np.ones((4, 4), np.float32))
    out = memory.put(np.zeros((4, 4), np.float32))
    for _ in range(2):
        transpose(x, out)
    seen = weakref.ref(x), weakref.ref(out)
    del x, out
    gc.collect()
    assert [one() for one in seen] == [None, None]
