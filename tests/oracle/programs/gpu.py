"""The same programs on a real GPU, compared with the engine.

Numba compiles and launches each kernel as always, but for one thing: NVVM may not fuse `a * b + c`
into one rounding (`fma=0`), as the engine rounds after every operator. Threads that do what C
leaves undefined are found on the host (`host`) and left out.

`SMEMNB_PROGRAMS_PTX=1` compiles to PTX and launches nothing: a trial on a machine without a GPU.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

os.environ.setdefault("SMEMNB_DEVICE", "off")
os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")

import numpy as np
from numba import cuda

from smemnb.simulator import inference, seam

from . import comparing, host
from .comparing import BLOCK, Verdict, arguments_of, as_given
from .writing import LENGTH, Program, program_of

_compile_cuda = seam.cuda_compiler.compile_cuda
ONLY_PTX = os.environ.get("SMEMNB_PROGRAMS_PTX") == "1"


def _without_fusing(*args: Any, **options: Any) -> Any:
    """Numba's compile_cuda with NVVM told to round after every operator."""
    options["nvvm_options"] = {**(options.get("nvvm_options") or {}), "fma": 0}
    if "lto" in options:
        options["lto"] = False
    return _compile_cuda(*args, **options)


def check_seeds(seeds: Iterable[int]) -> list[Verdict]:
    """The verdicts of these seeds: the engine against the GPU."""
    return check_programs([program_of(seed) for seed in seeds])


def check_programs(programs: list[Program]) -> list[Verdict]:
    """The verdicts of these programs: the engine against the GPU."""
    verdicts, ready = [], []
    for program in programs:
        verdict = Verdict(program.seed, program.source)
        verdicts.append(verdict)
        try:
            function = comparing.function_of(program.source)
            arguments = arguments_of(program)
            types = tuple(map(inference.argument_type, as_given(arguments)))
            wanted = arguments_of(program)
            _on_gpu(function, wanted, types)
            ready.append(
                (program, verdict, function, wanted, types, host.compile_program(function, types))
            )
        except Exception as error:
            verdict.refused = _said(error)
    unused = [arguments_of(r[0]) for r in ready]
    flags = host.run_programs([(r[5], a) for r, a in zip(ready, unused, strict=True)], LENGTH)
    for (program, verdict, function, wanted, types, _), undefined in zip(ready, flags, strict=True):
        if isinstance(undefined, str):
            verdict.refused = undefined
        elif not ONLY_PTX:
            _compare(program, verdict, function, wanted, types, ~undefined)
    return verdicts


def _said(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {(lines or [''])[0]}"[:200]


def _on_gpu(function: Any, arguments: list[Any], types: Any) -> None:
    """One launch on the device; arrays among the arguments are written."""
    if ONLY_PTX:
        with host.a_device():
            cuda.compile_ptx(function, types, cc=(9, 0))
        return
    seam.dispatcher_module.compile_cuda = _without_fusing
    cuda.jit(function)[LENGTH // BLOCK, BLOCK](*as_given(arguments))
    cuda.synchronize()


def _compare(
    program: Program, verdict: Verdict, function: Any, wanted: Any, types: Any, use: Any
) -> None:
    verdict.undefined = int((~use).sum())
    got = arguments_of(program)
    try:
        comparing.run_engine(function, got, inference.infer(function, types), {})
    except Exception as error:
        verdict.differences.append(f"the engine stops: {_said(error)}")
        return
    verdict.differences += [
        said.replace("Numba ", "GPU ")
        for said in comparing.value_differences(program, got, wanted, np.asarray(use), "on a GPU")
    ]
    verdict.rough = len(program.rough)
    verdict.exact = len(program.outputs) - verdict.rough
