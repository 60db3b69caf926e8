"""Host times: many calls in turns, the difference taken within a round."""

from itertools import count

import pytest
from numba import cuda

from smemnb import operations
from smemnb.measure.bench import libraries
from smemnb.measure.bench.case import Case
from smemnb.measure.bench.overhead import host_times, overheads
from smemnb.measure.results import shipped


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
