"""The ladders compiled without a GPU: no local memory, registers, widths, the main loop."""

import pytest

from smemnb.compiled.machine import nvdisasm, one_bank_reads
from smemnb.hardware import WARP_LANES, limits
from smemnb.kernels.matmul import ladder as products
from smemnb.kernels.transpose import ladder as transposes
from smemnb.simulator.seam import OUT_OF_TREE
from tests.kernels.machines import CCS, FLAGS, KERNELS, TILINGS, from_factory, machines_of, variant

pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.slow,
    pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing"),
]
by_cc = pytest.mark.parametrize("cc", CCS, ids=lambda cc: f"{cc[0]}.{cc[1]}")
read = pytest.mark.skipif(nvdisasm() is None, reason="nvdisasm is not installed")
REGISTERS, GRANULE = 65_536, 8
WIDE_ACCESSES = ("LDG.128", "STG.128", "LDS.128", "STS.128")
ACCESSES = ("LDG", "STG", "LDS", "STS")


@by_cc
@pytest.mark.parametrize("name", KERNELS)
def test_fits(machines, name, cc):
    """Nothing in local memory; as many blocks as promised have registers on a multiprocessor.

    Where it has no threads for so many, the compiler drops the promise: there at least half of its
    threads have registers.
    """
    made, built = machines(name, cc), KERNELS[name]
    assert made.used.local_bytes == 0
    assert made.counts("LDL", "STL") == {"LDL": 0, "STL": 0}
    registers = -(-made.used.registers // GRANULE) * GRANULE
    threads, most = built.threads * built.resident, limits(cc).warps_per_sm * WARP_LANES
    assert registers * (threads if threads <= most else most // 2) <= REGISTERS


def test_every_rung_is_compiled():
    """No rung of a ladder is left out, nor a kernel that `fastest` may choose."""
    rungs = {rung.name for rung in (*transposes.LADDER, *products.LADDER)}
    assert rungs <= set(KERNELS)
    made = {id(built.kernel) for built in KERNELS.values()}
    for tiling in (products.VARIED, products.SMALL):
        for flags in FLAGS:
            assert id(products.kernel_of(tiling, *flags)) in made


SHARED = {
    "transpose_naive": 0,
    "transpose_gathered": 0,
    "transpose_tiled": 32 * 32 * 4,
    "transpose_padded": 32 * 33 * 4,
    "transpose_swizzled": 32 * 32 * 4,
    "transpose_unsigned": 32 * 33 * 4,
    "transpose_turned": 64 * 65 * 4,
    "transpose_fastest": 64 * 64 * 4,
    "transpose_fastest-uint8": 128 * 128,
    "transpose_turned-uint8": 64 * 68,
    "transpose_turned-uint16": 64 * 66 * 2,
    "transpose_pairs": 16 * 16 * 16,
    "matmul_naive": 0,
    "matmul_tiled": 2 * 16 * 16 * 4,
    "matmul_tiled_32": 2 * 32 * 32 * 4,
    "matmul_8x8": 2 * 128 * 8 * 4,
    "matmul_turned_padded": (128 + 132) * 8 * 4,
    "matmul_wide": (128 + 132) * 8 * 4,
    "matmul_fastest": 2 * (128 + 132) * 8 * 4,
    "small-exact-ab": 2 * (64 + 68) * 8 * 4,
    "matmul_sliced": 4 * 2 * (64 + 68) * 8 * 4,
    "shared-exact-ab": 2 * (128 + 132) * 8 * 4 + 5 * 4 + 6 * 4,
    "transpose_shifted-float32": (32 + 8) * 512,
    "transpose_shifted-uint8": (128 + 32) * 256,
    "transpose_shifted-uint64": (32 + 4) * 512,
}


@by_cc
@pytest.mark.parametrize("name", SHARED)
def test_shared_bytes(machines, name, cc):
    """The tiles with their pads, and nothing else."""
    assert machines(name, cc).used.shared_bytes == SHARED[name]


PER_THREAD = {  # elements that a thread moves, each by an access of its own
    "transpose_tiled": 1,
    "transpose_padded": 1,
    "transpose_swizzled": 1,
    "transpose_unsigned": 4,
    "transpose_tiled_64": 8,
    "transpose_turned": 8,
    "transpose_turned-uint8": 8,
    "transpose_turned-uint16": 8,
    "transpose_turned-uint64": 8,
}


@read
@by_cc
@pytest.mark.parametrize("name", PER_THREAD)
def test_accesses_of_narrow_transposes(machines, name, cc):
    """One load and one store on either side per element, none of them wide."""
    made = machines(name, cc)
    assert made.counts(*ACCESSES) == dict.fromkeys(ACCESSES, PER_THREAD[name])
    assert made.counts(*WIDE_ACCESSES) == dict.fromkeys(WIDE_ACCESSES, 0)


@read
@by_cc
@pytest.mark.parametrize(
    ("name", "wide"),
    [
        ("copy_wide", (1, 1, 0, 0)),
        ("transpose_wide", (2, 2, 0, 2)),
        ("transpose_fastest", (2, 2, 0, 2)),
        ("transpose_fastest-uint8", (2, 2, 0, 2)),
        ("transpose_fastest-uint16", (2, 2, 0, 2)),
        ("transpose_fastest-uint64", (2, 2, 0, 2)),
        ("transpose_pairs", (2, 2, 2, 2)),
    ],
)
def test_accesses_of_wide_transposes(machines, name, wide, cc):
    """A tile of 16 KB, 512 threads: 2 chunks each, by 16 bytes but for the reads of columns."""
    assert machines(name, cc).counts(*WIDE_ACCESSES) == dict(zip(WIDE_ACCESSES, wide, strict=True))


@read
@by_cc
@pytest.mark.parametrize("name", ["transpose_turned", "transpose_fastest"])
def test_variant_of_a_rung(name, cc):
    """What the factory makes for float32 is the rung: registers and instructions by name."""
    variant_name = f"{name}-float32"
    found = machines_of({name: [cc], variant_name: [cc]})
    flat, made = found[name, cc], found[variant_name, cc]
    names = {one.name for machine in (flat, made) for one in machine.code if one.name != "NOP"}
    assert flat.used.registers == made.used.registers
    assert flat.counts(*names) == made.counts(*names)


FLOORS = {  # per cent of the main loop that are FFMA
    "matmul_scattered": 2,
    "matmul_naive": 2,
    "matmul_tiled": 16,
    "matmul_tiled_32": 23,
    "matmul_column": 20,
    "matmul_square": 38,
    "matmul_8x8": 50,
    "matmul_turned": 40,
    "matmul_turned_padded": 66,
    "matmul_unguarded": 59,
    "matmul_two_blocks": 58,
    "matmul_laid_out": 71,
    "matmul_unsigned": 75,
    "matmul_by_quads": 81,
    "matmul_primed": 87,
    "matmul_wide": 90,
    "matmul_prefetched": 89,
    "matmul_warped": 88,
    "matmul_tall": 91,
    "matmul_snaking": 91,
    "matmul_overlapped": 91,
    "matmul_fastest": 91,
    "shared-exact-ab": 90,
    "shared-ragged-ab": 90,
    "shared-ragged-a": 88,
    "shared-ragged-b": 88,
    "shared-ragged-none": 87,
    "fastest-ragged-ab": 91,
    "fastest-ragged-a": 89,
    "fastest-ragged-b": 89,
    "fastest-ragged-none": 88,
    "small-exact-ab": 87,
    "small-ragged-ab": 85,
    "small-ragged-a": 83,
    "small-ragged-b": 83,
    "small-ragged-none": 80,  # 512 of 633 for cc 8.0
    "matmul_sliced": 85,
}


@read
@by_cc
@pytest.mark.parametrize("name", FLOORS)
def test_share_of_products(machines, name, cc):
    """At least so much of the main loop multiplies and adds; the rest is what each rung saves."""
    loop = machines(name, cc).loop
    assert machines(name, cc).counts("FFMA", loop=True)["FFMA"] * 100 >= FLOORS[name] * len(loop)


def test_every_product_has_a_floor():
    """So that a new rung says what its loop is made of; factories of rungs are held to these."""
    own = {name for name in KERNELS if not name.startswith(("transpose", "copy"))}
    assert set(FLOORS) == own - {from_factory(name) for name in products.TILINGS}


LOADS_AND_PRODUCTS = {  # per turn of the loop as written: loads, products
    "matmul_scattered": ("LDG", 2, 1),
    "matmul_naive": ("LDG", 2, 1),
    "matmul_column": ("LDS", 9, 8),
    "matmul_square": ("LDS", 8, 16),
    "matmul_8x8": ("LDS", 16, 64),
    "matmul_turned": ("LDS", 16, 64),
}


@read
@by_cc
@pytest.mark.parametrize("name", LOADS_AND_PRODUCTS)
def test_loads_of_narrow_products(machines, name, cc):
    """Loads for each FFMA, as the ladder tells: the compiler neither merges nor drops any."""
    load, loads, products_each = LOADS_AND_PRODUCTS[name]
    found = machines(name, cc).counts(load, "FFMA", loop=True)
    assert found[load] * products_each == found["FFMA"] * loads > 0


@read
@by_cc
@pytest.mark.parametrize(("name", "edge"), [("matmul_tiled", 16), ("matmul_tiled_32", 32)])
def test_reads_of_tiles_are_merged(machines, name, edge, cc):
    """The compiler reads four neighbours of the row of a at once: edge / 4 + edge reads."""
    found = machines(name, cc).counts("LDS.128", "LDS", "FFMA", loop=True)
    assert found == {"LDS.128": edge // 4, "LDS": edge // 4 + edge, "FFMA": edge}


@read
@by_cc
@pytest.mark.parametrize("name", ["matmul_wide", "matmul_prefetched", "matmul_warped"])
def test_main_loops_of_8x8(machines, name, cc):
    """8 steps of 8 x 8 FFMA and 4 reads of 16 bytes; one quad of each tile is loaded and stored."""
    found = machines(name, cc).counts("FFMA", "LDS.128", "LDS", "LDG.128", "LDG", loop=True)
    assert found == {"FFMA": 512, "LDS.128": 32, "LDS": 32, "LDG.128": 2, "LDG": 2}
    stores = machines(name, cc).counts("STS.128", "STS", loop=True)
    assert stores == {"STS.128": 1, "STS": 1 + 4}  # b by 16 bytes, a turned


@read
@by_cc
@pytest.mark.parametrize("name", [name for name in FLOORS if FLOORS[name] > 80 and "-" in name])
def test_main_loops_of_the_choices(machines, name, cc):
    """8 steps; four quads are loaded and stored, where rows are not aligned as 16 elements."""
    what, _, aligned = name.split("-")
    tall, wide = TILINGS[what].thread
    by_quads, by_elements = len(aligned) if aligned != "none" else 0, 2 * 4
    found = machines(name, cc).counts("FFMA", "LDS.128", "LDS", "LDG.128", "LDG", loop=True)
    assert found == {
        "FFMA": 8 * tall * wide,
        "LDS.128": 8 * (tall + wide) // 4,
        "LDS": 8 * (tall + wide) // 4,
        "LDG.128": 2 * by_quads,
        "LDG": 2 * by_quads + by_elements * (2 - by_quads),
    }
    stores = machines(name, cc).counts("STS.128", "STS", loop=True)
    wide_stores = 2 * ("b" in aligned)
    assert stores == {"STS.128": wide_stores, "STS": 8 + (2 if wide_stores else 8)}


@read
@by_cc
@pytest.mark.parametrize(
    "name", ["matmul_fastest", *(variant("shared", *FLAGS[at]) for at in (0, -1))]
)
def test_banks_of_the_fastest(machines, name, cc):
    """Few FFMA wait for a bank of registers; on cc 9.0 none."""
    assert one_bank_reads(machines(name, cc).loop) <= (0 if cc == (9, 0) else 20)
