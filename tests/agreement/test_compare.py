"""Counters beside both views: what is compared, what differs, and the cause that is reported."""

import dataclasses

import pytest

from smemnb.laboratory.agreement import _added
from smemnb.laboratory.corpus import CASES
from smemnb.measure.verify.compare import Patched, causes, compared
from smemnb.measure.verify.ncu.counters import COMPARED, COUNTS, METRICS, TABLED
from smemnb.measure.verify.ncu.pages import Instruction, listings
from smemnb.measure.verify.predicted import counts, traced
from smemnb.measure.verify.recording import Measured, Recorded, Recording, read_text, summed, text
from smemnb.measure.verify.report import launch, whole
from tests.agreement import samples
from tests.facts import facts, table

BY_NAME = {case.name: case for case in CASES}
TWO_WARPS = BY_NAME["product_tiled 32 x 32 x 32"]
NOTHING = dict.fromkeys(COUNTS, 0)


def read(**counters):
    """What a profiler read: zeros but for these."""
    return Recorded(
        dict.fromkeys(METRICS | TABLED, 0) | counters, compiled=dict.fromkeys(COMPARED, 0)
    )


def test_equal():
    """Counts that are equal in both views; nothing differs."""
    found = read(shared_load_requests=4, shared_load_wavefronts_patched=8)
    found.compiled.update(shared_load_requests=4, shared_load_wavefronts=8)
    one = compared(TWO_WARPS, found, NOTHING | {"shared_load_requests": 4,
                                                "shared_load_wavefronts": 8})  # fmt: skip
    assert one.one_to_one
    assert (one.source_differs, one.compiled_differs) == ((), ())
    assert [row.count for row in one.rows] == [n for n in COMPARED if n != "shared_copy_wavefronts"]
    assert {row.count.split("_")[0] for row in one.rows if row.source is None} == {"local"}


def test_one_too_many_is_a_difference():
    """No tolerance: 32769 is not 32768, in either view."""
    found = read(shared_load_wavefronts_patched=32769)
    found.compiled.update(shared_load_wavefronts=32768)
    one = compared(TWO_WARPS, found, NOTHING | {"shared_load_wavefronts": 32768})
    assert one.one_to_one
    (row,) = one.source_differs
    assert (row.count, row.measured, row.source) == ("shared_load_wavefronts", 32769, 32768)
    assert row.metric == "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
    assert one.compiled_differs == (row,)


def test_merged_by_the_compiler():
    """32 loads that became 16 LDS and 4 LDS.128: the source differs, the machine code does not."""
    found = read(shared_load_requests=20, shared_load_wavefronts_patched=24)
    found.compiled.update(shared_load_requests=20, shared_load_wavefronts=24)
    source = NOTHING | {"shared_load_requests": 32, "shared_load_wavefronts": 32}
    found = dataclasses.replace(
        found,
        lines=(
            Measured("a.py", 50, "LDS", 16, 16, 512, 16, 0, 0),
            Measured("a.py", 50, "LDS.128", 4, 4, 128, 8, 0, 0),
        ),
    )
    one = compared(TWO_WARPS, found, source, {("a.py", 50): {"shared_load_requests": 32}})
    assert not one.one_to_one
    assert one.compiled_differs == ()
    assert one.causes == (
        "a.py:50: 32 shared loads in the source, executed as 16 LDS, 4 LDS.128: merged",
    )


@pytest.mark.parametrize(
    ("asked", "done", "said"),
    [
        (7, [], "nothing: kept in registers or moved to another line"),
        (8, [("LDS", 1, 2)], "2 LDS: kept in registers or moved to another line"),
        (2, [("LDS", 2, 4)], "4 LDS: in parts"),
        (1, [("LDS", 1, 6)], "6 LDS: by warps with all lanes off, or lanes of a warp apart"),
    ],
)
def test_causes(asked, done, said):
    """What became of the loads of a line, by how many instructions there are and were executed."""
    rows = tuple(Measured("a.py", 3, name, n, ran, 32, 0, 0, 0) for name, n, ran in done)
    wanted = {"shared_load_requests": asked, "shared_load_lanes": 32 if asked == 1 else 64}
    (one,) = causes({("a.py", 3): wanted}, rows)
    plural = "s" if asked > 1 else ""
    assert facts(one) == facts(f"a.py 3 {asked} {plural} {said}")


def test_as_many_with_other_lanes():
    """As many instructions, other sectors: a cause where that count differs, and only there."""
    rows = (Measured("a.py", 3, "LDG.E", 5, 34, 1024, 0, 80, 170),)
    wanted = {"global_load_requests": 34, "global_load_sectors": 156, "global_load_lanes": 1024}
    (one,) = causes({("a.py", 3): wanted}, rows, {"global_load_sectors"})
    assert facts(one) == facts("a.py 3 34 156 170 5")
    assert causes({("a.py", 3): wanted}, rows, {"global_store_sectors"}) == ()
    assert causes({("a.py", 3): wanted | {"global_load_sectors": 170}}, rows) == ()


def test_copies_are_told_apart():
    """As many requests from several copies of a loop's body are a line of their own."""
    rows = (Measured("a.py", 3, "LDS", 5, 4, 128, 4, 0, 0),)
    found = dataclasses.replace(read(), lines=rows)
    one = compared(TWO_WARPS, found, NOTHING)
    assert (one.as_many, one.unrolled, one.one_to_one) == (True, True, False)
    said = whole([one], {}).splitlines()
    assert said[2:4] == [
        "source, one instruction per access: 0 of 0",
        "source, loops in several copies, as many requests: 1 of 1",
    ]


def test_patched_counter_beside_the_hardware():
    """Of one warp the hardware's counter is compared, and both are shown where they differ."""
    counters = {"shared_load_wavefronts_patched": 8, "shared_load_wavefronts_hardware": 4}
    found = read(**counters)
    found.compiled.update(shared_load_wavefronts=4)
    one = compared(BY_NAME["load16_at fours"], found, NOTHING | {"shared_load_wavefronts": 4})
    assert (one.compiled_differs, one.source_differs) == ((), ())
    assert one.patched == (Patched("shared_load_wavefronts", 8, 4, 4),)
    assert "shared_load_wavefronts 8 patched, 4 hardware, 4 model" in whole([one], {})
    assert compared(TWO_WARPS, read(**counters), NOTHING).patched == ()  # arbitration


def test_retry_loops_are_left_out():
    """Of a float atomic nothing in shared memory is compared; its global accesses are."""
    case = BY_NAME["atomic_add_float 8 addresses"]
    one = compared(case, read(shared_atomic_requests=99, global_load_requests=2), NOTHING)
    assert one.excluded.startswith("float atomic")
    assert {row.count.split("_")[0] for row in one.rows} == {"global", "local"}
    assert [row.count for row in one.source_differs] == ["global_load_requests"]


def test_excluded_by_name():
    """The cases with retries are these and no others."""
    assert [case.name for case in CASES if case.retries] == ["atomic_add_float 8 addresses"]


def test_summed_by_line_and_name():
    """Instructions that touch no memory are left out, guards are not names."""
    (first, second) = listings(samples.SOURCE)
    places = [("a.py", 1), ("a.py", 7), ("a.py", 8)]
    assert summed(first.instructions, places) == (
        Measured("a.py", 7, "LDG.E", 1, 256, 8000, 0, 250, 1000),
        Measured("a.py", 8, "LDS", 1, 256, 8192, 8192, 0, 0),
    )
    twice = (*second.instructions, Instruction(1, "ATOMS.ADD RZ, [R6], R5", 2, 40, 6, 0, 0))
    assert summed(twice) == (Measured("", 0, "ATOMS.ADD", 2, 3, 72, 10, 0, 0),)


def test_file_goes_there_and_back():
    """What is written is what is read."""
    lines = (Measured("a.py", 3, "LDS", 1, 2, 64, 4, 0, 0),)
    cases = {"x": dataclasses.replace(read(), lines=lines, code="ab"), "y": Recorded({"a": 1})}
    found = Recording({"gpu": "NVIDIA H200"}, cases, {"z": "failed"})
    again = read_text(text(found))
    assert again.cases == cases
    assert (again.missing, again.origin["gpu"]) == ({"z": "failed"}, "NVIDIA H200")
    assert read_text(text(Recording({}, cases, {}))).missing == {}


def test_report():
    """Summary, differences with causes, exclusions, what is missing, and the counters used."""
    wrong = read(shared_load_requests=5)
    one = compared(TWO_WARPS, wrong, NOTHING, {("a.py", 2): {"shared_load_requests": 5}})
    other = compared(BY_NAME["atomic_add_float 8 addresses"], read(), NOTHING)
    said = whole([one, other], {"z": "the kernel failed"})
    assert [facts(line) for line in said.splitlines()[:5]] == [
        facts("2 35"),  # of the excluded case none of shared memory
        facts("1 2"),  # as compiled
        facts("1 2"),  # source, one instruction per access
        facts("0 0"),  # source, loops in several copies
        facts("product_tiled 32 32 32 shared_load_requests 5 0"),
    ]
    assert "not read: z: the kernel failed" in said
    assert "not compared in shared memory: atomic_add_float 8 addresses (float atomic" in said
    assert "shared_load_requests       smsp__inst_executed_op_shared_ld.sum" in said
    rows = table(launch(one))
    assert ["shared_load_requests", "5", "0", "0"] in [row[:4] for row in rows]
    assert "the source view differs" in launch(one)


def test_added_to_an_older_file():
    """Cases that were read again count as read last; the others stay, in the order of the set."""
    first, second, third = (case.name for case in CASES[:3])
    runs = {"runs": [{"cases": 2}]}
    before = Recording({"gpu": "a", **runs}, {first: read(), third: read()}, {second: "failed"})
    after = Recording({"gpu": "b", **runs}, {second: read(), third: Recorded({"x": 1})}, {})
    found = _added(before, after)
    assert list(found.cases) == [first, second, third]
    assert found.cases[third] == Recorded({"x": 1})
    assert (found.missing, found.origin["gpu"], len(found.origin["runs"])) == ({}, "b", 2)


def test_counted_with_others():
    """What copies read is among loads of global memory, wavefronts of LDSM among those of loads."""
    source = counts(traced(BY_NAME["copy16_at half are zeros"]))
    assert (source["global_load_requests"], source["global_load_sectors"]) == (4 + 1, 16 + 8)
    source = counts(traced(BY_NAME["ldmatrix_x4 rows 144 bytes apart"]))
    assert (source["shared_ldmatrix_requests"], source["shared_load_requests"]) == (1, 0)
    assert source["shared_load_wavefronts"] == 4
    source = counts(traced(BY_NAME["stmatrix_x4 rows 144 bytes apart"]))
    assert (source["shared_stmatrix_requests"], source["shared_store_requests"]) == (1, 128)
    assert source["shared_store_wavefronts"] == 128 + 4
