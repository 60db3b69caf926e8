"""Kernels from a few lines of text, run in the engine and thread by thread in plain NumPy."""

from __future__ import annotations

import itertools
import linecache
import re
import textwrap
from types import SimpleNamespace
from typing import Any

import numpy as np
from numba import cuda, float32, int16, int32, uint8

from smemnb.lockstep import launch
from smemnb.lockstep.watch import Access, OutOfRange, Watcher
from smemnb.simulator.inference import infer

RECORD = np.dtype([("x", "f4"), ("n", "i4"), ("v", "f8")], align=True)
INNER = np.dtype([("p", "i2"), ("q", "f4")], align=True)
NESTED = np.dtype([("m", "i2", (3,)), ("inner", INNER), ("c", "c8")], align=True)
PACKED = np.dtype([("a", "u1"), ("x", "f4"), ("w", "f8")])
FIXED = np.array([3, 1, 4, 1, 5, 9], np.int32)
TABLE = np.arange(12, dtype=np.float32).reshape(3, 4) * 1.5
PAIR = (np.arange(4, dtype=np.int32) * 7, TABLE)

NAMES = {
    "np": np, "cuda": cuda, "float32": float32, "int32": int32, "int16": int16, "uint8": uint8,
    "RECORD": RECORD, "INNER": INNER, "NESTED": NESTED, "PACKED": PACKED, "FIXED": FIXED,
    "TABLE": TABLE, "PAIR": PAIR,
}  # fmt: skip
_number = itertools.count()


def arguments() -> dict[str, Any]:
    """Arrays without symmetry, by the letters that the kernels use."""
    random = np.random.default_rng(11)

    def ints(dtype: str, *shape: int) -> np.ndarray[Any, Any]:
        return random.integers(-40, 40, shape).astype(dtype)

    records = np.zeros(8, RECORD)
    records["x"], records["n"], records["v"] = ints("f4", 8), ints("i4", 8), ints("f8", 8)
    packed = np.zeros(8, PACKED)
    packed["a"], packed["x"], packed["w"] = np.arange(8), ints("f4", 8), ints("f8", 8)
    nested = np.zeros(5, NESTED)
    nested["m"], nested["inner"]["p"], nested["inner"]["q"] = ints("i2", 5, 3), 3, ints("f4", 5)
    nested["c"] = ints("f4", 5) + 1j * ints("f4", 5)
    return {
        "out": np.zeros(64), "a": ints("f4", 40), "b": ints("i4", 64), "A": ints("f4", 6, 7),
        "B": ints("i4", 3, 4, 5), "E": ints("i2", 2, 3, 2, 2, 3),
        "F": np.asfortranarray(ints("f4", 5, 4)),
        "R": ints("f4", 12)[::-1], "S": ints("f8", 9, 8)[1::3, ::2], "Z": np.array(2.5, np.float32),
        "c": (ints("f4", 9) + 1j * ints("f4", 9)).astype("c8"), "u": np.arange(80, dtype=np.uint8),
        "h": ints("f2", 9), "t": ints("?", 9), "r": records, "p": packed, "s": nested,
        "q": packed["w"], "y": np.zeros((0, 3), np.float32),
        "o": np.broadcast_to(ints("f4", 4), (5, 4)),
    }  # fmt: skip


def kernel_of(body: str, names: list[str]) -> Any:
    """A kernel of these lines; `i` is the thread's number."""
    source = f"def kernel({', '.join(names)}):\n    i = cuda.grid(1)\n" + textwrap.indent(
        textwrap.dedent(body).strip() + "\n", "    "
    )
    name = f"<memory {next(_number)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space: dict[str, Any] = dict(NAMES)
    exec(compile(source, name, "exec"), space)
    return space["kernel"]


def letters_in(body: str) -> list[str]:
    """The arguments that a body names."""
    return [name for name in arguments() if re.search(rf"\b{name}\b", body)]


def in_engine(
    body: str, threads: int = 40, watchers: tuple[Watcher, ...] = (), typed: bool = True,
    shared_bytes: int = 0, blocks: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """The arguments after the kernel has run in the engine."""
    names = letters_in(body)
    function, data = kernel_of(body, names), arguments()
    args = [data[name] for name in names]
    launch(
        function, (blocks, 1, 1), (threads, 1, 1), args, watchers=watchers,
        types=infer(function, tuple(args)) if typed else None, shared_bytes=shared_bytes,
    )  # fmt: skip
    return dict(zip(names, args, strict=True))


def thread_by_thread(body: str, threads: int = 40) -> dict[str, Any]:
    """The same, each thread alone with NumPy's own arrays."""
    names = letters_in(body)
    function, data = kernel_of(body, names), arguments()
    args = [data[name] for name in names]
    plain = [_with_fields(array) for array in args]
    for thread in range(threads):
        function.__globals__["cuda"] = SimpleNamespace(
            grid=lambda _, thread=thread: thread,
            shared=SimpleNamespace(array=_fresh), local=SimpleNamespace(array=_fresh),
            const=SimpleNamespace(array_like=lambda values: values),
        )  # fmt: skip
        function.__globals__.update(float32=np.float32, int32=np.int32, int16=np.int16)
        with np.errstate(all="ignore"):
            function(*plain)
    return dict(zip(names, args, strict=True))


def _with_fields(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same memory; records with their fields as attributes."""
    return array.view(np.recarray) if array.dtype.names else array


def _fresh(shape: Any, dtype: Any) -> np.ndarray[Any, Any]:
    return _with_fields(np.zeros(shape, dtype))


class Seen(Watcher):
    """Keeps every access as (array, kind, unit, thread -> address), and every bad index."""

    def __init__(self) -> None:
        self.events: list[Access] = []
        self.bad: list[OutOfRange] = []

    def begin_batch(self, batch: Any) -> None:
        self.shape = batch.shape

    def access(self, event: Access) -> None:
        self.events.append(event)

    def out_of_range(self, event: OutOfRange) -> None:
        self.bad.append(event)

    def addresses(self, kind: str = "load", array: str = "") -> list[list[int]]:
        """Per event of this kind the addresses of the active threads of the first block."""
        return [
            _active(e.address, e.active, self.shape)
            for e in self.events
            if e.kind == kind and array in ("", e.array.name)
        ]


def _active(address: Any, active: Any, shape: tuple[int, ...]) -> list[int]:
    lanes = np.broadcast_to(active, shape)[0]
    return [int(at) for at in np.broadcast_to(address, shape)[0][lanes]]
