"""What an exercise consists of: specification, solution, wrong answers, cases, budget, fresh cases.

How to add one, `exNN_<noun>`:

1. Write `chapters/exNN_<noun>.py`, and its name into the table of `chapters/__init__.py`.
2. Write the solution as a `@cuda.jit` kernel (`out` first, then inputs, then scalars). Above lines
   that are the learner's, write how many they are: `# FILL (about 2 lines)`. The stub is made from
   this text (`Exercise.stub`); the chapter's cell has the same text.
3. Write four or more wrong answers, the mistakes that learners make: the mistake in a sentence, the
   lines of the solution that are different, and which part of the verdict refuses it, with words
   that must stand there.
4. Write the specification in NumPy: it gets what the kernel gets after `out`, and returns what
   `out` must hold (a tuple of arrays if the kernel has several outputs).
5. List the cases: full, ragged, one row, one column, two launches of the same data at least.
   `scattered` makes whole numbers without symmetry, `cover` a grid.
6. Set the budget to what the solution takes, exactly; a case may have one of its own.
7. Write `_fresh(draw)`, which yields the cases that nobody knows beforehand: every published case
   can be looked up, and its answer kept in a table. `draw.size(low, high)` and `draw.one_of(...)`
   choose sizes and launches, as far as the exercise lets them vary, and `draw.numbers()` is a seed
   for `scattered`. Two cases are mostly enough: whole tiles with `like=0`, which is held to what
   published case 0 asks for, in the counts of the solution's own run; and a ragged size with
   numbers as large as those of the published cases, which needs no budget (the exercise's holds).
   Keep both as small as the published ones: every check runs them.

`pytest tests/exercises -k exNN_<noun>` then checks that the stub and each wrong answer are refused,
the wrong ones for their reason, that the solution is accepted, and that the budget is exact; that a
table of all published answers is refused, and the solution accepted with several seeds.
`chapters/ex00_scale.py` is an example.

**Limits**: outputs are arrays of floats or integers; the engine reports a store outside of an array
(`out_of_range`), so there are no guard elements around outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from . import variants
from .draw import Draw

Array = np.ndarray[Any, np.dtype[Any]]
Kernel = Any
"""What `@cuda.jit` returns; Numba has no public type for it."""

PARTS = (
    *("kernel", "output", "inputs", "findings"),
    *("wavefronts", "sectors", "requests", "shared", "barriers", "order", "machine"),
)
"""The parts of a verdict, in the order in which they are graded."""


@dataclass(frozen=True)
class Budget:
    """The most a kernel may take in one launch; None where nothing is asked.

    `extra` and `ways` hold for each source line that touches shared memory, and
    `sectors_per_request` for each that touches global memory (its mean over the launch), `sectors`
    for all requests of a parameter together (of full requests that begin anywhere, say).
    `requests` counts loads and stores per parameter, `shared_requests` those of shared memory in
    all, `shared_loads` the loads among them, `shared_bytes` bytes per block, `barriers` those that
    a block passes.
    """

    extra: int | None = 0
    ways: int | None = None
    sectors_per_request: int | None = None
    requests: Mapping[str, int] = field(default_factory=dict)
    sectors: Mapping[str, int] = field(default_factory=dict)
    shared_bytes: int | None = None
    shared_requests: int | None = None
    shared_loads: int | None = None
    barriers: int | None = None


@dataclass(frozen=True)
class MachineCode:
    """The most that the compiled kernel (cc 9.0) may take in one turn of its tile loop.

    A turn is what stands around the loop of the multiply-adds once, and that loop as often as
    `multiply_adds`, those of a thread in a turn, ask for. `turn` counts all of its instructions,
    `each` those of a name with its width, such as {"LDS": 0} for reads of 4 bytes. A call, an
    integer division or an access to local memory in it is always refused.

    Compilers differ a little: leave `turn` room, up to the middle between the solution and the
    answer that has to be refused.
    """

    multiply_adds: int
    turn: int
    each: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One launch on one set of inputs; `budget` replaces the exercise's where it is given.

    A fresh case has a `seed`, and may be `like` a published one: it is held to the same counts as
    that one, in the numbers that the solution takes for the fresh case.
    """

    inputs: Callable[[], tuple[Any, ...]]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    budget: Budget | None = None
    shared_bytes: int = 0
    like: int | None = None
    seed: int | None = None


@dataclass(frozen=True)
class Wrong:
    """An answer that has to be refused.

    Attributes:
        mistake: what is wrong with it, in a sentence.
        answer: the lines in which it differs from the solution, as `variants.edited` takes them, or
            a kernel where it differs in more.
        refused_by: the part of the verdict that refuses it, and words that stand there.
    """

    mistake: str
    answer: Mapping[str, str] | Kernel
    refused_by: tuple[str, str]


@dataclass(frozen=True, eq=False)
class Exercise:
    """All that is known of one exercise.

    `start` is what the elements of the outputs hold before the launch (an accumulator wants 0);
    None poisons them, so that an element that was never written shows. `rtol` is for results that
    depend on the order of rounding; whole numbers mostly allow 0. `fresh` makes cases of what it
    draws; None for an exercise that is tried on its published cases alone. `forecast_case` is the
    published case whose counts a forecast is of. `overlap_case` is the published case in which a
    tile must be read between each load of the next one and its store; None where nothing is asked.
    `pipeline_case` is the published case in which asynchronous copies must be under way while a
    tile is read, likewise.
    `machine_code` holds for the kernel, not for a launch, and is looked at where the compiler's
    wheels are; `wrong_code` are answers that nothing else refuses. `written` are device functions
    that the learner writes beside the kernel: the solution is shown with them.
    """

    name: str
    chapter: str
    title: str
    specification: Callable[..., Array | tuple[Array, ...]]
    solution: Kernel
    wrong: tuple[Wrong, ...]
    cases: tuple[Case, ...]
    hints: tuple[str, str, str]
    budget: Budget = field(default_factory=Budget)
    start: int | None = None
    rtol: float = 0.0
    fresh: Callable[[Draw], Iterable[Case]] | None = None
    forecast_case: int = 0
    overlap_case: int | None = None
    pipeline_case: int | None = None
    machine_code: MachineCode | None = None
    wrong_code: tuple[Wrong, ...] = ()
    written: tuple[Kernel, ...] = ()

    def drawn(self, seed: int) -> tuple[Case, ...]:
        """The fresh cases of a seed, the same ones for the same seed."""
        cases = self.fresh(Draw(seed, self.name)) if self.fresh else ()
        return tuple(replace(case, seed=seed) for case in cases)

    @cached_property
    def stub(self) -> str:
        """The source that learners start from."""
        return variants.stub_of(self.solution)

    def wrong_kernel(self, wrong: Wrong) -> Kernel:
        """The kernel of a wrong answer."""
        if isinstance(wrong.answer, Mapping):
            return variants.edited(self.solution, wrong.answer)
        return wrong.answer


def scattered(
    shape: int | tuple[int, ...],
    seed: int = 0,
    *,
    low: int = -99,
    high: int = 99,
    dtype: npt.DTypeLike = np.float32,
) -> Array:
    """Whole numbers from `low` to `high` in no order, the same on every machine and NumPy.

    >>> scattered(5, seed=1)
    array([-59., -93.,  96.,  81.,  45.], dtype=float32)
    """
    count = int(np.prod(shape))
    # splitmix64: NumPy's own generators may change their streams between releases.
    mixed = np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed) * np.uint64(count + 7919)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    values = (mixed % np.uint64(high - low + 1)).astype(np.int64) + low
    return values.astype(dtype).reshape(shape)


def sizes(count: int, seed: int, *, low: int, high: int) -> tuple[int, ...]:
    """`count` sizes from `low` to `high`, drawn once and for all by `seed`.

    >>> sizes(3, seed=1, low=1, high=600)
    (298, 441, 233)
    """
    drawn = scattered(count, seed, low=low, high=high, dtype=np.int64)
    return tuple(int(size) for size in drawn)


def cover(extent: tuple[int, ...], block: tuple[int, ...]) -> tuple[int, ...]:
    """The smallest grid whose blocks cover `extent` threads per axis (x first), at least one.

    >>> cover((35, 40), (32, 8))
    (2, 5)
    """
    return tuple(max(1, -(-e // b)) for e, b in zip(extent, block, strict=True))
