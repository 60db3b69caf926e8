"""Host times: many calls in turns, the difference taken within a round."""

from itertools import count

import pytest
from numba import cuda

from smemnb import operations
from smemnb.measure.bench import libraries
from smemnb.measure.bench.case import Case
from smemnb.measure.bench.overhead import host_times, overheads
from smemnb.measure.results import shipped
from smemnb.measure.results.model import Overhead
from smemnb.measure.results.table import overhead_lines


def test_turns_and_warm_up():
    """The first round does not count; each time is shared out among the calls."""
    called, clock = [], iter([0.0, 9.0, 9.0, 9.0, 10.0, 12.0, 12.0, 16.0])
    runs = [lambda: called.append("a"), lambda: called.append("b")]
    # warm: a 9 s, b 0 s; counted, b first: b 2 s, a 4 s
    assert host_times(runs, calls=2, rounds=1, now=lambda: next(clock)) == [[2e6, 1e6]]
    assert called == ["a", "a", "b", "b", "b", "b", "a", "a"]


def noted(calls, operation):
    def called(*inputs, **given):
        calls.append((operation.__name__, list(given)))
        return operation(*inputs, **given)

    return called


def test_both_operations(monkeypatch):
    """Each operation, with the result given and made, beside the bare launch.

    Where it is made, the other side makes an array as well.
    """
    calls, made = [], []
    new = cuda.device_array
    monkeypatch.setattr(
        cuda, "device_array", lambda *args, **more: made.append(args) or new(*args, **more)
    )
    for name in ("transpose", "matmul"):
        monkeypatch.setattr(operations, name, noted(calls, getattr(operations, name)))
    ticks, tiny = count(), (Case("transpose", (4, 6)), Case("matmul", (4, 6, 5)))
    found = list(overheads(cases=tiny, calls=1, rounds=1, now=lambda: float(next(ticks))))
    assert [(one.operation, one.arrays, one.result) for one in found] == [
        ("transpose", "numba", "given"),
        ("transpose", "numba", "made"),
        ("matmul", "numba", "given"),
        ("matmul", "numba", "made"),
    ]
    # one round warms up and one counts
    assert calls == [
        (name, given) for name in ("transpose", "matmul") for given in (["out"], ["out"], [], [])
    ]
    # two rounds, in which the operation makes a result and so does the other side
    assert [shape for shape, kind in made if kind == "float32"] == [(6, 4)] * 4 + [(4, 6)] * 4
    assert {(one.call_us, one.launch_us, one.beyond_us) for one in found} == {(1e6, 1e6, 0.0)}


class Own:
    """A library of arrays that are NumPy's, with operations that note that they were called."""

    name = "own"

    def __init__(self, calls):
        self.calls, self.module = calls, self

    def array(self, array, itemsize):
        return array

    def like(self, rows, cols):
        self.calls.append("like")

    def transposed(self, x):
        self.calls.append("transposed")

    def transposed_into(self, x, out):
        self.calls.append("transposed_into")

    def product(self, a, b, out):
        self.calls.append("product")

    def matmul(self, a, b):
        self.calls.append("matmul")


def test_beside_the_library():
    """Where arrays have a library, its own call for the same takes its turn."""
    calls, ticks = [], count()
    tiny = (Case("transpose", (4, 6)), Case("matmul", (4, 6, 5)))
    now = lambda: float(next(ticks))  # noqa: E731
    found = list(overheads([Own(calls)], cases=tiny, calls=1, rounds=1, now=now))
    each = [("numba", "given"), ("numba", "made"), ("own", "given"), ("own", "made")]
    assert [(one.operation, one.arrays, one.result) for one in found] == [
        (name, *kind) for name in ("transpose", "matmul") for kind in each
    ]
    assert [one.own_us for one in found] == [None, None, 1e6, 1e6] * 2
    # the warm-up and one round: an allocation stands beside the launch where ours makes a result
    asked = ["transposed_into", "transposed", "product", "matmul", "like", "like"]
    assert sorted(calls) == sorted(asked * 2)


def test_table():
    """A ratio to the library's own call, and blanks where there is none."""
    rows = [
        Overhead("matmul", "torch", "made", 13.0, 19.0, -6.0, -6.5, -5.5, 21, 10.0),
        Overhead("matmul", "numba", "given", 8.0, 19.0, -11.0, -12.0, -10.0, 21),
    ]
    _, _, *lines = map(str, overhead_lines(rows))
    assert [line.split()[3:] for line in lines] == [
        ["13.0", "19.0", "-6.0", "-6.5--5.5", "10.0", "1.30"],
        ["8.0", "19.0", "-11.0", "-12.0--10.0"],
    ]


@pytest.mark.gpu
def test_bound_on_a_gpu():
    """A call costs less than 60 microseconds beyond a bare launch, whatever the library."""
    here, _ = libraries.found(["torch", "cupy"])
    rows = list(overheads(here))
    assert rows
    assert [(one.operation, one.arrays, one.beyond_us) for one in rows if one.beyond_us >= 60] == []


def test_bound_of_the_shipped_times():
    """The same, recorded on an H200, medians: two operations, three libraries, given and made."""
    rows = shipped().overheads
    assert len({(one.operation, one.arrays, one.result) for one in rows}) == len(rows) == 12
    assert [one for one in rows if one.beyond_us >= 60] == []
