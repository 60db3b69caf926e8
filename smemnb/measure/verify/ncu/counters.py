"""Which counters of Nsight Compute are read, and which count of the model each one answers.

Instructions of a warp are counted by the schedulers (`smsp__inst_executed_op_...`), requests and
sectors of global memory by the L1 cache (`l1tex__t_...`). Wavefronts of shared memory are read
twice: by code that is patched into the kernel (`smsp__sass_...`), which no arbitration inflates,
and by the hardware itself (`l1tex__data_pipe_...`). The patched counter is exact but for pairs of
lanes in accesses of 8 and 16 bytes, where its rule is simpler than the hardware's; the hardware's
is exact in launches of one warp, and up to 1.5 % too high in others. So of a one-warp launch the
hardware's is compared, of others the patched one. Of atomics only the hardware's exists.

Of atomics on global memory, `l1tex__t_sectors` counts passes: lanes that update one word go one
after the other, and each sector counts as often as the word in it with the most lanes. The sectors
that they touch stand in the table per instruction (`memory_l2_theoretical_sectors_global`), which
is compared.

Some counters hold more than their name says (`COUNTED_WITH`): requests and sectors of global loads
have those of asynchronous copies (LDGSTS) in them, and wavefronts of shared loads and stores those
of `ldmatrix` and `stmatrix` (LDSM, STSM). Instructions of the latter are among no others, and stand
in the table per instruction. Copies have a counter of instructions, and none of wavefronts: of 404
launches of one warp `laboratory.copies_probe` has them. The patched counter of that name is left
out, as it counts copies past L1 as stores, which the hardware does not.

Of local memory, what warps executed is read from the schedulers, sectors from the L1 cache, and
requests to its tags, of which an access of 8 or 16 bytes per lane makes two or four. A generic
access that reaches local memory is counted by the cache alone. The source has no count of its own
for local memory, as the compiler decides what lies there: these counts are compared with the
machine code alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_SHARED = {"load": "ld", "store": "st", "atomic": "atom"}
_GLOBAL = {"load": ("ld",), "store": ("st",), "atomic": ("atom", "red")}
_LOCAL = {"load": "ld", "store": "st"}

ESSENTIAL = {
    **{
        f"shared_{kind}_requests": f"smsp__inst_executed_op_shared_{op}.sum"
        for kind, op in _SHARED.items()
    },
    **{
        f"shared_{kind}_wavefronts_patched": (
            f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"
        )
        for kind, op in _SHARED.items()
        if op != "atom"
    },
    **{
        f"shared_{kind}_wavefronts_hardware": (
            f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"
        )
        for kind, op in _SHARED.items()
    },
    **{
        f"global_{kind}_{unit}": f"l1tex__t_{unit}_pipe_lsu_mem_global_op_{op}.sum"
        for kind, op in (("load", "ld"), ("store", "st"))
        for unit in ("requests", "sectors")
    },
}
"""Read on every chip that was tried: what each is called here -> Nsight Compute's name."""

FURTHER = {
    **{
        f"global_{kind}_instructions": f"smsp__inst_executed_op_global_{op}.sum"
        for kind, op in (("load", "ld"), ("store", "st"), ("atomic", "atom"), ("reduction", "red"))
    },
    **{
        f"global_{name}_{unit}": f"l1tex__t_{unit}_pipe_lsu_mem_global_op_{op}.sum"
        for name, op in (("atomic", "atom"), ("reduction", "red"))
        for unit in ("requests", "sectors")
    },
    **{
        f"local_{kind}_instructions": f"smsp__inst_executed_op_local_{op}.sum"
        for kind, op in _LOCAL.items()
    },
    **{
        f"local_{kind}_{count}": f"l1tex__t_{unit}_pipe_lsu_mem_local_op_{op}.sum"
        for kind, op in _LOCAL.items()
        for count, unit in (("tag_requests", "requests"), ("sectors", "sectors"))
    },
    "shared_load_instructions_patched": "sass__inst_executed_shared_loads",
    "shared_store_instructions_patched": "sass__inst_executed_shared_stores",
    "global_load_instructions_patched": "sass__inst_executed_global_loads",
    "global_store_instructions_patched": "sass__inst_executed_global_stores",
}
"""Read where the chip has them."""

COPIES = {
    "shared_copy_requests": "smsp__inst_executed_op_ldgsts.sum",
}
"""Of asynchronous copies; read where the chip has them (cc 8.0 and later)."""

NEWER = {"local_spill_instructions_patched": "sass__inst_executed_register_spilling"}
"""Read where the profiler has them (Nsight Compute 2025.1 and later)."""

METRICS = {**ESSENTIAL, **FURTHER, **COPIES, **NEWER}

TABLED = {
    "global_atomic_sectors_touched": "memory_l2_theoretical_sectors_global",
    "local_spill_instructions": "inst_executed",
    "shared_ldmatrix_requests": "inst_executed",
    "shared_stmatrix_requests": "inst_executed",
}
"""Read from the table per instruction: summed over the atomics of global memory, over the
instructions that the compiler marks as spills, over LDSM and over STSM."""

COUNTED_WITH = {
    "global_copy_requests": "global_load_requests",
    "global_copy_sectors": "global_load_sectors",
    "shared_ldmatrix_wavefronts": "shared_load_wavefronts",
    "shared_stmatrix_wavefronts": "shared_store_wavefronts",
}
"""Counts of the model that no counter has alone -> the count in which the counters have them."""

COUNTS = (
    *(f"shared_{kind}_{unit}" for kind in _SHARED for unit in ("requests", "wavefronts")),
    *(f"global_{kind}_{unit}" for kind in _GLOBAL for unit in ("requests", "sectors")),
    *("shared_copy_requests", "shared_copy_wavefronts"),
    *("shared_ldmatrix_requests", "shared_stmatrix_requests"),
)
"""What is compared with both views: the model's counts of a launch, by these names. Wavefronts of
copies stand beside each other in the two views, with no counter."""

LOCAL_COUNTS = (
    *(
        f"local_{kind}_{unit}"
        for kind in _LOCAL
        for unit in ("instructions", "tag_requests", "sectors")
    ),
    "local_spill_instructions",
)
"""What is compared with the machine code alone."""

COMPARED = (*COUNTS, *LOCAL_COUNTS)

ISSUED = frozenset(
    count
    for count in COMPARED
    if (METRICS | TABLED).get(count, "").startswith(("smsp__inst", "inst_executed"))
)
"""Counts answered by executed instructions: those of warps with no lane switched on count too."""


@dataclass(frozen=True)
class Reading:
    """What one counter answers: the metric's name (several are summed) and its value."""

    metric: str
    value: int


def readings(found: Mapping[str, int], *, warps: int) -> dict[str, Reading]:
    """The counter that answers each of `COMPARED`; counts that no counter answers are absent.

    Args:
        found: values by the names of `METRICS` and `TABLED`, as one launch has them.
        warps: of the launch; of one warp the hardware's wavefronts are exact.

    >>> found = {"shared_load_wavefronts_patched": 4, "shared_load_wavefronts_hardware": 2}
    >>> readings(found, warps=1)["shared_load_wavefronts"].value
    2
    >>> readings(found, warps=2)["shared_load_wavefronts"].value
    4
    """
    answers: dict[str, tuple[str, ...]] = {}
    for count in COMPARED:
        answers[count] = (count,)
        if count.endswith("_wavefronts"):
            by = "hardware" if warps == 1 or count == "shared_atomic_wavefronts" else "patched"
            answers[count] = (f"{count}_{by}",)
        elif count == "global_atomic_sectors":
            answers[count] = ("global_atomic_sectors_touched",)
        elif count == "global_atomic_requests":
            answers[count] = (count, "global_reduction_requests")
    named = METRICS | TABLED
    return {
        count: Reading(" + ".join(named[name] for name in names), sum(found[n] for n in names))
        for count, names in answers.items()
        if all(name in found for name in names)
    }
