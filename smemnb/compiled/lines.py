"""Machine code beside source lines: which instructions each Python line became.

`sass(kernel, args)` compiles without a GPU. A kernel is compiled as it is, and once more with line
numbers; where both give the same instructions, the lines of the second are those of the first.
"""

from __future__ import annotations

import linecache
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .image import spills
from .listing import Located, Place, listing
from .toolchain import CC, cubin
from .usage import Resources, read_resources

_MEMORY = re.compile(
    r"^(LD|ST|LDS|STS|LDG|STG|LDL|STL|LDGSTS|LDSM|STSM|ATOM|ATOMS|ATOMG|RED|REDG)$"
)
_MATRICES = {"M88", "MT88", "2", "4"}
_KEPT = {"U8", "S8", "U16", "S16", "64", "128"}
_OPERATIONS = {"ADD", "MIN", "MAX", "AND", "OR", "XOR", "INC", "DEC", "EXCH", "CAS", "POPC"}


@dataclass(frozen=True)
class Build:
    """A compiled kernel: its machine code, listed.

    `lined` is False where the code with line numbers is not the code that runs, so that no
    instruction has a line.
    """

    elf: bytes
    cc: CC
    code: tuple[Located, ...]
    lined: bool

    @classmethod
    def of(cls, elf: bytes, cc: CC) -> Build:
        """A cubin that was compiled elsewhere."""
        code = listing(elf)
        return cls(elf, cc, code, any(one.places for one in code))

    @property
    def resources(self) -> Resources:
        """Registers, stack and shared memory."""
        return read_resources(self.elf, self.cc)

    @property
    def barriers(self) -> int:
        """Named barriers that the code uses."""
        return len({one.operands[0] for one in self.code if one.name.startswith("BAR.")})


def built(kernel: Any, args: Any, cc: CC = (9, 0)) -> Build:
    """A kernel compiled for argument types, with lines where they can be had.

    Raises:
        SmemnbError: the compiler libraries or the disassembler are not installed.
    """
    elf = cubin(kernel, args, cc)
    code = listing(elf)
    if any(one.places for one in code):
        return Build(elf, cc, code, lined=True)
    try:
        lined = listing(cubin(kernel, args, cc, lineinfo=True))
    except Exception:  # the linker's own: a device function brings other debug information along
        return Build(elf, cc, code, lined=False)
    if [(a.name, a.operands, a.guard) for a in code] == [
        (b.name, b.operands, b.guard) for b in lined
    ]:
        return Build(elf, cc, lined, lined=True)
    return Build(elf, cc, code, lined=False)


@dataclass(frozen=True)
class SassLine:
    """The machine instructions of one source line.

    `memory` counts the instructions that touch memory by name and width, such as {"LDS.128": 4};
    `instructions` is all of them, in order; `spills` how many of them store a spilled register or
    load it again. Line 0 holds what the compiler gave no line.
    """

    file: str
    line: int
    source: str
    memory: dict[str, int]
    instructions: tuple[Located, ...]
    spills: int = 0

    @property
    def count(self) -> int:
        """Instructions of the line."""
        return len(self.instructions)

    @property
    def said(self) -> str:
        """What touches memory, in words: "4 LDS.128, 1 STG.E"."""
        names = ", ".join(f"{count} {name}" for name, count in self.memory.items())
        return f"{names} (spills: {self.spills})" if self.spills else names


@dataclass(frozen=True, repr=False)
class Sass:
    """A kernel's machine code per source line, and what a thread and a block need.

    Attributes:
        kernel: its name.
        cc: compute capability.
        lines: one per source line that has instructions, by line.
        registers: of a thread.
        local_bytes: local memory of a thread: arrays that did not become registers, and spills.
        shared_bytes: static ones of a block.
        spills: instructions that store a spilled register or load it again, as the compiler marks
            them; other LDL and STL are accesses of local arrays.
        barriers: named barriers in use.
        instructions: all, without the padding at the end.
        ffma_percent: FFMA among them, in percent.
        lined: whether instructions could be given their lines.
    """

    kernel: str
    cc: CC
    lines: tuple[SassLine, ...]
    registers: int
    local_bytes: int
    shared_bytes: int
    spills: int
    barriers: int
    instructions: int
    ffma_percent: float
    lined: bool = True
    files: tuple[str, ...] = field(default=(), compare=False)

    @property
    def memory(self) -> dict[str, int]:
        """Memory instructions of the whole kernel, by name and width."""
        total: Counter[str] = Counter()
        for line in self.lines:
            total.update(line.memory)
        return dict(sorted(total.items()))

    def line(self, number: int) -> SassLine | None:
        """The instructions of a source line of the kernel's file, None if it has none."""
        return next((line for line in self.lines if line.line == number), None)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data; instructions as text."""
        whole = {key: getattr(self, key) for key in self.__dataclass_fields__ if key != "files"}
        whole["cc"] = list(self.cc)
        whole["lines"] = [
            {**asdict(line), "instructions": [one.text for one in line.instructions]}
            for line in self.lines
        ]
        return whole

    def __repr__(self) -> str:
        return table(self)


def sass(kernel: Any, args: Any, cc: CC = (9, 0)) -> Sass:
    """Machine code of a kernel per Python line, compiled without a GPU.

    Args:
        kernel: what `@cuda.jit` returns, or the plain function.
        args: a signature as text or types, or a tuple of arguments.
        cc: compute capability to compile for.

    Raises:
        SmemnbError: the compiler libraries or nvdisasm are not installed.
    """
    function = getattr(kernel, "py_func", kernel)
    return sass_of(built(kernel, args, cc), function.__name__)


def sass_of(build: Build, name: str) -> Sass:
    """The same of machine code that is there already."""
    code = _without_padding(build.code)
    by_place: dict[Place, list[Located]] = {}
    for one in code:
        by_place.setdefault(one.places[-1] if one.places else Place("", 0), []).append(one)
    needs, spilled = build.resources, spills(build.elf)
    ffma = sum(one.name.split(".")[0] == "FFMA" for one in code)
    return Sass(
        kernel=name,
        cc=build.cc,
        lines=tuple(
            SassLine(
                place.file,
                place.line,
                linecache.getline(place.file, place.line).strip() if place.line else "",
                memory_of(some),
                tuple(some),
                sum(one.address in spilled for one in some),
            )
            for place, some in sorted(by_place.items(), key=lambda pair: pair[0].line)
        ),
        registers=needs.registers,
        local_bytes=needs.local_bytes,
        shared_bytes=needs.shared_bytes,
        spills=len(spilled),
        barriers=build.barriers,
        instructions=len(code),
        ffma_percent=round(100 * ffma / max(1, len(code)), 1),
        lined=build.lined,
    )


def memory_of(code: Sequence[Located]) -> dict[str, int]:
    """The memory instructions among these, by name and width.

    >>> memory_of([Located(0, "LDG.E.64", ()), Located(16, "BRA", ()), Located(32, "LDG.E.64", ())])
    {'LDG.64': 2}
    """
    names = [short_name(one.name) for one in code if _MEMORY.match(one.name.split(".")[0])]
    return dict(sorted(Counter(names).items()))


def short_name(name: str) -> str:
    """An instruction's name with what matters for counting: operation, width.

    >>> short_name("ATOMG.E.ADD.STRONG.GPU"), short_name("LDG.E.U16.CONSTANT")
    ('ATOMG.ADD', 'LDG.U16')
    >>> short_name("LDSM.16.MT88.4")
    'LDSM.MT88.4'
    """
    first, *modifiers = name.split(".")
    kept = _KEPT | _OPERATIONS if first.startswith(("ATOM", "RED")) else _KEPT
    if first in ("LDSM", "STSM"):
        kept = _MATRICES
    return ".".join([first, *(one for one in modifiers if one in kept)])


def _without_padding(code: Sequence[Located]) -> list[Located]:
    """The code up to the last EXIT or RET; what follows is never reached."""
    last = max((n for n, one in enumerate(code) if one.name.startswith(("EXIT", "RET"))), default=0)
    return list(code[: last + 1])


def table(found: Sass, *, whole: bool = False, width: Callable[[], int] | None = None) -> str:
    """Source lines beside their instructions; `whole` lists every instruction."""
    shown = [line for line in found.lines if line.memory or whole]
    return "\n".join([head(found), *(line_of(line, whole=whole) for line in shown)])


def head(found: Sass) -> str:
    """What was compiled for which chip, and what a thread and a block need."""
    said = (
        f"{found.kernel}, compiled for cc {found.cc[0]}.{found.cc[1]}: {found.instructions}"
        f" instructions, {found.registers} registers, {found.shared_bytes:,} bytes of shared"
        f" memory, {_local(found)}{found.spills} spills, barriers: {found.barriers},"
        f" {found.ffma_percent:g} % FFMA"
    )
    if not found.lined:
        said += "\nlines not determined: with line numbers the compiler makes other code"
    return said


def line_of(line: SassLine, *, whole: bool = False) -> str:
    """A source line with the number of its instructions; `whole` lists them below it."""
    place = f"{line.line:5}" if line.line else "    -"
    rows = [f"{place}  {line.source[:60]:<60}  {line.count:4}  {line.said}".rstrip()]
    if whole:
        rows += [f"         {one.address:04x}  {one.text}" for one in line.instructions]
    return "\n".join(rows)


def _local(found: Sass) -> str:
    return f"{found.local_bytes:,} bytes of local memory, " if found.local_bytes else ""
