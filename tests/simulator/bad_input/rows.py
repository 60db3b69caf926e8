"""A row of the table of bad input, and what has to hold for each of them.

A row does something wrong with a kernel that would store at once into memory of the device; then
nothing may have happened: no array changed, no launch begun, the next good launch right. Its
text is written out whole.
"""

from __future__ import annotations

import importlib
import inspect
import linecache
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import cuda

import smemnb
from smemnb.errors import SmemnbError

PACKAGE = Path(smemnb.__file__).parent
HERE = "# here"
engine = importlib.import_module("smemnb.lockstep.launch")


class World:
    """What a row may spoil: memory of the device, an output of the host, an input."""

    def __init__(self) -> None:
        ints = np.random.default_rng(11).integers(-99, 99, (3, 40)).astype(np.float32)
        self.out, self.inp, numbers = ints
        self.dev = cuda.to_device(numbers)

    def held(self) -> tuple[bytes, ...]:
        """Every byte of it."""
        return self.out.tobytes(), self.inp.tobytes(), self.dev.copy_to_host().tobytes()


@dataclass(frozen=True)
class Row:
    """One way to be wrong: what is done, the kind of error and its text.

    `numbas` says that the error is Numba's own, so that its traceback ends inside Numba.
    """

    name: str
    act: Callable[[World], Any]
    kind: type[BaseException]
    text: str
    numbas: bool = False


@dataclass
class Table:
    """Rows of one family."""

    rows: list[Row] = field(default_factory=list)

    def add(self, *row: Any, **more: Any) -> None:
        """One more row."""
        self.rows.append(Row(*row, **more))

    def each(self) -> Any:
        """The decorator that runs a test once for every row."""
        names = [row.name for row in self.rows]
        assert len(set(names)) == len(names)
        return pytest.mark.parametrize("row", self.rows, ids=names)


@cuda.jit
def add_one(out, inp):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = inp[i] + 1  # here


def marked(kernel: Any, what: str, engine: bool = False) -> str:
    """The text of a refusal at the line of a kernel that ends in `# here`; or the engine's."""
    function = getattr(kernel, "py_func", kernel)
    lines, first = inspect.getsourcelines(function)
    at = first + next(i for i, line in enumerate(lines) if HERE in line)
    file = function.__code__.co_filename
    if engine:
        return f"line {at}: {what}"
    return f"{Path(file).name}, line {at}: {what}\n    {linecache.getline(file, at).strip()}"


def refused(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do what the row does, and look at everything that must hold afterwards."""
    begun = []
    attempt = engine._attempt

    def counted(*args: Any) -> bool:
        begun.append(args)
        return attempt(*args)

    monkeypatch.setattr(engine, "_attempt", counted)
    world = World()
    before = world.held()
    with pytest.raises(BaseException) as caught:
        row.act(world)
    assert (type(caught.value).__name__, str(caught.value)) == (row.kind.__name__, row.text)
    assert isinstance(caught.value, row.kind)
    assert begun == []
    assert world.held() == before
    if not row.numbas:
        _ends_at_the_caller(caught.value)
    add_one[2, 32](world.dev, world.inp)
    assert np.array_equal(world.dev.copy_to_host(), world.inp + 1)
    assert len(begun) == 1


def _ends_at_the_caller(error: BaseException) -> None:
    """One frame of the package at most, the public entry, and no error behind the error."""
    assert isinstance(error, SmemnbError)
    files = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
    inside = [file for file in files if PACKAGE in file.parents]
    assert len(inside) <= 1
    assert files[-len(inside) :] == inside or not inside
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__
