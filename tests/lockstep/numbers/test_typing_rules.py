"""The engine's typing rules against Numba's own CUDA inference, for every pair of types."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest
from oracle import inference
from oracle.inference import REFUSED, literal, result, types

from smemnb.lockstep.numbers import typing_rules as rules
from smemnb.lockstep.numbers.typing_rules import SUPPORTED

REAL = [d for d in SUPPORTED if d.kind != "c"]
FUNCTIONS = {
    "+": (operator.add, operator.iadd),
    "-": (operator.sub, operator.isub),
    "*": (operator.mul, operator.imul),
    "/": (operator.truediv, operator.itruediv),
    "//": (operator.floordiv, operator.ifloordiv),
    "%": (operator.mod, operator.imod),
    "**": (operator.pow, operator.ipow),
    "<<": (operator.lshift, operator.ilshift),
    ">>": (operator.rshift, operator.irshift),
    "&": (operator.and_, operator.iand),
    "|": (operator.or_, operator.ior),
    "^": (operator.xor, operator.ixor),
    "<": (operator.lt,),
    "<=": (operator.le,),
    ">": (operator.gt,),
    ">=": (operator.ge,),
    "==": (operator.eq,),
    "!=": (operator.ne,),
}
# the numba.cuda inside numba has no float16 for these; numba-cuda has, and is followed
NO_HALF_IN_TREE = {operator.pos}


def ours(op: str, a: np.dtype[Any], b: np.dtype[Any]) -> Any:
    try:
        return rules.binary(op, a, b).result
    except TypeError:
        return REFUSED


@pytest.mark.first(6)
@pytest.mark.parametrize("op", rules.OPERATORS)
def test_binary(op: str) -> None:
    """14 x 14 types: the result is Numba's, for the operator and for its augmented form."""
    for function in FUNCTIONS[op]:
        if function is operator.itruediv and not inference.IN_TREE:
            continue  # test_integer_itruediv
        differing = [
            (str(a), str(b), str(ours(op, a, b)), str(result(function, a, b)))
            for a, b in itertools.product(SUPPORTED, SUPPORTED)
            if ours(op, a, b) != result(function, a, b)
        ]
        assert differing == []


def test_integer_itruediv() -> None:
    """numba-cuda types int /= int as int64 and compiles the float64 quotient; we say float64."""
    for a, b in itertools.product(SUPPORTED, SUPPORTED):
        found = result(operator.itruediv, a, b)
        if found != ours("/", a, b):
            assert not inference.IN_TREE
            assert ours("/", a, b) == np.float64
            assert found in (np.int64, np.uint64)


@pytest.mark.first(6)
@pytest.mark.parametrize("op", rules.OPERATORS)
def test_literals_change_nothing(op: str) -> None:
    """An integer literal on either side is typed like an int64 variable."""
    function = FUNCTIONS[op][0]
    for a, value in itertools.product(SUPPORTED, (0, 1, 2, 5, -1, 2**31, 2**40)):
        assert result(function, a, literal(value)) == ours(op, a, rules.INT64)
        assert result(function, literal(value), a) == ours(op, rules.INT64, a)


@pytest.mark.parametrize("op", rules.OPERATORS)
def test_table(op: str) -> None:
    """Where the table says None, NumPy's result type is Numba's; else cast and op give it."""
    compute = rules._NUMPY[op]
    for a, b in itertools.product(SUPPORTED, SUPPORTED):
        entry = rules.TABLE[op][a.num][b.num]
        if isinstance(entry, rules.Refused):
            with pytest.raises(TypeError, match="has no meaning in a kernel"):
                tuple(entry)
            continue
        left, right = (a, b) if entry is None else (entry.cast, entry.cast)
        for x, y in ((np.ones(1, left), np.ones(1, right)), (left.type(1), right.type(1))):
            assert compute(x, y).dtype == rules.binary(op, a, b).result


def test_table_knows_both_64_bit_names() -> None:
    """C long and long long are one int64, whichever number NumPy gives it."""
    long, longlong = np.dtype("l").num, np.dtype("q").num
    if np.dtype("l").itemsize == 8:
        assert rules.TABLE["+"][long][np.dtype("i4").num] == rules.TABLE["+"][longlong][5]
        assert rules.TABLE["<"][longlong][np.dtype("Q").num].cast == np.float64


COMPARED_AS = {
    ("int64", "uint64"): "float64",
    ("int32", "uint32"): "int64",
    ("int8", "uint8"): "int16",
    ("bool", "uint16"): "uint16",
    ("uint16", "float32"): "float64",
    ("uint8", "float32"): "float32",
    ("int32", "float32"): "float64",
}


@pytest.mark.parametrize("pair", COMPARED_AS)
def test_comparisons_cast_to(pair: tuple[str, str]) -> None:
    """Numba's signature of < names the type that both sides are compared in."""
    a, b = map(np.dtype, pair)
    assert rules.binary("<", a, b) == (np.dtype(COMPARED_AS[pair]), np.dtype("bool"))
    inference.CONTEXT.refresh()
    types_of = tuple(map(inference.numba_type, (a, b)))
    signature = inference.CONTEXT.resolve_function_type(operator.lt, types_of, {})
    assert [inference.dtype_of(t) for t in signature.args] == [np.dtype(COMPARED_AS[pair])] * 2


@pytest.mark.parametrize("op", ("==", "<"))
def test_every_comparison_casts_to_numbas_argument_types(op: str) -> None:
    inference.CONTEXT.refresh()
    for a, b in itertools.product(REAL, REAL):
        types_of = tuple(map(inference.numba_type, (a, b)))
        signature = inference.CONTEXT.resolve_function_type(FUNCTIONS[op][0], types_of, {})
        cast = rules.binary(op, a, b).cast
        assert [inference.dtype_of(t) for t in signature.args] == [cast, cast]


@pytest.mark.parametrize(
    "op, function",
    {
        "-": operator.neg,
        "+": operator.pos,
        "~": operator.invert,
        "not": operator.not_,
        "abs": abs,
    }.items(),
)
def test_unary(op: str, function: Any) -> None:
    for a in SUPPORTED:
        if inference.IN_TREE and function in NO_HALF_IN_TREE and a == np.float16:
            continue
        entry = rules.UNARY[op][a.num]
        wanted = result(function, a)
        if isinstance(entry, rules.Refused):
            assert wanted == REFUSED
        elif entry is None:
            compute = {"-": np.negative, "+": np.positive, "~": np.invert}.get(
                op, np.logical_not if op == "not" else np.absolute
            )
            assert compute(np.ones(1, a)).dtype == wanted
        else:
            assert entry.result == wanted


def test_unify() -> None:
    """A variable of one type on one path and of another on the other."""
    for a, b in itertools.product(SUPPORTED, SUPPORTED):
        assert rules.unify(a, b) == inference.unified(a, b)
        assert rules.UNIFY[a.num][b.num] == inference.unified(a, b)


def test_unify_three() -> None:
    for group in itertools.product(SUPPORTED, repeat=3):
        assert rules.unify(*group) == inference.unified(*group)


def test_range() -> None:
    """One, two and three bounds of every type."""
    for count in (1, 2):
        for bounds in itertools.product(REAL, repeat=count):
            assert rules.range_dtype(*bounds) == inference.range_result(*bounds)
    some = [np.dtype(c) for c in ("i1", "i4", "i8", "u1", "u4", "u8", "f4")]
    for bounds in itertools.product(some, repeat=3):
        assert rules.range_dtype(*bounds) == inference.range_result(*bounds)
    assert inference.range_result(literal(5)) == rules.INT64
    assert inference.range_result(np.dtype("i4"), literal(5)) == rules.INT64


@pytest.mark.parametrize("function, rule", [(int, rules.int_dtype), (float, rules.float_dtype)])
def test_casts(function: Any, rule: Any) -> None:
    for a in REAL:
        wanted = result(function, a)
        if wanted != REFUSED:
            assert rule(a) == wanted


@pytest.mark.parametrize(
    "value, name",
    [
        (7, "int64"),
        (-1, "int64"),
        (2**40, "int64"),
        (2**63, "uint64"),
        (1.5, "float64"),
        (True, "bool"),
        (1j, "complex128"),
        (np.float32(1), "float32"),
        (np.int32(3), "int32"),
    ],
)
def test_literal_dtype(value: Any, name: str) -> None:
    assert rules.literal_dtype(value) == np.dtype(name)
    assert inference.expression("VALUE", {"VALUE": value}) == np.dtype(name)


def test_literal_that_does_not_fit() -> None:
    with pytest.raises(TypeError, match="does not fit 64 bits"):
        rules.literal_dtype(2**64)


def test_static_power() -> None:
    """The square of a float32 is a float32, of an int32 an int64."""
    assert rules.static_power(np.dtype("f4"), 2).result == np.float32
    assert rules.static_power(np.dtype("i4"), 2).result == np.int64
    for a, exponent in itertools.product(REAL, (0, 1, 2, 3, -1)):
        wanted = inference.expression(f"x ** {exponent}", {}, x=inference.numba_type(a))
        assert rules.static_power(a, exponent).result == wanted


ARRAY = types.float32[:, ::1]
REGISTERS = ["threadIdx.x", "threadIdx.z", "blockIdx.y", "blockDim.x", "gridDim.z", "laneid"]
GRIDS = ["grid(1)", "grid(2)[0]", "gridsize(1)", "gridsize(2)[1]"]
SIZES = ["a.shape[0]", "a.strides[1]", "a.size", "a.ndim", "a.itemsize", "a.nbytes", "len(a)"]


@pytest.mark.parametrize("source", REGISTERS)
def test_coordinates(source: str) -> None:
    wanted = inference.expression(f"cuda.{source}", {})
    assert rules.COORDINATES[source.split(".")[0]] == wanted


@pytest.mark.parametrize("source", GRIDS)
def test_grids(source: str) -> None:
    assert rules.SIZES[source.split("(")[0]] == inference.expression(f"cuda.{source}", {})


@pytest.mark.parametrize("source", SIZES)
def test_sizes(source: str) -> None:
    name = "len" if source == "len(a)" else source.split("[")[0].split(".")[1]
    assert rules.SIZES[name] == inference.expression(source, {}, a=ARRAY)


CALLS = {
    "syncthreads_count": "i",
    "syncthreads_and": "i",
    "syncthreads_or": "i",
    "all_sync": "m, p",
    "any_sync": "m, p",
    "eq_sync": "m, p",
    "ballot_sync": "m, p",
    "match_any_sync": "m, i",
    "activemask": "",
    "lanemask_lt": "",
    "ffs": "l",
}


@pytest.mark.parametrize("name", CALLS)
def test_call_results(name: str) -> None:
    wanted = inference.expression(
        f"cuda.{name}({CALLS[name]})",
        {},
        i=types.int32,
        l=types.int64,
        m=types.int64,
        p=types.boolean,
    )
    assert rules.CALL_RESULTS[name] == wanted


def test_match_all_sync() -> None:
    wanted = inference.expression("cuda.match_all_sync(m, i)", {}, m=types.int64, i=types.int32)
    assert wanted == (rules.CALL_RESULTS["match_all_sync"], np.dtype("bool"))


def test_shuffled() -> None:
    """What a shuffle takes keeps its type; numba-cuda refuses the rest."""
    for a in REAL:
        found = inference.expression(
            "cuda.shfl_sync(m, v, 0)", {}, m=types.int64, v=inference.numba_type(a)
        )
        if a in rules.SHUFFLED:
            assert found == a
        elif not inference.IN_TREE:
            assert found == REFUSED


@pytest.mark.parametrize("name", ("popc", "clz", "brev"))
def test_bit_functions(name: str) -> None:
    for a in map(np.dtype, ("i4", "i8", "u4", "u8")):
        found = inference.expression(f"cuda.{name}(v)", {}, v=inference.numba_type(a))
        assert found == (rules.brev_dtype(a) if name == "brev" else a)


def test_atomics_give_the_arrays_type() -> None:
    for name in ("int32", "uint32", "float32", "float64", "int64", "uint64"):
        array = getattr(types, name)[::1]
        assert inference.expression("cuda.atomic.add(a, 0, 1)", {}, a=array) == np.dtype(name)
