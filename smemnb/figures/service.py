"""Who is served when: the wavefront of each lane of one shared-memory request.

A request goes in phases (some lanes at a time, if a lane moves 8 or 16 bytes), and within a phase
each bank serves one word per wavefront. Lanes that want the same word are served together.
The counts are those of `smemnb.rules.bank`; a test holds that the last lane is served in the last
wavefront that `rules.bank.wavefronts` counts.

**Limits**: the hardware counts its wavefronts but does not tell their order. Here a word comes
at the turn of the first lane that asks for it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..hardware import BANKS, WARP_LANES, WORD_BYTES
from ..rules import bank, request

__all__ = ["Service", "service"]

PHASE_LANES = {8: (32, 16), 16: (16, 8)}
"""Lanes of a phase, for wide accesses: if lanes pair up, and if they do not."""


@dataclass(frozen=True)
class Service:
    """One request, served. Tuples have one entry per lane, `bank_ways` one per bank.

    `wavefront` counts from 1 (0: inactive); `word` is the number of the lane's first word, and
    `span` how many words a lane touches; `together` marks lanes that share their word with
    another one. `phases` are the lanes of each phase, those without an active lane left out.
    """

    width: int
    kind: str
    active: tuple[bool, ...]
    word: tuple[int, ...]
    wavefront: tuple[int, ...]
    together: tuple[bool, ...]
    phases: tuple[tuple[int, ...], ...]
    bank_ways: tuple[int, ...]
    wavefronts: int
    ideal: int

    @property
    def span(self) -> int:
        """Words, and so banks, that one lane touches."""
        return max(1, self.width // WORD_BYTES)

    @property
    def lanes(self) -> int:
        """Active lanes."""
        return sum(self.active)

    @property
    def ways(self) -> int:
        """The n-way of the request."""
        return max(self.bank_ways)

    @property
    def extra(self) -> int:
        """Extra wavefronts."""
        return self.wavefronts - self.ideal

    @property
    def shared_words(self) -> int:
        """Words that serve several lanes at once, counted once per wavefront."""
        served = {
            (self.wavefront[lane], self.word[lane])
            for lane in range(WARP_LANES)
            if self.together[lane]
        }
        return self.span * len(served)

    def banks(self, lane: int) -> tuple[int, ...]:
        """Banks that a lane touches."""
        first = self.word[lane] % BANKS
        return tuple(range(first, first + self.span))

    def served_in(self, wavefront: int) -> tuple[int, ...]:
        """Lanes that a wavefront serves."""
        return tuple(lane for lane, n in enumerate(self.wavefront) if n == wavefront)


def service(
    address: npt.ArrayLike, *, width: int, active: npt.ArrayLike | None = None, kind: str = "load"
) -> Service:
    """The wavefront of each lane of one request.

    >>> service(np.arange(32) * 32 * 4, width=4).wavefront[:4]
    (1, 2, 3, 4)
    >>> quarters = service(np.arange(32) * 16, width=16)
    >>> quarters.wavefront[::8], quarters.phases[1]
    ((1, 2, 3, 4), (8, 9, 10, 11, 12, 13, 14, 15))

    Args:
        address: 32 byte addresses, one per lane.
        width: bytes per lane.
        active: 32 bools; None means all lanes.
        kind: one of `rules.bank.KINDS`.

    Raises:
        TypeError: addresses that are not integers, or a mask that is not bool.
        ValueError: more or less than one request, or a request that no GPU could be asked.
    """
    shape = np.shape(address)
    if shape != (WARP_LANES,):
        raise ValueError(
            f"address has shape {shape}; a bank map shows one request of {WARP_LANES} addresses."
            " Of several pick one, address[0]; for fewer lanes keep 32 and pass `active`"
        )
    wavefronts = int(bank.wavefronts(address, width=width, active=active, kind=kind))
    ideal = int(bank.ideal(address, width=width, active=active, kind=kind))
    mask = request.mask(active, shape)
    on = (True,) * WARP_LANES if mask is None else tuple(bool(one) for one in mask)
    start = np.where(on, np.asarray(address), 0)
    unit = tuple(int(one) for one in start // max(width, WORD_BYTES))
    phases = _phases(on, width, ideal)
    wavefront, together, bank_ways = _served(unit, phases, width, kind)
    return Service(
        width=width,
        kind=kind,
        active=on,
        word=tuple(int(one) for one in start // WORD_BYTES),
        wavefront=wavefront,
        together=together,
        phases=phases,
        bank_ways=bank_ways,
        wavefronts=wavefronts,
        ideal=ideal,
    )


def _phases(on: tuple[bool, ...], width: int, ideal: int) -> tuple[tuple[int, ...], ...]:
    """Active lanes of each phase: of the ways to cut a warp, the one into `ideal` phases."""
    for size in PHASE_LANES.get(width, (WARP_LANES,)):
        cut = [range(first, first + size) for first in range(0, WARP_LANES, size)]
        phases = tuple(tuple(lane for lane in part if on[lane]) for part in cut)
        phases = tuple(phase for phase in phases if phase)
        if len(phases) == ideal:
            break
    return phases


def _served(
    unit: tuple[int, ...], phases: tuple[tuple[int, ...], ...], width: int, kind: str
) -> tuple[tuple[int, ...], tuple[bool, ...], tuple[int, ...]]:
    """Wavefront of each lane, whether it shares its unit, and the n-way of each bank."""
    span = max(1, width // WORD_BYTES)
    passes = 2 if kind == "atomic_cas" else 1
    merges = kind not in ("atomic_add", "atomic_cas")
    wavefront, together, ways = [0] * WARP_LANES, [False] * WARP_LANES, [0] * BANKS
    before = 0
    for phase in phases:
        queues: dict[int, dict[tuple[int, int], list[int]]] = defaultdict(dict)
        for lane in phase:
            turn = (unit[lane], 0 if merges else lane)
            queues[unit[lane] % (BANKS // span)].setdefault(turn, []).append(lane)
        for column, queue in queues.items():
            for rank, lanes in enumerate(queue.values()):
                for lane in lanes:
                    wavefront[lane] = before + passes * rank + 1
                    together[lane] = len(lanes) > 1
            for one in range(column * span, (column + 1) * span):
                ways[one] = max(ways[one], passes * len(queue))
        before += passes * max(len(queue) for queue in queues.values())
    return tuple(wavefront), tuple(together), tuple(ways)
