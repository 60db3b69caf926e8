"""The same programs on a real GPU, compared with the engine.

Numba compiles and launches each kernel as always, but for one thing: every product of floats is
rounded (`mul.rn`), as in the engine, and not fused with the sum behind it. Only those of NVVM's
own `frem` are fused, which the engine does too.

Threads left out, found on the host (`host`): those that do what C leaves undefined, those that end
by an exception, and those in which a signed integer passes its range, for Numba tells LLVM that
none does.

What an optimiser makes of a program may differ from the program: NVVM takes comparisons with a NaN
that it computed itself for comparisons with a number, ptxas takes `abs(x) > -1.0` for true where x
is NaN, and some releases of it negate the int16 -32768 into 32768. So a program that differs is
compiled again without optimisation, and if its values are the engine's then, it counts as
differing `when optimised` only.

`SMEMNB_PROGRAMS_PTX=1` compiles to PTX and launches nothing: a trial on a machine without a GPU.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

os.environ.setdefault("SMEMNB_DEVICE", "off")
os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")

import numpy as np
from numba import cuda
from numba.cuda.cudadrv import driver, nvvm

from smemnb.simulator import inference, seam

from . import comparing, host
from .comparing import BLOCK, Verdict, arguments_of, as_given
from .writing import LENGTH, Program, program_of

_compile_cuda = seam.cuda_compiler.compile_cuda
ONLY_PTX = os.environ.get("SMEMNB_PROGRAMS_PTX") == "1"


_compile_ir = nvvm.compile_ir
_PRODUCT = re.compile(r"\bfmul (float|double) (\S+), (\S+)")
_ROUNDED = {"float": "llvm.nvvm.mul.rn.f", "double": "llvm.nvvm.mul.rn.d"}


def _with_rounded_products(irs: Any, **options: Any) -> Any:
    """Numba's compile_ir, given IR whose products are not fused."""
    return _compile_ir([_rounded(ir) for ir in ([irs] if isinstance(irs, str) else irs)], **options)


def _rounded(ir: str) -> str:
    ir = _PRODUCT.sub(lambda m: f"call {m[1]} @{_ROUNDED[m[1]]}({m[1]} {m[2]}, {m[1]} {m[3]})", ir)
    used = [kind for kind, name in _ROUNDED.items() if f"@{name}(" in ir]
    return ir + "".join(f"\ndeclare {k} @{_ROUNDED[k]}({k}, {k})" for k in used)


def _compiled(*args: Any, **options: Any) -> Any:
    """Numba's compile_cuda, without link-time optimisation."""
    if "lto" in options:
        options["lto"] = False
    return _compile_cuda(*args, **options)


@contextlib.contextmanager
def _without_optimisation() -> Iterator[None]:
    """While this holds, neither NVVM nor ptxas optimises."""

    def compiled(*args: Any, **options: Any) -> Any:
        options["nvvm_options"] = {**(options.get("nvvm_options") or {}), "opt": 0}
        return _compiled(*args, **options)

    def asked(linker: Any, *args: Any, **options: Any) -> Any:
        return dataclasses.replace(kept(linker, *args, **options), optimization_level=0)

    kept = driver._Linker._get_linker_options
    seam.dispatcher_module.compile_cuda = compiled
    driver._Linker._get_linker_options = asked
    try:
        yield
    finally:
        seam.dispatcher_module.compile_cuda = _compiled
        driver._Linker._get_linker_options = kept


def check_seeds(seeds: Iterable[int]) -> list[Verdict]:
    """The verdicts of these seeds: the engine against the GPU."""
    return check_programs([program_of(seed) for seed in seeds])


def check_programs(programs: list[Program]) -> list[Verdict]:
    """The verdicts of these programs: the engine against the GPU."""
    nvvm.compile_ir = _with_rounded_products
    seam.dispatcher_module.compile_cuda = _compiled
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
            _compare(program, verdict, function, wanted, types, undefined == 0)
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
    cuda.jit(function)[LENGTH // BLOCK, BLOCK](*as_given(arguments))
    cuda.synchronize()


def _compare(
    program: Program, verdict: Verdict, function: Any, wanted: Any, types: Any, use: Any
) -> None:
    verdict.undefined = int((~use).sum())
    got, notes = arguments_of(program), comparing.Notes()
    try:
        comparing.run_engine(function, got, inference.infer(function, types), notes)
    except Exception as error:
        verdict.differences.append(f"the engine stops: {_said(error)}")
        return
    use = np.asarray(use)
    said = comparing.value_differences(program, got, wanted, use, "on a GPU", notes)
    if said and _same_without_optimisation(program, got, types, use, notes):
        verdict.optimised, said = [text.replace("Numba ", "GPU ") for text in said], []
    verdict.differences += [text.replace("Numba ", "GPU ") for text in said]
    verdict.rough = len(program.rough)
    verdict.exact = len(program.outputs) - verdict.rough


def _same_without_optimisation(
    program: Program, got: Any, types: Any, use: Any, notes: comparing.Notes
) -> bool:
    plain = arguments_of(program)
    try:
        with _without_optimisation():
            _on_gpu(comparing.function_of(program.source), plain, types)
    except Exception as error:
        print(f"  seed {program.seed}, without optimisation: {_said(error)}", file=sys.stderr)
        return False
    return not comparing.value_differences(program, got, plain, use, "", notes)
