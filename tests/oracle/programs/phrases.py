"""Expressions of random programs, and what every part of a program shares."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from . import vocabulary as words
from .vocabulary import BOOL, COMPLEX, EXACT, FLOATS, HALF, INTEGERS, UNSIGNED

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


class Phrases:
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

    def whole(self, depth: int) -> str:
        """An integer, at times a bool."""
        return self.expression(self.pick("i", "i", "i", "b"), depth)

    def integer(self, depth: int) -> str:
        what = self.random.random()
        if what < 0.5:
            op = self.pick("+", "-", "*", "//", "%", "&", "|", "^")
            return f"({self.expression('i', depth)} {op} {self.whole(depth)})"
        if what < 0.58:
            count = f"({self.expression('i', depth)} & 63)"
            return f"({self.whole(depth)} {self.pick('<<', '>>')} {count})"
        if what < 0.64:
            return f"({self.whole(depth)} ** {self.pick('2', '3', '0', '1', '-1', '-2', '5')})"
        if what < 0.68:
            return f"({self.whole(depth)} ** ({self.expression('i', depth)} & 15))"
        if what < 0.78:
            return f"({self.pick('-', '+', '~')}{self.expression('i', depth)})"
        if what < 0.9:
            return f"{self.pick(*INTEGERS)}({self.whole(depth)})"
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
            left, right = self.expression("c", depth), self.expression("c", depth)
            return f"({left} {self.pick('==', '!=')} {right})"
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


class Dates:
    """Writes expressions of dates ("M") and durations ("m"), each with its unit.

    Of two units the finer one is that of the result. Values are small enough for 64 bits.
    """

    def __init__(self, seed: int, inputs: dict[str, str]) -> None:
        self.random, self.inputs = random.Random(f"dates {seed}"), inputs

    def load(self, dtype: str) -> str:
        name = f"{self.random.choice('ab')}_{dtype.replace('[', '_').replace(']', '')}"
        self.inputs[name] = dtype
        return f"{name}[i]"

    def value(self, kind: str, depth: int) -> tuple[str, str]:
        """Text and unit of a date or a duration."""
        if depth <= 0 or self.random.random() < 0.15:
            unit = self.random.choice(words.UNITS)
            return self.load(f"{'datetime' if kind == 'M' else 'timedelta'}64[{unit}]"), unit
        what = self.random.random()
        if kind == "M":
            pair, op = self.random.choice((("Mm", "+"), ("mM", "+"), ("Mm", "-")))
        elif what < 0.3:
            pair, op = self.random.choice((("MM", "-"), ("mm", "+"), ("mm", "-")))
        elif what < 0.45:
            text, unit = self.value("m", depth - 1)
            return self.random.choice(("(-{})", "(+{})", "abs({})")).format(text), unit
        else:
            return self.scaled(depth) if what < 0.75 else self.chosen(kind, depth)
        if kind == "M" and what < 0.3:
            return self.chosen(kind, depth)
        (one, of_one), (two, of_two) = (self.value(k, depth - 1) for k in pair)
        return f"({one} {op} {two})", max(of_one, of_two, key=words.UNITS.index)

    def scaled(self, depth: int) -> tuple[str, str]:
        """A duration times or through a number."""
        text, unit = self.value("m", depth - 1)
        numbers = [self.load(dtype) for dtype in ("int8", "uint8", "float32", "float64")]
        number = self.random.choice((*numbers, "3", "2.5", "-7"))
        op = self.random.choice(("*", "*", "/", "//"))
        if op == "*" and self.random.random() < 0.4:
            return f"({number} * {text})", unit
        return f"({text} {op} {number})", unit

    def chosen(self, kind: str, depth: int) -> tuple[str, str]:
        """One of two values of one unit."""
        one, unit = self.value(kind, depth - 1)
        two = self.load(f"{'datetime' if kind == 'M' else 'timedelta'}64[{unit}]")
        if self.random.random() < 0.4:
            return f"{self.random.choice(('min', 'max'))}({one}, {two})", unit
        return f"({one} if {self.test(depth - 1)} else {two})", unit

    def test(self, depth: int) -> str:
        """A comparison of two dates, of two durations, or whether one is none."""
        kind = self.random.choice("Mm")
        one, two = self.value(kind, depth)[0], self.value(kind, depth)[0]
        if self.random.random() < 0.15:
            return f"np.isnat({one})"
        return f"({one} {self.random.choice(('<', '<=', '>', '>=', '==', '!='))} {two})"

    def store(self) -> tuple[str, str]:
        """Text and dtype of something to store."""
        what = self.random.random()
        if what < 0.2:
            return self.test(2), BOOL
        if what < 0.35:
            one, two = self.value("m", 1)[0], self.value("m", 1)[0]
            return f"({one} / {two})", "float64"
        kind = self.random.choice("Mm")
        text, unit = self.value(kind, 3)
        return text, f"{'datetime' if kind == 'M' else 'timedelta'}64[{unit}]"
