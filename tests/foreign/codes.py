"""Hashes, checksums, alignments and transforms."""

import hashlib
import math
import zlib

import numpy as np
from numba import complex64, cuda, int32, uint32, uint64

from tests.foreign.cases import blocks, case, close, equal, rng

ROUND = np.array(
    [
        int(math.modf(p ** (1 / 3))[0] * 2**32)
        for p in range(2, 312)
        if all(p % q for q in range(2, p))
    ],
    np.uint32,
)
START = np.array(
    [int(math.modf(p**0.5)[0] * 2**32) for p in (2, 3, 5, 7, 11, 13, 17, 19)], np.uint32
)


@cuda.jit(device=True, inline="always")
def rotr(x, n):
    return uint32((x >> uint32(n)) | (x << uint32(32 - n)))


@cuda.jit
def sha256_kernel(digests, messages, lengths):
    k = cuda.const.array_like(ROUND)
    i = cuda.grid(1)
    if i >= messages.shape[0]:
        return
    w = cuda.local.array(64, uint32)
    for t in range(16):
        word = uint32(0)
        for b in range(4):
            at = 4 * t + b
            byte = uint32(0)
            if at < lengths[i]:
                byte = uint32(messages[i, at])
            elif at == lengths[i]:
                byte = uint32(0x80)
            word = uint32((word << uint32(8)) | byte)
        w[t] = word
    w[15] = uint32(lengths[i] * 8)
    for t in range(16, 64):
        s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ (w[t - 15] >> uint32(3))
        s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ (w[t - 2] >> uint32(10))
        w[t] = w[t - 16] + s0 + w[t - 7] + s1
    h = cuda.const.array_like(START)
    a, b, c, d = h[0], h[1], h[2], h[3]
    e, f, g, hh = h[4], h[5], h[6], h[7]
    for t in range(64):
        s1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)
        ch = (e & f) ^ (~e & g)
        t1 = uint32(hh + s1 + ch + k[t] + w[t])
        s0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)
        maj = (a & b) ^ (a & c) ^ (b & c)
        t2 = uint32(s0 + maj)
        hh, g, f, e, d, c, b, a = g, f, e, uint32(d + t1), c, b, a, uint32(t1 + t2)
    state = (a, b, c, d, e, f, g, hh)
    for t in range(8):
        digests[t, i] = state[t] + h[t]


# A message is 64 bytes from lane to lane, read byte by byte.
@case(40, finds="uncoalesced open_local_array")
def sha256(run, n):
    """Messages of one block of up to 55 bytes; against hashlib."""
    lengths = rng(n).integers(0, 56, n).astype(np.int32)
    messages = rng(1).integers(0, 256, (n, 64)).astype(np.uint8)
    digests = np.zeros((8, n), np.uint32)
    run(sha256_kernel)[blocks(n, 32), 32](digests, messages, lengths)
    for i in range(n):
        want = hashlib.sha256(messages[i, : lengths[i]].tobytes()).digest()
        assert digests[:, i].astype(">u4").tobytes() == want


@cuda.jit
def fnv_kernel(out, text, starts):
    i = cuda.grid(1)
    if i + 1 < starts.size:
        h = uint64(0xCBF29CE484222325)
        for at in range(starts[i], starts[i + 1]):
            h = (h ^ uint64(text[at])) * uint64(0x100000001B3)
        out[i] = h


@case(70, 33, finds="scattered")
def fnv_of_words(run, n):
    """64-bit FNV-1a of words of 8 to 39 letters, which lie one after the other."""
    words = [rng(i).integers(97, 123, 8 + i * 7 % 32).astype(np.uint8) for i in range(n)]
    starts = np.cumsum([0, *(w.size for w in words)]).astype(np.int32)
    out = np.zeros(n, np.uint64)
    run(fnv_kernel)[blocks(n, 64), 64](out, np.concatenate(words), starts)
    for i, word in enumerate(words):
        h = 0xCBF29CE484222325
        for letter in word:
            h = (h ^ int(letter)) * 0x100000001B3 % 2**64
        assert out[i] == h


def crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = (n >> 1) ^ (0xEDB88320 if n & 1 else 0)
        table.append(n)
    return np.array(table, np.uint32)


CRC = crc_table()


@cuda.jit
def crc_kernel(out, data):
    table = cuda.const.array_like(CRC)
    i = cuda.grid(1)
    if i < out.size:
        crc = uint32(0xFFFFFFFF)
        for k in range(data.shape[0]):
            crc = table[(crc ^ data[k, i]) & 0xFF] ^ (crc >> uint32(8))
        out[i] = crc ^ uint32(0xFFFFFFFF)


@case(70, 32)
def crc32(run, n):
    """A table in constant memory; the bytes of all messages lie side by side."""
    data = rng(n).integers(0, 256, (20, n)).astype(np.uint8)
    out = np.zeros(n, np.uint32)
    run(crc_kernel)[blocks(n, 64), 64](out, data)
    equal(out, [zlib.crc32(data[:, i].tobytes()) for i in range(n)])


MOST = 33


@cuda.jit
def levenshtein_kernel(out, words, lengths, query):
    i = cuda.grid(1)
    if i >= out.size:
        return
    row = cuda.local.array(MOST, int32)
    for j in range(len(query) + 1):
        row[j] = j
    for a in range(lengths[i]):
        diagonal = row[0]
        row[0] = a + 1
        for j, letter in enumerate(query):
            above = row[j + 1]
            row[j + 1] = min(above + 1, row[j] + 1, diagonal + (words[a, i] != letter))
            diagonal = above
    out[i] = row[len(query)]


def edits(a, b):
    table = np.add.outer(np.arange(len(a) + 1), np.arange(len(b) + 1))
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            change = table[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, change)
    return table[-1, -1]


@case(70, 33, finds="local_array")
def levenshtein(run, n):
    """A word per thread, one row of the table in a local array, the query an array."""
    lengths = rng(n).integers(0, 9, n).astype(np.int32)
    words = rng(1).integers(97, 101, (8, n)).astype(np.uint8)
    query = np.frombuffer(b"abcadbc", np.uint8).copy()
    out = np.zeros(n, np.int32)
    run(levenshtein_kernel)[blocks(n, 32), 32](out, words, lengths, query)
    equal(out, [edits(words[: lengths[i], i], query) for i in range(n)])


@cuda.jit
def smith_waterman_kernel(best, table, a, b, match, mismatch, gap):
    tid = cuda.threadIdx.x
    n, m = a.size, b.size
    top = 0
    for diagonal in range(2, n + m + 1):
        i = tid + 1
        while i <= n:
            j = diagonal - i
            if 1 <= j <= m:
                score = match if a[i - 1] == b[j - 1] else mismatch
                cell = max(
                    0,
                    table[i - 1, j - 1] + score,
                    table[i - 1, j] - gap,
                    table[i, j - 1] - gap,
                )
                table[i, j] = cell
                top = max(top, cell)
            i += cuda.blockDim.x
        cuda.syncthreads()
    cuda.atomic.max(best, 0, top)


# Along a diagonal each lane is in a row of its own.
@case((40, 50), (21, 33), finds="uncoalesced")
def smith_waterman(run, sizes):
    """One block goes through the diagonals of the table in global memory."""
    a, b = (rng(n).integers(0, 4, n).astype(np.uint8) for n in sizes)
    table = np.zeros((sizes[0] + 1, sizes[1] + 1), np.int32)
    best = np.zeros(1, np.int32)
    run(smith_waterman_kernel)[1, 64](best, table, a, b, 3, -2, 2)
    want = np.zeros_like(table)
    for i in range(1, sizes[0] + 1):
        for j in range(1, sizes[1] + 1):
            step = 3 if a[i - 1] == b[j - 1] else -2
            up, left = want[i - 1, j] - 2, want[i, j - 1] - 2
            want[i, j] = max(0, want[i - 1, j - 1] + step, up, left)
    equal(table, want)
    equal(best[0], want.max())


POINTS = 64
LEVELS = 6


@cuda.jit
def fft_radix2(out, inp, sign):
    buf = cuda.shared.array(POINTS, complex64)
    tid = cuda.threadIdx.x
    row = cuda.blockIdx.x
    for at in range(tid, POINTS, POINTS // 2):
        buf[cuda.brev(uint32(at)) >> uint32(32 - LEVELS)] = inp[row, at]
    cuda.syncthreads()
    half = 1
    for _ in range(LEVELS):
        k = tid % half
        low = (tid // half) * 2 * half + k
        angle = np.float32(sign * math.pi) * np.float32(k) / np.float32(half)
        twiddle = complex(math.cos(angle), math.sin(angle))
        even = buf[low]
        odd = twiddle * buf[low + half]
        buf[low] = even + odd
        buf[low + half] = even - odd
        cuda.syncthreads()
        half *= 2
    out[row, tid] = buf[tid]
    out[row, tid + POINTS // 2] = buf[tid + POINTS // 2]


# sign * math.pi is float64; Numba moves the two parts of a complex number by themselves.
@case(1, 5, finds="float64_arithmetic interleaved")
def fft(run, rows):
    """Radix 2 in shared memory, six levels of rounding; and its inverse."""
    inp = (rng(rows).normal(size=(rows, POINTS)) + 1j * rng(1).normal(size=(rows, POINTS))).astype(
        np.complex64
    )
    out, back = np.zeros_like(inp), np.zeros_like(inp)
    run(fft_radix2)[rows, POINTS // 2](out, inp, -1)
    close(out, np.fft.fft(inp), 0, 2e-5)
    run(fft_radix2)[rows, POINTS // 2](back, out, 1)
    close(back / POINTS, inp, 0, 2e-6)


@cuda.jit
def xor_cipher(out, data, key):
    i = cuda.grid(1)
    state = uint32((i + 1) * 2654435761)
    for _ in range(3):
        state = uint32(state ^ (state << uint32(13)))
        state ^= state >> uint32(17)
        state = uint32(state ^ (state << uint32(5)))
    if i < data.size:
        out[i] = data[i] ^ (state & 0xFF) ^ key[i % len(key)]


@case(100, 33)
def xorshift_cipher(run, n):
    """A key stream of xorshift32 by index; and the way back."""
    data = rng(n).integers(0, 256, n).astype(np.uint8)
    key = np.frombuffer(b"secret!", np.uint8).copy()
    out, back = np.zeros_like(data), np.zeros_like(data)
    run(xor_cipher)[blocks(n, 64), 64](out, data, key)
    for i in range(n):
        x = (i + 1) * 2654435761 % 2**32
        for _ in range(3):
            x ^= x << 13 & 0xFFFFFFFF
            x ^= x >> 17
            x ^= x << 5 & 0xFFFFFFFF
        assert out[i] == data[i] ^ (x & 255) ^ key[i % 7]
    run(xor_cipher)[blocks(n, 64), 64](back, out, key)
    equal(back, data)
