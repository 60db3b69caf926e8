"""Words through which blocks talk while they run, each read and written whole.

    load_word(words, index)                  a uint64, as it is in memory now
    store_word(words, index, word)           put a uint64
    load_pair(words, index)                  two uint64 from there, as a tuple
    store_pair(words, index, first, second)  put two of them
    bits_of(number)                          a number of 4 or 8 bytes as uint32 or uint64
    number_of(like, bits)                    the number of the type of `like` that has these bits

A thread that waits for another block must look at memory itself, again and again: a plain load
may be done once and its value kept, or come from an L1 cache that nobody updates. These are
`ld.relaxed.gpu` and `st.relaxed.gpu`: they go to L2, each time, and a word is never seen half
written. Of a pair, each word is whole by itself; the two may come from different stores. They order
no other access, so what a flag is about has to stand in the word of the flag.

In the engine they count as loads and stores of their sectors, and race with no access of their
kind; a plain access to such a word does race with them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.cuda.extending import intrinsic

from ...lockstep.protocol import lockstep_implementation
from ...lockstep.watch import Access
from .accesses import _address, _place, _place_wide

WORD, PAIR_BYTES = ir.IntType(64), 16
_LOAD_WORD = "{ .reg .u64 at; cvta.to.global.u64 at, $1; ld.relaxed.gpu.global.u64 $0, [at]; }"
_STORE_WORD = "{ .reg .u64 at; cvta.to.global.u64 at, $0; st.relaxed.gpu.global.u64 [at], $1; }"
_LOAD_PAIR = (
    "{ .reg .u64 at; cvta.to.global.u64 at, $2; ld.relaxed.gpu.global.v2.u64 {$0, $1}, [at]; }"
)
_STORE_PAIR = (
    "{ .reg .u64 at; cvta.to.global.u64 at, $0; st.relaxed.gpu.global.v2.u64 [at], {$1, $2}; }"
)


def _words(array: Any) -> Any:
    """The array's type, if it is of uint64."""
    return array if array.dtype == types.uint64 else None


def _asm(builder: Any, code: str, constraints: str, result: Any, args: list[Any]) -> Any:
    """Inline PTX, which the compiler neither drops nor moves; memory is read anew after it."""
    kind = ir.FunctionType(result, [one.type for one in args])
    call = ir.InlineAsm(kind, code, f"{constraints},~{{memory}}", side_effect=True)
    return builder.call(call, args)


def _pointer(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.ptrtoint(_address(context, builder, sig, args), WORD)


@intrinsic
def load_word(typingctx, words, index):
    """A uint64 as it is in memory now."""

    def codegen(context, builder, sig, args):
        return _asm(builder, _LOAD_WORD, "=l,l", WORD, [_pointer(context, builder, sig, args)])

    return _words(words) and (types.uint64(words, index), codegen)


@intrinsic
def store_word(typingctx, words, index, word):
    """Put a uint64, whole."""

    def codegen(context, builder, sig, args):
        at = _pointer(context, builder, sig, args)
        _asm(builder, _STORE_WORD, "l,l", ir.VoidType(), [at, args[2]])
        return context.get_dummy_value()

    return _words(words) and (types.void(words, index, types.uint64), codegen)


@intrinsic
def load_pair(typingctx, words, index):
    """Two uint64 from an even index on, as they are in memory now, each of them whole."""

    def codegen(context, builder, sig, args):
        both = ir.LiteralStructType([WORD, WORD])
        at = _pointer(context, builder, sig, args)
        found = _asm(builder, _LOAD_PAIR, "=l,=l,l", both, [at])
        parts = [builder.extract_value(found, place) for place in range(2)]
        return context.make_tuple(builder, sig.return_type, parts)

    several = types.containers.UniTuple(types.uint64, 2)
    return _words(words) and (several(words, index), codegen)


@intrinsic
def store_pair(typingctx, words, index, first, second):
    """Put two uint64 from an even index on, each of them whole."""

    def codegen(context, builder, sig, args):
        at = _pointer(context, builder, sig, args)
        _asm(builder, _STORE_PAIR, "l,l,l", ir.VoidType(), [at, args[2], args[3]])
        return context.get_dummy_value()

    word = types.uint64
    return _words(words) and (types.void(words, index, word, word), codegen)


def _unsigned(number: Any) -> Any:
    return {32: types.uint32, 64: types.uint64}.get(getattr(number, "bitwidth", 0))


@intrinsic
def bits_of(typingctx, number):
    """The bits of a number of 4 or 8 bytes, as a uint32 or a uint64."""

    def codegen(context, builder, sig, args):
        return builder.bitcast(args[0], context.get_value_type(sig.return_type))

    return _unsigned(number) and (_unsigned(number)(number), codegen)


@intrinsic
def number_of(typingctx, like, bits):
    """The number of the type of `like` whose bits are these."""

    def codegen(context, builder, sig, args):
        return builder.bitcast(args[1], context.get_value_type(sig.return_type))

    return _unsigned(like) and (like(like, _unsigned(like)), codegen)


def _loaded(batch: Any, mask: Any, site: Any, words: Any, index: Any, count: int) -> Any:
    if count == 1:
        offset, active = _place(batch, mask, site, words, index)
    else:
        offset, active, _ = _place_wide(batch, mask, site, words, index, PAIR_BYTES)
    if batch.watched and words.reported:
        root, unit = words.root, words.unit
        batch.report_access(
            Access(site, root, "load", offset, active, elements=count, unit=unit, relaxed=True)
        )
    zero = np.zeros((), np.uint64)
    places = [np.where(active, offset + at, 0) for at in range(count)]
    return tuple(np.where(active, words.store.read(batch, at), zero) for at in places)


def _stored(batch: Any, mask: Any, site: Any, words: Any, index: Any, values: Any) -> None:
    count = len(values)
    if count == 1:
        offset, active = _place(batch, mask, site, words, index)
    else:
        offset, active, _ = _place_wide(batch, mask, site, words, index, PAIR_BYTES)
    values = tuple(np.asarray(value).astype(np.uint64) for value in values)
    if batch.watched and words.reported:
        root, unit, shown = words.root, words.unit, values if count > 1 else values[0]
        batch.report_access(
            Access(site, root, "store", offset, active, shown, count, unit=unit, relaxed=True)
        )
    batch.writes += 1
    for at in range(count):
        words.store.write(batch, np.where(active, offset + at, 0), active, values[at])


@lockstep_implementation(load_word)
def _(batch: Any, mask: Any, site: Any, words: Any, index: Any) -> Any:
    return _loaded(batch, mask, site, words, index, 1)[0]


@lockstep_implementation(store_word)
def _(batch: Any, mask: Any, site: Any, words: Any, index: Any, word: Any) -> None:
    _stored(batch, mask, site, words, index, (word,))


@lockstep_implementation(load_pair)
def _(batch: Any, mask: Any, site: Any, words: Any, index: Any) -> Any:
    return _loaded(batch, mask, site, words, index, 2)


@lockstep_implementation(store_pair)
def _(batch: Any, mask: Any, site: Any, words: Any, index: Any, first: Any, second: Any) -> None:
    _stored(batch, mask, site, words, index, (first, second))


@lockstep_implementation(bits_of)
def _(batch: Any, mask: Any, site: Any, number: Any) -> Any:
    number = np.asarray(number)
    return np.ascontiguousarray(number).view(f"u{number.itemsize}").reshape(number.shape)


@lockstep_implementation(number_of)
def _(batch: Any, mask: Any, site: Any, like: Any, bits: Any) -> Any:
    dtype = np.asarray(like).dtype
    bits = np.asarray(bits).astype(f"u{dtype.itemsize}")
    return np.ascontiguousarray(bits).view(dtype).reshape(bits.shape)
