"""A random kernel from a seed: `def kernel(out..., in..., scalars)`, one thread per element.

Every operator, statement and function of `vocabulary` may appear. Programs are made so that what
C leaves undefined does not happen:

- a float becomes an integer only after min and max put it into the integer's range (and NaN out);
- a shift count is masked to less than the width;
- an index is reduced by `%` of the length;
- the sign of a NaN is not asked for: `copysign` takes it from a number;
- a complex number is compared for equality only, and is no condition;
- a loop goes round at most 8 times.

One program in twelve has dates and durations besides, in days, seconds and milliseconds.

Results of functions that are right to a few units in the last place only (`ROUGH`) go straight
into an output of their own, and nothing is decided by them.
"""

from __future__ import annotations

from .phrases import LENGTH, Dates, Phrases, Program
from .vocabulary import BOOL, COMPLEX, FLOATS, HALF, INTEGERS, ROUGH

__all__ = ["LENGTH", "Program", "program_of"]


class _Writer(Phrases):
    """Writes the statements of one program."""

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
        inner = [
            self.load("c") if k == "c" else self.leaf(self.pick("i", "f", "f") if k == "n" else k)
            for k in chosen.takes
        ]
        kinds = COMPLEX if chosen.gives == "c" else FLOATS
        target = self.output(self.random.choice(kinds), rough=True)
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
            self.line(f"for {name} in (1, 5, -2):")
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
        self.loops += 1
        self.block(2)
        self.loops -= 1
        if self.chance(0.2):
            self.line("else:")
            self.block(1)

    def local_array(self) -> None:
        name, dtype = f"l{self.count}", self.random.choice((*INTEGERS, *FLOATS))
        self.count += 1
        self.line(f"{name} = cuda.local.array(4, {dtype})")
        self.line(f"for z{name} in range(4):")
        value = f"{dtype}(z{name})" if dtype in FLOATS else f"z{name}"
        self.line(f"    {name}[z{name}] = {value}")
        kind = "f" if dtype in FLOATS else "i"
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

    def dates(self) -> None:
        """In some programs: dates and durations, drawn apart from the rest."""
        made = Dates(self.program.seed, self.program.inputs)
        if made.random.random() > 0.08:
            return
        for number in range(made.random.randint(1, 3)):
            text, dtype = made.store()
            name = f"dates{number}_{dtype.replace('[', '_').replace(']', '')}"
            self.program.outputs[name] = dtype
            self.line(f"{name}[i] = {text}")

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
        self.dates()
        program = self.program
        parameters = [*program.outputs, *program.inputs, *program.scalars]
        body = [f"def kernel({', '.join(parameters)}):", *self.lines]
        program.source = "\n".join([*head, *body]) + "\n"
        return program


def program_of(seed: int) -> Program:
    """The program with this seed."""
    return _Writer(seed).write()
