import re
import sysconfig
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from smemnb import hardware
from smemnb.hardware import CHIPS, FP32_LANES, FP64_RATIO, LIMITS, chip, limits

KB = 1024


@pytest.mark.parametrize(
    "name, value",
    [
        ("WARP_LANES", 32),
        ("BANKS", 32),
        ("WORD_BYTES", 4),
        ("WAVEFRONT_BYTES", 128),
        ("SECTOR_BYTES", 32),
        ("LINE_BYTES", 128),
    ],
)
def test_constants(name, value):
    assert getattr(hardware, name) == value


@pytest.mark.parametrize(
    "cc, pool, per_sm, optin, threads, warps, blocks",
    [
        ((7, 0), 128, 96, 96, 2048, 64, 32),
        ((7, 5), 96, 64, 64, 1024, 32, 16),
        ((8, 0), 192, 164, 163, 2048, 64, 32),
        ((8, 6), 128, 100, 99, 1536, 48, 16),
        ((8, 9), 128, 100, 99, 1536, 48, 24),
        ((9, 0), 256, 228, 227, 2048, 64, 32),
        ((10, 0), 256, 228, 227, 2048, 64, 32),
        ((12, 0), 128, 100, 99, 1536, 48, 24),
    ],
)
def test_table(cc, pool, per_sm, optin, threads, warps, blocks):
    row = limits(cc)
    assert row.cc == cc
    assert row.l1_and_shared_per_sm == pool * KB
    assert row.shared_per_sm == per_sm * KB
    assert row.shared_per_block_optin == optin * KB
    assert (row.threads_per_sm, row.warps_per_sm, row.blocks_per_sm) == (threads, warps, blocks)
    assert row.registers_per_sm == 65536
    assert row.shared_per_block == 48 * KB


@pytest.mark.parametrize("cc", LIMITS)
def test_what_all_chips_share(cc):
    """Block and grid limits did not change since cc 7.0."""
    row = limits(cc)
    assert row.threads_per_block == 1024
    assert row.block_dim == (1024, 1024, 64)
    assert row.grid_dim == (2147483647, 65535, 65535)
    assert row.registers_per_thread == 255


def test_reserved_since_8_0():
    """The system takes 1 KB of each block's shared memory from cc 8.0 on."""
    reserved = {cc: row.shared_reserved_per_block for cc, row in LIMITS.items()}
    assert reserved == {cc: 1024 if cc >= (8, 0) else 0 for cc in LIMITS}


@pytest.mark.parametrize(
    "cc, steps_kb",
    [
        ((7, 5), (32, 64)),
        ((8, 0), (0, 8, 16, 32, 64, 100, 132, 164)),
        ((8, 6), (0, 8, 16, 32, 64, 100)),
        ((9, 0), (0, 8, 16, 32, 64, 100, 132, 164, 196, 228)),
    ],
)
def test_carveouts(cc, steps_kb):
    """28 KB is not a step, whatever has been printed."""
    assert limits(cc).carveouts == tuple(step * KB for step in steps_kb)


@pytest.mark.parametrize("spelling", [(9, 0), "9.0", 9.0, [9, 0]])
def test_spellings(spelling):
    assert limits(spelling).cc == (9, 0)


@pytest.mark.parametrize("unknown", [(6, 1), (9, 9), "nine", 9, None, (9,), (9, 0, 0), ""])
def test_unknown_is_refused(unknown):
    """The refusal names what is known."""
    with pytest.raises(
        ValueError, match=r"known: 7\.0, 7\.5, 8\.0, 8\.6, 8\.9, 9\.0, 10\.0, 12\.0"
    ):
        limits(unknown)


def test_frozen():
    with pytest.raises(FrozenInstanceError):
        limits((9, 0)).blocks_per_sm = 33


@pytest.mark.parametrize(
    "name, tflop_per_s, gb_per_s, l2_mb",
    [
        ("H200", 67, 4800, 60),
        ("H100 SXM", 67, 3350, 50),
        ("A100 40GB", 19.5, 1555, 40),
        ("A100 80GB", 19.5, 2039, 40),
        ("V100", 15.7, 900, 6),
        ("T4", 8.1, 320, 4),
        ("L4", 30.3, 300, 48),
        ("RTX 3090", 35.6, 936, 6),
        ("RTX 4090", 82.6, 1008, 72),
        ("RTX 5090", 104.8, 1792, 96),
    ],
)
def test_chips_have_their_published_rates(name, tflop_per_s, gb_per_s, l2_mb):
    """SMs, lanes and clock multiply to the data sheet's FP32 rate, as it is rounded there."""
    one = CHIPS[name]
    digits = 0 if tflop_per_s == int(tflop_per_s) else 1
    assert round(one.flop_per_s / 1e12, digits) == tflop_per_s
    assert one.dram_bytes_per_s == gb_per_s * 1e9
    assert one.l2_bytes == l2_mb * KB * KB
    assert one.source
    assert one.dram_reached is None or one.dram_reached < one.dram_bytes_per_s


@pytest.mark.parametrize(
    "name, bus_bits, reported_mhz",
    [
        ("A100 40GB", 5120, 1215),
        ("A100 80GB", 5120, 1593),
        ("V100", 4096, 877),
        ("T4", 256, 5001),
        ("RTX 3090", 384, 9751),
        ("RTX 4090", 384, 10501),
    ],
)
def test_memory_clocks(name, bus_bits, reported_mhz):
    """Worked out from rate and width, the clock is what boards report, to a few per mille."""
    one = CHIPS[name]
    assert one.bus_bits == bus_bits
    assert one.memory_mhz == pytest.approx(reported_mhz, rel=3e-3)


def test_every_architecture_has_lanes():
    assert FP32_LANES.keys() == LIMITS.keys() == FP64_RATIO.keys()


@pytest.mark.parametrize(
    "said, name",
    [
        ("NVIDIA H200", "H200"),
        ("h200", "H200"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA A100-SXM4-40GB", "A100 40GB"),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB"),
        ("Tesla T4", "T4"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA GeForce RTX 3090", "RTX 3090"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
    ],
)
def test_chips_by_the_name_of_a_device(said, name):
    assert chip(said).name == name


@pytest.mark.parametrize(
    "said",
    [
        "",
        "NVIDIA L40",
        "NVIDIA H100 PCIe",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "A100",
        "H200 NVL",
    ],
)
def test_other_chips_are_not_guessed(said):
    with pytest.raises(ValueError, match=r"known: H200, H100 SXM, A100 40GB.* hardware\.Chip\("):
        chip(said)


def nvidia_header(name):
    """A header of an installed CUDA toolkit, or None."""
    include = Path(sysconfig.get_path("purelib")) / "nvidia"
    return next(iter(sorted(include.glob(f"**/{name}"))), None)


@pytest.mark.toolchain
@pytest.mark.parametrize("cc", LIMITS)
def test_equals_nvidias_own_table(cc):
    """CCCL's `arch_traits.h` has the same numbers."""
    header = nvidia_header("arch_traits.h")
    if header is None:
        pytest.skip("no CUDA toolkit wheels here: pip install 'smemnb[cu13]'")
    body = header.read_text().split(f"arch_id::sm_{cc[0]}{cc[1]}>() noexcept", 1)[1]
    body = body.split("return __traits", 1)[0]

    def value(field):
        text = re.search(rf"max_{field}\s*=\s*([\d* ]+);", body).group(1)
        product = 1
        for factor in text.split("*"):
            product *= int(factor)
        return product

    row = limits(cc)
    assert value("shared_memory_per_multiprocessor") == row.shared_per_sm
    assert value("blocks_per_multiprocessor") == row.blocks_per_sm
    assert value("threads_per_multiprocessor") == row.threads_per_sm
