"""Threads that an exception ends, and variables that some threads never assign."""

import json

import numpy as np
import pytest
from numba import cuda

from smemnb import trace
from smemnb.tracing.report import github, sarif
from smemnb.tracing.report.places import placed_findings


@cuda.jit(device=True)
def checked(value):
    if value < 0:
        raise ValueError("negative")
    return value


@cuda.jit
def checks(out, inp):
    i = cuda.grid(1)
    if i < inp.size:
        out[i] = checked(inp[i])


@cuda.jit
def not_written_yet(out):
    raise NotImplementedError("Need to implement this")


@cuda.jit
def item_of_a_tuple(out, inp):
    i = cuda.grid(1)
    out[i] = (inp[0], inp[1])[i]


@cuda.jit
def picks(out, n):
    i = cuda.grid(1)
    if i % 3 == 0:
        value = i
    for _ in range(n):
        out[i] = value


def found(kernel, grid, block, *args, **watching):
    """The findings that are no notes."""
    every = trace(kernel, **watching)[grid, block](*args).findings
    return [one for one in every if one.severity != "note"]


@pytest.mark.parametrize("order", [None, "reversed", "random"])
def test_a_device_function_raises(order):
    """The line is the `raise` itself; blocks add up, whatever order the warps run in."""
    inp = np.ones(100, np.int64)
    inp[[3, 40, 77]] = -1
    (one,) = found(checks, 2, 64, np.zeros(100, np.int64), inp, order=order)
    assert (one.kind, one.function, one.count) == ("ended_by_exception", "checked", 3)
    assert one.source == 'raise ValueError("negative")'
    assert "ValueError('negative') in 3 threads" in one.cause


def test_every_thread_raises():
    """A kernel that is not written yet: 5 threads of a warp of 32."""
    (one,) = found(not_written_yet, 1, 5, np.zeros(4))
    assert (one.kind, one.count) == ("ended_by_exception", 5)
    assert "NotImplementedError('Need to implement this')" in one.cause


def test_what_raises_by_itself():
    """An index past the end of a tuple raises as well."""
    (one,) = found(item_of_a_tuple, 1, 4, np.zeros(4), np.ones(2))
    assert (one.kind, one.count) == ("ended_by_exception", 2)
    assert "IndexError" in one.cause


def test_blocks_that_nobody_watches():
    """They are not counted."""
    inp = np.full(256, -1)
    (one,) = found(checks, 4, 64, np.zeros(256, np.int64), inp, blocks="first")
    assert (one.kind, one.count) == ("ended_by_exception", 64)


@pytest.mark.parametrize("order", [None, "reversed"])
def test_unassigned(order):
    """Each read counts; 20 of 30 threads read twice what they never assigned."""
    (one,) = found(picks, 1, 30, np.zeros(30, np.int64), 2, order=order)
    assert (one.kind, one.severity, one.count) == ("unassigned", "warning", 40)
    assert one.source == "out[i] = value" and one.threads == ((1, 0, 0),)


def test_reports(tmp_path):
    """Both kinds reach SARIF and GitHub with their severities."""
    some = [
        *placed_findings(trace(not_written_yet)[1, 5](np.zeros(4))),
        *placed_findings(trace(picks)[1, 30](np.zeros(30, np.int64), 1)),
    ]
    (run,) = json.loads(sarif.sarif(some, tmp_path))["runs"]
    assert {(one["ruleId"], one["level"]) for one in run["results"]} >= {
        ("smemnb/ended_by_exception", "error"),
        ("smemnb/unassigned", "warning"),
    }
    lines = [line.split(" ")[0] for line in github.commands(some, tmp_path)]
    assert {"::error", "::warning"} <= set(lines)
