"""Copies from global into shared memory that go on while the thread does something else.

    copy16(shared, to, array, index)     ask for 16 bytes, both ends at multiples of 16 bytes
    copy1(shared, to, array, index)      ask for an element of 4 or 8 bytes
    commit()                             what was asked for since the last commit is a group
    wait_for(n)                          makes `wait()`: until all but the last n groups are there

No register holds what is under way, so as many bytes can be as shared memory has room for. What has
arrived is seen by the thread that waited; a barrier (of the warp, of the block) hands it to others.
Offsets count elements, as those of `ptx`. On a GPU these are `cp.async`, from compute capability
8.0 on.

**Limits**: the engine copies at once, so an element that is read without a wait is no finding.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.cuda.extending import intrinsic

from ..lockstep.protocol import implementation_of, lockstep_implementation
from .ptx import _address, load1, load16, store1, store16


def _copied(array: Any, count: int) -> Any:
    """What emits a copy of so many bytes."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        word = ir.IntType(64)
        places = (
            _address(context, builder, types.void(*sig.args[:2]), args[:2]),
            _address(context, builder, types.void(*sig.args[2:]), args[2:]),
        )
        kind = ir.FunctionType(ir.VoidType(), [word, word])
        # of fewer bytes there is no copy past the L1 cache
        how = "cg" if count == 16 else "ca"
        text = (
            "{ .reg .u64 place; cvta.to.shared.u64 place, $0;"
            f" cp.async.{how}.shared.global [place], [$1], {count}; }}"
        )
        code = ir.InlineAsm(kind, text, "l,l,~{memory}", side_effect=True)
        builder.call(code, [builder.ptrtoint(place, word) for place in places])
        return context.get_dummy_value()

    return codegen


@intrinsic
def copy16(typingctx, shared, to, array, index):
    """Ask for 16 bytes of a global array, at `to` of a shared one."""
    return types.void(shared, to, array, index), _copied(array, 16)


@intrinsic
def copy1(typingctx, shared, to, array, index):
    """Ask for an element of 4 or 8 bytes of a global array, at `to` of a shared one."""
    count = array.dtype.bitwidth // 8
    return count in (4, 8) and (types.void(shared, to, array, index), _copied(array, count))


def _says(text: str) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [])
        builder.call(ir.InlineAsm(kind, text, "~{memory}", side_effect=True), [])
        return context.get_dummy_value()

    return codegen


@intrinsic
def commit(typingctx):
    """All copies asked for since the last commit are a group."""
    return types.void(), _says("cp.async.commit_group;")


@cache
def wait_for(groups: int) -> Any:
    """A function that waits until all but the last `groups` groups have arrived."""

    @intrinsic
    def wait(typingctx):
        """Wait for copies."""
        return types.void(), _says(f"cp.async.wait_group {groups};")

    @lockstep_implementation(wait)
    def _(batch: Any, mask: Any, site: Any) -> None:
        return None

    return wait


_load1, _load16 = implementation_of(load1), implementation_of(load16)
_store1, _store16 = implementation_of(store1), implementation_of(store16)


@lockstep_implementation(copy16)
def _(batch: Any, mask: Any, site: Any, shared: Any, to: Any, array: Any, index: Any) -> None:
    _store16(batch, mask, site, shared, to, _load16(batch, mask, site, array, index))


@lockstep_implementation(copy1)
def _(batch: Any, mask: Any, site: Any, shared: Any, to: Any, array: Any, index: Any) -> None:
    _store1(batch, mask, site, shared, to, _load1(batch, mask, site, array, index))


@lockstep_implementation(commit)
def _(batch: Any, mask: Any, site: Any) -> None:
    return None
