"""Counters of Nsight Compute for the launches of a program.

The shared-memory counters are the ones that patched code adds up (`smsp__sass_...`), which no
arbitration inflates; requests and sectors come from the L1 cache's own. Nsight Compute (`ncu`)
must be installed, and the driver must allow counters.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from ..errors import SmemnbError

METRICS = {
    "shared_load_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_load_requests": "smsp__inst_executed_op_shared_ld.sum",
    "shared_store_requests": "smsp__inst_executed_op_shared_st.sum",
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
}
"""What each counter is called here -> its name in Nsight Compute."""


def counters(
    command: Sequence[str], kernel: str, metrics: Mapping[str, str] = METRICS
) -> dict[str, int]:
    """The counters of the first launch of a kernel (a part of its name) by a program.

    `metrics`: what each is called in the result -> its name in Nsight Compute.

    Raises:
        SmemnbError: `ncu` is missing, was forbidden to read counters, or saw no such launch.
    """
    ncu = shutil.which("ncu")
    if ncu is None:
        raise SmemnbError("Nsight Compute's command `ncu` is not on the PATH; install it")
    wanted = ",".join(metrics.values())
    options = ["--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
    options += ["--metrics", wanted, "-k", f"regex:{kernel}", "--launch-count", "1"]
    done = subprocess.run([ncu, *options, *command], capture_output=True, text=True, check=False)
    rows = [line for line in done.stdout.splitlines() if line.startswith('"')]
    if done.returncode or len(rows) < 3:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise SmemnbError(f"ncu read no counters of {kernel}: {said[-1] if said else 'no output'}")
    names, _, values = csv.reader([rows[0], rows[1], rows[2]])
    found = dict(zip(names, values, strict=True))
    return {name: round(float(found[metric].replace(",", ""))) for name, metric in metrics.items()}
