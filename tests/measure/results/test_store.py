"""The file of results: read back as written, refused with its reason, never half written."""

import json
from dataclasses import replace

import pytest

from smemnb.errors import SmemnbError
from smemnb.measure.bench.case import CHOICE, plan
from smemnb.measure.results import Clocks, Gpu, Overhead, Results, Row, load, save, store

RUNG = Row(
    *("transpose", "transpose_tiled", "rung", "transpose_tiled", (40, 35), 4, 0, True),
    ms=2.0,
    low_ms=1.5,
    high_ms=2.25,
    rounds=7,
    beside="copy_wide",
    ratio=0.25,
    registers=22,
    local_bytes=0,
    bound_ms=1.6,
    limiter="shared",
)
FAILED = Row(*("matmul", "fastest", "choice", "", (5, 6, 7), 4, 3, False), failed="wrong values")
RESULTS = Results(
    gpu=Gpu("NVIDIA H200", "9.0", 132, 150_000_000_000, 62_914_560),
    driver="580.159.04",
    cuda="13.0",
    versions={"python": "3.12.3", "numba": "0.68.0"},
    libraries={"torch": "2.11.0", "cupy": "not installed"},
    date="2026-11-22T10:00:00+00:00",
    command="smemnb bench all",
    l2="flushed: 120 MiB of other data read before each launch",
    finished=True,
    clocks=(Clocks("before", 1980.0, 3201.0, 47.0, None),),
    rows=(RUNG, FAILED),
    overheads=(Overhead("matmul", "numba", "given", 30.5, 9.0, 21.0, 20.0, 23.0, 21),),
)


def test_round_trip(tmp_path):
    """What was saved is loaded, field by field, and says which format it is."""
    save(RESULTS, tmp_path / "a.json")
    assert load(tmp_path / "a.json") == RESULTS
    written = json.loads((tmp_path / "a.json").read_text())
    assert (written["format"], written["version"]) == ("smemnb bench", 1)
    assert written["rows"][0]["shape"] == [40, 35]


def changed(**fields):
    return json.loads(store.encode(RESULTS)) | fields


def rows(**fields):
    return changed(rows=[json.loads(store.encode(RESULTS))["rows"][0] | fields])


def without(name):
    found = changed()
    del found[name]
    return found


BAD = [
    ("no JSON", "{", "a.json is not JSON (Expecting property name"),
    ("a list", [], 'a.json is JSON, but not a file of results: it has no "format"'),
    ("another format", {"gpu": "x"}, "it has no"),
    ("newer", changed(version=2), "has version 2; this smemnb reads version 1"),
    ("no version", without("version"), "has version None"),
    ("no GPU", without("gpu"), "a.json.gpu is missing"),
    ("GPU is text", changed(gpu="H200"), 'a.json.gpu is text ("H200"), not an object'),
    ("unknown", changed(colour="red"), "a.json.colour is not a field; known are gpu, driver"),
    ("rows", changed(rows=3), "a.json.rows is an integer (3), not a list"),
    ("a row", changed(rows=[7]), "a.json.rows[0] is an integer (7), not an object"),
    ("ms", rows(ms="2"), 'a.json.rows[0].ms is text ("2"), not a number or null'),
    ("rounds", rows(rounds=1.5), "a.json.rows[0].rounds is a number (1.5), not an integer"),
    ("right", rows(right=1), "a.json.rows[0].right is an integer (1), not true or false"),
    ("shape", rows(shape=[4, "5"]), 'rows[0].shape[1] is text ("5"), not an integer'),
    ("extents", rows(shape=[4, 5, 6]), "rows[0].shape is (4, 5, 6), not 2 extents"),
    ("operation", rows(operation="sort"), "rows[0].operation is 'sort', not transpose or"),
    ("role", rows(role="hero"), "rows[0].role is 'hero', not one of rung, choice"),
    ("no time", rows(ms=None), "rows[0] has neither a time (ms) nor a reason (failed)"),
    ("quartile", rows(low_ms=None), "rows[0] has a time without its quartiles"),
    ("zero", rows(ms=0), "rows[0] has a time without its quartiles (low_ms, high_ms), or 0 ms"),
    ("versions", changed(versions={"numba": 1}), "versions.numba is an integer (1), not text"),
]


@pytest.mark.parametrize(("found", "said"), [one[1:] for one in BAD], ids=[one[0] for one in BAD])
def test_bad_files(tmp_path, found, said):
    """Each fault is named by its place, with what is there and what should be."""
    path = tmp_path / "a.json"
    path.write_text(found if isinstance(found, str) else json.dumps(found))
    with pytest.raises(SmemnbError) as caught:
        load(path)
    assert said in str(caught.value)


def test_unreadable(tmp_path):
    """No file, a folder, bytes that are no text."""
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    for name, said in (
        ("none.json", "No such file"),
        ("", "Is a directory"),
        ("bytes.json", "it is not text"),
    ):
        with pytest.raises(SmemnbError, match=f"cannot be read: {said}"):
            load(tmp_path / name)


def test_integers_are_numbers(tmp_path):
    """A hand-written 2 is 2.0 where a number is asked for."""
    (tmp_path / "a.json").write_text(json.dumps(rows(ms=2)))
    assert load(tmp_path / "a.json").rows[0].ms == 2.0


def test_saving_at_once(tmp_path):
    """Results that cannot be written leave the old file whole, and no part of a new one."""
    path = tmp_path / "a.json"
    save(RESULTS, path)
    before = path.read_text()
    for row in (replace(RUNG, error=float("nan")), replace(RUNG, kernel=object())):
        with pytest.raises((TypeError, ValueError)):
            save(replace(RESULTS, rows=(row,)), path)
    assert path.read_text() == before
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]


def test_reserved_before_measuring(tmp_path):
    """A file that is there is not written over without --force; a missing folder is reported."""
    path = tmp_path / "a.json"
    store.reserve(path, force=False)
    assert path.exists()
    path.write_text("kept")
    with pytest.raises(SmemnbError, match="the file is there already; take another name"):
        store.reserve(path, force=False)
    store.reserve(path, force=True)
    assert path.read_text() == "kept"
    with pytest.raises(SmemnbError, match="cannot be written: No such file or directory"):
        store.reserve(tmp_path / "none" / "a.json", force=True)


def test_the_shipped_results():
    """Time, bound and limiter of the rungs, and of the choice at every shape of the plan.

    A rung may be newer than the file; the choice is not, and neither are all rungs of a ladder.
    """
    found = store.shipped()
    rows = {(row.case, row.name): row for row in found.rows}
    for case in plan(["transpose", "matmul"]):
        known = [name for name in case.rungs if (case.key, name) in rows]
        assert CHOICE in known
        assert len(known) > len(case.rungs) // 2
        for name in known:
            row = rows[case.key, name]
            assert row.right and row.ms and row.bound_ms and row.limiter, (case, name)
    assert found.finished and found.overheads


def test_rates():
    """Bytes read and written; two operations per multiply-add; measured over bound."""
    assert RUNG.rate == 2 * 40 * 35 * 4 / 2e-3 / 1e9
    assert RUNG.over_bound == 1.25
    product = replace(FAILED, ms=0.5, low_ms=0.5, high_ms=0.5, failed=None)
    assert product.rate == pytest.approx(2 * 5 * 6 * 7 / 0.5e-3 / 1e12)
    assert (FAILED.rate, FAILED.over_bound) == (None, None)
