"""One multiprocessor, cycle by cycle: four schedulers over their warps, compiled by Numba.

Each scheduler looks at its warps in each cycle and takes the first that can issue: the one it took
last, then the youngest. A warp can issue if the cycles that the compiler counted have passed, the
scoreboards that its instruction waits for are free, its pipe is free, the registers it reads can be
read in time, and, for an access to memory, its queue has a place. Every other warp is counted for
the first of these that is in its way. A warp that has ended stays until its stores have left, and
its block makes room for the next one when all its warps have; the next one begins some time later.

Accesses go from four queues into one path: a wavefront of shared memory or of L1 per cycle, and no
more than two words for each lane. Sectors that miss L1 pass a server of L2 and, where they come
from DRAM, one of DRAM; both serve this multiprocessor's share of the whole chip's rate, and more
than that where the others leave some (`machine.Machine.row`). Stores go to L2 by a way of their
own, a packet with a head for each line. Barriers are taken one warp at a time.

Source: the structure is that of Huerta et al. (arXiv 2503.20481), less their instruction fetch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["KINDS", "REASONS", "simulate"]

KINDS: tuple[str, ...] = (
    "fma",
    "heavy",
    "alu",
    "uniform",
    "other",
    "load",
    "store",
    "constant",
    "barrier",
    "special",
    "double",
    "exchange",
)
"""Pipes: what an instruction occupies."""
FMA, HEAVY, ALU, UNIFORM, OTHER, LOAD, STORE, CONSTANT, BARRIER, SPECIAL, DOUBLE, EXCHANGE = range(
    12
)

REASONS = (
    "selected",
    "wait",
    "long_scoreboard",
    "short_scoreboard",
    "mio_throttle",
    "lg_throttle",
    "math_pipe_throttle",
    "dispatch_stall",
    "barrier",
    "not_selected",
    "branch_resolving",
    "drain",
)
"""What a resident warp does or waits for in a cycle, as Nsight Compute calls it."""
SELECTED, WAIT, LONG, SHORT, MIO, LG, PIPE, DISPATCH, AT_BARRIER, NOT_SELECTED, BRANCH, DRAIN = (
    range(12)
)

SHARED, GLOBAL, LOCAL = 0, 1, 2
L1_HIT, L2_HIT, DRAM_HIT = 0, 1, 2
SCOREBOARDS, SLOTS = 6, 64
QUEUE = 32


@njit(cache=True)  # type: ignore[untyped-decorator]
def _push(times: Any, what: Any, size: int, time: float, value: int) -> int:
    at = size
    while at > 0:
        above = (at - 1) // 2
        if times[above] <= time:
            break
        times[at], what[at] = times[above], what[above]
        at = above
    times[at], what[at] = time, value
    return size + 1


@njit(cache=True)  # type: ignore[untyped-decorator]
def _pop(times: Any, what: Any, size: int) -> int:
    size -= 1
    time, value = times[size], what[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and times[below + 1] < times[below]:
            below += 1
        if times[below] >= time:
            break
        times[at], what[at] = times[below], what[below]
        at = below
    times[at], what[at] = time, value
    return size


@njit(cache=True)  # type: ignore[untyped-decorator]
def simulate(
    code: Any,  # int32 (instructions, 12), columns as `instructions.COLUMNS` names them
    place: Any,  # int32: instructions of all streams
    active: Any,  # bool
    taken: Any,  # bool: the next instruction is another than the one behind it
    request: Any,  # int32: number of an access, -1 for none
    stream_at: Any,  # int64: where each stream begins, one longer
    space: Any,  # int8, of each access
    wavefronts: Any,  # int32
    missed: Any,  # int32: sectors that L1 has not
    far: Any,  # float32: the share of them that comes from DRAM
    lines: Any,  # int32: lines that a store goes to, 0 of other accesses
    blocks: Any,  # int32 (blocks to run, warps of a block): streams
    resident: int,
    constants: Any,  # float64, in the order of `machine.ORDER`
    waits: Any,  # int64 (instructions, reasons), added to
    drawn: Any,  # int8 (warps, cycles) for a timeline, or of no size
) -> tuple[float, float, float, float, float, float]:
    """What came of it, as `streams.Ran` names it.

    Cycles until the last warp has ended, instructions issued, and cycles that were busy: of the
    path, of L2 for loads and for stores, and of DRAM.
    """
    (shared_latency, l1_latency, l2_near, l2_far, dram_latency, constant_latency) = constants[:6]
    (special_latency, exchange_latency, barrier_latency, branch_extra, queue_places) = constants[
        6:11
    ]
    (queue_delay, window, policy, sector_l2, sector_dram, read_release) = constants[11:17]
    (sector_in, packet_in, block_start, warp_start, block_interval) = constants[17:22]
    barrier_each = constants[22]
    per_block = blocks.shape[1]
    warps = min(SLOTS, resident * per_block)
    stream = np.full(warps, -1, np.int64)
    at = np.zeros(warps, np.int64)
    end = np.zeros(warps, np.int64)
    born = np.zeros(warps, np.int64)
    ready = np.zeros(warps, np.float64)
    why_ready = np.full(warps, WAIT, np.int64)
    waiting = np.zeros(warps, np.bool_)
    held = np.zeros((warps, SCOREBOARDS), np.int64)
    held_by = np.zeros((warps, SCOREBOARDS), np.int64)
    alive = np.zeros(resident, np.int64)
    at_work = np.zeros(resident, np.int64)
    outgoing = np.zeros(warps, np.int64)
    leaves = np.zeros(warps, np.float64)
    ended = np.zeros(warps, np.bool_)
    leaving, barrier_free, block_next = 0, 0.0, 0.0
    loads_busy, stores_busy, dram_busy = 0.0, 0.0, 0.0
    arrived = np.zeros(resident, np.int64)
    pipe = np.zeros((4, 12), np.float64)
    port = np.zeros((4, 2), np.float64)
    last = np.full(4, -1, np.int64)
    turn = np.zeros(4, np.int64)
    queue = np.zeros((4, QUEUE, 3), np.int64)
    queue_since = np.zeros((4, QUEUE), np.float64)
    head, filled = np.zeros(4, np.int64), np.zeros(4, np.int64)
    outside = np.zeros(4, np.int64)
    size, heap_t, heap_w = 0, np.zeros(1 << 16, np.float64), np.zeros(1 << 16, np.int64)
    path, path_busy, l2_free, l2_in, dram_free = 0.0, 0.0, 0.0, 0.0, 0.0
    next_queue, next_block, issued, clock, order = 0, 0, 0.0, 0.0, 0
    rng = np.uint64(88172645463325252)
    running = 0
    for slot in range(resident):
        if next_block < len(blocks):
            for warp in range(per_block):
                w = slot * per_block + warp
                stream[w] = blocks[next_block, warp]
                at[w], end[w] = stream_at[stream[w]], stream_at[stream[w] + 1]
                born[w] = order
                ready[w], why_ready[w] = block_next + warp * warp_start, -1
                order += 1
            block_next += block_interval
            alive[slot] = at_work[slot] = per_block
            running += per_block
            next_block += 1
    drawing = drawn.shape[1] if drawn.ndim == 2 else 0
    while running > 0:
        progress = False
        while size and heap_t[0] <= clock:
            w, board = heap_w[0] // 8, heap_w[0] % 8
            held[w, board] -= 1
            size = _pop(heap_t, heap_w, size)
            progress = True
        # the path of accesses takes one request when it is free
        if path <= clock:
            for step in range(4):
                s = (next_queue + step) & 3
                if filled[s] and queue_since[s, head[s]] <= clock:
                    w, number, op = queue[s, head[s]]
                    head[s] = (head[s] + 1) % QUEUE
                    filled[s] -= 1
                    next_queue = (s + 1) & 3
                    progress = True
                    kind, writes, reads = code[op, 0], code[op, 3], code[op, 4]
                    busy = 1.0
                    latency = exchange_latency
                    if number >= 0:
                        where = space[number]
                        if where != SHARED:
                            outside[s] -= 1
                        busy = max(1.0, float(wavefronts[number]))
                        latency = shared_latency if where == SHARED else l1_latency
                        busy = max(busy, 0.5 * code[op, 9])  # two words of all lanes per cycle
                        latency += np.ceil(busy) - 1.0  # a step of latency for each further one
                    elif kind == LOAD or kind == STORE:
                        if code[op, 11] == GLOBAL:
                            outside[s] -= 1
                        latency = shared_latency
                    path = clock + busy
                    path_busy += busy
                    back = path + latency
                    if number >= 0 and missed[number] > 0:
                        if lines[number]:
                            taken_up = missed[number] * sector_in + lines[number] * packet_in
                            stores_busy += taken_up
                            l2_in = max(l2_in, path) + taken_up
                            done = l2_in
                        else:
                            taken_up = missed[number] * sector_l2
                            loads_busy += taken_up
                            l2_free = max(l2_free, path) + taken_up
                            done = l2_free
                        rng = rng * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                        drawn_by = float(rng >> np.uint64(11)) / 9007199254740992.0
                        rng = rng * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                        side = float(rng >> np.uint64(11)) / 9007199254740992.0
                        back = done + (l2_near if side < 0.5 else l2_far)
                        if drawn_by < far[number]:
                            begins = max(dram_free, path)
                            dram_free = begins + missed[number] * sector_dram
                            dram_busy += missed[number] * sector_dram
                            back = max(dram_free, done) + dram_latency
                    if kind == STORE and code[op, 11] != SHARED:
                        outgoing[w] -= 1
                        leaves[w] = max(leaves[w], max(path, l2_in))
                    if reads < SCOREBOARDS:
                        size = _push(heap_t, heap_w, size, path + read_release, w * 8 + reads)
                    if writes < SCOREBOARDS:
                        size = _push(heap_t, heap_w, size, back, w * 8 + writes)
                    break
        for s in range(4):
            best, best_rank = -1, -1.0
            own = (warps - s + 3) // 4
            for k in range(own):
                w = s + 4 * k
                if stream[w] < 0:
                    continue
                if ended[w]:
                    waits[place[end[w] - 1], DRAIN] += 1
                    if drawing and clock < drawing:
                        drawn[w, int(clock)] = DRAIN
                    continue
                op = place[at[w]]
                why = SELECTED
                if ready[w] > clock and why_ready[w] < 0:
                    continue  # it has not begun
                if waiting[w]:
                    why = AT_BARRIER
                elif ready[w] > clock:
                    why = why_ready[w]
                else:
                    mask = code[op, 2]
                    if mask:
                        for board in range(SCOREBOARDS):
                            if mask >> board & 1 and held[w, board] > 0:
                                why = held_by[w, board]
                                break
                    if why == SELECTED:
                        kind = code[op, 0]
                        if kind == LOAD or kind == STORE or kind == EXCHANGE:
                            if filled[s] >= queue_places:
                                why = LG if outside[s] * 2 > filled[s] else MIO
                        elif pipe[s, kind] > clock or (kind == HEAVY and pipe[s, FMA] > clock):
                            why = PIPE if kind != SPECIAL else MIO
                if why == SELECTED:
                    rank = float(born[w])
                    if policy == 0 and last[s] == w:
                        rank = 1e18
                    elif policy == 1:
                        rank = 1e18 if last[s] == w else -rank
                    elif policy == 2:
                        rank = -float((w // 4 - turn[s] + SLOTS) % SLOTS)
                    if best < 0 or rank > best_rank:
                        if best >= 0:
                            waits[place[at[best]], NOT_SELECTED] += 1
                            if drawing and clock < drawing:
                                drawn[best, int(clock)] = NOT_SELECTED
                        best, best_rank = w, rank
                        continue
                    why = NOT_SELECTED
                waits[op, why] += 1
                if drawing and clock < drawing:
                    drawn[w, int(clock)] = why
            if best < 0:
                continue
            w = best
            op = place[at[w]]
            kind = code[op, 0]
            if window > 0:  # its sources are read in time, or nobody issues
                kept = last[s] == w
                even = float(code[op, 5] if kept else code[op, 7])
                odd = float(code[op, 6] if kept else code[op, 8])
                first = max(port[s, 0], clock) + min(even, window)
                second = max(port[s, 1], clock) + min(odd, window)
                if first > clock + window or second > clock + window:
                    waits[op, DISPATCH] += 1
                    if drawing and clock < drawing:
                        drawn[w, int(clock)] = DISPATCH
                    continue
            progress = True
            waits[op, SELECTED] += 1
            if drawing and clock < drawing:
                drawn[w, int(clock)] = SELECTED
            issued += 1
            if window > 0:
                kept = last[s] == w
                port[s, 0] = max(port[s, 0], clock) + (code[op, 5] if kept else code[op, 7])
                port[s, 1] = max(port[s, 1], clock) + (code[op, 6] if kept else code[op, 8])
            last[s] = w
            turn[s] = w // 4 + 1
            stall = max(1.0, float(code[op, 1]))
            ready[w], why_ready[w] = clock + stall, WAIT
            if taken[at[w]] and branch_extra > 0:
                ready[w], why_ready[w] = clock + stall + branch_extra, BRANCH
            writes, reads = code[op, 3], code[op, 4]
            if kind == LOAD or kind == STORE or kind == EXCHANGE:
                place_in = (head[s] + filled[s]) % QUEUE
                number = request[at[w]]
                queue[s, place_in, 0], queue[s, place_in, 1], queue[s, place_in, 2] = w, number, op
                queue_since[s, place_in] = clock + queue_delay
                filled[s] += 1
                if code[op, 11] != SHARED:
                    outside[s] += 1
                    outgoing[w] += kind == STORE
                if writes < SCOREBOARDS:
                    held[w, writes] += 1
                    held_by[w, writes] = SHORT if code[op, 11] == SHARED else LONG
                if reads < SCOREBOARDS:
                    held[w, reads] += 1
                    if held[w, reads] == 1:
                        held_by[w, reads] = SHORT if code[op, 11] == SHARED else LONG
            else:
                pipe[s, kind] = clock + code[op, 10]
                if kind == HEAVY:
                    pipe[s, FMA] = max(pipe[s, FMA], clock + 1)
                latency = special_latency if kind == SPECIAL else constant_latency
                if writes < SCOREBOARDS:
                    held[w, writes] += 1
                    held_by[w, writes] = SHORT
                    size = _push(
                        heap_t, heap_w, size, clock + code[op, 10] + latency, w * 8 + writes
                    )
                if reads < SCOREBOARDS:
                    held[w, reads] += 1
                    held_by[w, reads] = SHORT
                    size = _push(heap_t, heap_w, size, clock + read_release, w * 8 + reads)
            slot = w // per_block
            if kind == BARRIER and active[at[w]]:
                waiting[w] = True
                arrived[slot] += 1
                barrier_free = max(barrier_free, clock) + barrier_each
            at[w] += 1
            if at[w] >= end[w]:
                waiting[w] = False
                ended[w] = True
                leaving += 1
                at_work[slot] -= 1
            if arrived[slot] and arrived[slot] == at_work[slot]:
                arrived[slot] = 0
                for x in range(slot * per_block, (slot + 1) * per_block):
                    if waiting[x]:
                        waiting[x] = False
                        ready[x] = max(ready[x], max(barrier_free, clock) + barrier_latency)
                        why_ready[x] = AT_BARRIER
        # a warp is gone when its stores have left, and its block makes room when all warps are
        for w in range(warps if leaving else 0):
            if ended[w] and outgoing[w] == 0 and leaves[w] <= clock:
                progress = True
                ended[w] = False
                leaving -= 1
                stream[w] = -1
                running -= 1
                slot = w // per_block
                alive[slot] -= 1
                if alive[slot] == 0 and next_block < len(blocks):
                    begins = max(clock + block_start, block_next)
                    block_next = begins + block_interval
                    for warp in range(per_block):
                        x = slot * per_block + warp
                        stream[x] = blocks[next_block, warp]
                        at[x], end[x] = stream_at[stream[x]], stream_at[stream[x] + 1]
                        born[x], leaves[x] = order, 0.0
                        ready[x] = begins + warp * warp_start
                        why_ready[x] = -1
                        order += 1
                    alive[slot] = at_work[slot] = per_block
                    arrived[slot] = 0
                    running += per_block
                    next_block += 1
        clock += 1
        if not progress:  # nothing happens until the next event: the same waits until then
            later = 1e18
            if size:
                later = heap_t[0]
            for s in range(4):
                if filled[s]:
                    later = min(later, max(path, queue_since[s, head[s]]))
                for k in range(12):
                    if pipe[s, k] >= clock:
                        later = min(later, pipe[s, k])
                if port[s, 0] >= clock or port[s, 1] >= clock:
                    later = clock
            for w in range(warps):
                if stream[w] >= 0 and not waiting[w] and not ended[w] and ready[w] >= clock:
                    later = min(later, ready[w])
                if ended[w] and outgoing[w] == 0:
                    later = min(later, max(leaves[w], clock))
            if later >= 1e18:
                return -1.0, issued, path_busy, loads_busy, stores_busy, dram_busy
            gap = np.ceil(later) - clock
            if gap > 0:
                for w in range(warps):
                    if stream[w] >= 0 and not (ready[w] > clock and why_ready[w] < 0):
                        op = place[min(at[w], end[w] - 1)]
                        why = AT_BARRIER
                        if ended[w]:
                            why = DRAIN
                        elif not waiting[w]:
                            why = why_ready[w]
                            if ready[w] <= clock:
                                mask = code[op, 2]
                                why = PIPE
                                if code[op, 0] == LOAD or code[op, 0] == STORE:
                                    why = LG if outside[w % 4] * 2 > filled[w % 4] else MIO
                                for board in range(SCOREBOARDS):
                                    if mask >> board & 1 and held[w, board] > 0:
                                        why = held_by[w, board]
                                        break
                        waits[op, why] += int(gap)
                        if drawing:
                            for cycle in range(int(clock), min(int(clock + gap), drawing)):
                                drawn[w, cycle] = why
                clock += gap
    return clock, issued, path_busy, loads_busy, stores_busy, dram_busy
