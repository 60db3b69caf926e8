"""No array of a solution has a wider type than it needs: with a narrower one, it is refused."""

import ast
import linecache
from dataclasses import dataclass
from typing import Any

import pytest
from numba import cuda, types

from smemnb.exercises.check import graded
from smemnb.exercises.registry import exercises
from smemnb.exercises.source import function_of, source_of
from tests.tiers import sampled

ALL = exercises()
NARROWER = {
    "float64": ("float32", "int32"),
    "float32": ("float16", "int32"),
    "int32": ("float32", "int16"),
    "int16": ("float16", "int8"),
    "uint8": ("int8",),
}
"""The widest types of either kind that do not hold every value of the type.

What a narrower one of the kind holds, they hold as well: refused with int32, an answer would be
refused with int16 and int8.
"""

EXCEPTIONS = {
    ("ex02_quarter", "quarter_turn, array 1: uint8 -> int8"): (
        "a byte goes in and comes out with the same 8 bits, on a GPU as well: the answer is right"
    ),
    ("ex50_peak", "peaks, array 2: int32 -> float32"): (
        "a ticket, of which a launch has as many as blocks: float32 counts 16 million exactly"
    ),
    ("ex50_peak", "peaks, array 2: int32 -> int16"): (
        "a ticket, of which a launch has as many as blocks: int16 counts 32,767"
    ),
    ("ex53_copies", "row_counts, array 1: int32 -> float32"): (
        "counts below 2^24 are exact in float32: right, if slow, on a GPU as well"
    ),
    ("ex55_ranks", "row_ranks, array 1: int32 -> float32"): (
        "counts below 2^24, added up and passed on: as those of ex53_copies"
    ),
    ("ex55_mode", "most_frequent, array 1: int32 -> float32"): (
        "counts of a block, which are below 2^24 in any launch that ends: as those of ex53_copies"
    ),
    ("ex55_mode", "most_frequent, array 2: int32 -> float32"): (
        "a ticket, of which a launch has as many as blocks: float32 counts 16 million exactly"
    ),
    ("ex55_mode", "most_frequent, array 2: int32 -> int16"): (
        "a ticket, of which a launch has as many as blocks: int16 counts 32,767"
    ),
}
"""(exercise, what `narrowed` calls a change) -> why the checker may accept it."""
FOUND_EARLIER = {
    ("ex53_copies", "row_counts, array 1: int32 -> int16"): "kernel",  # no atomic of 2 bytes
    ("ex53_bins", "row_bins, array 1: int32 -> int16"): "kernel",
    ("ex55_ranks", "row_ranks, array 1: int32 -> int16"): "kernel",
    ("ex55_mode", "most_frequent, array 1: int32 -> int16"): "kernel",
    ("ex53_bins", "row_bins, array 1: int32 -> float32"): "findings",  # right, by float64
    # a copy moves bytes: both of its arrays have one dtype
    ("ex60_tail", "differences, array 1: float32 -> float16"): "kernel",
    ("ex60_tail", "differences, array 1: float32 -> int32"): "kernel",
    ("ex60_nearest", "nearest, array 1: float32 -> float16"): "kernel",
    ("ex60_nearest", "nearest, array 1: float32 -> int32"): "kernel",
}
"""The same -> the part of a verdict that refuses it, where it is not the values."""


@dataclass(frozen=True)
class Narrowed:
    """A solution with one array of another type; `name` says in which function, and which."""

    name: str
    solution: Any
    sources: dict[str, str]

    def kernel(self) -> Any:
        """The kernel of these sources."""
        return _rebuilt(self.solution, self.sources)


def narrowed(kernel):
    """Every change of one dtype of a shared or local array, in a kernel and what it calls."""
    sources = {name: source_of(made) for name, made in _called(kernel).items()}
    for name, text in sources.items():
        for number, node in enumerate(_dtypes(text), start=1):
            for other in NARROWER[node.id]:
                changed = {**sources, name: _replaced(text, node, other)}
                yield Narrowed(f"{name}, array {number}: {node.id} -> {other}", kernel, changed)


def _called(kernel):
    """Name -> device function, of all in the kernel's own file that it comes to, itself last."""
    function, found = function_of(kernel), {}
    for node in ast.walk(ast.parse(source_of(kernel))):
        made = function.__globals__.get(node.id) if isinstance(node, ast.Name) else None
        other = function_of(made)
        if other and other.__module__ == function.__module__ and other is not function:
            found.update(_called(made))
    return {**found, function.__name__: kernel}


def _dtypes(text):
    """The names of types in calls of `cuda.shared.array` and `cuda.local.array`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "cuda.shared.array",
            "cuda.local.array",
        ):
            given = [word.value for word in node.keywords if word.arg == "dtype"]
            yield (given or node.args[1:2])[0]


def _replaced(text, node, other):
    lines = text.split("\n")
    line = lines[node.lineno - 1]
    lines[node.lineno - 1] = line[: node.col_offset] + other + line[node.end_col_offset :]
    return "\n".join(lines)


def _rebuilt(kernel, sources):
    """The kernel of these texts, in the namespace of the one that is there."""
    function = function_of(kernel)
    names = {*NARROWER, *(name for every in NARROWER.values() for name in every)}
    space = {**function.__globals__, "cuda": cuda}
    space.update({name: getattr(types, name) for name in names})
    for name, text in sources.items():
        file = f"<narrowed {name} {hash(text)}>"
        linecache.cache[file] = (len(text) + 1, None, (text + "\n").splitlines(True), file)
        exec(compile(text + "\n", file, "exec"), space)
    return space[function.__name__]


EVERY = [(exercise, one) for exercise in ALL for one in narrowed(exercise.solution)]
"""All that is tried; a type that NARROWER does not know ends in a KeyError here."""


@pytest.mark.first(4)
@pytest.mark.parametrize(
    ("exercise", "one"),
    sampled(
        EVERY, 1, by=lambda pair: pair[0].chapter
    ),  # one of a chapter; mutants take each exercise
    ids=[f"{exercise.name} {one.name}" for exercise, one in EVERY],
)
def test_refused(exercise, one):
    """Refused for its values, so not for a cost that other types happen to have."""
    verdict = graded(exercise, one.kernel(), advise=False)
    if (exercise.name, one.name) in EXCEPTIONS:
        assert verdict
        return
    said = " ".join(repr(verdict).split())
    stopped = "moves 16 bytes" in said  # of fewer or more elements than were meant
    reason = FOUND_EARLIER.get((exercise.name, one.name), "kernel" if stopped else "output")
    assert (bool(verdict), verdict.reason) == (False, reason)


@pytest.mark.exhaustive
@pytest.mark.parametrize("exercise", ALL, ids=[exercise.name for exercise in ALL])
def test_nothing_else_is_lost(exercise):
    """A solution and its functions made anew from their own texts are accepted."""
    texts = {name: source_of(made) for name, made in _called(exercise.solution).items()}
    assert graded(exercise, _rebuilt(exercise.solution, texts))


def test_figure():
    """How many changes there are: of all exercises that have such an array."""
    without = {exercise.name for exercise in ALL} - {exercise.name for exercise, _ in EVERY}
    early = {"ex00_scale", "ex00_bias", "ex00_rounds", "ex10_mirror", "ex11_columns"}
    late = {"ex17_largest", "ex41_sums", "ex41_arrival", "ex51_peaks", "ex54_once"}
    assert without == early | late  # kernels of registers and global memory alone
    assert len(EVERY) >= 99
    assert len({(exercise.name, one.name) for exercise, one in EVERY}) == len(EVERY)


def test_exceptions_are_changes_and_have_reasons():
    """The list names changes that are tried, and says why each is accepted."""
    assert set(EXCEPTIONS) <= {(exercise.name, one.name) for exercise, one in EVERY}
    assert all(len(why) > 20 for why in EXCEPTIONS.values())
