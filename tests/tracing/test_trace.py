"""The report of hand-made counts: rows, totals, text, HTML, JSON, and odd launches."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from smemnb.errors import SmemnbError
from smemnb.tracing import GlobalTotals, SharedTotals, Trace, WorstRequest
from smemnb.tracing.model import place
from smemnb.tracing.report.text import costliest_line
from tests.tracing.records import (
    COUNTS,
    FIRST,
    INP,
    INP_LOAD,
    LOAD,
    OUT,
    STORE,
    TILE,
    TILE_STORE,
    array,
    on_global,
    on_shared,
    race,
    seen,
    site,
    turned,
)

TABLE = f"""\
turn[2, (32, 32)]: 2 blocks of 1,024 threads, 4,096 shared bytes each (model)
line  source, access        requests   wavefronts  n-way  extra   sectors  each  extra
      shared memory              128        2,112     32  1,984
      global memory              128                                  512   4.0      0
  {STORE}  tile[ty, tx] = inp[ty, tx]
        store tile[ty, tx]        64           64      1      0
        load inp[ty, tx]          64                                  256   4.0      0
  {LOAD}  out[ty, tx] = tile[tx, ty]
        store out[ty, tx]         64                                  256   4.0      0
        load tile[tx, ty]         64        2,048     32  1,984
"""


def test_lines():
    """One row per access, by line and column; two accesses of one line stay apart."""
    rows = [(row.line, row.access, row.space, row.requests) for row in turned().lines]
    assert rows == [
        (STORE, "store tile[ty, tx]", "shared", 64),
        (STORE, "load inp[ty, tx]", "global", 64),
        (LOAD, "store out[ty, tx]", "global", 64),
        (LOAD, "load tile[tx, ty]", "shared", 64),
    ]


def test_line():
    """The rows of one line, with the line as written and the dtype."""
    store, load = turned().line(LOAD)
    assert (store.text, load.text) == ("out[ty, tx]", "tile[tx, ty]")
    assert load.source == "out[ty, tx] = tile[tx, ty]"
    assert (load.ways, load.wavefronts, load.ideal, load.extra) == (32, 2048, 64, 1984)
    assert (load.array, load.dtype, load.width, load.function) == ("tile", "float32", 4, "turn")
    assert turned().line(FIRST) == ()


def test_shared():
    """Totals of shared memory; ways is the worst, not a sum."""
    assert turned().shared == SharedTotals(128, 4096, 2112, 128, 1984, 32, 0)


def test_global():
    """Totals of global memory; extra sectors are what the bytes do not need."""
    counts = (on_global(INP_LOAD, INP, sectors=300, ideal=256),)
    totals = turned(counts=counts).global_
    assert totals == GlobalTotals(64, 2048, 300, 256)
    assert totals.extra_sectors == 44


def test_races():
    """All kinds of race and nothing else."""
    flag = site(FIRST, "flag[0]", "store")
    same = race("race_same_value", first=flag, then=flag)
    findings = [race(), race("race_in_warp"), seen("stale"), same]
    kinds = [found.kind for found in turned(findings).races]
    assert kinds == ["race", "race_in_warp", "race_same_value"]  # errors come first


@pytest.mark.parametrize(
    ("kind", "ok"), [("race", False), ("race_in_warp", True), ("race_same_value", True)]
)
def test_ok(kind, ok):
    """Only errors make a trace not ok; extra wavefronts never do."""
    assert turned().ok is True
    assert turned([race(kind)]).ok is ok


def test_ok_of_an_unchecked_launch():
    """Nobody looked, so nobody can say."""
    with pytest.raises(SmemnbError, match="checks=True"):
        _ = turned(None).ok


def test_bank_map():
    """The worst request of a line: a column of the tile, all in bank 0."""
    worst = turned().bank_map(LOAD)
    assert worst.address == tuple(range(0, 4096, 128))
    assert (worst.width, worst.kind, worst.block, worst.warp) == (4, "load", (1, 0, 0), 3)
    assert worst.banks == (0,) * 32
    assert worst.words == (32,) + (0,) * 31
    assert (worst.ways, worst.wavefronts) == (32, 32)
    assert repr(worst) == (
        f"line {LOAD}, load tile[tx, ty]: block (1, 0, 0), warp 3: 32-way, 32 wavefronts (model)\n"
        "distinct words per bank: 32 in bank 0"
    )


def test_bank_map_of_some_lanes():
    """Inactive lanes have no bank and ask for no word; stride 2 keeps to the even banks."""
    half = WorstRequest(tuple(lane * 8 for lane in range(32)), (True, False) * 16, (0, 0, 0), 0)
    where = site(LOAD, "tile[0, 2 * tx]", "load")
    worst = turned(counts=(on_shared(where, TILE, 1, worst=half),)).bank_map(LOAD)
    assert worst.banks[:6] == (0, None, 4, None, 8, None)
    assert worst.words == (2, 0, 0, 0) * 8
    assert repr(worst).endswith("2 in banks 0, 4, ..., 28")


def test_bank_map_takes_the_worst():
    """Of several requests of a line, the one with the highest n-way, or that of the array asked."""
    other = site(LOAD, "edge[tx]", "load", column=40)
    row = WorstRequest(tuple(range(0, 128, 4)), (True,) * 32, (0, 0, 0), 0)
    edge = on_shared(other, array("edge", "shared"), 1, worst=row)
    for counts in ((*COUNTS, edge), (edge, *COUNTS)):
        assert turned(counts=counts).bank_map(LOAD).access == "load tile[tx, ty]"
        assert turned(counts=counts).bank_map(LOAD, "edge").ways == 1


def test_bank_map_of_a_line_without_shared_memory():
    """The refusal says which lines have a map."""
    with pytest.raises(SmemnbError, match=f"line {FIRST} of turn .* lines that do: {LOAD}$"):
        turned().bank_map(FIRST)
    with pytest.raises(SmemnbError, match=r"request on inp; lines that do: none$"):
        turned().bank_map(LOAD, array="inp")


def test_json():
    """A trace comes back whole, and the text is the same each time."""
    trace = turned([race(), seen("stale")])
    assert Trace.from_json(trace.to_json()) == trace
    assert turned([seen("stale"), race()]).to_json() == trace.to_json()
    stored = json.loads(trace.to_json())
    assert (stored["schema"], stored["numbers"]) == ("smemnb.trace/1", "model")
    assert stored["shared"]["extra"] == 1984
    assert stored["global"]["sectors"] == 512
    assert str(Path(__file__).parent) not in trace.to_json()


@pytest.mark.parametrize(
    "stored", ["", "[]", "3", "{}", '{"schema": "smemnb.trace/0"}', '{"schema": "smemnb.trace/1"}']
)
def test_json_of_something_else(stored):
    """What is no trace of this schema is refused by the schema's name."""
    with pytest.raises(SmemnbError, match=r"smemnb\.trace/1"):
        Trace.from_json(stored)


def test_json_of_another_version():
    """A later schema is named, not misread."""
    with pytest.raises(SmemnbError, match=r"schema 'smemnb\.trace/2' is not 'smemnb\.trace/1'"):
        Trace.from_json(turned().to_json().replace("smemnb.trace/1", "smemnb.trace/2"))


def test_text():
    """The golden text: launch, totals, every access under its line, no finding."""
    last = (
        "findings: none\nFindings are about correctness; the costliest line is "
        f"line {LOAD} (32-way, 1,984 extra wavefronts)."
    )
    assert repr(turned()) == TABLE + last


def test_text_of_a_finding():
    """A finding follows the table, wrapped, with block, count and cure."""
    trace = turned([race()])
    head, found = repr(trace).split("findings: ")
    assert head == TABLE
    assert " ".join(found.split()) == (
        f"1 error error: {trace.findings[0].cause} First in block 1; 992 elements in all. "
        f"{trace.findings[0].cure} {costliest_line(trace)}"
    )


@pytest.mark.parametrize(
    ("grid", "count", "said"),
    [
        ((4, 2, 1), 5, "them. First in block (1, 0); 5 elements in all. Put"),
        ((4, 2, 1), 1, "them. In block (1, 0). Put"),
        ((1, 1, 1), 5, "them. 5 elements in all. Put"),
        ((1, 1, 1), 1, "them. Put"),
    ],
)
def test_text_of_how_much(grid, count, said):
    """How many cells, and which block where there are several."""
    text = repr(turned([race(count=count)], grid=grid))
    assert said in " ".join(text.split())


def test_text_stays_on_the_page():
    """At most 100 columns and ten findings, whatever the lengths and numbers."""
    long = site(STORE, "tile[" + "very_long_name + " * 20 + "0]", "load")
    counts = (*COUNTS, replace(on_shared(long, TILE, 32), requests=10**8, extra=10**8))
    trace = turned([race(index=(n, n)) for n in range(12)], counts=counts)
    lines = repr(trace).splitlines()
    assert max(map(len, lines)) <= 100
    assert [line[8:32] for line in lines if "very_long" in line] == ["load tile[very_long_... "]
    assert lines[-2] == "  and 2 more in .findings"


def test_text_of_one_access():
    """A line with one access takes one row."""
    single = site(STORE, "tile[ty, tx]", "store")
    lines = repr(turned(counts=(on_shared(single, TILE),))).splitlines()
    assert [line.split()[:2] for line in lines[2:]] == [
        ["shared", "memory"],
        [str(STORE), "tile[ty,"],
        ["findings:", "none"],
    ]


def test_text_of_one_memory():
    """The columns of a memory that is not touched are left out."""
    shared, global_ = turned(counts=COUNTS[1:3]), turned(counts=(COUNTS[0], COUNTS[3]))
    assert repr(shared).splitlines()[1].split()[3:] == [
        "requests",
        *"wavefronts n-way extra".split(),
    ]
    assert repr(global_).splitlines()[1].split()[3:] == ["requests", *"sectors each extra".split()]


def test_text_of_nothing():
    """A kernel without accesses, and watchers that were left out."""
    head = "turn[2, (32, 32)]: 2 blocks of 1,024 threads, 4,096 shared bytes each (model)\n"
    assert repr(turned(counts=())) == (
        f"{head}no shared or global memory was touched\nfindings: none"
    )
    assert repr(turned(None, counts=None)) == f"{head}findings: not checked"


def test_text_of_zero_requests():
    """An access that no lane made divides by nothing."""
    none = on_global(INP_LOAD, INP, requests=0, sectors=0, ideal=0)
    assert repr(turned(counts=(none,))).splitlines()[2].split() == [
        *(str(STORE), "tile[ty,", "tx]", "=", "inp[ty,", "tx]"),
        *("0", "0", "0.0", "0"),
    ]


def test_functions():
    """Lines of a device function come after the kernel's and carry its name."""
    first = site(STORE, "a[i]", "load", function="helper", file="<one>")
    second = site(STORE, "a[i]", "load", function="helper", file="<two>")
    trace = turned(counts=(on_shared(first, TILE), on_shared(second, TILE), *COUNTS))
    assert [row.function for row in trace.lines] == ["turn"] * 4 + ["helper", "helper (2)"]
    assert trace.line(STORE, "helper")[0].access == "load a[i] (tile)"
    assert f"helper (2):{STORE}  a[i]" in repr(trace)


def test_one_line_on_two_arrays():
    """An access that meets several arrays has a row for each, with the array's name."""
    both = site(STORE, "side[i]", "load")
    counts = (on_global(both, OUT), on_global(both, INP))
    assert [row.access for row in turned(counts=counts).lines] == [
        "load side[i] (inp)",
        "load side[i] (out)",
    ]


def test_wide_characters():
    """Columns stay aligned where a name takes two columns or a mark none."""
    wide = array("瓦", "shared")
    counts = (on_shared(site(10**6, "瓦[tx]", "load"), wide), on_shared(TILE_STORE, TILE))
    rows = repr(turned(counts=counts)).splitlines()[3:5]
    assert [len(row) + row.count("瓦") for row in rows] == [72, 72]


def test_launch():
    """The launch as it is written, with dynamic bytes only where it has some."""
    launch = turned(grid=(4, 2, 1), shared_bytes=(0, 512)).launch
    assert str(launch) == "turn[(4, 2), (32, 32), 0, 512]"
    assert (launch.blocks, launch.threads_per_block) == (8, 1024)


def test_place():
    """As many coordinates as the extent has, at least one."""
    assert place((0, 0, 2), (1, 1, 4)) == "(0, 0, 2)"
    assert place((0, 0, 0), (1, 1, 1)) == "0"


def test_text_of_a_retry_loop():
    """An atomic without a fixed count shows none, and says why; its call stands for its kind."""
    call = site(STORE, "cuda.atomic.add(tile, (ty, tx), v)", "atomic_retry")
    trace = turned(counts=(replace(on_shared(call, TILE), wavefronts=0, ideal=0, ways=0),))
    words = "        cuda.atomic.add(tile, (ty, tx), v)"
    assert repr(trace).splitlines()[3:6] == [
        f"  {STORE}  tile[ty, tx] = inp[ty, tx]",
        f"{words}        64            ?      ?      ?",
        "?: an atomic that is a retry loop has no fixed count of wavefronts; totals leave it out",
    ]
