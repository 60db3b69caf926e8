"""What a compiled kernel needs per thread and per block, read from its machine code.

The numbers stand in the ELF file itself: registers and stack frame in `.nv.info` (attributes
`EIATTR_REGCOUNT` 0x2f, `EIATTR_FRAME_SIZE` 0x11), static shared memory as the size of
`.nv.shared.<kernel>`. From cc 9.0 on that section includes the 1 KB that the system reserves;
it is taken off.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .toolchain import CC, cubin

_REGCOUNT, _FRAME_SIZE = 0x2F, 0x11
_RESERVED_BYTES = 1024


@dataclass(frozen=True)
class Resources:
    """Needs of a kernel as compiled for `cc`.

    Attributes:
        registers: per thread.
        local_bytes: stack frame per thread: local arrays that did not become registers, spills.
        shared_bytes: static shared memory per block.
    """

    cc: CC
    registers: int
    local_bytes: int
    shared_bytes: int


def resources(kernel: Any, args: Any, cc: CC = (9, 0)) -> Resources:
    """Registers, local memory and shared memory of a kernel, without a GPU.

    Raises:
        SmemnbError: the compiler libraries are not installed.
    """
    return read_resources(cubin(kernel, args, cc), cc)


def read_resources(elf: bytes, cc: CC) -> Resources:
    """The same, from an ELF file (a cubin)."""
    contents = dict(sections(elf))
    info = _attributes(contents.get(".nv.info", b""))
    shared = [name for name in contents if name.startswith(".nv.shared._")]
    size = max((_size(elf, name) for name in shared), default=0)
    if size and ".nv.shared.reserved.0" in contents:
        size -= _RESERVED_BYTES
    return Resources(cc, info.get(_REGCOUNT, 0), info.get(_FRAME_SIZE, 0), size)


def headers(elf: bytes) -> Iterator[tuple[str, int, int, int]]:
    """(name, type, offset, size) of every section of a 64-bit ELF file."""
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    entry, count, names_at = struct.unpack_from("<HHH", elf, 0x3A)
    rows = [struct.unpack_from("<IIQQQQ", elf, table + i * entry) for i in range(count)]
    names = rows[names_at][4]
    for name, kind, _, _, offset, size in rows:
        end = elf.index(b"\0", names + name)
        yield elf[names + name : end].decode(), kind, offset, size


def sections(elf: bytes) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every section (none for those without bytes, such as .nv.shared)."""
    for name, kind, offset, size in headers(elf):
        yield name, b"" if kind == 8 else elf[offset : offset + size]


def _size(elf: bytes, wanted: str) -> int:
    return next(size for name, _, _, size in headers(elf) if name == wanted)


def _attributes(info: bytes) -> dict[int, int]:
    """Attribute -> largest value over the functions of the file."""
    found: dict[int, int] = {}
    at = 0
    while at + 4 <= len(info):
        form, attribute, length = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == 4:  # a value of `length` bytes follows: symbol, number
            if length == 8:
                _, value = struct.unpack_from("<II", info, at)
                found[attribute] = max(found.get(attribute, 0), value)
            at += length
    return found
