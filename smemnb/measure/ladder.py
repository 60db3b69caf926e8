"""Times every rung of the transpose and matmul ladders on the GPU of this machine.

    python -m smemnb.measure.ladder --out results.json

Beside torch where it is installed. Prints a table; `--out` keeps all rows with GPU, driver,
versions, date and command. About a minute and a half on 16 cores: kernels are compiled side by
side and timed one after the other.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import ladder_runs

PACKAGES = ("numba", "numba-cuda", "numpy", "torch", "cuda-bindings", "nvidia-nvvm", "llvmlite")


def main(argv: Sequence[str] | None = None) -> int:
    """Run all tasks, print a table, keep the results; 1 if a kernel was wrong."""
    parser = argparse.ArgumentParser(prog="python -m smemnb.measure.ladder")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="keep all rows here")
    parser.add_argument("--only", default="", help="tasks whose kind or rung holds this text")
    parser.add_argument("--processes", type=int, default=min(14, os.cpu_count() or 1))
    parser.add_argument("--seconds", type=float, default=95, help="then no further task begins")
    options = parser.parse_args(argv)
    began = time.monotonic()
    chosen = [task for task in ladder_runs.tasks() if options.only in f"{task.what} {task.rung}"]
    rows: list[dict[str, Any]] = []
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(options.processes) as pool:
        for found in pool.imap_unordered(ladder_runs.run, chosen):
            rows += found
            for row in found:
                print(line(row), flush=True)
            if options.out:  # kept as it grows: what is measured is not lost
                options.out.write_text(json.dumps(about() | {"rows": rows}, indent=1) + "\n")
            if time.monotonic() - began > options.seconds:
                print("out of time; the rest was not measured", flush=True)
                break
    print(f"\n{len(rows)} rows in {time.monotonic() - began:.0f} s")
    for text in table(rows):
        print(text)
    return int(any(not row.get("right") for row in rows))


def about() -> dict[str, Any]:
    """GPU, driver, versions, date and command."""
    asked = "name,driver_version,clocks.sm,clocks.max.sm,temperature.gpu,power.draw"
    try:
        gpu = subprocess.run(
            ["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        gpu = "unknown"
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    command = " ".join(["python -m smemnb.measure.ladder", *sys.argv[1:]])
    return {
        "gpu": gpu,
        "gpu_fields": asked,
        "versions": versions,
        "date": time.strftime("%Y-%m-%d"),
        "command": command,
    }


def line(row: dict[str, Any]) -> str:
    """A row as text: what, shape, rate, ratio to the limit."""
    shape = "x".join(str(extent) for extent in row["shape"])
    extra = " ".join(f"{name}={value}" for name, value in row["options"].items())
    if row["spare"]:
        extra += f" spare={row['spare']}"
    if row["itemsize"] != 4:
        extra += f" bytes={row['itemsize']}"
    head = f"{row['what']:9} {row['rung']:22} {shape:16} {extra}".rstrip()
    if row.get("error"):
        return f"{head}  FAILED {row['error']}"
    if row["what"] == "transpose":
        rate = f"{row['gb_per_s']:7.0f} GB/s"
    else:
        rate = f"{row['tflop_per_s']:7.2f} TFLOP/s beside {row['limit_tflop_per_s']:.2f}"
    times = f" {row['times_torch']:.2f} x torch's" if "times_torch" in row else ""
    wrong = f" error {row['wrong_by']:.1e}" if "wrong_by" in row else ""
    wrong += f" beside {row['limit_wrong_by']:.1e}" if "limit_wrong_by" in row else ""
    return (
        f"{head}  {rate}  ratio {row['ratio']:.3f}{times}  {row['ms']:.4f} ms"
        f" spread {row['spread']:.2f} regs {row['registers']} local {row['local_bytes']}"
        f"{wrong}{'' if row['right'] else '  WRONG'}"
    )


def table(rows: list[dict[str, Any]]) -> list[str]:
    """All rows sorted: ladders in their order, then the fastest by shape, then what was tried."""
    names = [task.rung for task in ladder_runs.tasks()]
    ranked = sorted(
        rows,
        key=lambda row: (
            row["what"],
            row["rung"] in ("of", "flat"),
            row["rung"] == "fastest",
            names.index(row["rung"]),
            -row.get("ratio", 0),
        ),
    )
    return [line(row) for row in ranked]


if __name__ == "__main__":
    sys.exit(main())
