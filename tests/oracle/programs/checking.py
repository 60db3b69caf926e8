"""Seeds checked: written, compiled by Numba, run on the host and in the engine, compared."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from typing import Any

from smemnb.simulator import inference

from . import comparing, host
from .comparing import Verdict, arguments_of, as_given
from .writing import LENGTH, Program, program_of

_LEFT_OUT = host.UNDEFINED | host.ENDED


def check_seeds(seeds: Iterable[int]) -> list[Verdict]:
    """The verdicts of these seeds, compiled into one module."""
    return check_programs([program_of(seed) for seed in seeds])


def check_programs(programs: list[Program]) -> list[Verdict]:
    """The verdicts of these programs, compiled into one module."""
    verdicts = [Verdict(program.seed, program.source) for program in programs]
    ready: list[tuple[Any, ...]] = []
    for program, verdict in zip(programs, verdicts, strict=True):
        try:
            function = comparing.function_of(program.source)
            arguments = arguments_of(program)
            types = tuple(map(inference.argument_type, as_given(arguments)))
            compiled = host.compile_program(function, types)
        except (host.Refused, SyntaxError) as error:
            verdict.refused = _last_line(error)
            continue
        ready.append((program, verdict, function, arguments, types, compiled))
    used = host.run_programs([(r[5], r[3]) for r in ready], LENGTH)
    for (program, verdict, function, wanted, types, compiled), flags in zip(
        ready, used, strict=True
    ):
        if isinstance(flags, str):
            verdict.refused = flags
        else:
            _compare(program, verdict, function, wanted, types, compiled, flags & _LEFT_OUT == 0)
    return verdicts


def _last_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return (lines or [repr(error)])[0][:200]


def _compare(
    program: Program,
    verdict: Verdict,
    function: Any,
    wanted: Any,
    types: Any,
    compiled: Any,
    use: Any,
) -> None:
    verdict.undefined = int((~use).sum())
    by_name: dict[str, set[str]] = {}
    for (name, _), kinds in compiled.variables.items():
        by_name.setdefault(name, set()).update(kinds)
    returns = "device0(" in program.source  # on two paths, perhaps with two types
    verdict.several = (
        returns or compiled.merged or any(len(kinds) > 1 for kinds in by_name.values())
    )
    modes = ["own types", "inferred types"][verdict.several :]
    for mode in modes:
        notes = comparing.Notes()
        got = arguments_of(program)
        try:
            given = inference.infer(function, types) if mode == "inferred types" else None
            comparing.run_engine(function, got, given, notes)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            verdict.differences.append(
                f"the engine stops ({mode}): {type(error).__name__}: {error} "
                f"[{where.filename.rsplit('/', 1)[-1]}:{where.lineno}]"
            )
            continue
        verdict.types += len(notes.types)
        verdict.differences += [
            f"{said} ({mode})"
            for said in comparing.type_differences(
                program.source, notes.types, compiled.expressions
            )
        ]
        verdict.differences += comparing.value_differences(program, got, wanted, use, mode, notes)
    verdict.rough = len(program.rough)
    verdict.exact = len(program.outputs) - verdict.rough
