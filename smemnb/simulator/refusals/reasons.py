"""Why Numba found no implementation of a call: the reason that it gives below its first line.

| No implementation of function Function(...) found for signature:
|  >>> fma(float32, array(float32, 1d, C), Literal[int](1))
| There are 2 candidate implementations:
|   - Of which 2 did not match due to:
|     ...
|       No match for registered cases:
|        * (float32, float32, float32) -> float32
|   - Of which 1 did not match due to:
|     ...
|       Rejected as the implementation raised a specific error:
|         TypingError: shfl_sync only supports 32- and 64-bit ints and floats
"""

from __future__ import annotations

import re

from .words import arguments, plain

MOST_CASES = 4
_CASE = re.compile(r"^\s*\* \((.*)\) -> ", re.MULTILINE)
_REJECTED = "Rejected as the implementation raised a specific error:"
_OF_THE_COUNT = re.compile(r"argument")  # too many, a missing one: another form of the function
_NAME = re.compile(r"^\w+(Error|Exception): ")


def call_of(text: str) -> str:
    """The call that Numba quotes, with its types in plain words; "" if it quotes none."""
    quoted = re.search(r">>> (\w[\w.]*)\(", text)
    if quoted is None:
        return ""
    return f"{quoted[1]}({', '.join(plain(kind) for kind in arguments(text))})"


def reason(text: str) -> str:
    """What Numba says of the implementations that it did not take; "" if it says nothing."""
    raised = list(_raised([line.strip() for line in text.splitlines()]))
    telling = [said for said in raised if not _OF_THE_COUNT.search(said)]
    if telling:
        return f"Numba says: {telling[0].rstrip('.')}."
    cases = list(dict.fromkeys(_CASE.findall(text)))
    if cases:
        more = ", and more" if len(cases) > MOST_CASES else ""
        return f"It takes {' or '.join(f'({case})' for case in cases[:MOST_CASES])}{more}."
    if raised:
        return f"Numba says: {raised[0].rstrip('.')}."
    return (
        "A bool is no number there: cast it, as in int32(p)." if "bool" in arguments(text) else ""
    )


def _raised(lines: list[str]) -> list[str]:
    """The errors of implementations, without their class and the pipelines they came through."""
    found = []
    for at, line in enumerate(lines):
        if line != _REJECTED:
            continue
        said = (_NAME.sub("", one) for one in lines[at + 1 :])
        found.append(next((one for one in said if one and not one.startswith("Failed in")), ""))
    return [one for one in found if one]
