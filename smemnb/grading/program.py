"""A kernel and all that it names, as plain data: what is graded of a submission.

A `Program` has the text of the kernel, of its device functions, and for each function what the
names in it stand for: numbers, tuples, types, listed modules, other functions. It is made from the
text of a submission (`taking`), or from live functions by a process that has run one, and comes as
JSON from there. Whoever makes it, it is a submission: `building` checks every part of it again.

In JSON a value is a list that begins with its kind: `["int", "12"]`, `["float32", "0x1.8p+0"]`,
`["tuple", [...]]`, `["listed", "numpy.float32"]`, `["dtype", "float32"]`, `["function", 1]`,
`["array", "float32", [2, 2], "<base64>"]`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import SmemnbError
from .listed import listed, path_of

KINDS = ("kernel", "device", "cpu", "plain")
"""What a decorator makes of a function: @cuda.jit, the same with device=True, @njit, none."""

MAX_FUNCTIONS, MAX_NAMES, MAX_LETTERS, MAX_LINE = 100, 300, 200_000, 1_000_000
MAX_INT_BITS, MAX_TEXT, MAX_ITEMS, MAX_DEPTH, MAX_ARRAY_BYTES = 256, 1000, 4096, 8, 65536


class NotAProgram(SmemnbError):
    """Something that a kernel cannot be rebuilt from; the text says what, and where."""


@dataclass(frozen=True)
class Value:
    """What a name stands for, as plain data: a kind, and what is needed to make it again.

    `data` is a str for numbers, listed names and dtypes, a tuple of Values for a tuple, the index
    of a function, and (dtype, shape, bytes in base64) for an array.
    """

    kind: str
    data: Any = None


@dataclass(frozen=True)
class Function:
    """A `def` with its decorator: the text, where it stands, and what its names stand for.

    Attributes:
        name: of the function.
        source: the lines of the decorators and of the def as the learner wrote them.
        file: the name by which verdicts speak of the learner's file or cell.
        first_line: the number of the first line of `source` there.
        kind: one of KINDS.
        options: of the decorator; signatures are texts in a tuple, under "signatures".
        names: what the global names in it stand for; names that it does not have are not defined.
        defaults: values of the last parameters.
    """

    name: str
    source: str
    file: str
    first_line: int
    kind: str
    options: Mapping[str, Value] = field(default_factory=dict)
    names: Mapping[str, Value] = field(default_factory=dict)
    defaults: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Program:
    """Functions that name each other by their index; `entry` is the index of the kernel."""

    functions: tuple[Function, ...]
    entry: int = 0

    @property
    def kernel(self) -> Function:
        """The function that was handed in as a kernel."""
        return self.functions[self.entry]

    def to_json(self) -> str:
        """The program as one line of JSON."""
        functions = [
            {
                "name": one.name,
                "source": one.source,
                "file": one.file,
                "first_line": one.first_line,
                "kind": one.kind,
                "options": {name: _plain(value) for name, value in one.options.items()},
                "names": {name: _plain(value) for name, value in one.names.items()},
                "defaults": [_plain(value) for value in one.defaults],
            }
            for one in self.functions
        ]
        return json.dumps({"entry": self.entry, "functions": functions})


def from_json(text: str) -> Program:
    """The program that a text holds, checked part by part.

    Raises:
        NotAProgram: it holds none, or one beyond the bounds.
    """
    if len(text) > 20 * MAX_LETTERS:
        raise NotAProgram(f"a program of {len(text)} letters; at most {20 * MAX_LETTERS} are read")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotAProgram(f"a program is wanted as JSON ({type(error).__name__})") from None
    return from_plain(data)


def from_plain(data: Any) -> Program:
    """The program that parsed JSON holds.

    Raises:
        NotAProgram: it holds none, or one beyond the bounds.
    """
    try:
        functions = tuple(_function(one) for one in data["functions"][: MAX_FUNCTIONS + 1])
        program = Program(functions, data["entry"])
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, RecursionError) as error:
        raise NotAProgram(f"this is no program ({type(error).__name__}: {error})"[:300]) from None
    check(program)
    return program


def check(program: Program) -> None:
    """Raise if a program is beyond the bounds, or a part of it is none.

    Raises:
        NotAProgram: with the part.
    """
    count = len(program.functions)
    if not 1 <= count <= MAX_FUNCTIONS:
        raise NotAProgram(f"{count} functions: a kernel with up to {MAX_FUNCTIONS} is wanted")
    if type(program.entry) is not int or not 0 <= program.entry < count:
        raise NotAProgram(f"the kernel is function {program.entry!r:.20} of {count}")
    for one in program.functions:
        _check_function(one, count)
    if sum(len(one.source) for one in program.functions) > MAX_LETTERS:
        raise NotAProgram(f"the functions have more than {MAX_LETTERS} letters")


def _check_function(one: Function, count: int) -> None:
    texts = (one.name, one.source, one.file, one.kind, *one.names, *one.options)
    if not all(type(text) is str for text in texts) or type(one.first_line) is not int:
        raise NotAProgram("name, source, file and kind of a function are texts, first_line an int")
    fits = len(one.name) <= MAX_TEXT >= len(one.file) and one.file.isprintable()
    if not (fits and one.name.isidentifier()):
        raise NotAProgram(f"{one.name[:40]!r} is no name of a function in a file")
    if one.kind not in KINDS or not 1 <= one.first_line <= MAX_LINE:
        raise NotAProgram(f"{one.name[:40]}: kind {one.kind[:20]!r}, line {one.first_line}")
    if len(one.names) > MAX_NAMES or len(one.options) > MAX_NAMES or len(one.defaults) > MAX_NAMES:
        raise NotAProgram(f"{one.name[:40]} has more than {MAX_NAMES} names")
    for value in (*one.names.values(), *one.options.values(), *one.defaults):
        _check_value(value, count, MAX_DEPTH)


def _check_value(value: Value, count: int, depth: int) -> None:
    if value.kind == "function":
        if type(value.data) is not int or not 0 <= value.data < count:
            raise NotAProgram(f"there is no function {value.data!r:.20}")
    elif value.kind == "tuple":
        if not depth or len(value.data) > MAX_ITEMS:
            raise NotAProgram(f"a tuple of more than {MAX_ITEMS} items, or {MAX_DEPTH} deep")
        for item in value.data:
            _check_value(item, count, depth - 1)
    else:
        live(value, ())  # raises if it cannot be made


def live(value: Value, functions: tuple[Any, ...]) -> Any:
    """What a value stands for; `functions` are the live ones, by index.

    Raises:
        NotAProgram: it cannot be made, or it is too large.
    """
    data = value.data
    if value.kind == "function":
        return functions[data]
    if value.kind == "tuple":
        return tuple(live(item, functions) for item in data)
    try:
        if value.kind == "array":
            return _array(*data)
        if type(data) is not str or len(data) > MAX_TEXT:
            raise ValueError("a text is wanted")
        return _scalar(value.kind, data)
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        shown = f"{value.kind!r:.20} of {data!r:.40}"
        raise NotAProgram(f"{shown} is no value for a kernel ({type(error).__name__})") from None


def _scalar(kind: str, text: str) -> Any:
    if kind == "listed":
        return listed(text)
    if kind == "dtype":
        return np.dtype(_number_type(text))
    if kind == "str":
        return text
    if kind == "none":
        return None
    if kind == "bool":
        return {"True": True, "False": False}[text]
    if kind == "int":
        return _bounded(int(text))
    if kind == "float":
        return float.fromhex(text)
    if kind == "complex":
        real, imaginary = text.split()
        return complex(float.fromhex(real), float.fromhex(imaginary))
    return _numpy_number(_number_type("bool" if kind == "bool_" else kind), text)


def _number_type(name: str) -> type[np.generic]:
    """The NumPy type of a number by its name: float32, int8, bool, complex64."""
    if name not in _NUMBERS:
        raise ValueError(name)
    found: type[np.generic] = np.dtype(name).type
    return found


_SIZES = (8, 16, 32, 64)
_NUMBERS = frozenset(
    {
        "bool",
        *(f"{kind}{size}" for kind in ("int", "uint") for size in _SIZES),
        *("float16", "float32", "float64", "complex64", "complex128"),
    }
)


def _numpy_number(kind: type[np.generic], text: str) -> Any:
    made: Any = kind
    if issubclass(kind, np.complexfloating):
        real, imaginary = text.split()
        return made(complex(float.fromhex(real), float.fromhex(imaginary)))
    if issubclass(kind, np.floating):
        with np.errstate(over="ignore"):
            return made(float.fromhex(text))
    return made(_bounded(int(text)))


def _bounded(number: int) -> int:
    if number.bit_length() > MAX_INT_BITS:
        raise ValueError(f"more than {MAX_INT_BITS} bits")
    return number


def _array(kind: Any, shape: Any, text: Any) -> Any:
    dtype = np.dtype(_number_type(kind))
    raw = base64.b64decode(text, validate=True)
    if len(raw) > MAX_ARRAY_BYTES or len(shape) > 4:
        raise ValueError(f"more than {MAX_ARRAY_BYTES} bytes")
    if any(type(extent) is not int or extent < 0 for extent in shape):
        raise ValueError("a shape of other things than numbers")
    made = np.frombuffer(raw, dtype).reshape(shape).copy()
    made.flags.writeable = False
    return made


def value_of(thing: Any, depth: int = MAX_DEPTH) -> Value:
    """A live value as plain data: numbers, tuples, types, listed modules and names, arrays.

    Raises:
        NotAProgram: it is of another kind, or too large; functions are not for here.
    """
    if thing is None or type(thing) in (bool, str):
        value = Value("none" if thing is None else type(thing).__name__, str(thing))
    elif type(thing) is int:
        value = Value("int", str(thing) if thing.bit_length() <= MAX_INT_BITS else "")
    elif type(thing) is float:
        value = Value("float", thing.hex())
    elif type(thing) is complex:
        value = Value("complex", f"{thing.real.hex()} {thing.imag.hex()}")
    elif type(thing) is tuple:
        if not depth or len(thing) > MAX_ITEMS:
            raise NotAProgram(f"a tuple of {len(thing)} items: up to {MAX_ITEMS} are taken")
        return Value("tuple", tuple(value_of(item, depth - 1) for item in thing))
    elif isinstance(thing, np.number | np.bool_) and type(thing).__module__ == "numpy":
        value = _of_numpy(thing)
    elif isinstance(thing, np.dtype) and thing.names is None:
        value = Value("dtype", thing.name)
    elif type(thing) is np.ndarray:
        if thing.nbytes > MAX_ARRAY_BYTES:
            raise NotAProgram(f"an array of {thing.nbytes} bytes: up to {MAX_ARRAY_BYTES}")
        raw = base64.b64encode(np.ascontiguousarray(thing).tobytes()).decode()
        value = Value("array", (thing.dtype.name, tuple(thing.shape), raw))
    else:
        path = path_of(thing)
        if path is None:
            raise NotAProgram(f"a value of type {type(thing).__name__[:60]} is not for kernels")
        value = Value("listed", path)
    live(value, ())
    return value


def _of_numpy(thing: Any) -> Value:
    name = thing.dtype.name
    if isinstance(thing, np.complexfloating):
        return Value(name, f"{float(thing.real).hex()} {float(thing.imag).hex()}")
    if isinstance(thing, np.floating):
        return Value(name, float(thing).hex())
    return Value("bool_" if name == "bool" else name, str(int(thing)))


def _plain(value: Value) -> list[Any]:
    if value.kind == "tuple":
        return ["tuple", [_plain(item) for item in value.data]]
    if value.kind == "array":
        kind, shape, text = value.data
        return ["array", kind, list(shape), text]
    return [value.kind, value.data]


def _value(data: Any, depth: int = MAX_DEPTH) -> Value:
    kind, *rest = data
    if type(data) is not list or type(kind) is not str:
        raise TypeError("a value is a list that begins with its kind")
    if kind == "tuple":
        if not depth:
            raise ValueError(f"a tuple more than {MAX_DEPTH} deep")
        return Value("tuple", tuple(_value(item, depth - 1) for item in rest[0]))
    if kind == "array":
        return Value("array", (rest[0], tuple(rest[1]), rest[2]))
    return Value(kind, rest[0])


def _function(data: Any) -> Function:
    return Function(
        data["name"],
        data["source"],
        data["file"],
        data["first_line"],
        data["kind"],
        {name: _value(value) for name, value in data["options"].items()},
        {name: _value(value) for name, value in data["names"].items()},
        tuple(_value(value) for value in data["defaults"]),
    )
