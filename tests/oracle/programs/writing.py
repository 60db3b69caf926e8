"""A random kernel from a seed: `def kernel(out..., in..., scalars)`, one thread per element.

Every operator, statement and function of `vocabulary` may appear. Programs are made so that what
C leaves undefined does not happen:

- a float becomes an integer only after min and max put it into the integer's range (and NaN out);
- a shift count is masked to less than the width;
- an index is reduced by `%` of the length;
- a complex number is compared for equality only, and is no condition;
- a loop goes round at most 8 times.

Results of functions that are right to a few units in the last place only (`ROUGH`) go straight
into an output of their own, and nothing is decided by them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from . import vocabulary as words
from .vocabulary import BOOL, COMPLEX, EXACT, FLOATS, HALF, INTEGERS, ROUGH, UNSIGNED

LENGTH = 96  # elements of every array, and threads


@dataclass
class Program:
    """A kernel's source and the dtypes of its parameters, outputs first."""

    seed: int
    source: str
    outputs: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    scalars: dict[str, str] = field(default_factory=dict)
    rough: set[str] = field(default_factory=set)  # outputs compared with a tolerance


def _kind(dtype: str) -> str:
    return {"b": "b", "i": "i", "u": "i", "f": "f", "c": "c"}[dtype[0]]


class _Writer:
    """Writes one program; `names` maps a variable to all kinds it was ever assigned."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.program = Program(seed, "")
        self.lines: list[str] = []
        self.depth, self.loops, self.count = 1, 0, 0
        self.names: dict[str, set[str]] = {}
        self.budget = self.random.randint(2, 7)
        self.flat = self.random.random() < 0.4
        self.halves = self.random.random() < 0.12  # float16 among the floats
        self.functions: list[tuple[str, list[str]]] = []

    # -- expressions: text of the kind asked for

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def number(self, depth: int) -> str:
        return self.expression(self.pick("i", "i", "f", "f", "b"), depth)

    def expression(self, kind: str, depth: int) -> str:
        """Text of an expression that is surely of this kind (i, f, b, c)."""
        if depth <= 0 or self.chance(0.12):
            return self.leaf(kind)
        if self.chance(0.3):
            return self.call(kind, depth)
        return {"i": self.integer, "f": self.floating, "b": self.boolean, "c": self.complex}[kind](
            depth - 1
        )

    def call(self, kind: str, depth: int) -> str:
        fitting = [c for c in EXACT if c.gives == kind or (c.gives == "n" and kind in "if")]
        chosen = self.random.choice(fitting)
        inner = []
        for letter in chosen.takes:
            if chosen.gives == "n" and letter == "n":
                letter = kind  # floats in, a float out; integers in, an integer out
            inner.append(
                self.number(depth - 1) if letter == "n" else self.expression(letter, depth - 1)
            )
        return "(" + chosen.text.format(*inner) + ")"

    def leaf(self, kind: str) -> str:
        known = [name for name, kinds in self.names.items() if kinds == {kind}]
        if known and self.chance(0.5):
            return self.random.choice(known)
        if self.chance(0.4):
            return self.load(kind)
        if kind == "i":
            value = (
                self.random.choice(words.INT_LITERALS)
                if self.chance(0.5)
                else self.random.randint(0, 9)
            )
            return f"(-{value})" if value < 2**63 and self.chance(0.3) else str(value)
        if kind == "b":
            return self.pick("True", "False", self.load("b"))
        if kind == "c":
            return self.pick(*words.COMPLEX_LITERALS)
        text = self.random.choice(words.FLOAT_LITERALS)
        text = f"float32({text})" if self.chance(0.3) else text
        return f"(-{text})" if self.chance(0.3) else text

    def load(self, kind: str) -> str:
        choice = {"i": INTEGERS, "f": FLOATS, "b": (BOOL,), "c": COMPLEX}[kind]
        dtype = self.random.choice(choice)
        if kind == "f" and self.halves and self.chance(0.4):
            dtype = HALF
        if self.chance(0.2) and kind != "c":
            name = f"s_{dtype}"
            self.program.scalars[name] = dtype
            return name
        name = f"{self.pick('a', 'b')}_{dtype}"
        self.program.inputs[name] = dtype
        if self.chance(0.85):
            return f"{name}[i]"
        return f"{name}[{self.pick('(i * 7 + 3)', '(i + 41)', '(95 - i)')} % {LENGTH}]"

    def clamped(self, text: str, dtype: str) -> str:
        low, high = ("0.0", "100.0") if dtype in UNSIGNED else ("-100.0", "100.0")
        return f"{dtype}(min(max({text}, {low}), {high}))"

    def condition(self, depth: int) -> str:
        return self.expression("b", depth) if self.chance(0.8) else self.number(depth)

    def chosen_of(self, kind: str, depth: int) -> str:
        yes, no = self.expression(kind, depth), self.expression(kind, depth)
        return f"({yes} if {self.condition(depth)} else {no})"

    def integer(self, depth: int) -> str:
        side = lambda: self.expression(self.pick("i", "i", "i", "b"), depth)  # noqa: E731
        what = self.random.random()
        if what < 0.5:
            op = self.pick("+", "-", "*", "//", "%", "&", "|", "^")
            return f"({self.expression('i', depth)} {op} {side()})"
        if what < 0.58:
            return f"({side()} {self.pick('<<', '>>')} ({self.expression('i', depth)} & 63))"
        if what < 0.64:
            return f"({side()} ** {self.pick('2', '3', '0', '1', '-1', '-2', '5')})"
        if what < 0.68:
            return f"({side()} ** ({self.expression('i', depth)} & 15))"
        if what < 0.78:
            return f"({self.pick('-', '+', '~')}{self.expression('i', depth)})"
        if what < 0.9:
            return f"{self.pick(*INTEGERS)}({side()})"
        if what < 0.94:
            return self.clamped(self.expression("f", depth), self.random.choice(INTEGERS))
        return self.chosen_of("i", depth)

    def floating(self, depth: int) -> str:
        what = self.random.random()
        if what < 0.5:
            left, right = self.expression("f", depth), self.number(depth)
            left, right = (left, right) if self.chance(0.6) else (right, left)
            return f"({left} {self.pick('+', '-', '*', '/', '//', '%')} {right})"
        if what < 0.6:
            return f"({self.number(depth)} / {self.expression('i', depth)})"
        if what < 0.68:
            return f"({self.expression('f', depth)} ** {self.pick('2', '3', '-1', '0', '4', '-2')})"
        if what < 0.78:
            return f"({self.pick('-', '+')}{self.expression('f', depth)})"
        if what < 0.9:
            kinds = (*FLOATS, HALF) if self.halves else FLOATS
            return f"{self.pick(*kinds)}({self.number(depth)})"
        return self.chosen_of("f", depth)

    def boolean(self, depth: int) -> str:
        what = self.random.random()
        if what < 0.5:
            op = self.pick("<", "<=", ">", ">=", "==", "!=")
            return f"({self.number(depth)} {op} {self.number(depth)})"
        if what < 0.6:
            a, b = self.pick("<", "<=", ">", "=="), self.pick("<", ">=", "!=")
            return f"({self.number(depth)} {a} {self.number(depth)} {b} {self.number(depth)})"
        if what < 0.75:
            op = self.pick("and", "or")
            return f"({self.expression('b', depth)} {op} {self.expression('b', depth)})"
        if what < 0.85:
            return f"(not {self.condition(depth)})"
        if what < 0.93:
            op = self.pick("&", "|", "^")
            return f"({self.expression('b', depth)} {op} {self.expression('b', depth)})"
        if what < 0.96:
            return f"({self.expression('c', depth)} {self.pick('==', '!=')} {self.expression('c', depth)})"
        return f"bool({self.number(depth)})"

    def complex(self, depth: int) -> str:
        what = self.random.random()
        if what < 0.6:
            left = self.expression("c", depth)
            right = self.expression("c", depth) if self.chance(0.6) else self.number(depth)
            left, right = (left, right) if self.chance(0.7) else (right, left)
            return f"({left} {self.pick('+', '-', '*')} {right})"
        if what < 0.65:  # by a literal: Numba ends the thread at a complex division by zero
            return f"({self.expression('c', depth)} / {self.pick(*words.COMPLEX_LITERALS)})"
        if what < 0.75:
            return f"({self.pick('-', '+')}{self.expression('c', depth)})"
        return f"{self.pick(*COMPLEX)}({self.expression(self.pick('c', 'f', 'i'), depth)})"

    # -- statements

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def assign(self) -> None:
        kind = self.pick("i", "i", "i", "f", "f", "f", "b", "c")
        old = [name for name, kinds in self.names.items() if "c" not in kinds]
        inside = self.depth > 1
        if kind == "c" or not old or (self.chance(0.5) and not inside):
            name = f"v{self.count}" if not inside else None
            if name is None:
                names = [n for n, kinds in self.names.items() if kinds == {kind}]
                if not names:
                    return self.store()
                name = self.random.choice(names)
            else:
                self.count += 1
            depth = 1 if self.flat else self.random.randint(1, 3)
            text = self.expression(kind, depth)
            self.line(f"{name} = {text}")
            self.names.setdefault(name, set()).add(kind)
            return None
        name = self.random.choice(old)
        depth = 1 if self.flat else self.random.randint(1, 3)
        if self.chance(0.5):
            self.augmented(name, depth)
        else:
            text = self.number(depth)
            self.line(f"{name} = {text}")
            self.names[name] = self.names[name] | {"i", "f"}
        return None

    def augmented(self, name: str, depth: int) -> None:
        kinds = self.names[name]
        if kinds == {"i"} and self.chance(0.6):
            op = self.pick("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>")
            text = self.expression("i", depth)
            text = f"({text}) & 31" if op in ("<<", ">>") else text
            self.line(f"{name} {op}= {text}")
        else:
            op = self.pick("+", "-", "*", "/", "//", "%")
            # numba-cuda types int /= int as an integer and compiles the float: no such program
            text = self.expression("f", depth) if op == "/" else self.number(depth)
            self.line(f"{name} {op}= {text}")
            self.names[name] = kinds | {"i", "f"}

    def output(self, dtype: str, rough: bool = False) -> str:
        name = f"{'rough' if rough else 'out'}_{dtype}"
        self.program.outputs[name] = dtype
        if rough:
            self.program.rough.add(name)
        return f"{name}[i]"

    def store(self) -> None:
        what = self.random.random()
        depth = 2 if self.flat else 3
        if what < 0.12:
            return self.rough_store()
        if what < 0.4:
            dtype = self.random.choice(INTEGERS)
            target, text = self.output(dtype), self.expression("i", depth)
            if self.chance(0.3):
                op = self.pick("+", "-", "*", "&", "|", "^", "//", "%")
                self.line(f"{target} {op}= {text}")
            else:
                self.line(f"{target} = {text}")
        elif what < 0.8:
            kinds = (*FLOATS, HALF) if self.halves else FLOATS
            target, text = self.output(self.random.choice(kinds)), self.number(depth)
            self.line(f"{target} {self.pick('', '', '+', '-', '*', '/')}= {text}")
        elif what < 0.9:
            self.line(f"{self.output(BOOL)} = {self.expression('b', depth)}")
        else:
            self.line(f"{self.output(self.random.choice(COMPLEX))} = {self.expression('c', depth)}")
        return None

    def rough_store(self) -> None:
        chosen = self.random.choice(ROUGH)
        inner = [self.leaf(self.pick("i", "f", "f") if k == "n" else k) for k in chosen.takes]
        target = self.output(self.random.choice(FLOATS), rough=True)
        self.line(f"{target} = {chosen.text.format(*inner)}")

    def block(self, size: int) -> None:
        self.depth += 1
        before = len(self.lines)
        for _ in range(self.random.randint(1, size)):
            self.statement()
        if len(self.lines) == before:
            self.line("pass")
        self.depth -= 1

    def statement(self) -> None:
        what = self.random.random()
        if what < 0.45 or self.budget <= 0:
            self.assign()
        elif what < 0.6:
            self.store()
        elif self.depth > 3:
            self.assign()
        elif what < 0.75:
            self.budget -= 1
            self.branch()
        elif what < 0.87:
            self.budget -= 1
            self.for_loop()
        elif what < 0.93:
            self.budget -= 1
            self.while_loop()
        elif self.loops and self.chance(0.7):
            self.line(f"if {self.condition(1)}:")
            self.line(f"    {self.pick('break', 'continue')}")
        elif self.chance(0.3):
            self.line(f"if {self.condition(1)}:")
            self.line("    return")
        elif self.chance(0.4):
            self.local_array()
        elif self.functions and self.chance(0.8):
            self.device_call()
        else:
            self.pair()

    def branch(self) -> None:
        self.line(f"if {self.condition(2)}:")
        self.block(2)
        if self.chance(0.3):
            self.line(f"elif {self.condition(2)}:")
            self.block(2)
        if self.chance(0.5):
            self.line("else:")
            self.block(2)

    def for_loop(self) -> None:
        name = f"k{self.count}"
        self.count += 1
        bound = f"({self.expression('i', 1)} & 7)"
        bounds = self.pick(bound, bound, "4", f"{bound}, 9, 2", f"-3, {bound}", f"{bound}, -2, -1",
                           f"int32({bound})", f"2, {bound}, 3", "s_int32 & 3")  # fmt: skip
        if "s_int32" in bounds:
            self.program.scalars["s_int32"] = "int32"
        if self.chance(0.12):
            bounds = ""
            items = ", ".join(self.expression("i", 1) for _ in range(2))
            self.line(
                f"for {name} in (int64({items.split(', ')[0]}), 3):"
                if False
                else f"for {name} in (1, 5, -2):"
            )
        else:
            self.line(f"for {name} in range({bounds}):")
        self.inside(name)
        if self.chance(0.2):
            self.line("else:")
            self.block(1)

    def inside(self, name: str) -> None:
        """The body of a loop; its own variable is known there only."""
        self.names[name] = {"i"}
        self.loops += 1
        self.block(3)
        self.loops -= 1
        del self.names[name]

    def while_loop(self) -> None:
        name = f"w{self.count}"
        self.count += 1
        self.line(f"{name} = 0")
        self.line(f"while {name} < {self.random.randint(1, 5)} and {self.condition(1)}:")
        self.line(f"    {name} += 1")
        self.names[name] = {"i"}
        kept = dict(self.names)
        del self.names[name]
        self.loops += 1
        self.block(2)
        self.loops -= 1
        if self.chance(0.2):
            self.line("else:")
            self.block(1)
        del kept

    def local_array(self) -> None:
        name, dtype = f"l{self.count}", self.random.choice((*INTEGERS, *FLOATS))
        self.count += 1
        self.line(f"{name} = cuda.local.array(4, {dtype})")
        self.line(f"for z{name} in range(4):")
        value = f"{dtype}(z{name})" if dtype in FLOATS else f"z{name}"
        self.line(f"    {name}[z{name}] = {value}")
        kind = _kind(dtype)
        self.line(f"{name}[i % 4] = {self.expression(kind, 2)}")
        self.line(f"{name}[{self.random.randint(-4, 3)}] += {self.expression(kind, 1)}")
        target = self.output(dtype)
        self.line(f"{target} = {name}[({self.expression('i', 1)}) & 3]")

    def pair(self) -> None:
        if self.depth > 1:
            return self.assign()
        kinds = self.pick("i", "f"), self.pick("i", "f", "b")
        left, right = (self.expression(kind, 2) for kind in kinds)
        a, b = f"v{self.count}", f"v{self.count + 1}"
        self.count += 2
        self.line(f"{a}, {b} = {left}, {right}")
        self.names[a], self.names[b] = {kinds[0]}, {kinds[1]}
        if kinds[0] == kinds[1] and self.chance(0.5):
            self.line(f"{a}, {b} = {b}, {a}")
        return None

    def device_call(self) -> None:
        name, kinds = self.random.choice(self.functions)
        given = ", ".join(self.expression(kind, 1) for kind in kinds)
        target = self.output("float64")
        self.line(f"{target} = {name}({given})")

    def device_function(self, number: int) -> list[str]:
        """The lines of a function with two parameters that returns on two paths."""
        name, kinds = f"device{number}", [self.pick("i", "f"), self.pick("i", "f")]
        kept = self.names, self.lines, self.program
        self.names, self.lines = {"p": {kinds[0]}, "q": {kinds[1]}}, []
        self.program = Program(0, "")
        condition, one, two = self.condition(1), self.number(2), self.number(2)
        used = {**self.program.inputs, **self.program.scalars}
        self.names, self.lines, self.program = kept
        if used:
            condition, one, two = "p < q", "p * 2", "q - p"
        self.functions.append((name, kinds))
        return ["@cuda.jit(device=True)", f"def {name}(p, q):", f"    if {condition}:",
                f"        return {one}", f"    return {two}", "", ""]  # fmt: skip

    def write(self) -> Program:
        head = self.device_function(0) if self.chance(0.15) else []
        self.line("i = cuda.grid(1)")
        for _ in range(self.random.randint(1, 4)):
            self.statement()
        self.depth = 1
        self.store()
        for name, kinds in list(self.names.items()):
            if self.chance(0.6):
                dtype = "complex128" if "c" in kinds else "float64" if "f" in kinds else "int64"
                self.line(f"{self.output(dtype)} = {name}")
        program = self.program
        parameters = [*program.outputs, *program.inputs, *program.scalars]
        body = [f"def kernel({', '.join(parameters)}):", *self.lines]
        program.source = "\n".join([*head, *body]) + "\n"
        return program


def program_of(seed: int) -> Program:
    """The program with this seed."""
    return _Writer(seed).write()
