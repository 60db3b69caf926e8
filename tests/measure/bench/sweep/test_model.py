"""The file of a sweep: read back as written, refused with its place; what a reading works out."""

import json
import math
from dataclasses import replace

import pytest

from smemnb.errors import SmemnbError
from smemnb.measure.bench.sweep.model import decode, encode, load, save
from tests.measure.bench.sweep.sample import READINGS, SWEEP, TRANSPOSES, timed


@pytest.mark.parametrize("sweep", [SWEEP, TRANSPOSES], ids=["products", "transposes"])
def test_round_trip(sweep, tmp_path):
    save(sweep, tmp_path / "a.json")
    assert load(tmp_path / "a.json") == sweep
    written = json.loads((tmp_path / "a.json").read_text())
    assert (written["format"], written["version"]) == ("smemnb bench sweep", 1)


def test_ratios():
    """Of the faster library, of the copy; None where one of the two is missing."""
    one = timed((8, 8, 8), 0.5, ms=4.0)
    assert one.libraries == {"torch": 2.0, "cupy": 4.0} and one.ratio == 0.5
    assert replace(one, copy_ms=3.0).copy_ratio == 0.75
    assert replace(one, libraries={}).ratio is None and one.copy_ratio is None
    assert READINGS[2].ratio is None


@pytest.mark.parametrize(
    ("error", "torch", "ratio"),
    [
        (3e-6, 2e-6, 1.5),
        (0.0, 0.0, 1.0),
        (1e-7, 0.0, math.inf),
        (0.0, 1e-7, 0.0),
        (1.0, None, None),
    ],
)
def test_error_ratio(error, torch, ratio):
    assert replace(READINGS[0], error=error, torch_error=torch).error_ratio == (
        ratio if ratio is None else pytest.approx(ratio)
    )


def test_roundings():
    """An error of 2^-20 beside a largest value of 8 is two roundings of 2^-24 x 8."""
    assert replace(READINGS[0], error=2.0**-20, largest=8.0).roundings == 2.0
    assert replace(READINGS[0], error=None).roundings is None


def changed(at=0, **fields):
    found = json.loads(encode(SWEEP))
    found["readings"] = [found["readings"][at] | fields]
    return found


BAD = [
    ("a file of bench", {"format": "smemnb bench", "version": 1}, '"smemnb bench sweep"'),
    ("newer", json.loads(encode(SWEEP)) | {"version": 2}, "version 2"),
    ("operation", json.loads(encode(SWEEP)) | {"operation": "sum"}, "a.json.operation"),
    ("count", json.loads(encode(SWEEP)) | {"count": "many"}, "a.json.count"),
    ("other operation", changed(operation="transpose"), "readings[0].operation"),
    ("two extents", changed(shape=[4, 5]), "readings[0].shape"),
    ("no rows", changed(shape=[0, 4, 5]), "readings[0].shape"),
    ("layout", changed(layout="NC"), "readings[0].layout"),
    ("itemsize", changed(itemsize=2), "readings[0].itemsize"),
    ("status", changed(status="fine"), "readings[0].status"),
    ("no time", changed(ms=None), "readings[0].ms"),
    ("0 ms", changed(ms=0.0), "readings[0].ms"),
    ("NaN", changed(low_ms=math.nan), "readings[0].low_ms"),
    ("a library's time", changed(libraries={"torch": -1.0}), "readings[0].torch"),
    ("the copy's", changed(copy_ms=math.inf), "readings[0].copy_ms"),
    ("refused in time", changed(2, ms=1.0), "readings[0]"),
    ("refused for nothing", changed(2, reason=None), "readings[0]"),
    ("unknown", changed(colour="red"), "readings[0].colour"),
]


@pytest.mark.parametrize(("found", "said"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
def test_refused(found, said):
    """Each fault by its place in the file."""
    with pytest.raises(SmemnbError) as refusal:
        decode(json.dumps(found), "a.json")
    assert said in str(refusal.value)


def test_what_is_not_a_file(tmp_path):
    with pytest.raises(SmemnbError, match="none.json"):
        load(tmp_path / "none.json")
    with pytest.raises(SmemnbError, match="not JSON"):
        decode("{", "a.json")


def test_infinity_is_never_written():
    """A file stays JSON: what is infinite is an error here, not a word that others cannot read."""
    with pytest.raises(ValueError):
        encode(SWEEP.grown(replace(READINGS[0], error=math.inf)))
