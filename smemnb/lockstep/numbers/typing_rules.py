"""The types that Numba's CUDA inference gives to operators, as tables over NumPy dtypes.

Python's operators in a kernel do not follow NumPy's promotion: int32 + int32 is int64, float32 +
int32 is float64, uint8 + float32 is float32, int64 + uint64 is int64 and yet int64 < uint64
compares float64. The rules below are those of Numba's overload choice (integers widen to 64 bits,
unsigned only if both sides are; a float side must hold the other side's values exactly), written
down once per pair of dtypes:

    TABLE["+"][a.num][b.num]  ->  None                NumPy's own result on a and b is right
                                  (cast, result)      cast both, apply; the result is `result`
                                  REFUSED             Numba has no such operator; unpacking raises

Augmented assignment (`+=`) follows the same tables. An integer literal counts as int64 (uint64
from 2**63 on) and changes no rule: `float32 ** 2` is float32 like `float32 ** int64`.

**Limits**: scalars only. For `**` the table gives types; the value is `math_functions.power`.
Shift counts of 64 and more (or negative) give 0, or -1 for `>>` of a negative number, as PTX
clamps them; LLVM may fold constants otherwise. The lowest int64 `//` -1 is 0 in Numba, and
itself in NumPy.
Source: numba-cuda 0.30 and Numba 0.68, compared for every pair in tests/lockstep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, NoReturn

import numpy as np

DType = np.dtype[Any]

BOOL, INT8, INT16, INT32, INT64 = (np.dtype(c) for c in ("?", "i1", "i2", "i4", "i8"))
UINT8, UINT16, UINT32, UINT64 = (np.dtype(c) for c in ("u1", "u2", "u4", "u8"))
FLOAT16, FLOAT32, FLOAT64 = (np.dtype(c) for c in ("f2", "f4", "f8"))
COMPLEX64, COMPLEX128 = np.dtype("c8"), np.dtype("c16")

INTEGERS = (BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64)
FLOATS = (FLOAT16, FLOAT32, FLOAT64)
COMPLEXES = (COMPLEX64, COMPLEX128)
SUPPORTED = INTEGERS + FLOATS + COMPLEXES

ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**")
SHIFTS = ("<<", ">>")
BITWISE = ("&", "|", "^")
ORDERINGS = ("<", "<=", ">", ">=")
EQUALITIES = ("==", "!=")
OPERATORS = ARITHMETIC + SHIFTS + BITWISE + ORDERINGS + EQUALITIES

_NUMS = 24  # dtype.num of the builtin types: 0 to 23, float16 last


class Rule(NamedTuple):
    """What an operator casts its operands to, and the dtype of its result."""

    cast: DType
    result: DType


class Refused:
    """An entry for operands that Numba refuses; using it as a rule raises TypeError."""

    def __init__(self, what: str) -> None:
        self.what = what

    def refuse(self) -> NoReturn:
        """Raise TypeError, saying which operator kernels do not have."""
        raise TypeError(f"{self.what} has no meaning in a kernel: Numba has no such operator")

    def __iter__(self) -> Iterator[DType]:
        self.refuse()

    def __getitem__(self, index: int) -> DType:
        self.refuse()


Entry = Rule | Refused | None
Row = list[Entry]


def _signed(a: DType) -> bool:
    return a.kind in "bi"


def _holding_float(a: DType, unit: int) -> int:
    """Bytes of the narrowest float that operator choice takes for `a`, at least `unit`."""
    if a.kind == "c":
        return a.itemsize // 2
    if a.kind == "f":
        return max(a.itemsize, unit)
    if a in (BOOL, INT8):
        return unit
    # uint16 counts as wide: Numba's conversion rules rate uint16 -> float32 unsafe.
    return max(4, unit) if a in (INT16, UINT8) else 8


def _float_for(a: DType, b: DType, unit: int = 2) -> DType:
    """The float (or complex) dtype to which an operator casts `a` and `b`."""
    size = max(_holding_float(a, unit), _holding_float(b, unit))
    if "c" in (a.kind, b.kind):
        return COMPLEX128 if size == 8 else COMPLEX64
    return np.dtype(f"f{size}")


def _wide_integer(a: DType, b: DType) -> DType:
    return INT64 if _signed(a) or _signed(b) else UINT64


def _common_integer(a: DType, b: DType) -> DType:
    """The dtype that holds both, as comparisons and `unify` choose it; float64 if none does."""
    if BOOL in (a, b):
        return b if a is BOOL else a
    return np.promote_types(a, b)


def _integer_rule(op: str, a: DType, b: DType) -> Rule:
    if op in ORDERINGS + EQUALITIES:
        return Rule(_common_integer(a, b), BOOL)
    if op in SHIFTS:
        wide = INT64 if _signed(a) else UINT64
    elif op in BITWISE and a is b is BOOL:
        wide = BOOL
    elif op == "/":
        wide = FLOAT64
    elif op == "**" and (a, b) == (BOOL, INT32):
        wide = FLOAT32  # two overloads tie; Numba takes float32 ** int32
    else:
        wide = _wide_integer(a, b)
    return Rule(wide, wide)


def _rule(op: str, a: DType, b: DType) -> Rule | Refused:
    refused = Refused(f"{a} {op} {b}")
    if a in INTEGERS and b in INTEGERS:
        return _integer_rule(op, a, b)
    if op in SHIFTS + BITWISE:
        return refused
    if "c" in (a.kind, b.kind) and op in (*ORDERINGS, "//", "%"):
        return refused
    if op in ORDERINGS + EQUALITIES:
        return Rule(_float_for(a, b), BOOL)
    if op == "**" and a in FLOATS and b in INTEGERS:
        wide = FLOAT64 if a is FLOAT64 else FLOAT32  # Numba multiplies in the base's type
        return Rule(wide, wide)
    wide = _float_for(a, b, unit=4 if op in ("//", "%", "**") else 2)
    return Rule(wide, wide)


_NUMPY: dict[str, np.ufunc] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide,
    "//": np.floor_divide, "%": np.remainder, "**": np.power,
    "<<": np.left_shift, ">>": np.right_shift,
    "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


def _entry(op: str, a: DType, b: DType) -> Entry:
    """The rule, or None where NumPy casts so by itself (int32 + int64, float32 * float64)."""
    rule = _rule(op, a, b)
    if isinstance(rule, Refused) or ("c" in (a.kind, b.kind) and op in ("*", "/")):
        return rule  # NumPy may round a product of complex numbers otherwise
    try:
        natural = _NUMPY[op].resolve_dtypes((a, b, None))
    except TypeError:
        return rule
    return None if natural == (rule.cast, rule.cast, rule.result) else rule


def _known(num: int) -> DType | None:
    """The supported dtype of this dtype.num; C has two 64-bit integers, so NumPy has two nums."""
    for code in np.typecodes["AllInteger"] + "?efdFD":
        if np.dtype(code).num == num:
            return next(d for d in SUPPORTED if d == np.dtype(code))
    return None


_BY_NUM = tuple(_known(num) for num in range(_NUMS))


def _by_num(entry: Callable[[DType], Any], missing: Any) -> list[Any]:
    """`entry(dtype)` at each dtype.num, `missing` where no kernel has that dtype."""
    return [missing if dtype is None else entry(dtype) for dtype in _BY_NUM]


def _table(op: str) -> list[Row]:
    missing = Refused(f"{op} on such a type")

    def row(a: DType) -> Row:
        return _by_num(lambda b: _entry(op, a, b), missing)

    return _by_num(row, [missing] * _NUMS)


TABLE: dict[str, list[list[Any]]] = {op: _table(op) for op in OPERATORS}
"""TABLE[op][a.num][b.num]: None, a `Rule`, or `Refused`."""


def binary(op: str, a: DType, b: DType) -> Rule:
    """The operand and result dtypes of `a op b` in a kernel.

    >>> binary("+", np.dtype("int32"), np.dtype("int32")).result
    dtype('int64')
    >>> binary("*", np.dtype("float32"), np.dtype("int32")).result
    dtype('float64')

    Raises:
        TypeError: Numba has no such operator for these types.
    """
    rule = _rule(op, _supported(a), _supported(b))
    if isinstance(rule, Refused):
        rule.refuse()
    return rule


def _supported(a: DType) -> DType:
    for dtype in SUPPORTED:
        if dtype == a:
            return dtype
    raise TypeError(f"{a} is no scalar type of a kernel")


def _unary_entry(op: str, a: DType) -> Entry:
    if op == "~" and a not in INTEGERS:
        return Refused(f"~ of {a}")
    if op == "not" or (op == "~" and a is BOOL):
        return None
    if op == "abs":
        return Rule(INT8, INT8) if a is BOOL else None
    if a in INTEGERS and a.itemsize < 8:
        wide = INT64 if _signed(a) else UINT64
        # in the operand's own width first: -uint32(1) is 4294967295, as a uint64
        return Rule(wide if a is BOOL else a, wide)
    return None


UNARY: dict[str, list[Any]] = {
    op: _by_num(partial(_unary_entry, op), Refused(f"{op} of such a type"))
    for op in ("-", "+", "~", "not", "abs")
}
"""UNARY[op][a.num]: as `TABLE`. `not` is `np.logical_not` for every type."""


def _unify_entry(a: DType, b: DType) -> DType:
    if a in INTEGERS and b in INTEGERS:
        return _common_integer(a, b)
    if BOOL in (a, b):
        return b if a is BOOL else a
    return np.promote_types(a, b)


UNIFY: list[list[Any]] = _by_num(lambda a: _by_num(partial(_unify_entry, a), None), [None] * _NUMS)
"""UNIFY[a.num][b.num]: the dtype of a variable that is an `a` on one path and a `b` on another."""


def unify(*dtypes: DType) -> DType:
    """The dtype of a variable assigned all of these; also of min() and max() of them.

    Pairs go by size, as Numba does it. bool joins any number, though min() and max() refuse it.

    >>> unify(np.dtype("int64"), np.dtype("uint64")), unify(np.dtype("float32"), np.dtype("int16"))
    (dtype('float64'), dtype('float32'))

    Raises:
        TypeError: a dtype that no kernel has.
    """
    known = [_supported(d) for d in dtypes]
    known.sort(key=lambda d: 0 if d is BOOL else d.itemsize)
    result = known[0]
    for dtype in known[1:]:
        result = _unify_entry(result, dtype)
    return result


_SAFE, _UNSAFE, _PROMOTE = (0, 1, 0), (1, 0, 0), (0, 0, 1)


def _range_cost(a: DType, to: DType) -> tuple[int, int, int]:
    """(unsafe, safe, promoting) conversions, as Numba rates passing an `a` where `to` is asked."""
    if a == to:
        return (0, 0, 0)
    if a is BOOL:
        return _SAFE
    if a.kind == to.kind:
        return _PROMOTE if a.itemsize < to.itemsize else _UNSAFE
    return _SAFE if a.kind == "u" and a.itemsize < to.itemsize else _UNSAFE


def range_dtype(*dtypes: DType) -> DType:
    """The dtype of the loop variable of range(...): int32, int64 or uint64.

    A literal counts as int64.

    >>> range_dtype(np.dtype("int32")), range_dtype(np.dtype("int64"), np.dtype("uint32"))
    (dtype('int32'), dtype('int64'))

    Raises:
        TypeError: a complex number.
    """
    known = [_supported(d) for d in dtypes]
    if any(d in COMPLEXES for d in known):
        raise TypeError("range() of a complex number has no meaning in a kernel")

    def cost(to: DType) -> tuple[int, ...]:
        return tuple(map(sum, zip(*(_range_cost(d, to) for d in known), strict=True)))

    return min((INT32, INT64, UINT64), key=cost)


def literal_dtype(value: complex) -> DType:
    """The dtype of a constant in a kernel's source, or of a Python scalar handed to it.

    >>> literal_dtype(7), literal_dtype(1.0), literal_dtype(2**63)
    (dtype('int64'), dtype('float64'), dtype('uint64'))

    Raises:
        TypeError: an integer of more than 64 bits, or no number.
    """
    if isinstance(value, np.generic):
        return _supported(value.dtype)
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise TypeError(f"the integer {value} does not fit 64 bits")
        return INT64 if value < 2**63 else UINT64
    if isinstance(value, float):
        return FLOAT64
    if isinstance(value, complex):
        return COMPLEX128
    raise TypeError(f"{type(value).__name__} is no number of a kernel")


def static_power(base: DType, exponent: int) -> Rule:
    """The types of `base ** exponent` with a literal exponent: those of `base ** int64`.

    Numba unrolls such a power into multiplications in the result's type.

    >>> static_power(np.dtype("float32"), 2).result
    dtype('float32')
    """
    return binary("**", base, literal_dtype(exponent))


_REGISTERS = "threadIdx blockIdx blockDim gridDim laneid warpsize warp_size"
COORDINATES: dict[str, DType] = dict.fromkeys(_REGISTERS.split(), INT32)
"""The dtype of the special registers (of their .x, .y and .z)."""

_SIZES = "grid gridsize len shape strides size ndim itemsize nbytes"
SIZES: dict[str, DType] = dict.fromkeys(_SIZES.split(), INT64)
"""The dtype of cuda.grid(), cuda.gridsize(), len() and the attributes of arrays (each element)."""

CALL_RESULTS: dict[str, DType] = {
    "syncthreads_count": INT32,
    "syncthreads_and": INT32,
    "syncthreads_or": INT32,
    "all_sync": BOOL,
    "any_sync": BOOL,
    "eq_sync": BOOL,
    "ballot_sync": INT32,
    "match_any_sync": INT32,
    "match_all_sync": INT32,
    "activemask": UINT32,
    "lanemask_lt": UINT32,
    "ffs": UINT32,
}
"""The dtype of a call's result where its arguments do not decide it (match_all_sync: the mask)."""

SHUFFLED = (INT32, INT64, FLOAT32, FLOAT64)
"""What shuffles move (others Numba refuses; the numba.cuda in Numba casts up to one of these).
An atomic's result, and popc's and clz's, have the dtype of the array or operand."""


def brev_dtype(a: DType) -> DType:
    """The dtype of cuda.brev(a): uint32, except for uint64."""
    return UINT64 if a == UINT64 else UINT32


def int_dtype(a: DType) -> DType:
    """The dtype of int(a): an integer keeps its own, bool and floats give int64."""
    return a if a in INTEGERS and a != BOOL else INT64


def float_dtype(a: DType) -> DType:
    """The dtype of float(a): a float keeps its own, an integer gives float64 (bool is refused)."""
    return a if a in FLOATS else FLOAT64
