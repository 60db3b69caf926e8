"""Words of tiles that the bulk engine and the tensor cores touch."""

from __future__ import annotations

from ..model import Observation
from .words import Words, element


def _meets(words: Words, seen: Observation) -> str:
    then = words.does(seen, other=True)
    return f"{words.does(seen)} and {then}: the same element {element(seen)}"


def read_before_arrival(words: Words, seen: Observation) -> tuple[str, str]:
    """A tile is used while its bulk load is under way."""
    then = seen.other or seen.site
    cause = (
        f"{_meets(words, seen)}, and {words.thread(seen, other=True)} has not found the phase over"
        " before whose end the load arrives, nor heard of it."
    )
    return cause, (
        f"Before {words.line(then)}, wait for the mbarrier that {words.line(seen.site)} names,"
        " with the parity of that very phase: it changes each time that the stage is used again."
        " See that mbarrier_arrive_expecting() says all bytes of the phase, before the load."
    )


def store_under_way(words: Words, seen: Observation) -> tuple[str, str]:
    """A tile is stored, or loaded anew, while its bulk load is under way."""
    then = seen.other or seen.site
    cause = (
        f"{_meets(words, seen)}, while the load of {words.line(seen.site)} is under way: which of"
        " the two is there in the end is not determined."
    )
    return cause, (
        f"Wait for the mbarrier of the load before {words.line(then)}, or use another stage."
    )


def overwritten_stage(words: Words, seen: Observation) -> tuple[str, str]:
    """A tile changes while somebody may still read it."""
    then = seen.other or seen.site
    if seen.detail.get("open"):
        cause = (
            f"{_meets(words, seen)}, and no wait says that what {words.line(seen.site)} asked for"
            " is done: it may still read."
        )
        return cause, (
            f"Wait for its group after {words.line(seen.site)} (wgmma_awaited for products,"
            " bulk_read for stores), and only then arrive at the mbarrier that lets the tile go."
        )
    cause = (
        f"{_meets(words, seen)}, and nothing tells {words.thread(seen, other=True)} that"
        f" {words.line(seen.site)} has read the tile."
    )
    return cause, (
        "Let who reads arrive at an mbarrier after it, and wait for that one (or for"
        f" cuda.syncthreads()) before {words.line(then)}."
    )


def missing_commit(words: Words, seen: Observation) -> tuple[str, str]:
    """The kernel ends while something is under way."""
    cause = (
        f"{words.does(seen)} for {element(seen)}, and the kernel ends while that is under way:"
        " nobody has waited for it, and the memory goes to another block."
    )
    return cause, (
        "Wait before the end: for the mbarrier of a load, by wgmma_awaited(0) for a product, by"
        " bulk_read(0) for a store, after its group was closed; or leave it out."
    )


def missing_async_fence(words: Words, seen: Observation) -> tuple[str, str]:
    """The bulk engine or a product meets what a thread stored without a fence."""
    cause = (
        f"{_meets(words, seen)}. Bulk copies and products of warpgroups go another way to shared"
        " memory than stores do, and may find there what was before."
    )
    return cause, (
        f"Put fence_async() after {words.line(seen.site)}, in each thread that stores, and then the"
        " barrier."
    )


def wrong_swizzle(words: Words, seen: Observation) -> tuple[str, str]:
    """A product takes a tile otherwise than it was loaded."""
    loaded, taken = seen.detail.get("loaded"), seen.detail.get("taken")
    cause = (
        f"{_meets(words, seen)}. The map's swizzle is {loaded} bytes and the descriptor's {taken}"
        " (0 is none), so the product takes chunks of other places for the matrix."
    )
    return cause, "Give the TensorMap and descriptor_of() the same swizzle."
