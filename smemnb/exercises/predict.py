"""Guess first, then look: `predict` compares a guess with what the next cell will show.

It never shows the answer, so that a wrong guess can be thought over and made again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ASK = "Make a guess (replace None), then run this cell again."


_TUPLE = "Put several numbers into parentheses of their own"


@dataclass(frozen=True, repr=False)
class Prediction:
    """Whether a guess is right; `holds` is None as long as there is no guess."""

    holds: bool | None
    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from .as_html import answer

        return answer(self.text, holds=self.holds)


def predict(
    guess: Any,
    truth: Any | Callable[[], Any],
    what: str = "",
    *more: Any,
    within: float = 0.0,
) -> Prediction:
    """Compare `guess` with the truth, which may be a function that is called only then.

    A sequence is compared item by item. `within` is the relative error that still counts as
    right.

    >>> predict(None, 32)
    Make a guess (replace None), then run this cell again.
    >>> predict(8, 32, "wavefronts")
    8 wavefronts: not right. Guess again, or read on.
    >>> predict((1, 2, 4), lambda: [1, 2, 1])
    1, 2, 4: 2 of 3 are right. Guess again, or read on.
    >>> predict(32, 32, "wavefronts")
    32 wavefronts: right.
    >>> predict(1, 2, [1, 2])
    Put several numbers into parentheses of their own: predict((1, ...), truth).
    """
    if more or not isinstance(what, str):
        return Prediction(None, f"{_TUPLE}: predict(({str(guess)[:20]}, ...), truth).")
    guesses = _items(guess)
    if not guesses or any(item is None for item in guesses):
        return Prediction(None, ASK)
    truths = _items(truth() if callable(truth) else truth)
    said = ", ".join(str(item) for item in guesses) + (f" {what}" if what else "")
    if len(guesses) != len(truths):
        return Prediction(False, f"{said}: the answer has {len(truths)} numbers.")
    if any(
        isinstance(a, str) and not isinstance(b, str) for a, b in zip(guesses, truths, strict=True)
    ):
        return Prediction(False, f"{said}: this is a text; write the number without quotes.")
    right = sum(_same(one, other, within) for one, other in zip(guesses, truths, strict=True))
    if right == len(truths):
        return Prediction(True, f"{said}: right.")
    held = f"{right} of {len(truths)} are right" if len(truths) > 1 else "not right"
    return Prediction(False, f"{said}: {held}. Guess again, or read on.")


def _items(value: Any) -> list[Any]:
    value = value.tolist() if hasattr(value, "tolist") else value
    return list(value) if isinstance(value, list | tuple) else [value]


def _same(guess: Any, truth: Any, within: float) -> bool:
    numbers = (int, float)
    if isinstance(guess, numbers) and isinstance(truth, numbers):
        # 1e-12: the guess 0.1 + 0.2 is as good as 0.3
        return math.isclose(guess, truth, rel_tol=max(within, 1e-12))
    return bool(guess == truth)
