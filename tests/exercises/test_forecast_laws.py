"""Laws of forecasts, over kernels of the package and of the corpus.

The accesses of a table are those that stand in the source, by a second reading of it; a forecast of
the trace's own figures is right as a whole; each figure that is one off is found, and no other.
"""

import ast
import inspect
import textwrap
from collections import Counter
from functools import cache

import numpy as np
import pytest
from empty_signature import running_sums

from smemnb import trace
from smemnb.exercises.forecasts import tries
from smemnb.exercises.forecasts.accesses import accesses_of, meant
from smemnb.exercises.forecasts.figures import check_form, matched
from smemnb.exercises.forecasts.judging import judged, right_at_first_try
from smemnb.exercises.forecasts.words import because, rule
from smemnb.exercises.grading.observe import initial_output, outputs_of
from smemnb.exercises.registry import exercises
from smemnb.kernels.matmul.ladder import LADDER as PRODUCTS
from smemnb.kernels.transpose.ladder import LADDER as TRANSPOSES
from smemnb.tracing.patterns import patterns_of
from tests.corpus import local_arrays, memory, order, prices, races_global, races_shared, threads  # noqa: F401
from tests.corpus.pairs import PAIRS
from tests.tiers import exhaustive

RUNGS = "matmul_naive matmul_tiled matmul_square matmul_turned_padded matmul_laid_out".split()
RUNGS += ["matmul_by_quads", "matmul_fastest"]


def cases():
    """Kernels of the package and of the corpus: name, kernel, launch, and what makes arguments."""
    yield "running_sums", running_sums, ((3, 2), (32, 8)), _matrices(50, 70)
    for rung in TRANSPOSES:
        yield (
            rung.name,
            rung.kernel,
            (rung.grid(64, 96), rung.block),
            _matrices(64, 96, turned=True),
        )
    for rung in (one for one in PRODUCTS if one.name in RUNGS):
        yield rung.name, rung.kernel, (rung.grid(128, 128), rung.block), _factors(rung.scaled)
    for one in exercises():
        case = one.cases[one.forecast_case]
        launch = case.grid, case.block, 0, case.shared_bytes
        yield one.name, one.solution, launch, _of_exercise(one, case)
    for pair in PAIRS:
        for side in ("buggy", "clean"):
            yield f"{side}-{pair.name}", getattr(pair, side), pair.launch, pair.args


def _matrices(rows, cols, turned=False):
    inp = np.arange(rows * cols, dtype=np.float32).reshape(rows, cols)
    return lambda: (np.zeros((cols, rows) if turned else (rows, cols), np.float32), inp)


def _factors(scaled):
    a = np.arange(128 * 24, dtype=np.float32).reshape(128, 24)
    more = (np.float32(2), np.float32(3)) if scaled else ()
    return lambda: (np.zeros((128, 128), np.float32), a, a.reshape(24, 128), *more)


def _of_exercise(exercise, case):
    def args():
        inputs = case.inputs()
        return *(initial_output(exercise, one) for one in outputs_of(exercise, inputs)), *inputs

    return args


CASES = list(cases())
MOST = 24
"""Changes of one kernel that are tried; each that is wrong runs the launch again."""
PLAIN = [one for one in CASES if not one[0].startswith(("buggy", "clean"))]


def few(every, first):
    """These first cases in the first tier, one in four in the second, the others at night."""
    found = []
    for number, one in enumerate(every):
        rare = pytest.mark.nightly if number % 4 else exhaustive
        found.append(pytest.param(*one, id=one[0], marks=() if one[0] in first else (rare,)))
    return found


@cache
def traced(name):
    """The trace of a case; with what a buggy kernel leaves of it."""
    _, kernel, launch, args = next(one for one in CASES if one[0] == name)
    return trace(kernel, checks=False)[launch](*args())


# --- the source, read once more -------------------------------------------------------------


def functions_of(kernel):
    """The kernel and the device functions that it calls, each once."""
    waiting, met = [kernel], {}
    while waiting:
        one = waiting.pop()
        function = getattr(one, "py_func", one)
        if function.__code__ in met:
            continue
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
        met[function.__code__] = tree
        known = inspect.getclosurevars(function)
        for called in (*known.globals.values(), *known.nonlocals.values()):
            if hasattr(called, "py_func") and "numba" not in called.py_func.__module__:
                waiting.append(called)
    return met.values()


def in_source(kernel):
    """Function, line, kind and text of what may touch an array, by the syntax alone."""
    found = Counter()
    for tree in functions_of(kernel):
        inner = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Subscript)}
        both = {id(one.target) for one in ast.walk(tree) if isinstance(one, ast.AugAssign)}
        for one in ast.walk(tree):
            if isinstance(one, ast.Subscript) and id(one) not in inner:
                stored = isinstance(one.ctx, ast.Store)
                kinds = {"store" if stored else "load"} | ({"load"} if id(one) in both else set())
                for kind in kinds:
                    found[tree.name, one.lineno, kind, ast.unparse(one)] += 1
    return found


@pytest.mark.parametrize(("name", "kernel", "launch", "args"), few(CASES, {"running_sums"}))
def test_accesses_stand_in_the_source(name, kernel, launch, args):
    """None is invented: each subscript of the table is one of the source, as often at most."""
    listed = Counter(
        (row.function, row.line, row.kind, row.text)
        for row in (one.row for one in accesses_of(traced(name)))
        if row.text.endswith("]") and not row.kind.startswith("atomic")
    )
    assert not listed - in_source(kernel)


@pytest.mark.parametrize(("name", "kernel", "launch", "args"), few(PLAIN, {"running_sums"}))
def test_accesses_of_the_source_are_listed(name, kernel, launch, args):
    """None is missed: what the source does to a parameter or a shared array is in the table."""
    listed = {(row.function, row.line, row.kind, row.text) for row in traced(name).lines}
    arrays = {row.text.partition("[")[0] for row in traced(name).lines}
    asked = {one for one in in_source(kernel) if one[3].partition("[")[0] in arrays}
    assert not asked - listed


# --- forecasts of the trace's own figures ---------------------------------------------------


def counted(accesses):
    return {one.name: tuple(map(one.counted, one.columns)) for one in accesses}


@pytest.mark.parametrize(("name", "kernel", "launch", "args"), few(CASES, {"running_sums"}))
def test_true_figures_are_right(name, kernel, launch, args):
    """Names are all different, each is its own, and the trace's figures are right as a whole."""
    tries.forget()
    accesses = accesses_of(traced(name))
    figures = counted(accesses)
    assert len(figures) == len(accesses)
    assert all(meant(accesses, one.name) == [one] for one in accesses)
    check_form(name, name, figures)
    lines = judged(name, traced(name), accesses, matched(accesses, figures))
    assert {line.state for line in lines} <= {"right"}
    assert right_at_first_try(name, accesses) == len(accesses)


@pytest.mark.parametrize(("name", "kernel", "launch", "args"), few(PLAIN, {"running_sums"}))
def test_one_off(name, kernel, launch, args):
    """Every figure, one more or one less alone, is misjudged, it and no other one."""
    tries.forget()
    accesses = accesses_of(traced(name))
    figures = counted(accesses)
    changes = [
        (one, at, by) for one in accesses for at in range(len(one.columns)) for by in (-1, 1)
    ]
    for one, at, by in changes if len(changes) < MOST else changes[:: len(changes) // MOST + 1]:
        changed = [number + by * (at == place) for place, number in enumerate(figures[one.name])]
        given = matched(accesses, figures | {one.name: tuple(changed)})
        lines = judged(name, traced(name), accesses, given)
        missed = [(line.access, each.column) for line in lines for each in line.misjudged]
        assert missed == [(one.name, one.columns[at])]
        (line,) = (line for line in lines if line.misjudged)
        assert line.misjudged[0].given == changed[at]
        assert [each.state for each in lines].count("right") == len(lines) - 1


@pytest.mark.parametrize(("name", "kernel", "launch", "args"), few(CASES, {"running_sums"}))
def test_the_rule_comes_to_the_count(name, kernel, launch, args):
    """Told, the sentences of each column contain the count of the launch; no sentence is empty."""
    accesses = [one for one in accesses_of(traced(name)) if one.row.requests]
    for one, found in zip(
        accesses, patterns_of(traced(name), [one.row for one in accesses]), strict=True
    ):
        for column in one.columns:
            said = list(because(one.row, column, found, told=True))
            assert all(said), (one.name, column)
            assert f"{one.counted(column):,}" in " ".join(said), (one.name, column)
            assert rule(one.row, column)
