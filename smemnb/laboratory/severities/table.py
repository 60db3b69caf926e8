"""What a GPU made of the experiments, as the document SEVERITIES.md."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...tracing.findings.kinds import KINDS
from .everything import EXPERIMENTS
from .experiment import Experiment
from .recording import Outcome, Outcomes

HEAD = """# Severities beside a GPU

Each row is a kernel that is wrong on purpose, launched {launches} times on {gpu}
(compute capability {cc}), in a process of its own. *Wrong values* says in how many of the launches
that came back a value was wrong; a *hang* is a launch that had not come back after {seconds:g}
seconds; a *fault* ended the context. Where the GPU gave right values all the same, the row says
why. The outcomes are kept in `smemnb/measure/recorded/h200_severities.json`, the kernels are in the
folder `kernels` beside this file. Both were made by

    {command}
    python -m smemnb.laboratory.severities table FILE.json
"""
CONTROLS = "No finding: allowed by the programming guide"


def document(kept: Outcomes) -> str:
    """The whole document."""
    origin = kept.origin
    head = HEAD.format(
        launches=origin["launches"],
        gpu=origin["gpu"],
        cc=origin.get("compute_capability", "none"),
        seconds=origin["seconds"],
        command=origin["command"],
    )
    kinds = dict.fromkeys(one.kind for one in EXPERIMENTS if one.kind)
    return "\n".join([head, *("\n".join(_section(kind, kept)) for kind in kinds)]) + (
        "\n" + "\n".join(_section("", kept))
    )


def _section(kind: str, kept: Outcomes) -> Iterator[str]:
    """One kind: its severity and a row per kernel."""
    yield f"## {kind}: {KINDS[kind].severity}" if kind else f"## {CONTROLS}"
    yield ""
    yield f"| kernel | what it does | on {kept.origin['gpu']} |"
    yield "|---|---|---|"
    for one in EXPERIMENTS:
        if one.kind == kind:
            yield f"| `{one.name}` | {one.says} | {_shown(one, kept.experiments.get(one.name))} |"
    yield ""


def _shown(one: Experiment, seen: Outcome | None) -> str:
    """What came of it, and why, where it looked right."""
    if seen is None or seen.outcome == "not run":
        return "not measured"
    if seen.outcome == "wrong values":
        at, value, right = seen.first
        return f"wrong values in {seen.wrong} of {seen.launches}: [{at}] is {value}, not {right}"
    if seen.outcome == "right values":
        return f"right values in all {seen.launches}" + (f": {one.hides}" if one.hides else "")
    if seen.outcome == "hang":
        return "hang"
    return f"fault: {_error(seen.said)}"


def _error(said: str) -> str:
    """The driver's name of an error, where it has one.

    >>> _error("CudaAPIError: [700] Call to cuCtxSynchronize results in CUDA_ERROR_ILLEGAL_ADDRESS")
    'CUDA_ERROR_ILLEGAL_ADDRESS'
    >>> _error("CudaAPIError: [<CUresult.CUDA_ERROR_ILLEGAL_ADDRESS: 700>] Call")
    'CUDA_ERROR_ILLEGAL_ADDRESS'
    """
    named = re.search(r"CUDA_ERROR_\w+", said)
    return named.group() if named else said
