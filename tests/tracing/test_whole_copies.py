"""Copies of a whole record: the load has the text of the right side, the store its own."""

import numpy as np
from numba import cuda

from smemnb.tracing import trace

POINT = np.dtype([("x", np.float32), ("y", np.float32)])


def accesses(report):
    """Access, array and requests of each row."""
    return [(row.access, row.array, row.requests) for row in report.lines]


def copied(q, p):
    """One record over another."""
    i = cuda.grid(1)
    q[i] = p[63 - i]


def copied_by_name(q, p):
    """The record has a name, and two targets."""
    i = cuda.grid(1)
    point = p[i]
    q[i] = q[63 - i] = point


def exchanged(q, p):
    """Two records at once: which value goes to which target is not followed."""
    i = cuda.grid(1)
    q[i], q[63 - i] = p[i], p[i]


def test_record():
    """The load is of p[63 - i]: 8 bytes of each lane, reported in 8 requests a warp."""
    p, q = np.zeros(64, POINT), np.zeros(64, POINT)
    p["x"] = np.arange(64)
    report = trace(copied)[1, 64](q, p)
    assert accesses(report) == [("store q[i]", "q", 16), ("load p[63 - i]", "p", 16)]
    assert q["x"].tolist() == p["x"][::-1].tolist()


def test_record_by_name():
    """The name on the right is the text, with the array behind it."""
    report = trace(copied_by_name)[1, 64](np.zeros(64, POINT), np.zeros(64, POINT))
    assert {access for access, array, _ in accesses(report) if array == "p"} == {"load point (p)"}
    assert {access for access, array, _ in accesses(report) if array == "q"} == {
        "store q[i]",
        "store q[63 - i]",
    }


def test_tuple_of_targets():
    """Without one value for one target the load has the text of the store, and its array."""
    report = trace(exchanged)[1, 64](np.zeros(64, POINT), np.zeros(64, POINT))
    assert {access for access, array, _ in accesses(report) if array == "p"} == {
        "load q[i] (p)",
        "load q[63 - i] (p)",
    }
