"""What a cubin says of its kernel besides the code: parameters, stack, constants, symbols."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import SmemnbError
from .usage import headers, sections

_PARAMETER, _PARAMETERS_AT, _FRAME, _LEAST_STACK = 0x17, 0x0A, 0x11, 0x12
_ANNOTATIONS, _SPILL = 0x55, 1
_RESERVED_BYTES = 1024
_DEEP = 1 << 16
_RELOCATION_BYTES, _SYMBOL_BYTES, _ADDRESS_64 = 24, 24, 2


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel: where it lies among them, and its bytes."""

    offset: int
    size: int


@dataclass(frozen=True)
class Image:
    """A kernel's needs beside its instructions.

    Attributes:
        name: of the kernel, as the linker knows it.
        parameters: in order; arrays have several.
        parameters_at: where they begin in constant bank 0.
        stack_bytes: of a thread.
        shared_bytes: static ones of a block, with what the system reserves in front of them.
        shared_from: first byte of the block's own.
        constants: bytes of the constant banks that the compiler filled, by number.
        variables: bytes of global variables, such as frozen arrays and tables of functions.
        addresses: places in constant bank 4 that hold the address of a byte of `variables`.
    """

    name: str
    parameters: tuple[Parameter, ...]
    parameters_at: int
    stack_bytes: int
    shared_bytes: int
    shared_from: int
    constants: dict[int, bytes]
    variables: bytes = b""
    addresses: tuple[tuple[int, int], ...] = ()

    def bank4(self, start: int) -> bytes:
        """Constant bank 4, for variables that begin at an address."""
        bank = bytearray(self.constants.get(4, b""))
        for place, offset in self.addresses:
            bank[place : place + 8] = (start + offset).to_bytes(8, "little")
        return bytes(bank)


def read_image(elf: bytes) -> Image:
    """What the one kernel of a cubin needs.

    Raises:
        SmemnbError: the cubin holds more than one function, or variables of an unknown kind.
    """
    sizes = {name: size for name, _, _, size in headers(elf)}
    contents = dict(sections(elf))
    code = [name for name in contents if name.startswith(".text.")]
    if len(code) != 1:
        raise SmemnbError(f"the machine code holds {len(code)} functions, not one kernel")
    name = code[0].removeprefix(".text.")
    parameters: list[tuple[int, Parameter]] = []
    start = 0
    for attribute, value in _attributes(contents.get(f".nv.info.{name}", b"")):
        if attribute == _PARAMETER:
            ordinal, offset, packed = struct.unpack_from("<HHI", value, 4)
            parameters.append((ordinal, Parameter(offset, packed >> 18)))
        elif attribute == _PARAMETERS_AT:
            start = struct.unpack_from("<H", value, 4)[0]
    stack = [
        struct.unpack_from("<I", value, 4)[0]
        for attribute, value in _attributes(contents.get(".nv.info", b""))
        if attribute in (_FRAME, _LEAST_STACK)
    ]
    reserved = _RESERVED_BYTES if ".nv.shared.reserved.0" in sizes else 0
    constants = {
        bank: contents[section]
        for bank in (2, 3, 4)
        for section in (f".nv.constant{bank}", f".nv.constant{bank}.{name}")
        if section in contents
    }
    return Image(
        name,
        tuple(one for _, one in sorted(parameters, key=lambda pair: pair[0])),
        start,
        min(max(stack, default=0), _DEEP),  # a recursion asks for all there is
        max(sizes.get(f".nv.shared.{name}", 0), reserved),
        reserved,
        constants,
        *_variables(elf, contents),
    )


def spills(elf: bytes) -> frozenset[int]:
    """Addresses of the instructions that store spilled registers or load them again.

    The compiler names them itself: EIATTR_ANNOTATIONS of `.nv.info.<kernel>` is a list of pairs
    (kind, address of an instruction), in which kind 1 marks spills.
    """
    found: set[int] = set()
    for name, info in sections(elf):
        if name.startswith(".nv.info."):
            for attribute, value in _attributes(info):
                if attribute == _ANNOTATIONS:
                    words = struct.unpack(f"<{len(value) // 4}I", value)
                    pairs = zip(words[::2], words[1::2], strict=True)
                    found |= {address for kind, address in pairs if kind == _SPILL}
    return frozenset(found)


def _variables(elf: bytes, contents: dict[str, bytes]) -> tuple[bytes, tuple[tuple[int, int], ...]]:
    """Bytes of the global variables, and which places of constant bank 4 point into them.

    Raises:
        SmemnbError: a relocation of another kind.
    """
    order = [name for name, *_ in headers(elf)]
    sizes = {name: size for name, _, _, size in headers(elf)}
    starts: dict[int, int] = {}
    whole = b""
    for name in (".nv.global.init", ".nv.global"):
        if name in sizes:
            starts[order.index(name)] = len(whole)
            whole += contents[name].ljust(sizes[name], b"\0") + bytes(-sizes[name] % 256)
    symbols, entries = contents.get(".symtab", b""), contents.get(".rela.nv.constant4", b"")
    found: list[tuple[int, int]] = []
    for at in range(0, len(entries), _RELOCATION_BYTES):
        place, kind, addend = struct.unpack_from("<QQq", entries, at)
        _, _, _, section, value, _ = struct.unpack_from(
            "<IBBHQQ", symbols, (kind >> 32) * _SYMBOL_BYTES
        )
        if kind & 0xFFFFFFFF != _ADDRESS_64 or section not in starts:
            raise SmemnbError(f"a relocation of kind {kind & 0xFFFFFFFF} in constant bank 4")
        found.append((place, starts[section] + value + addend))
    return whole, tuple(found)


def _attributes(info: bytes) -> Iterator[tuple[int, bytes]]:
    """Every attribute with its bytes."""
    at = 0
    while at + 4 <= len(info):
        form, attribute, length = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == 4:
            yield attribute, info[at : at + length]
            at += length
