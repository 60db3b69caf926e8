import random
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from smemnb.hardware import LIMITS, limits
from smemnb.rules.occupancy import occupancy, waves
from tests.facts import facts

KB = 1024

PUBLISHED = [
    # CUDA C++ Best Practices Guide, "Occupancy": 65,536 registers and 2048 threads of cc 7.0 leave
    # 32 registers per thread; 37 registers give 12 blocks of 128 threads (75 %) or 4 of 320 (63 %)
    ((7, 0), 256, 32, 0, 8, 64),
    ((7, 0), 128, 37, 0, 12, 48),
    ((7, 0), 320, 37, 0, 4, 40),
]


@pytest.mark.parametrize("cc, threads, registers, shared, blocks, warps", PUBLISHED)
def test_published_examples(cc, threads, registers, shared, blocks, warps):
    found = occupancy(cc, threads, registers, shared)
    assert (found.blocks, found.warps) == (blocks, warps)


@pytest.mark.parametrize(
    "cc, threads, registers, shared, blocks, limiters",
    [
        # 255 x 32 = 8160, up to 8192: 2 warps per partition, 8 per SM
        ((9, 0), 128, 255, 0, 2, ("registers",)),
        ((9, 0), 129, 255, 0, 1, ("registers",)),
        ((9, 0), 256, 255, 0, 1, ("registers",)),
        # 8 warps want 8 x 8192 = 65536, 9 count as 12: refused
        ((9, 0), 288, 255, 0, 0, ("registers",)),
        # 25 warps of 2560 are 64000, but they are checked as 28: 71680
        ((8, 0), 800, 80, 0, 0, ("registers",)),
        ((8, 0), 768, 80, 0, 1, ("registers",)),
        ((8, 0), 1024, 32, 0, 2, ("warps", "registers")),
        ((8, 0), 1024, 16, 0, 2, ("warps",)),
        ((8, 6), 1024, 16, 0, 1, ("warps",)),
        ((7, 5), 1024, 16, 0, 1, ("warps",)),
        ((8, 6), 32, 16, 0, 16, ("places",)),
        ((8, 9), 32, 16, 0, 24, ("places",)),
        ((9, 0), 1, 16, 0, 32, ("places",)),
        # 48 KB and 1 KB reserved: 49 into 164 and into 100
        ((8, 0), 64, 16, 48 * KB, 3, ("shared",)),
        ((8, 6), 64, 16, 48 * KB, 2, ("shared",)),
        # nothing is reserved on cc 7.5: 16 KB four times in 64 KB, one byte more three times
        ((7, 5), 64, 16, 16 * KB, 4, ("shared",)),
        ((7, 5), 64, 16, 16 * KB + 1, 3, ("shared",)),
        ((9, 0), 64, 16, 227 * KB, 1, ("shared",)),
        ((9, 0), 64, 16, 227 * KB + 1, 0, ("shared",)),
    ],
)
def test_by_hand(cc, threads, registers, shared, blocks, limiters):
    found = occupancy(cc, threads, registers, shared)
    assert (found.blocks, found.limiters) == (blocks, limiters)


@pytest.mark.parametrize(
    "cc, asked, per_block",
    [
        ((7, 0), 1, 256),
        ((7, 0), 257, 512),
        ((7, 5), 0, 0),
        ((8, 0), 0, 1024),
        ((8, 0), 1, 1152),
        ((9, 0), 128, 1152),
        ((9, 0), 129, 1280),
    ],
)
def test_shared_comes_in_pieces(cc, asked, per_block):
    """256 bytes on cc 7.x; 128 bytes and the reserved 1 KB from 8.0 on."""
    assert occupancy(cc, 32, 16, asked).shared_per_block == per_block


@pytest.mark.parametrize(
    "cc, threads, shared, carveout_kb, blocks, needed_kb",
    [
        ((8, 0), 256, 31 * KB, None, 5, 164),
        ((8, 0), 256, 31 * KB, 100, 3, 100),
        ((8, 0), 256, 31 * KB, 96, 3, 100),  # the next size there is
        ((8, 0), 256, 31 * KB, 0, 1, 32),  # no less than one block needs
        ((9, 0), 1024, 0, None, 2, 8),
        ((7, 5), 32, 0, None, 16, 32),
    ],
)
def test_carveouts(cc, threads, shared, carveout_kb, blocks, needed_kb):
    found = occupancy(cc, threads, 16, shared, carveout_kb and carveout_kb * KB)
    assert (found.blocks, found.carveout) == (blocks, needed_kb * KB)


def test_without_registers_or_shared_memory_neither_limits():
    found = occupancy((7, 5), 64, 0, 0)
    assert (found.by_registers, found.by_shared, found.blocks) == (None, None, 16)
    assert found.share == 1.0
    assert facts(str(found)) == ["16", "32", "32"]
    assert "warps and places" in str(found)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (((9, 0), 0, 32), "threads is 0; a launch has 1 to 1024"),
        (((9, 0), 1025, 32), "threads is 1025"),
        (((9, 0), 32, 256), "registers is 256; a launch has 0 to 255"),
        (((9, 0), 32, -1), "registers is -1"),
        (((9, 0), 32, 32, -1), "shared_bytes is -1; a launch has 0 or more"),
        (((9, 0), 32, 32, 0, 300 * KB), "carveout is 307200; a launch has 0 to 233472"),
        (((9, 0), 32.0, 32), "threads is 32.0; it wants a whole number"),
        (((9, 0), True, 32), "threads is True"),
        (((6, 1), 32, 32), "not in the table"),
    ],
)
def test_what_no_launch_has_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        occupancy(*arguments)


@pytest.mark.parametrize(
    "blocks, per_sm, sms, count, last, busy",
    [
        (1024, 2, 132, 4, 232, 1024 / 1056),
        (264, 2, 132, 1, 264, 1.0),
        (265, 2, 132, 2, 1, 265 / 528),
        (1, 8, 40, 1, 1, 1 / 320),
        (0, 8, 40, 0, 0, 1.0),
    ],
)
def test_waves(blocks, per_sm, sms, count, last, busy):
    found = waves(blocks, per_sm, sms)
    assert (found.count, found.last, found.busy) == (count, last, busy)


def test_no_block_at_once_is_refused():
    with pytest.raises(ValueError, match="per_sm is 0"):
        waves(10, 0, 132)


PROGRAM = r"""
#include <stdio.h>
#include "cuda_occupancy.h"
int main(void) {
    int major, minor, threads, registers, shared, carveout, max_threads, max_shared, reserved;
    while (scanf("%d %d %d %d %d %d %d %d %d", &major, &minor, &threads, &registers, &shared,
                 &carveout, &max_threads, &max_shared, &reserved) == 9) {
        cudaOccDeviceProp device = {0};
        cudaOccFuncAttributes kernel = {0};
        cudaOccDeviceState state = {0};
        cudaOccResult found = {0};
        device.computeMajor = major;
        device.computeMinor = minor;
        device.maxThreadsPerBlock = 1024;
        device.maxThreadsPerMultiprocessor = max_threads;
        device.regsPerBlock = device.regsPerMultiprocessor = 65536;
        device.warpSize = 32;
        device.sharedMemPerBlock = 49152;
        device.sharedMemPerMultiprocessor = max_shared;
        device.sharedMemPerBlockOptin = max_shared - reserved;
        device.reservedSharedMemPerBlock = reserved;
        device.numSms = 100;
        kernel.maxThreadsPerBlock = 1024;
        kernel.numRegs = registers;
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        kernel.maxDynamicSharedSizeBytes = max_shared - reserved;
        kernel.numBlockBarriers = 1;
        state.carveoutConfig = carveout;
        int failed = cudaOccMaxActiveBlocksPerMultiprocessor(
            &found, &device, &kernel, &state, threads, shared);
        printf("%d %d %u %d %d\n", failed, found.activeBlocksPerMultiprocessor,
               found.limitingFactors & 15, found.allocatedRegistersPerBlock,
               (int)found.allocatedSharedMemPerBlock);
    }
    return 0;
}
"""
BITS = {"warps": 1, "registers": 2, "shared": 4, "places": 8}


@pytest.fixture(scope="module")
def nvidias(tmp_path_factory):
    """NVIDIA's calculator: lines of numbers in, lines of numbers out."""
    wheels = Path(sysconfig.get_path("purelib")) / "nvidia"
    header = next(iter(sorted(wheels.glob("**/cuda_occupancy.h"))), None)
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if header is None or compiler is None:
        pytest.skip("needs cuda_occupancy.h of a CUDA toolkit's wheels, and a C compiler")
    folder = tmp_path_factory.mktemp("occupancy")
    source, program = folder / "occupancy.c", folder / "occupancy"
    source.write_text(PROGRAM)
    subprocess.run(
        [compiler, "-I", str(header.parent), str(source), "-o", str(program)], check=True
    )

    def answers(lines):
        done = subprocess.run(
            [program], input="\n".join(lines), capture_output=True, text=True, check=True
        )
        return [tuple(map(int, line.split())) for line in done.stdout.splitlines()]

    return answers


def configuration(random, cc):
    """Threads, registers, shared bytes and a carve-out in percent (-1: none), edges included."""
    most = limits(cc)
    threads = random.choice([random.randint(1, 1024), 32 * random.randint(1, 32)])
    registers = random.choice([random.randint(1, 255), 8 * random.randint(1, 31)])
    shared = random.choice(
        [
            0,
            random.randint(0, most.shared_per_block_optin),
            random.randint(0, 4096),
            128 * random.randint(0, most.shared_per_block_optin // 128),
        ]
    )
    return threads, registers, shared, random.choice([-1, random.randint(0, 100)])


@pytest.mark.toolchain
@pytest.mark.parametrize("cc", LIMITS, ids=lambda cc: f"{cc[0]}.{cc[1]}")
def test_equals_nvidias_calculator(nvidias, cc):
    """1000 seeded configurations for each compute capability."""
    most, draw = limits(cc), random.Random(f"occupancy {cc}")
    cases = [configuration(draw, cc) for _ in range(1000)]
    device = (most.threads_per_sm, most.shared_per_sm, most.shared_reserved_per_block)
    answers = nvidias(" ".join(map(str, (*cc, *case, *device))) for case in cases)
    assert len(answers) == len(cases)
    for (threads, registers, shared, percent), answer in zip(cases, answers, strict=True):
        carveout = None if percent < 0 else percent * most.shared_per_sm // 100
        found = occupancy(cc, threads, registers, shared, carveout)
        bits = sum(BITS[name] for name in found.limiters)
        in_block = found.registers_per_warp * found.warps_per_block
        ours = (0, found.blocks, bits, in_block, found.shared_per_block)
        assert ours == answer, (threads, registers, shared, percent)
