"""What a case of this room is: a kernel as an engineer writes it who never heard of smemnb.

`@case(size, ..., finds="uncoalesced")` stands over a function that makes data of one size, launches
through `run(kernel)[grid, block](...)` and compares with a reference of its own. The same function
serves the plain launch and the traced ones. `finds` are all kinds of findings, notes included, that
a reader of the kernel expects; they hold for every size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from smemnb import trace

CASES: list[Case] = []


@dataclass(frozen=True)
class Case:
    """A program of one or more kernels, its sizes, and what is to be found in it."""

    name: str
    body: Callable[[Run, Any], None]
    sizes: tuple[Any, ...]
    finds: frozenset[str]
    wrong: str | None


def case(
    *sizes: Any, finds: str = "", wrong: str | None = None
) -> Callable[[Callable[[Run, Any], None]], Callable[[Run, Any], None]]:
    """Put the function below among the cases; `wrong` says what smemnb still gets wrong."""

    def keep(body: Callable[[Run, Any], None]) -> Callable[[Run, Any], None]:
        CASES.append(Case(body.__name__, body, sizes, frozenset(finds.split()), wrong))
        return body

    return keep


class Run:
    """Launches kernels plainly, or traced with what `watched` gives to `trace`."""

    def __init__(self, **watched: Any) -> None:
        self._watched, self.findings = watched, []

    def __call__(self, kernel: Any) -> Any:
        return _Launch(kernel, self, self._watched) if self._watched else kernel


class _Launch:
    def __init__(self, kernel: Any, run: Run, watched: dict[str, Any]) -> None:
        self._tracer, self._run = trace(kernel, **watched), run

    def __getitem__(self, configuration: Any) -> Any:
        def launch(*args: Any) -> Any:
            seen = self._tracer[configuration](*args)
            self._run.findings.extend(seen.findings)
            return seen

        return launch


def equal(got: Any, want: Any) -> None:
    """Equal values and shapes, exactly."""
    np.testing.assert_array_equal(got, want)


def close(got: Any, want: Any, relative: float, absolute: float = 0.0) -> None:
    """Within a tolerance, which the caller justifies."""
    np.testing.assert_allclose(got, want, rtol=relative, atol=absolute)


def rng(seed: int) -> np.random.Generator:
    """Seeded random numbers."""
    return np.random.default_rng(seed)


def blocks(size: int, threads: int) -> int:
    """Blocks that cover a size."""
    return -(-size // threads)
