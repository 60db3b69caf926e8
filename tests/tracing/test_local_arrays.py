"""Local arrays in the source view: where they lie, by which access, and what the compiler makes."""

import numpy as np
import pytest
from numba import cuda, float32

from smemnb import trace
from smemnb.compiled.lines import built
from smemnb.laboratory.corpus import FAMILIES
from smemnb.tracing.model import LocalTotals
from smemnb.tracing.prices.local_arrays import local_arrays
from smemnb.tracing.trace import Trace
from tests.corpus import local_arrays as _corpus  # noqa: F401
from tests.corpus.pairs import PAIRS
from tests.tracing.local_kernels import KERNELS, arguments, ring

EACH = [pytest.param(*one, id=one[0].py_func.__name__) for one in KERNELS]


def traced(kernel):
    return trace(kernel)[1, 32](*arguments())


@pytest.mark.parametrize(("kernel", "where", "size"), EACH)
def test_where_it_lies(kernel, where, size):
    """The answer of the source, with the bytes of a thread."""
    (array,) = local_arrays(kernel.py_func)
    assert (array.lies, array.bytes) == (where, size)


@pytest.mark.toolchain
@pytest.mark.parametrize(("kernel", "where", "size"), EACH)
def test_machine_code_agrees(kernel, where, size):
    """In registers there is no stack; in local memory there is one that holds the array."""
    build = built(kernel, arguments())
    stack = build.resources.local_bytes
    if where == "registers":
        assert stack == 0
    elif where == "local memory":
        assert stack >= size
    assert (stack == 0) == (not any(one.name.startswith(("LDL", "STL")) for one in build.code))


@pytest.mark.slow
@pytest.mark.toolchain
@pytest.mark.parametrize("case", FAMILIES["local"], ids=lambda case: case.name)
def test_corpus_agrees(case):
    """The same of the launches that a GPU has counted."""
    stack = built(case.kernel, case.arguments()).resources.local_bytes
    found = local_arrays(case.kernel.py_func)
    least = sum(array.bytes for array in found if array.lies == "local memory")
    assert stack >= least
    if found and all(array.lies == "registers" for array in found):
        assert stack == 0


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "pair",
    [one for one in PAIRS if "local_array" in one.kind],
    ids=lambda pair: pair.buggy.__name__,
)
def test_pairs_agree(pair):
    """Of the corpus, mistaken kernels have a stack and their clean twins none."""
    args = pair.args()
    stacks = [built(cuda.jit(one), args).resources.local_bytes for one in (pair.buggy, pair.clean)]
    assert [stack > 0 for stack in stacks] == [pair.kind == "local_array", False]


def test_accesses():
    """Each access expression with how its index is known, and why it is not."""
    (array,) = local_arrays(ring.py_func)
    found = [(one.text, one.kind, one.index) for one in array.accesses]
    assert found == [
        ("a[i]", "store", "compile time"),
        ("a[at]", "load", "run time"),
        ("a[at]", "store", "run time"),
    ]
    first = ring.py_func.__code__.co_firstlineno
    assert array.decided_by.line - first == 10
    assert array.decided_by.why == f"changed from round to round of the loop in line {first + 9}"


@pytest.mark.parametrize(("kernel", "where", "size"), EACH)
def test_findings(kernel, where, size):
    """A warning for local memory, a note where the compiler decides, nothing for registers."""
    kinds = {"registers": [], "open": ["open_local_array"], "local memory": ["local_array"]}
    found = [one for one in traced(kernel).findings if "local_array" in one.kind]
    assert [one.kind for one in found] == kinds[where]
    assert [one.severity for one in found] == ["note" if where == "open" else "warning"] * len(
        found
    )


def test_finding_names_line_bytes_and_lines():
    """The finding says where, how much, and in how many lines."""
    (found,) = (one for one in traced(ring).findings if one.kind == "local_array")
    first = ring.py_func.__code__.co_firstlineno
    assert (found.line, found.array, found.count) == (first + 10, "a", 2)
    assert "128 bytes per thread" in found.cause


def test_totals():
    """Bytes per thread by where they lie, and the same after JSON."""
    found = traced(two_arrays)
    assert found.local == LocalTotals(arrays=2, bytes=272, registers=16, local_memory=256, open=0)
    assert Trace.from_json(found.to_json()) == found
    assert [array.name for array in found.local_arrays] == ["few", "many"]


@cuda.jit
def two_arrays(out, inp, idx, n):
    few, many = cuda.local.array(4, float32), cuda.local.array((8, 8), float32)
    for i in range(4):
        few[i] = inp[i]
    for i in range(8):
        for j in range(8):
            many[i, j] = inp[i + j]
    for i in range(n):
        many[i % 8, i % 3] += few[2]
    out[n] = many[n, n] + few[1]


@cuda.jit
def no_array(out, inp, idx, n):
    out[n] = inp[n]


def test_in_reports():
    """A line per local array in text and HTML, none for a kernel without one."""
    for said in (repr(traced(two_arrays)), traced(two_arrays)._repr_html_()):
        assert said.count("bytes per thread, in local memory") == 1
        assert said.count("bytes per thread, in registers") == 1
    assert "bytes per thread" not in repr(traced(no_array))
    assert traced(no_array).local_arrays == ()


def test_extents_of_a_factory():
    """Names of the factory around a kernel are known; each kernel has its own answer."""
    answers = [local_arrays(_rounds(rounds).py_func)[0].lies for rounds in (4, 100, 150, 300)]
    assert answers == ["registers", "registers", "open", "local memory"]


def _rounds(rounds):
    @cuda.jit
    def kernel(out, inp, idx, n):
        a = cuda.local.array(rounds, float32)
        for i in range(rounds):
            a[i] = inp[i + n]
        for i in range(rounds):
            out[i] = a[i] * a[rounds - 1 - i]

    return kernel


def test_results_are_those_of_the_launch():
    """The source view changes nothing of what is computed."""
    out, *rest = arguments()
    trace(two_arrays)[1, 1](out, *rest)
    assert out[3] == np.float32(2)


def test_finished_kernels_keep_theirs_in_registers():
    """No local array of the package's kernels lies in local memory, or may lie there."""
    found = [
        (case.name, array.name, array.lies)
        for case in FAMILIES["package"]
        for array in local_arrays(case.kernel.py_func)
    ]
    assert len(found) >= 40
    assert [one for one in found if one[2] != "registers"] == []
