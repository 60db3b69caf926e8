"""What a GPU's tensor cores make of random numbers, beside the rule: `h200_tensor_values.json`.

    python -m smemnb.laboratory.tensor_values FILE

multiplies 10,000 random fragments of every product of `kernels.ptx.tensor` on a GPU and compares
each element of d with `rules.tensor_core`, bit by bit. The numbers come from a seed in three
draws: `near` 1, `apart` by up to 24 binary places, and any `bits` at all, infinities and NaNs among
them. Then the rounding is tried with other numbers of terms and bits: which of them gives the most
equal elements settles what a chip does. It takes about two minutes, most of it to compile.

The file keeps counts, the largest differences, and d of the first products, which a test compares
with the rule on any machine: a and b come from the seed again.

**Limits**: what ships is of one H200; the rule for cc 8.x is the literature's.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

from ..errors import SmemnbError
from ..kernels.ptx import tensor
from ..kernels.ptx.held import conversions, products_of
from ..rules.tensor_core import HOPPER, Arithmetic, arithmetic_of, rounded_to_tf32

__all__ = ["Compared", "Recorded", "load", "record"]

FILE = "h200_tensor_values.json"
COMMAND = "python -m smemnb.laboratory.tensor_values FILE"
COUNT, KEPT, TRIED = 10_000, 8, 512
DRAWS = ("near", "apart", "bits")
SHARE = {"near": 0.5, "apart": 0.4, "bits": 0.1}
VARIANTS = [
    Arithmetic(at_once, bits) for at_once in (8, 16, 32, 64) for bits in (22, 23, 24, 25, 26, 27)
]
_WARPS = 4

Array = np.ndarray[Any, np.dtype[Any]]
Words = tuple[Array, Array, Array]


@dataclass(frozen=True)
class Compared:
    """One product and one draw: elements of d on the GPU beside those of the rule.

    Attributes:
        name: of the product; draw: of the numbers.
        products: how many were multiplied.
        elements: of d, 128 of each product.
        equal: how many have the same bits (any NaN equals any other).
        nans: how many NaNs have other bits.
        largest: difference of finite numbers, and the two numbers.
        variants: equal elements of the first products, by "bytes at once, bits" of the rounding.
        digest: SHA-256 of all words of d.
        first: d of the first products, base64 of their words.
    """

    name: str
    draw: str
    products: int
    elements: int
    equal: int
    nans: int
    largest: tuple[float, float, float]
    variants: dict[str, int]
    digest: str
    first: str


@dataclass(frozen=True)
class Converted:
    """A conversion of random numbers: how many words are equal, and the first that is not.

    `first` holds the bits of both numbers, and the words of GPU and rule; empty if all are equal.
    """

    name: str
    numbers: int
    equal: int
    first: tuple[int, ...]


@dataclass(frozen=True)
class Recorded:
    """What was read on one GPU."""

    origin: dict[str, Any]
    rows: tuple[Compared, ...]
    conversions: tuple[Converted, ...]


def drawn(name: str, draw: str, products: int) -> Words:
    """a, b and c of random fragments, as (words, 32 lanes of each product).

    >>> [one.shape for one in drawn("mma_m16n8k8_f32_bf16", "near", 2)]
    [(2, 64), (1, 64), (4, 64)]
    """
    _, sums, kind = tensor.shape_of(name)
    random = np.random.default_rng([sorted(tensor.PRODUCTS).index(name), DRAWS.index(draw)])
    of_a, of_b, of_c = tensor.words_of(name)
    lanes = 32 * products
    a, b = (_operand(random, kind, draw, (count, lanes)) for count in (of_a, of_b))
    return a, b, _sums(random, sums, draw, (of_c, lanes))


def _operand(random: Any, kind: str, draw: str, shape: tuple[int, int]) -> Array:
    words: Array = random.integers(0, 2**32, shape, np.uint32)
    if draw == "bits" or kind in ("s8", "u8"):
        return words
    if kind == "tf32":
        return _floats(random, draw, shape).view(np.uint32)
    halves = _floats(random, draw, (*shape, 2))
    if kind == "f16":
        narrow = np.clip(halves, -60000, 60000).astype(np.float16).view(np.uint16)
    else:
        narrow = (halves.view(np.uint32) >> 16).astype(np.uint16)
    return np.ascontiguousarray(narrow).view(np.uint32)[..., 0]


def _sums(random: Any, sums: str, draw: str, shape: tuple[int, int]) -> Array:
    words: Array = random.integers(0, 2**32, shape, np.uint32)
    if sums == "s32":
        return words.view(np.int32)
    if draw == "bits":
        return words if sums == "f16" else words.view(np.float32)
    if sums == "f32":
        return _floats(random, draw, shape)
    halves = np.clip(_floats(random, draw, (*shape, 2)), -60000, 60000).astype(np.float16)
    return np.ascontiguousarray(halves).view(np.uint32)[..., 0]


def _floats(random: Any, draw: str, shape: tuple[int, ...]) -> Array:
    numbers = random.standard_normal(shape)
    if draw == "apart":
        numbers *= 2.0 ** random.integers(-12, 13, shape)
    return np.asarray(numbers.astype(np.float32))


def ruled(name: str, words: Words, arithmetic: Arithmetic = HOPPER) -> Array:
    """d by the rule, as (words, 32 lanes of each product)."""
    a, b, c = (tuple(word.reshape(1, -1, 32) for word in one) for one in words)
    with np.errstate(all="ignore"):
        found = tensor.computed(name, a, b, c, arithmetic)
    return np.stack([word.reshape(-1) for word in found])


def multiplied(name: str, words: Words) -> Array:
    """d as the kernel makes it: on a GPU, or in the engine where there is none."""
    a, b, c = words
    out = np.zeros_like(c)
    warps = a.shape[1] // 32
    block = 32 * (_WARPS if warps % _WARPS == 0 else 1)
    products_of(name)[a.shape[1] // block, block](out, a, b, c)
    return out


def compared(
    name: str, draw: str, products: int, run: Callable[[str, Words], Array] = multiplied
) -> Compared:
    """One product and one draw on this machine's GPU, beside the rule for its architecture."""
    words = drawn(name, draw, products)
    major, minor = cuda.get_current_device().compute_capability
    found, wanted = run(name, words), ruled(name, words, arithmetic_of((int(major), int(minor))))
    one, two = (_numbers(name, d) for d in (found, wanted))
    same, both_nan = _equal(one, two)
    tried = tuple(part[:, : 32 * min(products, TRIED)] for part in words)
    few = found[:, : tried[0].shape[1]]
    return Compared(
        name=name,
        draw=draw,
        products=products,
        elements=one.size,
        equal=int(same.sum()),
        nans=int((both_nan & (_bits(one) != _bits(two))).sum()),
        largest=_largest(one, two),
        variants=dict(_variants(name, tried, few)),  # type: ignore[arg-type]
        digest=hashlib.sha256(np.ascontiguousarray(found).tobytes()).hexdigest(),
        first=base64.b64encode(
            np.ascontiguousarray(found[:, : 32 * min(products, KEPT)]).tobytes()
        ).decode(),
    )


CONVERSIONS = ("cvt_rna_tf32", "cvt_rn_f16x2", "cvt_rn_bf16x2", "to_tf32")


def converted(count: int) -> tuple[Converted, ...]:
    """Random bits, and numbers half way between two of the narrower type, beside the rule."""
    random = np.random.default_rng(4)
    bits = random.integers(0, 2**32, (2, count), np.uint32)
    bits[:, ::4] = bits[:, ::4] & np.uint32(0xFFFF0000) | np.uint32(0x8000)  # ties of bfloat16
    bits[:, 1::4] = bits[:, 1::4] & np.uint32(0xFFFFE000) | np.uint32(0x1000)  # of tf32, float16
    x, y = bits.view(np.float32)
    words = np.zeros((len(CONVERSIONS), count), np.uint32)
    conversions[count // 32, 32](words, x, y)
    found = []
    for name, word in zip(CONVERSIONS, words, strict=True):
        wanted = _by_rule(name, x, y)
        apart = np.flatnonzero(word != wanted)
        first = [(*bits[:, at], word[at], wanted[at]) for at in apart[:1]]
        shown = tuple(int(one) for one in first[0]) if first else ()
        found.append(Converted(name, count, count - len(apart), shown))
    return tuple(found)


def _by_rule(name: str, x: Array, y: Array) -> Array:
    """The words that a conversion makes by the rule, for this machine's device."""
    if name == "to_tf32":
        newer = cuda.get_current_device().compute_capability >= (9, 0)
        return rounded_to_tf32(x, to_even=newer)
    numbers = (x,) if name == "cvt_rna_tf32" else (x, y)
    found: Array = getattr(tensor, name).__lockstep__(None, None, None, *numbers)
    return found


def _variants(name: str, words: Words, found: Array) -> Iterator[tuple[str, int]]:
    if tensor.shape_of(name)[1] == "s32":
        return
    for how in VARIANTS:
        same, _ = _equal(*(_numbers(name, d) for d in (found, ruled(name, words, how))))
        yield f"{how.bytes_at_once}, {how.fraction_bits}", int(same.sum())


def _numbers(name: str, words: Array) -> Array:
    return words.view(np.float16) if tensor.shape_of(name)[1] == "f16" else words


def _bits(numbers: Array) -> Array:
    return np.ascontiguousarray(numbers).view(f"u{numbers.itemsize}")


def _equal(one: Array, two: Array) -> tuple[Array, Array]:
    """Which elements are equal, and which are NaN in both."""
    both_nan = np.isnan(one) & np.isnan(two) if one.dtype.kind == "f" else one != one
    return (_bits(one) == _bits(two)) | both_nan, both_nan


def _largest(one: Array, two: Array) -> tuple[float, float, float]:
    """The largest difference of finite numbers, relative to the larger, and both numbers."""
    x, y = one.astype(np.float64).ravel(), two.astype(np.float64).ravel()
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(x), np.abs(y))
        apart = np.where(np.isfinite(x) & np.isfinite(y) & (size > 0), np.abs(x - y) / size, 0)
    at = int(apart.argmax())
    return float(apart[at]), float(x[at]), float(y[at])


def words_of_first(row: Compared) -> Array:
    """d of the first products of a row, as they were recorded."""
    _, sums, _ = tensor.shape_of(row.name)
    kind = {"f32": np.float32, "f16": np.uint32, "s32": np.int32}[sums]
    whole = np.frombuffer(base64.b64decode(row.first), kind)
    return whole.reshape(tensor.words_of(row.name)[2], -1)


def record(path: Path, *, count: int = COUNT, say: Callable[[str], None] = print) -> Recorded:
    """Compare everything on this machine's GPU, and write the file.

    Raises:
        SmemnbError: there is no GPU.
    """
    from ..measure.verify.recording import machine
    from ..simulator import devices

    if devices.device() in ("lockstep", "off", "numba simulator"):
        raise SmemnbError("products of a GPU are compared with the rule: this machine has none")
    rows = []
    for name, draw in itertools.product(tensor.PRODUCTS, DRAWS):
        rows.append(compared(name, draw, int(count * SHARE[draw])))
        say(said(rows[-1]))
    numbers = converted(count // 32 * 320)
    for one in numbers:
        say(f"{one.name}: {one.equal:,} of {one.numbers:,} words are equal {one.first or ''}")
    origin = {**machine(), "command": COMMAND}
    found = Recorded(origin, tuple(rows), numbers)
    whole = {
        **origin,
        "rows": [asdict(row) for row in rows],
        "conversions": [asdict(one) for one in numbers],
    }
    path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    return found


def said(row: Compared) -> str:
    """A line of the report."""
    apart = row.elements - row.equal
    text = f"{row.name}, {row.draw}: {row.products:,} products, {apart:,} of {row.elements:,} "
    text += "elements differ"
    if apart:
        text += f", by {row.largest[0]:.1e} at most ({row.largest[1]!r}, rule {row.largest[2]!r})"
    if row.nans:
        text += f"; {row.nans:,} NaNs have other bits"
    if row.variants:
        most = max(row.variants.values())
        best = [how for how, equal in row.variants.items() if equal == most]
        text += f"; {most:,} equal with (bytes at once, bits) = {' or '.join(best)}"
    return text


@cache
def load() -> Recorded:
    """The recording that comes with the package.

    Raises:
        SmemnbError: it is not there.
    """
    file = files("smemnb.measure.recorded") / FILE
    if not file.is_file():
        raise SmemnbError(f"no recording is shipped ({FILE}); on a GPU, {COMMAND} makes one")
    whole = json.loads(file.read_text(encoding="utf-8"))
    rows = tuple(Compared(**{**row, "largest": tuple(row["largest"])}) for row in whole.pop("rows"))
    numbers = tuple(
        Converted(**{**one, "first": tuple(one["first"])}) for one in whole.pop("conversions")
    )
    return Recorded(whole, rows, numbers)


if __name__ == "__main__":
    record(Path(sys.argv[1]))
