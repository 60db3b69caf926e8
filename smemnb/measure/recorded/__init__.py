"""Readings of hardware counters that are shipped with the package.

`h200_kernels.json`: every finished kernel of `smemnb.kernels` on an H200: its counters beside the
model's counts, compute-sanitizer's findings, its time over that of a copy; made by
`smemnb.measure.readings`.

`h200_bench.json`: times of both ladders beside libraries and bounds, as `smemnb bench all --out
FILE.json` writes them; `smemnb.measure.results.shipped` reads it.

`h200_sweep_matmul.json`: seeded random products beside PyTorch and CuPy, as `smemnb bench sweep
matmul` writes them; `measure.bench.sweep.model.load` reads it.

`h200_tensor.json`: products by tensor cores beside mma from registers alone and cuBLAS, with other
cuts and the ladder; `smemnb bench tensor --show` prints them. Its `runs` name the commands.

`h200_tensor_values.json`: what the tensor cores made of random fragments, beside the rule;
`laboratory.tensor_values` makes and reads it.

`h200_sweep_transpose.json`: 200 random transposes beside torch, CuPy and a copy, as `smemnb bench
sweep transpose --seed 7411 --out FILE.json` writes them; `--show FILE.json --chart FILE.svg` draws
it.

`h200_shared_wavefronts.json`: 162 launches of one warp and one shared-memory instruction each,
read with Nsight Compute on an H200. With one warp there is no arbitration, so the counter is the
hardware's own count; `rules.bank` must equal it.

`h200_copies.json`: 404 launches of one warp with one asynchronous copy each, read there likewise;
`laboratory.copies_probe` makes and reads it, and `rules.async_copy` says where it equals it.

`h200_agreement.json`: counters of the launches of `smemnb.laboratory.corpus` on an H200, per launch
and per line, with what the machine code that ran predicts; `laboratory.agreement` makes it,
`measure.verify.recording` reads it.

`h200_twins.json`: racecheck's verdicts there on kernels with one barrier removed or moved, by pairs
of lines; `laboratory.twins.recording` makes and reads it.

`h200_severities.json`: what kernels that are wrong on purpose did there: wrong values, hangs,
faults, or nothing; `laboratory.severities` makes and reads it, `SEVERITIES.md` there shows it.

`h200_strides.json`: a loop of shared loads at seven strides, by time; `laboratory.strides` reads
it.

`h200_conflict_counter.json`: the counter of bank conflicts on a kernel that has none;
`laboratory.conflict_counter` makes and reads it.

`h200_latency.json`: cycles of multiply-adds, of shared memory, both caches and DRAM, bytes per
second by what is under way, and the stall reasons of small kernels; `laboratory.latency` makes and
reads it. `h200_ladder_stalls.json`: stall reasons of the rungs of both ladders; `measure.stalls`
reads it.

`loop_order.json`: in which order the compiler put the loads, stores and products of some loops;
`laboratory.loop_order` makes and reads it.

`h200_steps.json`: times of the kernels of `34_fast_code`; `laboratory.step_times` makes and reads
it.

`h200_reduction.json`, and the same of `scan`, `stencil`, `histogram` and `rows`: times of a room's
operations and rungs beside torch and CuPy, as `smemnb bench patterns ROOM --out FILE.json` writes
them; `bench.patterns.model.recorded` reads them, and the room's `TUNING.md` says what is missing.

`machine_code.json`: registers and instructions of the main loops of some rungs, and
`compiled_views.json`: machine code per source line; `laboratory.loop_code` and
`laboratory.compiled_views` make and read them.

`predicted_ladders.json`: times, issue and largest waits of the rungs of both ladders as the model
of time predicts them, beside the recorded ones; `measure.predictions` makes and reads it.

**Limits**: one chip (cc 9.0). The atomics were read with all lanes active. `atomic_add_f32` is a
compare-and-swap loop: its retries depend on timing, so no rule is compared with it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

__all__ = [
    "KIND_OF",
    "RETRY_LOOPS",
    "KernelReading",
    "OneWarpRequest",
    "Provenance",
    "kernel_readings",
    "one_warp_requests",
]

RETRY_LOOPS: Final = frozenset({"atomic_add_f32"})
"""Recorded kinds that are retry loops, with no fixed count."""

KIND_OF: Final = {
    "load": "load",
    "store": "store",
    "atomic_add_i32": "atomic_add",
    "atomic_add_i32_constant_1": "atomic_increment",
    "atomic_cas_i32": "atomic_cas",
}
"""Recorded kind -> kind of `rules.bank`."""


@dataclass(frozen=True)
class Provenance:
    """Where readings come from. `metrics` pairs each field with its Nsight Compute metric."""

    gpu: str
    compute_capability: str
    driver: str
    profiler: str
    launch: str
    metrics: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class OneWarpRequest:
    """One request and what the counters read.

    Attributes:
        kind: as recorded; `KIND_OF` translates it.
        width: bytes per lane.
        wavefronts_hardware: wavefronts the hardware counted.
        wavefronts_source_view: what Nsight Compute's source page shows, retries included.
        wavefronts_source_view_ideal: what that page calls ideal.
        wavefronts_sass_counter: the counter of patched code, by a simpler rule; None for atomics.
    """

    name: str
    kind: str
    width: int
    address: tuple[int, ...]
    active: tuple[bool, ...]
    wavefronts_hardware: int
    wavefronts_source_view: int
    wavefronts_source_view_ideal: int
    wavefronts_sass_counter: int | None
    provenance: Provenance


@cache
def one_warp_requests() -> tuple[OneWarpRequest, ...]:
    """All recorded requests, in the order in which they were launched.

    >>> requests = one_warp_requests()
    >>> len(requests), requests[0].provenance.gpu
    (162, 'NVIDIA H200')
    """
    source = files(__package__).joinpath("h200_shared_wavefronts.json")
    record = json.loads(source.read_text(encoding="utf-8"))
    origin = Provenance(
        gpu=record["gpu"],
        compute_capability=record["compute_capability"],
        driver=record["driver"],
        profiler=record["profiler"],
        launch=record["launch"],
        metrics=tuple(record["metrics"].items()),
    )
    return tuple(
        OneWarpRequest(
            name=case["name"],
            kind=case["kind"],
            width=case["bytes_per_lane"],
            address=tuple(case["address"]),
            active=tuple(case["active"]),
            wavefronts_hardware=case["wavefronts_hardware"],
            wavefronts_source_view=case["wavefronts_source_view"],
            wavefronts_source_view_ideal=case["wavefronts_source_view_ideal"],
            wavefronts_sass_counter=case.get("wavefronts_sass_counter"),
            provenance=origin,
        )
        for case in record["cases"]
    )


@dataclass(frozen=True)
class KernelReading:
    """What was read of one finished kernel.

    Attributes:
        gpu: the GPU's name.
        measured: counters, named as in `smemnb.measure.nsight.METRICS`.
        predicted: the model's counts of the same launch.
        sanitizer: tool of compute-sanitizer -> number of its findings.
        time_over_copy: time over that of a device copy of as many bytes as the result has.
    """

    name: str
    gpu: str
    measured: dict[str, int]
    predicted: dict[str, int]
    sanitizer: dict[str, int]
    time_over_copy: float


@cache
def kernel_readings() -> dict[str, KernelReading]:
    """The readings of the finished kernels, by name.

    >>> kernel_readings()["transpose_padded"].measured["shared_load_wavefronts"]
    32768
    """
    record = json.loads((files(__package__) / "h200_kernels.json").read_text(encoding="utf-8"))
    return {
        name: KernelReading(
            name=name,
            gpu=record["gpu"],
            measured=read["measured"],
            predicted=read["predicted"],
            sanitizer=read["sanitizer"],
            time_over_copy=read["time_over_copy"],
        )
        for name, read in record["kernels"].items()
    }
