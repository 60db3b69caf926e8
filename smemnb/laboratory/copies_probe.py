"""One warp, one asynchronous copy, 404 times: what the hardware counts. `h200_copies.json`.

    python -m smemnb.laboratory.copies_probe launch PART      what the profiler runs
    python -m smemnb.laboratory.copies_probe record FILE      on a GPU: profile all, write the file
    python -m smemnb.laboratory.copies_probe build FILE CSV...    from what ncu printed, a part each

Each launch copies once, by the pattern that it is given: where the lanes store, what they read,
which of them copy, and which of those read. Besides, the kernel empties its tile and shows it:
`OWN_WAVEFRONTS` of shared memory, and sectors for the four words that the pattern gives each lane
(`own_sectors`); what is left is the copy's. `readings()` is the shipped file with that taken off,
`rules.async_copy` the rule that it was found by.

**Limits**: the counter of all wavefronts of shared memory, as the chip has none of copies alone.
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import SmemnbError

__all__ = ["Pattern", "Reading", "build", "own_sectors", "patterns", "readings", "record"]

FILE = "h200_copies.json"
OWN_WAVEFRONTS = 134
METRICS: Final = {
    "wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
}
"""Field of the file -> the counter's name in Nsight Compute."""

COPIES: Final = {
    "copy16": (4, True),
    "copy16_ca": (4, False),
    "copy8": (2, False),
    "copy4": (1, False),
}
"""The copies of `kernels.ptx.asynchronous`: words per lane, and whether they go past L1."""

_LANES = np.arange(32)
_ONE = np.ones(32, np.int32)
Words = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Pattern:
    """What the lanes do: `place` and `source` count widths of the copy; the masks are 0 or 1."""

    copy: str
    name: str
    place: Words
    source: Words
    active: Words
    present: Words


@dataclass(frozen=True)
class Reading:
    """A pattern, and what the copy took by the counters."""

    pattern: Pattern
    wavefronts: int
    sectors: int


def patterns(copy: str) -> Iterator[Pattern]:
    """The patterns of a copy, in the order in which they are launched."""
    words = COPIES[copy][0]
    most = 2048 // words
    random = np.random.default_rng(len(copy) * 7 + words)
    lane = _LANES

    def made(
        name: str, place: Any = lane, source: Any = lane, active: Any = _ONE, present: Any = _ONE
    ) -> Pattern:
        at, read, takes, reads = (
            np.asarray(one).astype(np.int32) for one in (place, source, active, present)
        )
        return Pattern(copy, name, at % most, read, takes, reads)

    yield made("identity")
    for step in (1, 2, 3, 4, 7, 8, 16):
        yield made(f"place ^ {step}", lane ^ step)
    for step in (1, 2, 4, 8):
        yield made(f"source ^ {step}", source=lane ^ step)
    yield made("both ^ 1", lane ^ 1, lane ^ 1)
    fours, eights = lane ^ (lane // 4 // 2 % 4), lane ^ (lane // 8 % 8)
    far_fours, far_eights = lane // 4 * 64 + lane % 4, lane // 8 * 64 + lane % 8
    yield made("rows of 4, c ^ l//2%4", fours)
    yield made("rows of 8, c ^ l%8", eights)
    yield made("rows of 4 far apart, swizzled", fours, far_fours)
    yield made("rows of 4 far apart", source=far_fours)
    yield made("rows of 8 far apart", source=far_eights)
    yield made("rows of 8 far apart, swizzled", eights, far_eights)
    yield made("rows of 8 far apart, rows 1 3 5 7", lane ^ (2 * (lane // 8) + 1), far_eights)
    yield made("place + 1", lane + 1)
    yield made("source + 1", source=lane + 1)
    yield made("both + 1", lane + 1, lane + 1)
    yield made("place + 2", lane + 2)
    for step in (2, 3, 4, 8, 16, 32):
        yield made(f"place * {step}", lane * step)
    for step in (2, 3, 4, 8, 16, 32):
        yield made(f"source * {step}", source=lane * step)
    for few in (1, 2, 4, 8, 16):
        yield made(f"source // {32 // few}", source=lane // (32 // few))
    yield made("pairs of lanes share a source", source=lane // 2)
    yield made("source % 4", source=lane % 4)
    yield made("source % 8", source=lane % 8)
    for first in (1, 2, 3, 4, 5, 8, 12, 16, 20, 24, 31):
        yield made(f"first {first}", active=lane < first)
    yield made("odd", active=lane % 2)
    yield made("even", active=1 - lane % 2)
    yield made("every fourth", active=lane % 4 == 0)
    yield made("pairs 0 2 4", active=lane // 2 % 2 == 0)
    for number in range(4):
        yield made(f"active drawn {number}", active=random.random(32) < 0.5)
    for number in range(3):
        yield made(f"present drawn {number}", present=random.random(32) < 0.5)
    yield made("present first half", present=lane < 16)
    yield made("none present", present=0 * lane)
    for number in range(5):
        yield made(f"place drawn {number}", random.permutation(most)[:32])
    for number in range(3):
        yield made(f"place permuted {number}", random.permutation(32))
    pairs = random.permutation(16)
    yield made("pairs permuted", 2 * pairs[lane // 2] + lane % 2)
    yield made("fours permuted", 4 * random.permutation(8)[lane // 4] + lane % 4)
    for number in range(4):
        yield made(f"source drawn {number}", source=random.integers(0, 32 * 2**number, 32))
    for number in range(4):
        place = random.permutation(most)[:32]
        yield made(f"both drawn {number}", place, random.integers(0, 32 * 2**number, 32))
    if copy != "copy16":
        for number in range(8):
            place = random.permutation(32)
            yield made(f"both permuted {number}", place, random.permutation(32 << number % 3)[:32])
    for number in range(6):
        line = 32 // words * random.integers(0, 8, 32)
        yield made(f"lines {number}", source=line + random.permutation(32) % (32 // words))
    for number in range(3):
        place, source = random.permutation(64)[:32], random.permutation(64)[:32]
        takes = random.random(32) < 0.7
        yield made(f"all drawn {number}", place, source, takes, random.random(32) < 0.8)


def own_sectors(pattern: Pattern) -> int:
    """Sectors that the kernel itself loads: who copies, and the rest by those that do.

    >>> own_sectors(next(patterns("copy4")))
    16
    """
    return 4 + 3 * int(pattern.active.astype(bool).reshape(4, 8).any(axis=1).sum())


@cache
def readings() -> tuple[Reading, ...]:
    """The shipped readings, less what the kernel takes without its copy.

    >>> one = readings()[0]
    >>> one.pattern.copy, one.pattern.name, one.wavefronts, one.sectors
    ('copy16', 'identity', 0, 16)
    """
    found = []
    for copy, name, place, source, active, present, wavefronts, sectors in _file()["launches"]:
        pattern = Pattern(
            copy,
            name,
            np.array(place, np.int32),
            np.array(source, np.int32),
            _bits(active),
            _bits(present),
        )
        found.append(Reading(pattern, wavefronts - OWN_WAVEFRONTS, sectors - own_sectors(pattern)))
    return tuple(found)


def build(text: Sequence[str], origin: dict[str, Any]) -> str:
    """The file's text, from what ncu printed of each copy's launches, in the order of `COPIES`.

    Raises:
        SmemnbError: ncu printed another number of launches than there are patterns.
    """
    lines = []
    for copy, printed in zip(COPIES, text, strict=True):
        table = [one for one in printed.splitlines() if one.startswith('"')]
        head, _units, *rows = csv.reader(io.StringIO("\n".join(table)))
        wanted = list(patterns(copy))
        if len(rows) != len(wanted):
            raise SmemnbError(f"{copy}: ncu printed {len(rows)} launches of {len(wanted)}")
        at = [head.index(metric) for metric in METRICS.values()]
        for one, row in zip(wanted, rows, strict=True):
            counters = [round(float(row[place].replace(",", ""))) for place in at]
            masks = [
                sum(int(on) << lane for lane, on in enumerate(mask))
                for mask in (one.active, one.present)
            ]
            fields = [
                one.copy,
                one.name,
                one.place.tolist(),
                one.source.tolist(),
                *masks,
                *counters,
            ]
            lines.append("  " + json.dumps(fields, separators=(",", ":")))
    named = "copy name place source active present " + " ".join(METRICS)
    whole = {**origin, "metrics": METRICS, "fields": named}
    return (
        json.dumps(whole, indent=1).removesuffix("\n}")
        + ',\n "launches": [\n'
        + ",\n".join(lines)
        + "\n ]\n}\n"
    )


def command(part: int) -> list[str]:
    """The command that profiles the launches of one copy."""
    probe = [sys.executable, "-m", "smemnb.laboratory.copies_probe", "launch", str(part)]
    how = ["--csv", "--page", "raw", "--cache-control", "none", "--clock-control", "none"]
    return ["ncu", *how, "--metrics", ",".join(METRICS.values()), *probe]


def record(path: Path) -> None:
    """Profile all launches on this machine's GPU and write the file.

    Raises:
        SmemnbError: `ncu` is missing, failed, or printed something else.
    """
    from ..measure.verify.recording import machine

    printed = []
    for part in range(len(COPIES)):
        try:
            done = subprocess.run(command(part), capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise SmemnbError("ncu is not on the PATH; it comes with the CUDA toolkit") from None
        if done.returncode:
            raise SmemnbError(f"ncu failed:\n{(done.stdout + done.stderr)[-2000:]}")
        printed.append(done.stdout)
    how = "python -m smemnb.laboratory.copies_probe record FILE"
    path.write_text(build(printed, {**machine(), "command": how}), encoding="utf-8")


def launch(part: int) -> None:
    """Launch the patterns of one copy, in order."""
    from numba import cuda

    from .corpus import copies

    copy = list(COPIES)[part]
    kernel = getattr(copies, f"{copy}_at")
    inp = cuda.to_device(np.arange(32 * 64 * 4, dtype=np.uint32))
    out = cuda.device_array(copies.WORDS, np.uint32)
    for one in patterns(copy):
        arrays = (one.place, one.source, one.active, one.present)
        kernel[1, 32](out, inp, *(cuda.to_device(array) for array in arrays))
    cuda.synchronize()


def _bits(mask: int) -> Words:
    found: Words = (mask >> _LANES & 1).astype(np.int32)
    return found


def _file() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (files("smemnb.measure.recorded") / FILE).read_text(encoding="utf-8")
    )
    return found


def main(arguments: Sequence[str]) -> int:
    """Run one of the commands; 0 if all is well."""
    match list(arguments):
        case ["launch", part]:
            launch(int(part))
        case ["record", path]:
            record(Path(path))
        case ["build", path, *tables] if len(tables) == len(COPIES):
            kept = json.loads(Path(path).read_text(encoding="utf-8")) if Path(path).exists() else {}
            origin = {
                name: kept[name] for name in kept if name not in ("metrics", "fields", "launches")
            }
            text = build([Path(one).read_text(encoding="utf-8") for one in tables], origin)
            Path(path).write_text(text, encoding="utf-8")
        case _:
            print((__doc__ or "").split("\n\n")[1], file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except SmemnbError as error:
        sys.exit(str(error))
